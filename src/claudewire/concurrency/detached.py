"""A task outside of any task group, on asyncio and on trio.

A session is opened in one task and may be closed in another. A task group would have to be left by
the task that entered it, so the session's own task is started outside, and a task group inside it
holds the rest. The event loop still owns it: when the loop ends, it is cancelled.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from functools import cache, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio

if TYPE_CHECKING:
    from .spare import SpareTask

__all__ = [
    "DetachedCall",
    "clock",
    "event_type",
    "in_trio",
    "is_task_cancelled",
    "run_detached",
    "run_to_completion",
    "scope_type",
    "sleep",
    "spare_task",
    "task_starter",
]

ResultT = TypeVar("ResultT")

_running: set[Any] = set()


def task_starter(name: str) -> Callable[[Coroutine[Any, Any, None]], Any]:
    """Return a function that starts a task in the current context.

    It returns the task, to be kept until it has ended: an event loop may remember it only weakly.
    The coroutine must raise nothing but its cancellation: no caller would see it.
    """
    if not in_trio():
        return partial(sys.modules["asyncio"].get_running_loop().create_task, name=name)
    spawn = sys.modules["trio"].lowlevel.spawn_system_task

    def start(coroutine: Coroutine[Any, Any, None]) -> Any:
        return spawn(_report_failure, lambda: coroutine, name=name, context=copy_context())

    return start


def run_detached(
    function: Callable[[], Coroutine[Any, Any, None]],
    name: str,
    has_ended: Callable[[], None] | None = None,
) -> None:
    """Start a task in the current context.

    Args:
        function: it must raise nothing but its cancellation: no caller would see it.
        name: of the task.
        has_ended: is called at the end of the task with asyncio, which may end before the function
            could begin; then that cannot clean up after itself.
    """
    task = task_starter(name)(function())
    if not in_trio():
        _running.add(task)
        task.add_done_callback(partial(_ended, has_ended))


def _ended(has_ended: Callable[[], None] | None, task: object) -> None:
    _running.discard(task)
    if has_ended is not None:
        has_ended()


async def _report_failure(function: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Report an exception, as asyncio does. With one of a system task, trio ends the event loop."""
    try:
        await function()
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)


async def run_to_completion(
    function: Callable[[], Coroutine[Any, Any, ResultT]], name: str
) -> ResultT:
    """Run a function in a task of its own, which goes on if the caller is cancelled.

    It has been started even if the caller was cancelled before. What it then raises is lost.
    """
    results: list[ResultT] = []
    errors: list[Exception] = []
    ended = anyio.Event()

    async def run() -> None:
        try:
            results.append(await function())
        except Exception as error:
            errors.append(error)
        finally:
            ended.set()

    run_detached(run, name, ended.set)
    await ended.wait()
    if errors:
        raise errors[0]
    return results[0]


class DetachedCall:
    """A call in a task of its own, which lasts at most as long as a block.

    At the end of the block the call is cancelled. It may have cleanup that cannot be cancelled; the
    block does not wait for that, unless it is left because of an exception.

    Args:
        function: what it raises is raised at the end of the block, if it has ended by then.
        name: of the task.

    Attributes:
        ended: set when the call has ended.
    """

    def __init__(self, function: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        self.ended: anyio.Event = anyio.Event()
        self._function = function
        self._name = name
        self._scope = anyio.CancelScope()
        self._failure: Exception | None = None

    async def _run(self) -> None:
        try:
            with self._scope:
                await self._function()
        except Exception as error:
            self._failure = error
        finally:
            self.ended.set()

    async def __aenter__(self) -> DetachedCall:
        run_detached(self._run, self._name, self.ended.set)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._scope.cancel()
        if error is not None and not isinstance(error, GeneratorExit):
            with anyio.CancelScope(shield=True):
                await self.ended.wait()
        elif self._failure is not None:
            raise self._failure


def is_task_cancelled() -> bool:
    """Whether asyncio has cancelled this task by itself, as it does with all when a loop ends."""
    if in_trio():
        return False
    task = sys.modules["asyncio"].current_task()
    return task is not None and task.cancelling() > 0


def clock() -> Callable[[], float]:
    """Return what `anyio.current_time` calls here. It takes a tenth of the time."""
    if in_trio():
        return cast("Callable[[], float]", sys.modules["trio"].current_time)
    import asyncio

    loop = asyncio.get_running_loop()
    is_usual = type(loop).time is asyncio.BaseEventLoop.time  # which only calls the other
    return time.monotonic if is_usual else loop.time


def scope_type() -> type[anyio.CancelScope]:
    """Return the class of what `anyio.CancelScope` makes here. It takes a fifth of the time."""
    return _scope_type(in_trio())


@cache
def _scope_type(_: bool) -> type[anyio.CancelScope]:
    return type(anyio.CancelScope())


def event_type() -> type[anyio.Event]:
    """Return the class of what `anyio.Event` makes here. It takes half the instructions."""
    return _event_type(in_trio())


@cache
def _event_type(_: bool) -> type[anyio.Event]:
    return type(anyio.Event())


async def sleep(seconds: float) -> None:
    """Do what `anyio.sleep` does, which looks for the event loop first."""
    await sys.modules["trio" if in_trio() else "asyncio"].sleep(seconds)


def spare_task(
    name: str,
    first: Coroutine[Any, Any, None] | None = None,
    scope: anyio.CancelScope | None = None,
) -> SpareTask | None:
    """Start a task that runs coroutines at once; None if this is trio, which has no such tasks.

    Args:
        name: of the task.
        first: a coroutine that runs in it as in any task, before the others.
        scope: what cancels that.
    """
    if in_trio():
        return None
    from .spare import SpareTask

    return SpareTask(name, first, scope)


def in_trio() -> bool:
    """Whether this is called in a task of trio, and not of asyncio."""
    trio = sys.modules.get("trio")
    return trio is not None and trio.lowlevel.in_trio_task()
