"""Blocks, assembled from pieces and replaced by whole blocks."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.api_messages import (
    RECORDINGS,
    begin,
    delta,
    event,
    recorded,
    result,
    start,
    stop,
    streamed,
    tool_result,
    whole,
)

from claudewire.tracking import Assembler
from claudewire.wire import (
    AssistantMessage,
    Block,
    CompactionDelta,
    InputJsonDelta,
    Message,
    MessageStop,
    ModelRefusalFallbackMessage,
    ResultMessage,
    ServerToolUseBlock,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolUseBlock,
    UnknownBlock,
    UnknownDelta,
    WebSearchToolResultBlock,
)

CALL = ToolUseBlock("t1", "Bash", {"command": "ls"})


def assembled(messages: Iterable[Message]) -> Assembler:
    assembler = Assembler()
    for message in messages:
        assembler.note(message)
    return assembler


def blocks(assembler: Assembler, agent: str | None = None) -> list[Block | None]:
    return [live.block for live in assembler.blocks if live.agent == agent]


def text(assembler: Assembler) -> str:
    return "\n\n".join(assembler.message_texts)


def history(messages: Iterable[Message]) -> list[tuple[str, str, str]]:
    """What happened to each block, in order."""
    assembler = Assembler()
    return [
        (live.id, live.change, live.added)
        for message in messages
        for live in assembler.note(message)
    ]


# --- what a model may say ------------------------------------------------------------------------

texts = st.text(st.sampled_from('ab \n"\\{}é\u2028😀'), max_size=12)
values = st.dictionaries(
    texts, st.one_of(texts, st.integers(), st.booleans(), st.none()), max_size=3
)
contents = st.lists(
    st.one_of(
        texts.map(TextBlock),
        st.builds(ThinkingBlock, texts, texts),
        st.builds(lambda value: ToolUseBlock("", "Tool", value), values),
    ),
    max_size=4,
)
cuts = st.lists(st.integers(0, 40), max_size=4)


def numbered(spoken: Sequence[Block], prefix: str) -> list[Block]:
    """Give each tool call an id of its own."""
    return [
        ToolUseBlock(f"{prefix}-{index}", block.name, block.input)
        if isinstance(block, ToolUseBlock)
        else block
        for index, block in enumerate(spoken)
    ]


@given(contents, cuts, st.sampled_from(["before", "after"]), st.booleans())
def test_pieces_cut_anywhere_make_the_blocks_of_the_message(
    spoken: list[Block], cuts: list[int], snapshot: str, named: bool
) -> None:
    spoken = numbered(spoken, "t")
    messages = streamed(spoken, cuts=cuts, snapshot=snapshot, named=named)
    assembler = assembled(messages)
    assert blocks(assembler) == spoken
    assert all(live.complete and not live.aborted for live in assembler.blocks)
    assert [live.index for live in assembler.blocks] == list(range(len(spoken)))
    assert {live.message_id for live in assembler.blocks} <= {"m1"}
    assert text(assembler) == "".join(it.text for it in spoken if isinstance(it, TextBlock))


@given(st.lists(contents, min_size=1, max_size=3), cuts, st.booleans())
def test_blocks_are_the_same_without_partial_messages(
    messages: list[list[Block]], cuts: list[int], named: bool
) -> None:
    streams: list[Message] = []
    for index, spoken in enumerate(messages):
        content = numbered(spoken, f"t{index}")
        streams += streamed(content, id=f"m{index}", cuts=cuts, named=named)
    partial = assembled(streams)
    without = assembled(it for it in streams if isinstance(it, AssistantMessage))
    assert blocks(partial) == blocks(without)
    assert text(partial) == text(without)
    assert [live.index for live in partial.blocks] == [live.index for live in without.blocks]


AGENTS = (None, "agent-1", "agent-2")


@given(st.tuples(contents, contents, contents), cuts, st.randoms())
def test_blocks_of_concurrent_subagents_are_not_mixed(
    spoken: tuple[list[Block], ...], cuts: list[int], chance: random.Random
) -> None:
    each = [
        streamed(numbered(content, str(agent)), agent=agent, cuts=cuts)
        for agent, content in zip(AGENTS, spoken, strict=True)
    ]
    turns = [index for index, messages in enumerate(each) for _ in messages]
    chance.shuffle(turns)
    queues = [iter(messages) for messages in each]
    assembler = assembled(next(queues[index]) for index in turns)
    for agent, content in zip(AGENTS, spoken, strict=True):
        assert blocks(assembler, agent) == numbered(content, str(agent))
    assert {live.agent for live in assembler.blocks} <= set(AGENTS)
    assert len(assembler.blocks) == sum(map(len, spoken))


@given(contents, cuts, st.integers(0, 60))
def test_cut_stream_leaves_an_aborted_block(
    spoken: list[Block], cuts: list[int], length: int
) -> None:
    spoken = numbered(spoken, "t")
    messages = streamed(spoken, cuts=cuts)
    assembler = assembled(messages[:length])
    assembler.note(result())
    for live, block in zip(assembler.blocks, spoken, strict=False):
        assert live.complete is not live.aborted
        assert live.block == (block if live.complete else None)
        if isinstance(block, TextBlock):
            assert block.text.startswith(live.text)
    assert [live for live in assembler.blocks if live.aborted][1:] == []


# --- how blocks are told apart -------------------------------------------------------------------


def test_each_change_has_its_kind_and_added_text() -> None:
    messages = streamed([TextBlock("Hello."), CALL], cuts=[5])
    assert history([*messages, tool_result("t1")]) == [
        ("block-1", "started", ""),
        ("block-1", "grew", "Hello"),
        ("block-1", "grew", "."),
        ("block-1", "completed", ""),
        ("block-2", "started", ""),
        ("block-2", "grew", '{"com'),
        ("block-2", "grew", 'mand": "ls"}'),
        ("block-2", "completed", ""),
        ("block-2", "result", ""),
    ]


def test_tool_input_is_json_text_until_it_is_complete() -> None:
    assembler = Assembler()
    assembler.note(start())
    (live,) = assembler.note(begin(0, ToolUseBlock("t1", "Bash", {})))
    assembler.note(delta(0, InputJsonDelta('{"command"')))
    assert (live.name, live.tool_use_id, live.kind) == ("Bash", "t1", "tool_use")
    assert (live.input_json, live.input, live.complete) == ('{"command"', None, False)
    assembler.note(delta(0, InputJsonDelta(': "ls"}')))
    assembler.note(whole(CALL))
    assert (live.input_json, live.input, live.block) == (
        '{"command": "ls"}',
        {"command": "ls"},
        CALL,
    )


def test_whole_block_replaces_different_pieces() -> None:
    messages = [start(), begin(0, TextBlock("")), delta(0, "wrong"), whole("right"), stop(0)]
    assembler = assembled([*messages, delta(0, " and more")])
    assert [live.text for live in assembler.blocks] == ["right"]


def test_repeated_line_updates_its_blocks() -> None:
    lines = [whole("Hm.", uuid="1"), whole("Hm, yes.", CALL, uuid="1")]
    assembler = assembled(lines)
    assert blocks(assembler) == [TextBlock("Hm, yes."), CALL]
    assert len(assembler.blocks) == 2


def pieces(*texts: str) -> list[Message]:
    """Blocks of text in pieces; one that is not over ends with an ellipsis."""
    found: list[Message] = [start()]
    for index, it in enumerate(texts):
        found += [begin(index, TextBlock("")), delta(index, it.removesuffix("…"))]
        found += [] if it.endswith("…") else [stop(index)]
    return found


@pytest.mark.parametrize(
    ("streamed", "said", "place"),
    [
        (["", "Hello."], "Hello.", 1),  # which has the same text
        (["One…", "Two"], "Two", 1),
        (["One", "Two…"], "Two.", 1),  # which is not over
        (["One…", "Two…"], "Three.", 1),  # the last of them
    ],
)
def test_whole_block_finds_its_pieces(streamed: list[str], said: str, place: int) -> None:
    assembler = assembled([*pieces(*streamed), whole(said)])
    assert [live.complete for live in assembler.blocks] == [place == 0, place == 1]
    assert assembler.blocks[place].text == said


# --- beginnings that are missing -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("piece", "kind"),
    [
        (TextDelta("Hi."), "text"),
        (ThinkingDelta("Hi."), "thinking"),
        (CompactionDelta("Hi."), "compaction"),
    ],
)
def test_piece_without_a_start_begins_a_block(piece: Any, kind: str) -> None:
    (live,) = assembled([delta(0, piece)]).blocks
    assert (live.kind, live.text, live.complete) == (kind, "Hi.", False)


# --- ends that are missing -----------------------------------------------------------------------


def test_interrupted_block_may_come_as_an_aborted_whole() -> None:
    messages = [
        start(),
        begin(0, TextBlock("")),
        delta(0, "This is a "),
        whole("This is a ", aborted=True),
        stop(0),
        event(MessageStop()),
        result(subtype="error_during_execution"),
    ]
    (live,) = assembled(messages).blocks
    assert (live.block, live.aborted, live.complete) == (TextBlock("This is a "), True, True)


def test_retried_message_replaces_the_torn_one() -> None:
    # As CLI 2.1.17 does when the connection breaks: the second time it does not stream.
    messages: list[Message] = [
        start("m1"),
        begin(0, TextBlock("")),
        delta(0, "First words."),
        whole("First words.", id="m1", uuid="1"),
        stop(0),
        begin(1, ToolUseBlock("t0", "Bash", {})),
        delta(1, InputJsonDelta('{"comm')),
        whole("First words.", id="m2", uuid="2"),
        whole(CALL, id="m2", uuid="3"),
    ]
    assert [it for it in history(messages) if it[1] == "removed"] == [
        ("block-1", "removed", ""),
        ("block-2", "removed", ""),
    ]
    assembler = assembled(messages)
    assert blocks(assembler) == [TextBlock("First words."), CALL]
    assert text(assembler) == "First words."
    assert list(assembler.note(tool_result("t0"))) == []


def test_api_error_leaves_the_partial_message() -> None:
    torn = [start("m1"), begin(0, TextBlock("")), delta(0, "First wo")]
    error = whole("API Error: 500", id="e1", model="<synthetic>", is_api_error_message=True)
    assembler = assembled([*torn, error, result()])
    assert [(live.text, live.aborted) for live in assembler.blocks] == [
        ("First wo", True),
        ("API Error: 500", False),
    ]


def test_superseding_line_removes_earlier_ones() -> None:
    messages = [
        whole("Wrong.", id="m1", uuid="1"),
        whole(CALL, id="m1", uuid="2"),
        whole("Right.", id="m1", uuid="3", supersedes=["1", "2", "unknown"]),
    ]
    assert [change for _, change, _ in history(messages)] == [
        "completed",
        "completed",
        "removed",
        "removed",
        "completed",
    ]
    assert blocks(assembled(messages)) == [TextBlock("Right.")]


def test_refusal_removes_retracted_lines() -> None:
    refusal = ModelRefusalFallbackMessage(retracted_message_uuids=["1"])
    messages = [whole("I will not", uuid="1"), refusal, whole("I will.", id="m2", uuid="2")]
    assert blocks(assembled(messages)) == [TextBlock("I will.")]
    assert list(Assembler().note(ModelRefusalFallbackMessage())) == []


# --- everything is kept --------------------------------------------------------------------------


def test_unknown_blocks_and_pieces_are_kept() -> None:
    block = UnknownBlock({"type": "hologram", "depth": 3})
    piece = {"type": "hologram_delta", "layer": 1}
    (live,) = assembled(
        [start(), begin(0, block), delta(0, UnknownDelta(piece)), whole(block)]
    ).blocks
    assert (live.kind, live.block, live.deltas) == ("hologram", block, [piece])


# --- results of tools ----------------------------------------------------------------------------


def test_result_of_an_api_tool_is_also_a_block() -> None:
    call = ServerToolUseBlock("s1", "web_search", {"query": "x"})
    found = WebSearchToolResultBlock("s1", [])
    one, two = assembled([whole(call, found)]).blocks
    assert (one.result, two.block) == (found, found)


# --- recordings ----------------------------------------------------------------------------------


def turns(messages: list[Message]) -> list[list[Message]]:
    found: list[list[Message]] = [[]]
    for message in messages:
        found[-1].append(message)
        if isinstance(message, ResultMessage):
            found.append([])
    return found[:-1]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recorded_turns_are_assembled_as_the_lines_say(path: Path) -> None:
    for messages in turns(recorded(path)):
        assembler = assembled(messages)
        lines = [it for it in messages if isinstance(it, AssistantMessage)]
        assert blocks(assembler) == [block for line in lines for block in line.content]
        end = messages[-1]
        assert isinstance(end, ResultMessage)
        if end.result is not None:
            assert assembler.message_texts[-1] == end.result
        calls = [live for live in assembler.blocks if live.kind == "tool_use"]
        assert all(live.result is not None for live in calls)
