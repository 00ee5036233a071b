"""Types as JSON Schema, and JSON as values of these types."""

from __future__ import annotations

import datetime
import decimal
import enum
import gc
import os
import pathlib
import re
import sys
import typing
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field, make_dataclass
from types import GenericAlias, SimpleNamespace
from typing import Annotated, Any, Final, Literal, TypedDict

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import (  # type: ignore[import-untyped]
    Draft202012Validator,
    FormatChecker,
)
from tests.helpers.examples import examples
from tests.schemas.schema_table import (
    JSON,
    TABLE,
    Box,
    Cat,
    Color,
    Dog,
    Get,
    Gt,
    Item,
    Len,
    Level,
    Line,
    Mixed,
    Odd,
    Pair,
    Point,
    Predicate,
    Put,
    Strict,
    Tagged,
    Tree,
    User,
    Vector,
    convert,
    schema_of,
    strategy_of,
)

from claudewire.schemas import (
    SchemaMismatch,
    TypeAdapter,
    UnsupportedType,
    to_json,
    to_text,
)
from claudewire.schemas.builder import Builder
from claudewire.wire import Error

ROWS = pytest.mark.parametrize(
    ("name", "kind", "schema"), TABLE, ids=[name.replace(" ", "-") for name, _, _ in TABLE]
)
few = examples(0.2)

formats = FormatChecker(formats=())


def _reads(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": lambda text: _reads(datetime.date.fromisoformat, text),
    "date-time": lambda text: _reads(datetime.datetime.fromisoformat, text),
    "time": lambda text: _reads(datetime.time.fromisoformat, text),
    "duration": lambda text: bool(re.fullmatch(r"-?P(?=[0-9T])[0-9DTHMS.]+", text)),
    "uuid": lambda text: _reads(uuid.UUID, text),
    "path": lambda text: "\0" not in text,
}
for _format, _check in FORMATS.items():
    formats.checks(_format)(lambda it, check=_check: not isinstance(it, str) or check(it))


def validator(schema: dict[str, Any]) -> Any:
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=formats)


def mismatch(value: Any, kind: Any) -> str:
    """Convert what does not fit, and give what is said about it."""
    with pytest.raises(SchemaMismatch) as caught:
        convert(value, kind)
    assert str(caught.value) == f"{caught.value.path}: {caught.value.problem}"
    return str(caught.value)


def accepts(value: Any, kind: Any) -> bool:
    try:
        convert(value, kind)
    except SchemaMismatch:
        return False
    return True


# --- the table ------------------------------------------------------------------------------------


def test_the_table_has_sixty_types_and_more() -> None:
    assert len(TABLE) >= 60
    assert len({name for name, _, _ in TABLE}) == len(TABLE)


@ROWS
def test_a_type_has_its_schema(name: str, kind: Any, schema: dict[str, Any]) -> None:
    assert schema_of(kind) == schema
    validator(schema)


@ROWS
@few
@given(data=st.data())
def test_what_is_made_from_a_hint_fits_its_schema_and_comes_back(
    name: str, kind: Any, schema: dict[str, Any], data: st.DataObject
) -> None:
    value = data.draw(strategy_of(name, kind))
    wire = to_json(value)
    validator(schema).validate(wire)
    assert convert(wire, kind) == value


def spoilt(value: Any, data: st.DataObject) -> Any:
    """Put something else somewhere into a value, or take something out of it."""
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(value)))
        rest = {name: item for name, item in value.items() if name != key}
        if data.draw(st.booleans()):
            return rest
        return {**rest, data.draw(st.text(max_size=3)) or key: spoilt(value[key], data)}
    if isinstance(value, list) and value and data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(value) - 1))
        return [*value[:at], spoilt(value[at], data), *value[at + data.draw(st.integers(0, 1)) :]]
    return data.draw(JSON)


