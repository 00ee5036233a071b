"""The arguments of a function: their JSON Schema, and how they are made from JSON."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Annotated, Any

from .builder import Builder
from .checker import Checker
from .docstrings import Docstring
from .fields import NO_DEFAULT, Field, field_of, mirror_of, object_schema
from .hints import hints_of, unwrap
from .portable import standalone
from .typed import TypedSchema

__all__ = ["Arguments"]


class Arguments:
    """The arguments of a function that is called with JSON.

    Args:
        function: the function.
        names: names that its hints may use, besides those that its module knows.
        injected: the type of a parameter that the caller of the function provides, and JSON does
            not.
        lenient: whether arguments of types without a schema are passed on unchanged.
        skip_first: whether the first parameter is left out, as `self`.

    Attributes:
        schema: the JSON Schema of all arguments, an object.
        injected: the name of the parameter of the injected type, if there is one.
        returns: the type hint of the return value.
        description: what the docstring says about the function.

    Raises:
        TypeError: the function cannot be called by name, or a type has no JSON Schema.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        names: Mapping[str, Any] | None = None,
        *,
        injected: type | None = None,
        lenient: bool = False,
        skip_first: bool = False,
    ) -> None:
        hints = hints_of(_hinted(function), names)
        documented = Docstring.parse(inspect.getdoc(_without_partial(function)))
        self.description: str = documented.text
        self.returns: Any = hints.get("return", Any)
        self.injected: str | None = None
        self._positional: list[str] = []
        self._fields: list[Field] = []
        self._others: TypedSchema | bool = False
        self._builder = Builder(names, lenient=lenient)
        for parameter in list(inspect.signature(function).parameters.values())[skip_first:]:
            hint = hints.get(parameter.name, Any)
            if injected is not None and unwrap(hint).kind is injected:
                self.injected = parameter.name
            else:
                self._add(parameter, hint, documented.arguments.get(parameter.name, ""))
        self._defaults = {
            field.name: field.default for field in self._fields if field.default is not NO_DEFAULT
        }
        schema = {**object_schema(self._fields), "additionalProperties": self._others}
        self.schema: dict[str, Any] = standalone(schema, self._builder.definitions)
        mirror = partial(mirror_of, self._fields) if self._others is False else None
        self._typed = TypedSchema("arguments", schema, mirror=mirror)

    @cached_property
    def _checker(self) -> Checker:
        return Checker(self._typed, self._builder.definitions)

    def _add(self, parameter: inspect.Parameter, hint: Any, words: str) -> None:
        name = parameter.name
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise TypeError(
                f"A tool is called with named arguments, so it cannot take *{name}; "
                f"take a list instead."
            )
        if parameter.kind is parameter.VAR_KEYWORD:
            self._others = self._builder.build(hint) or True
            return
        if parameter.kind is parameter.POSITIONAL_ONLY:
            self._positional.append(name)
        if callable(getattr(parameter.default, "is_required", None)):
            # A field of pydantic in the place of the default has limits, words and the default.
            hint = Annotated[hint, parameter.default]
            parameter = parameter.replace(default=_default_of(parameter.default))
        field = field_of(parameter, name, words)
        field.schema = self._builder.build(hint)
        self._fields.append(field)

    def convert(self, given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Convert JSON to the arguments by position and by name.

        Raises:
            SchemaMismatch: arguments do not fit, are missing, or are not known.
        """
        converted = self._defaults | self._checker.convert(dict(given))
        return [converted.pop(name) for name in self._positional], converted


def _default_of(field: Any) -> Any:
    if field.is_required():
        return inspect.Parameter.empty
    return field.get_default(call_default_factory=True)


def _without_partial(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function


def _hinted(function: Any) -> Any:
    """Find where the hints are: at the function inside a partial or a callable object."""
    function = _without_partial(function)
    return function if inspect.isroutine(function) else type(function).__call__
