"""Types of all sorts, each with the JSON Schema that it should have."""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import enum
import pathlib
import typing
import uuid
from dataclasses import dataclass, field
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    TypedDict,
    TypeVar,
    Union,
)

import msgspec
from hypothesis import strategies as st

from claudewire.schemas import TypeAdapter

T = TypeVar("T")
N = TypeVar("N", bound=int)
S = TypeVar("S", int, str)

UserId = NewType("UserId", int)
Money = Annotated[decimal.Decimal, msgspec.Meta(description="in euro")]


class Gt(NamedTuple):
    """As annotated-types has it; only its attribute counts."""

    gt: float


class Interval(NamedTuple):
    ge: float
    lt: float


class Len(NamedTuple):
    min_length: int
    max_length: int | None = None


class Predicate(NamedTuple):
    func: Any


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    NUMBER = 1
    TEXT = "one"
    FLAG = True
    NOTHING = None


class Odd(enum.Enum):
    ORIGIN = (0, 0)
    UNIT = (1, 1)


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass(frozen=True, kw_only=True)
class Item:
    """Something to buy.

    Attributes:
        name: what it is called.
        price: what it costs,
            in euro.
    """

    name: str
    price: Annotated[float, Gt(0)]
    tags: list[str] = field(default_factory=list)
    note: str = field(default="", metadata={"description": "anything else"})
    number: int = field(default=0, init=False)


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


@dataclass
class Line:
    start: Point
    end: Point


@dataclass
class Path2:
    """Not a path of a file."""

    points: list[Point]


@dataclass
class Ping:
    count: int
    partner: Pong | None = None


@dataclass
class Pong:
    partner: Ping | None = None


@dataclass
class Box(Generic[T]):
    content: T
    others: list[T] = field(default_factory=list)


@dataclass
class IntBox(Box[int]):
    label: str = ""


@dataclass
class Cat:
    kind: Literal["cat"]
    lives: int = 9


@dataclass
class Dog:
    kind: Literal["dog"]
    good: bool = True


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Partial(TypedDict, total=False):
    name: Required[str]
    age: int


class Pair(NamedTuple):
    left: int
    right: str = "r"


class User(msgspec.Struct):
    """Who it is."""

    name: str
    age: Annotated[int, msgspec.Meta(ge=0)] = 0