@ROWS
@few
@given(data=st.data())
def test_what_the_schema_refuses_is_refused_and_nothing_else(
    name: str, kind: Any, schema: dict[str, Any], data: st.DataObject
) -> None:
    value = spoilt(to_json(data.draw(strategy_of(name, kind))), data)
    fits = validator(schema).is_valid(value)
    if "set" in name:  # twice the same is one
        fits = validator({**schema, "uniqueItems": False}).is_valid(value)
    if name == "bytes":  # no schema can tell
        fits = accepts(value, kind) and fits
    assert accepts(value, kind) == fits


# --- what is converted ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "kind", "converted"),
    [
        (1.0, int, 1),
        (1, float, 1.0),
        (2.0, Level, Level.HIGH),
        ("ORIGIN", Odd, Odd.ORIGIN),
        ("2025-01-31", datetime.date | str, datetime.date(2025, 1, 31)),
        ("soon", datetime.date | str, "soon"),
        (1, float | int, 1),
        ([1, 1], set[int], {1}),
        ([1, 2], tuple[int, ...], (1, 2)),
        ({"-7": 1}, dict[int, int], {-7: 1}),
        ("1.50", decimal.Decimal, decimal.Decimal("1.50")),
        (1.1, decimal.Decimal, decimal.Decimal("1.1")),
        (3, decimal.Decimal, decimal.Decimal(3)),
        ("aGk=", bytes, b"hi"),
        ("a/b", pathlib.Path, pathlib.Path("a/b")),
        ("2025-01-31T12:00:00", datetime.datetime, datetime.datetime(2025, 1, 31, 12)),
        ([1], Pair, Pair(1, "r")),
        (["t", 5], Tagged, Tagged(5)),
        (["t", 5, "and more"], Tagged, Tagged(5)),
        ({"name": "Ada", "shoe": 38}, User, User("Ada")),
        ({"type": "Put", "key": "a", "value": 1}, Get | Put, Put("a", 1)),
        ({"firstName": "Ada"}, Strict, Strict("Ada")),
        ({"kind": "dog"}, Cat | Dog, Dog("dog")),
        ({"value": 1, "children": [{"value": 2}]}, Tree, Tree(1, [Tree(2)])),
        ({"content": ["a"]}, Box[list[str]], Box(["a"])),
    ],
)
def test_json_becomes_a_value_of_the_type(value: Any, kind: Any, converted: Any) -> None:
    found = convert(value, kind)
    assert found == converted
    assert type(found) is type(converted)


def test_a_choice_of_values_of_a_class_of_ones_own_is_that_of_plain_ones() -> None:
    class Text(str):
        __slots__ = ()

    class Choice(enum.Enum):
        A = Text("a")
        B = "b"

    assert TypeAdapter(Choice).schema == {"type": "string", "enum": ["a", "b"]}
    assert type(TypeAdapter(Choice).schema["enum"][0]) is str
    assert TypeAdapter(Choice).convert("a") is Choice.A


def test_an_enum_of_values_that_json_cannot_say_goes_by_name() -> None:
    assert schema_of(Odd) == {"type": "string", "enum": ["ORIGIN", "UNIT"]}
    assert mismatch("origin", Odd) == "$: expected one of 'ORIGIN', 'UNIT', got 'origin'"


def test_a_field_that_is_not_given_takes_its_default() -> None:
    assert convert({"name": "Nut", "price": 2}, Item) == Item(name="Nut", price=2.0)


