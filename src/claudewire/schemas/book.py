"""A JSON Schema in the making: what is used in several places, or in itself, is defined once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from typing import Any

__all__ = ["Book", "Schema"]

Schema = dict[str, Any]

_PREFIX = "#/$defs/"


class Book:
    """The definitions of one schema."""

    def __init__(self) -> None:
        self._definitions: dict[str, Schema] = {}
        self._names: dict[Hashable, str] = {}

    def refer(self, key: Hashable, name: str, describe: Callable[[str], Schema]) -> Schema:
        """Refer to a definition, and make it if there is none.

        Args:
            key: what is defined.
            name: how it should be called, unless something else is called that.
            describe: makes the definition. It may refer to itself; it is told its name.
        """
        if key not in self._names:
            own = self._free(name)
            self._names[key] = own
            self._definitions[own] = {}  # the name is taken from now on
            self._definitions[own] = describe(own)
        return {"$ref": _PREFIX + self._names[key]}

    def adopt(self, name: str, definition: Schema) -> None:
        """Take over a definition that somebody else has made, and refers to by this name."""
        self._definitions[name] = definition

    def _free(self, name: str) -> str:
        number, free = 1, name
        while free in self._definitions:
            number += 1
            free = f"{name}_{number}"
        return free

    def bind(self, schema: Schema) -> Schema:
        """Finish a schema: what is used once is put in its place, the rest is in `$defs`."""
        uses = Counter(_references([schema, *self._definitions.values()]))
        lone = {name for name, count in uses.items() if count == 1}
        bound: Schema = self._inline(schema, lone)
        kept = {
            name: self._inline(definition, lone)
            for name, definition in self._definitions.items()
            if uses[name] > 1
        }
        if set(bound) == {"$ref"}:  # whoever reads it wants to see at the top what it is
            bound = kept[bound["$ref"].removeprefix(_PREFIX)]
        return {**bound, "$defs": kept} if kept else bound

    def _inline(self, value: Any, lone: set[str]) -> Any:
        if isinstance(value, list):
            return [self._inline(item, lone) for item in value]
        if not isinstance(value, dict):
            return value
        name = _reference(value)
        if name in lone and name in self._definitions:
            beside = {key: item for key, item in value.items() if key != "$ref"}
            return self._inline({**self._definitions[name], **beside}, lone)
        return {key: self._inline(item, lone) for key, item in value.items()}


def _reference(schema: Schema) -> str | None:
    target = schema.get("$ref")
    if isinstance(target, str) and target.startswith(_PREFIX):
        return target.removeprefix(_PREFIX)
    return None


def _references(value: Any) -> Iterator[str]:
    """Every mention of a definition, also in a table of them."""
    if isinstance(value, str):
        if value.startswith(_PREFIX):
            yield value.removeprefix(_PREFIX)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        yield from _references(list(value.values()))
