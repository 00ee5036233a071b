"""What a session tells of itself, besides what the CLI says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..tracking import Alert
    from .turn import Turn

__all__ = ["HighWater", "News", "OverBudget", "SessionState", "StateChanged", "Stderr", "TurnBegan"]


class SessionState(StrEnum):
    """What a session is doing."""

    NEW = "new"
    STARTING = "starting"
    READY = "ready"
    BUSY = "busy"
    CLOSING = "closing"
    CLOSED = "closed"
    FAILED = "failed"


class News:
    """The base of what a session tells of itself."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class StateChanged(News):
    """The session goes over from one state to another."""

    old: SessionState
    new: SessionState


@dataclass(frozen=True, slots=True)
class HighWater(News):
    """So many messages are unread. None is lost; see `Unread`."""

    count: int


@dataclass(frozen=True, slots=True)
class OverBudget(News):
    """A limit of ours is near, or reached."""

    alert: Alert


@dataclass(frozen=True, slots=True)
class TurnBegan(News):
    """A turn has begun that nobody asked for."""

    turn: Turn[Any]


@dataclass(frozen=True, slots=True)
class Stderr(News):
    """The CLI wrote to stderr."""

    text: str
