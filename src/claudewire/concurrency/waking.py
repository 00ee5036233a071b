"""Waking tasks and threads: in one event loop, from any thread, and across event loops.

The answer of a person seldom comes from the task that waits for it. It comes from a window, a web
server, or a thread that reads a terminal. A waiting task registers a way to its event loop, and the
thread with the answer uses it.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel

from .tasks import in_trio

T = TypeVar("T")


class Signal:
    """Wakes all waiting tasks of one event loop, any number of times."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event: anyio.Event | None = None

    def notify(self) -> None:
        """Wake all tasks that wait now."""
        event, self._event = self._event, None
        if event is not None:
            event.set()

    async def wait(self) -> None:
        """Wait for the next notification."""
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()

    async def until(self, condition: Callable[[], bool], within: float | None = None) -> bool:
        """Wait until a condition is true; code that changes it calls `notify`.

        Args:
            condition: the condition.
            within: the most seconds to wait; None for no limit.

        Returns:
            whether the condition is true.
        """
        if condition():
            return True
        with anyio.move_on_after(within):
            while not condition():
                await self.wait()
        return condition()


RunSoon = Callable[[Callable[[], object]], None]
"""Calls a function soon in one particular event loop, from any thread. Does nothing if that loop
has ended."""


def run_soon() -> RunSoon:
    """Return a function that reaches the event loop of this task from any thread."""
    if in_trio():
        reach = sys.modules["trio"].lowlevel.current_trio_token().run_sync_soon
    else:
        reach = asyncio.get_running_loop().call_soon_threadsafe

    def soon(callback: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # both raise it when the loop has ended
            reach(callback)

    return soon


class MailboxClosed(Exception):
    """The mailbox is closed and empty."""


class Mailbox(Generic[T]):
    """A queue that any thread can put items into, and that tasks and threads take them from."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._closed = False
        self._changed = threading.Condition()
        self._waiting: dict[anyio.Event, RunSoon] = {}

    def put(self, item: T) -> None:
        """Add an item. It is dropped if the mailbox is closed."""
        with self._changed:
            if not self._closed:
                self._items.append(item)
                self._notify()

    def close(self) -> None:
        """Accept no more items. Those in the mailbox can still be taken."""
        with self._changed:
            self._closed = True
            self._notify()

    def _notify(self) -> None:
        self._changed.notify_all()
        for event, soon in self._waiting.items():
            soon(event.set)
        self._waiting.clear()

    async def get(self) -> T:
        """Take the next item, waiting for it in a task.

        Raises:
            MailboxClosed: there will be no more items.
        """
        await anyio.lowlevel.checkpoint()
        while True:
            event = anyio.Event()
            with self._changed:
                if self._is_decided():
                    return self._take()
                self._waiting[event] = run_soon()
            try:
                await event.wait()
            finally:
                with self._changed:
                    self._waiting.pop(event, None)

    def get_blocking(self, timeout: float | None = None) -> T:
        """Take the next item, blocking the thread until there is one.

        Raises:
            MailboxClosed: there will be no more items.
            TimeoutError: no item came in time.
        """
        with self._changed:
            if not self._changed.wait_for(self._is_decided, timeout):
                raise TimeoutError(f"no item came within {timeout} seconds")
            return self._take()

    def _is_decided(self) -> bool:
        return bool(self._items) or self._closed

    def _take(self) -> T:
        if not self._items:
            raise MailboxClosed
        return self._items.popleft()
