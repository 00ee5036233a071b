"""Values checked by schemas that were written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from claudewire.schemas.checker import Checker, same
from claudewire.schemas.mismatch import SchemaMismatch, brief


@pytest.mark.parametrize(
    ("schema", "fitting"),
    [
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "a"),
        ({"not": {"type": "string"}}, 1),
        ({"$ref": "https://elsewhere/schema"}, object()),
        ({"$ref": "#/$defs/missing"}, 1),
        ({"items": {"type": "string"}}, "no list"),
        ({"items": [{"type": "string"}], "additionalItems": False}, ["a"]),
        ({"properties": {"a": {"type": "string"}}}, "no object"),
        ({"uniqueItems": True}, [1, True, [1], [2], {"a": 1}, {"b": 1}]),
        ({"uniqueItems": False}, [1, 1]),
        ({"minimum": 3, "minLength": 2}, "ab"),
        ({"type": "no such type"}, 1),
        ({"patternProperties": {"^x": {"type": "integer"}}}, {"x1": 1, "y": "a"}),
        ({"properties": {"never": False}}, {"other": 1}),
    ],
)
def test_a_value_that_fits_is_returned_as_it_is(schema: Any, fitting: Any) -> None:
    assert Checker(schema).convert(fitting) == fitting


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, 1, "fits more than one"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, [], "expected"),
        ({"not": {"type": "string"}}, "a", "must not be"),
        ({"items": [{"type": "string"}], "additionalItems": False}, ["a", 2], "must not be here"),
        ({"uniqueItems": True}, [1, 1.0], "same as an earlier item"),
        ({"uniqueItems": True}, [{"a": [1]}, {"a": [1]}], "same as an earlier item"),
        ({"anyOf": [True, {"type": "string"}], "type": "integer"}, "a", "integer"),
        ({"anyOf": [False, {"anyOf": [{"type": "string"}]}]}, 1, "must not be here"),
        ({"const": 3}, 4, "expected 3, got 4"),
        ({"enum": [1, "a"]}, True, "expected one of 1, 'a'"),
        ({"patternProperties": {"^x": {"type": "integer"}}}, {"x1": "a"}, "x1"),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "ab"),
        ({"properties": {"never": False}}, {"never": 1}, "must not be here"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(schema: Any, value: Any, words: str) -> None:
    with pytest.raises(SchemaMismatch) as refused:
        Checker(schema).convert(value)
    assert words in str(refused.value)


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(SchemaMismatch, match="nested too deeply"):
        Checker({"items": {"$ref": "#"}}).convert(value)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (True, True, True),
        ([1, [2]], [1.0, [2]], True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"b": 1}, False),
        ("1", 1, False),
    ],
)
def test_values_are_the_same_as_json_has_it(one: Any, other: Any, is_same: bool) -> None:
    assert same(one, other) is is_same


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x" * 58, repr("x" * 58)),
        ("x" * 59, "'" + "x" * 58 + "…"),
        ("", "''"),
        ([1, None], "[1, None]"),
    ],
)
def test_a_long_value_is_cut_where_it_is_quoted(value: object, shown: str) -> None:
    assert brief(value) == shown
