"""Examples and tables of the protocol pages match the code.

A fence `jsonl <` holds lines of the CLI, `jsonl >` lines of the host; each stands alone. A fence
`wire` holds one conversation: each line begins with its direction, `EOF` ends a stream, and `#`
begins a remark. The name of a dialect may follow; the modern one needs none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from tests.product.docs.pages import Fence, fences, first_names, names, table, tables

from claudewire.wire import (
    HOOK_EVENTS,
    REQUESTS,
    SYSTEM,
    Answer,
    APIEvent,
    BaseHookInput,
    Block,
    Connection,
    Delta,
    DialogResult,
    EndOfStream,
    Event,
    Failure,
    HookInput,
    HookOutput,
    HookSpecificOutput,
    InvalidLine,
    Kind,
    Malformed,
    MessageOrigin,
    PermissionHint,
    PermissionResult,
    PermissionUpdate,
    RequestBody,
    Response,
    Role,
    Source,
    State,
    UnexpectedMessage,
    Unknown,
    codec,
)
from claudewire.wire.dialects import DIALECTS, MODERN
from claudewire.wire.states import EFFECTS, TRANSITIONS

GUIDE, REFERENCE = PAGES = ("protocol.md", "protocol-reference.md")
SENDERS = {">": Role.CLIENT, "<": Role.CLI}
END = "EOF"


class Line(NamedTuple):
    sender: Role
    text: str


class Example(NamedTuple):
    name: str
    dialect: str
    lines: list[Line]


class Said(NamedTuple):
    """A line, its event at the other end, and the line that our end writes for this event."""

    line: Line
    event: Event
    dialect: str
    written: bytes


def lines_of(fence: Fence) -> Iterator[Example]:
    direction, _, dialect = fence.info.partition(" ")
    for number, text in enumerate(fence.code.splitlines(), fence.line):
        line = Line(SENDERS[direction], text)
        yield Example(f"{fence.page}:{number}", dialect or MODERN.name, [line])


def conversation_of(fence: Fence) -> Iterator[Example]:
    spoken = [text for text in fence.code.splitlines() if not text.startswith("# ")]
    lines = [Line(SENDERS[text[:2].strip()], text[2:]) for text in spoken]
    yield Example(f"{fence.page}:{fence.line}", fence.info or MODERN.name, lines)


READERS = {"jsonl": lines_of, "wire": conversation_of}
EXAMPLES = [
    example
    for page in PAGES
    for fence in fences(page)
    if fence.language in READERS
    for example in READERS[fence.language](fence)
]
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda it: it.name)


class Pair:
    """The two ends of a conversation."""

    def __init__(self, dialect: str) -> None:
        self.ends = {role: Connection(role, dialect=dialect) for role in Role}

    def say(self, line: Line) -> Said:
        sender, receiver = self.ends[line.sender], self.ends[line.sender.other]
        if line.text == END:
            written = sender.send(EndOfStream())
            (end,) = receiver.receive_data(b"")
            return Said(line, end, MODERN.name, written)
        data = line.text.encode()
        decoded = codec.decode(data, lambda id: body_of(receiver, id))
        assert decoded is not None
        (event,) = receiver.receive_data(data + b"\n")
        return Said(line, event, decoded[1].name, sender.send(to_send(event)))


def body_of(end: Connection, id: str) -> RequestBody[Any] | None:
    request = end.asked.get(id)
    return request.body if request else None


def to_send(event: Event) -> Event:
    """A received answer knows its request; a sent one does not."""
    if isinstance(event, Answer):
        return Answer(event.id, event.body, pending=event.pending)
    if isinstance(event, Failure):
        return Failure(event.id, event.error, event.code)
    return event


def replay(example: Example) -> tuple[Pair, list[Said]]:
    pair = Pair(example.dialect)
    return pair, [pair.say(line) for line in example.lines]


def parts(value: Any) -> Iterator[Any]:
    """Yield everything inside an event, at any depth, and the event."""
    yield value
    inner: list[Any] = []
    if isinstance(value, list | tuple):
        inner = [*value]
    elif isinstance(value, dict):
        inner = [*value.values()]
    elif hasattr(value, "__struct_fields__"):
        inner = [getattr(value, name) for name in value.__struct_fields__]
    for item in inner:
        yield from parts(item)


@cache
def shown() -> list[Event]:
    return [said.event for example in EXAMPLES for said in replay(example)[1]]


# --- examples ------------------------------------------------------------------------------------


@each_example
def test_example_is_understood_and_written_as_it_stands(example: Example) -> None:
    pair, conversation = replay(example)
    for said in conversation:
        assert not isinstance(said.event, InvalidLine | Malformed | UnexpectedMessage)
        assert [part for part in parts(said.event) if isinstance(part, Unknown)] == []
        assert said.event.problems == ()
        if not isinstance(said.event, EndOfStream):
            assert json.loads(said.written) == json.loads(said.line.text)
    dialects = {said.dialect for said in conversation}
    assert example.dialect in dialects <= {example.dialect, MODERN.name}
    for end in pair.ends.values() if len(conversation) > 1 else ():
        assert not end.asked
        # An end that has closed can answer no more: a failed resume leaves `initialize` open.
        assert not end.owed or end.our_state is State.ENDED


def test_every_line_and_request_has_an_example() -> None:
    kinds = {type(event) for event in shown()}
    if {Answer, Failure} <= kinds:
        kinds.add(Response)
    assert {*codec.FRAMES.values(), *SYSTEM.values()} - kinds == set()
    answers = [it for it in shown() if isinstance(it, Answer | Failure) and it.request]
    answered = {type(it.request.body) for it in answers if it.request}
    assert {*REQUESTS.values()} - answered == set()


def members(union: Any) -> list[type[msgspec.Struct]]:
    """Return the members of a union: a record stands for itself."""
    kinds = get_args(union) or (union,)
    return [kind for kind in kinds if not issubclass(kind, Unknown)]


@pytest.mark.parametrize(
    "union",
    [
        Block,
        Source,
        APIEvent,
        Delta,
        MessageOrigin,
        HookInput,
        HookSpecificOutput,
        PermissionResult,
        PermissionUpdate,
        DialogResult,
    ],
    ids=lambda union: members(union)[0].__name__,
)
def test_every_part_has_an_example(union: Any) -> None:
    kinds = {type(part) for event in shown() for part in parts(event)}
    assert {*members(union)} - kinds == set()


def test_every_dialect_has_a_conversation_and_a_column() -> None:
    infos = {fence.info for fence in fences(GUIDE) if fence.language == "wire"}
    assert {*DIALECTS} <= infos
    (header,) = [each.header for each in tables(GUIDE) if each.header[0] == "concept"]
    assert sorted(header[1:]) == sorted(DIALECTS)


# --- tables --------------------------------------------------------------------------------------


def by_tag(union: Any) -> dict[str, type[msgspec.Struct]]:
    return {str(kind.__struct_config__.tag): kind for kind in members(union)}


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("| subtype | meaning |", REQUESTS),
        ("| event | when |", HOOK_EVENTS),
        ("| block | meaning |", by_tag(Block)),
        ("| event | meaning |", by_tag(APIEvent)),
        ("| delta | meaning |", by_tag(Delta)),
        ("| kind | meaning |", by_tag(MessageOrigin)),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_table_of_names_is_complete(header: str, wanted: Any) -> None:
    assert sorted(first_names(REFERENCE, header)) == sorted(wanted)


def test_tables_of_permission_results_and_updates_are_complete() -> None:
    kinds = by_tag(PermissionUpdate)
    del kinds[str(PermissionHint.__struct_config__.tag)]  # of the envelope dialect only
    for header, expected in (
        ("| behavior | fields |", by_tag(PermissionResult)),
        ("| update | fields | effect |", kinds),
    ):
        listed = {row[0].strip("`"): names(row[1]) for row in table(REFERENCE, header)}
        assert listed == {tag: [*kind.__struct_encode_fields__] for tag, kind in expected.items()}


def fields_of(union: Any) -> set[str]:
    """Return the names of all fields on the wire of a record, or of the members of a union."""
    found = {name for kind in members(union) for name in kind.__struct_encode_fields__}
    return found | {str(kind.__struct_config__.tag_field) for kind in members(union)} - {"None"}


def test_every_explained_field_exists() -> None:
    explained = [each for each in tables(REFERENCE) if each.header == ["field", "meaning"]]
    assert len(explained) > 5
    for each in explained:
        listed = {name for row in each.rows for name in names(row[0])}
        if each.heading.startswith("6.8"):
            assert listed <= fields_of(BaseHookInput) | fields_of(HookOutput)
            continue
        *_, name = names(each.heading)
        if name in REQUESTS:
            assert listed == {*REQUESTS[name].__struct_encode_fields__}
        elif each.heading.startswith("`system`"):
            assert listed <= fields_of(SYSTEM[name])
        else:
            assert listed <= fields_of(codec.FRAMES[name])


WHO = {"host": Role.CLIENT, "CLI": Role.CLI}


@pytest.mark.parametrize("who", WHO)
def test_table_of_states_is_that_of_the_code(who: str) -> None:
    role = WHO[who]
    states = [*TRANSITIONS[role]]
    rows = table(GUIDE, f"| {who} says | {' | '.join(state.value for state in states)} |")
    assert {
        (state.value, kind): after
        for kind, *cells in rows
        for state, after in zip(states, cells, strict=True)
        if after != "\u2013"
    } == {
        (state.value, kind.value): after.value
        for state in states
        for kind, after in TRANSITIONS[role][state].items()
    }


def test_table_of_effects_is_that_of_the_code() -> None:
    rows = table(GUIDE, "| who | says | changes the other |")
    assert [(WHO[who], Kind(says), changes) for who, says, changes in rows] == [
        (role, kind, f"{before.value} → {after.value}")
        for (role, kind), changes in EFFECTS.items()
        for before, after in changes.items()
    ]
