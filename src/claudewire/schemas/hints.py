"""Type hints, read: without their wrappers, with names and type variables resolved."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, NotRequired, Required, TypeVar

from .mismatch import UnsupportedType

__all__ = ["Hint", "called", "fill_in", "hints_of", "is_typed_dict", "unwrap", "variables_of"]

_WRAPPERS = {Required, NotRequired, Final, ClassVar}


@dataclasses.dataclass(frozen=True, slots=True)
class Hint:
    """A type hint without its wrappers.

    Attributes:
        kind: the type.
        metadata: what `Annotated` says about it, the outermost last.
        required: what `Required` or `NotRequired` says; None without either.
    """

    kind: Any
    metadata: tuple[Any, ...] = ()
    required: bool | None = None


def unwrap(hint: Any) -> Hint:
    """Remove `Annotated`, `NewType`, `Required` and the like."""
    metadata: tuple[Any, ...] = ()
    required = None
    while True:
        origin = typing.get_origin(hint)
        if origin is Annotated:
            metadata = (*hint.__metadata__, *metadata)
            hint = hint.__origin__
        elif origin in _WRAPPERS or getattr(origin, "_name", "") == "ReadOnly":
            required = {Required: True, NotRequired: False}.get(origin, required)
            hint = typing.get_args(hint)[0]
        elif isinstance(hint, dataclasses.InitVar):
            hint = hint.type
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif isinstance(hint, TypeVar):
            hint = _any_of(hint)
        else:
            return Hint(types.NoneType if hint is None else hint, metadata, required)


def _any_of(variable: TypeVar) -> Any:
    """Return the type that an open type variable stands for."""
    if variable.__constraints__:
        return typing.Union[variable.__constraints__]  # noqa: UP007 a tuple of them
    return Any if variable.__bound__ is None else variable.__bound__


def hints_of(thing: Any, names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the type hints of a class or function, with all names resolved.

    Args:
        thing: the class or function.
        names: names that are known where it was written, besides those of its module.

    Raises:
        UnsupportedType: a hint uses a name that is not known there.
    """
    # A class inside a function may use the names that are known there.
    local = dict(names or {}) if "<locals>" in thing.__qualname__ else {}
    try:
        return typing.get_type_hints(thing, localns=local, include_extras=True)
    except NameError as error:
        raise UnsupportedType(
            f"A type hint of {called(thing)} cannot be understood: {error}. "
            "Define what it names in the same module, and not only `if TYPE_CHECKING`."
        ) from error


def variables_of(kind: Any) -> dict[Any, Any]:
    """Return what the type variables of a generic class, and of its bases, stand for."""
    origin = typing.get_origin(kind) or kind
    arguments = typing.get_args(kind)
    found = dict(zip(getattr(origin, "__parameters__", ()), arguments, strict=False))
    for base in getattr(origin, "__orig_bases__", ()):
        if typing.get_origin(base) not in {None, typing.Generic, typing.Protocol}:
            inherited = variables_of(fill_in(base, found))
            found = {**inherited, **found}
    return found


def fill_in(hint: Any, variables: Mapping[Any, Any]) -> Any:
    """Replace type variables by types, at any depth."""
    if isinstance(hint, TypeVar):
        return variables.get(hint, hint)
    inside = getattr(hint, "__parameters__", ())
    if not inside or isinstance(hint, type):
        return hint
    return hint[tuple(variables.get(variable, variable) for variable in inside)]


def is_typed_dict(kind: Any) -> bool:
    """Whether it is a TypedDict, of `typing` or `typing_extensions`."""
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def called(kind: Any) -> str:
    """Return the name of a type or function as it is written in code."""
    if typing.get_args(kind):
        return str(kind).replace("typing.", "")
    name: str | None = getattr(kind, "__name__", None)
    return str(kind) if name is None else name
