"""The event loop behind everything that is done without async: one thread for all of it.

It is started when it is first needed, and ended with the interpreter, after the sessions that are
still open have been closed. A fork of the process begins with none, and starts its own.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from ..errors import SessionClosed

__all__ = ["Closable", "Portal", "portal"]

ResultT = TypeVar("ResultT")

log: logging.Logger = logging.getLogger("claudewire.sync")

MAY_TAKE = 30.0
"""For how many seconds the end of the interpreter waits for sessions: longer than each may take."""


class Closable(Protocol):
    """What has to be closed in the end."""

    async def close(self) -> None:
        """End it."""


class Portal:
    """A thread with an event loop, and the way into it. All methods are for other threads."""

    def __init__(self) -> None:
        self._inside: BlockingPortal | None = None
        self._started = threading.Event()
        self._owner = os.getpid()
        self._open: weakref.WeakSet[Closable] = weakref.WeakSet()
        # What is registered last is called first. Finalizers, which kill what was not closed, are
        # called together, in the place of the first that there ever was.
        weakref.finalize(self, int)
        atexit.unregister(_end)
        atexit.register(_end)
        # A daemon, as are the threads that it starts: the interpreter does not wait for such, and
        # calls `end` while they still run.
        self._thread = threading.Thread(target=self._run, name="claudewire", daemon=True)
        self._thread.start()
        self._started.wait()

    @property
    def is_running(self) -> bool:
        """Whether something can be done in it."""
        return self._owner == os.getpid() and self._thread.is_alive()

    def _run(self) -> None:
        try:
            anyio.run(self._stay)
        except BaseException:
            # Somebody's coroutine has raised SystemExit, for example.
            log.exception("The event loop of the blocking sessions has failed")
        finally:
            self._started.set()

    async def _stay(self) -> None:
        async with BlockingPortal() as inside:
            self._inside = inside
            self._started.set()
            await inside.sleep_until_stopped()

    def keep(self, it: Closable) -> None:
        """See to it that something is closed in the end at the latest."""
        self._open.add(it)

    def call(
        self,
        function: Callable[..., Awaitable[ResultT]],
        *arguments: Any,
        timeout: float | None = None,
    ) -> ResultT:
        """Run a coroutine function there, and wait for what it returns.

        What breaks this wait, Ctrl-C for example, cancels it.

        Raises:
            TimeoutError: it took longer than `timeout` seconds, and was cancelled.
            SessionClosed: the event loop has ended.
        """

        async def within(seconds: float) -> ResultT:
            with anyio.move_on_after(seconds):
                return await function(*arguments)
            raise TimeoutError(f"It took longer than {seconds:g} s")

        if timeout is None:
            return self._wait(self._start(function, *arguments))
        return self._wait(self._start(within, timeout))

    def do(self, function: Callable[..., ResultT], *arguments: Any, **named: Any) -> ResultT:
        """Call a function there that does not wait."""

        async def run() -> ResultT:
            return function(*arguments, **named)

        return self._wait(self._start(run))

    def _start(
        self, function: Callable[..., Awaitable[ResultT]], *arguments: Any
    ) -> Future[ResultT]:
        if self._owner != os.getpid():
            raise SessionClosed(
                "The session belongs to another process, of which this is a fork",
                advice="Open one of its own in each process.",
            )
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                "This would wait for itself: a coroutine, or a callback, of a blocking session "
                "cannot use the blocking calls. A plain function as a handler can."
            )
        if self._inside is None:
            raise _ended()
        try:
            return self._inside.start_task_soon(function, *arguments)
        except RuntimeError as error:
            raise _ended() from error

    def _wait(self, future: Future[ResultT]) -> ResultT:
        try:
            return future.result()
        except CancelledError:
            raise _ended() from None
        except BaseException:
            future.cancel()  # which does nothing if it is its own error
            raise

    def end(self, seconds: float = MAY_TAKE) -> None:
        """Close what is open, and end the thread."""
        if not self.is_running or self._inside is None:
            return
        with suppress(TimeoutError, SessionClosed):
            self.call(self._close_all, timeout=seconds)
        with suppress(RuntimeError):
            self._inside.start_task_soon(partial(self._inside.stop, cancel_remaining=True))
        self._thread.join(seconds)

    async def _close_all(self) -> None:
        async with anyio.create_task_group() as tasks:
            for it in list(self._open):
                tasks.start_soon(it.close)


def _ended() -> SessionClosed:
    return SessionClosed("The event loop of the blocking sessions has ended")


_portal: Portal | None = None
_lock = threading.Lock()
_before_fork: list[Portal | None] = []
"""What a fork has inherited. It is not touched: the parent still uses what is behind it."""


def portal() -> Portal:
    """Give the one of this process, and start it if need be."""
    global _portal
    with _lock:
        if _portal is None or not _portal.is_running:
            _portal = Portal()
        return _portal


def _end() -> None:
    if _portal is not None:
        _portal.end()


def _start_anew() -> None:
    global _portal, _lock
    _before_fork.append(_portal)
    _portal, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
