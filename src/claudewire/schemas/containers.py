"""Parts with parts: arrays, mappings and unions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .book import Book, Schema
from .mismatch import SchemaMismatch, WrongType, expected
from .nodes import FloatNode, IntNode, Node, Plain

__all__ = ["ArrayNode", "MappingNode", "Named", "TupleNode", "UnionNode"]


class ArrayNode(Node):
    """Any number of items of one type."""

    __slots__ = ("_item", "_make", "_unique", "name")

    def __init__(self, item: Node, make: Callable[[list[Any]], Any], name: str) -> None:
        self.name: str = f"{name}[{item.name}]"
        self._item = item
        self._make = make
        self._unique = name in {"set", "frozenset"}

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        items = self._item.schema(book)
        schema: Schema = {"type": "array"}
        if items:
            schema["items"] = items
        if self._unique:
            schema["uniqueItems"] = True
        return schema

    def convert(self, value: Any) -> Any:
        """Convert each item."""
        if type(value) is not list:
            raise expected(self.name, value)
        converted = []
        convert = self._item.convert
        for item in value:
            try:
                converted.append(convert(item))
            except SchemaMismatch as mismatch:
                raise mismatch.within(len(converted)) from None
        try:
            return self._make(converted)
        except TypeError as error:  # a set of what cannot be in one
            raise SchemaMismatch(f"cannot be a `{self.name}`: {error}") from None


class TupleNode(Node):
    """Items of which each has its own type."""

    __slots__ = ("_items", "name")

    def __init__(self, items: Sequence[Node]) -> None:
        self.name: str = f"tuple[{', '.join(item.name for item in items) or '()'}]"
        self._items = items

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        return array_of([item.schema(book) for item in self._items], len(self._items))

    def convert(self, value: Any) -> tuple[Any, ...]:
        """Convert each item by its own type."""
        if type(value) is not list:
            raise expected(self.name, value)
        if len(value) != len(self._items):
            raise SchemaMismatch(f"expected {len(self._items)} items, got {len(value)}")
        converted = []
        for node, item in zip(self._items, value, strict=True):
            try:
                converted.append(node.convert(item))
            except SchemaMismatch as mismatch:
                raise mismatch.within(len(converted)) from None
        return tuple(converted)


def array_of(items: Sequence[Schema], required: int, *, open_end: bool = False) -> Schema:
    """Describe an array by its items."""
    schema: Schema = {"type": "array", "minItems": required}
    if not open_end:
        schema["maxItems"] = len(items)
    if items:
        schema["prefixItems"] = list(items)
    return schema


class MappingNode(Node):
    """Any number of named values of one type."""

    __slots__ = ("_key", "_value", "name")

    def __init__(self, key: Node, value: Node) -> None:
        self.name: str = f"dict[{key.name}, {value.name}]"
        self._key = key
        self._value = value

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        schema: Schema = {"type": "object"}
        keys, values = self._key.schema(book), self._value.schema(book)
        if keys == {"type": "integer"}:
            keys = {"pattern": IntNode.PATTERN}
        if keys not in ({}, {"type": "string"}):
            schema["propertyNames"] = keys
        if values:
            schema["additionalProperties"] = values
        return schema

    def convert(self, value: Any) -> dict[Any, Any]:
        """Convert each name and each value."""
        if type(value) is not dict:
            raise expected(self.name, value)
        converted = {}
        for key, item in value.items():
            try:
                converted[self._key.convert_key(key)] = self._value.convert(item)
            except SchemaMismatch as mismatch:
                raise mismatch.within(key) from None
        return converted


class UnionNode(Node):
    """One of several types: the first that fits, in the order in which they are written."""

    __slots__ = ("_members", "name")

    def __init__(self, members: Sequence[Node]) -> None:
        self.name: str = " | ".join(member.name for member in members)
        # An int fits both, and should stay what it is.
        integers = [member for member in members if isinstance(member, IntNode)]
        others = [member for member in members if not isinstance(member, IntNode)]
        has_float = any(isinstance(member, FloatNode) for member in members)
        self._members = [*integers, *others] if has_float else list(members)

    def schema(self, book: Book) -> Schema:
        """Describe it."""
        return {"anyOf": [member.schema(book) for member in self._members]}

    def convert(self, value: Any) -> Any:
        """Convert it by the first member that it fits."""
        mismatches = []
        for member in self._members:
            try:
                return member.convert(value)
            except SchemaMismatch as mismatch:
                mismatches.append(mismatch)
        raise self._blame(value, mismatches)

    def _blame(self, value: Any, mismatches: list[SchemaMismatch]) -> SchemaMismatch:
        """Complain as the member that was meant, if that can be told."""
        meant = [
            (member, mismatch)
            for member, mismatch in zip(self._members, mismatches, strict=True)
            if mismatch.steps or not isinstance(mismatch, WrongType)
        ]
        if not meant:
            return expected(self.name, value)
        deepest = max(len(mismatch.steps) for _, mismatch in meant)
        deep = [pair for pair in meant if len(pair[1].steps) == deepest]
        if len(deep) == 1:
            return deep[0][1]
        each = "; ".join(f"as `{member.name}`, {mismatch}" for member, mismatch in deep)
        return SchemaMismatch(f"fits none of `{self.name}`: {each}")


class Named(Node):
    """A type by a name of its own, which may be used inside it."""

    __slots__ = ("name", "target")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.target: Node = Plain(type(None), "null")

    def schema(self, book: Book) -> Schema:
        """Refer to it."""
        return book.refer(self, self.name, lambda _: self.target.schema(book))

    def convert(self, value: Any) -> Any:
        """Convert it by what the name stands for."""
        return self.target.convert(value)
