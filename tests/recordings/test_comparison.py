"""Two recordings compared: what differs is found, and what only looks different is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recordings.written import answered, asked, prompt, result, said, text, used, written

from claudewire.recordings import Comparison, Timeline, compare, read
from claudewire.transport import Recording, RecordingEntry

FOLDER = Path(__file__).resolve().parent
FILES = sorted(FOLDER.glob("*.jsonl"))


def kinds(comparison: Comparison) -> list[tuple[str, int, int]]:
    return [(str(it.kind), it.before, it.after) for it in comparison.kinds]


def fields(comparison: Comparison) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(*it,) for kind in comparison.kinds for it in kind.fields]


def values(comparison: Comparison) -> list[tuple[str, str | None, str | None]]:
    return [(*it,) for line in comparison.lines for it in line.values]


def both(before: Any, after: Any, **options: Any) -> Comparison:
    return compare(written((0, "<", before)), written((0, "<", after)), **options)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recording_does_not_differ_from_itself(path: Path) -> None:
    assert compare(read(path), read(path)).is_same


def test_other_ids_and_times_are_no_difference() -> None:
    def talk(id: str, start: float) -> Recording:
        return written(
            (start, ">", prompt("Go", uuid=f"{id}-1")),
            (start + 1, "<", said(used(f"toolu_{id}", "Bash"))),
            (
                start + 2,
                "<",
                asked(id, "can_use_tool", tool_name="Bash", tool_use_id=f"toolu_{id}", input={}),
            ),
            (start + 3, ">", answered(id, behavior="allow", updatedInput={})),
            (start + 4, "<", result(f"Wrote toolu_{id}", duration_ms=start, timestamp=f"{start}")),
        )

    comparison = compare(talk("one", 0.0), talk("two", 7.5))
    assert comparison.is_same
    assert compare(talk("one", 0.0), talk("two", 7.5), times=True).lines


def test_an_id_that_refers_to_something_else_is_a_difference() -> None:
    before = written(
        (0, "<", said(used("toolu_1", "A"), used("toolu_2", "B"), used("toolu_1", "C")))
    )
    after = written(
        (0, "<", said(used("toolu_3", "A"), used("toolu_4", "B"), used("toolu_4", "C")))
    )
    path = "$.message.content[2].id"
    assert (path, '"toolu_1"', '"toolu_4"') in values(compare(before, after))


def test_kinds_of_lines_that_are_new_gone_or_more_are_counted() -> None:
    one = {"type": "system", "subtype": "status", "status": None}
    comparison = compare(
        written((0, "<", one), (0, "!", "warning"), (0, "<", result())),
        written((0, "<", result()), (0, "<", result()), (0, "<", "noise"), exit=1),
    )
    assert kinds(comparison) == [
        ("< system/status", 1, 0),
        ("! stderr ", 1, 0),
        ("< result/success", 1, 2),
        ("< bad line noise", 0, 1),
        ("= exit ", 0, 1),
    ]
    alone = [(str(it.kind), it.before is None) for it in comparison.lines]
    assert ("< system/status", False) in alone
    assert ("< bad line noise", True) in alone


def test_fields_that_are_new_gone_or_of_another_type_are_named_by_their_path() -> None:
    before = result(usage={"in": 1}, gone={"deep": {"er": 1}}, modelUsage={"claude-1": {"a": 1}})
    after = result(usage={"in": "1"}, new=[{"x": 1}], modelUsage={"claude-2": {"a": 1, "b": None}})
    assert fields(both(before, after)) == [
        ("$.gone", ("object",), ()),
        ("$.modelUsage.*.b", (), ("null",)),
        ("$.new", (), ("array",)),
        ("$.usage.in", ("number",), ("string",)),
    ]


def test_items_of_a_list_are_told_apart_by_their_type() -> None:
    thinking = {"type": "thinking", "thinking": ""}
    after = said({**text("a"), "citations": []}, {**thinking, "signature": True})
    assert fields(both(said(text("a"), thinking), after)) == [
        ("$.message.content[text].citations", (), ("array",)),
        ("$.message.content[thinking].signature", (), ("boolean",)),
    ]
    before, after = (result(items=[{"type": "Not a name", "n": n}]) for n in (1, "1"))
    assert fields(both(before, after)) == [("$.items[].n", ("number",), ("string",))]


def test_the_types_of_a_field_are_in_order() -> None:
    after = result(items=["a", 1, {}, None, [], True])
    types = ("array", "boolean", "null", "number", "object", "string")
    assert fields(both(result(items=[1]), after)) == [("$.items[]", ("number",), types)]


def test_values_that_differ_are_shown_with_both_sides() -> None:
    comparison = both(result("One", num_turns=1), result("Two", num_turns=1, extra=[None]))
    assert values(comparison) == [("$.result", '"One"', '"Two"'), ("$.extra", None, "[null]")]


def test_lists_of_words_are_compared_by_what_is_missing_or_new() -> None:
    comparison = both(result(tools=["A", "B", "C"]), result(tools=["C", "B", "D", "E"]))
    tools = [("$.tools[]", '"A"', None), ("$.tools[]", None, '"D"'), ("$.tools[]", None, '"E"')]
    assert values(comparison) == tools
    order = both(result(tools=["A", "B"]), result(tools=["B", "A"]))
    assert values(order) == [("$.tools", '["A", "B"]', '["B", "A"]')]
    other = both(result(tools=["A", "B"]), result(tools=["C", "D"]))
    assert values(other) == [("$.tools[]", '"A"', '"C"'), ("$.tools[]", '"B"', '"D"')]


def test_objects_with_names_are_compared_by_name() -> None:
    one, two = {"name": "x", "n": 1}, {"name": "y", "n": 1}
    comparison = both(result(commands=[one, two]), result(commands=[{**two, "n": 2}]))
    assert values(comparison) == [
        ("$.commands[x]", '{"name": "x", "n": 1}', None),
        ("$.commands[y].n", "1", "2"),
    ]
    same = both(result(items=[{"a": 1}]), result(items=[{"a": 1}, {"a": 2}]))
    assert values(same) == [("$.items[1]", None, '{"a": 2}')]


def test_true_is_not_one() -> None:
    assert values(both(result(x=True), result(x=1))) == [("$.x", "true", "1")]


def test_how_long_exchanges_took_is_put_side_by_side() -> None:
    before = written((0, ">", asked("1", "initialize")), (1, "<", answered("1")))
    after = written(
        (0, ">", asked("1", "initialize")), (3, "<", answered("1")), (3, ">", prompt(""))
    )
    one, two = compare(before, after).latencies
    assert (one.before and one.before.median, one.after and one.after.median) == (1, 3)
    assert two.before is None


@given(st.lists(st.binary(max_size=12).map(lambda it: it.replace(b"\n", b"")), max_size=6))
def test_lines_that_are_no_json_are_compared_as_they_are(lines: list[bytes]) -> None:
    recording = Recording([RecordingEntry(dir="<", line=line) for line in lines])
    assert compare(recording, recording).is_same


def test_timelines_are_compared_as_their_recordings_are() -> None:
    one, two = written((0, "<", said(text("a")))), written((0, "<", said(text("b"))))
    comparison = compare(Timeline.of(one), Timeline.of(two))
    assert values(comparison) == values(compare(one, two)) != []
    assert compare(Timeline.of(one), one).is_same


@pytest.mark.parametrize(
    "name",
    [
        *("ms", "timestamp", "elapsed", "time", "duration", "a_time_b", "timestamp_x", "x_ms"),
        *("durationMs", "createdAt", "created_at", "durationOf", "waitSeconds"),
    ],
)
def test_times_count_only_if_asked_for(name: str) -> None:
    before, after = ({"type": "odd", name: it} for it in (1, 2))
    assert both(before, after).is_same
    assert values(both(before, after, times=True)) == [(f"$.{name}", "1", "2")]


@pytest.mark.parametrize("name", ["timer", "format", "Atlas", "aduration", "seconds", "items"])
def test_names_that_only_look_like_times_count(name: str) -> None:
    before, after = ({"type": "odd", name: it} for it in (1, 2))
    assert values(both(before, after)) == [(f"$.{name}", "1", "2")]


@pytest.mark.parametrize(
    ("then", "now", "changes"),
    [
        (["a", "b"], ["a"], [('"b"', None)]),
        (["a"], ["a", "b"], [(None, '"b"')]),
        (["a", "a"], ["a"], [('"a"', None)]),
        (["a", "b"], ["a", "c"], [('"b"', None), (None, '"c"')]),
        (["a", "b"], ["c", "d"], [('"a"', '"c"'), ('"b"', '"d"')]),
        (["a", "b"], ["c"], [('"a"', None), ('"b"', None), (None, '"c"')]),
        (["a", "a"], ["c", "d"], [('"a"', None), ('"a"', None), (None, '"c"'), (None, '"d"')]),
    ],
)
def test_lists_of_words_differ_in_what_is_on_one_of_them(
    then: list[str], now: list[str], changes: list[tuple[str | None, str | None]]
) -> None:
    before, after = ({"type": "odd", "tools": it} for it in (then, now))
    assert values(both(before, after)) == [("$.tools[]", *it) for it in changes]


UUID = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("name", "then", "now", "is_same"),
    [
        ("x", "toolu_1", "toolu_2", True),
        ("x", UUID, UUID.replace("0", "9"), True),
        ("x", "toolu_1", "a word", False),
        ("x", "a word", "toolu_1", False),
        ("x", "a word", "another", False),
        ("x", "made toolu_1", "made toolu_2", False),  # which nothing has said before
        ("id", "a", "b", True),
        ("message_id", "a", "b", True),
        ("toolUseId", "a", "b", True),
        ("uuids", "a", "b", True),
        ("paid", "a", "b", False),
        ("id", 1, 2, False),
        ("x", [], [], True),
        ("x", [], ["a"], False),
        ("x", ["a", "b"], ["b", "a"], False),
        ("x", [{"name": "a", "n": 1}], [{"name": "a", "n": 1}], True),
        ("x", [{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}], True),
        ("x", [{"name": "a"}, {"name": "a"}], [{"name": "a"}], False),
        ("x", [{"name": "a", "type": "t"}], [{"name": "b", "type": "t"}], False),
        ("x", None, 0, False),
        ("x", {}, [], False),
    ],
)
def test_what_counts_as_the_same_value(name: str, then: Any, now: Any, is_same: bool) -> None:
    before, after = ({"type": "odd", name: it} for it in (then, now))
    assert (values(both(before, after)) == []) is is_same


def test_what_is_no_protocol_has_no_fields() -> None:
    one = written((0, "!", '{"a": 1}'), (0, "<", "5"), (0, "<", ""), exit=0)
    two = written((0, "!", "words"), (0, "<", '"five"'), (0, "<", ""), exit=1)
    comparison = compare(one, two)
    assert fields(comparison) == []
    assert kinds(comparison) == []
    assert len(comparison.lines) == 3