# --- what is said about a mistake -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ("x", int, "$: expected `int`, got `str`"),
        (True, int, "$: expected `int`, got `bool`"),
        (1.5, int, "$: expected `int`, got `float`"),
        (None, str, "$: expected `str`, got `None`"),
        (False, float, "$: expected `float`, got `bool`"),
        (10**400, float, "$: cannot be a `float`: int too large to convert to float"),
        ({}, list[int], "$: expected `list[int]`, got `dict`"),
        ([1, "x"], list[int], "$[1]: expected `int`, got `str`"),
        ([[1], [[]]], list[list[int]], "$[1][0]: expected `int`, got `list`"),
        ({"a b": 1}, dict[str, str], "$['a b']: expected `str`, got `int`"),
        ([], dict[str, str], "$: expected `dict[str, str]`, got `list`"),
        ({"x": 1}, dict[int, int], "$.x: expected `int` as in '7', got 'x'"),
        ([1], tuple[int, str], "$: must have at least 2 items, got 1"),
        ([1, 2], tuple[int, str], "$[1]: expected `str`, got `int`"),
        (1, tuple[int, str], "$: expected `tuple[int, str]`, got `int`"),
        ([[]], set[Any], "$: cannot be a `set[Any]`: unhashable type: 'list'"),
        ("c", Literal["a", "b"], "$: expected one of 'a', 'b', got 'c'"),
        (1, Literal[True], "$: expected one of True, got 1"),
        ([], Color, "$: expected one of 'red', 'green', got []"),
        ("soon", datetime.date, "$: expected `date` as in '2025-01-31', got 'soon'"),
        (5, datetime.date, "$: expected `date`, got `int`"),
        ("ten", decimal.Decimal, "$: expected `Decimal` as in '19.99', got 'ten'"),
        ("NaN", decimal.Decimal, "$: expected `Decimal` as in '19.99', got 'NaN'"),
        (float("inf"), decimal.Decimal, "$: expected `Decimal`, got `float`"),
        (None, decimal.Decimal, "$: expected `Decimal`, got `None`"),
        (1, pathlib.Path, "$: expected `Path`, got `int`"),
        ("\0", pathlib.Path, "$: a path cannot contain a null character"),
        ("x" * 99, int | None, "$: expected `int | None`, got `str`"),
        ({}, Point, "$.x: required but missing"),
        ([], Point, "$: expected `Point`, got `list`"),
        ({"x": 1, "yy": 2}, Point, "$.yy: unexpected; did you mean `y`?"),
        ({"x": 1, "other": 2}, Point, "$.other: unexpected; the known fields are `x`, `y`"),
        ({"nam": "a", "price": 1}, Item, "$.nam: unexpected; did you mean `name`?"),
        ({"start": {"x": 1}, "end": {"x": "1"}}, Line, "$.end.x: expected `int`, got `str`"),
        (
            {"value": 1, "children": [{"value": 2}, {}]},
            Tree,
            "$.children[1].value: required but missing",
        ),
        ({}, User, "$.name: required but missing"),
        ({"firstname": "a"}, Strict, "$.firstname: unexpected; did you mean `firstName`?"),
        ({"type": "Put", "key": "k"}, Put, "$.value: required but missing"),
        ({"key": "k"}, Put, "$.type: required but missing"),
        ([], Vector, "$: must have at least 1 items, got 0"),
        ([1, 2, 3], Vector, "$: must have at most 2 items, got 3"),
        ([1, "x"], Vector, "$[1]: expected `float`, got `str`"),
        ({}, Vector, "$: expected `Vector`, got `dict`"),
        ([], Tagged, "$: must have at least 2 items, got 0"),
        (["t"], Tagged, "$: must have at least 2 items, got 1"),
        (["t", "x"], Tagged, "$[1]: expected `int`, got `str`"),
    ],
)
def test_a_mistake_is_named_with_its_place(value: Any, kind: Any, words: str) -> None:
    assert mismatch(value, kind) == words


def test_a_mistake_deep_inside_has_its_whole_path() -> None:
    @dataclass
    class Order:
        items: list[Item]

    good = {"name": "Nut", "price": 1}
    order = {"items": [good, good, {"name": "Bolt", "price": "2"}]}
    with pytest.raises(SchemaMismatch) as caught:
        TypeAdapter[Order](Order, names=locals()).convert(order)
    assert str(caught.value) == "$.items[2].price: expected `float`, got `str`"
    assert caught.value.path == "$.items[2].price"
    assert caught.value.problem == "expected `float`, got `str`"
    assert isinstance(caught.value, Error)
    assert isinstance(caught.value, ValueError)


