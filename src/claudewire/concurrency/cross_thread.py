"""Waking tasks from any thread, on asyncio and on trio, without a task or a thread to do it.

The answer of a person seldom comes from the task that waits for it: it comes from a window, a web
server, or a thread that reads a terminal. So a waiting task leaves behind a way to its event loop,
which the thread that has the answer uses.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel

__all__ = ["Latch", "Mailbox", "MailboxClosed", "RunSoon", "run_soon"]

T = TypeVar("T")

RunSoon = Callable[[Callable[[], object]], None]
"""Calls a function soon in one particular event loop, from any thread.

If that loop has ended, nothing happens: no task waits there any longer.
"""


def run_soon() -> RunSoon:
    """Return a function that reaches the event loop of this task from any thread."""
    trio = sys.modules.get("trio")  # a program that runs on it has imported it
    if trio is not None and trio.lowlevel.in_trio_task():
        reach = trio.lowlevel.current_trio_token().run_sync_soon
    else:
        reach = sys.modules["asyncio"].get_running_loop().call_soon_threadsafe

    def soon(callback: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # both say so when the loop has ended
            reach(callback)

    return soon


class _Waiters:
    """The tasks that wait for something. The caller holds a lock."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[anyio.Event, RunSoon] = {}

    def add(self, event: anyio.Event) -> None:
        self._waiting[event] = run_soon()

    def discard(self, event: anyio.Event) -> None:
        self._waiting.pop(event, None)

    def wake(self) -> None:
        for event, soon in self._waiting.items():
            soon(event.set)
        self._waiting.clear()


class Latch:
    """Set once, from any thread; any number of tasks in any number of event loops wait for it."""

    __slots__ = ("_is_set", "_lock", "_waiters")

    def __init__(self) -> None:
        self._is_set = False
        self._lock = threading.Lock()
        self._waiters = _Waiters()

    def is_set(self) -> bool:
        """Whether it has been set."""
        return self._is_set

    def set(self) -> None:
        """Release all tasks that wait, now and from now on."""
        with self._lock:
            self._is_set = True
            self._waiters.wake()

    async def wait(self) -> None:
        """Wait until it is set."""
        await anyio.lowlevel.checkpoint()
        event = anyio.Event()
        with self._lock:
            if self._is_set:
                return
            self._waiters.add(event)
        try:
            await event.wait()
        finally:
            with self._lock:
                self._waiters.discard(event)


class MailboxClosed(Exception):
    """The mailbox is closed, and everything in it has been taken."""


class Mailbox(Generic[T]):
    """A queue that any thread can put items into, and that tasks and threads take them from."""

    __slots__ = ("_changed", "_closed", "_items", "_waiters")

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._closed = False
        self._changed = threading.Condition()
        self._waiters = _Waiters()

    def put(self, item: T) -> None:
        """Add an item. It is dropped if the mailbox is closed."""
        with self._changed:
            if not self._closed:
                self._items.append(item)
                self._wake()

    def close(self) -> None:
        """Accept no more items. Those in the mailbox can still be taken."""
        with self._changed:
            self._closed = True
            self._wake()

    def _wake(self) -> None:
        self._changed.notify_all()
        self._waiters.wake()

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
                self._waiters.add(event)
            try:
                await event.wait()
            finally:
                with self._changed:
                    self._waiters.discard(event)

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
