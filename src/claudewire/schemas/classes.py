"""What the fields of a class are: of dataclasses, typed dicts, named tuples, structs and attrs."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard

import msgspec

from .docstrings import Docstring
from .hints import fill_in, hints_of, is_typed_dict, unwrap, variables_of
from .records import NO_DEFAULT, Field, RecordNode, Row

__all__ = ["fields_of", "is_model", "record_of"]

Build = Callable[[Any], Any]
_Default = tuple[bool, Any]
"""Whether a field must be there, and what it is otherwise."""

_EMPTY: tuple[Any, ...] = (list, dict, set, frozenset, tuple)
"""Factories of which it is known what they make."""


def is_model(kind: Any) -> bool:
    """Say whether a class brings its own schema, as those of pydantic do."""
    return isinstance(kind, type) and all(
        callable(getattr(kind, method, None))
        for method in ("model_json_schema", "model_validate_json")
    )


def is_struct(kind: Any) -> TypeGuard[type[msgspec.Struct]]:
    """Say whether it is a class of msgspec's own."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_field_defaults")


def record_of(kind: Any) -> RecordNode | Row | None:
    """Make the part for a class, still without its fields; None if it has none."""
    origin = typing.get_origin(kind) or kind
    if not isinstance(origin, type):
        return None
    name = origin.__name__
    if is_struct(origin):
        return _struct(origin)
    if _is_named_tuple(origin):
        return Row(name, origin)
    if is_typed_dict(origin) or dataclasses.is_dataclass(origin) or _is_attrs(origin):
        return RecordNode(name, origin, description=_documented(origin).text)
    return None


def _struct(kind: type[msgspec.Struct]) -> RecordNode | Row:
    config = kind.__struct_config__
    is_open = not config.forbid_unknown_fields
    if config.array_like:
        return Row(kind.__name__, kind, tag=config.tag, is_open=is_open)
    tag = None if config.tag is None else (str(config.tag_field), config.tag)
    text = _documented(kind).text
    return RecordNode(kind.__name__, kind, description=text, tag=tag, is_open=is_open)


def fields_of(kind: Any, build: Build, names: Mapping[str, Any] | None) -> list[Field]:
    """Give the fields of a class.

    Args:
        kind: the class, or a generic one with its arguments.
        build: makes the part for the hint of a field.
        names: what hints may name besides the module of the class.
    """
    origin = typing.get_origin(kind) or kind
    hints = hints_of(origin, names)
    variables = variables_of(kind)
    words = _documented(origin).arguments
    fields = []
    for key, name, (required, default), description in _declared(origin, hints):
        node = build(fill_in(hints.get(name, Any), variables))
        about = description or words.get(name, "")
        fields.append(Field(key, name, node, required, default, about))
    return fields


_Declared = Iterator[tuple[str, str, _Default, str]]
"""For each field its name in JSON, its name in Python, its default, and its description."""


def _declared(kind: Any, hints: Mapping[str, Any]) -> _Declared:
    if is_struct(kind):
        return _of_struct(kind)
    if is_typed_dict(kind):
        return _of_typed_dict(kind, hints)
    if dataclasses.is_dataclass(kind):
        return _of_dataclass(kind)
    if _is_attrs(kind):
        return _of_attrs(kind)
    return _of_named_tuple(kind)


def _of_struct(kind: type[msgspec.Struct]) -> _Declared:
    for field in msgspec.structs.fields(kind):
        default = _default(field.default, field.default_factory, msgspec.NODEFAULT)
        yield field.encode_name, field.name, default, ""


def _of_dataclass(kind: Any) -> _Declared:
    for field in dataclasses.fields(kind):
        if field.init:
            default = _default(field.default, field.default_factory, dataclasses.MISSING)
            yield field.name, field.name, default, str(field.metadata.get("description", ""))


def _of_typed_dict(kind: Any, hints: Mapping[str, Any]) -> _Declared:
    for name, hint in hints.items():
        # A hint that is still text when the class is made hides what it says about this.
        said = unwrap(hint).required
        required = name in kind.__required_keys__ if said is None else said
        yield name, name, (required, NO_DEFAULT), ""


def _of_named_tuple(kind: Any) -> _Declared:
    for name in kind._fields:
        has_default = name in kind._field_defaults
        yield name, name, (not has_default, kind._field_defaults.get(name, NO_DEFAULT)), ""


def _is_attrs(kind: Any) -> bool:
    return hasattr(kind, "__attrs_attrs__")


def _of_attrs(kind: Any) -> _Declared:
    for field in kind.__attrs_attrs__:
        if field.init:
            # attrs is not imported for it: its mark for "none" is a member of a lone enum.
            none = type(field.default).__name__ == "_Nothing"
            factory = getattr(field.default, "factory", None)
            value = NO_DEFAULT if none or factory else field.default
            yield field.alias, field.alias, _default(value, factory or NO_DEFAULT, NO_DEFAULT), ""


def _default(value: Any, factory: Any, none: Any) -> _Default:
    if value is msgspec.UNSET:
        return False, NO_DEFAULT
    if value is not none:
        return False, value
    if factory is not none:
        return False, factory() if factory in _EMPTY else NO_DEFAULT
    return True, NO_DEFAULT


def _documented(kind: Any) -> Docstring:
    """Take apart the docstring of a class; what its bases say of fields holds too."""
    found = Docstring()
    for base in reversed(kind.__mro__):
        own = Docstring.parse(_docstring(base))
        found.arguments |= own.arguments
        found.text = own.text
    return found


def _docstring(kind: type) -> str | None:
    text = kind.__dict__.get("__doc__")
    made_up = isinstance(text, str) and text.startswith(f"{kind.__name__}(")
    return None if made_up or kind.__module__ in {"builtins", "msgspec"} else text
