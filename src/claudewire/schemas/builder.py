"""From type hints to JSON Schemas that can make values of these types."""

from __future__ import annotations

import collections.abc as abc
import datetime
import decimal
import enum
import functools
import math
import os
import pathlib
import re
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from .checker import same
from .fields import class_schema, fields_of, is_record, row_schema
from .hints import called, fill_in, hints_of, unwrap, variables_of
from .limits import read
from .mismatch import SchemaMismatch, UnsupportedType, expected
from .typed import TypedSchema

__all__ = ["Builder"]

_INTEGER_KEY = r"^-?(0|[1-9][0-9]{0,4000})$"
"""An integer as the name of a field. Python converts no more than 4300 digits."""

_DECIMAL = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,9})?$"


def _make_decimal(value: Any) -> decimal.Decimal:
    """Read a string or a number; a float gives the digits that it is written with."""
    if isinstance(value, str) and re.fullmatch(_DECIMAL, value):
        return decimal.Decimal(value)
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return decimal.Decimal(repr(value))
    raise ValueError(value) if isinstance(value, str) else expected("Decimal", value)


def _make_integer(key: str) -> int:
    if not re.fullmatch(_INTEGER_KEY, key):
        raise ValueError(key)
    return int(key)


def _make_path(kind: type[pathlib.PurePath], value: str) -> pathlib.PurePath:
    if "\0" in value:
        raise ValueError("a path cannot contain a null character")
    return kind(value)


def _plain(kind: type, json_type: str, make: Callable[[Any], Any] | None = None) -> TypedSchema:
    name = "None" if kind is types.NoneType else kind.__name__
    return TypedSchema(name, {"type": json_type}, make=make, native=kind)


def _text(kind: type, example: str, **schema: str) -> TypedSchema:
    """Describe a type that JSON writes as a string, and msgspec reads."""
    return TypedSchema(
        kind.__name__,
        {"type": "string", **schema},
        make=functools.partial(msgspec.convert, type=kind),
        example=example,
        native=kind,
    )


def _path(kind: type[pathlib.PurePath]) -> TypedSchema:
    make = functools.partial(_make_path, kind)
    return TypedSchema(kind.__name__, {"type": "string", "format": "path"}, make=make)


_SCALARS: Mapping[Any, TypedSchema] = {
    Any: TypedSchema("Any"),
    object: TypedSchema("Any"),
    int: _plain(int, "integer", int),
    float: _plain(float, "number", float),
    str: _plain(str, "string"),
    typing.LiteralString: _plain(str, "string"),
    bool: _plain(bool, "boolean"),
    types.NoneType: _plain(types.NoneType, "null"),
    bytes: _text(bytes, "aGVsbG8=", contentEncoding="base64"),
    bytearray: _text(bytearray, "aGVsbG8=", contentEncoding="base64"),
    datetime.datetime: _text(datetime.datetime, "2025-01-31T12:00:00Z", format="date-time"),
    datetime.date: _text(datetime.date, "2025-01-31", format="date"),
    datetime.time: _text(datetime.time, "12:00:00Z", format="time"),
    datetime.timedelta: _text(datetime.timedelta, "P1DT2H", format="duration"),
    uuid.UUID: _text(uuid.UUID, "12345678-1234-5678-1234-567812345678", format="uuid"),
    decimal.Decimal: TypedSchema(
        "Decimal",
        {
            "anyOf": [
                TypedSchema("Decimal", {"type": "number"}),
                TypedSchema("Decimal", {"type": "string", "pattern": _DECIMAL}),
            ]
        },
        make=_make_decimal,
        example="19.99",
        is_opaque=True,
    ),
    os.PathLike: _path(pathlib.Path),
}
"""The types without parts."""

_INTEGER_AS_KEY = TypedSchema(
    "int", {"pattern": _INTEGER_KEY}, make=_make_integer, example="7", is_opaque=True
)

_ARRAYS: Mapping[Any, type] = {
    list: list,
    set: set,
    frozenset: frozenset,
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Collection: list,
    abc.Iterable: list,
    abc.Set: set,
    abc.MutableSet: set,
}
_MAPPINGS = {dict, abc.Mapping, abc.MutableMapping}


