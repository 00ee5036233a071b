"""Python types as JSON Schema, and JSON as values of these types.

    schema_of(kind)         the JSON Schema of a type
    convert(value, kind)    what JSON has decoded to, as a value of that type

Types are: str, int, float, bool, None, Any, Literal, Enum, unions, lists, tuples, sets and dicts
(and what stands for them in `collections.abc`), dates, times, durations, UUID, Decimal, bytes as
base64, paths; dataclasses, TypedDict, NamedTuple, msgspec.Struct, attrs classes, generic and
recursive ones too; and pydantic models, which are asked for their own schema. `Annotated` adds
limits and a description.

An object has no other fields than those that are declared, so that a misspelt one is noticed. Only
a msgspec.Struct is as open as it says itself.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast, overload

from .book import Book
from .building import Builder
from .encoding import to_json, to_text
from .mismatch import SchemaMismatch, UnsupportedType
from .nodes import Node

__all__ = [
    "SchemaMismatch",
    "Shape",
    "UnsupportedType",
    "convert",
    "schema_of",
    "shape_of",
    "to_json",
    "to_text",
]

T = TypeVar("T")


class Shape(Generic[T]):
    """A type, ready to describe itself and to convert values.

    Args:
        kind: the type, or the part that stands for it.
        names: what its hints may name besides what their modules know.

    Attributes:
        name: how the type is called in errors.

    Raises:
        UnsupportedType: there is no JSON Schema for it.
    """

    def __init__(self, kind: type[T] | Any, *, names: Mapping[str, Any] | None = None) -> None:
        self._node = kind if isinstance(kind, Node) else Builder(names).build(kind)
        self._schema: dict[str, Any] | None = None
        self.name: str = self._node.name

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema. It is the caller's to change."""
        if self._schema is None:
            book = Book()
            self._schema = book.bind(self._node.schema(book))
        return copy.deepcopy(self._schema)

    def convert(self, value: Any) -> T:
        """Give the value of the type for what JSON has decoded to.

        Raises:
            SchemaMismatch: it does not fit.
        """
        try:
            return cast("T", self._node.convert(value))
        except RecursionError:
            raise SchemaMismatch("nested too deeply") from None


@lru_cache(maxsize=512)
def _of_class(kind: type) -> Shape[Any]:
    return Shape(kind)


@overload
def shape_of(kind: type[T]) -> Shape[T]: ...
@overload
def shape_of(kind: Any) -> Shape[Any]: ...
def shape_of(kind: Any) -> Shape[Any]:
    """Give the shape of a type; that of a class is remembered.

    Raises:
        UnsupportedType: there is no JSON Schema for it.
    """
    # Of other types not: two unions are equal for Python though their order differs.
    return _of_class(kind) if isinstance(kind, type) else Shape(kind)


def schema_of(kind: Any) -> dict[str, Any]:
    """Give the JSON Schema of a type.

    Raises:
        UnsupportedType: there is none.
    """
    return shape_of(kind).schema


@overload
def convert(value: Any, kind: type[T]) -> T: ...
@overload
def convert(value: Any, kind: Any) -> Any: ...
def convert(value: Any, kind: Any) -> Any:
    """Give the value of a type for what JSON has decoded to.

    Raises:
        SchemaMismatch: it does not fit the type.
        UnsupportedType: there is no JSON Schema for the type.
    """
    return shape_of(kind).convert(value)
