"""Python types as JSON Schema, and JSON as values of these types.

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
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from .builder import Builder
from .checker import Checker
from .portable import standalone

__all__ = ["TypeAdapter"]

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
