"""Example objects, made from the declared types."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import inspect

from claudewire import wire
from claudewire.wire import Event, Message, Unknown

SCALARS: dict[type, Any] = {
    inspect.BoolType: True,
    inspect.FloatType: 0.5,
    inspect.IntType: 7,
    inspect.LiteralType: "system",
    inspect.NoneType: None,
    inspect.StrType: "text",
    inspect.AnyType: {"anything": [1, None]},
}

STRUCTS: list[type[msgspec.Struct]] = [
    kind
    for kind in vars(wire).values()
    if isinstance(kind, type)
    and issubclass(kind, msgspec.Struct)
    and kind.__module__.startswith("claudewire.wire.types")
    and not issubclass(kind, Unknown)
    and (issubclass(kind, Message) or not issubclass(kind, Event))
]
"""Every class whose objects are on the wire."""


def full(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Make an object with every field that its class declares."""
    return _object(kind, full=True)


def minimal(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Make an object with only the fields that are always written, null where possible."""
    return _object(kind, full=False)


def _object(kind: type[msgspec.Struct], *, full: bool) -> dict[str, Any]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return _fields(info, full)


def _fields(info: inspect.StructType, full: bool) -> dict[str, Any]:
    fields = {
        field.encode_name: _value(field.type, full)
        for field in info.fields
        if full or field.default is msgspec.NODEFAULT
    }
    return {info.tag_field: info.tag, **fields} if info.tag_field else fields


def _value(info: inspect.Type, full: bool) -> Any:
    match info:
        case inspect.StructType():
            return _fields(info, full)
        case inspect.UnionType(types=types):
            # The first member stands for all: each has an example of its own.
            member = types[0] if full or not info.includes_none else inspect.NoneType()
            return _value(member, False)
        case inspect.ListType(item_type=item):
            return [_value(item, full)]
        case inspect.DictType(value_type=value):
            return {"key": _value(value, full)}
    return SCALARS[type(info)]
