"""JSON Schemas of types and arguments, and JSON as values of these types."""

from __future__ import annotations

import datetime
import enum
import pathlib
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import annotated_types
import msgspec
import pydantic
import pytest
import typing_extensions
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from claudewire.schemas import SchemaMismatch, UnsupportedType, Value, parse_docstring
from claudewire.tools.results import to_json

T = TypeVar("T")
DAY = datetime.date(2025, 1, 31)


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass(frozen=True, kw_only=True)
class Item:
    """Something to buy.

    Attributes:
        name: its name.
    """

    name: str
    price: Annotated[float, annotated_types.Gt(0)]
    note: str = field(default="", metadata={"description": "anything else"})


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


@dataclass
class Box(Generic[T]):
    content: T


class Movie(typing_extensions.TypedDict):
    title: str
    year: typing_extensions.NotRequired[int]


class Pair(NamedTuple):
    left: int
    right: str = "r"


class User(msgspec.Struct):
    name: str
    friend: User | None = None


class Model(pydantic.BaseModel):
    when: datetime.date
    count: int = pydantic.Field(gt=0, description="how many")


def convert(kind: Any, value: Any) -> Any:
    return Value(kind, "value").convert_value(value)


def mismatch(kind: Any, value: Any) -> str:
    with pytest.raises(SchemaMismatch) as caught:
        convert(kind, value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "given", "converted"),
    [
        (int, 1, 1),
        (float, 1, 1.0),
        (Any, {"a": [1]}, {"a": [1]}),
        (Color, "red", Color.RED),
        (int | None, None, None),
        (datetime.date | str, "soon", "soon"),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Mapping[Color, int], {"red": 1}, {Color.RED: 1}),
        (bytes, "+/+/", b"\xfb\xff\xbf"),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (Tree, {"value": 1, "children": [{"value": 2}]}, Tree(1, [Tree(2)])),
        (Box[list[str]], {"content": ["a"]}, Box(["a"])),
        (Movie, {"title": "M"}, {"title": "M"}),
        (Pair, [1], Pair(1)),
        (User, {"name": "Ada", "friend": {"name": "Bob"}}, User("Ada", User("Bob"))),
        (list[User] | None, [{"name": "Ada", "more": 1}], [User("Ada")]),
        (
            Model,
            {"when": "2025-01-31", "count": 1},
            Model(when=datetime.date(2025, 1, 31), count=1),
        ),
    ],
)
def test_json_becomes_a_value_of_the_type(kind: Any, given: Any, converted: Any) -> None:
    value = Value(kind, "value")
    Draft202012Validator.check_schema(value.schema)
    wire = {"value": given} if value.is_wrapped else given
    Draft202012Validator(value.schema).validate(wire)
    found = value.convert_value(given)
    assert found == converted
    assert type(found) is type(converted)


@pytest.mark.parametrize(
    ("kind", "given", "problem"),
    [
        (int, "1", "$.value: Input should be a valid integer, got '1'"),
        (Color, "blue", "$.value: Input should be 'red' or 'green', got 'blue'"),
        (list[int], [1, "x"], "$.value[1]: Input should be a valid integer, got 'x'"),
        (Annotated[int, pydantic.Field(ge=1)], 0, "greater than or equal to 1, got 0"),
        (Point, {}, "$.x: Required, but missing"),
        (Point, {"x": 1, "yy": 2}, "$.yy: There is no such field"),
        (Tree, {"value": 1, "children": [{}]}, "$.children[0].value: Required, but missing"),
        (User, {"name": 5}, "Expected `str`, got `int` - at `$.name`"),
        (str, ["x" * 100], f"got ['{'x' * 57}…"),
    ],
)
def test_a_mismatch_names_the_place_and_the_problem(kind: Any, given: Any, problem: str) -> None:
    assert problem in mismatch(kind, given)


def test_all_problems_are_reported_up_to_twenty() -> None:
    assert mismatch(list[int], ["a"] * 30).count("\n") == 19


def test_a_schema_has_descriptions_limits_and_closed_objects() -> None:
    assert Value(Item, "value").schema == {
        "type": "object",
        "title": "Item",
        "description": "Something to buy.",
        "properties": {
            "name": {"type": "string", "description": "its name."},
            "price": {"type": "number", "exclusiveMinimum": 0},
            "note": {"type": "string", "default": "", "description": "anything else"},
        },
        "required": ["name", "price"],
        "additionalProperties": False,
    }


def test_a_recursive_schema_keeps_its_definitions() -> None:
    schema = Value(Tree, "value").schema
    assert schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert [*schema["$defs"]] == ["Tree"]
    assert Value(User, "value").schema["$defs"]["User"]["required"] == ["name"]


class Opaque:
    pass


@dataclass
class Unresolved:
    inner: Nowhere  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (list[Opaque], "Opaque'>. Use a dataclass, a TypedDict, a msgspec.Struct or a pydantic"),
        (Callable[[int], int], "Use a dataclass, a TypedDict, a msgspec.Struct or a pydantic"),
        (Unresolved, "names 'Nowhere', which is not defined"),
    ],
)
def test_a_type_without_a_schema_is_refused_with_advice(kind: Any, problem: str) -> None:
    with pytest.raises(UnsupportedType) as caught:
        Value(kind, "value")
    assert problem in str(caught.value)
    assert isinstance(caught.value, TypeError)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes both from 3.12 on")
def test_a_typed_dict_of_typing_is_refused_with_its_replacement() -> None:
    class Plain(typing.TypedDict):
        x: int

    with pytest.raises(UnsupportedType, match=r"use `typing_extensions\.TypedDict`"):
        Value(list[Plain], "value")


GOOGLE = """Do it.

Second paragraph:
    indented, and not about arguments.

Args:
    one: the first.
    two (int, optional): the second,
        on two lines.
    *rest: and others.

Returns:
    Nothing: at all.

Note:
    Kept.
"""
NUMPY = """Do it.

Parameters
----------
one : str
    the first.
"""


@pytest.mark.parametrize(
    ("docstring", "text", "described"),
    [
        (
            GOOGLE,
            "Do it. Second paragraph: indented, and not about arguments. Note: Kept.",
            {"one": "the first.", "two": "the second, on two lines.", "rest": "and others."},
        ),
        (NUMPY, "Do it. Parameters ---------- one : str the first.", {}),
        (None, "", {}),
        ("Args:\n    a: b", "", {"a": "b"}),
    ],
    ids=["google", "numpy", "none", "arguments"],
)
def test_docstrings_are_read_in_google_style(
    docstring: str | None, text: str, described: dict[str, str]
) -> None:
    found = parse_docstring(docstring)
    assert (" ".join(found[0].split()), found[1]) == (text, described)


def test_values_of_all_kinds_have_a_json_form() -> None:
    value = {
        "path": pathlib.Path("a"),
        "big": 2**70,
        "point": Point(1),
        "user": [User("Ada")],
        "model": Model(when=DAY, count=1),
        "bytes": b"\xff",
        1: {2},
    }
    assert to_json(value) == {
        "path": "a",
        "big": 2**70,
        "point": {"x": 1, "y": 0},
        "user": [{"name": "Ada", "friend": None}],
        "model": {"when": "2025-01-31", "count": 1},
        "bytes": "_w==",
        "1": [2],
    }
    with pytest.raises(TypeError):
        to_json([Opaque()])
