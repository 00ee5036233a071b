"""The arguments of functions: what is asked for, and how they are called."""

from __future__ import annotations

import typing
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest

from claudewire.schemas import Arguments, SchemaMismatch, TypeAdapter


class _Nothing:
    """As attrs marks a default that is made later."""


class Flag:
    is_required = True


FLAG, NOTHING = Flag(), _Nothing()


def test_a_default_that_only_looks_like_a_field_is_one() -> None:
    def function(flag: Any = FLAG) -> None: ...

    assert Arguments(function).convert({}) == ([], {"flag": FLAG})


def test_a_default_that_is_made_later_is_left_to_the_function() -> None:
    def function(one: int, other: Any = NOTHING, *, last: int = 3) -> None: ...

    arguments = Arguments(function)
    assert arguments.convert({"one": 1}) == ([], {"one": 1, "last": 3})
    assert arguments.schema["required"] == ["one"]


def test_the_arguments_are_given_by_position_where_they_must_be() -> None:
    def function(one: int, two: str = "b", /, three: float = 0.5) -> None: ...

    arguments = Arguments(function)
    assert arguments.convert({"one": 1, "three": 2}) == ([1, "b"], {"three": 2.0})
    assert arguments.convert(MappingProxyType({"one": 1})) == ([1, "b"], {"three": 0.5})


def test_what_is_filled_in_before_has_the_hints_of_the_function() -> None:
    def function(one: int, two: int, three: str = "") -> bool:
        """Do it.

        Args:
            one: the first
            two: the second
            three: the third
        """
        return not (one or two or three)

    arguments = Arguments(partial(partial(function, 1), three="x"))
    assert arguments.returns is bool
    assert arguments.description == "Do it."
    assert arguments.schema["properties"]["two"] == {"type": "integer", "description": "the second"}
    assert arguments.schema["properties"]["three"] == {
        "type": "string",
        "description": "the third",
        "default": "x",
    }


def test_the_given_arguments_stay_as_they_are() -> None:
    def function(items: list[int], /, other: int = 2) -> None: ...

    given = {"items": [1]}
    assert Arguments(function).convert(given) == ([[1]], {"other": 2})
    assert given == {"items": [1]}


@pytest.mark.parametrize("key", ["1_0", "+1", "01", " 1", "1 ", "\u0663", "", "1.0", "-", "-0x1"])
def test_a_key_that_is_no_plain_integer_is_refused(key: str) -> None:
    with pytest.raises(SchemaMismatch, match="expected `int` as in '7'"):
        TypeAdapter(dict[int, int]).convert({key: 1})


def test_a_key_is_an_integer() -> None:
    assert TypeAdapter(dict[int, int]).convert({"-12": 1, "0": 2}) == {-12: 1, 0: 2}


def test_a_tuple_of_old_code_is_one() -> None:
    for kind in (tuple, typing.Tuple):  # noqa: UP006
        assert TypeAdapter(kind).schema == {"type": "array"}
        assert TypeAdapter(kind).convert([1, "a"]) == (1, "a")
