"""The documented forms of the protocol, one module each.

All of them say the same things. A connection always understands all four, message by message;
its `dialect` decides which one it speaks. `AUTO` speaks as it is spoken to.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from .base import Dialect, Find, Object, WriteContext
from .envelope import ENVELOPE
from .legacy import LEGACY
from .modern import MODERN
from .rules import Rules
from .session import SESSION

__all__ = [
    "AUTO",
    "DIALECTS",
    "ENVELOPE",
    "LEGACY",
    "MODERN",
    "OPENING",
    "SESSION",
    "Dialect",
    "Find",
    "Object",
    "Rules",
    "WriteContext",
    "recognise",
]

AUTO: Final = "auto"

DIALECTS: Final = {dialect.name: dialect for dialect in (SESSION, LEGACY, ENVELOPE, MODERN)}


def recognise(obj: Object, find: Find) -> Dialect:
    """Tell which dialect an object is written in. What bears no mark of another is modern."""
    return next(dialect for dialect in DIALECTS.values() if dialect.recognises(obj, find))


def _write_opening(obj: Object, context: WriteContext) -> Object:
    """Write an `initialize` for a peer that has not said anything yet.

    It is modern, with the names of the legacy dialect beside those that differ: a CLI of that
    dialect finds neither the id nor the servers otherwise. Others ignore what they do not know.
    """
    written: Object = _merged(LEGACY.write(obj, context), MODERN.write(obj, context))
    return written


def _merged(one: Any, other: Any) -> Any:
    """Both, one inside the other; where they differ, the second. What both have is alike."""
    if isinstance(one, dict):
        return {**one, **{key: _merged(one.get(key), value) for key, value in other.items()}}
    if isinstance(one, list):
        return [_merged(*pair) for pair in zip(one, other, strict=True)]
    return other


OPENING: Final = replace(MODERN, write=_write_opening)
"""What `AUTO` speaks until the peer has been heard: only `initialize` differs from `MODERN`."""
