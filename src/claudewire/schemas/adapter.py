"""Python types as JSON Schema, and JSON as values of these types.

    schema_of(kind)         the JSON Schema of a type
    convert(value, kind)    decoded JSON as a value of that type

Supported types: str, int, float, bool, None, Any, Literal, Enum, unions, lists, tuples, sets and
dicts (and their abstract types in `collections.abc`), dates, times, durations, UUID, Decimal, bytes
as base64, paths; dataclasses, TypedDict, NamedTuple, msgspec.Struct, attrs classes, generic and
recursive ones too; and pydantic models, which are asked for their own schema. `Annotated` adds
limits and a description.

An object has no other fields than those that are declared, so that a misspelt one is noticed. Only
a msgspec.Struct is as open as it says itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar, cast, overload

from .builder import Builder
from .checker import Checker
from .definitions import standalone

__all__ = ["TypeAdapter", "convert", "schema_of"]

T = TypeVar("T")


class TypeAdapter(Generic[T]):
    """The JSON Schema of a type, and the conversion from JSON to its values.

    Args:
        kind: the type.
        names: names that its hints may use, besides those that their modules know.

    Attributes:
        name: the name of the type, for messages.

    Raises:
        UnsupportedType: there is no JSON Schema for the type.
    """

    def __init__(self, kind: type[T] | Any, *, names: Mapping[str, Any] | None = None) -> None:
        builder = Builder(names)
        self._schema = builder.build(kind)
        self._definitions = builder.definitions
        self.name: str = self._schema.name

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema, as a new dict each time."""
        return standalone(self._schema, self._definitions)

    @cached_property
    def _checker(self) -> Checker:
        return Checker(self._schema, self._definitions)

    def convert(self, value: Any) -> T:
        """Convert decoded JSON to a value of the type.

        Raises:
            SchemaMismatch: the value does not fit.
        """
        return cast("T", self._checker.convert(value))


_of_class = lru_cache(maxsize=512)(TypeAdapter[Any])


def _adapter(kind: Any) -> TypeAdapter[Any]:
    # Only those of classes are kept: two unions are equal for Python though their order differs.
    return _of_class(kind) if isinstance(kind, type) else TypeAdapter(kind)


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type.

    Raises:
        UnsupportedType: there is none.
    """
    return _adapter(kind).schema


@overload
def convert(value: Any, kind: type[T]) -> T: ...
@overload
def convert(value: Any, kind: Any) -> Any: ...
def convert(value: Any, kind: Any) -> Any:
    """Convert decoded JSON to a value of a type.

    Raises:
        SchemaMismatch: the value does not fit the type.
        UnsupportedType: there is no JSON Schema for the type.
    """
    return _adapter(kind).convert(value)
