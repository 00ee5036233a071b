"""One transcript: its conversation, branches and subagents, and lines as they are added."""

from __future__ import annotations

import json
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.transcripts import (
    AssistantEntry,
    BadLine,
    StoreError,
    Transcript,
    Transcripts,
    UserEntry,
    read_entry,
)

from .made import MAIN, Writer, conversation


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


def opened(config: Path) -> Transcript:
    return Transcripts(config, index=":memory:").open(MAIN)


def uuids(config: Path) -> list[list[str | None]]:
    """The lines of each branch, the current one first."""
    transcript = opened(config)
    leaves = [branch.leaf for branch in transcript.branches()]
    return [[it.uuid for it in transcript.conversation(leaf)] for leaf in leaves]


def test_transcript_has_entries_blocks_and_a_branch(config: Path) -> None:
    writer = conversation(config)
    writer.raw(b'{"type": "user", "mess\n')
    transcript = opened(config)
    entries = list(transcript.entries())
    assert [type(entry) for entry in entries[:2]] == [UserEntry, AssistantEntry]
    assert isinstance(entries[-1], BadLine)
    assert len(list(transcript.conversation())) == len(list(transcript.blocks())) == 6
    assert transcript.agents() == []
    assert (transcript.id, transcript.path) == (MAIN, writer.path)
    with pytest.raises(StoreError, match="has no line zz"):
        list(transcript.conversation("zz"))


# --- branches ------------------------------------------------------------------------------------


def test_two_prompts_after_one_line_are_two_branches(config: Path) -> None:
    writer = Writer(config)
    writer.user("a")
    writer.model("b")
    writer.user("c", parentUuid="u2")
    writer.model("d")
    writer.user("e", parentUuid="u2")
    writer.model("f")
    assert uuids(config) == [["u1", "u2", "u5", "u6"], ["u1", "u2", "u3", "u4"]]
    assert [it.is_current for it in opened(config).branches()] == [True, False]


def test_results_of_parallel_tools_are_no_branches(config: Path) -> None:
    writer = Writer(config)
    writer.user("a")
    writer.call("Bash", id="t1")
    writer.call("Bash", id="t2")
    writer.result("one", id="t1", parentUuid="u2")
    writer.result("two", id="t2", parentUuid="u3")
    writer.model("b")
    assert uuids(config) == [[f"u{number}" for number in range(1, 7)]]


def test_progress_before_a_prompt_hides_no_answer(config: Path) -> None:
    writer = Writer(config)
    writer.user("a")
    writer.call("Bash")
    writer.result("b")
    writer.model("c")
    writer.line(type="progress", parentUuid="u2")
    writer.user("d")
    assert uuids(config) == [["u1", "u2", "u3", "u4", "u6"]]


def test_missing_late_and_circular_parents_lose_no_line(config: Path) -> None:
    writer = Writer(config)
    writer.model("first", parentUuid="u2")
    writer.user("its parent", parentUuid=None)
    writer.model("next", parentUuid="u1")
    writer.user("last", parentUuid="gone")
    assert uuids(config) == [["u2", "u1", "u3", "u4"]]
    writer.path.unlink()
    circle = Writer(config)
    circle.model("a", parentUuid="u2")
    circle.model("b", parentUuid="u1")
    assert sorted(map(str, uuids(config)[0])) == ["u1", "u2"]


def test_compaction_is_bridged_by_its_logical_parent(config: Path) -> None:
    writer = Writer(config)
    writer.user("a")
    writer.model("b")
    boundary = {"subtype": "compact_boundary", "logicalParentUuid": "u2", "parentUuid": None}
    writer.line(type="system", **boundary)
    writer.user("c")
    assert uuids(config) == [["u1", "u2", "u3", "u4"]]


# --- subagents -----------------------------------------------------------------------------------


def agent(config: Path, id: str, *calls: str, place: str = "", **meta: str) -> None:
    """Write a subagent that makes some calls of its own."""
    writer = Writer(config, f"{MAIN}/subagents/{place}agent-{id}")
    writer.user("Look", sessionId=MAIN, isSidechain=True)
    for call in calls:
        writer.call("Agent", id=call)
    if meta:
        writer.path.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")


