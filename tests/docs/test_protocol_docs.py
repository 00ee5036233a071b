"""What the protocol documents say is what the code does: every example, and every table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, get_args

import msgspec
import pytest
from tests.docs.protocol_examples import (
    END,
    PAGES,
    Example,
    Line,
    as_json,
    everything_said,
    examples,
    fences,
    names,
    parts,
    prose,
    replay,
    table,
    tables,
    text_of,
)

from claudewire.wire import (
    HOOK_EVENTS,
    REQUESTS,
    SYSTEM,
    Answer,
    APIEvent,
    BaseHookInput,
    Block,
    Delta,
    DialogResult,
    EndOfStream,
    Failure,
    HookInput,
    HookOutput,
    HookSpecificOutput,
    Kind,
    Malformed,
    MessageOrigin,
    Noise,
    PermissionHint,
    PermissionResult,
    PermissionUpdate,
    Response,
    Role,
    Source,
    State,
    Stray,
    Unknown,
    answer_type,
    codec,
)
from claudewire.wire.dialects import DIALECTS, MODERN
from claudewire.wire.states import EFFECTS, INITIAL, NEEDS_A_LISTENER, TRANSITIONS

GUIDE, REFERENCE = PAGES

each_example = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)


def members(union: Any) -> list[type[msgspec.Struct]]:
    """The declared members of a union: a record stands for itself."""
    kinds = get_args(union) or (union,)
    return [kind for kind in kinds if not issubclass(kind, Unknown)]


def by_tag(union: Any) -> dict[str, type[msgspec.Struct]]:
    return {str(kind.__struct_config__.tag): kind for kind in members(union)}


def written_names(union: Any) -> set[str]:
    """The names of all fields that a record, or a member of a union, has on the wire."""
    found = {name for kind in members(union) for name in kind.__struct_encode_fields__}
    return found | {str(kind.__struct_config__.tag_field) for kind in members(union)} - {"None"}


def in_first_column(rows: Iterable[list[str]]) -> list[str]:
    return [name for row in rows for name in names(row[0])]


# --- examples ------------------------------------------------------------------------------------


@each_example
def test_every_example_is_understood_completely(example: Example) -> None:
    for said in replay(example)[1]:
        assert not isinstance(said.event, Noise | Malformed | Stray)
        assert [part for part in parts(said.event) if isinstance(part, Unknown)] == []
        assert said.event.problems == ()


@each_example
def test_every_example_is_written_by_us_as_it_stands(example: Example) -> None:
    for said in replay(example)[1]:
        if not isinstance(said.event, EndOfStream):
            assert as_json(said.written) == as_json(said.line.text)


@each_example
def test_every_conversation_settles_its_requests(example: Example) -> None:
    if len(example.lines) > 1:
        pair, _ = replay(example)
        for end in pair.ends.values():
            assert not end.asked
            # Who has ended can answer no more: a failed resume leaves `initialize` open.
            assert not end.owed or end.our_state is State.ENDED


@each_example
def test_an_example_of_a_dialect_is_recognised_as_such(example: Example) -> None:
    recognised = {said.dialect for said in replay(example)[1]}
    assert recognised <= {example.dialect, MODERN.name}
    assert example.dialect in recognised


def test_a_host_that_closes_its_stream_owes_and_awaits_nothing() -> None:
    closing = Line(Role.CLIENT, END)
    ends = [example for example in examples() if closing in example.lines]
    assert ends
    for example in ends:
        last = example.lines.index(closing)
        pair, _ = replay(example._replace(lines=example.lines[:last]))
        assert pair.ends[Role.CLIENT].may_end_input


def test_no_example_escapes_the_check() -> None:
    languages = {fence.language for page in PAGES for fence in fences(page)}
    assert languages == {"jsonl", "wire", "python", "sh", "text"}
    for page in PAGES:
        assert "```" not in prose(page)


def test_every_snippet_runs() -> None:
    for page in PAGES:
        for fence in fences(page):
            if fence.language == "python":
                exec(fence.code, {})


# --- completeness --------------------------------------------------------------------------------


def test_every_kind_of_line_has_an_example() -> None:
    shown = {type(said.event) for said in everything_said()}
    if {Answer, Failure} <= shown:
        shown.add(Response)
    assert {*codec.FRAMES.values(), *SYSTEM.values()} - shown == set()


def test_every_request_has_an_example_with_its_answer() -> None:
    answered = {
        type(said.event.request.body)
        for said in everything_said()
        if isinstance(said.event, Answer | Failure) and said.event.request
    }
    assert set(REQUESTS.values()) - answered == set()


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
def test_every_kind_of_part_has_an_example(union: Any) -> None:
    shown = {type(part) for said in everything_said() for part in parts(said.event)}
    assert set(members(union)) - shown == set()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_has_a_conversation_of_its_own(dialect: str) -> None:
    infos = [fence.info for fence in fences(GUIDE) if fence.language == "wire"]
    assert dialect in infos


# --- tables --------------------------------------------------------------------------------------


def test_the_index_of_messages_is_complete() -> None:
    rows = table(REFERENCE, "| type | subtype | meaning |")
    kinds = [names(kind)[0] for kind, _, _ in rows]
    subtypes = [names(subtype)[0] for kind, subtype, _ in rows if names(kind) == ["system"]]
    assert sorted({*kinds} - {"system"}) == sorted(codec.FRAMES)
    assert sorted(subtypes) == sorted(SYSTEM)


def test_the_index_of_requests_is_complete() -> None:
    rows = table(REFERENCE, "| subtype | fields | answer | meaning |")
    assert {
        subtype.strip("`"): (set(names(fields)), set(names(answer)))
        for subtype, fields, answer, _ in rows
    } == {
        subtype: (set(body.__struct_encode_fields__), written_names(answer_type(body)))
        for subtype, body in REQUESTS.items()
    }


def test_the_table_of_hooks_is_complete_and_in_order() -> None:
    rows = table(REFERENCE, "| event | when | input | output |")
    inputs, outputs = by_tag(HookInput), by_tag(HookSpecificOutput)
    common = written_names(BaseHookInput)
    assert tuple(event.strip("`") for event, *_ in rows) == HOOK_EVENTS
    for event, _, told, answered in rows:
        kind, output = inputs[event.strip("`")], outputs.get(event.strip("`"))
        assert set(names(told)) == set(kind.__struct_encode_fields__) - common
        assert set(names(answered)) == set(output.__struct_encode_fields__ if output else ())


@pytest.mark.parametrize(
    ("column", "union"),
    [
        ("| block | meaning |", Block),
        ("| event | meaning |", APIEvent),
        ("| delta | meaning |", Delta),
        ("| kind | meaning |", MessageOrigin),
    ],
)
def test_the_tables_of_parts_are_complete(column: str, union: Any) -> None:
    listed = in_first_column(table(REFERENCE, column))
    assert sorted(listed) == sorted(by_tag(union))


def test_the_tables_of_permission_results_and_updates_are_complete() -> None:
    results = table(REFERENCE, "| behavior | fields |")
    updates = table(REFERENCE, "| update | fields | effect |")
    kinds = by_tag(PermissionUpdate)
    del kinds[str(PermissionHint.__struct_config__.tag)]  # of the envelope dialect only
    for rows, expected in ((results, by_tag(PermissionResult)), (updates, kinds)):
        listed = {row[0].strip("`"): names(row[1]) for row in rows}
        assert listed == {
            tag: list(kind.__struct_encode_fields__) for tag, kind in expected.items()
        }


def declared_under(heading: str) -> set[str]:
    """The fields of what a heading of the reference is about."""
    if heading.startswith("6.8"):
        return written_names(BaseHookInput) | written_names(HookOutput)
    *_, name = names(heading)
    kind = SYSTEM.get(name) if heading.startswith("`system`") else codec.FRAMES.get(name)
    return written_names(kind or REQUESTS[name])


def test_every_field_that_is_explained_exists() -> None:
    explained = [each for each in tables(REFERENCE) if each.header == ["field", "meaning"]]
    assert len(explained) > 10
    for each in explained:
        assert set(in_first_column(each.rows)) <= declared_under(each.heading)


def test_a_request_that_is_explained_is_explained_completely() -> None:
    for each in tables(REFERENCE):
        name = names(each.heading)[-1] if names(each.heading) else ""
        if each.header == ["field", "meaning"] and name in REQUESTS:
            assert set(in_first_column(each.rows)) == set(REQUESTS[name].__struct_encode_fields__)


WHO = {"host": Role.CLIENT, "CLI": Role.CLI}
MAY_NOT = "\u2013"


@pytest.mark.parametrize("who", WHO)
def test_the_tables_of_states_are_those_of_the_code(who: str) -> None:
    role = WHO[who]
    states = list(TRANSITIONS[role])
    rows = table(GUIDE, f"| {who} says | {' | '.join(state.value for state in states)} |")
    documented = {
        (state.value, kind): after
        for kind, *cells in rows
        for state, after in zip(states, cells, strict=True)
        if after != MAY_NOT
    }
    assert documented == {
        (state.value, kind.value): after.value
        for state in states
        for kind, after in TRANSITIONS[role][state].items()
    }


def test_the_table_of_effects_is_that_of_the_code() -> None:
    rows = table(GUIDE, "| who | says | changes the other |")
    assert [(WHO[who], Kind(says), changes) for who, says, changes in rows] == [
        (role, kind, f"{before.value} → {after.value}")
        for (role, kind), changes in EFFECTS.items()
        for before, after in changes.items()
    ]


def test_what_is_said_about_the_first_state_and_about_listeners_holds() -> None:
    text = " ".join(text_of(GUIDE).split())
    first = {role: state.value for role, state in INITIAL.items()}
    assert f"host begins as `{first[Role.CLIENT]}`, the CLI as `{first[Role.CLI]}`" in text
    asked = re.search(r"A party that has ended cannot be asked: (.*?) then raise", text)
    assert asked
    assert set(re.findall(r"\*(\w+)\*", asked[1])) == {kind.value for kind in NEEDS_A_LISTENER}


def test_the_tables_of_dialects_name_all_of_them() -> None:
    (header,) = [each.header for each in tables(GUIDE) if each.header[0] == "concept"]
    assert sorted(header[1:]) == sorted(DIALECTS)
    features = [row[0] for row in table(GUIDE, "| dialect | features |")]
    assert sorted([*features, MODERN.name]) == sorted(DIALECTS)


# --- links ---------------------------------------------------------------------------------------


def anchors(page: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_to_a_heading_leads_there(page: str) -> None:
    links = re.findall(r"\]\(([\w.-]*)#([\w-]+)\)", prose(page))
    assert links
    for target, anchor in links:
        assert anchor in anchors(target or page)
