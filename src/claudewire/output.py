"""Structured output: the type that a turn is asked for, and the value that its reply has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import msgspec

from .errors import OptionsError, OutputError

if TYPE_CHECKING:
    from .schemas import Value
    from .wire import ResultMessage

__all__ = ["OutputSpec", "portable"]

T = TypeVar("T")

_WRAPPER: Final = "output"
"""The field for anything but an object: the CLI accepts only schemas of objects."""

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL)


class OutputSpec(Generic[T]):
    """The output that a turn is asked for, by a type or a JSON Schema.

    The CLI alone checks output by a schema that is given; output of a type is also checked here.
    """

    def __init__(self, kind: Any) -> None:
        self.name: str = "JSON"
        self._value: Value | None = None
        if isinstance(kind, Mapping):
            self._is_wrapped = kind.get("type") != "object"
            self.schema: dict[str, Any] = portable(_wrap(kind) if self._is_wrapped else kind)
            return
        from .schemas import UnsupportedType, Value  # imports pydantic

        self.name = getattr(kind, "__name__", None) or str(kind)
        try:
            self._value = Value(kind, _WRAPPER)
        except UnsupportedType as error:
            raise OptionsError(f"`output` cannot be of this type. {error}") from error
        self._is_wrapped = self._value.is_wrapped
        self.schema = portable(self._value.schema)

    def read(self, result: ResultMessage) -> T:
        """Return the output of a turn; OutputError if there is none, or it does not fit."""
        text, value = result.result or "", result.structured_output
        if value is None:
            value = self._from_text(text, result)
        output = value
        if self._is_wrapped and isinstance(value, dict) and _WRAPPER in value:
            output = value[_WRAPPER]
        if self._value is None:
            return cast("T", output)
        from .schemas import SchemaMismatch

        try:
            return cast("T", self._value.convert_value(output))
        except SchemaMismatch as mismatch:
            problem = str(mismatch)
            raise OutputError(
                f"The output is not a valid {self.name}. {problem}",
                text=text,
                value=value,
                problem=problem,
                result=result,
            ) from mismatch

    def _from_text(self, text: str, result: ResultMessage) -> Any:
        """Find the output in the text, if the model wrote it there and it can be checked."""
        for candidate in (text, *_FENCED.findall(text)[::-1]) if self._value else ():
            try:
                return msgspec.json.decode(candidate)
            except (msgspec.DecodeError, RecursionError):
                continue
        got = "with text, not the requested" if text else "without the requested"
        problem = "there is no structured output"
        if self._value is None:
            problem += "; the CLI silently ignores a JSON Schema that it cannot read"
        raise OutputError(
            f"The model replied {got} {self.name}: {problem}.",
            text=text,
            problem=problem,
            result=result,
        )

    def repair_prompt(self, problem: str) -> str:
        """Ask the model to try again."""
        schema = msgspec.json.encode(self.schema).decode()
        return (
            f"Your output could not be used: {problem}\n"
            "Give the complete output again, with this corrected and nothing else changed. "
            f"It must be JSON that fits this schema:\n{schema}"
        )


def _wrap(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Wrap a schema in one of an object. Definitions stay at the top, where references look."""
    top = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {
        "type": "object",
        "properties": {_WRAPPER: {key: it for key, it in schema.items() if key not in top}},
        "required": [_WRAPPER],
        "additionalProperties": False,
        **top,
    }


# --- schemas that every CLI understands ---------------------------------------------------------

_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_MAPS_OF_SCHEMAS = {"$defs", "definitions", "patternProperties", "properties"}
_SCHEMAS = {
    *("additionalProperties", "allOf", "anyOf", "contains", "else", "if", "items", "not", "oneOf"),
    *("propertyNames", "then"),
}
_VALUES = {
    *("$comment", "$id", "$ref", "const", "contentEncoding", "contentMediaType", "default"),
    *("description", "enum", "examples", "exclusiveMaximum", "exclusiveMinimum", "maxItems"),
    *("maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties"),
    *("minimum", "multipleOf", "pattern", "readOnly", "required", "title", "type"),
    *("uniqueItems", "writeOnly"),
}
"""With the above, all keywords that the CLI's validator knows."""


def portable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Express a schema in keywords that every CLI understands.

    The CLI has a strict validator of an older draft. With a keyword or a `$schema` that it does not
    know, and before some version also with a `format`, it silently returns no structured output.
    Types are also checked here, by everything that is left out. A type that does not exist is an
    OptionsError: no CLI reports that.
    """
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _VALUES:
            plain[key] = value
            for kind in value if isinstance(value, list) else [value]:
                if key == "type" and kind not in _TYPES:
                    raise OptionsError(f"A JSON Schema cannot have the type {kind!r}")
        elif key in _SCHEMAS:
            plain[key] = _portable(value)
        elif key in _MAPS_OF_SCHEMAS:
            plain[key] = {name: _portable(inner) for name, inner in value.items()}
    if "prefixItems" in schema:  # each item is one of these
        plain["items"] = {"anyOf": _portable(schema["prefixItems"])}
    if "format" in schema:
        words = f"format: {schema['format']}"
        before = schema.get("description")
        plain["description"] = f"{before} ({words})" if before else words
    return plain


def _portable(schema: Any) -> Any:
    if isinstance(schema, list | tuple):
        return [_portable(inner) for inner in schema]
    return portable(schema) if isinstance(schema, Mapping) else schema