def test_subagents_at_any_depth_name_their_callers(config: Path) -> None:
    main = Writer(config)
    main.user("Go")
    main.call("Agent", id="call-a")
    agent(config, "a", "call-b", toolUseId="call-a", agentType="Explore", description="Look")
    agent(config, "b", "call-c", toolUseId="call-b")
    agent(config, "c", place="deeper/down/", toolUseId="call-c")
    transcripts = Transcripts(config, index=":memory:")
    transcript = transcripts.open(MAIN)
    found = {it.id: (it.parent, it.depth) for it in transcript.agents()}
    assert found == {"a": (None, 1), "b": ("a", 2), "c": ("b", 3)}
    first = transcript.agents()[0]
    assert (first.type, first.description) == ("Explore", "Look")
    assert transcript.info.agents == 3
    assert len(list(transcript.entries(agent="b"))) == 2
    with pytest.raises(StoreError, match="has no subagent z"):
        list(transcript.entries(agent="z"))
    forked = transcripts.open(transcripts.fork(MAIN).id).agents()
    assert {it.id: (it.parent, it.depth) for it in forked} == found


def test_fork_has_only_the_subagents_started_by_then(config: Path) -> None:
    conversation(config).call("Agent", id="call-late")
    agent(config, "late", "call-inner", toolUseId="call-late")
    agent(config, "inner", toolUseId="call-inner")
    agent(config, "compaction")  # no call starts it
    transcripts = Transcripts(config, index=":memory:")

    def agents(at: str | None) -> list[str]:
        return sorted(it.id for it in transcripts.open(transcripts.fork(MAIN, at=at).id).agents())

    assert agents("u6") == ["compaction"]
    assert agents("u7") == agents(None) == ["compaction", "inner", "late"]


# --- following -----------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.usefixtures("no_file_left_open")
async def test_tail_yields_new_lines_also_of_a_replaced_file(tmp_path: Path) -> None:
    writer = conversation(tmp_path)
    with Transcripts(tmp_path, index=":memory:") as transcripts:
        tail = transcripts.open(MAIN).tail(from_start=True, poll=0.01)
        with anyio.fail_after(30):
            async with aclosing(tail) as entries:
                assert [(await anext(entries)).uuid for _ in range(6)][-1] == "u6"
                writer.user("New")
                assert (await anext(entries)).uuid == "u7"
                writer.path.rename(writer.path.with_suffix(".old"))
                writer.user("In a new file")
                assert (await anext(entries)).uuid == "u8"
                writer.path.write_bytes(b"")
                writer.raw(b'{"type":"user","uu')
                writer.raw(b'id":"late"}\n')
                assert (await anext(entries)).uuid == "late"


# --- any content ---------------------------------------------------------------------------------

_text = st.text(max_size=12)
_block = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, _text),
    st.builds(lambda id: {"type": "tool_use", "id": id, "name": "Bash", "input": {}}, _text),
    st.builds(lambda id: {"type": "tool_result", "tool_use_id": id, "content": "x"}, _text),
    st.just({"type": "hologram"}),
)
_uuid = st.sampled_from([f"u{number}" for number in range(8)])
_entry: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "summary", "progress", "hologram"])},
    optional={
        "uuid": _uuid,
        "parentUuid": st.none() | _uuid,
        "logicalParentUuid": _uuid,
        "sessionId": st.just(MAIN),
        "isSidechain": st.booleans(),
        "timestamp": st.sampled_from(["2026-11-17T10:00:00Z", "never", 5]),
        "cwd": st.sampled_from(["/project", 7, None]),
        "subtype": st.just("compact_boundary"),
        "toolUseResult": st.sampled_from([{"agentId": "a"}, "x"]),
        "message": st.one_of(
            st.fixed_dictionaries({"role": _text, "content": _text | st.lists(_block, max_size=3)}),
            _text,
        ),
    },
)
_lines = st.lists(
    st.one_of(_entry.map(lambda entry: json.dumps(entry).encode()), st.binary(max_size=12)),
    max_size=12,
)


@given(_lines, st.integers(0, 2000))
def test_no_content_raises_and_all_good_lines_come_back(lines: list[bytes], length: int) -> None:
    content = b"".join(line + b"\n" for line in lines)[:length]
    good = [it for it in content.split(b"\n") if it and not isinstance(read_entry(it), BadLine)]
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda file: None)
        config = Path(name)
        path = config / "projects" / "-project" / f"{MAIN}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        with Transcripts(config, index=":memory:") as transcripts:
            transcripts.list()
            transcripts.search("x* tool:Bash")
            transcript = transcripts.open(MAIN)
            assert whole(transcript) == good
            assert sum(1 for _ in transcript.conversation()) <= len(good)
            for format in ("html", "md", "zip"):
                transcripts.export(MAIN, config / f"out.{format}", redact=False)
        with Transcripts(config / "there", index=":memory:") as there:
            info = there.import_(config / "out.zip", cwd="/project")
            assert whole(there.open(info.id)) == good


def whole(transcript: Transcript) -> list[bytes]:
    return [entry.line for entry in transcript.entries() if not isinstance(entry, BadLine)]
