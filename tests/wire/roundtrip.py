"""Show that a class reads and writes exactly what its examples say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

Example = tuple[type[Struct], dict[str, Any]]
"""A class, and an object in which every field of that class is written."""


def tag_of(cls: type[Struct]) -> dict[str, Any]:
    config = cls.__struct_config__
    return {} if config.tag_field is None else {config.tag_field: config.tag}


def minimal(example: Example) -> Example:
    """Leave out of an example all that may be left out."""
    cls, full = example
    needed = {
        field.encode_name
        for field in fields(cls)
        if field.required or field.default_factory not in (NODEFAULT, list)
    }
    return cls, {key: value for key, value in full.items() if key in {*needed, *tag_of(cls)}}


def with_minimal(examples: Iterable[Example]) -> list[Example]:
    return [form for example in examples for form in (minimal(example), example)]


def names(examples: Iterable[Example]) -> list[str]:
    return [f"{cls.__name__}-{len(value)}" for cls, value in examples]


def assert_complete(example: Example) -> None:
    cls, full = example
    assert set(full) == {*cls.__struct_encode_fields__, *tag_of(cls)}


def assert_same_again(example: Example, into: Any = None) -> None:
    """Decode and encode; something undeclared beside it must not matter."""
    cls, value = example
    for extra in ({}, {"undeclared": {"by": ["anybody"]}}):
        read = msgspec.json.decode(json.dumps(value | extra), type=into or cls)
        assert type(read) is cls
        assert json.loads(msgspec.json.encode(read)) == value


def structs_of(*modules: ModuleType) -> set[type[Struct]]:
    exported = (getattr(module, name) for module in modules for name in module.__all__)
    return {it for it in exported if isinstance(it, type) and issubclass(it, Struct)}
