"""Checks values by a JSON Schema, and makes the Python values that the schema describes.

The schema was either written by hand, or made from a Python type: then it is a TypedSchema, which
can make a value of that type from JSON that fits. A keyword that is not known here, and `format`,
is satisfied by anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain, repeat
from types import NoneType
from typing import Any

from .limits import (
    BOUNDS,
    LENGTHS,
    LIMIT_KEYWORDS,
    SIZES,
    check_bound,
    check_length,
    check_pattern,
    compiled,
)
from .mismatch import SchemaMismatch, WrongType, brief, closest, expected, unexpected
from .typed import Check, Schema, TypedSchema, chained, unchanged

__all__ = ["Checker", "same"]

_FIELDS = {"additionalProperties", "patternProperties", "properties", "propertyNames", "required"}

_TYPES: dict[str, set[type]] = {
    "null": {NoneType},
    "boolean": {bool},
    "string": {str},
    "array": {list},
    "object": {dict},
    "number": {int, float},
    "integer": {int},
}
"""What JSON of each type is decoded to."""


class Checker:
    """Checks values by one schema, and converts them if the schema is of a Python type.

    Args:
        schema: the schema.
        definitions: what `$ref` can refer to besides the schema itself.
    """

    def __init__(self, schema: Schema, definitions: Schema | None = None) -> None:
        self._root = schema if definitions is None else {"$defs": definitions}
        self._referred: dict[str, Check] = {}
        self._convert = self._compile(schema)

    def convert(self, value: Any) -> Any:
        """Return the Python value for a JSON value.

        Raises:
            SchemaMismatch: the value does not fit.
        """
        try:
            return self._convert(value)
        except RecursionError:
            raise SchemaMismatch("nested too deeply") from None

    def _compile(self, schema: Schema | bool) -> Check:
        """Make one function of all keywords of a schema."""
        if isinstance(schema, bool):
            return unchanged if schema else _refuse
        steps = [build(self, schema) for keys, build in self._STEPS if keys & schema.keys()]
        if not isinstance(schema, TypedSchema):
            return chained(steps)
        return schema.converter([] if schema.is_opaque else steps)

    def _type(self, schema: Schema) -> Check:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        kinds = {kind for name in names for kind in _TYPES.get(name, ())}
        has_integers = "integer" in names
        wanted = _name(schema)

        def check_type(value: Any) -> Any:
            if type(value) in kinds:
                return value
            if has_integers and type(value) is float and value.is_integer():
                return value  # JSON does not distinguish 1.0 and 1
            raise expected(wanted, value)

        return check_type if kinds else unchanged

    def _enum(self, schema: Schema) -> Check:
        choices = schema.get("enum", [schema.get("const")])

        def check_choice(value: Any) -> Any:
            if any(same(value, choice) for choice in choices):
                return value
            names = ", ".join(map(repr, choices))
            wanted = f"one of {names}" if "enum" in schema else names
            raise SchemaMismatch(f"expected {wanted}, got {brief(value)}")

        return check_choice

    def _limits(self, schema: Schema) -> Check:
        checks = [
            ("number", partial(check_bound, limit, schema[limit.keyword]))
            for limit in BOUNDS.values()
            if limit.keyword in schema
        ]
        for name, size in SIZES.items():
            for limit in LENGTHS.values():
                bound = schema.get(limit.keyword + size)
                if bound is not None:
                    checks.append((name, partial(check_length, limit, bound)))
        if "pattern" in schema:
            checks.append(("string", partial(check_pattern, schema["pattern"])))

        def check_limits(value: Any) -> Any:
            for name, check in checks:
                if type(value) in _TYPES[name]:
                    check(value)
            return value

        return check_limits

    def _all_of(self, schema: Schema) -> Check:
        return chained([self._compile(member) for member in schema["allOf"]])

    def _any_of(self, schema: Schema) -> Check:
        members = [(_name(member), self._compile(member)) for member in schema["anyOf"]]
        name = _name(schema)

        def convert_first(value: Any) -> Any:
            mismatches = []
            for member, convert in members:
                try:
                    return convert(value)
                except SchemaMismatch as mismatch:
                    mismatches.append((member, mismatch))
            raise _explain(name, value, mismatches)

        return convert_first

    def _one_of(self, schema: Schema) -> Check:
        members = [self._compile(member) for member in schema["oneOf"]]
        fits_any = self._any_of({"anyOf": schema["oneOf"]})

        def check_one(value: Any) -> Any:
            if sum(_fits(value, member) for member in members) > 1:
                raise SchemaMismatch("fits more than one of the alternatives")
            return fits_any(value)

        return check_one

    def _not(self, schema: Schema) -> Check:
        refused = self._compile(schema["not"])

        def check_not(value: Any) -> Any:
            if _fits(value, refused):
                raise SchemaMismatch(f"must not be {brief(value)}")
            return value

        return check_not

    def _reference(self, schema: Schema) -> Check:
        return partial(self._follow, schema["$ref"])

    def _follow(self, reference: Any, value: Any) -> Any:
        """Convert by a referred schema; it is compiled late, because it may contain itself."""
        if reference not in self._referred:
            self._referred[reference] = self._compile(self._find(reference))
        return self._referred[reference](value)

    def _find(self, reference: str) -> Schema | bool:
        """Follow a reference inside the document; one that leads elsewhere allows anything."""
        found: Any = self._root
        head, *steps = reference.split("/")
        for step in steps:
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if head == "#" and isinstance(found, Mapping | bool) else True

    def _items(self, schema: Schema) -> Check:
        first: list[Any] = schema.get("prefixItems", [])
        rest: Any = schema.get("items", True)
        if isinstance(rest, list):  # as it was written before 2020
            first, rest = rest, schema.get("additionalItems", True)
        converters = [self._compile(item) for item in first]
        convert_rest = self._compile(rest)

        def convert_items(value: Any) -> Any:
            if not isinstance(value, list):
                return value
            items: list[Any] = []
            problems: list[SchemaMismatch] = []
            for convert, item in zip(chain(converters, repeat(convert_rest)), value, strict=False):
                try:
                    items.append(convert(item))
                except SchemaMismatch as mismatch:
                    problems.append(mismatch.within(len(items) + len(problems)))
            if problems:
                raise SchemaMismatch.joined(problems)
            return items

        return convert_items

    def _unique(self, schema: Schema) -> Check:
        is_limited = schema["uniqueItems"] is True and not isinstance(schema, TypedSchema)

        def check_unique(value: Any) -> Any:
            for at, item in enumerate(value if isinstance(value, list) else ()):
                if any(same(item, other) for other in value[:at]):
                    raise SchemaMismatch("is the same as an earlier item", at)
            return value

        # For a set of Python, the same item twice is no problem.
        return check_unique if is_limited else unchanged

    def _fields(self, schema: Schema) -> Check:
        properties = schema.get("properties", {})
        known = {key: self._compile(inner) for key, inner in properties.items()}
        convert_other = self._other_field(schema, known)
        names = schema.get("propertyNames")
        convert_name = None if names is None else self._compile(names)
        required = schema.get("required", ())

        def convert_fields(value: Any) -> Any:
            if type(value) is not dict:
                return value
            fields = {}
            problems = [] if all(map(value.__contains__, required)) else _missing(schema, value)
            for key, item in value.items():
                convert = known.get(key)
                try:
                    name = key if convert_name is None else convert_name(key)
                    fields[name] = convert_other(key, item) if convert is None else convert(item)
                except SchemaMismatch as mismatch:
                    problems.append(mismatch.within(key))
            if problems:
                raise SchemaMismatch.joined(problems)
            return fields

        return convert_fields

    def _other_field(self, schema: Schema, known: dict[str, Check]) -> Callable[[str, Any], Any]:
        """Make the function for fields that are not among the properties."""
        others = schema.get("additionalProperties", True)
        convert_other = None if others is False else self._compile(others)
        patterns = [
            (compiled(pattern), self._compile(inner))
            for pattern, inner in schema.get("patternProperties", {}).items()
        ]

        def matching(key: str) -> list[Check]:
            return [convert for pattern, convert in patterns if pattern.search(key)]

        def convert_field(key: str, item: Any) -> Any:
            if found := matching(key):
                return chained(found)(item)
            if convert_other is None:
                raise unexpected(key, known)
            return convert_other(item)

        for key, convert in known.items():
            known[key] = chained([convert, *matching(key)])
        return convert_field

    _STEPS: tuple[tuple[set[str], Callable[[Checker, Schema], Check]], ...] = (
        ({"enum", "const"}, _enum),
        ({"type"}, _type),
        (LIMIT_KEYWORDS, _limits),
        ({"allOf"}, _all_of),
        ({"not"}, _not),
        ({"oneOf"}, _one_of),
        ({"anyOf"}, _any_of),
        ({"$ref"}, _reference),
        ({"uniqueItems"}, _unique),
        ({"items", "prefixItems"}, _items),
        (_FIELDS, _fields),
    )


def _refuse(value: Any) -> Any:
    raise SchemaMismatch(f"must not be here, got {brief(value)}")


def _fits(value: Any, check: Check) -> bool:
    try:
        check(value)
    except SchemaMismatch:
        return False
    return True


def _name(schema: Schema | bool) -> str:
    """Return the name of what a schema describes, for messages."""
    if isinstance(schema, TypedSchema):
        return schema.name
    kinds = schema.get("type") if isinstance(schema, Mapping) else None
    if kinds is None and isinstance(schema, Mapping) and "anyOf" in schema:
        kinds = [_name(member) for member in schema["anyOf"]]
    return " | ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds or "any")


def _explain(name: str, value: Any, mismatches: list[tuple[str, SchemaMismatch]]) -> SchemaMismatch:
    """Return the mismatch of the member of a union that was meant, if that is clear."""
    meant = [pair for pair in mismatches if pair[1].steps or not isinstance(pair[1], WrongType)]
    if not meant:
        return expected(name, value)
    deepest = max(len(mismatch.steps) for _, mismatch in meant)
    deep = [pair for pair in meant if len(pair[1].steps) == deepest]
    if len(deep) == 1:
        return deep[0][1]
    each = "; ".join(f"as `{member}`, {mismatch}" for member, mismatch in deep)
    return SchemaMismatch(f"fits none of `{name}`: {each}")


def _missing(schema: Schema, value: Mapping[str, Any]) -> list[SchemaMismatch]:
    """Find the required fields that are missing, but for those that are only misspelt."""
    absent = [key for key in schema.get("required", ()) if key not in value]
    if absent and schema.get("additionalProperties") is False:
        properties = schema.get("properties", {})
        misspelt = {closest(key, properties) for key in value if key not in properties}
        absent = [key for key in absent if key not in misspelt]
    return [SchemaMismatch("required but missing", key) for key in absent]


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON: True is not 1, but 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)