class Builder:
    """Makes schemas. It remembers those of classes, so that a class may contain itself.

    Args:
        names: names that hints may use, besides those that their modules know.
        lenient: whether a type without a schema may be anything.

    Attributes:
        definitions: the schemas that others refer to.
    """

    def __init__(self, names: Mapping[str, Any] | None = None, *, lenient: bool = False) -> None:
        self.definitions: dict[str, Mapping[str, Any]] = {}
        self._names = names
        self._lenient = lenient
        self._references: dict[Any, TypedSchema] = {}

    def build(self, hint: Any) -> TypedSchema:
        """Make the schema of a type hint.

        Raises:
            UnsupportedType: there is no JSON Schema for it.
        """
        plain = unwrap(hint)
        return _annotated(self._build(plain.kind), plain.metadata)

    def _build(self, kind: Any) -> TypedSchema:
        origin, arguments = typing.get_origin(kind) or kind, typing.get_args(kind)
        if not isinstance(kind, abc.Hashable):
            found = None  # such as [int], which is not a type
        elif origin in _SCALARS:
            return _SCALARS[origin]
        else:
            found = self._container(kind, origin, arguments) or self._class(kind, origin)
        if found is not None:
            return found
        if self._lenient:
            return _SCALARS[Any]
        raise UnsupportedType(
            f"There is no JSON Schema for {called(kind)}. Use a dataclass, a TypedDict, "
            "a msgspec.Struct or a pydantic model, or give the schema yourself."
        )

    def _container(self, kind: Any, origin: Any, arguments: Any) -> TypedSchema | None:
        if origin is Literal:
            return _choice(called(kind), [(_written(value), value) for value in arguments])
        if origin in {typing.Union, types.UnionType}:
            return self._union(arguments)
        if origin is tuple:
            return self._tuple(kind, arguments)
        if origin in _ARRAYS:
            return self._array(_ARRAYS[origin], arguments[0] if arguments else Any)
        if origin in _MAPPINGS:
            return self._mapping(*(arguments or (str, Any)))
        return None

    def _union(self, arguments: Iterable[Any]) -> TypedSchema:
        members = [self.build(hint) for hint in arguments if hint is not msgspec.UnsetType]
        if len(members) == 1:
            return members[0]
        name = " | ".join(member.name for member in members)
        if any(member.name == "float" for member in members):
            members.sort(key=lambda member: member.name != "int")  # an int fits both; it stays one
        schema = TypedSchema(name, {"anyOf": members})
        if len(members) == 2 and members[1].get("type") == "null" and members[0].native:
            schema.native = members[0].native | None
        return schema

    def _tuple(self, kind: Any, arguments: tuple[Any, ...]) -> TypedSchema:
        if kind is tuple or kind is typing.Tuple:  # noqa: UP006 it may come from old code
            arguments = (Any, ...)
        if arguments[1:] == (...,):
            return self._array(tuple, arguments[0])
        items = [self.build(hint) for hint in arguments]
        name = f"tuple[{', '.join(item.name for item in items) or '()'}]"
        return TypedSchema(name, row_schema(items, len(items)), make=tuple)

    def _array(self, kind: type, hint: Any) -> TypedSchema:
        item = self.build(hint)
        schema: dict[str, Any] = {"type": "array"}
        if item:
            schema["items"] = item
        if issubclass(kind, set | frozenset):
            schema["uniqueItems"] = True
        parts = (item.native, ...) if kind is tuple else (item.native,)
        native = types.GenericAlias(kind, parts) if item.native else None
        return TypedSchema(f"{kind.__name__}[{item.name}]", schema, make=kind, native=native)

    def _mapping(self, key_hint: Any, value_hint: Any) -> TypedSchema:
        key, value = self._key(key_hint), self.build(value_hint)
        schema: dict[str, Any] = {"type": "object"}
        if key not in ({}, {"type": "string"}):
            schema["propertyNames"] = key
        if value:
            schema["additionalProperties"] = value
        is_native = key == {"type": "string"} and value.native is not None
        native = types.GenericAlias(dict, (str, value.native)) if is_native else None
        return TypedSchema(f"dict[{key.name}, {value.name}]", schema, native=native)

    def _key(self, hint: Any) -> TypedSchema:
        plain = unwrap(hint)
        key = self._build(plain.kind)
        if key and key.get("type") not in {"string", "integer"} and "enum" not in key:
            raise UnsupportedType(f"The keys of a JSON object cannot be {key.name}.")
        is_integer = key.get("type") == "integer" and "enum" not in key
        return _annotated(_INTEGER_AS_KEY if is_integer else key, plain.metadata)

    def _class(self, kind: Any, origin: Any) -> TypedSchema | None:
        if _is_model(kind):
            return self._refer(kind, origin, self._model)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return _choice(kind.__name__, _members(kind))
        if isinstance(kind, type) and issubclass(kind, pathlib.PurePath):
            return _path(kind)
        if is_record(origin):
            return self._refer(kind, origin, self._record)
        if type(origin).__name__ == "TypeAliasType":
            return self._refer(kind, origin, self._alias)
        return None

    def _refer(
        self, kind: Any, origin: Any, define: Callable[[str, Any], TypedSchema]
    ) -> TypedSchema:
        """Refer to a definition, which is made the first time and may refer to itself."""
        key = kind, repr(kind)  # unions are equal whatever their order, which counts here
        if key not in self._references:
            name, number = origin.__name__, 1
            while name in self.definitions:
                number += 1
                name = f"{origin.__name__}_{number}"
            reference = {"$ref": f"#/$defs/{name}"}
            self._references[key] = TypedSchema(origin.__name__, reference)
            self.definitions[name] = {}  # the name is taken from now on
            self.definitions[name] = define(name, kind)
        return self._references[key]

    def _alias(self, name: str, kind: Any) -> TypedSchema:
        """Define what was named with `type X = …`."""
        origin = typing.get_origin(kind) or kind
        variables = dict(zip(origin.__type_params__, typing.get_args(kind), strict=False))
        return self.build(fill_in(origin.__value__, variables))

    def _model(self, name: str, model: Any) -> TypedSchema:
        """Define a class that brings its own schema, as pydantic's models do."""
        schema = model.model_json_schema(ref_template=f"#/$defs/{name}.{{model}}")
        for inner, definition in schema.pop("$defs", {}).items():
            self.definitions[f"{name}.{inner}"] = definition
        make = functools.partial(_make_model, model)
        return TypedSchema(model.__name__, schema, make=make, is_opaque=True)

    def _record(self, name: str, kind: Any) -> TypedSchema:
        """Define a class with fields."""
        origin = typing.get_origin(kind) or kind
        hints, variables = hints_of(origin, self._names), variables_of(kind)
        fields = fields_of(origin, hints)
        for field in fields:
            hint = hints.get(field.name, hints.get(f"_{field.name}", Any))  # as attrs renames it
            field.schema = self.build(fill_in(hint, variables))
        return class_schema(origin, fields)


