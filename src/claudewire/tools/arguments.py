"""The arguments of a function: their schema, and how they are made from what the model sends."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from ..schemas import (
    NO_DEFAULT,
    Builder,
    Docstring,
    Field,
    Node,
    RecordNode,
    SchemaMismatch,
    Shape,
    hints_of,
    missing,
    unexpected,
    unwrap,
)
from .context import ToolContext

__all__ = ["Arguments", "docstring_of"]

_KINDS = inspect.Parameter


class Arguments:
    """What a function is called with.

    Args:
        function: the function.
        names: what its hints may name besides what its module knows.
        lenient: whether arguments of types without a schema are passed on as they come.
        skip_first: whether the first parameter is not the caller's, as `self`.

    Attributes:
        schema: the JSON Schema of all of them, an object.
        context: the name of the parameter for the ToolContext, if there is one.
        returns: the hint of what it returns.

    Raises:
        TypeError: the function cannot be called by name, or a type has no JSON Schema.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        names: Mapping[str, Any] | None = None,
        *,
        lenient: bool = False,
        skip_first: bool = False,
    ) -> None:
        hints = hints_of(_hinted(function), names)
        self.returns: Any = hints.get("return", Any)
        self.context: str | None = None
        self._first: list[str] = []
        self._others: Node | None = None
        self._record = RecordNode("arguments", dict)
        self._builder = Builder(names, lenient=lenient)
        words = Docstring.parse(docstring_of(function)).arguments
        for parameter in list(inspect.signature(function).parameters.values())[skip_first:]:
            hint = hints.get(parameter.name, Any)
            self._take(parameter, hint, words.get(parameter.name, ""))
        self._fields = self._record.fields
        self._keys = frozenset(field.key for field in self._fields)
        self.schema: dict[str, Any] = self._describe()

    def _take(self, parameter: inspect.Parameter, hint: Any, words: str) -> None:
        if unwrap(hint).kind is ToolContext:
            self.context = parameter.name
        elif parameter.kind is _KINDS.VAR_POSITIONAL:
            raise TypeError(
                f"A tool is called with named arguments, so it cannot take *{parameter.name}; "
                f"take a list instead."
            )
        elif parameter.kind is _KINDS.VAR_KEYWORD:
            self._others = self._builder.build(hint)
        else:
            self._record.fields.append(self._field(parameter, hint, words))
        if parameter.kind is _KINDS.POSITIONAL_ONLY:
            self._first.append(parameter.name)

    def _field(self, parameter: inspect.Parameter, hint: Any, words: str) -> Field:
        default = NO_DEFAULT if parameter.default is _KINDS.empty else parameter.default
        # A field of pydantic in the place of the default has limits and words, and the default.
        if callable(getattr(default, "is_required", None)):
            hint = Annotated[hint, default]
            default = (
                NO_DEFAULT
                if default.is_required()
                else default.get_default(call_default_factory=True)
            )
        name = parameter.name
        node = self._builder.build(hint)
        return Field(name, name, node, default is NO_DEFAULT, default, words)

    def _describe(self) -> dict[str, Any]:
        schema = Shape[Any](self._record).schema
        if self._others is not None:
            schema["additionalProperties"] = Shape[Any](self._others).schema or True
        return schema

    def convert(self, given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Make what the function is called with, by position and by name.

        Raises:
            SchemaMismatch: an argument does not fit, is missing, or is not known.
        """
        converted = {}
        for field in self._fields:
            if field.key in given:
                converted[field.key] = _converted(field.node, field.key, given[field.key])
            elif field.required:
                raise missing(field.key)
            else:
                converted[field.key] = field.default
        if len(given) > len(self._keys & given.keys()):
            converted |= self._convert_others(given)
        return [converted.pop(name) for name in self._first], converted

    def _convert_others(self, given: Mapping[str, Any]) -> dict[str, Any]:
        others = [key for key in given if key not in self._keys]
        if self._others is None:
            raise unexpected(others[0], self._keys)
        return {key: _converted(self._others, key, given[key]) for key in others}

    def problems(self, given: Mapping[str, Any]) -> list[SchemaMismatch]:
        """Find all that is wrong with them, so that it can be mended at once."""
        found = []
        known = {field.key: field for field in self._fields}
        for key, field in known.items():
            if key not in given and field.required:
                found.append(missing(key))
        for key, value in given.items():
            node = known[key].node if key in known else self._others
            try:
                if node is None:
                    raise unexpected(key, known)
                _converted(node, key, value)
            except SchemaMismatch as mismatch:
                found.append(mismatch)
        return found


def _converted(node: Node, key: str, value: Any) -> Any:
    try:
        return node.convert(value)
    except SchemaMismatch as mismatch:
        raise mismatch.within(key) from None
    except RecursionError:
        raise SchemaMismatch("nested too deeply", key) from None


def docstring_of(function: Any) -> str | None:
    """Give the docstring of a function, also of one inside a partial."""
    return inspect.getdoc(_without_partial(function))


def _without_partial(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _hinted(function: Any) -> Any:
    """Find where the hints are: at the function inside a partial or a callable object."""
    function = _without_partial(function)
    return function if inspect.isroutine(function) else type(function).__call__
