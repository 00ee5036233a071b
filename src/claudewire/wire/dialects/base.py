"""Dialects: ways of writing the same conversation.

A dialect is a set of pure functions between JSON objects, by the `type` of the line. A *mark* says
whether an object can only have been written in this dialect. A *reader* turns an object of a peer
into the modern form, from which all messages are made; a *writer* turns the modern form into the
form of that peer. The `behavior` says how the parties act in it besides.

Peers write the objects, so marks and readers must take any JSON object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ..states import Role
from ..types.cli_requests import RequestBody
from ..types.control import Request
from .behavior import DialectBehavior

Object = dict[str, Any]
Find = Callable[[str], RequestBody[Any] | None]
"""Gives the body of the reader's own request with that id, if it waits for an answer."""


class WriteContext(Struct, frozen=True):
    """The facts that `write` may need besides the object."""

    sender: Role
    first_prompt: bool = False
    request: Request | None = None
    """The request, when an answer is written."""
    session_id: str = ""
    """The id of the session, as far as the CLI has told it."""


Mark = Callable[[Object, Find], bool]
Reader = Callable[[Object, Find], Object]
Writer = Callable[[Object, WriteContext], Object]


class Dialect(Struct, frozen=True):
    """One documented form of the protocol."""

    name: str
    behavior: DialectBehavior
    marks: Mapping[str, Mark]
    readers: Mapping[str, Reader]
    writers: Mapping[str, Writer]

    def recognises(self, obj: Object, find: Find) -> bool:
        """Return whether only this dialect writes such an object."""
        mark = self.marks.get(_kind(obj))
        return mark is not None and mark(obj, find)

    def read(self, obj: Object, find: Find) -> Object:
        """Translate an object into the modern form."""
        reader = self.readers.get(_kind(obj))
        return _complete(reader(obj, find) if reader else obj)


def _kind(obj: Object) -> str:
    kind = obj.get("type")
    return kind if isinstance(kind, str) else ""


def _complete(obj: Object) -> Object:
    """Fill in fields that the types need and some speakers leave out."""
    kind = obj.get("type")
    if kind in ("assistant", "user") and isinstance(obj.get("message"), dict):
        return {**obj, "message": {"role": kind, **obj["message"]}}
    if kind == "control_request":
        return {"request_id": "", **obj}
    if kind == "result":
        subtype = obj.get("subtype", "error" if obj.get("is_error") else "success")
        return {"is_error": subtype != "success", **obj, "subtype": subtype}
    if kind == "error" and isinstance(obj.get("error"), str):
        return {**obj, "error": {"type": "error", "message": obj["error"]}}
    return obj


def always(obj: Object, find: Find) -> bool:
    """Mark a type that only one dialect has."""
    return True


def inside(obj: Object, *keys: str) -> Object:
    """Return the object at the end of `keys`, or an empty one if something else is there."""
    for key in keys:
        value = obj.get(key)
        obj = value if isinstance(value, dict) else {}
    return obj


def changed(obj: Object, key: str, change: Callable[[Object], Object]) -> Object:
    """Return a copy with the object at `key` changed, or with each object of the list there."""
    value = obj.get(key)
    if isinstance(value, dict):
        return {**obj, key: change(value)}
    if isinstance(value, list):
        return {**obj, key: [change(it) if isinstance(it, dict) else it for it in value]}
    return obj


def renamed(obj: Object, names: Mapping[str, str]) -> Object:
    """Return a copy with some keys renamed. A key that has its new name already is left alone."""
    return {
        names[key] if key in names and names[key] not in obj else key: value
        for key, value in obj.items()
    }


def inverse(names: Mapping[str, str]) -> dict[str, str]:
    """Return the names for the way back."""
    return {value: key for key, value in names.items()}


def without(obj: Object, *keys: str) -> Object:
    """Return a copy without some keys."""
    return {key: value for key, value in obj.items() if key not in keys}


def without_nulls(obj: Object, *keys: str) -> Object:
    """Return a copy without those of `keys` that are null."""
    return {key: value for key, value in obj.items() if value is not None or key not in keys}
