"""From a type hint to the parts that it is made of."""

from __future__ import annotations

import collections.abc as abc
import enum
import os
import pathlib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from .book import Book
from .classes import fields_of, is_model, record_of
from .containers import ArrayNode, MappingNode, Named, TupleNode, UnionNode
from .hints import Hint, called, fill_in, unwrap
from .mismatch import UnsupportedType
from .nodes import SCALARS, Anything, Choice, IntNode, Node, Noted, PathNode, Plain, Text
from .notes import Notes
from .records import ModelNode

__all__ = ["Builder"]

_ARRAYS: Mapping[Any, tuple[Callable[[list[Any]], Any], str]] = {
    list: (list, "list"),
    set: (set, "set"),
    frozenset: (frozenset, "frozenset"),
    abc.Sequence: (list, "list"),
    abc.MutableSequence: (list, "list"),
    abc.Collection: (list, "list"),
    abc.Iterable: (list, "list"),
    abc.Set: (set, "set"),
    abc.MutableSet: (set, "set"),
}
_MAPPINGS = {dict, abc.Mapping, abc.MutableMapping}


class Builder:
    """Makes parts. It remembers those with names, so that a type may contain itself.

    Args:
        names: what hints may name besides what their module knows.
        lenient: whether a type that has no schema may be anything.
    """

    def __init__(self, names: Mapping[str, Any] | None = None, *, lenient: bool = False) -> None:
        self._names = names
        self._lenient = lenient
        self._named: dict[Any, Node] = {}

    def build(self, hint: Any) -> Node:
        """Make the part for a type hint.

        Raises:
            UnsupportedType: there is no JSON Schema for it.
        """
        plain = unwrap(hint)
        node = self._build(plain.kind)
        notes = Notes.of(plain.metadata)
        return node if notes == Notes() else Noted(node, notes)

    def _build(self, kind: Any) -> Node:
        for attempt in (self._scalar, self._generic, self._alias, self._class):
            node = attempt(kind)
            if node is not None:
                return node
        if self._lenient:
            return Anything()
        raise UnsupportedType(
            f"There is no JSON Schema for {called(kind)}. Use a dataclass, a TypedDict, "
            "a msgspec.Struct or a pydantic model, or give the schema yourself."
        )

    def _scalar(self, kind: Any) -> Node | None:
        if kind is typing.LiteralString:
            kind = str
        make = SCALARS.get(kind)
        return None if make is None else make()

    def _generic(self, kind: Any) -> Node | None:
        origin, arguments = typing.get_origin(kind) or kind, typing.get_args(kind)
        if origin is Literal:
            return Choice.literal(called(kind), arguments)
        if origin in {typing.Union, types.UnionType}:
            return self._union(arguments)
        if origin is tuple:
            return self._tuple(kind, arguments)
        if origin in _ARRAYS:
            make, name = _ARRAYS[origin]
            return ArrayNode(self.build(arguments[0] if arguments else Any), make, name)
        if origin in _MAPPINGS:
            return self._mapping(*(arguments or (str, Any)))
        return None

    def _union(self, arguments: Iterable[Any]) -> Node:
        members = [self.build(hint) for hint in arguments if hint is not msgspec.UnsetType]
        return members[0] if len(members) == 1 else UnionNode(members)

    def _tuple(self, kind: Any, arguments: tuple[Any, ...]) -> Node:
        if kind is tuple or kind is typing.Tuple:  # noqa: UP006 it may come from old code
            arguments = (Any, ...)
        if arguments[1:] == (...,):
            return ArrayNode(self.build(arguments[0]), tuple, "tuple")
        return TupleNode([self.build(hint) for hint in arguments])

    def _mapping(self, key: Any, value: Any) -> Node:
        return MappingNode(self._key(unwrap(key)), self.build(value))

    def _key(self, key: Hint) -> Node:
        node = self._build(key.kind)
        if not isinstance(node, Anything | Plain | IntNode | Text | PathNode | Choice) or (
            node.schema(Book()).get("type") in {"boolean", "null"}
        ):
            raise UnsupportedType(f"The keys of a JSON object are text and cannot be {node.name}.")
        notes = Notes.of(key.metadata)
        return node if notes == Notes() else Noted(node, notes)

    def _alias(self, kind: Any) -> Node | None:
        """Make the part for a name that was given with `type X = …`."""
        origin = typing.get_origin(kind) or kind
        if type(origin).__name__ != "TypeAliasType":
            return None
        key = _key_of(kind)
        if key not in self._named:
            self._named[key] = named = Named(origin.__name__)
            variables = dict(zip(origin.__type_params__, typing.get_args(kind), strict=False))
            named.target = self.build(fill_in(origin.__value__, variables))
        return self._named[key]

    def _class(self, kind: Any) -> Node | None:
        if is_model(kind):
            return ModelNode(kind)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return Choice.enum(kind)
        if isinstance(kind, type) and issubclass(kind, pathlib.PurePath):
            return PathNode(kind)
        if kind is os.PathLike or typing.get_origin(kind) is os.PathLike:
            return PathNode(pathlib.Path)
        return self._record(kind)

    def _record(self, kind: Any) -> Node | None:
        key = _key_of(kind)
        if key not in self._named:
            node = record_of(kind)
            if node is None:
                return None
            self._named[key] = node
            node.fields = fields_of(kind, self.build, self._names)
        return self._named[key]


def _key_of(kind: Any) -> tuple[Any, str]:
    """Tell types apart, also those with unions that are equal but for their order."""
    return kind, repr(kind)
