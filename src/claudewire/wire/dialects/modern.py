"""The modern dialect: what the real CLI speaks, and what every other dialect is translated into.

Reading it means filling in what some speakers leave out, so that the types can rely on it.
"""

from __future__ import annotations

from .base import Dialect, Find, Object, WriteContext
from .rules import RULES

__all__ = ["MODERN", "complete"]


def complete(obj: Object) -> Object:
    """Fill in what the types need and some speakers leave out."""
    kind = obj.get("type")
    if kind in ("assistant", "user") and isinstance(obj.get("message"), dict):
        return {**obj, "message": {"role": kind, **obj["message"]}}
    if kind == "control_request":
        return {"request_id": "", **obj}
    if kind == "result":
        return _complete_result(obj)
    if kind == "error" and isinstance(obj.get("error"), str):
        return {**obj, "error": {"type": "error", "message": obj["error"]}}
    return obj


def _complete_result(obj: Object) -> Object:
    subtype = obj.get("subtype", "error" if obj.get("is_error") else "success")
    return {"is_error": subtype != "success", **obj, "subtype": subtype}


def _read(obj: Object, find: Find) -> Object:
    return complete(obj)


def _write(obj: Object, context: WriteContext) -> Object:
    if obj.get("request_id") == "":  # a request that came without an id has none
        return {key: value for key, value in obj.items() if key != "request_id"}
    return obj


def _recognises(obj: Object, find: Find) -> bool:
    return True


MODERN = Dialect("modern", _recognises, _read, _write, RULES["modern"])
