"""What a timeout can be that a call is given."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

__all__ = ["DEFAULT", "Timeout"]


class _Default(Enum):
    DEFAULT = "default"


DEFAULT: Final = _Default.DEFAULT
"""The timeout that the session was opened with."""

Timeout = float | None | Literal[_Default.DEFAULT]
"""Seconds, None to wait without limit, or `DEFAULT`."""
