"""Schemas as others get them: plain, with what is used several times defined once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["standalone"]

Schema = dict[str, Any]

_PREFIX = "#/$defs/"


def standalone(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """Join a schema and its definitions: those used once take the place of their reference."""
    uses = Counter(_references([schema, *definitions.values()]))
    lone = {name: inner for name, inner in definitions.items() if uses[name] == 1}
    joined: Schema = _inline(schema, lone)
    kept = {name: _inline(inner, lone) for name, inner in definitions.items() if uses[name] > 1}
    if set(joined) == {"$ref"}:  # the top should say what it is
        joined = kept[joined["$ref"].removeprefix(_PREFIX)]
    return {**joined, "$defs": kept} if kept else joined


def _inline(value: Any, lone: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inline(item, lone) for item in value]
    if not isinstance(value, dict):
        return value
    name = str(value.get("$ref")).removeprefix(_PREFIX)
    if name in lone:
        beside = {key: item for key, item in value.items() if key != "$ref"}
        return _inline({**lone[name], **beside}, lone)
    return {key: _inline(item, lone) for key, item in value.items()}


def _references(value: Any) -> Iterator[str]:
    """Yield every mention of a definition, also in a table of them."""
    if isinstance(value, str) and value.startswith(_PREFIX):
        yield value.removeprefix(_PREFIX)
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _references(item)
