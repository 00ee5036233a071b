"""Checks of single values: each takes an option's name and value and gives what is to be kept.

Raises `OptionsError` in words that name the option, the value and what is allowed. A value that
may be secret is not quoted.
"""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..errors import OptionsError
from .frozen import FrozenMap, NotJSON, freeze, thaw

__all__ = [
    "Check",
    "choice",
    "dollars",
    "either",
    "encodable",
    "flag",
    "frozen",
    "json_object",
    "mapping_of",
    "path",
    "prompt",
    "quoted",
    "session_uuid",
    "struct",
    "text",
    "texts",
    "whole_number",
]

Check = Callable[[str, Any], Any]

_QUOTED = 80
"""Characters of a wrong value that are quoted: enough to find it."""


def quoted(value: object) -> str:
    """Quote a value in an error, cut short if it is long."""
    words = repr(value)
    return words if len(words) <= _QUOTED else f"{words[:_QUOTED]}…"


def text(name: str, value: Any) -> str:
    """Take a text that is not empty and can be handed to a program."""
    if not isinstance(value, str):
        raise OptionsError(f"{name} must be a text, not {quoted(value)}")
    if not value:
        raise OptionsError(f"{name} is empty; leave it out if there is nothing to say")
    return _passable(name, value)


def _passable(name: str, value: str) -> str:
    if "\0" in value:
        raise OptionsError(f"{name} contains a NUL character, which no program can be handed")
    return str(frozen(name, value))


def texts(name: str, value: Any) -> tuple[str, ...]:
    """Take a list of texts, and not a single one, which is a list of letters to Python."""
    return tuple(text(f"{name}[{i}]", item) for i, item in enumerate(_items(name, value)))


def _items(name: str, value: Any) -> Sequence[Any]:
    if isinstance(value, str):
        raise OptionsError(f"{name} must be a list of texts; did you mean [{quoted(value)}]?")
    if not isinstance(value, Sequence | set | frozenset) or isinstance(value, bytes):
        raise OptionsError(f"{name} must be a list, not {quoted(value)}")
    return value if isinstance(value, Sequence) else sorted(value, key=repr)


def flag(name: str, value: Any) -> bool:
    """Take True or False and nothing that is as good as one of them."""
    if not isinstance(value, bool):
        raise OptionsError(f"{name} must be True or False, not {quoted(value)}")
    return value


def whole_number(least: int, most: int | None = None, why: str = "") -> Check:
    """Make a check for a whole number in a range."""
    allowed = f"{least} or more" if most is None else f"{least} to {most}"

    def check(name: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise OptionsError(f"{name} must be a whole number ({allowed}), not {quoted(value)}")
        if value < least or (most is not None and value > most):
            raise OptionsError(f"{name} must be {allowed}, not {value}{why and f': {why}'}")
        return value

    return check


def dollars(name: str, value: Any) -> float:
    """Take an amount of money."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise OptionsError(f"{name} must be a number of dollars, not {quoted(value)}")
    if not math.isfinite(value) or value <= 0:
        raise OptionsError(f"{name} must be more than 0, not {value}")
    return value


def choice(*allowed: str) -> Check:
    """Make a check for one of several words."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            words = ", ".join(map(repr, allowed))
            raise OptionsError(f"{name} must be one of {words}, not {quoted(value)}")
        return value

    return check


def either(kind: type[Any], first: Check, otherwise: Check) -> Check:
    """Make a check that takes values of a type in one way, and all others in another."""

    def check(name: str, value: Any) -> Any:
        return (first if isinstance(value, kind) else otherwise)(name, value)

    return check


def path(name: str, value: Any) -> str:
    """Take a path. Whether there is something is looked at before the CLI is started."""
    if not isinstance(value, str | os.PathLike):
        raise OptionsError(f"{name} must be a path, not {quoted(value)}")
    place = os.fspath(value)
    if not isinstance(place, str):
        raise OptionsError(f"{name} must be a path as a text, not as bytes: {quoted(place)}")
    if not place or "\0" in place or not encodable(place):
        raise OptionsError(f"{name} must be a path, not {quoted(place)}")
    return place


def encodable(value: str) -> bool:
    """Tell whether the system can be handed a text; it may hold bytes that are not UTF-8."""
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True


def prompt(name: str, value: Any) -> str | Path:
    """Take a text, which may be empty, or a `Path` (in a file of options: `{file = …}`) to one."""
    if isinstance(value, Mapping):
        if list(value) != ["file"]:
            advice = "the CLI's own prompt is kept if you give append_system_prompt alone"
            raise OptionsError(f"{name} must be a text or a Path, not {quoted(value)}; {advice}")
        return Path(path(f"{name}.file", value["file"]))
    if isinstance(value, os.PathLike):
        return Path(path(name, value))
    return "" if value == "" else text(name, value)


def session_uuid(name: str, value: Any) -> str:
    """Take a UUID in the form that the CLI takes it."""
    if isinstance(value, uuid.UUID):
        return str(value)
    try:
        if str(uuid.UUID(text(name, value))) == value.lower():
            return str(value)
    except ValueError as error:
        if isinstance(error, OptionsError):
            raise
    example = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"
    raise OptionsError(f"{name} must be a UUID such as {example}, not {quoted(value)}")


def frozen(name: str, value: Any) -> Any:
    """Copy and freeze something that JSON can hold."""
    try:
        return freeze(value, name)
    except NotJSON as error:
        raise OptionsError(str(error)) from None
    except RecursionError:
        raise OptionsError(f"{name} is nested too deeply, or holds itself") from None


def json_object(name: str, value: Any) -> FrozenMap[str, Any]:
    """Take a JSON object."""
    if not isinstance(value, Mapping):
        raise OptionsError(f"{name} must be a mapping, not {quoted(value)}")
    result: FrozenMap[str, Any] = frozen(name, value)
    return result


def mapping_of(check: Check) -> Check:
    """Make a check for a mapping from names to what another check takes."""

    def check_all(name: str, value: Any) -> FrozenMap[str, Any]:
        if not isinstance(value, Mapping):
            raise OptionsError(f"{name} must be a mapping, not {quoted(value)}")
        keys = {key: text(f"the name {key!r} in {name}", key) for key in value}
        return FrozenMap({keys[key]: check(f"{name}[{key!r}]", value[key]) for key in value})

    return check_all


def struct(name: str, value: Mapping[str, Any], kind: type[msgspec.Struct]) -> Any:
    """Make a record of a mapping whose keys are spelt as in Python or as on the wire."""
    value = thaw(frozen(name, value))
    spellings = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
    known = set(kind.__struct_fields__)
    given = {spellings.get(key, key): item for key, item in value.items()}
    if unknown := sorted(set(given) - known):
        raise OptionsError(f"{name} has no {unknown[0]!r}; it may have {', '.join(sorted(known))}")
    wire = {old: given[new] for old, new in spellings.items() if new in given}
    try:
        return msgspec.convert(wire, kind)
    except msgspec.ValidationError as error:
        raise OptionsError(f"{name} is wrong: {error}") from None
