"""What `Annotated` says about a type: limits to keep, and words for the reader of the schema.

The limits of msgspec, of annotated-types and of pydantic are recognised by what they are called,
so none of them has to be installed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .mismatch import SchemaMismatch, brief

__all__ = ["Notes", "is_multiple"]

Schema = dict[str, Any]

_BOUNDS: dict[str, tuple[str, str, Callable[[Any, Any], bool]]] = {
    "gt": ("exclusiveMinimum", "greater than", lambda value, bound: value > bound),
    "ge": ("minimum", "at least", lambda value, bound: value >= bound),
    "lt": ("exclusiveMaximum", "less than", lambda value, bound: value < bound),
    "le": ("maximum", "at most", lambda value, bound: value <= bound),
    "multiple_of": ("multipleOf", "a multiple of", lambda value, unit: is_multiple(value, unit)),
}
_LENGTHS: dict[str, tuple[str, str, Callable[[int, int], bool]]] = {
    "min_length": ("min", "at least", lambda length, bound: length >= bound),
    "max_length": ("max", "at most", lambda length, bound: length <= bound),
}
_SIZES = {"string": "Length", "array": "Items", "object": "Properties"}
"""How JSON Schema calls the length of something."""

_LIMITS = (*_BOUNDS, *_LENGTHS, "pattern", "tz")
_NUMBERS = (int, float, Decimal)
_WORDS = ("title", "description", "examples")


@dataclass(frozen=True, slots=True)
class Notes:
    """All that is said about one type.

    Attributes:
        limits: by name, as `gt` and `min_length`.
        checks: functions that a value must satisfy; a schema cannot say these.
        words: title, description and examples.
        extra: what is put into the schema as it is.
    """

    limits: tuple[tuple[str, Any], ...] = ()
    checks: tuple[Callable[[Any], Any], ...] = ()
    words: tuple[tuple[str, Any], ...] = ()
    extra: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, metadata: Iterable[Any]) -> Notes:
        """Read what is known of all that `Annotated` says."""
        limits: dict[str, Any] = {}
        words: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        checks: list[Callable[[Any], Any]] = []
        for note in _expand(metadata):
            limits |= _attributes(note, _LIMITS)
            words |= {"description": note} if isinstance(note, str) else _words(note)
            extra |= getattr(note, "extra_json_schema", None) or {}
            check = getattr(note, "func", None)
            if callable(check) and type(note).__name__ == "Predicate":
                checks.append(check)
        return cls(tuple(limits.items()), tuple(checks), tuple(words.items()), tuple(extra.items()))

    def check(self, value: Any) -> None:
        """Raise SchemaMismatch for a converted value that breaks a limit."""
        for name, bound in self.limits:
            _check(name, bound, value)
        for function in self.checks:
            if not function(value):
                condition = getattr(function, "__name__", "its condition")
                raise SchemaMismatch(f"{brief(value)} does not satisfy `{condition}`")

    def annotate(self, schema: Schema) -> Schema:
        """Add all that can be said in a schema."""
        return {**self._limit(schema), **dict(self.words), **dict(self.extra)}

    def _limit(self, schema: Schema) -> Schema:
        if "anyOf" in schema:  # each limit concerns only those that it can concern
            return {**schema, "anyOf": [self._limit(member) for member in schema["anyOf"]]}
        limits: Schema = {}
        for name, bound in self.limits:
            limits |= _say(name, bound, schema)
        return {**schema, **limits}


def _expand(metadata: Iterable[Any]) -> Iterator[Any]:
    """Give each note; a field of pydantic has more of them inside."""
    for note in metadata:
        if isinstance(note, type):
            continue
        yield note
        inside = getattr(note, "metadata", None)
        if isinstance(inside, list | tuple):
            yield from _expand(inside)


def _attributes(note: Any, names: Iterable[str]) -> dict[str, Any]:
    if isinstance(note, str):
        return {}
    found = {name: getattr(note, name, None) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _words(note: Any) -> dict[str, Any]:
    words = _attributes(note, (*_WORDS, "documentation"))
    if "documentation" in words:
        words["description"] = words.pop("documentation")
    return words


def _check(name: str, bound: Any, value: Any) -> None:
    if name in _BOUNDS:
        _check_bound(name, bound, value)
    elif name in _LENGTHS:
        _check_length(name, bound, value)
    elif name == "tz":
        _check_zone(bound, value)
    elif isinstance(value, str) and not re.search(bound, value):
        pattern = getattr(bound, "pattern", bound)
        raise SchemaMismatch(f"must match the pattern {pattern}, got {brief(value)}")


def _check_zone(wanted: Any, value: Any) -> None:
    has_zone = getattr(value, "tzinfo", None) is not None
    if isinstance(wanted, bool) and has_zone is not wanted and hasattr(value, "tzinfo"):
        words = "with" if wanted else "without"
        raise SchemaMismatch(f"must be {words} a time zone, got {value.isoformat()!r}")


def _check_bound(name: str, bound: Any, value: Any) -> None:
    numbers = isinstance(value, _NUMBERS) and isinstance(bound, _NUMBERS)
    if not numbers and not isinstance(value, type(bound)):
        return  # a limit of another member of the union
    _, words, holds = _BOUNDS[name]
    try:
        fits = holds(value, bound)
    except TypeError as error:  # a time with a time zone and one without
        raise SchemaMismatch(f"must be {words} {bound}: {error}") from None
    if not fits:
        raise SchemaMismatch(f"must be {words} {bound}, got {_shown(value)}")


def _check_length(name: str, bound: int, value: Any) -> None:
    _, words, holds = _LENGTHS[name]
    if isinstance(value, Sized) and not holds(len(value), bound):
        raise SchemaMismatch(f"must have {words} {bound} {_unit(value)}, got {len(value)}")


def is_multiple(value: Any, unit: Any) -> bool:
    """Say whether a number is a multiple of another, as exactly as it can be told."""
    if isinstance(value, Decimal):
        return bool(value % Decimal(str(unit)) == 0)
    if isinstance(unit, int):
        return bool(value % unit == 0)
    quotient = value / unit
    if math.isinf(quotient):
        return (Fraction(value) / Fraction(unit)).denominator == 1
    return float(quotient).is_integer()


def _shown(value: Any) -> str:
    return brief(value) if isinstance(value, int | float) else str(value)


def _unit(value: Sized) -> str:
    if isinstance(value, str):
        return "characters"
    return "bytes" if isinstance(value, bytes | bytearray) else "items"


def _say(name: str, bound: Any, schema: Schema) -> Schema:
    kind = str(schema.get("type"))
    if name in _BOUNDS:
        can_say = kind in {"integer", "number"} and isinstance(bound, int | float)
        return {_BOUNDS[name][0]: bound} if can_say else {}
    if name in _LENGTHS:
        # The text of bytes is longer than they are.
        can_say = kind in _SIZES and "contentEncoding" not in schema
        return {_LENGTHS[name][0] + _SIZES[kind]: bound} if can_say else {}
    can_say = kind == "string" and name == "pattern"
    return {"pattern": getattr(bound, "pattern", bound)} if can_say else {}
