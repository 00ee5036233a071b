"""A queue that is read in a loop, in the event loop or in another thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import anyio.lowlevel

from ..concurrency import Signal
from ..errors import Error
from .log import log

__all__ = ["EMPTY", "HomeThread", "ItemQueue", "check_thread"]

ItemT = TypeVar("ItemT")

EMPTY: deque[Any] = deque(maxlen=0)
"""Stands for a queue that nothing was put into: each empty deque would take 760 bytes."""

_FAIRNESS = 256
"""After this many items without a wait, other tasks get a chance to run."""


def check_thread(home: int) -> None:
    """Refuse a call from any other thread, also from an event loop in it: it might never return.

    Args:
        home: the thread of the event loop that the session runs in.

    Raises:
        RuntimeError: this is another thread.
    """
    if threading.get_ident() != home:
        raise RuntimeError(
            "The session belongs to the event loop of another thread. Use it there, for example "
            "with anyio.from_thread.run, or use claudewire.sync, whose sessions can be used from "
            "any thread."
        )


class HomeThread:
    """The thread of the event loop that a session runs in; call it to check that this is it.

    Attributes:
        id: which one it is; None before the session was started.
    """

    __slots__ = ("id",)

    def __init__(self) -> None:
        self.id: int | None = None

    def __call__(self) -> None:
        """Refuse a call from any other thread; see `check_thread`.

        Raises:
            RuntimeError: the session was started in another thread.
        """
        if self.id is not None:
            check_thread(self.id)


class ItemQueue(Generic[ItemT]):
    """Items that have arrived and were not read yet. Iterate it to read them, each once.

    Waiting for an item happens in the event loop. Taking one that is there works in any thread, so
    a reader in another thread that is interrupted while it waits loses nothing.

    Args:
        limit: how many items to keep; when there are more, the oldest is dropped.
        check: called before an item is waited for; it raises where that is not possible.
    """

    def __init__(
        self,
        limit: int | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        self.dropped: int = 0
        self._items: deque[ItemT] = EMPTY
        self._limit = limit
        self._check = check
        self._arrived = Signal()
        self._ended = False
        self._error: Error | None = None
        # Counted down, without a division and a new integer for each item.
        self._left = _FAIRNESS

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_over(self) -> bool:
        """Whether it has ended, and everything in it was taken."""
        return self._ended and not self._items

    def put(self, item: ItemT) -> None:
        """Add an item."""
        if len(self._items) == self._limit:
            if not self.dropped:
                log.warning("%d items are unread; from now on the oldest are dropped", self._limit)
            self.dropped += 1
        self._own_items().append(item)
        self._arrived.notify()

    def put_all(self, items: Iterable[ItemT]) -> None:
        """Add items, if there is no limit."""
        self._own_items().extend(items)
        self._arrived.notify()

    def _own_items(self) -> deque[ItemT]:
        if self._items is EMPTY:
            self._items = deque(maxlen=self._limit)
        return self._items

    def end(self, error: Error | None = None) -> None:
        """End the loops over the queue once it is empty, with this error if one is given."""
        self._ended = True
        self._error = error
        self._arrived.notify()

    def reopen(self) -> None:
        """Expect further items after an end."""
        self._ended = False

    def take_next(self) -> ItemT:
        """Take the next item that is there. Works in any thread.

        Raises:
            IndexError: there is none.
        """
        return self._items.popleft()

    def take_all(self) -> list[ItemT]:
        """Take all items that are there."""
        items = list(self._items)
        self._items.clear()
        return items

    async def readable(self) -> bool:
        """Wait for an item to take; False if none will come.

        Raises:
            Error: none will come, for this reason.
        """
        while not self._items:
            if self._ended:
                if self._error is not None:
                    raise self._error.with_traceback(None)  # or it would grow with each reader
                return False
            if self._check is not None:
                self._check()
            await self._arrived.wait()
            self._left = _FAIRNESS
        return True

    def __aiter__(self) -> ItemQueue[ItemT]:
        return self

    async def __anext__(self) -> ItemT:
        self._left -= 1
        if not self._left:
            self._left = _FAIRNESS
            await anyio.lowlevel.checkpoint()
        if not self._items and not await self.readable():
            raise StopAsyncIteration
        return self._items.popleft()
