"""Tasks that belong to no task group, on asyncio and on trio.

A session is opened in one task and may be closed in another. A task group would have to be left by
the task that entered it, so a session starts its tasks outside of any. The event loop owns them:
it cancels them when it ends.
"""

from __future__ import annotations

import asyncio
import math
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, copy_context
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any, Generic, TypeVar, cast

import anyio

ResultT = TypeVar("ResultT")

_PACKAGE = str(Path(__file__).parents[1])

_running: set[object] = set()
"""The tasks of asyncio, which itself remembers them only weakly."""


class TookTooLong(Exception):
    """A call did not end in time, and was cancelled."""


def in_trio() -> bool:
    """True in a task of trio, False in a task or callback of asyncio."""
    trio = sys.modules.get("trio")  # a program that runs on it has imported it
    return trio is not None and trio.lowlevel.in_trio_task()


def clock() -> Callable[[], float]:
    """Return a function like `anyio.current_time`, which also works in a callback of asyncio."""
    if in_trio():
        return cast("Callable[[], float]", sys.modules["trio"].current_time)
    return asyncio.get_running_loop().time


def ends_the_caller(error: BaseException) -> bool:
    """True if an exception cancels or closes the calling task, rather than coming from its callee.

    `KeyboardInterrupt` and `SystemExit` come from the callee, unless a signal handler raised them.
    """
    if is_of_a_signal(error):
        return True
    if isinstance(error, GeneratorExit):
        # One that a function has raised comes from a frame below.
        return error.__traceback__ is None or error.__traceback__.tb_next is None
    if not isinstance(error, anyio.get_cancelled_exc_class()):
        return False
    if anyio.current_effective_deadline() == -math.inf:
        return True
    task = None if in_trio() else asyncio.current_task()
    return task is not None and task.cancelling() > 0


def is_of_a_signal(error: BaseException) -> bool:
    """Whether the handler of a signal raised an exception, which must end the program.

    A function that the library has called may raise the same, and only ends itself.
    """
    if not isinstance(error, KeyboardInterrupt | SystemExit):
        return False
    codes = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    if isinstance(error, KeyboardInterrupt) and codes[-1].co_filename.startswith(_PACKAGE):
        return True  # of Python's own handler, which has no frame
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    return any(_code_of(handler) in codes for handler in handlers)


def _code_of(handler: Any) -> object:
    while isinstance(handler, partial):
        handler = handler.func
    return getattr(
        handler if hasattr(handler, "__code__") else type(handler).__call__, "__code__", 0
    )


def run_detached(
    function: Callable[[], Coroutine[Any, Any, None]],
    name: str,
    has_ended: Callable[[], object] | None = None,
    *,
    context: Context | None = None,
    eager: bool = False,
) -> None:
    """Start a task.

    Args:
        function: must raise nothing but its cancellation: no caller would see the exception.
        name: the name of the task.
        has_ended: called at the end of the task, only with asyncio: its event loop may end before
            the function could begin, which then cannot clean up.
        context: the context of the task; None for a copy of the caller's.
        eager: run up to the first wait before returning, with asyncio from Python 3.12 on.
    """
    if in_trio():
        spawn = sys.modules["trio"].lowlevel.spawn_system_task
        spawn(_report_failure, function, name=name, context=context or copy_context())
        return
    loop = asyncio.get_running_loop()
    task: asyncio.Task[None]
    if eager and sys.version_info >= (3, 12):
        task = asyncio.Task(function(), loop=loop, name=name, context=context, eager_start=True)
    else:
        task = loop.create_task(function(), name=name, context=context)
    if not task.done():
        _running.add(task)
        task.add_done_callback(_running.discard)
    if has_ended is not None:
        task.add_done_callback(lambda _: has_ended())


async def _report_failure(function: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Report an exception, as asyncio does: one of a system task would end trio's event loop."""
    try:
        await function()
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)


class DetachedCall(Generic[ResultT]):
    """A call in its own task.

    Attributes:
        ended: set at the end of the call.
    """

    def __init__(self, function: Callable[[], Awaitable[ResultT]], name: str) -> None:
        self.ended: anyio.Event = anyio.Event()
        self._scope = anyio.CancelScope()
        self._results: list[ResultT] = []
        self._error: BaseException | None = None
        run_detached(partial(self._run, function), name, self.ended.set)

    async def _run(self, function: Callable[[], Awaitable[ResultT]]) -> None:
        try:
            with self._scope:
                self._results.append(await function())
        except BaseException as error:
            if ends_the_caller(error):
                raise
            self._error = error
        finally:
            self.ended.set()

    def cancel(self) -> None:
        """Cancel the call, without waiting for its end."""
        self._scope.cancel()

    async def result(self) -> ResultT:
        """Wait for the end of the call; return its result or raise its exception."""
        await self.ended.wait()
        if self._error is not None:
            raise self._error
        return self._results[0]


async def call_within(seconds: float, function: Callable[[], Awaitable[ResultT]]) -> ResultT:
    """Await a call for up to `seconds`, without waiting for its cleanup when it takes longer.

    Raises:
        TookTooLong: it did.
    """
    call = DetachedCall(function, "claudewire call")
    try:
        with anyio.move_on_after(seconds):
            return await call.result()
    except anyio.get_cancelled_exc_class():
        call.cancel()
        with anyio.CancelScope(shield=True):
            await call.ended.wait()
        raise
    call.cancel()
    raise TookTooLong
