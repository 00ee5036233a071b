"""What a dialect is: a way of writing the same conversation.

A dialect is a pair of pure functions between JSON objects. `read` turns what a peer wrote into
the modern form, from which all messages are made; `write` turns the modern form into what that
peer expects. `recognises` says whether an object can only have been written in this dialect, and
`rules` what opens a session and ends a turn in it.

What a peer writes is not to be trusted: `recognises` and `read` must take any JSON object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ..states import Role
from ..types.cli_requests import RequestBody
from ..types.control import Request
from .rules import Rules

__all__ = ["Dialect", "Find", "Object", "WriteContext", "inside", "renamed", "without_nulls"]

Object = dict[str, Any]
Find = Callable[[str], RequestBody[Any] | None]
"""Gives the body of the reader's own request with that id, if it waits for an answer."""


class WriteContext(Struct, frozen=True):
    """What `write` may need to know besides the object."""

    sender: Role
    first_prompt: bool = False
    request: Request | None = None
    """When an answer is written: what it answers."""
    session_id: str = ""
    """The id of the session, as far as the CLI has told it."""


class Dialect(Struct, frozen=True):
    """One documented form of the protocol."""

    name: str
    recognises: Callable[[Object, Find], bool]
    read: Callable[[Object, Find], Object]
    write: Callable[[Object, WriteContext], Object]
    rules: Rules = Rules()


def inside(obj: Object, *keys: str) -> Object:
    """The object at the end of `keys`, or an empty one if something else is there."""
    for key in keys:
        value = obj.get(key)
        obj = value if isinstance(value, dict) else {}
    return obj


def renamed(obj: Object, names: Mapping[str, str]) -> Object:
    """A copy with some keys renamed. A key that has its new name already is left alone."""
    return {
        names[key] if key in names and names[key] not in obj else key: value
        for key, value in obj.items()
    }


def without_nulls(obj: Object, *keys: str) -> Object:
    """A copy that leaves out those of `keys` that are null."""
    return {key: value for key, value in obj.items() if value is not None or key not in keys}
