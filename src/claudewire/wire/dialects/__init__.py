"""The documented forms of the protocol, one module each.

All of them say the same things. A connection always understands all four, message by message;
its `dialect` decides which one it speaks. `AUTO` speaks as it is spoken to.
"""

from __future__ import annotations

from typing import Final

from .base import Dialect, Find, Object, WriteContext
from .envelope import ENVELOPE
from .legacy import LEGACY
from .modern import MODERN
from .session import SESSION

__all__ = [
    "AUTO",
    "DIALECTS",
    "ENVELOPE",
    "LEGACY",
    "MODERN",
    "SESSION",
    "Dialect",
    "Find",
    "Object",
    "WriteContext",
    "recognise",
]

AUTO: Final = "auto"

DIALECTS: Final = {dialect.name: dialect for dialect in (SESSION, LEGACY, ENVELOPE, MODERN)}


def recognise(obj: Object, find: Find) -> Dialect:
    """Tell which dialect an object is written in. What bears no mark of another is modern."""
    return next(dialect for dialect in DIALECTS.values() if dialect.recognises(obj, find))
