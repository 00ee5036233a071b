"""Transcripts of real CLIs: every line is known, counted once, and in its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from claudewire.tracking import Totals
from claudewire.transcripts import (
    AssistantEntry,
    SystemEntry,
    Transcripts,
    UserEntry,
)
from claudewire.transcripts.entries import BadLine, read_entry
from claudewire.wire import ToolUseBlock

from .made import MAIN, PLAIN, SAMPLES, sample

VERSIONS = [it.name for it in sorted(SAMPLES.iterdir())]

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
def sessions(tmp_path: Path, version: str) -> Transcripts:
    return Transcripts(sample(version, tmp_path), index=tmp_path / "index.db")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_line_is_read_without_a_problem(version: str) -> None:
    for path in (SAMPLES / version).rglob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            entry = read_entry(line)
            assert not isinstance(entry, BadLine)
            assert not entry.problems


@pytest.mark.parametrize("version", VERSIONS)
def test_each_message_is_counted_once_over_all_sessions(
    sessions: Transcripts, version: str
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
def test_usage_of_a_session_is_that_of_the_api(sessions: Transcripts, version: str) -> None:
    numbers = told(version)[MAIN]
    info = sessions.info(MAIN)
    if version == "2.1.325":  # it keeps count itself, of what is in no line, too
        assert counts(info.totals) == counts(used(numbers))
        assert info.cost_usd == pytest.approx(_cost(used(numbers)))
    else:
        expected = used([number for number in numbers if number != COMPACTION])
        assert counts(info.totals, output=False) == counts(expected, output=False)


def _cost(totals: Totals) -> float:
    """At the prices of the CLI: 4, 20, 0.2 and 5 dollars for a million tokens."""
    return (
        totals.input_tokens * 4
        + totals.output_tokens * 20
        + totals.cache_read_tokens * 0.2
        + totals.cache_creation_tokens * 5
    ) / 1e6


@pytest.mark.parametrize("version", VERSIONS)
def test_conversation_has_all_replies_in_order(sessions: Transcripts, version: str) -> None:
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


@pytest.mark.parametrize("version", VERSIONS)
def test_way_back_makes_a_branch(sessions: Transcripts, version: str) -> None:
    transcript = sessions.open(PLAIN)
    branches = transcript.branches()
    assert [branch.is_current for branch in branches] == [True, False]
    said = [
        [it.text for it in transcript.conversation(branch.leaf) if isinstance(it, AssistantEntry)]
        for branch in branches
    ]
    assert said == [["Hello!", "Back in the middle."], ["Hello!", "Turned."]]


@pytest.mark.parametrize("version", VERSIONS)
def test_subagent_names_the_call_that_started_it(sessions: Transcripts, version: str) -> None:
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
def test_only_a_fork_has_a_parent(sessions: Transcripts, version: str) -> None:
    parents = {info.id: info.parent for info in sessions.list()}
    assert parents.pop(MAIN) is None
    assert parents.pop(PLAIN) is None
    assert list(parents.values()) == [MAIN]
