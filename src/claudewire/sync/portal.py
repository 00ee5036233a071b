"""The event loop behind the blocking API: one thread, shared by all sessions.

It is started when it is first needed, and stopped when the interpreter exits, after the sessions
that are still open have been closed. A forked process has none at first, and starts its own.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from ..concurrency import ends_the_caller
from ..errors import SessionClosed

P = ParamSpec("P")
ResultT = TypeVar("ResultT")

log: logging.Logger = logging.getLogger("claudewire.sync")

CLOSE_TIMEOUT = 30.0
"""Seconds to wait for open sessions when the interpreter exits: longer than closing one takes."""


class Closable(Protocol):
    """Something that has to be closed when the interpreter exits."""

    async def close(self) -> None:
        """Close it."""


@dataclass(frozen=True, slots=True)
class _Raised:
    """An exception of a call that would end the event loop, and all sessions in it."""

    error: BaseException


class Portal:
    """A thread with an event loop. Its methods are called from other threads."""

    def __init__(self) -> None:
        self._inside: BlockingPortal | None = None
        self._started = threading.Event()
        self._owner = os.getpid()
        self._open: weakref.WeakSet[Closable] = weakref.WeakSet()
        # Exit functions run in reverse order of registration. All finalizers, which kill what was
        # not closed, run at the place of the first one that was ever made: before it, close.
        weakref.finalize(self, int)
        atexit.register(_end)
        # The interpreter does not wait for daemon threads, and runs exit functions while they live.
        self._thread = threading.Thread(target=self._run, name="claudewire", daemon=True)
        self._thread.start()
        self._started.wait()

    @property
    def is_running(self) -> bool:
        """Whether its event loop accepts calls."""
        return self._owner == os.getpid() and self._thread.is_alive()

    def _run(self) -> None:
        try:
            anyio.run(self._stay)
        except BaseException:
            # A handler may have raised SystemExit, for example.
            log.exception("The event loop of the blocking sessions failed")
        finally:
            self._started.set()

    async def _stay(self) -> None:
        async with BlockingPortal() as inside:
            self._inside = inside
            self._started.set()
            await inside.sleep_until_stopped()

    def close_at_exit(self, it: Closable) -> None:
        """Close something when the interpreter exits, if it still exists then."""
        self._open.add(it)

    def call(
        self, function: Callable[P, Awaitable[ResultT]], *args: P.args, **kwargs: P.kwargs
    ) -> ResultT:
        """Run a coroutine function in the event loop, and wait for its result.

        An exception in the waiting thread, such as KeyboardInterrupt, cancels the coroutine.
        """
        return self.call_within(None, function, *args, **kwargs)

    def call_within(
        self,
        seconds: float | None,
        function: Callable[P, Awaitable[ResultT]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> ResultT:
        """Like `call`, with a time limit: a call that takes longer is cancelled."""

        async def run() -> ResultT | _Raised:
            try:
                with anyio.move_on_after(seconds):
                    return await function(*args, **kwargs)
            except Exception:
                raise
            except BaseException as error:
                if ends_the_caller(error):
                    raise
                return _Raised(error)
            raise TimeoutError(f"The call took longer than {seconds:g} s")

        future = self._start(run)
        try:
            result = future.result()
        except CancelledError:
            raise _ended() from None
        finally:
            future.cancel()  # after a signal; it does nothing to a call that has ended
        if isinstance(result, _Raised):
            raise result.error
        return result

    def do(self, function: Callable[P, ResultT], *args: P.args, **kwargs: P.kwargs) -> ResultT:
        """Call a function in the event loop that does not wait."""

        async def run() -> ResultT:
            return function(*args, **kwargs)

        return self.call(run)

    def _start(self, function: Callable[[], Coroutine[Any, Any, ResultT]]) -> Future[ResultT]:
        if self._owner != os.getpid():
            raise SessionClosed(
                "The session belongs to another process, of which this is a fork",
                advice="Open a session in each process.",
            )
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                "This call would wait for itself: an async handler or a callback runs in the event "
                "loop that the call waits for. Use a plain function as the handler instead."
            )
        if self._inside is None:
            raise _ended()
        try:
            return self._inside.start_task_soon(function)
        except RuntimeError as error:
            raise _ended() from error

    def end(self, seconds: float = CLOSE_TIMEOUT) -> None:
        """Close all open sessions and pools, and stop the thread."""
        if not self.is_running or self._inside is None:
            return
        with suppress(TimeoutError, SessionClosed):
            self.call_within(seconds, self._close_all)
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
"""Portals inherited from the parent process. Kept, so that no finalizer touches what it uses."""


def portal() -> Portal:
    """Return the portal of this process; start it if there is none."""
    global _portal
    with _lock:
        if _portal is None or not _portal.is_running:
            _portal = Portal()
        return _portal


def _end() -> None:
    # A Ctrl-C here: finalizers kill what is still open.
    with suppress(KeyboardInterrupt, SystemExit):
        if _portal is not None:
            _portal.end()


def _start_anew() -> None:
    global _portal, _lock
    _before_fork.append(_portal)
    _portal, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
