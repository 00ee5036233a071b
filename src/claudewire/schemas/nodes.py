"""The parts that a type is made of: each can describe itself, and convert a value that fits.

A value is what JSON gives: None, bool, int, float, str, list and dict. A part that it does not fit
raises SchemaMismatch; whatever contains that part adds where it was.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import pathlib
import re
import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from .book import Book, Schema
from .mismatch import SchemaMismatch, brief, expected
from .notes import Notes

__all__ = [
    "SCALARS",
    "Anything",
    "Choice",
    "DecimalNode",
    "FloatNode",
    "IntNode",
    "Node",
    "Noted",
    "PathNode",
    "Plain",
    "Text",
]


class Node:
    """A part of a type."""

    __slots__ = ()

    name: str
    """How it is called in an error."""

    @abstractmethod
    def schema(self, book: Book) -> Schema:
        """Describe it; what is used in several places is put down in the book once."""

    @abstractmethod
    def convert(self, value: Any) -> Any:
        """Give the Python value for one from JSON."""

    def convert_key(self, key: str) -> Any:
        """Give the Python value for the name of a field."""
        return self.convert(key)


class Anything(Node):
    """Whatever JSON can say."""

    __slots__ = ()
    name = "Any"

    def schema(self, book: Book) -> Schema:
        """Describe it: there is nothing to say."""
        return {}

    def convert(self, value: Any) -> Any:
        """Give it as it is."""
        return value


class Plain(Node):
    """A type that JSON has as well: str, bool, None."""

    __slots__ = ("_kind", "_type", "name")

    def __init__(self, kind: type, type_name: str) -> None:
        self.name: str = "None" if kind is type(None) else kind.__name__
        self._kind = kind
        self._type = type_name

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        return {"type": self._type}

    def convert(self, value: Any) -> Any:
        """Give it as it is, if it is one."""
        if type(value) is not self._kind:
            raise expected(self.name, value)
        return value


class IntNode(Node):
    """An integer. 1.0 is one as well: JSON does not tell them apart."""

    __slots__ = ()
    name = "int"
    PATTERN = r"^-?(0|[1-9][0-9]{0,4000})$"
    """As the name of a field. Python converts no more than 4300 digits."""

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        return {"type": "integer"}

    def convert(self, value: Any) -> int:
        """Give the integer."""
        if type(value) is int:
            return value
        if type(value) is float and value.is_integer():
            return int(value)
        raise expected(self.name, value)

    def convert_key(self, key: str) -> int:
        """Read it from text, as the name of a field is always one."""
        if not re.fullmatch(self.PATTERN, key):
            raise SchemaMismatch(f"expected an `int` as key, got {brief(key)}")
        return int(key)


class FloatNode(Node):
    """A number."""

    __slots__ = ()
    name = "float"

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        return {"type": "number"}

    def convert(self, value: Any) -> float:
        """Give the number as a float."""
        if type(value) is float:
            return value
        if type(value) is not int:
            raise expected(self.name, value)
        try:
            return float(value)
        except OverflowError:
            raise SchemaMismatch("the number is too large for a `float`") from None


class Text(Node):
    """Something that JSON can only write as text: a date, a UUID, bytes."""

    __slots__ = ("_example", "_kind", "_schema", "name")

    def __init__(self, kind: type, example: str, **schema: str) -> None:
        self.name: str = kind.__name__
        self._kind = kind
        self._example = example
        self._schema = schema

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        return {"type": "string", **self._schema}

    def convert(self, value: Any) -> Any:
        """Read it from text."""
        if type(value) is not str:
            raise expected(self.name, value)
        try:
            return msgspec.convert(value, self._kind)
        except (msgspec.ValidationError, OverflowError):
            raise SchemaMismatch(
                f"expected `{self.name}` as in {self._example!r}, got {brief(value)}"
            ) from None


class DecimalNode(Node):
    """A decimal number: as text, so that no digit is lost, or as a number."""

    __slots__ = ()
    name = "Decimal"
    _PATTERN = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,9})?$"

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        return {"anyOf": [{"type": "number"}, {"type": "string", "pattern": self._PATTERN}]}

    def convert(self, value: Any) -> decimal.Decimal:
        """Give the decimal number; one that was a float as it is written."""
        if type(value) is str and re.fullmatch(self._PATTERN, value):
            return decimal.Decimal(value)
        if type(value) is int or (type(value) is float and math.isfinite(value)):
            return decimal.Decimal(repr(value))
        if type(value) is str:
            raise SchemaMismatch(f"expected `Decimal` as in '19.99', got {brief(value)}")
        raise expected(self.name, value)


class PathNode(Node):
    """A path of a file, as text. Whether there is such a file is another question."""

    __slots__ = ("_kind", "name")

    def __init__(self, kind: type[pathlib.PurePath]) -> None:
        self.name: str = kind.__name__
        self._kind = kind

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        return {"type": "string", "format": "path"}

    def convert(self, value: Any) -> pathlib.PurePath:
        """Give the path."""
        if type(value) is not str:
            raise expected(self.name, value)
        if "\0" in value:
            raise SchemaMismatch("a path cannot contain a null character")
        return self._kind(value)


class Choice(Node):
    """One of several values: a Literal or an Enum."""

    __slots__ = ("_choices", "name")

    def __init__(self, name: str, choices: Iterable[tuple[Any, Any]]) -> None:
        self.name: str = name
        # By type as well, because 1 is not True, though Python finds them equal.
        self._choices = {(type(wire), wire): value for wire, value in choices}

    @classmethod
    def literal(cls, name: str, values: Iterable[Any]) -> Choice:
        """Make it from the values of a Literal."""
        return cls(name, ((_wire(value), value) for value in values))

    @classmethod
    def enum(cls, kind: type[enum.Enum]) -> Choice:
        """Make it from an Enum: by value if JSON can say all of them, otherwise by name."""
        by_value = all(isinstance(_wire(member), str | int | float | None) for member in kind)
        choices = [(_wire(member) if by_value else member.name, member) for member in kind]
        return cls(kind.__name__, choices)

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        values = [wire for _, wire in self._choices]
        types = {_TYPES.get(kind) for kind, _ in self._choices}
        only = types.pop() if len(types) == 1 else None
        return {"type": only, "enum": values} if only else {"enum": values}

    def convert(self, value: Any) -> Any:
        """Give the one that is meant."""
        for kind in _SAME.get(type(value), (type(value),)):
            with suppress(TypeError):  # what cannot be a key is none of them
                if (kind, value) in self._choices:
                    return self._choices[kind, value]
        names = ", ".join(repr(wire) for _, wire in self._choices)
        raise SchemaMismatch(f"expected one of {names}, got {brief(value)}")


_SAME: dict[type, tuple[type, ...]] = {int: (int, float), float: (float, int)}
"""JSON does not tell 1 and 1.0 apart."""


def _wire(value: Any) -> Any:
    """Give the JSON for a member of an Enum, also for one that is an int or str itself."""
    if isinstance(value, enum.Enum):
        value = value.value
    for kind in (str, int, float):
        if isinstance(value, kind) and not isinstance(value, bool):
            return kind(value)
    return value


class Noted(Node):
    """Something with limits that a value must keep, and words about it."""

    __slots__ = ("_inner", "_notes", "name")

    def __init__(self, inner: Node, notes: Notes) -> None:
        self.name: str = inner.name
        self._inner = inner
        self._notes = notes

    def schema(self, book: Book) -> Schema:
        """Describe it, with its limits and words."""
        return self._notes.annotate(self._inner.schema(book))

    def convert(self, value: Any) -> Any:
        """Convert it, then check the limits."""
        converted = self._inner.convert(value)
        self._notes.check(converted)
        return converted

    def convert_key(self, key: str) -> Any:
        """Convert it, then check the limits."""
        converted = self._inner.convert_key(key)
        self._notes.check(converted)
        return converted


_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
}

_EXAMPLE_ID = "12345678-1234-5678-1234-567812345678"

SCALARS: Mapping[Any, Callable[[], Node]] = {
    Any: Anything,
    object: Anything,
    int: IntNode,
    float: FloatNode,
    decimal.Decimal: DecimalNode,
    str: lambda: Plain(str, "string"),
    bool: lambda: Plain(bool, "boolean"),
    type(None): lambda: Plain(type(None), "null"),
    bytes: lambda: Text(bytes, "aGVsbG8=", contentEncoding="base64"),
    bytearray: lambda: Text(bytearray, "aGVsbG8=", contentEncoding="base64"),
    datetime.datetime: lambda: Text(datetime.datetime, "2025-01-31T12:00:00Z", format="date-time"),
    datetime.date: lambda: Text(datetime.date, "2025-01-31", format="date"),
    datetime.time: lambda: Text(datetime.time, "12:00:00Z", format="time"),
    datetime.timedelta: lambda: Text(datetime.timedelta, "P1DT2H", format="duration"),
    uuid.UUID: lambda: Text(uuid.UUID, _EXAMPLE_ID, format="uuid"),
}
"""The types that have no parts."""
