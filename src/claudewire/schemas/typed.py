"""JSON Schemas of Python types, which can make values of these types.

msgspec does the work where it agrees with the schema: for numbers, strings, dates, lists and dicts
of them, and classes and functions with such fields. It does not do more, because it refuses unions
of classes and enums of mixed values, ignores misspelt fields of dataclasses, stops at the first
problem, and leaves the keys of a dict out of its paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ..errors import words_of
from ..wire import prepare
from .mismatch import SchemaMismatch, brief

__all__ = ["Check", "Schema", "TypedSchema", "chained", "unchanged"]

Schema = Mapping[str, Any]
Check = Callable[[Any], Any]
"""Takes a JSON value and returns what it is converted to, or raises SchemaMismatch."""

_WORDS = {"default", "description", "examples", "title"}
"""Keywords that limit nothing."""


def unchanged(value: Any) -> Any:
    """Convert nothing, and accept any value."""
    return value


def chained(steps: Sequence[Check]) -> Check:
    """Make one conversion of several."""
    if len(steps) < 2:
        return steps[0] if steps else unchanged

    def convert(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return convert


class TypedSchema(dict[str, Any]):
    """The JSON Schema of a Python type, with all that is needed to make values of that type.

    Attributes:
        name: the name of the type, for messages.
        make: makes a value from checked JSON; None if they are the same.
        example: how a value is written as a string, for messages.
        native: the type for msgspec, if msgspec converts it as the schema says.
        mirror: makes a struct with the same fields for msgspec, if there is one.
        checks: what a value must satisfy besides the schema.
        is_opaque: whether `make` checks the JSON itself.
    """

    def __init__(
        self,
        name: str,
        schema: Schema | None = None,
        *,
        make: Check | None = None,
        example: str = "",
        native: Any = None,
        mirror: Callable[[], type[msgspec.Struct] | None] | None = None,
        is_opaque: bool = False,
    ) -> None:
        super().__init__(schema or {})
        self.name = name
        self.make = make
        self.example = example
        self.native = native
        self.mirror = mirror
        self.checks: Sequence[Callable[[Any], None]] = ()
        self.is_opaque = is_opaque

    def extended(self, schema: Schema, checks: Iterable[Callable[[Any], None]] = ()) -> TypedSchema:
        """Return a copy with more keywords, and more checks of the value."""
        extended = TypedSchema(self.name, {**self, **schema})
        extended.__dict__.update(self.__dict__)
        extended.checks = (*self.checks, *checks)
        if extended.checks or not schema.keys() <= _WORDS:
            extended.native = extended.mirror = None  # msgspec does not know about the limit
        return extended

    def converter(self, steps: Sequence[Check]) -> Check:
        """Make the conversion from JSON to a value of the type.

        Args:
            steps: check the JSON by the keywords of the schema, and convert its parts.
        """
        last: list[Check] = []
        if self.make is not None:
            last.append(self._make)
        if self.checks:
            last.append(self._check)
        convert = chained([*steps, *last])
        mirror = None if self.mirror is None else self.mirror()
        if mirror is not None:
            return _natively(mirror, convert, chained([_given, *last]))
        is_simple = len(steps) + len(last) < 2 and "anyOf" not in self
        if self.native is not None and not is_simple:
            return _natively(self.native, convert, unchanged)
        return convert

    def _make(self, value: Any) -> Any:
        assert self.make is not None
        try:
            return self.make(value)
        except (SchemaMismatch, RecursionError):
            raise
        except Exception as error:  # whatever its class objects to is a mismatch
            raise SchemaMismatch(self._objection(value, error)) from error

    def _objection(self, value: Any, error: Exception) -> str:
        if self.example and type(value) is str:
            return f"expected `{self.name}` as in {self.example!r}, got {brief(value)}"
        if isinstance(error, ValueError):
            return words_of(error)
        return f"cannot be a `{self.name}`: {words_of(error)}"

    def _check(self, value: Any) -> Any:
        for check in self.checks:
            check(value)
        return value


def _natively(native: Any, convert: Check, finish: Check) -> Check:
    """Let msgspec convert a value; if it refuses, `convert` says why, or finds it right."""
    prepare(native)

    def convert_natively(value: Any) -> Any:
        try:
            converted = msgspec.convert(value, native)
        except (msgspec.ValidationError, OverflowError, TypeError):
            return convert(value)
        return finish(converted)

    return convert_natively


def _given(mirror: msgspec.Struct) -> dict[str, Any]:
    fields = msgspec.structs.asdict(mirror).items()
    return {name: value for name, value in fields if value is not msgspec.UNSET}