def test_a_long_value_is_not_shown_whole() -> None:
    words = mismatch("x" * 1000, Color)
    assert len(words) < 150
    assert words.endswith("…")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"kind": "dog", "good": 1}, "$.good: expected `bool`, got `int`"),
        ({"kind": "cat", "lives": "9"}, "$.lives: expected `int`, got `str`"),
    ],
)
def test_in_a_union_the_member_that_was_meant_is_blamed(value: Any, words: str) -> None:
    # The other one is blamed too, for its tag is as deep as the mistake.
    said = mismatch(value, Cat | Dog)
    assert said.startswith("$: fits none of `Cat | Dog`: as `Cat`, $.")
    assert words in said


def test_in_a_union_the_deepest_mistake_is_the_one_that_counts() -> None:
    assert mismatch(["x"], int | list[int]) == "$[0]: expected `int`, got `str`"
    assert mismatch("soon", int | datetime.date).startswith("$: expected `date` as in")


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (0, Annotated[int, Gt(0)], "$: must be greater than 0, got 0"),
        (10, Annotated[int, msgspec.Meta(le=9)], "$: must be at most 9, got 10"),
        (3, Annotated[int, msgspec.Meta(multiple_of=2)], "$: must be a multiple of 2, got 3"),
        (
            0.7,
            Annotated[float, msgspec.Meta(multiple_of=0.5)],
            "$: must be a multiple of 0.5, got 0.7",
        ),
        (
            "0.7",
            Annotated[decimal.Decimal, msgspec.Meta(multiple_of=0.5)],
            "$: must be a multiple of 0.5, got 0.7",
        ),
        ("", Annotated[str, Len(1)], "$: must have at least 1 characters, got 0"),
        ([1, 2], Annotated[list[int], Len(0, 1)], "$: must have at most 1 items, got 2"),
        ("aGk=", Annotated[bytes, Len(3)], "$: must have at least 3 bytes, got 2"),
        (
            "a1",
            Annotated[str, msgspec.Meta(pattern="^[a-z]+$")],
            "$: must match the pattern ^[a-z]+$, got 'a1'",
        ),
        (
            "2025-01-31",
            Annotated[datetime.date, SimpleNamespace(ge=datetime.date(2026, 1, 1))],
            "$: must be at least 2026-01-01, got 2025-01-31",
        ),
        (
            "2025-01-31T12:00:00",
            Annotated[datetime.datetime, SimpleNamespace(ge=datetime.datetime.now(datetime.UTC))],
            "can't compare offset-naive and offset-aware datetimes",
        ),
        (
            "2025-01-31T12:00:00",
            Annotated[datetime.datetime, msgspec.Meta(tz=True)],
            "$: must be with a time zone, got '2025-01-31T12:00:00'",
        ),
        ("abc", Annotated[str, Predicate(str.isupper)], "$: 'abc' does not satisfy `isupper`"),
        (
            5,
            Annotated[Any, Predicate(len)],
            "`len` failed for 5: object of type 'int' has no len()",
        ),
        (0, Annotated[int | str, Gt(0)], "$: must be greater than 0, got 0"),
        (
            {"-1": 1},
            dict[Annotated[int, Gt(0)], int],
            "$['-1']: must be greater than 0, got -1",
        ),
        (
            {"x": 1},
            dict[Annotated[str, Len(2)], int],
            "$.x: must have at least 2 characters, got 1",
        ),
    ],
)
def test_a_limit_is_kept(value: Any, kind: Any, words: str) -> None:
    assert mismatch(value, kind).endswith(words)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("0.5", Annotated[decimal.Decimal, msgspec.Meta(multiple_of=0.5)]),
        (1e308, Annotated[float, msgspec.Meta(multiple_of=0.5)]),
        (1.5, Annotated[float, msgspec.Meta(multiple_of=0.5)]),
        ({"xx": 1}, dict[Annotated[str, Len(2)], int]),
        ("x", Annotated[int | str, Gt(0)]),
        (None, Annotated[str | None, Len(1)]),
        (5, Annotated[int | str, msgspec.Meta(pattern="a")]),
        ("aGk=", Annotated[bytes, Len(2)]),
        ("2025-01-31T12:00:00Z", Annotated[datetime.datetime, msgspec.Meta(tz=True)]),
        ("ABC", Annotated[str, Predicate(str.isupper)]),
        (1, Annotated[int, "words", ["no note"], int]),
    ],
)
def test_a_limit_concerns_only_what_it_can_concern(value: Any, kind: Any) -> None:
    convert(value, kind)