def _annotated(schema: TypedSchema, metadata: Iterable[Any]) -> TypedSchema:
    """Add what `Annotated` says about a type."""
    added, checks = read(metadata, schema)
    return schema.extended(added, checks) if added or checks else schema


def _choice(name: str, choices: Sequence[tuple[Any, Any]]) -> TypedSchema:
    """Describe a choice of values: for each, what JSON has, and the value itself."""
    kinds = {_JSON_TYPES.get(type(written)) for written, _ in choices}
    schema: dict[str, Any] = {"enum": [written for written, _ in choices]}
    only = kinds.pop() if len(kinds) == 1 else None
    make = functools.partial(_chosen, choices)
    return TypedSchema(name, {"type": only, **schema} if only else schema, make=make)


_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _chosen(choices: Sequence[tuple[Any, Any]], given: Any) -> Any:
    return next(value for written, value in choices if same(written, given))


def _members(kind: type[enum.Enum]) -> list[tuple[Any, Any]]:
    """List the members of an Enum: by value if JSON has all of them, otherwise by name."""
    by_value = all(isinstance(_written(member), str | int | float | None) for member in kind)
    return [(_written(member) if by_value else member.name, member) for member in kind]


def _written(value: Any) -> Any:
    """Return the JSON for a member of an Enum, also for one that is an int or str itself."""
    if isinstance(value, enum.Enum):
        value = value.value
    for kind in (str, int, float):
        if isinstance(value, kind) and not isinstance(value, bool):
            return kind(value)
    return value


def _is_model(kind: Any) -> bool:
    """Whether a class brings its own schema, as those of pydantic do."""
    methods = ("model_json_schema", "model_validate_json")
    return isinstance(kind, type) and all(callable(getattr(kind, it, None)) for it in methods)


def _make_model(model: Any, value: Any) -> Any:
    """Let a model read JSON; its first problem is a mismatch."""
    try:
        return model.model_validate_json(msgspec.json.encode(value))
    except ValueError as error:
        errors: Callable[[], list[dict[str, Any]]] | None = getattr(error, "errors", None)
        if errors is None:
            raise
        found = [SchemaMismatch(str(one["msg"]), *map(_step, one["loc"])) for one in errors()]
        raise SchemaMismatch.joined(found) from error


def _step(step: Any) -> str | int:
    return step if isinstance(step, str | int) else str(step)
