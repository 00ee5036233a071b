"""A queue that is read in a loop, in the event loop or in another thread."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
import anyio.lowlevel

from ..errors import Error
from .log import log

ItemT = TypeVar("ItemT")

_FAIRNESS = 256
"""Items without a wait after which other tasks get a chance to run."""


class HomeThread:
    """The thread of the event loop that a session runs in; its id is None before the start."""

    __slots__ = ("id",)

    def __init__(self) -> None:
        self.id: int | None = None

    def check(self) -> None:
        """Refuse a call from another thread, or an event loop in it: it might never return."""
        if self.id is not None and threading.get_ident() != self.id:
            raise RuntimeError(
                "The session belongs to the event loop of another thread. Use it there, for "
                "example with anyio.from_thread.run, or use claudewire.sync, whose sessions can "
                "be used from any thread."
            )


class AsyncOnly:
    """Refuses a loop without async, and names the way."""

    if not TYPE_CHECKING:  # or type checkers would allow it

        def __iter__(self) -> None:
            text = "It is read with `async for`; programs without async use claudewire.sync"
            raise TypeError(f"{type(self).__name__!r} object is not iterable. {text}")


class ItemQueue(AsyncOnly, Generic[ItemT]):
    """Unread items. Iterate it to read them; each goes to one reader.

    Tasks of the event loop wait for items. Any thread can take one that is there.

    Args:
        home: the thread of the event loop.
        limit: the most unread items; the oldest is dropped for one more.
    """

    def __init__(self, home: HomeThread, limit: int | None = None) -> None:
        self.dropped: int = 0
        self._home = home
        self._limit = limit
        self._items: deque[ItemT] = deque(maxlen=limit)
        self._arrived: anyio.Event | None = None
        """Set for the readers that wait."""
        self._ended = False
        self._error: Error | None = None
        self._left = _FAIRNESS

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_over(self) -> bool:
        """Whether it has ended and is empty."""
        return self._ended and not self._items

    def put(self, item: ItemT) -> None:
        """Add an item, unless the queue has ended."""
        if self._ended:
            return
        if self._limit is not None and len(self._items) == self._limit:
            if not self.dropped:
                log.warning("%d items are unread; from now on the oldest are dropped", self._limit)
            self.dropped += 1
        self._items.append(item)
        if self._arrived is not None:
            self._wake()

    def _wake(self) -> None:
        event, self._arrived = self._arrived, None
        if event is not None:
            event.set()

    def end(self, error: Error | None = None) -> None:
        """End the loops over the queue once it is empty, with an error if one is given."""
        self._ended = True
        self._error = error
        self._wake()

    def reopen(self) -> None:
        """Expect further items after an end."""
        self._ended = False

    def take_next(self) -> ItemT:
        """Take the next item, in any thread.

        Raises:
            IndexError: the queue is empty.
        """
        return self._items.popleft()

    async def readable(self) -> bool:
        """Wait for an item; False if none will come.

        Raises:
            Error: none will come, for this reason.
        """
        while not self._items:
            if self._error is not None:
                raise self._error.with_traceback(None)  # or it would grow with each reader
            if self._ended:
                return False
            self._home.check()
            if self._arrived is None:
                self._arrived = anyio.Event()
            await self._arrived.wait()
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


class Broadcast(Generic[ItemT]):
    """Queues that all get the same items. A queue without other references is forgotten.

    Attributes:
        size: the number of queues, perhaps with forgotten ones.
    """

    def __init__(self) -> None:
        self.size: int = 0
        # Never changed in place: an item may be on its way.
        self._queues: tuple[weakref.ref[ItemQueue[ItemT]], ...] = ()

    def add(self, queue: ItemQueue[ItemT]) -> None:
        """Add a queue."""
        live = (it for it in self._queues if it() is not None)
        self._queues = (*live, weakref.ref(queue))
        self.size = len(self._queues)

    def put(self, item: ItemT) -> None:
        """Put an item into each queue."""
        for reference in self._queues:
            if (queue := reference()) is not None:
                queue.put(item)

    def end(self, error: Error | None = None) -> None:
        """End all queues."""
        for reference in self._queues:
            if (queue := reference()) is not None:
                queue.end(error)