def test_a_limit_that_a_schema_cannot_say_is_not_in_it() -> None:
    earliest = SimpleNamespace(ge=datetime.date(2026, 1, 1))
    assert schema_of(Annotated[datetime.date, earliest]) == {"type": "string", "format": "date"}
    assert schema_of(Annotated[bytes, Len(3)]) == schema_of(bytes)
    assert schema_of(Annotated[datetime.datetime, msgspec.Meta(tz=True)]) == schema_of(
        datetime.datetime
    )


def test_a_pattern_may_be_compiled_and_documentation_has_its_own_form() -> None:
    pattern = SimpleNamespace(pattern=re.compile("^a"))
    words = SimpleNamespace(documentation="begins with a")
    kind = Annotated[str, pattern, words]
    assert schema_of(kind) == {"type": "string", "pattern": "^a", "description": "begins with a"}
    assert mismatch("b", kind) == "$: must match the pattern ^a, got 'b'"


def test_limits_inside_a_note_are_found_as_pydantic_keeps_them() -> None:
    note = SimpleNamespace(metadata=[Gt(0)], description="how many", title=None)
    kind = Annotated[int, note]
    assert schema_of(kind) == {"type": "integer", "exclusiveMinimum": 0, "description": "how many"}


# --- classes --------------------------------------------------------------------------------------


@dataclass
class Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError("the number must be even")


def test_what_a_class_itself_objects_to_is_a_mistake_of_the_value() -> None:
    assert mismatch([{"number": 3}], list[Even]) == "$[0]: the number must be even"
    assert mismatch({}, Silent) == "$: ValueError"
    assert mismatch({}, Broken) == "$: cannot be a `Broken`: out of order"


@dataclass
class Silent:
    def __post_init__(self) -> None:
        raise ValueError


@dataclass
class Broken:
    def __post_init__(self) -> None:
        raise RuntimeError("out of order")


@dataclass
class Strange:
    """Odd fields."""

    given: InitVar[int] = 0
    constant: Final[int] = 5
    thing: Any = field(default=object())
    made: list[int] = field(default_factory=lambda: [1])
    unset: Annotated[int, "from the hint"] = field(default=1, metadata={"description": "not this"})


def test_a_default_that_json_cannot_say_is_not_in_the_schema() -> None:
    properties = schema_of(Strange)["properties"]
    assert properties["thing"] == {}
    assert properties["made"] == {"type": "array", "items": {"type": "integer"}}
    assert properties["constant"] == {"type": "integer", "default": 5}
    assert properties["unset"]["description"] == "from the hint"


@attrs.define
class Attr:
    """As attrs makes them."""

    size: int
    _tags: list[str] = attrs.field(factory=list)
    cache: Any = attrs.field(init=False, default=None)


