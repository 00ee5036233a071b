"""The fields of a class: of dataclasses, TypedDict, NamedTuple, msgspec.Struct and attrs."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeGuard

import msgspec

from .docstrings import Docstring
from .encoding import to_json
from .hints import is_typed_dict, unwrap
from .typed import TypedSchema

__all__ = [
    "NO_DEFAULT",
    "Field",
    "class_schema",
    "field_of",
    "fields_of",
    "is_record",
    "mirror_of",
    "object_schema",
    "row_schema",
]

NO_DEFAULT: Any = object()


@dataclasses.dataclass(slots=True)
class Field:
    """A field of a class, or an argument of a function.

    Attributes:
        key: its name in JSON.
        name: its name in Python.
        required: whether it must be given.
        default: its default, if it has one that is known beforehand.
        description: what is said about it.
        schema: the schema of its type.
    """

    key: str
    name: str
    required: bool = True
    default: Any = NO_DEFAULT
    description: str = ""
    schema: TypedSchema = dataclasses.field(default_factory=lambda: TypedSchema("Any"))

    @property
    def described(self) -> TypedSchema:
        """The schema of its type, with its description and default."""
        words = {}
        if self.description and "description" not in self.schema:
            words["description"] = self.description
        if self.default is not NO_DEFAULT:
            with suppress(TypeError):  # JSON does not have every default
                words["default"] = to_json(self.default)
        return self.schema.extended(words) if words else self.schema


def fields_of(kind: Any, hints: Mapping[str, Any]) -> list[Field]:
    """List the fields of a class, still without the schemas of their types."""
    words = _documented(kind).arguments
    if is_typed_dict(kind):
        return [
            Field(name, name, _must_be_given(kind, name, hint), description=words.get(name, ""))
            for name, hint in hints.items()
        ]
    if dataclasses.is_dataclass(kind):
        said = {field.name: field.metadata.get("description") for field in dataclasses.fields(kind)}
        words |= {name: str(description) for name, description in said.items() if description}
    keys = {}
    if _is_struct(kind):
        keys = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    return [
        field_of(parameter, keys.get(name, name), words.get(name, ""))
        for name, parameter in inspect.signature(kind).parameters.items()
    ]


def _must_be_given(kind: Any, name: str, hint: Any) -> bool:
    # A hint that is a string when the class is made hides what it says about this.
    said = unwrap(hint).required
    return name in kind.__required_keys__ if said is None else said


def field_of(parameter: inspect.Parameter, key: str, description: str) -> Field:
    """Make the field for a parameter of a class or function."""
    default = parameter.default
    required = default is parameter.empty
    if required or type(default).__name__ == "_Nothing":  # which is how attrs marks a factory
        default = NO_DEFAULT
    return Field(key, parameter.name, required, default, description)


def is_record(kind: Any) -> bool:
    """Whether it is a class with fields."""
    return isinstance(kind, type) and (
        _is_struct(kind)
        or _is_named_tuple(kind)
        or is_typed_dict(kind)
        or dataclasses.is_dataclass(kind)
        or hasattr(kind, "__attrs_attrs__")
    )


def _is_struct(kind: Any) -> TypeGuard[type[msgspec.Struct]]:
    return issubclass(kind, msgspec.Struct)


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_field_defaults")


def class_schema(kind: Any, fields: Sequence[Field]) -> TypedSchema:
    """Make the schema of a class from its fields."""
    config = kind.__struct_config__ if _is_struct(kind) else None
    is_open = config is not None and not config.forbid_unknown_fields
    if config is not None and config.tag is not None:
        tag = TypedSchema("tag", {"enum": [config.tag]})
        fields = [Field(str(config.tag_field), "", schema=tag), *fields]
    if _is_named_tuple(kind) or (config is not None and config.array_like):
        items = [field.described.extended({"title": field.key}) for field in fields]
        least = sum(field.required for field in fields)
        schema = row_schema(items, least, is_open=is_open)
        return TypedSchema(kind.__name__, schema, make=partial(_make_row, kind, fields))
    schema = object_schema(fields, _documented(kind).text, is_open=is_open)
    if is_typed_dict(kind):
        return TypedSchema(kind.__name__, schema)
    if is_open or any(field.key != field.name for field in fields):
        return TypedSchema(kind.__name__, schema, make=partial(_make_object, kind, fields))
    mirror = partial(mirror_of, fields)
    return TypedSchema(kind.__name__, schema, make=lambda given: kind(**given), mirror=mirror)


def mirror_of(fields: Sequence[Field]) -> type[msgspec.Struct] | None:
    """Make a struct with the same fields, which msgspec fills; None if it cannot fill them all."""
    natives = [field.schema.native for field in fields]
    if None in natives:
        return None
    required = [(field.name, field.schema.native) for field in fields if field.required]
    optional = [
        (field.name, field.schema.native | msgspec.UnsetType, msgspec.UNSET)
        for field in fields
        if not field.required
    ]
    return msgspec.defstruct("Mirror", [*required, *optional], forbid_unknown_fields=True)


def _make_object(kind: Any, fields: Sequence[Field], given: Mapping[str, Any]) -> Any:
    named = {field.name: given[field.key] for field in fields if field.key in given}
    named.pop("", None)  # the tag
    return kind(**named)


def _make_row(kind: Any, fields: Sequence[Field], given: Sequence[Any]) -> Any:
    pairs = zip(fields, given, strict=False)  # further items are ignored
    return kind(*(item for field, item in pairs if field.name))


def object_schema(
    fields: Sequence[Field], description: str = "", *, is_open: bool = False
) -> dict[str, Any]:
    """Describe an object by its fields."""
    properties = {field.key: field.described for field in fields}
    required = [field.key for field in fields if field.required]
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if description:
        schema["description"] = description
    if required:
        schema["required"] = required
    return schema if is_open else {**schema, "additionalProperties": False}


def row_schema(
    items: Sequence[TypedSchema], least: int, *, is_open: bool = False
) -> dict[str, Any]:
    """Describe an array by its items."""
    schema: dict[str, Any] = {"type": "array", "minItems": least}
    if not is_open:
        schema["maxItems"] = len(items)
    return {**schema, "prefixItems": list(items)} if items else schema


def _documented(kind: Any) -> Docstring:
    """Parse the docstring of a class; what its bases say about fields holds too."""
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
