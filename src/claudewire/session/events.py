"""What a session tells of itself, besides what the CLI says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..tracking import Alert
    from .turn import Turn

__all__ = [
    "BudgetAlert",
    "SessionEvent",
    "SessionState",
    "StateChanged",
    "StderrOutput",
    "TurnStarted",
    "UnreadLimitReached",
]


class SessionState(StrEnum):
    """What a session is doing."""

    NEW = "new"
    STARTING = "starting"
    READY = "ready"
    BUSY = "busy"
    CLOSING = "closing"
    CLOSED = "closed"
    FAILED = "failed"


class SessionEvent:
    """The base of what a session tells of itself."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class StateChanged(SessionEvent):
    """The session goes over from one state to another."""

    old: SessionState
    new: SessionState


@dataclass(frozen=True, slots=True)
class UnreadLimitReached(SessionEvent):
    """So many messages are unread. None is lost; see `Unread`."""

    count: int


@dataclass(frozen=True, slots=True)
class BudgetAlert(SessionEvent):
    """A limit of ours is near, or reached."""

    alert: Alert


@dataclass(frozen=True, slots=True)
class TurnStarted(SessionEvent):
    """A turn has begun that nobody asked for."""

    turn: Turn[Any]


@dataclass(frozen=True, slots=True)
class StderrOutput(SessionEvent):
    """The CLI wrote to stderr."""

    text: str