def test_a_class_of_attrs_is_known_by_its_mark() -> None:
    assert schema_of(Attr) == {
        "type": "object",
        "properties": {
            "size": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "description": "As attrs makes them.",
        "required": ["size"],
        "additionalProperties": False,
    }
    assert convert({"size": 3, "tags": ["a"]}, Attr) == Attr(3, ["a"])


class Old(TypedDict):
    number: int


class New(Old, total=False):
    """Grown.

    Attributes:
        text: what it says.
    """

    text: str


def test_a_typed_dict_inherits_what_must_be_there() -> None:
    assert schema_of(New)["required"] == ["number"]
    assert schema_of(New)["description"] == "Grown."
    assert schema_of(New)["properties"]["text"]["description"] == "what it says."
    assert convert({"number": 1}, New) == {"number": 1}


def test_a_class_may_have_one_of_its_own_name_inside() -> None:
    inner = make_dataclass("Node", [("value", int)])
    outer = make_dataclass("Node", [("one", inner), ("other", inner)])
    assert set(TypeAdapter(outer).schema["properties"]) == {"one", "other"}
    given = {"one": {"value": 1}, "other": {"value": 2}}
    assert TypeAdapter(outer).convert(given) == outer(inner(1), inner(2))


def test_two_classes_of_one_name_are_both_defined() -> None:
    @dataclass
    class Point:
        z: float

    @dataclass
    class Both:
        ours: Point
        again: Point
        theirs: Line

    schema = TypeAdapter[Both](Both, names=locals()).schema
    assert set(schema["$defs"]) == {"Point", "Point_2"}
    validator(schema).validate(
        {"ours": {"z": 1}, "again": {"z": 2}, "theirs": {"start": {"x": 1}, "end": {"x": 2}}}
    )


class Model:
    """A class with its own schema, as pydantic's are."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def model_json_schema(cls, ref_template: str) -> dict[str, Any]:
        ref = {"$ref": ref_template.format(model="Inner")}
        properties = {"a": ref, "b": ref}
        definitions = {"Inner": {"type": "integer"}}
        return {"type": "object", "properties": properties, "$defs": definitions}

    @classmethod
    def model_validate_json(cls, data: bytes) -> Model:
        value = msgspec.json.decode(data)
        if not isinstance(value, dict):
            raise ValueError("not an object")
        if value.get("a") == 0:
            raise ModelError
        return cls(value)

    def model_dump(self, mode: str, by_alias: bool) -> Any:
        assert (mode, by_alias) == ("json", True)
        return self.value


class ModelError(ValueError):
    def errors(self) -> list[dict[str, Any]]:
        return [{"loc": ("a", 0, 1.5), "msg": "Input should be greater than 0"}]


def test_a_class_with_its_own_schema_and_validation_is_asked() -> None:
    schema = schema_of(list[Model])
    ref = {"$ref": "#/$defs/Model.Inner"}
    assert schema["items"] == {"type": "object", "properties": {"a": ref, "b": ref}}
    assert schema["$defs"] == {"Model.Inner": {"type": "integer"}}
    assert convert({"a": 1}, Model).value == {"a": 1}
    assert mismatch([{"a": 0}], list[Model]) == "$[0].a[0]['1.5']: Input should be greater than 0"
    assert mismatch([1], list[Model]) == "$[0]: not an object"
    assert to_json([Model({"a": 1})]) == [{"a": 1}]


def test_a_real_pydantic_model_is_asked() -> None:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")
    Inner = pydantic.create_model("Inner", when=(datetime.date, ...))
    count = (Annotated[int, pydantic.Field(gt=0, description="how many")], ...)
    Outer = pydantic.create_model("Outer", count=count, first=Inner, second=Inner)
    schema = schema_of(Outer | None)
    good = {"count": 1, "first": {"when": "2025-01-31"}, "second": {"when": "2025-01-31"}}
    validator(schema).validate(good)
    assert not validator(schema).is_valid({**good, "count": 0})
    assert convert(good, Outer).first.when == datetime.date(2025, 1, 31)
    said = mismatch({**good, "count": 0}, Outer | int)
    assert said == "$.count: Input should be greater than 0"
    assert convert(to_json(convert(good, Outer)), Outer) == convert(good, Outer)
    described = Annotated[int, pydantic.Field(gt=0, description="how many")]
    assert schema_of(described) == {
        "type": "integer",
        "exclusiveMinimum": 0,
        "description": "how many",
    }


def test_the_limits_of_annotated_types_are_known() -> None:
    limits = pytest.importorskip("annotated_types", reason="annotated-types is not installed")
    kind = Annotated[int, limits.Interval(ge=0, lt=10), limits.MultipleOf(5)]
    assert schema_of(kind) == {
        "type": "integer",
        "minimum": 0,
        "exclusiveMaximum": 10,
        "multipleOf": 5,
    }
    assert schema_of(Annotated[str, limits.Len(1, 3)])["maxLength"] == 3
    assert schema_of(Annotated[str, limits.MinLen(1)])["minLength"] == 1
    assert mismatch("abc", limits.UpperCase[str]).startswith("$: 'abc' does not satisfy")


# --- what cannot be -------------------------------------------------------------------------------


class Opaque:
    pass


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Opaque, "There is no JSON Schema for Opaque."),
        (list[Opaque], "There is no JSON Schema for Opaque."),
        (type[int], "There is no JSON Schema for type[int]."),
        ("int", "There is no JSON Schema for int."),
        ([int], "There is no JSON Schema for [<class 'int'>]."),
        (dict[float, int], "cannot be float"),
        (dict[bool, int], "cannot be bool"),
        (dict[tuple[int], int], "cannot be tuple[int]"),
    ],
)
def test_a_type_without_a_schema_is_refused_at_once(kind: Any, words: str) -> None:
    with pytest.raises(UnsupportedType) as caught:
        schema_of(kind)
    assert words in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_a_hint_that_names_something_unknown_is_refused_with_advice() -> None:
    @dataclass
    class Hidden:
        inner: Inner  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(UnsupportedType, match="A type hint of Hidden cannot be understood"):
        schema_of(Hidden)


def test_what_is_nested_too_deeply_is_a_mistake_and_no_crash() -> None:
    value: dict[str, Any] = {"value": 1}
    for _ in range(sys.getrecursionlimit()):
        value = {"value": 1, "children": [value]}
    with pytest.raises(SchemaMismatch, match="nested too deeply"):
        convert(value, Tree)


class TypeAliasType:
    """What `type Name[Parameters] = …` makes, from Python 3.12 on."""

    def __init__(self, name: str, value: Callable[[], Any], *parameters: Any) -> None:
        self.__name__ = name
        self.__type_params__ = parameters
        self._value = value

    @property
    def __value__(self) -> Any:
        return self._value()


Nested = TypeAliasType("Nested", lambda: _nested())


def _nested() -> Any:
    return typing.Union[dict.__class_getitem__((str, Nested)), int]  # noqa: UP007


def test_a_name_for_a_type_may_stand_in_itself() -> None:
    schema = schema_of(Nested)
    ref = {"$ref": "#/$defs/Nested"}
    nested = {"anyOf": [{"type": "object", "additionalProperties": ref}, {"type": "integer"}]}
    assert schema == {**nested, "$defs": {"Nested": nested}}
    assert convert({"a": {"b": 1}}, Nested) == {"a": {"b": 1}}
    assert mismatch({"a": ["x"]}, Nested) == "$.a: expected `dict[str, Nested] | int`, got `list`"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there is no `type` statement")
def test_a_name_for_a_type_may_have_parameters() -> None:
    scope: dict[str, Any] = {}
    exec("type Json = dict[str, Json] | list[Json] | int\ntype Pair[T] = tuple[T, T]", scope)
    assert convert({"a": [1, {}]}, scope["Json"]) == {"a": [1, {}]}
    assert convert([1, 2], scope["Pair"][int]) == (1, 2)
    assert mismatch([1, "2"], scope["Pair"][int]) == "$[1]: expected `int`, got `str`"


def test_what_stands_for_a_path_is_one() -> None:
    assert schema_of(os.PathLike[str]) == {"type": "string", "format": "path"}
    assert convert("a", os.PathLike) == pathlib.Path("a")


# --- schemas and unions ---------------------------------------------------------------------------


def test_a_schema_is_the_callers_to_change() -> None:
    schema_of(Point)["properties"].clear()
    assert schema_of(Point)["properties"]


@pytest.mark.parametrize(
    ("hint", "native"),
    [
        *((kind, kind) for kind in (int, str, bool, float, bytes, datetime.date, uuid.UUID)),
        (list[int], list[int]),
        (typing.Sequence[int], list[int]),
        (set[str], set[str]),
        (tuple[int, ...], tuple[int, ...]),
        (dict[str, list[int]], dict[str, list[int]]),
        (Mapping[str, bool], dict[str, bool]),
        (list[str] | None, list[str] | None),
        (Annotated[int, "how many"], int),
        # Of these it makes something else than is said of them here, or something is not checked.
        *((kind, None) for kind in (Any, list, dict, decimal.Decimal, pathlib.Path, Color, Point)),
        (Annotated[int, Gt(0)], None),
        (list[Annotated[int, Gt(0)]], None),
        (Literal["a"], None),
        (tuple[int, str], None),
        (dict[int, int], None),
        (dict[Any, int], None),
        (dict[str, decimal.Decimal], None),
        (None | int, None),
        (int | str, None),
        (int | str | None, None),
    ],
    ids=str,
)
def test_msgspec_converts_what_it_converts_just_so_in_less_time(hint: Any, native: Any) -> None:
    assert Builder().build(hint).native == native


def test_the_order_of_a_union_counts() -> None:
    date = datetime.date(2025, 1, 31)
    assert convert("2025-01-31", datetime.date | str) == date
    assert convert("2025-01-31", str | datetime.date) == "2025-01-31"
    # `Box[…]` of typing takes the two for the same.
    boxes = [GenericAlias(Box, (it,)) for it in (datetime.date | str, str | datetime.date)]
    given = {"content": "2025-01-31"}
    both = GenericAlias(tuple, tuple(boxes))
    assert convert([given, given], both) == (Box(date), Box("2025-01-31"))


# --- values as JSON -------------------------------------------------------------------------------


def test_values_of_all_kinds_are_written_as_json() -> None:
    value = {
        "path": pathlib.Path("a"),
        "odd": Odd.UNIT,
        "big": 2**70,
        "range": range(2),
        "point": Point(1),
    }
    expected = (
        '{"path":"a","odd":[1,1],"big":1180591620717411303424,"range":[0,1],"point":{"x":1,"y":0}}'
    )
    assert to_text(value) == expected
    assert to_text(to_json(value)) == expected
    assert to_json({1: {2}, "m": typing.cast("Any", Mapped())}) == {"1": [2], "m": {"a": 1}}


class Mapped(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        return iter("a")

    def __len__(self) -> int:
        return 1


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises(TypeError):
        to_json(Opaque())
    with pytest.raises(TypeError):
        to_text([Opaque()])


def test_keys_may_be_of_an_enum_of_all_sorts() -> None:
    assert TypeAdapter(dict[Mixed, int]).convert({"one": 3}) == {Mixed.TEXT: 3}


def test_what_converts_a_type_is_freed_with_it() -> None:
    before = msgspec.Struct.__subclasses__()
    made = make_dataclass("Made", [("number", int), ("word", str)])
    assert TypeAdapter(made).convert({"number": 1, "word": "a"}) == made(1, "a")
    gc.collect()
    assert set(msgspec.Struct.__subclasses__()) <= {*before}
