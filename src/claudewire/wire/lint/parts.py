"""What is wrong with parts of a line: fields that do not fit, and kinds that nobody knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from ..states import Role
from ..types.base import Unknown
from ..types.messages import UnknownMessage, UnknownSystemMessage
from ..types.requests import UnknownRequest
from .findings import FACTS, Finding, Said, Severity, quoted

__all__ = ["misfits", "unknown_parts"]

_WORD = re.compile(r"[A-Z][a-z]+")


def misfits(said: Said, problems: Iterable[str], root: str = "$") -> Iterator[Finding]:
    """Report the fields that do not fit. `root` is where their paths begin."""
    for problem in problems:
        path, _, reason = problem.partition(": ")
        if said.sender is Role.CLI:
            advice = "Perhaps the CLI is newer than this version. The value is in `raw`."
        else:
            advice = "Send a value of the declared type, or leave the field out."
        yield said.finding("error", "misfit", reason, advice, root + path.removeprefix("$"))


def unknown_parts(said: Said, value: Any, root: str = "$") -> Iterator[Finding]:
    """Report everything inside a value, or the value itself, that this version does not know."""
    for path, part in _unknown(value, root):
        words = [word.lower() for word in _WORD.findall(type(part).__name__)]
        message = f"{' '.join(words)} {quoted(_kind(part))}"
        if said.sender is Role.CLIENT:
            message += f": {_consequence(part)}"
            advice = "Check the spelling."
        else:
            advice = "Perhaps the CLI is newer than this version. All of it is in `raw`."
        severity: Severity = "suspicious" if said.sender is Role.CLIENT else "info"
        yield said.finding(severity, "-".join(words), message, advice, path)


def _unknown(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    # A stack instead of recursion, because a peer decides how deep this goes.
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Unknown):
            yield path, value
        elif isinstance(value, Struct):
            names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
            waiting += [(f"{path}.{wire}", getattr(value, name)) for name, wire in names][::-1]
        elif isinstance(value, list):
            waiting += [(f"{path}[{index}]", item) for index, item in enumerate(value)][::-1]


def _kind(part: Any) -> Any:
    """The name under which the peer knows it."""
    if isinstance(part, UnknownMessage):
        return part.kind
    if isinstance(part, UnknownSystemMessage):
        return part.subtype
    return part.raw.get(part.__struct_config__.tag_field)


def _consequence(part: Any) -> str:
    if isinstance(part, UnknownMessage):
        return FACTS["ignored"]
    if isinstance(part, UnknownRequest):
        return FACTS["unsupported"]
    return "this version knows no CLI that would understand it"
