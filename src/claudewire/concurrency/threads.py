"""Threads that wait ready for the next call of a plain function.

A thread of anyio is given back after each call, and to get one takes several rounds of the event
loop. So a thread is kept for a moment, and a call that follows soon is handed to it directly.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock
from time import perf_counter
from typing import Any, Generic, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from .cross_thread import RunSoon, run_soon
from .detached import run_detached

__all__ = ["ThreadCall", "run_in_thread", "thread_starter"]

T = TypeVar("T")

KEPT_FOR = 1.0
"""Seconds that a thread waits for the next call."""

_Jobs = SimpleQueue["_Call | None"]


async def run_in_thread(
    function: Callable[[], Any], limiter: anyio.CapacityLimiter | None = None
) -> Any:
    """Call a function in a thread, which goes on by itself if this call is cancelled.

    Args:
        function: may use `anyio.from_thread`, but `check_cancelled` sees no cancellation of this
            call: the thread belongs to all of them. It must raise nothing.
        limiter: limits how many calls run at once.

    Raises:
        RuntimeError: no thread can be started.
    """
    borrower = object()
    if limiter is not None:
        await _acquire(limiter, borrower)
    try:
        ended = anyio.Event()
        errors: list[Exception] = []

        def fail(error: Exception) -> None:
            errors.append(error)
            ended.set()

        call = _Call(_plain_context(), function, partial(run_soon(), ended.set), fail)
        _threads().start(call)
        await ended.wait()
        if errors:
            raise errors[0]
        return call.returned
    finally:
        if limiter is not None:
            limiter.release_on_behalf_of(borrower)


_Fail = Callable[[Exception], object]
"""Is called in the event loop, with the reason, if no thread can be started."""

StartThread = Callable[[Callable[[], Any], _Fail], None]


def thread_starter() -> StartThread:
    """Return a function that calls others in the threads of this event loop, and waits for none.

    What it calls must raise nothing.
    """
    start = _threads().start
    return lambda function, fail: start(_Call(_plain_context(), function, _nothing, fail))


def _nothing() -> None:
    pass


class ThreadCall(Generic[T]):
    """A call in a thread that often ends at once: then it need not be waited for in a task.

    Args:
        function: must raise nothing.
        start: starts it, see `thread_starter`.
        soon: reaches the event loop, see `run_soon`.

    Attributes:
        result: what it has returned, when it has ended.
        seconds: how long it took.
    """

    __slots__ = ("_ended", "_error", "_event", "_first", "_function", "_soon", "result", "seconds")

    def __init__(self, function: Callable[[], T], start: StartThread, soon: RunSoon) -> None:
        self.result: T
        self.seconds: float = math.inf
        self._function = function
        self._soon = soon
        self._event: anyio.Event | None = None
        self._error: Exception | None = None
        self._first = [True]
        """Taken by the thread when it has ended, or by the event loop if it no longer waits."""
        self._ended = Lock()
        self._ended.acquire()
        start(self._run, self._fail)

    def _run(self) -> None:
        began = perf_counter()
        self.result = self._function()
        self.seconds = perf_counter() - began
        if self._take():
            self._ended.release()
        else:
            assert self._event is not None
            self._soon(self._event.set)

    def _take(self) -> bool:
        try:
            return self._first.pop()  # one step, which cannot be interrupted
        except IndexError:
            return False

    def ends_within(self, seconds: float) -> bool:
        """Block the event loop until it has ended, but no longer than this; call it once."""
        if self._ended.acquire(timeout=seconds):
            return True
        self._event = anyio.Event()  # before the thread can see that it is not waited for
        if self._take():
            return False
        self._event = None
        return True

    def _fail(self, error: Exception) -> None:
        assert self._event is not None  # the event loop has waited before
        self._error = error
        self._event.set()

    async def wait(self) -> None:
        """Wait until it has ended, in a task, if it has not ended before.

        Raises:
            RuntimeError: no thread can be started.
        """
        if self._event is not None:
            await self._event.wait()
        if self._error is not None:
            raise self._error


async def _acquire(limiter: anyio.CapacityLimiter, borrower: object) -> None:
    await anyio.lowlevel.checkpoint_if_cancelled()
    try:
        limiter.acquire_on_behalf_of_nowait(borrower)
    except anyio.WouldBlock:
        await limiter.acquire_on_behalf_of(borrower)


def _plain_context() -> Context:
    """The context of this task, but for the mark that says which event loop runs in it."""
    context = copy_context()
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:
        context.run(sniffio.current_async_library_cvar.set, None)
    return context


class _Call:
    __slots__ = ("_context", "_done", "_function", "fail", "returned")

    def __init__(
        self, context: Context, function: Callable[[], Any], done: Callable[[], None], fail: _Fail
    ) -> None:
        self._context = context
        self._function = function
        self._done = done
        self.fail = fail
        self.returned: Any = None

    def run(self) -> None:
        self.returned = self._context.run(self._function)

    def done(self) -> None:
        self._done()


class _Threads:
    """The threads of one event loop.

    What takes a queue out of the list, which is one step that cannot be interrupted, may use it:
    the event loop, to put a call into it, or its own thread, to end.
    """

    def __init__(self) -> None:
        self._ready: list[_Jobs] = []
        self._limiter = anyio.CapacityLimiter(math.inf)

    def start(self, call: _Call) -> None:
        """Call a function in one of them, or in a new one."""
        try:
            jobs = self._ready.pop()
        except IndexError:
            jobs = SimpleQueue()
            run_detached(partial(self._host, jobs), "claudewire thread")
        jobs.put(call)

    async def _host(self, jobs: _Jobs) -> None:
        try:
            await anyio.to_thread.run_sync(
                self._work, jobs, abandon_on_cancel=True, limiter=self._limiter
            )
        except Exception as error:  # the system has no more threads
            call = jobs.get_nowait()
            assert call is not None
            call.fail(error)
        finally:
            jobs.put(None)  # the event loop ends

    def _work(self, jobs: _Jobs) -> None:
        while True:
            try:
                call = jobs.get(timeout=KEPT_FOR)
            except Empty:
                try:
                    self._ready.remove(jobs)
                except ValueError:
                    continue  # a call is on its way
                return
            if call is None:
                return
            self._run(call, jobs)
            del call  # or it would be kept until the next one

    def _run(self, call: _Call, jobs: _Jobs) -> None:
        try:
            call.run()
        finally:
            self._ready.append(jobs)
            call.done()


_of_this_loop: anyio.lowlevel.RunVar[_Threads] = anyio.lowlevel.RunVar("claudewire threads")


def _threads() -> _Threads:
    try:
        return _of_this_loop.get()
    except LookupError:
        threads = _Threads()
        _of_this_loop.set(threads)
        return threads
