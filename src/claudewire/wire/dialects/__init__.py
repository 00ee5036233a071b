"""The documented forms of the protocol, one module each.

All of them say the same things. A connection always understands all four, message by message;
its `dialect` decides which one it speaks. `AUTO` speaks as the peer begins.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from ..states import Role
from ..types.control import Answer
from .base import Dialect, Find, Object, WriteContext, inside, without
from .behavior import BEHAVIORS, DialectBehavior
from .envelope import ENVELOPE
from .legacy import LEGACY
from .session import SESSION

AUTO: Final = "auto"


def _write_user(obj: Object, context: WriteContext) -> Object:
    if context.sender is Role.CLIENT:
        return {**obj, "session_id": obj.get("session_id", context.session_id)}
    return obj


def _write_request(obj: Object, context: WriteContext) -> Object:
    return obj if obj["request_id"] else without(obj, "request_id")  # as it came


MODERN = Dialect(
    "modern",
    BEHAVIORS["modern"],
    marks={},
    readers={},
    writers={"user": _write_user, "control_request": _write_request},
)

DIALECTS: Final = {dialect.name: dialect for dialect in (SESSION, LEGACY, ENVELOPE, MODERN)}

STANDARD: Final = MODERN
"""The dialect of real CLIs. All others are translated into it and from it."""

RELEASED: Final = STANDARD.name

REQUEST_TYPES: Final = frozenset({"control_request", "sdk_control_request", "callback.request"})
"""The types of requests in all dialects."""


def named_dialect(name: str) -> Dialect:
    """Return the dialect of this name; raise ValueError if there is none."""
    if name not in DIALECTS:
        names = ", ".join([AUTO, *DIALECTS])
        raise ValueError(f"dialect must be one of {names}, got {name!r}")
    return DIALECTS[name]


def behavior_of(name: str) -> DialectBehavior:
    """Return the behavior of a dialect, or of a peer whose dialect is detected (`AUTO`)."""
    return BEHAVIORS[name]


def recognise(obj: Object, find: Find) -> Dialect:
    """Return the dialect of an object: the standard, unless it has a mark of another."""
    return next((it for it in DIALECTS.values() if it.recognises(obj, find)), STANDARD)


def recognise_answer(answer: Answer, heard: Dialect) -> Dialect:
    """Return the dialect of a CLI by its answer to `initialize`, which was written in one."""
    # Only one dialect has an answer without a payload.
    return (
        LEGACY if heard is STANDARD and "response" not in inside(answer.raw, "response") else heard
    )


def recognise_refusal(heard: Dialect) -> Dialect:
    """Return the dialect of a CLI that answered `initialize` with an `error` line."""
    return ENVELOPE if heard is STANDARD else heard  # the only one without `initialize`


def _write_opening(obj: Object, context: WriteContext) -> Object:
    """Write an `initialize` for a peer that has not said anything yet.

    The standard form, plus the names of the legacy dialect where they differ: a CLI of that
    dialect finds neither the id nor the servers otherwise. Others ignore unknown fields.
    """
    legacy, modern = (it.writers["control_request"](obj, context) for it in (LEGACY, MODERN))
    merged: Object = _merged(legacy, modern)
    return merged


def _merged(one: Any, other: Any) -> Any:
    """Merge two values recursively. Where they differ, the second wins; lists match in length."""
    if isinstance(one, dict):
        return {**one, **{key: _merged(one.get(key), value) for key, value in other.items()}}
    if isinstance(one, list):
        return [_merged(*pair) for pair in zip(one, other, strict=True)]
    return other


OPENING: Final = replace(MODERN, writers={**MODERN.writers, "control_request": _write_opening})
"""The form of an `initialize` that `AUTO` sends to a peer whose dialect is unknown."""
