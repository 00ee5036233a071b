"""Parts with named fields: dataclasses, typed dicts, named tuples, structs; and foreign models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from .book import Book, Schema
from .containers import array_of
from .encoding import to_json
from .mismatch import SchemaMismatch, expected, missing, unexpected
from .nodes import Node

__all__ = ["NO_DEFAULT", "Field", "ModelNode", "RecordNode", "Row"]

NO_DEFAULT: Any = object()


@dataclass(slots=True)
class Field:
    """One field.

    Attributes:
        key: how JSON calls it.
        name: how Python calls it.
        node: its type.
        required: whether it must be there.
        default: what it is otherwise, if that is known beforehand.
        description: what is said about it.
    """

    key: str
    name: str
    node: Node
    required: bool
    default: Any = NO_DEFAULT
    description: str = ""

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        schema = self.node.schema(book)
        if self.description and "description" not in schema:
            schema = {**schema, "description": self.description}
        if self.default is not NO_DEFAULT:
            with suppress(TypeError):  # JSON cannot say it, and need not
                schema = {**schema, "default": to_json(self.default)}
        return schema


class RecordNode(Node):
    """An object with known fields."""

    __slots__ = ("_description", "_is_open", "_make", "_tag", "fields", "name")

    def __init__(
        self,
        name: str,
        make: Callable[..., Any],
        *,
        description: str = "",
        tag: tuple[str, Any] | None = None,
        is_open: bool = False,
    ) -> None:
        self.name: str = name
        self.fields: list[Field] = []
        self._make = make
        self._description = description
        self._tag = tag
        self._is_open = is_open

    def schema(self, book: Book) -> Schema:
        """Refer to it."""
        return book.refer(self, self.name, lambda _: self._define(book))

    def _define(self, book: Book) -> Schema:
        properties = {field.key: field.schema(book) for field in self.fields}
        required = [field.key for field in self.fields if field.required]
        if self._tag:
            properties = {self._tag[0]: {"enum": [self._tag[1]]}, **properties}
            required = [self._tag[0], *required]
        schema: Schema = {"type": "object", "properties": properties}
        if self._description:
            schema["description"] = self._description
        if required:
            schema["required"] = required
        if not self._is_open:
            schema["additionalProperties"] = False
        return schema

    def convert(self, value: Any) -> Any:
        """Convert each field and make one of them."""
        if type(value) is not dict:
            raise expected(self.name, value)
        if self._tag:
            _check_tag(self._tag[1], value.get(self._tag[0]), self._tag[0])
        arguments = self.convert_fields(value)
        return _made(self._make, (), arguments)

    def convert_fields(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Convert each field that is there, by its name in Python."""
        arguments = {}
        for field in self.fields:
            if field.key in value:
                try:
                    arguments[field.name] = field.node.convert(value[field.key])
                except SchemaMismatch as mismatch:
                    raise mismatch.within(field.key) from None
            elif field.required:
                raise self._missing(field.key, value)
        if not self._is_open and len(arguments) + bool(self._tag) < len(value):
            raise unexpected(self._unknown(value)[0], [field.key for field in self.fields])
        return arguments

    def _missing(self, key: str, value: Mapping[str, Any]) -> SchemaMismatch:
        """Say that a field is missing; or that it is misspelt, which helps more."""
        unknown = [] if self._is_open else self._unknown(value)
        absent = [field.key for field in self.fields if field.key not in value]
        misspelt = [unexpected(name, absent) for name in unknown]
        return next((it for it in misspelt if "did you mean" in it.problem), missing(key))

    def _unknown(self, value: Mapping[str, Any]) -> list[str]:
        known = {field.key for field in self.fields} | ({self._tag[0]} if self._tag else set())
        return [key for key in value if key not in known]


class Row(Node):
    """An array in which each item has a name and a type of its own."""

    __slots__ = ("_is_open", "_make", "_tag", "fields", "name")

    def __init__(
        self, name: str, make: Callable[..., Any], *, tag: Any = None, is_open: bool = False
    ) -> None:
        self.name: str = name
        self.fields: list[Field] = []
        self._make = make
        self._tag = () if tag is None else (tag,)
        self._is_open = is_open

    def schema(self, book: Book) -> Schema:
        """Refer to it."""
        return book.refer(self, self.name, lambda _: self._define(book))

    def _define(self, book: Book) -> Schema:
        items: list[Schema] = [{"enum": [tag]} for tag in self._tag]
        items += [{"title": field.key, **field.schema(book)} for field in self.fields]
        required = sum(field.required for field in self.fields) + len(self._tag)
        return array_of(items, required, open_end=self._is_open)

    def convert(self, value: Any) -> Any:
        """Convert each item and make one of them."""
        if type(value) is not list:
            raise expected(self.name, value)
        for at, tag in enumerate(self._tag):
            _check_tag(tag, value[at] if value else None, at)
        items = value[len(self._tag) :]
        self._check_length(items)
        converted = []
        for field, item in zip(self.fields, items, strict=False):
            try:
                converted.append(field.node.convert(item))
            except SchemaMismatch as mismatch:
                raise mismatch.within(len(self._tag) + len(converted)) from None
        return _made(self._make, converted, {})

    def _check_length(self, items: Sequence[Any]) -> None:
        extra = len(self._tag)
        least = sum(field.required for field in self.fields)
        if len(items) < least:
            raise SchemaMismatch(f"expected {least + extra} items, got {len(items) + extra}")
        most = len(self.fields)
        if len(items) > most and not self._is_open:
            raise SchemaMismatch(f"expected {most + extra} items, got {len(items) + extra}")


def _check_tag(wanted: Any, found: Any, step: str | int) -> None:
    if type(found) is not type(wanted) or found != wanted:
        raise SchemaMismatch(f"expected {wanted!r}, got {found!r}", step)


def _made(make: Callable[..., Any], items: Sequence[Any], fields: Mapping[str, Any]) -> Any:
    """Make it; what its own check says against it is a mismatch like any other."""
    try:
        return make(*items, **fields)
    except (TypeError, ValueError) as error:
        raise SchemaMismatch(str(error) or type(error).__name__) from error


class ModelNode(Node):
    """A class that brings its own schema and validation, as pydantic's models do."""

    __slots__ = ("_model", "name")

    def __init__(self, model: Any) -> None:
        self.name: str = model.__name__
        self._model = model

    def schema(self, book: Book) -> Schema:
        """Refer to its own schema."""
        return book.refer(self._model, self.name, lambda name: self._define(book, name))

    def _define(self, book: Book, name: str) -> Schema:
        template = f"#/$defs/{name}.{{model}}"
        schema: Schema = self._model.model_json_schema(ref_template=template)
        for inner, definition in schema.pop("$defs", {}).items():
            book.adopt(f"{name}.{inner}", definition)
        return schema

    def convert(self, value: Any) -> Any:
        """Let the model read it as JSON."""
        try:
            return self._model.model_validate_json(msgspec.json.encode(value))
        except ValueError as error:
            raise _first_problem(error) from error


def _first_problem(error: ValueError) -> SchemaMismatch:
    """Say what a model said first, and where."""
    errors: Callable[[], list[dict[str, Any]]] | None = getattr(error, "errors", None)
    if errors is None:
        return SchemaMismatch(str(error))
    first = errors()[0]
    steps = [step if isinstance(step, str | int) else str(step) for step in first["loc"]]
    return SchemaMismatch(str(first["msg"]), *steps)
