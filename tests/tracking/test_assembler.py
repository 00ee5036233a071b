"""Blocks put together out of pieces, and replaced by what the CLI then says."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.api_messages import (
    IN_PIECES,
    RECORDINGS,
    begin,
    delta,
    ended,
    event,
    recorded,
    result,
    start,
    stop,
    streamed,
    tool_result,
    whole,
)

from claudewire.tracking import Assembler, LiveBlock
from claudewire.wire import (
    APIMessage,
    AssistantMessage,
    Block,
    CitationsDelta,
    CompactionBlock,
    CompactionDelta,
    ImageBlock,
    InputJsonDelta,
    KeepAlive,
    Message,
    MessageStart,
    MessageStop,
    ModelRefusalFallbackMessage,
    Ping,
    ResultMessage,
    ServerToolUseBlock,
    SignatureDelta,
    StreamEvent,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    UnknownDelta,
    URLSource,
    UserMessage,
    WebSearchToolResultBlock,
)

CALL = ToolUseBlock("t1", "Bash", {"command": "ls"})


def put_together(messages: Iterable[Message]) -> Assembler:
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


@given(contents, cuts, st.sampled_from(["before", "after", "never"]), st.booleans())
def test_however_a_message_is_cut_into_pieces_the_blocks_are_those_of_the_message(
    spoken: list[Block], cuts: list[int], snapshot: str, named: bool
) -> None:
    spoken = numbered(spoken, "t")
    messages = streamed(spoken, cuts=cuts, snapshot=snapshot, named=named)
    assembler = put_together(messages)
    assert blocks(assembler) == spoken
    assert all(live.complete and not live.aborted for live in assembler.blocks)
    assert [live.index for live in assembler.blocks] == list(range(len(spoken)))
    assert {live.message_id for live in assembler.blocks} <= {"m1"}
    assert text(assembler) == "".join(it.text for it in spoken if isinstance(it, TextBlock))


@given(contents, cuts)
def test_what_was_added_to_a_block_is_in_the_end_all_of_it(
    spoken: list[Block], cuts: list[int]
) -> None:
    spoken = numbered(spoken, "t")
    assembler = Assembler()
    added: dict[str, str] = {}
    for message in streamed(spoken, cuts=cuts):
        for live in assembler.note(message):
            added[live.id] = added.get(live.id, "") + live.added
    for live in assembler.blocks:
        assert added[live.id] == (live.input_json or live.text)


@given(st.lists(contents, min_size=1, max_size=3), cuts, st.booleans())
def test_with_and_without_partial_messages_the_blocks_are_the_same(
    messages: list[list[Block]], cuts: list[int], named: bool
) -> None:
    streams: list[Message] = []
    for index, spoken in enumerate(messages):
        content = numbered(spoken, f"t{index}")
        streams += streamed(content, id=f"m{index}", cuts=cuts, named=named)
    partial = put_together(streams)
    without = put_together(it for it in streams if isinstance(it, AssistantMessage))
    assert blocks(partial) == blocks(without)
    assert text(partial) == text(without)
    assert [live.index for live in partial.blocks] == [live.index for live in without.blocks]


@given(st.lists(contents, min_size=1, max_size=3), cuts, st.booleans(), st.randoms())
def test_whichever_pieces_are_dropped_the_blocks_are_what_the_cli_says_in_the_end(
    messages: list[list[Block]], cuts: list[int], named: bool, chance: random.Random
) -> None:
    streams: list[Message] = []
    for index, spoken in enumerate(messages):
        # A text that is empty is not worth a line, and the CLI writes none.
        content = [it for it in numbered(spoken, f"t{index}") if it != TextBlock("")]
        streams += streamed(content, id=f"m{index}", cuts=cuts, named=named)
    kept = [it for it in streams if not isinstance(it, StreamEvent) or chance.random() < 0.6]
    said = [block for it in kept if isinstance(it, AssistantMessage) for block in it.content]
    assembler = put_together(kept)
    assert [live.block for live in assembler.blocks if live.confirmed] == said
    assert [live for live in assembler.blocks if not live.confirmed] == []


AGENTS = (None, "agent-1", "agent-2")


@given(st.tuples(contents, contents, contents), cuts, st.randoms())
def test_what_subagents_say_at_the_same_time_is_never_mixed(
    spoken: tuple[list[Block], ...], cuts: list[int], chance: random.Random
) -> None:
    each = [
        streamed(numbered(content, str(agent)), agent=agent, cuts=cuts)
        for agent, content in zip(AGENTS, spoken, strict=True)
    ]
    turns = [index for index, messages in enumerate(each) for _ in messages]
    chance.shuffle(turns)
    queues = [iter(messages) for messages in each]
    assembler = put_together(next(queues[index]) for index in turns)
    for agent, content in zip(AGENTS, spoken, strict=True):
        assert blocks(assembler, agent) == numbered(content, str(agent))
    assert {live.agent for live in assembler.blocks} <= set(AGENTS)
    assert len(assembler.blocks) == sum(map(len, spoken))


@given(contents, cuts, st.integers(0, 60))
def test_a_stream_that_is_cut_leaves_what_has_come_and_says_so(
    spoken: list[Block], cuts: list[int], length: int
) -> None:
    spoken = numbered(spoken, "t")
    messages = streamed(spoken, cuts=cuts, snapshot="never")
    assembler = put_together(messages[:length])
    assembler.note(result())
    for live, block in zip(assembler.blocks, spoken, strict=False):
        assert live.complete is not live.aborted
        assert live.block == (block if live.complete else None)
        if isinstance(block, TextBlock):
            assert block.text.startswith(live.text)
    assert [live for live in assembler.blocks if live.aborted][1:] == []


# --- how blocks are told apart -------------------------------------------------------------------


def test_a_block_is_one_object_from_its_first_piece_to_its_last() -> None:
    assembler = Assembler()
    seen = {id(live) for it in streamed([TextBlock("ab")], cuts=[1]) for live in assembler.note(it)}
    assert seen == {id(assembler.blocks[0])}


def test_each_change_says_what_happened_and_what_was_added() -> None:
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


def test_a_tool_use_has_the_text_of_its_result() -> None:
    assembler = put_together(streamed([CALL], cuts=[5]))
    (live,) = assembler.blocks
    assert live.result_text == ""
    assembler.note(tool_result("t1"))
    assert isinstance(live.result, ToolResultBlock)
    assert live.result_text == live.result.text != ""


def test_the_input_of_a_tool_is_text_while_it_comes_and_a_value_when_it_is_there() -> None:
    assembler = Assembler()
    assembler.note(start())
    (live,) = assembler.note(begin(0, ToolUseBlock("t1", "Bash", {})))
    assembler.note(delta(0, InputJsonDelta('{"command"')))
    assert (live.name, live.tool_use_id, live.kind) == ("Bash", "t1", "tool_use")
    assert (live.input_json, live.input, live.complete) == ('{"command"', None, False)
    assembler.note(delta(0, InputJsonDelta(': "ls"}')))
    assembler.note(stop(0))
    assert (live.input_json, live.input, live.block) == (
        '{"command": "ls"}',
        {"command": "ls"},
        CALL,
    )


def test_a_tool_without_input_has_an_empty_one() -> None:
    assembler = put_together([start(), begin(0, ToolUseBlock("t1", "List", {})), stop(0)])
    assert assembler.blocks[0].input == {}


@pytest.mark.parametrize("broken", ['{"command', "[1]", "nonsense", "[" * 100_000])
def test_an_input_that_is_no_object_stays_incomplete_until_the_cli_says_what_it_is(
    broken: str,
) -> None:
    assembler = put_together(
        [
            start(),
            begin(0, ToolUseBlock("t1", "Bash", {})),
            delta(0, InputJsonDelta(broken)),
            stop(0),
        ]
    )
    (live,) = assembler.blocks
    assert (live.complete, live.input, live.input_json) == (False, None, broken)
    assembler.note(whole(CALL))
    assert (live.complete, live.input) == (True, {"command": "ls"})


def test_what_the_cli_says_replaces_the_pieces_even_if_it_is_something_else() -> None:
    messages = [start(), begin(0, TextBlock("")), delta(0, "wrong"), whole("right"), stop(0)]
    assembler = put_together([*messages, delta(0, " and more")])
    assert [live.text for live in assembler.blocks] == ["right"]


def test_two_blocks_that_say_the_same_are_two() -> None:
    lines = [whole("Hm.", uuid="1"), whole("Hm.", uuid="2")]
    assert [live.text for live in put_together(lines).blocks] == ["Hm.", "Hm."]
    same: list[Block] = [TextBlock("Hm."), TextBlock("Hm.")]
    assert blocks(put_together(streamed(same))) == same


def test_a_line_that_comes_twice_is_one() -> None:
    lines = [whole("Hm.", uuid="1"), whole("Hm, yes.", CALL, uuid="1")]
    assembler = put_together(lines)
    assert blocks(assembler) == [TextBlock("Hm, yes."), CALL]
    assert len(assembler.blocks) == 2


def test_lines_that_repeat_what_came_before_them_add_only_what_is_new() -> None:
    lines = [whole("One.", uuid="1"), whole("One.", CALL, uuid="2"), whole("One.", CALL, "Two.")]
    assert blocks(put_together(lines)) == [TextBlock("One."), CALL, TextBlock("Two.")]


def test_an_empty_block_that_the_cli_leaves_out_is_not_taken_for_another() -> None:
    messages = [
        start(),
        begin(0, TextBlock("")),
        stop(0),
        begin(1, TextBlock("")),
        delta(1, "He"),
        whole("Hello."),
        stop(1),
    ]
    assembler = put_together(messages)
    assert [(live.index, live.text, live.confirmed) for live in assembler.blocks] == [
        (0, "", False),
        (1, "Hello.", True),
    ]


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
        (["One…", "Two"], "One and a half.", 0),
        (["One…", "Two…"], "Three.", 1),  # the last of them
        (["One", "Two"], "Three.", 0),  # the first of all
    ],
)
def test_a_whole_is_of_the_block_with_its_text_or_of_the_last_that_is_not_over_or_of_the_first(
    streamed: list[str], said: str, place: int
) -> None:
    assembler = put_together([*pieces(*streamed), whole(said)])
    assert [live.confirmed for live in assembler.blocks] == [place == 0, place == 1]
    assert assembler.blocks[place].text == said


@pytest.mark.parametrize(
    ("streamed", "said"),
    [
        (["One…"], ["One.", "Two."]),
        (["One"], ["One", "Two"]),
        (["One", "One"], ["One", "One"]),
        (["One", "Two"], ["One", "Two", "Three"]),
    ],
)
def test_each_block_of_one_line_is_another(streamed: list[str], said: list[str]) -> None:
    assembler = put_together([*pieces(*streamed), whole(*said)])
    assert [(live.text, live.confirmed) for live in assembler.blocks] == [(it, True) for it in said]


def test_a_line_with_several_blocks_that_repeats_nothing_replaces_nothing() -> None:
    lines = [whole("One.", uuid="1"), whole("Two.", CALL, uuid="2")]
    assert blocks(put_together(lines)) == [TextBlock("One."), TextBlock("Two."), CALL]


def test_messages_without_an_id_are_told_apart_by_their_lines() -> None:
    assembler = put_together([whole("One.", id=None), whole("Two.", id=None)])
    assert text(assembler) == "One.\n\nTwo."


def test_a_streamed_message_without_an_id_is_the_one_that_the_line_is_of() -> None:
    assembler = put_together([start(None), begin(0, TextBlock("")), delta(0, "On"), whole("One.")])
    assert [(live.text, live.message_id) for live in assembler.blocks] == [("One.", "m1")]
    nameless = put_together(
        [start(None), begin(0, TextBlock("")), delta(0, "On"), whole("One.", id=None)]
    )
    assert [(live.text, live.message_id) for live in nameless.blocks] == [("One.", None)]


def test_text_of_several_messages_is_set_apart_and_the_last_can_be_had_alone() -> None:
    assembler = put_together(
        [
            whole("I shall.", id="m1"),
            whole(CALL, id="m1"),
            whole("Sub.", id="m2", agent="t1"),
            whole("Do", id="m3"),
            whole("ne.", id="m3"),
            whole(ThinkingBlock("Hm."), id="m4"),
        ]
    )
    assert text(assembler) == "I shall.\n\nDone."
    assert assembler.message_texts[-1] == "Done."
    assert Assembler().message_texts == []


# --- beginnings that are missing -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("piece", "block"),
    [
        (TextDelta("Hi."), TextBlock("Hi.")),
        (ThinkingDelta("Hm."), ThinkingBlock("Hm.")),
        (CompactionDelta("All."), CompactionBlock("All.")),
        (CitationsDelta({"url": "x"}), TextBlock("", [{"url": "x"}])),
        (SignatureDelta("abc"), ThinkingBlock("", "abc")),
    ],
)
def test_a_piece_without_a_beginning_begins_a_block(piece: Any, block: Block) -> None:
    assembler = put_together([delta(0, piece), stop(0)])
    assert blocks(assembler) == [block]


@pytest.mark.parametrize("call", [CALL, ServerToolUseBlock("s1", "web_search", {"query": "x"})])
def test_a_tool_call_without_a_beginning_gets_its_name_from_the_whole(call: Any) -> None:
    assembler = put_together([delta(0, InputJsonDelta('{"co')), stop(0)])
    (live,) = assembler.blocks
    assert (live.kind, live.name, live.complete) == ("tool_use", None, False)
    assembler.note(whole(call))
    assert assembler.blocks == [live]
    assert (live.name, live.tool_use_id, live.block) == (call.name, call.id, call)


def test_a_block_of_which_only_an_unknown_piece_is_known_is_what_the_cli_says() -> None:
    assembler = put_together([delta(0, UnknownDelta({"type": "new_delta"})), stop(0), whole("Hi.")])
    (live,) = assembler.blocks
    assert (live.block, live.deltas) == (TextBlock("Hi."), [{"type": "new_delta"}])


def test_a_block_that_begins_anew_where_one_has_been_is_of_another_message() -> None:
    one = streamed([TextBlock("One.")], id="m1")[:-2]
    two = streamed([TextBlock("Two.")], id="m2")[1:]
    assembler = put_together([*one, *two])
    assert [(live.text, live.message_id) for live in assembler.blocks] == [
        ("One.", "m1"),
        ("Two.", "m2"),
    ]


def test_pieces_that_name_their_message_find_it_without_its_beginning() -> None:
    one = streamed([TextBlock("One.")], id="m1", named=True)
    two = streamed([TextBlock("Two.")], id="m2", named=True, snapshot="never")
    without_beginnings = [*one, *two[2:]]
    assembler = put_together(without_beginnings)
    assert [(live.text, live.message_id) for live in assembler.blocks] == [
        ("One.", "m1"),
        ("Two.", "m2"),
    ]


def test_a_message_whose_beginning_was_not_seen_learns_its_name_from_its_pieces() -> None:
    stream = streamed([TextBlock("One.")], id="m1", named=True, snapshot="never")
    assembler = put_together([begin(0, TextBlock("")), *stream[2:]])
    assert [(live.text, live.message_id) for live in assembler.blocks] == [("One.", "m1")]


def test_a_message_that_has_learnt_its_name_does_not_take_the_pieces_of_another() -> None:
    one = streamed([TextBlock("One.")], id="m1", named=True, snapshot="never")
    two = streamed([TextBlock("Two.")], id="m2", named=True, snapshot="never")
    without_beginnings = [begin(0, TextBlock("")), *one[2:], *two[2:]]
    assembler = put_together(without_beginnings)
    assert [(live.text, live.message_id) for live in assembler.blocks] == [
        ("One.", "m1"),
        ("Two.", "m2"),
    ]
    assembler.note(whole("One.", id="m1"))
    assert blocks(assembler) == [TextBlock("One."), TextBlock("Two.")]


def test_a_whole_that_comes_before_its_pieces_is_not_said_twice() -> None:
    stream = streamed([TextBlock("One."), CALL], snapshot="never")
    assembler = put_together([whole("One.", uuid="1"), whole(CALL, uuid="2"), *stream])
    assert blocks(assembler) == [TextBlock("One."), CALL]


def test_content_that_a_message_begins_with_is_not_said_twice() -> None:
    early = event(MessageStart(APIMessage("assistant", [TextBlock("One.")], id="m1")))
    assembler = put_together([early, *streamed([TextBlock("One.")])[1:]])
    assert blocks(assembler) == [TextBlock("One.")]


# --- ends that are missing -----------------------------------------------------------------------


def test_a_turn_that_is_interrupted_keeps_what_was_said() -> None:
    messages = [start(), begin(0, TextBlock("")), delta(0, "This is a "), result(subtype="error")]
    assert history(messages)[-1] == ("block-1", "cut", "")
    (live,) = put_together(messages).blocks
    assert (live.text, live.aborted, live.complete, live.block) == ("This is a ", True, False, None)


def test_a_newer_cli_gives_an_interrupted_block_as_a_whole() -> None:
    messages = [
        start(),
        begin(0, TextBlock("")),
        delta(0, "This is a "),
        whole("This is a ", aborted=True),
        stop(0),
        event(MessageStop()),
        result(subtype="error_during_execution"),
    ]
    (live,) = put_together(messages).blocks
    assert (live.block, live.aborted, live.complete) == (TextBlock("This is a "), True, True)


def test_nothing_is_cut_twice() -> None:
    assembler = put_together([start(), begin(0, TextBlock("")), delta(0, "Th")])
    assert [live.change for live in assembler.note(result())] == ["cut"]
    assert list(assembler.note(result())) == []


def test_a_message_that_is_asked_for_again_replaces_the_one_that_broke_off() -> None:
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
    assembler = put_together(messages)
    assert blocks(assembler) == [TextBlock("First words."), CALL]
    assert text(assembler) == "First words."
    assert list(assembler.note(tool_result("t0"))) == []


def test_a_stream_that_begins_anew_replaces_the_one_that_broke_off() -> None:
    torn = [start("m1"), begin(0, TextBlock("")), delta(0, "First wo")]
    assembler = put_together([*torn, *streamed([TextBlock("First words.")], id="m2")])
    assert blocks(assembler) == [TextBlock("First words.")]
    unnamed = put_together([*torn, begin(0, TextBlock("")), delta(0, "First words."), stop(0)])
    assert blocks(unnamed) == [TextBlock("First words.")]


def test_a_message_whose_tool_has_run_is_not_taken_back() -> None:
    messages = [
        start("m1"),
        begin(0, ToolUseBlock("t1", "Bash", {})),
        whole(CALL, id="m1"),
        tool_result("t1"),
        begin(1, TextBlock("")),
        delta(1, "And"),
        whole("Done.", id="m2"),
    ]
    assert [live.text or live.name for live in put_together(messages).blocks] == [
        "Bash",
        "And",
        "Done.",
    ]


def test_an_error_that_the_cli_reports_leaves_what_the_model_had_said() -> None:
    torn = [start("m1"), begin(0, TextBlock("")), delta(0, "First wo")]
    error = whole("API Error: 500", id="e1", model="<synthetic>", is_api_error_message=True)
    assembler = put_together([*torn, error, result()])
    assert [(live.text, live.aborted) for live in assembler.blocks] == [
        ("First wo", True),
        ("API Error: 500", False),
    ]


def test_a_line_may_replace_earlier_ones() -> None:
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
    assert blocks(put_together(messages)) == [TextBlock("Right.")]


def test_a_call_that_is_replaced_by_itself_is_there_once() -> None:
    messages = [whole(CALL, uuid="1"), whole(CALL, uuid="2", supersedes=["1"]), tool_result("t1")]
    (live,) = put_together(messages).blocks
    assert (live.block, live.change) == (CALL, "result")


def test_what_a_model_that_declined_has_said_is_taken_back() -> None:
    refusal = ModelRefusalFallbackMessage(retracted_message_uuids=["1"])
    messages = [whole("I will not", uuid="1"), refusal, whole("I will.", id="m2", uuid="2")]
    assert blocks(put_together(messages)) == [TextBlock("I will.")]
    assert list(Assembler().note(ModelRefusalFallbackMessage())) == []


def test_what_comes_in_place_of_what_was_taken_back_is_new_and_of_the_same_message() -> None:
    refusal = ModelRefusalFallbackMessage(retracted_message_uuids=["1"])
    before = [*pieces("I will not…"), whole("I will not.", uuid="1"), refusal]
    for messages in ([delta(0, "I will.")], [begin(0, TextBlock("")), delta(0, "I will.")]):
        (live,) = put_together([*before, *messages]).blocks
        assert (live.id, live.text, live.message_id) == ("block-2", "I will.", "m1")


# --- everything is kept --------------------------------------------------------------------------


def test_blocks_and_pieces_of_unknown_kinds_are_kept() -> None:
    block = UnknownBlock({"type": "hologram", "depth": 3})
    piece = {"type": "hologram_delta", "layer": 1}
    messages = [start(), begin(0, block), delta(0, UnknownDelta(piece)), stop(0)]
    (live,) = put_together(messages).blocks
    assert (live.kind, live.block, live.deltas) == ("hologram", block, [piece])
    assert blocks(put_together([*messages, whole(block)])) == [block]


def test_citations_belong_to_their_text() -> None:
    cited = TextBlock("Yes.", [{"url": "a"}, {"url": "b"}])
    messages = [
        start(),
        begin(0, TextBlock("", [{"url": "a"}])),
        delta(0, "Yes."),
        delta(0, CitationsDelta({"url": "b"})),
        stop(0),
    ]
    assert blocks(put_together(messages)) == [cited]


def test_a_summary_of_the_api_is_given_as_a_whole() -> None:
    messages = [
        start(),
        begin(0, CompactionBlock()),
        delta(0, CompactionDelta("Draft.")),
        delta(0, CompactionDelta("All.", "secret")),
        stop(0),
    ]
    (live,) = put_together(messages).blocks
    assert (live.text, live.block) == ("All.", CompactionBlock("All.", "secret"))


def test_a_summary_without_a_text_adds_none_and_keeps_what_it_began_with() -> None:
    begun = [start(), begin(0, CompactionBlock("All.", "secret"))]
    assert blocks(put_together([*begun, stop(0)])) == [CompactionBlock("All.", "secret")]
    assert history([*begun, delta(0, CompactionDelta(None, "other")), stop(0)]) == [
        ("block-1", "started", ""),
        ("block-1", "grew", ""),
        ("block-1", "completed", ""),
    ]
    other = put_together([*begun, delta(0, CompactionDelta(None, "other")), stop(0)])
    assert blocks(other) == [CompactionBlock("All.", "other")]


def test_a_control_character_in_the_input_of_a_tool_is_kept() -> None:
    call = ToolUseBlock("t1", "Bash", {"command": "a\tb\n"})
    begun = [start(), begin(0, ToolUseBlock("t1", "Bash", {}))]
    raw = delta(0, InputJsonDelta('{"command": "a\tb\n"}'))
    assert blocks(put_together([*begun, raw, stop(0)])) == [call]


@pytest.mark.parametrize(
    "block", [UnknownBlock({"type": "hologram"}), ImageBlock(URLSource("http://localhost/x.png"))]
)
def test_the_input_of_a_tool_in_a_block_that_is_none_changes_nothing(block: Block) -> None:
    messages = [start(), begin(0, block), delta(0, InputJsonDelta('{"command": "ls"}')), stop(0)]
    assert blocks(put_together(messages)) == [block]


def test_a_block_of_a_kind_that_is_called_unknown_is_not_taken_for_another() -> None:
    odd = UnknownBlock({"type": "unknown"})
    assembler = put_together([start(), begin(0, odd), whole("Hi.")])
    assert [(live.kind, live.confirmed) for live in assembler.blocks] == [
        ("unknown", False),
        ("text", True),
    ]


def test_a_block_that_comes_in_one_piece_is_kept_as_it_is() -> None:
    picture = ImageBlock(URLSource("http://localhost/x.png"))
    (live,) = put_together([start(), begin(0, picture), stop(0)]).blocks
    assert (live.block, live.text, live.kind) == (picture, "", "image")


@pytest.mark.parametrize(
    "message", [KeepAlive(), event(Ping()), ended(), stop(3), UserMessage.of("Hello.")]
)
def test_messages_that_say_nothing_about_blocks_change_nothing(message: Message) -> None:
    assembler = Assembler()
    assert list(assembler.note(message)) == []
    assert assembler.blocks == []


def test_a_message_as_a_string_is_one_text() -> None:
    line = whole()
    line = AssistantMessage(message=type(line.message)("assistant", "Hello.", id="m1"))
    assert blocks(put_together([line])) == [TextBlock("Hello.")]


# --- results of tools ----------------------------------------------------------------------------


def test_the_result_of_a_tool_is_with_its_call() -> None:
    output = {"stdout": "a\nb"}
    assembler = put_together([whole(CALL), tool_result("t1", "a b", tool_use_result=output)])
    (live,) = assembler.blocks
    assert live.result == ToolResultBlock("t1", "a b")
    assert live.output == output


def test_results_in_one_line_go_to_their_calls_and_share_no_output() -> None:
    calls = [whole(ToolUseBlock(id, "Bash", {}), uuid=id) for id in ("t1", "t2")]
    results = UserMessage.of(
        [ToolResultBlock("t2", "two"), ToolResultBlock("t1", "one"), ToolResultBlock("t3", "x")],
        tool_use_result={"stdout": "?"},
    )
    one, two = put_together([*calls, results]).blocks
    assert isinstance(one.result, ToolResultBlock)
    assert isinstance(two.result, ToolResultBlock)
    assert (one.result.text, two.result.text, one.output) == ("one", "two", None)


def test_a_text_beside_the_only_result_of_a_line_does_not_hide_its_output() -> None:
    line = UserMessage.of([ToolResultBlock("t1"), TextBlock("Note.")], tool_use_result={"a": 1})
    (live,) = put_together([whole(CALL), line]).blocks
    assert (live.result, live.output) == (ToolResultBlock("t1"), {"a": 1})


def test_the_result_of_a_tool_of_the_api_is_with_its_call_and_a_block_of_its_own() -> None:
    call = ServerToolUseBlock("s1", "web_search", {"query": "x"})
    found = WebSearchToolResultBlock("s1", [])
    for messages in ([whole(call, found)], streamed([call, found], snapshot="never")):
        one, two = put_together(messages).blocks
        assert (one.result, two.block) == (found, found)


# --- what is seen --------------------------------------------------------------------------------


def test_a_block_can_be_looked_at() -> None:
    growing = LiveBlock("block-1", "text", None, None, 0)
    assert repr(growing) == "<LiveBlock block-1 text growing ''>"
    assert (growing.text, growing.input_json, growing.input) == ("", "", None)
    call, text = put_together([whole(CALL), whole("x" * 99)]).blocks
    assert repr(call) == "<LiveBlock block-1 tool_use complete 'Bash'>"
    assert len(repr(text)) < 120


# --- what real CLIs have said --------------------------------------------------------------------


def turns(messages: list[Message]) -> list[list[Message]]:
    found: list[list[Message]] = [[]]
    for message in messages:
        found[-1].append(message)
        if isinstance(message, ResultMessage):
            found.append([])
    return found[:-1]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recorded_turns_are_put_together_as_the_cli_says_them(path: Path) -> None:
    for messages in turns(recorded(path)):
        assembler = put_together(messages)
        lines = [it for it in messages if isinstance(it, AssistantMessage)]
        assert blocks(assembler) == [block for line in lines for block in line.content]
        end = messages[-1]
        assert isinstance(end, ResultMessage)
        if end.result is not None:
            assert assembler.message_texts[-1] == end.result
        calls = [live for live in assembler.blocks if live.kind == "tool_use"]
        assert all(live.result is not None for live in calls)


@pytest.mark.parametrize("path", IN_PIECES, ids=lambda path: path.stem)
def test_recorded_pieces_make_the_same_blocks_as_the_lines_do(path: Path) -> None:
    for messages in turns(recorded(path)):
        pieces = [it for it in messages if not isinstance(it, AssistantMessage)]
        assert any(isinstance(it, StreamEvent) for it in pieces)
        assert blocks(put_together(pieces)) == blocks(put_together(messages))


@pytest.mark.unmeasured
def test_a_long_text_in_small_pieces_is_not_copied_for_each_of_them() -> None:
    assembler = put_together([start(), begin(0, TextBlock(""))])
    piece = delta(0, "x" * 10)
    for _ in range(100_000):
        assembler.note(piece)
    assert len(text(assembler)) == 1_000_000
