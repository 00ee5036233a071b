"""A task outside of any task group, on asyncio and on trio.

A session is opened in one task and may be closed in another. A task group would have to be left by
the task that entered it, so the session's own task is started outside, and a task group inside it
holds the rest. The event loop still owns it: when the loop ends, it is cancelled.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

import anyio

__all__ = ["run_detached", "run_to_completion"]

ResultT = TypeVar("ResultT")

_running: set[Any] = set()


def run_detached(
    function: Callable[[], Coroutine[Any, Any, None]],
    name: str,
    never_ran: Callable[[], None] = lambda: None,
) -> None:
    """Start a task in the current context.

    Args:
        function: it must raise nothing but its cancellation: no caller would see it.
        name: of the task.
        never_ran: is called instead if asyncio ends before the function could begin, which then
            cannot clean up after itself.
    """
    if _in_trio():
        sys.modules["trio"].lowlevel.spawn_system_task(function, name=name, context=copy_context())
        return
    import asyncio

    has_begun = False

    async def run() -> None:
        nonlocal has_begun
        has_begun = True
        await function()

    def done(task: asyncio.Task[None]) -> None:
        _running.discard(task)
        if not has_begun:
            never_ran()

    task = asyncio.get_running_loop().create_task(run(), name=name)
    _running.add(task)  # the loop itself only remembers tasks weakly
    task.add_done_callback(done)


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


def _in_trio() -> bool:
    trio = sys.modules.get("trio")
    return trio is not None and trio.lowlevel.in_trio_task()
