"""Two recordings compared: real differences are found, other ids and times are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.product.recordings.written import (
    answered,
    asked,
    prompt,
    result,
    said,
    text,
    used,
    written,
)

from claudewire.recordings import Comparison, Recording, compare, read

FILES = sorted(Path(__file__).resolve().parent.glob("*.jsonl"))


def kinds(comparison: Comparison) -> list[tuple[str, int, int]]:
    return [(str(it.kind), it.before, it.after) for it in comparison.kinds]


def fields(comparison: Comparison) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(*it,) for kind in comparison.kinds for it in kind.fields]


def values(comparison: Comparison) -> list[tuple[str, str | None, str | None]]:
    return [(*it,) for line in comparison.lines for it in line.values]


def both(before: Any, after: Any) -> Comparison:
    return compare(written((0, "<", before)), written((0, "<", after)))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_recording_does_not_differ_from_itself(path: Path) -> None:
    assert compare(read(path), read(path)).is_same


def test_other_ids_and_times_are_no_difference() -> None:
    def talk(id: str, start: float) -> Recording:
        tool = f"toolu_01234567890{id}"
        return written(
            (start, ">", prompt("Go", uuid=f"{id}-1")),
            (start + 1, "<", said(used(tool, "Bash"))),
            (start + 2, "<", asked(id, "can_use_tool", tool_use_id=tool, input={})),
            (start + 3, ">", answered(id, behavior="allow", updatedInput={})),
            (start + 4, "<", result(f"Wrote {tool}", duration_ms=start, createdAt=start)),
        )

    assert compare(talk("one", 0.0), talk("two", 7.5)).is_same


def test_id_that_refers_to_something_else_is_a_difference() -> None:
    before, after = (
        written((0, "<", said(*(used(f"toolu_{id}", "A") for id in ids)))) for ids in ("121", "344")
    )
    path = "$.message.content[2].id"
    assert values(compare(before, after)) == [(path, '"toolu_1"', '"toolu_4"')]


def test_kinds_of_lines_that_are_new_gone_or_more_are_counted() -> None:
    status = {"type": "system", "subtype": "status", "status": None}
    comparison = compare(
        written((0, "<", status), (0, "!", "warning"), (0, "<", result())),
        written((0, "<", result()), (0, "<", result()), (0, "<", "noise"), exit=1),
    )
    assert kinds(comparison) == [
        ("< system/status", 1, 0),
        ("! stderr ", 1, 0),
        ("< result/success", 1, 2),
        ("< bad line not JSON", 0, 1),
        ("= exit ", 0, 1),
    ]
    alone = [(str(it.kind), it.before is None) for it in comparison.lines]
    assert ("< system/status", False) in alone
    assert ("< bad line not JSON", True) in alone


def test_changed_fields_are_named_by_their_path() -> None:
    before = result(usage={"in": 1}, gone={"deep": {"er": 1}}, by={"claude-1": {"a": 1}})
    after = result(usage={"in": "1"}, new=[{"x": 1}], by={"claude-2": {"a": 1, "b": None}})
    assert fields(both(before, after)) == [
        ("$.by.*.b", (), ("null",)),
        ("$.gone", ("object",), ()),
        ("$.new", (), ("array",)),
        ("$.usage.in", ("number",), ("string",)),
    ]
    thinking = {"type": "thinking", "thinking": ""}
    comparison = both(said(text("a"), thinking), said(text("a"), {**thinking, "x": True}))
    assert fields(comparison) == [("$.message.content[thinking].x", (), ("boolean",))]


def test_changed_values_are_shown_with_both_sides() -> None:
    comparison = both(result("One", a=True, b=2), result("Two", a=1, b=2, extra=[None]))
    assert values(comparison) == [
        ("$.result", '"One"', '"Two"'),
        ("$.a", "true", "1"),
        ("$.extra[0]", None, "null"),
    ]


def test_items_are_compared_by_their_word_or_name() -> None:
    one, two = {"name": "x", "n": 1}, {"name": "y", "n": 1}
    comparison = both(
        result(tools=["A", "B"], commands=[one, two]),
        result(tools=["B", "C"], commands=[{**two, "n": 2}, one]),
    )
    assert values(comparison) == [
        ("$.tools[A]", '"A"', None),
        ("$.commands[y].n", "1", "2"),
        ("$.tools[C]", None, '"C"'),
    ]


def test_lines_that_are_no_protocol_are_compared_as_text() -> None:
    one = written((0, "!", '{"a": 1}'), (0, "<", "5"), (0, "<", ""), exit=0)
    two = written((0, "!", "words"), (0, "<", '"five"'), (0, "<", ""), exit=1)
    comparison = compare(one, two)
    assert kinds(comparison) == []
    assert fields(comparison) == []
    assert len(comparison.lines) == 3