class Strict(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    first_name: str
    last_name: str | msgspec.UnsetType = msgspec.UNSET


class Get(msgspec.Struct, tag=True):
    key: str


class Put(msgspec.Struct, tag=True):
    key: str
    value: int


class Vector(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    x: float
    y: float = 0.0


class Tagged(msgspec.Struct, array_like=True, tag="t"):
    x: int


def schema_of(kind: Any) -> dict[str, Any]:
    return TypeAdapter(kind).schema


def convert(value: Any, kind: Any) -> Any:
    return TypeAdapter(kind).convert(value)


def closed(
    required: typing.Sequence[str] = (), description: str = "", **properties: Any
) -> dict[str, Any]:
    """Describe an object that has these fields and no others."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if description:
        schema["description"] = description
    if required:
        schema["required"] = list(required)
    return {**schema, "additionalProperties": False}


STRING: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
NULL: dict[str, Any] = {"type": "null"}
DECIMAL: dict[str, Any] = {
    "anyOf": [
        {"type": "number"},
        {"type": "string", "pattern": r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,9})?$"},
    ]
}
POINT = closed(["x"], x=INTEGER, y={**INTEGER, "default": 0})


def array(items: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "array", **({"items": items} if items else {}), **more}


def row(*items: dict[str, Any], least: int | None = None) -> dict[str, Any]:
    """Describe an array by its items."""
    least = len(items) if least is None else least
    schema = {"type": "array", "minItems": least, "maxItems": len(items)}
    return {**schema, "prefixItems": list(items)} if items else schema


def either(*members: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"anyOf": list(members), **more}


TREE = closed(
    ["value"],
    value=INTEGER,
    children=array({"$ref": "#/$defs/Tree"}),
)
PING = closed(
    ["count"],
    count=INTEGER,
    partner=either(
        closed(partner=either({"$ref": "#/$defs/Ping"}, NULL, default=None)), NULL, default=None
    ),
)
CAT = closed(["kind"], kind={"type": "string", "enum": ["cat"]}, lives={**INTEGER, "default": 9})
DOG = closed(
    ["kind"], kind={"type": "string", "enum": ["dog"]}, good={"type": "boolean", "default": True}
)

TABLE: list[tuple[str, Any, dict[str, Any]]] = [
    # name, type, schema
    ("str", str, STRING),
    ("int", int, INTEGER),
    ("float", float, NUMBER),
    ("bool", bool, {"type": "boolean"}),
    ("None", None, NULL),
    ("Any", Any, {}),
    ("object", object, {}),
    ("LiteralString", typing.LiteralString, STRING),
    ("NewType", UserId, INTEGER),
    ("TypeVar", T, {}),
    ("TypeVar with a bound", N, INTEGER),
    ("TypeVar with constraints", S, either(INTEGER, STRING)),
    ("Literal of text", Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    ("Literal of numbers", Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
    ("Literal of bools", Literal[True], {"type": "boolean", "enum": [True]}),
    ("Literal of all sorts", Literal["a", 1, True, None], {"enum": ["a", 1, True, None]}),
    ("Literal of a member", Literal[Color.RED], {"type": "string", "enum": ["red"]}),
    ("Enum of text", Color, {"type": "string", "enum": ["red", "green"]}),
    ("IntEnum", Level, {"type": "integer", "enum": [1, 2]}),
    ("Enum of all sorts", Mixed, {"enum": [1, "one", None]}),
    ("Optional", Optional[int], either(INTEGER, NULL)),  # noqa: UP045
    ("with None", int | None, either(INTEGER, NULL)),
    ("Union", Union[int, str], either(INTEGER, STRING)),  # noqa: UP007
    ("union of three", int | str | list[int], either(INTEGER, STRING, array(INTEGER))),
    ("int before float", float | int, either(INTEGER, NUMBER)),
    ("union of two texts", datetime.date | str, either({**STRING, "format": "date"}, STRING)),
    ("list", list, array()),
    ("list of int", list[int], array(INTEGER)),
    ("typing.List", typing.List[int], array(INTEGER)),  # noqa: UP006
    ("list of lists", list[list[str]], array(array(STRING))),
    ("Sequence", collections.abc.Sequence[str], array(STRING)),
    ("Iterable", collections.abc.Iterable[str], array(STRING)),
    ("set", set[int], array(INTEGER, uniqueItems=True)),
    ("frozenset", frozenset[str], array(STRING, uniqueItems=True)),
    ("abstract set", collections.abc.Set[str], array(STRING, uniqueItems=True)),
    ("bare tuple", tuple, array()),
    ("tuple of any length", tuple[int, ...], array(INTEGER)),
    ("tuple of two", tuple[int, str], row(INTEGER, STRING)),
    ("tuple of none", tuple[()], row()),
    ("dict", dict, {"type": "object"}),
    ("dict of int", dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    ("dict of anything", dict[str, Any], {"type": "object"}),
    (
        "dict with numbers as keys",
        dict[int, str],
        {
            "type": "object",
            "propertyNames": {"pattern": r"^-?(0|[1-9][0-9]{0,4000})$"},
            "additionalProperties": STRING,
        },
    ),
    (
        "dict with an Enum as keys",
        dict[Color, int],
        {
            "type": "object",
            "propertyNames": {"type": "string", "enum": ["red", "green"]},
            "additionalProperties": INTEGER,
        },
    ),
    (
        "Mapping with dates as keys",
        collections.abc.Mapping[datetime.date, bool],
        {
            "type": "object",
            "propertyNames": {"type": "string", "format": "date"},
            "additionalProperties": {"type": "boolean"},
        },
    ),
    ("datetime", datetime.datetime, {**STRING, "format": "date-time"}),
    ("date", datetime.date, {**STRING, "format": "date"}),
    ("time", datetime.time, {**STRING, "format": "time"}),
    ("timedelta", datetime.timedelta, {**STRING, "format": "duration"}),
    ("UUID", uuid.UUID, {**STRING, "format": "uuid"}),
    ("Decimal", decimal.Decimal, DECIMAL),
    ("Path", pathlib.Path, {**STRING, "format": "path"}),
    ("PurePosixPath", pathlib.PurePosixPath, {**STRING, "format": "path"}),
    ("Path or None", pathlib.Path | None, either({**STRING, "format": "path"}, NULL)),
    ("bytes", bytes, {**STRING, "contentEncoding": "base64"}),
    ("description", Annotated[int, "how many"], {**INTEGER, "description": "how many"}),
    (
        "limit of msgspec",
        Annotated[int, msgspec.Meta(ge=1, le=9)],
        {**INTEGER, "minimum": 1, "maximum": 9},
    ),
    ("limit by its name", Annotated[float, Gt(0)], {**NUMBER, "exclusiveMinimum": 0}),
    (
        "interval",
        Annotated[int, Interval(ge=0, lt=10)],
        {**INTEGER, "minimum": 0, "exclusiveMaximum": 10},
    ),
    ("multiple", Annotated[int, msgspec.Meta(multiple_of=5)], {**INTEGER, "multipleOf": 5}),
    ("length of text", Annotated[str, Len(1, 3)], {**STRING, "minLength": 1, "maxLength": 3}),
    ("length of a list", Annotated[list[int], Len(1)], array(INTEGER, minItems=1)),
    (
        "length of a dict",
        Annotated[dict[str, int], Len(0, 2)],
        {"type": "object", "additionalProperties": INTEGER, "minProperties": 0, "maxProperties": 2},
    ),
    (
        "pattern",
        Annotated[str, msgspec.Meta(pattern="^[a-z]+$")],
        {**STRING, "pattern": "^[a-z]+$"},
    ),
    (
        "limit in a union",
        Annotated[int | None, Gt(0)],
        either({**INTEGER, "exclusiveMinimum": 0}, NULL),
    ),
    ("limit of items", list[Annotated[int, Gt(0)]], array({**INTEGER, "exclusiveMinimum": 0})),
    ("words twice", Annotated[Money, "what it costs"], {**DECIMAL, "description": "what it costs"}),
    (
        "title, examples and more",
        Annotated[
            str,
            msgspec.Meta(title="Name", examples=["Ada"], extra_json_schema={"x-order": 1}),
        ],
        {**STRING, "title": "Name", "examples": ["Ada"], "x-order": 1},
    ),
    ("dataclass", Point, POINT),
    (
        "dataclass with words and limits",
        Item,
        closed(
            ["name", "price"],
            "Something to buy.",
            name={**STRING, "description": "what it is called."},
            price={**NUMBER, "exclusiveMinimum": 0, "description": "what it costs, in euro."},
            tags=array(STRING),
            note={**STRING, "description": "anything else", "default": ""},
        ),
    ),
    (
        "dataclass in a list",
        Path2,
        closed(["points"], "Not a path of a file.", points=array(POINT)),
    ),
    (
        "dataclass used twice",
        Line,
        {
            **closed(
                ["start", "end"], start={"$ref": "#/$defs/Point"}, end={"$ref": "#/$defs/Point"}
            ),
            "$defs": {"Point": POINT},
        },
    ),
    ("dataclass that contains itself", Tree, {**TREE, "$defs": {"Tree": TREE}}),
    (
        "list of what contains itself",
        list[Tree],
        {**array({"$ref": "#/$defs/Tree"}), "$defs": {"Tree": TREE}},
    ),
    ("dataclasses that contain each other", Ping, {**PING, "$defs": {"Ping": PING}}),
    (
        "generic dataclass",
        Box[int],
        closed(["content"], content=INTEGER, others=array(INTEGER)),
    ),
    (
        "generic dataclass, open",
        Box,
        closed(["content"], content={}, others=array()),
    ),
    (
        "heir of a generic dataclass",
        IntBox,
        closed(
            ["content"],
            content=INTEGER,
            others=array(INTEGER),
            label={**STRING, "default": ""},
        ),
    ),
    ("dataclasses told apart", Cat | Dog, either(CAT, DOG)),
    ("TypedDict", Movie, closed(["title"], title=STRING, year=INTEGER)),
    ("TypedDict, not total", Partial, closed(["name"], name=STRING, age=INTEGER)),
    (
        "NamedTuple",
        Pair,
        row({"title": "left", **INTEGER}, {"title": "right", **STRING, "default": "r"}, least=1),
    ),
    (
        "Struct",
        User,
        {
            "type": "object",
            "properties": {"name": STRING, "age": {**INTEGER, "minimum": 0, "default": 0}},
            "description": "Who it is.",
            "required": ["name"],
        },
    ),
    (
        "Struct, closed and renamed",
        Strict,
        closed(["firstName"], firstName=STRING, lastName=STRING),
    ),
    (
        "Structs with tags",
        Get | Put,
        either(
            {
                "type": "object",
                "properties": {"type": {"enum": ["Get"]}, "key": STRING},
                "required": ["type", "key"],
            },
            {
                "type": "object",
                "properties": {"type": {"enum": ["Put"]}, "key": STRING, "value": INTEGER},
                "required": ["type", "key", "value"],
            },
        ),
    ),
    (
        "Struct as an array",
        Vector,
        row({"title": "x", **NUMBER}, {"title": "y", **NUMBER, "default": 0.0}, least=1),
    ),
    (
        "Struct as an array with a tag",
        Tagged,
        {
            "type": "array",
            "minItems": 2,
            "prefixItems": [{"title": "type", "enum": ["t"]}, {"title": "x", **INTEGER}],
        },
    ),
]

FINITE = st.floats(allow_nan=False, allow_infinity=False)
ZONED = st.datetimes(timezones=st.just(datetime.UTC))
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.builds(Tree, st.integers()),
    lambda inner: st.builds(Tree, st.integers(), st.lists(inner, max_size=3)),
    max_leaves=5,
)
PINGS: st.SearchStrategy[Ping] = st.recursive(
    st.builds(Ping, st.integers(), st.none()),
    lambda inner: st.builds(Ping, st.integers(), st.builds(Pong, inner | st.none())),
    max_leaves=4,
)
ITEMS = st.builds(
    Item, name=st.text(), price=FINITE.filter(lambda price: price > 0), tags=st.lists(st.text())
)
PATHS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=9)

# What hypothesis cannot make from the hint, because it does not know the limits, or that JSON has
# no NaN. All others are made from the hint itself.
STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    "float": FINITE,
    "None": st.none(),
    "Any": JSON,
    "object": JSON,
    "LiteralString": st.text(),
    "TypeVar": JSON,
    "TypeVar with a bound": st.integers(),
    "TypeVar with constraints": st.integers() | st.text(),
    "Literal of a member": st.just(Color.RED),
    "int before float": st.integers() | FINITE,
    "union of two texts": st.dates(),
    "list": st.lists(JSON),
    "Sequence": st.lists(st.text()),
    "Iterable": st.lists(st.text()),
    "abstract set": st.sets(st.text()),
    "bare tuple": st.lists(JSON).map(tuple),
    "dict": st.dictionaries(st.text(), JSON),
    "dict of anything": st.dictionaries(st.text(), JSON),
    "Mapping with dates as keys": st.dictionaries(st.dates(), st.booleans()),
    "datetime": ZONED,
    "time": st.times(timezones=st.just(datetime.UTC)),
    "Decimal": DECIMALS,
    "Path": PATHS.map(pathlib.Path),
    "PurePosixPath": PATHS.map(pathlib.PurePosixPath),
    "Path or None": PATHS.map(pathlib.Path) | st.none(),
    "limit of msgspec": st.integers(1, 9),
    "limit by its name": FINITE.filter(lambda number: number > 0),
    "interval": st.integers(0, 9),
    "multiple": st.integers().map(lambda number: number * 5),
    "length of text": st.text(min_size=1, max_size=3),
    "length of a list": st.lists(st.integers(), min_size=1),
    "length of a dict": st.dictionaries(st.text(), st.integers(), max_size=2),
    "pattern": st.from_regex("^[a-z]+$", fullmatch=True).filter(lambda text: "\n" not in text),
    "limit in a union": st.integers(min_value=1) | st.none(),
    "limit of items": st.lists(st.integers(min_value=1)),
    "words twice": DECIMALS,
    "dataclass with words and limits": ITEMS,
    "dataclass that contains itself": TREES,
    "list of what contains itself": st.lists(TREES, max_size=3),
    "dataclasses that contain each other": PINGS,
    "generic dataclass": st.builds(Box, st.integers(), st.lists(st.integers())),
    "generic dataclass, open": st.builds(Box, JSON, st.lists(JSON)),
    "heir of a generic dataclass": st.builds(
        IntBox, st.integers(), st.lists(st.integers()), st.text()
    ),
    "Struct": st.builds(User, st.text(), st.integers(min_value=0)),
    "Struct, closed and renamed": st.builds(Strict, st.text(), st.text() | st.just(msgspec.UNSET)),
    "Structs with tags": st.builds(Get, st.text()) | st.builds(Put, st.text(), st.integers()),
    "Struct as an array": st.builds(Vector, FINITE, FINITE),
    "Struct as an array with a tag": st.builds(Tagged, st.integers()),
}


def strategy_of(name: str, kind: Any) -> st.SearchStrategy[Any]:
    return STRATEGIES[name] if name in STRATEGIES else st.from_type(kind)
