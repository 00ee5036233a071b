"""JSON Schemas for others: complete in themselves, and in keywords that every CLI understands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from .limits import LIMIT_KEYWORDS

__all__ = ["LISTS_OF_SCHEMAS", "MAPS_OF_SCHEMAS", "SCHEMAS", "portable", "standalone"]

Schema = dict[str, Any]

_DEFINITIONS = "#/$defs/"

MAPS_OF_SCHEMAS = {"$defs", "definitions", "patternProperties", "properties"}
LISTS_OF_SCHEMAS = {"allOf", "anyOf", "oneOf"}
SCHEMAS = {
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
}
_VALUES = {
    *LIMIT_KEYWORDS,
    "$comment",
    "$id",
    "$ref",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "description",
    "enum",
    "examples",
    "readOnly",
    "required",
    "title",
    "type",
    "uniqueItems",
    "writeOnly",
}
"""With the above, all keywords that the CLI's validator knows."""


def standalone(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """Join a schema and its definitions: those used once take the place of their reference."""
    uses = Counter(_references([schema, *definitions.values()]))
    lone = {name: inner for name, inner in definitions.items() if uses[name] == 1}
    joined: Schema = _inline(schema, lone)
    kept = {name: _inline(inner, lone) for name, inner in definitions.items() if uses[name] > 1}
    if set(joined) == {"$ref"}:  # the top should say what it is
        joined = kept[joined["$ref"].removeprefix(_DEFINITIONS)]
    return {**joined, "$defs": kept} if kept else joined


def _inline(value: Any, lone: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inline(item, lone) for item in value]
    if not isinstance(value, dict):
        return value
    name = str(value.get("$ref")).removeprefix(_DEFINITIONS)
    if name in lone:
        beside = {key: item for key, item in value.items() if key != "$ref"}
        return _inline({**lone[name], **beside}, lone)
    return {key: _inline(item, lone) for key, item in value.items()}


def _references(value: Any) -> Iterator[str]:
    """Yield every mention of a definition, also in a table of them."""
    if isinstance(value, str) and value.startswith(_DEFINITIONS):
        yield value.removeprefix(_DEFINITIONS)
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _references(item)


def portable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Express a schema of structured output in keywords that every CLI understands.

    The CLI has a strict validator of an older draft: it refuses to start with a keyword or a
    `$schema` that it does not know, and some versions silently give no structured output for a
    `format`. Our own conversion checks all that is left out here.
    """
    result = {key: _value(key, value) for key, value in schema.items() if _is_known(key)}
    result |= _items(schema)
    if "format" in schema:
        words = f"format: {schema['format']}"
        before = schema.get("description")
        result["description"] = f"{before} ({words})" if before else words
    return result


def _is_known(key: str) -> bool:
    return any(key in known for known in (MAPS_OF_SCHEMAS, LISTS_OF_SCHEMAS, SCHEMAS, _VALUES))


def _value(key: str, value: Any) -> Any:
    if key in MAPS_OF_SCHEMAS and isinstance(value, Mapping):
        return {name: _schema(inner) for name, inner in value.items()}
    if key in LISTS_OF_SCHEMAS and isinstance(value, list):
        return [_schema(inner) for inner in value]
    return _schema(value) if key in SCHEMAS else value


def _schema(value: Any) -> Any:
    return portable(value) if isinstance(value, Mapping) else value


def _items(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Say of an array whose items have different types that each item is one of them."""
    first, rest = schema.get("prefixItems"), schema.get("items", True)
    if isinstance(rest, list):
        first, rest = rest, schema.get("additionalItems", True)
    if not isinstance(first, list):
        return {}
    limited = schema.get("maxItems", len(first) + 1) <= len(first)
    members = [_schema(inner) for inner in first]
    if not limited and rest is not False:
        members.append(_schema(rest) if rest is not True else {})
    different = [member for at, member in enumerate(members) if member not in members[:at]]
    items = {"items": different[0] if len(different) == 1 else {"anyOf": different}}
    return items if limited or rest is not False else {**items, "maxItems": len(first)}
