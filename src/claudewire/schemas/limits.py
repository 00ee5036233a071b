"""What `Annotated` adds to a type: limits, descriptions, and more for the schema.

The limits of msgspec, annotated-types and pydantic are recognised by the names of their attributes,
so none of these packages has to be installed.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, NamedTuple

from ..errors import words_of
from .mismatch import SchemaMismatch, brief

__all__ = [
    "BOUNDS",
    "LENGTHS",
    "LIMIT_KEYWORDS",
    "SIZES",
    "check_bound",
    "check_length",
    "check_pattern",
    "read",
]

Schema = dict[str, Any]
Check = Callable[[Any], None]


def is_multiple(value: Any, unit: Any) -> bool:
    """Whether a number is a multiple of another, as exactly as that can be determined."""
    if isinstance(value, Decimal):
        return bool(value % Decimal(str(unit)) == 0)
    if isinstance(unit, int):
        return bool(value % unit == 0)
    quotient = value / unit
    if math.isinf(quotient):
        return (Fraction(value) / Fraction(unit)).denominator == 1
    return float(quotient).is_integer()


class Limit(NamedTuple):
    """A limit: its JSON Schema keyword or the beginning of it, its words, and how it is checked."""

    keyword: str
    words: str
    holds: Callable[[Any, Any], bool]


BOUNDS = {
    "gt": Limit("exclusiveMinimum", "greater than", operator.gt),
    "ge": Limit("minimum", "at least", operator.ge),
    "lt": Limit("exclusiveMaximum", "less than", operator.lt),
    "le": Limit("maximum", "at most", operator.le),
    "multiple_of": Limit("multipleOf", "a multiple of", is_multiple),
}
LENGTHS = {
    "min_length": Limit("min", "at least", operator.ge),
    "max_length": Limit("max", "at most", operator.le),
}
SIZES = {"string": "Length", "array": "Items", "object": "Properties"}
"""How the keyword for a length ends, by the type that it limits."""

LIMIT_KEYWORDS = {
    "pattern",
    *(limit.keyword for limit in BOUNDS.values()),
    *(limit.keyword + size for limit in LENGTHS.values() for size in SIZES.values()),
}

_NUMBERS = (int, float, Decimal)
_UNITS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "characters"),
    ((bytes, bytearray), "bytes"),
    (dict, "fields"),
)


def check_bound(limit: Limit, bound: Any, value: Any) -> None:
    """Check a number or a date; any other value passes."""
    numbers = isinstance(value, _NUMBERS) and isinstance(bound, _NUMBERS)
    if not numbers and not isinstance(value, type(bound)):
        return  # it limits another member of a union
    try:
        holds = limit.holds(value, bound)
    except TypeError as error:  # a time with a time zone and one without
        raise SchemaMismatch(f"must be {limit.words} {bound}: {error}") from None
    if not holds:
        shown = brief(value) if isinstance(value, int | float) else value
        raise SchemaMismatch(f"must be {limit.words} {bound}, got {shown}")


def check_length(limit: Limit, bound: int, value: Any) -> None:
    """Check the length of anything that has one."""
    if isinstance(value, Sized) and not limit.holds(len(value), bound):
        unit = next((unit for kind, unit in _UNITS if isinstance(value, kind)), "items")
        raise SchemaMismatch(f"must have {limit.words} {bound} {unit}, got {len(value)}")


@lru_cache
def compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    """Compile a pattern. One that only JavaScript understands matches anything."""
    try:
        return re.compile(pattern)
    except re.error:
        return re.compile("")


def check_pattern(pattern: str | re.Pattern[str], value: Any) -> None:
    """Check a string; any other value passes."""
    if isinstance(value, str) and not compiled(pattern).search(value):
        written = getattr(pattern, "pattern", pattern)
        raise SchemaMismatch(f"must match the pattern {written}, got {brief(value)}")


def _check_zone(wanted: Any, value: Any) -> None:
    has_zone = getattr(value, "tzinfo", None) is not None
    if isinstance(wanted, bool) and has_zone is not wanted and hasattr(value, "tzinfo"):
        words = "with" if wanted else "without"
        raise SchemaMismatch(f"must be {words} a time zone, got {value.isoformat()!r}")


def _check_predicate(predicate: Callable[[Any], Any], value: Any) -> None:
    condition = getattr(predicate, "__name__", "its condition")
    try:
        holds = predicate(value)
    except Exception as error:
        raise SchemaMismatch(
            f"`{condition}` failed for {brief(value)}: {words_of(error)}"
        ) from error
    if not holds:
        raise SchemaMismatch(f"{brief(value)} does not satisfy `{condition}`")


_CHECKS: dict[str, Callable[[Any, Any], None]] = {
    **{name: partial(check_bound, limit) for name, limit in BOUNDS.items()},
    **{name: partial(check_length, limit) for name, limit in LENGTHS.items()},
    "pattern": check_pattern,
    "tz": _check_zone,
}


def read(metadata: Iterable[Any], schema: Schema) -> tuple[Schema, list[Check]]:
    """Read what `Annotated` says about a type.

    Args:
        metadata: what it says.
        schema: the schema of the type.

    Returns:
        What to add to the schema, and checks of what a schema cannot express.
    """
    added: Schema = {}
    checks: list[Check] = []
    for note in _flatten(metadata):
        for name, bound in _attributes(note, _CHECKS):
            keywords = _keywords(name, bound, {**schema, **added})
            added |= keywords
            if not keywords or "anyOf" in keywords or "uniqueItems" in schema:
                checks.append(partial(_CHECKS[name], bound))
        predicate = getattr(note, "func", None)
        if callable(predicate) and type(note).__name__ == "Predicate":
            checks.append(partial(_check_predicate, predicate))
        added |= _words(note)
    return added, checks


def _flatten(metadata: Iterable[Any]) -> Iterator[Any]:
    """Yield each note; a field of pydantic has more of them inside."""
    for note in metadata:
        if isinstance(note, type):
            continue
        yield note
        inside = getattr(note, "metadata", None)
        if isinstance(inside, list | tuple):
            yield from _flatten(inside)


def _attributes(note: Any, names: Iterable[str]) -> list[tuple[str, Any]]:
    if isinstance(note, str):
        return []
    found = [(name, getattr(note, name, None)) for name in names]
    return [(name, value) for name, value in found if value is not None]


def _words(note: Any) -> Schema:
    if isinstance(note, str):
        return {"description": note}
    words = dict(_attributes(note, ("title", "description", "examples", "documentation")))
    if "documentation" in words:
        words["description"] = words.pop("documentation")
    return {**words, **(getattr(note, "extra_json_schema", None) or {})}


def _keywords(name: str, bound: Any, schema: Schema) -> Schema:
    """Express a limit in a schema, as far as that is possible."""
    if "anyOf" in schema:  # each member has the limits that can concern it
        members = [_limited(name, bound, member) for member in schema["anyOf"]]
        return {"anyOf": members}
    kind = str(schema.get("type"))
    if name in BOUNDS:
        possible = kind in {"integer", "number"} and isinstance(bound, int | float)
        return {BOUNDS[name].keyword: bound} if possible else {}
    if name in LENGTHS:
        # The string for bytes is longer than they are.
        possible = kind in SIZES and "contentEncoding" not in schema
        return {LENGTHS[name].keyword + SIZES[kind]: bound} if possible else {}
    possible = kind == "string" and name == "pattern"
    return {"pattern": getattr(bound, "pattern", bound)} if possible else {}


def _limited(name: str, bound: Any, member: Any) -> Any:
    return member.extended(_keywords(name, bound, member))
