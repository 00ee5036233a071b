"""Fit a JSON object into its declared type, keeping as much of it as fits.

A newer CLI writes kinds that this version does not know, and sometimes changes the type of a field.
The rest of such a message is still of use:

* a member of a union with an unknown tag becomes the union's `Unknown…` member;
* so does a member that lacks a required field, or has a malformed one;
* elsewhere, a field or an item that does not fit is left out.

Each misfit is noted as a problem, and the message's `raw` still has everything.
"""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct, ValidationError

from .types.base import Unknown, prepared

UNFIT = (ValidationError, RecursionError)
"""Raised by `fit`: nothing fits, or it is nested deeper than Python's stack."""

_UNIONS = (Union, UnionType)
_fields = cache(msgspec.structs.fields)


def explain(error: Exception) -> tuple[str, str]:
    """Split an error of the decoder into its reason and its path."""
    reason, at, path = str(error).rpartition(" - at `")
    return (reason, path.rstrip("`")) if at else (str(error), "$")


def fit(obj: Any, into: Any) -> tuple[Any, tuple[str, ...]]:
    """Convert `obj` to a type. Return the result and a problem for each part that did not fit.

    Raises:
        msgspec.ValidationError: nothing fits.
        RecursionError: it is nested too deeply.
    """
    problems: list[str] = []
    return _fit(obj, into, "$", problems), tuple(problems)


def _fit(value: Any, kind: Any, path: str, problems: list[str]) -> Any:
    try:
        return msgspec.convert(value, prepared(kind))
    except ValidationError as error:
        reason, inner = explain(error)
        members = get_args(kind) if get_origin(kind) in _UNIONS else (kind,)
        items = next((get_args(it)[0] for it in members if get_origin(it) is list), None)
        if isinstance(value, list) and items is not None:
            return _fit_items(value, items, path, problems)
        structs = [it for it in members if isinstance(it, type) and issubclass(it, Struct)]
        if isinstance(value, dict) and structs:
            return _fit_object(value, structs, path, problems, error)
        raise _misfit(reason, path + inner[1:]) from None


def _misfit(reason: str, path: str) -> ValidationError:
    return ValidationError(f"{reason} - at `{path}`")


def _fit_items(items: list[Any], kind: Any, path: str, problems: list[str]) -> list[Any]:
    made = []
    for index, item in enumerate(items):
        try:
            made.append(_fit(item, kind, f"{path}[{index}]", problems))
        except ValidationError as error:
            problems.append(_problem(error))
    return made


def _fit_object(
    obj: dict[str, Any], structs: list[type], path: str, problems: list[str], error: Exception
) -> Any:
    unknown: Any = next((it for it in structs if issubclass(it, Unknown)), None)
    kind = next((it for it in structs if _is_of(obj, it)), None)
    inside: list[str] = []
    try:
        if kind is None:
            reason, inner = explain(error)
            raise _misfit(reason, path + inner[1:])
        made = _fit_fields(obj, kind, path, inside)
    except ValidationError as misfit:
        if unknown is None:
            raise
        if kind is not None or not explain(misfit)[0].startswith("Invalid value"):
            problems.append(_problem(misfit))
        return unknown(raw=obj)
    problems += inside
    return made


def _is_of(obj: dict[str, Any], kind: Any) -> bool:
    config = kind.__struct_config__
    return config.tag_field is None or obj.get(config.tag_field) == config.tag


def _fit_fields(obj: dict[str, Any], kind: Any, path: str, problems: list[str]) -> Any:
    made = {}
    for field in _fields(kind):
        name = field.encode_name
        if name in obj:
            try:
                made[field.name] = _fit(obj[name], field.type, f"{path}.{name}", problems)
            except ValidationError as error:
                if field.required:
                    raise
                problems.append(_problem(error))
        elif field.required:
            raise _misfit(f"Object missing required field `{name}`", path)
    return kind(**made)


def _problem(error: Exception) -> str:
    reason, path = explain(error)
    return f"{path}: {reason}"
