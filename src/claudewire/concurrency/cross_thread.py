"""Waking tasks from any thread, on asyncio and on trio, without a task or a thread to do it.

What a person answers seldom comes from the task that waits for it: it comes from a window, a web
server, a thread that reads a terminal. So a waiting task leaves behind how its event loop can be
reached, and whoever has the answer uses that.
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
"""Has something called soon in one particular event loop. Any thread may use it.

If that loop is gone, nothing happens: nobody waits there any more.
"""


def run_soon() -> RunSoon:
    """Give the way to the event loop that this task runs in."""
    trio = sys.modules.get("trio")  # whoever runs on it has imported it
    if trio is not None and trio.lowlevel.in_trio_task():
        reach = trio.lowlevel.current_trio_token().run_sync_soon
    else:
        reach = sys.modules["asyncio"].get_running_loop().call_soon_threadsafe

    def soon(callback: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # both say so when the loop has ended
            reach(callback)

    return soon


class _Waiters:
    """The tasks that wait for something. Whoever uses it holds a lock."""

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
        """Say whether it has been set."""
        return self._is_set

    def set(self) -> None:
        """Let everybody go on, now and for ever."""
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
    """The mailbox is closed, and all that was in it has been taken."""


class Mailbox(Generic[T]):
    """A queue that any thread puts things into, and that tasks and threads take them from."""

    __slots__ = ("_changed", "_closed", "_items", "_waiters")

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._closed = False
        self._changed = threading.Condition()
        self._waiters = _Waiters()

    def put(self, item: T) -> None:
        """Add something. When the mailbox is closed, it is dropped."""
        with self._changed:
            if not self._closed:
                self._items.append(item)
                self._wake()

    def close(self) -> None:
        """Take in nothing more. What is there can still be taken."""
        with self._changed:
            self._closed = True
            self._wake()

    def _wake(self) -> None:
        self._changed.notify_all()
        self._waiters.wake()

    async def get(self) -> T:
        """Take the next thing, waiting for it in a task.

        Raises:
            MailboxClosed: there will be nothing more.
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
        """Take the next thing, waiting for it in a thread that may wait.

        Raises:
            MailboxClosed: there will be nothing more.
            TimeoutError: nothing came in time.
        """
        with self._changed:
            if not self._changed.wait_for(self._is_decided, timeout):
                raise TimeoutError(f"nothing came within {timeout} seconds")
            return self._take()

    def _is_decided(self) -> bool:
        return bool(self._items) or self._closed

    def _take(self) -> T:
        if not self._items:
            raise MailboxClosed
        return self._items.popleft()
