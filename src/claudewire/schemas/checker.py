"""Checks values by a JSON Schema, and makes the Python values that the schema describes.

The schema was either written by hand, or made from a Python type: then it is a TypedSchema, which
knows how to make a value of the type from JSON that fits. A keyword that is not known here, and
`format`, is satisfied by anything.

msgspec does the work where it agrees with these schemas: for numbers, strings, dates, and lists and
dicts of them. It is not used for more, because it refuses unions of classes and enums of mixed
values, ignores misspelt fields of dataclasses, stops at the first problem, and its paths do not
contain the keys of a dict.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from types import NoneType
from typing import Any

import msgspec

from .limits import BOUNDS, LENGTHS, SIZES, check_bound, check_length, check_pattern, compiled
from .mismatch import SchemaMismatch, WrongType, brief, closest, expected, unexpected

__all__ = ["Checker", "TypedSchema", "check", "same"]

Schema = Mapping[str, Any]
Check = Callable[[Any], Any]
"""Takes a JSON value and returns what it is converted to, or raises SchemaMismatch."""


_WORDS = {"default", "description", "examples", "title"}
"""Keywords that limit nothing."""


_LIMITS = {
    "pattern",
    *(limit.keyword for limit in BOUNDS.values()),
    *(limit.keyword + size for limit in LENGTHS.values() for size in SIZES.values()),
}
_FIELDS = {
    "additionalProperties",
    "patternProperties",
    "properties",
    "propertyNames",
    "required",
}


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
        checks: Sequence[Callable[[Any], None]] = (),
        is_opaque: bool = False,
    ) -> None:
        super().__init__(schema or {})
        self.name = name
        self.make = make
        self.example = example
        self.native = native
        self.mirror = mirror
        self.checks = checks
        self.is_opaque = is_opaque

    def extended(self, schema: Schema, checks: Iterable[Callable[[Any], None]] = ()) -> TypedSchema:
        """Return a copy with more keywords, and more checks of the value."""
        extended = copy.copy(self)
        extended.update(schema)
        extended.checks = (*self.checks, *checks)
        if extended.checks or not schema.keys() <= _WORDS:
            extended.native = extended.mirror = None  # msgspec does not know about the limit
        return extended


def check(value: Any, schema: Schema) -> Any:
    """Check a value by a schema that was written by hand, and return it.

    Raises:
        SchemaMismatch: the value does not fit.
    """
    return Checker(schema).convert(value)


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
            return _pass if schema else _refuse
        steps = [build(self, schema) for keys, build in self._STEPS if keys & schema.keys()]
        if not isinstance(schema, TypedSchema):
            return _chain(steps)
        return _typed(schema, [] if schema.is_opaque else steps)

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

        return check_type if kinds else _pass

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
        return _chain([self._compile(member) for member in schema["allOf"]])

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

        return check_unique if is_limited else _pass  # a set of Python drops what it has already

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
                return _chain(found)(item)
            if convert_other is None:
                raise unexpected(key, known)
            return convert_other(item)

        for key, convert in known.items():
            known[key] = _chain([convert, *matching(key)])
        return convert_field

    _STEPS: tuple[tuple[set[str], Callable[[Checker, Schema], Check]], ...] = (
        ({"enum", "const"}, _enum),
        ({"type"}, _type),
        (_LIMITS, _limits),
        ({"allOf"}, _all_of),
        ({"not"}, _not),
        ({"oneOf"}, _one_of),
        ({"anyOf"}, _any_of),
        ({"$ref"}, _reference),
        ({"uniqueItems"}, _unique),
        ({"items", "prefixItems"}, _items),
        (_FIELDS, _fields),
    )


def _pass(value: Any) -> Any:
    return value


def _refuse(value: Any) -> Any:
    raise SchemaMismatch(f"must not be here, got {brief(value)}")


def _chain(steps: Sequence[Check]) -> Check:
    """Make one function of several."""
    if len(steps) < 2:
        return steps[0] if steps else _pass

    def convert(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return convert


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


def _typed(schema: TypedSchema, steps: list[Check]) -> Check:
    """Add to the steps all that makes a value of the Python type."""
    last = [] if schema.make is None else [_maker(schema, schema.make)]
    if schema.checks:
        last.append(partial(_checked, schema.checks))
    convert = _chain([*steps, *last])
    mirror = None if schema.mirror is None else schema.mirror()
    if mirror is not None:
        has_all = len(schema["properties"]) == len(schema.get("required", ()))
        unpack: Check = msgspec.structs.asdict if has_all else _given
        return _natively(mirror, convert, _chain([unpack, *last]))
    if schema.native is not None and len(steps) + len(last) > 1:
        return _natively(schema.native, convert, _pass)
    return convert


def _natively(native: Any, convert: Check, finish: Check) -> Check:
    """Let msgspec convert a value; if it refuses, `convert` says why, or finds it right."""

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


def _maker(schema: TypedSchema, make: Check) -> Check:
    def make_value(value: Any) -> Any:
        try:
            return make(value)
        except (SchemaMismatch, RecursionError):
            raise
        except Exception as error:  # whatever its class objects to is a mismatch
            raise SchemaMismatch(_objection(schema, value, error)) from error

    return make_value


def _objection(schema: TypedSchema, value: Any, error: Exception) -> str:
    if schema.example and type(value) is str:
        return f"expected `{schema.name}` as in {schema.example!r}, got {brief(value)}"
    if isinstance(error, ValueError):
        return str(error) or type(error).__name__
    return f"cannot be a `{schema.name}`: {error}"


def _checked(checks: Iterable[Callable[[Any], None]], value: Any) -> Any:
    for check in checks:
        check(value)
    return value
