"""Structured output: the type that a turn is asked for, and the value that it returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import msgspec

from ..errors import OptionsError, OutputError
from .adapter import TypeAdapter
from .checker import Checker
from .mismatch import SchemaMismatch, UnsupportedType
from .portable import portable
from .validity import check_schema

if TYPE_CHECKING:
    from ..wire import ResultMessage

__all__ = ["OutputSpec"]

T = TypeVar("T")

_WRAPPER = "output"
"""The field for anything but an object: the CLI accepts only schemas of objects."""

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL)


class OutputSpec(Generic[T]):
    """The output that a turn is asked for.

    Make it with `OutputSpec.of`.

    Attributes:
        schema: the JSON Schema for the CLI: of an object, in keywords that every CLI understands.
        name: the name of the type.
    """

    def __init__(self, name: str, schema: Mapping[str, Any], read: Callable[[Any], T]) -> None:
        self.name = name
        self._is_wrapped = schema.get("type") != "object"
        self._read = read
        self.schema: dict[str, Any] = portable(_wrap(schema) if self._is_wrapped else schema)

    @overload
    @classmethod
    def of(cls, kind: Mapping[str, Any]) -> OutputSpec[Any]: ...
    @overload
    @classmethod
    def of(cls, kind: type[T]) -> OutputSpec[T]: ...
    @overload
    @classmethod
    def of(cls, kind: Any) -> OutputSpec[Any]: ...
    @classmethod
    def of(cls, kind: Any) -> OutputSpec[Any]:
        """Ask for a value of a type, or for JSON that fits a schema.

        Args:
            kind: a dataclass, TypedDict, msgspec or pydantic type, or any other that has a JSON
                Schema; or a JSON Schema itself.

        Raises:
            OptionsError: the type has no JSON Schema, or something is not one.
        """
        if isinstance(kind, Mapping):
            check_schema(kind, "output")
            return OutputSpec("JSON", kind, Checker(kind).convert)
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(kind)
        except UnsupportedType as error:
            raise OptionsError(f"`output` cannot be of this type. {error}") from error
        return OutputSpec(adapter.name, adapter.schema, adapter.convert)

    def read(self, result: ResultMessage) -> T:
        """Return the output of a turn.

        Args:
            result: the message that ended the turn.

        Raises:
            OutputError: there is no output, or it does not fit.
        """
        text = result.result or ""
        value = result.structured_output
        if value is None:
            value = self._from_text(text, result)
        try:
            return self._read(self._unwrap(value))
        except SchemaMismatch as mismatch:
            problem = "\n".join(str(each) for each in mismatch.all)
            raise OutputError(
                f"The output is not a valid {self.name}. {problem}",
                text=text,
                value=value,
                problem=problem,
                result=result,
            ) from mismatch

    def _from_text(self, text: str, result: ResultMessage) -> Any:
        """Find the output in the text, if the model wrote it there."""
        for candidate in (text, *_FENCED.findall(text)[::-1]):
            try:
                return msgspec.json.decode(candidate)
            except (msgspec.DecodeError, RecursionError):
                continue
        got = f"text instead of a {self.name}" if text else f"no {self.name}"
        problem = "there is no structured output"
        raise OutputError(f"The turn gave {got}.", text=text, problem=problem, result=result)

    def _unwrap(self, value: Any) -> Any:
        wrapped = self._is_wrapped and isinstance(value, dict) and _WRAPPER in value
        return value[_WRAPPER] if wrapped else value

    def repair_prompt(self, problem: str) -> str:
        """Ask the model to try again.

        Args:
            problem: what was wrong, as an OutputError has it.
        """
        schema = msgspec.json.encode(self.schema).decode()
        return (
            f"Your output could not be used: {problem}\n"
            "Give the complete output again, with this corrected and nothing else changed. "
            f"It must be JSON that fits this schema:\n{schema}"
        )


def _wrap(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Wrap a schema in one of an object. Definitions stay at the top, where references look."""
    top = {"$defs", "definitions", "$schema"}
    inner = {key: value for key, value in schema.items() if key not in top}
    outer: dict[str, Any] = {
        "type": "object",
        "properties": {_WRAPPER: inner},
        "required": [_WRAPPER],
        "additionalProperties": False,
    }
    return outer | {key: value for key, value in schema.items() if key in top}
