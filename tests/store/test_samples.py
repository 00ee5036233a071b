"""What real CLIs have written: all of it is known, counted once, and in the right order."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.real_clis import VERSIONS

from claudewire.store import (
    AssistantEntry,
    BlockingSessions,
    Entry,
    StoreError,
    SystemEntry,
    UserEntry,
)
from claudewire.store.entries import BadLine, UnknownEntry, read_entry
from claudewire.tracking import Totals
from claudewire.wire import ToolUseBlock

from .made import MAIN, PLAIN, SAMPLES, sample

COMPACTION = 10
"""The reply with which the conversation was compacted. No line of a transcript has its usage."""

SAID = [
    "Count the files.",
    "I look.",
    "There is **one** file:\n\n```\nnotes.txt\n```",
    "Ask an agent.",
    "I hand it over.",
    "The agent says that all is well.",
    "Run it behind.",
    "It runs in the background.",
    "Take your time.",
    "This takes a while.",
    "What was that?",
    "Files were counted.",
]


def told(version: str) -> dict[str, list[int]]:
    """For each session, the numbers of the replies that the scripted API gave."""
    expected: dict[str, list[int]] = json.loads(
        (SAMPLES / version / "expected.json").read_text(encoding="utf-8")
    )
    return expected


def used(numbers: list[int]) -> Totals:
    return Totals(
        input_tokens=sum(1000 + number for number in numbers),
        output_tokens=sum(200 + number for number in numbers),
        cache_read_tokens=sum(30 * number for number in numbers),
        cache_creation_tokens=sum(7 * number for number in numbers),
    )


def counts(totals: Totals, *, output: bool = True) -> tuple[int, ...]:
    shown = totals.output_tokens if output else 0
    return totals.input_tokens, shown, totals.cache_read_tokens, totals.cache_creation_tokens


@pytest.fixture
def sessions(tmp_path: Path, version: str) -> BlockingSessions:
    return BlockingSessions(sample(version, tmp_path), index=tmp_path / "index.db")


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_in_them_is_unknown(version: str) -> None:
    for path in (SAMPLES / version).rglob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            entry = read_entry(line)
            assert not isinstance(entry, BadLine | UnknownEntry)
            assert (entry.problems, entry.extra) == ((), {})


@pytest.mark.parametrize("version", VERSIONS)
def test_every_message_is_counted_once_over_all_files_of_all_sessions(
    sessions: BlockingSessions, version: str
) -> None:
    given = [number for numbers in told(version).values() for number in numbers]
    expected = used([number for number in given if number != COMPACTION])
    (totals,) = sessions.totals().values()
    # 2.1.17 writes a placeholder instead of the output, and that is said.
    knows_output = version != "2.1.17"
    assert totals.estimated is not knows_output
    assert counts(totals, output=knows_output) == counts(expected, output=knows_output)
    assert totals.calls == len(given) - 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_has_used_what_the_api_was_told_to_report(
    sessions: BlockingSessions, version: str
) -> None:
    numbers = told(version)[MAIN]
    info = sessions.info(MAIN)
    if version == "2.1.325":  # it keeps count itself, of what is in no line, too
        assert counts(info.totals) == counts(used(numbers))
        assert info.cost_usd == pytest.approx(_cost(used(numbers)))
    else:
        expected = used([number for number in numbers if number != COMPACTION])
        is_known = version == "1.0.128"
        assert counts(info.totals, output=is_known) == counts(expected, output=is_known)


def _cost(totals: Totals) -> float:
    """At the prices of the CLI: 4, 20, 0.2 and 5 dollars for a million tokens."""
    return (
        totals.input_tokens * 4
        + totals.output_tokens * 20
        + totals.cache_read_tokens * 0.2
        + totals.cache_creation_tokens * 5
    ) / 1e6


@pytest.mark.parametrize("version", VERSIONS)
def test_the_tree_is_the_conversation(sessions: BlockingSessions, version: str) -> None:
    transcript = sessions.open(MAIN)
    said = []
    for entry in transcript.conversation():
        if (isinstance(entry, UserEntry) and entry.is_prompt) or (
            isinstance(entry, AssistantEntry) and entry.text != "Very well."
        ):
            said.append(entry.text)
    assert [text for text in said if text] == SAID
    assert len(transcript.branches()) == 1
    boundaries = [
        entry
        for entry in transcript.conversation()
        if isinstance(entry, SystemEntry) and entry.is_compaction
    ]
    assert len(boundaries) == 1
    assert list(transcript.findings()) == []


@pytest.mark.parametrize("version", [it for it in VERSIONS if it != "1.0.128"])
def test_going_back_makes_a_branch(sessions: BlockingSessions, version: str) -> None:
    transcript = sessions.open(PLAIN)
    branches = transcript.branches()
    assert [branch.is_current for branch in branches] == [True, False]
    said = [
        [it.text for it in transcript.conversation(branch.leaf) if isinstance(it, AssistantEntry)]
        for branch in branches
    ]
    assert said == [["Hello!", "Back in the middle."], ["Hello!", "Turned."]]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_subagent_is_found_with_the_call_that_started_it(
    sessions: BlockingSessions, version: str
) -> None:
    transcript = sessions.open(MAIN)
    (agent,) = transcript.agents()
    calls = [
        block.id
        for entry in transcript.conversation()
        if isinstance(entry, AssistantEntry)
        for block in entry.blocks
        if isinstance(block, ToolUseBlock) and block.name == "Task"
    ]
    assert [agent.tool_use_id] == calls
    assert (agent.parent, agent.depth) == (None, 1)
    said = [it.text for it in transcript.entries(agent=agent.id) if hasattr(it, "text")]
    assert [text for text in said if text] == ["Look around, please.", "All is well here."]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fork_knows_its_parent_and_only_it_has_one(
    sessions: BlockingSessions, version: str
) -> None:
    parents = {info.id: info.parent for info in sessions.list()}
    assert parents.pop(MAIN) is None
    assert parents.pop(PLAIN) is None
    assert list(parents.values()) == [MAIN]


@pytest.mark.parametrize("version", VERSIONS)
def test_facts_are_known_without_reading_the_session(
    sessions: BlockingSessions, version: str
) -> None:
    info = sessions.info(MAIN)
    assert (info.cwd, info.folder, info.version) == ("/project", "-project", version)
    assert info.first_prompt == "Count the files."
    assert (info.prompts, info.agents, info.compactions) == (5, 1, 1)
    assert len(info.models) == 1
    assert info.begin is not None
    assert info.end is not None
    assert info.begin < info.end
    assert info.status == "ended"
    assert info.title_source == ("summary" if version == "1.0.128" else "prompt")


def test_a_file_with_nothing_but_a_title_for_another_session_is_no_session(tmp_path: Path) -> None:
    sessions = BlockingSessions(sample("1.0.128", tmp_path), index=tmp_path / "index.db")
    assert len(list((SAMPLES / "1.0.128").rglob("*.jsonl"))) == 4
    assert len(sessions.list()) == 3


def shape(sessions: BlockingSessions, id: str) -> list[tuple[Any, ...]]:
    """The subagents of a session: what they were started by, and what they said."""
    transcript = sessions.open(id)
    return [
        (it.type, it.tool_use_id, it.depth, texts(transcript.entries(agent=it.id)))
        for it in transcript.agents()
    ]


def texts(entries: Iterable[Entry]) -> list[str]:
    return [it.text for it in entries if isinstance(it, UserEntry | AssistantEntry)]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fork_has_the_subagents_that_were_started_by_then(
    sessions: BlockingSessions, version: str
) -> None:
    fork = sessions.fork(MAIN)
    assert len(shape(sessions, MAIN)) == 1
    assert shape(sessions, fork.id) == shape(sessions, MAIN)
    before, after = sessions.open(MAIN), sessions.open(fork.id)
    assert texts(after.conversation()) == texts(before.conversation())
    assert {it.kind for it in after.findings()} <= {it.kind for it in before.findings()}
    first = next(it for it in before.conversation() if isinstance(it, AssistantEntry))
    assert shape(sessions, sessions.fork(MAIN, at=first.uuid).id) == []
    assert shape(sessions, sessions.fork(fork.id).id) == shape(sessions, MAIN)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_is_imported_beside_itself_under_a_new_id(
    sessions: BlockingSessions, version: str, tmp_path: Path
) -> None:
    path = sessions.export(MAIN, tmp_path / "out.zip", redact=False)
    with pytest.raises(StoreError, match=f"There is a session {MAIN} already, in -project"):
        sessions.import_(path, cwd=tmp_path)
    assert sessions.list(project=tmp_path) == []
    copy = sessions.import_(path, cwd=tmp_path, new_id=True)
    assert copy.id != MAIN
    assert shape(sessions, copy.id) == shape(sessions, MAIN)
    transcript = sessions.open(copy.id)
    entries = [*transcript.entries(), *transcript.entries(agent=transcript.agents()[0].id)]
    assert MAIN not in {it.session_id for it in entries}
    assert texts(transcript.conversation()) == texts(sessions.open(MAIN).conversation())
