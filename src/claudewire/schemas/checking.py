"""Whether a value fits a JSON Schema that somebody wrote by hand.

The keywords that such schemas are made of are checked; a keyword that is not known here, and
`format`, is satisfied by anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .mismatch import SchemaMismatch, brief, missing, unexpected
from .notes import is_multiple

__all__ = ["check"]

Schema = Mapping[str, Any]

_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": lambda value: _is_number(value),
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check(value: Any, schema: Schema) -> None:
    """Raise if a value does not fit a schema.

    Raises:
        SchemaMismatch: with the first problem and its path.
    """
    try:
        _Checker(schema).check(value, schema)
    except RecursionError:
        raise SchemaMismatch("nested too deeply") from None


class _Checker:
    """Checks by one schema, whose definitions it knows."""

    def __init__(self, root: Schema) -> None:
        self._root = root

    def check(self, value: Any, schema: Schema | bool) -> None:
        if isinstance(schema, bool):
            if not schema:
                raise SchemaMismatch(f"nothing may be here, got {brief(value)}")
            return
        if isinstance(schema.get("$ref"), str):
            self.check(value, self._find(schema["$ref"]))
        self._check_kind(value, schema)
        self._check_combinations(value, schema)
        _check_number(value, schema)
        _check_size(value, schema)
        if isinstance(value, list):
            self._check_items(value, schema)
        if isinstance(value, dict):
            self._check_fields(value, schema)

    def _find(self, reference: str) -> Schema | bool:
        """Follow a reference inside the document; one that leads elsewhere allows anything."""
        found: Any = self._root
        head, *steps = reference.split("/")
        for step in steps:
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if head == "#" and isinstance(found, Mapping | bool) else True

    def _check_kind(self, value: Any, schema: Schema) -> None:
        kinds = schema.get("type")
        if kinds is not None:
            names = [kinds] if isinstance(kinds, str) else kinds
            if not any(_TYPES.get(name, bool)(value) for name in names):
                got = brief(value)
                raise SchemaMismatch(f"expected {' or '.join(map(str, names))}, got {got}")
        if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
            choices = ", ".join(map(repr, schema["enum"]))
            raise SchemaMismatch(f"expected one of {choices}, got {brief(value)}")
        if "const" in schema and not _same(value, schema["const"]):
            raise SchemaMismatch(f"expected {schema['const']!r}, got {brief(value)}")

    def _check_combinations(self, value: Any, schema: Schema) -> None:
        for member in schema.get("allOf", ()):
            self.check(value, member)
        if "anyOf" in schema and not any(self._fitting(value, schema["anyOf"])):
            raise self._best(value, schema["anyOf"])
        if "oneOf" in schema:
            fitting = sum(self._fitting(value, schema["oneOf"]))
            if fitting > 1:
                raise SchemaMismatch("fits more than one of the alternatives")
            if not fitting:
                raise self._best(value, schema["oneOf"])
        if "not" in schema and any(self._fitting(value, [schema["not"]])):
            raise SchemaMismatch(f"may not be {brief(value)}")

    def _fitting(self, value: Any, members: list[Schema]) -> Iterator[bool]:
        for member in members:
            yield self._problem(value, member) is None

    def _problem(self, value: Any, schema: Schema) -> SchemaMismatch | None:
        try:
            self.check(value, schema)
        except SchemaMismatch as mismatch:
            return mismatch
        return None

    def _best(self, value: Any, members: list[Schema]) -> SchemaMismatch:
        """Complain as the member that got furthest."""
        problems = [self._problem(value, member) for member in members]
        found = [problem for problem in problems if problem is not None]
        deepest = max((len(problem.steps) for problem in found), default=0)
        if deepest:
            return next(problem for problem in found if len(problem.steps) == deepest)
        each = "; ".join(dict.fromkeys(problem.problem for problem in found))
        return SchemaMismatch(f"fits none of the alternatives: {each}")

    def _check_items(self, value: list[Any], schema: Schema) -> None:
        first: list[Any] = schema.get("prefixItems", [])
        rest: Any = schema.get("items", True)
        if isinstance(rest, list):  # as it was written before 2020
            first, rest = rest, schema.get("additionalItems", True)
        for at, item in enumerate(value):
            self._within(at, item, first[at] if at < len(first) else rest)
        if schema.get("uniqueItems") is True:
            for at, item in enumerate(value):
                if any(_same(item, other) for other in value[:at]):
                    raise SchemaMismatch("is there already", at)

    def _check_fields(self, value: dict[str, Any], schema: Schema) -> None:
        properties: Schema = schema.get("properties", {})
        patterns: Schema = schema.get("patternProperties", {})
        for key in schema.get("required", ()):
            if key not in value:
                raise missing(key)
        for key, item in value.items():
            if "propertyNames" in schema:
                self._within(key, key, schema["propertyNames"])
            fitting = [inner for pattern, inner in patterns.items() if re.search(pattern, key)]
            for inner in [*([properties[key]] if key in properties else []), *fitting]:
                self._within(key, item, inner)
            if key not in properties and not fitting:
                self._check_other(key, item, schema)

    def _check_other(self, key: str, item: Any, schema: Schema) -> None:
        others = schema.get("additionalProperties", True)
        if others is False:
            raise unexpected(key, schema.get("properties", {}))
        self._within(key, item, others)

    def _within(self, step: str | int, value: Any, schema: Any) -> None:
        try:
            self.check(value, schema)
        except SchemaMismatch as mismatch:
            raise mismatch.within(step) from None


def _same(one: Any, other: Any) -> bool:
    """Say whether JSON takes two values for the same; True is not 1, but 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


_NUMBERS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("minimum", "at least", lambda value, bound: value >= bound),
    ("maximum", "at most", lambda value, bound: value <= bound),
    ("exclusiveMinimum", "greater than", lambda value, bound: value > bound),
    ("exclusiveMaximum", "less than", lambda value, bound: value < bound),
    ("multipleOf", "a multiple of", is_multiple),
)
_SIZES: tuple[tuple[type, str, str], ...] = (
    (str, "Length", "characters"),
    (list, "Items", "items"),
    (dict, "Properties", "fields"),
)


def _check_number(value: Any, schema: Schema) -> None:
    for keyword, words, holds in _NUMBERS:
        if keyword in schema and _is_number(value) and not holds(value, schema[keyword]):
            raise SchemaMismatch(f"must be {words} {schema[keyword]}, got {brief(value)}")


def _check_size(value: Any, schema: Schema) -> None:
    for kind, name, unit in _SIZES:
        if isinstance(value, kind):
            size = len(value)  # type: ignore[arg-type]
            if size < schema.get(f"min{name}", 0):
                least = schema[f"min{name}"]
                raise SchemaMismatch(f"must have at least {least} {unit}, got {size}")
            if size > schema.get(f"max{name}", size):
                most = schema[f"max{name}"]
                raise SchemaMismatch(f"must have at most {most} {unit}, got {size}")
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        raise SchemaMismatch(f"must match the pattern {schema['pattern']}, got {brief(value)}")
