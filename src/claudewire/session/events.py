"""The events of a session beside those of the wire, and subscriptions to all of them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from ..wire import Event
from .queue import ItemQueue

if TYPE_CHECKING:
    import typing_extensions

    from ..tracking import Alert

    TurnT = typing_extensions.TypeVar("TurnT", default=Any)
else:
    TurnT = TypeVar("TurnT")

UNREAD_EVENTS = 10_000
"""Unread events that a subscription keeps, so that a forgotten one does not grow."""


class SessionState(StrEnum):
    """The phase of a session's life.

    The calls that each state allows; all others raise the reason. `close` is allowed in all.

    | state | calls | next states |
    |---|---|---|
    | new | start | starting, closed |
    | starting | send; restart waits for the start | ready, closing, closed, failed |
    | ready, busy | all but start | ready, busy, starting, closing, closed, failed |
    | closing | none | closed, failed |
    | closed, failed | restart, unless the application has called `close` | starting |
    """

    NEW = "new"
    STARTING = "starting"
    READY = "ready"
    BUSY = "busy"
    CLOSING = "closing"
    CLOSED = "closed"
    FAILED = "failed"


class TurnState(StrEnum):
    """The progress of a turn."""

    HELD = "held"
    """It waits here until the turns before it are over."""
    SENT = "sent"
    """The CLI has the prompt, and has not begun with it."""
    RUNNING = "running"
    DONE = "done"
    """It has a result, which may be an error."""
    FAILED = "failed"
    """It will never have a result."""
    CANCELLED = "cancelled"
    """The prompt was taken back."""


class SessionEvent(Struct, frozen=True):
    """The base class of a session's own events."""


class StateChanged(SessionEvent, frozen=True):
    """The session has entered another state."""

    old: SessionState
    new: SessionState


class UnreadLimitReached(SessionEvent, frozen=True):
    """This many messages are unread; `UnreadLimit` sets the limit."""

    count: int


class BudgetAlert(SessionEvent, frozen=True):
    """A budget is nearly used up, or exceeded."""

    alert: Alert


class TurnStarted(SessionEvent, Generic[TurnT], frozen=True):
    """The CLI has begun an unsolicited turn."""

    turn: TurnT


class StderrOutput(SessionEvent, frozen=True):
    """The CLI wrote to stderr."""

    text: str


class Subscription(ItemQueue[Event | SessionEvent]):
    """An endless loop over everything that happens from now on; it ends with the session.

    Use it as a context manager, or call `close`. Unread events are kept, up to `limit`: then the
    oldest event is dropped, with a warning in the log, and `dropped` counts it.
    """

    def take(self) -> list[Event | SessionEvent]:
        """Take the events that are there, without waiting."""
        items = list(self._items)
        self._items.clear()
        return items

    def close(self) -> None:
        """Get no more events. Those that are there can still be read."""
        self.end()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
