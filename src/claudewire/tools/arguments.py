"""The arguments of a tool's function: their JSON Schema, and their conversion from JSON.

Importing this module imports pydantic.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from ..schemas import Parameters, Schema, SchemaMismatch, UnsupportedType, Value, parse_docstring
from .context import ToolContext
from .results import ToolError


class Arguments:
    """The arguments of a function that is called with JSON.

    A given `schema` replaces that of the hints, and arguments are then not converted. Hints may use
    the names in `scope`, besides those of their module.
    """

    def __init__(
        self, function: Callable[..., Any], scope: Mapping[str, Any], schema: Schema | None = None
    ) -> None:
        self._scope = scope
        self._hints = hints = _hints(function, scope)
        text, described = parse_docstring(inspect.getdoc(_unwrapped(function)))
        self.description: str = text
        self._context: str | None = None
        self._positional: list[str] = []
        parameters: list[inspect.Parameter] = []
        for index, parameter in enumerate(inspect.signature(function).parameters.values()):
            name, hint = parameter.name, hints.get(parameter.name, Any)
            if parameter.kind is parameter.VAR_POSITIONAL:
                raise TypeError(
                    f"A tool is called with named arguments, so it cannot take *{name}; "
                    "take a list instead."
                )
            if ToolContext in (hint, *typing.get_args(hint)):
                self._context = name
            elif index or name != "self":
                parameters.append(parameter.replace(annotation=hint))
                if parameter.kind is parameter.POSITIONAL_ONLY:
                    self._positional.append(name)
        self._parameters = Parameters(parameters, scope, described) if schema is None else None
        self.schema: Schema = self._parameters.schema if self._parameters else schema or {}

    def convert(
        self, given: Mapping[str, Any], context: ToolContext
    ) -> tuple[list[Any], dict[str, Any]]:
        """Convert JSON to the arguments by position and by name."""
        try:
            by_name = self._parameters.convert(given) if self._parameters else {**given}
        except SchemaMismatch as mismatch:
            raise ToolError(f"Invalid arguments for {context.tool}:\n{mismatch}") from mismatch
        if self._context is not None:
            by_name[self._context] = context
        by_position = [by_name.pop(name) for name in self._positional if name in by_name]
        return by_position, by_name

    def output(self) -> Value:
        """Return the schema of the function's result."""
        return Value(self._hints.get("return", Any), "result", self._scope)


def _hints(function: Callable[..., Any], scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return the resolved type hints of a function, a partial or a callable object."""
    plain = _unwrapped(function)
    hinted = plain if inspect.isroutine(plain) else type(plain).__call__
    try:
        return typing.get_type_hints(hinted, localns=dict(scope), include_extras=True)
    except NameError as error:
        raise UnsupportedType(
            f"A type hint of {hinted.__qualname__} names {error.name!r}, which is not defined: "
            "define it in the same module, and not only `if TYPE_CHECKING`."
        ) from error


def _unwrapped(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function
