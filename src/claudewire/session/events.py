"""What a session reports about itself, and subscriptions to everything that happens in it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from .queue import ItemQueue

if TYPE_CHECKING:
    from ..tracking import Alert
    from .turn import Turn

__all__ = [
    "UNREAD_EVENTS",
    "BudgetAlert",
    "SessionEvent",
    "SessionState",
    "StateChanged",
    "StderrOutput",
    "Subscription",
    "Subscriptions",
    "TurnStarted",
    "UnreadLimitReached",
]

ItemT = TypeVar("ItemT")

UNREAD_EVENTS = 10_000
"""How many unread events a subscription keeps, so that one that is forgotten does not grow."""


class SessionState(StrEnum):
    """What a session is doing."""

    NEW = "new"
    STARTING = "starting"
    READY = "ready"
    BUSY = "busy"
    CLOSING = "closing"
    CLOSED = "closed"
    FAILED = "failed"


class SessionEvent(Struct, frozen=True):
    """The base class of a session's own events, beside those of the wire."""


class StateChanged(SessionEvent, frozen=True):
    """The session goes over from one state to another."""

    old: SessionState
    new: SessionState


class UnreadLimitReached(SessionEvent, frozen=True):
    """This many messages are unread; see `Unread`, which sets the limit."""

    count: int


class BudgetAlert(SessionEvent, frozen=True):
    """A budget is nearly used up, or exceeded."""

    alert: Alert


class TurnStarted(SessionEvent, frozen=True):
    """The CLI has begun a turn by itself."""

    turn: Turn[Any]


class StderrOutput(SessionEvent, frozen=True):
    """The CLI wrote to stderr."""

    text: str


class Subscription(Generic[ItemT]):
    """An endless loop over everything that happens from now on; it ends with the session.

    Use it as a context manager, or call `close` when you have heard enough. What is not read is
    kept, up to `limit`: then the oldest event is dropped, with a warning in the log, and `dropped`
    counts it.
    """

    def __init__(
        self,
        limit: int | None,
        remove: Callable[[Subscription[ItemT]], None],
        check: Callable[[], None] | None = None,
    ) -> None:
        self._queue: ItemQueue[ItemT] = ItemQueue(limit, check=check)
        self._remove = remove

    @property
    def dropped(self) -> int:
        """How many events were dropped because they were not read."""
        return self._queue.dropped

    def __aiter__(self) -> Subscription[ItemT]:
        return self

    async def __anext__(self) -> ItemT:
        return await anext(self._queue)

    def take(self) -> list[ItemT]:
        """Take the events that are there, without waiting."""
        return self._queue.take_all()

    def close(self) -> None:
        """Get no more events. Those that are there can still be read."""
        self._remove(self)
        self._queue.end()

    def __enter__(self) -> Subscription[ItemT]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Subscriptions(Generic[ItemT]):
    """The subscriptions to one session. One that nothing refers to any more is forgotten.

    Args:
        check: called before an event is waited for; it raises where that is not possible.
    """

    def __init__(self, check: Callable[[], None] | None = None) -> None:
        self._check = check
        # Never changed in place: the garbage collector may remove one at any time.
        self._all: tuple[weakref.ref[Subscription[ItemT]], ...] = ()
        self._ended = False

    def add(self, limit: int | None = None) -> Subscription[ItemT]:
        """Make one more."""
        subscription: Subscription[ItemT] = Subscription(limit, self._remove, self._check)
        self._all = (*self._all, weakref.ref(subscription, self._forget))
        if self._ended:
            subscription.close()
        return subscription

    def __bool__(self) -> bool:
        return bool(self._all)

    def tell(self, item: ItemT) -> None:
        """Put an event into each."""
        for reference in self._all:
            subscription = reference()
            if subscription is not None:
                subscription._queue.put(item)

    def end(self) -> None:
        """End them all."""
        self._ended = True
        for subscription in [reference() for reference in self._all]:
            if subscription is not None:
                subscription.close()

    def reopen(self) -> None:
        """Accept new ones after the end; those that have ended stay so."""
        self._ended = False

    def _remove(self, subscription: Subscription[ItemT]) -> None:
        self._all = tuple(it for it in self._all if it() is not subscription)

    def _forget(self, dead: weakref.ref[Subscription[ItemT]]) -> None:
        self._all = tuple(it for it in self._all if it is not dead)
