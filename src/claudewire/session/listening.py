"""Listening to everything that happens in a session, beside whoever reads its turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from ..concurrency import Signal

__all__ = ["Subscription", "Subscriptions"]

ItemT = TypeVar("ItemT")


class Subscription(Generic[ItemT]):
    """An endless loop over what happens from now on; it ends with the session.

    Use it as a context manager, or call `close` when you have heard enough. What is not read is
    kept, up to `limit`: then the oldest goes, and `dropped` counts it.
    """

    def __init__(self, limit: int | None, leave: Callable[[Subscription[ItemT]], None]) -> None:
        self.dropped: int = 0
        self._items: deque[ItemT] = deque(maxlen=limit)
        self._limit = limit
        self._leave = leave
        self._arrived = Signal()
        self._ended = False

    def __aiter__(self) -> Subscription[ItemT]:
        return self

    async def __anext__(self) -> ItemT:
        if not await self.readable():
            raise StopAsyncIteration
        return self.take_next()

    def take_next(self) -> ItemT:
        """Give the next that has come already. Any thread may ask.

        Raises:
            IndexError: there is none now.
        """
        return self._items.popleft()

    async def readable(self) -> bool:
        """Wait until there is something to be taken; False if nothing will come any more."""
        await self._arrived.until(lambda: bool(self._items) or self._ended)
        return bool(self._items)

    def take(self) -> list[ItemT]:
        """Give what has come, without waiting."""
        items = list(self._items)
        self._items.clear()
        return items

    def put(self, item: ItemT) -> None:
        """Something happened."""
        if len(self._items) == self._limit:
            self.dropped += 1
        self._items.append(item)
        self._arrived.notify()

    def close(self) -> None:
        """Hear no more. What has come can still be read."""
        self._ended = True
        self._leave(self)
        self._arrived.notify()

    def __enter__(self) -> Subscription[ItemT]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Subscriptions(Generic[ItemT]):
    """All who listen."""

    def __init__(self) -> None:
        self._all: list[Subscription[ItemT]] = []
        self._ended = False

    def __bool__(self) -> bool:
        return bool(self._all)

    def __iter__(self) -> Iterator[Subscription[ItemT]]:
        return iter(tuple(self._all))

    def add(self, limit: int | None = None) -> Subscription[ItemT]:
        """Let one more listen."""
        one: Subscription[ItemT] = Subscription(limit, self._remove)
        self._all.append(one)
        if self._ended:
            one.close()
        return one

    def tell(self, item: ItemT) -> None:
        """Tell everybody."""
        for one in self._all:
            one.put(item)

    def end(self) -> None:
        """Nothing more will happen."""
        self._ended = True
        for one in self:
            one.close()

    def begin_again(self) -> None:
        """Something will happen after all. Those who had heard the end stay away."""
        self._ended = False

    def _remove(self, one: Subscription[ItemT]) -> None:
        if one in self._all:
            self._all.remove(one)
