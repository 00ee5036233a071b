"""A schema in the words that every CLI understands, for structured output.

The CLI has a strict validator of an older draft: it refuses to start with a keyword that it does
not know, and some versions silently give no structured output for a `format`. Our own conversion
checks all that is left out here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["portable"]

_OF_SCHEMAS = {"$defs", "definitions", "patternProperties", "properties"}
"""Keywords with a mapping of names to schemas."""

_LISTS_OF_SCHEMAS = {"allOf", "anyOf", "oneOf"}

_SCHEMAS = {
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
    "$comment",
    "$id",
    "$ref",
    "$schema",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "readOnly",
    "required",
    "title",
    "type",
    "uniqueItems",
    "writeOnly",
}


def portable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Say the same in words that every CLI understands, as far as that goes."""
    result = {key: _value(key, value) for key, value in schema.items() if _is_known(key)}
    result.pop("$schema", None)  # a newer draft than its own is refused as well
    result |= _items(schema)
    if "format" in schema:
        words = f"format: {schema['format']}"
        before = schema.get("description")
        result["description"] = f"{before} ({words})" if before else words
    return result


def _is_known(key: str) -> bool:
    return key in _OF_SCHEMAS or key in _LISTS_OF_SCHEMAS or key in _SCHEMAS or key in _VALUES


def _value(key: str, value: Any) -> Any:
    if key in _OF_SCHEMAS and isinstance(value, Mapping):
        return {name: _schema(inner) for name, inner in value.items()}
    if key in _LISTS_OF_SCHEMAS and isinstance(value, list):
        return [_schema(inner) for inner in value]
    return _schema(value) if key in _SCHEMAS else value


def _schema(value: Any) -> Any:
    return portable(value) if isinstance(value, Mapping) else value


def _items(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Say of an array with several types in a row at least that each item is one of them."""
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
