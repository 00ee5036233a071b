"""Cancels an operation at each of its await points, in every way."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

import anyio
import anyio.lowlevel
import trio
from tests.helpers.peer import SOON

Operation = Callable[[], Coroutine[Any, Any, Any]]

WAYS = [("asyncio", "scope"), ("trio", "scope"), ("asyncio", "task"), ("asyncio", "task, again")]
"""The backend, and the cancellation: of a scope of anyio, or of a task of asyncio, 1 or 3 times."""


class Stepping:
    """Awaits a coroutine; at the n-th point where it waits, and `times` in all, calls a function.

    It stands between the coroutine and the event loop: each thing that is yielded is such a point.
    """

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], at: int, call: Callable[[], object], times: int
    ) -> None:
        self.points = 0
        self._coroutine = coroutine
        self._at = at
        self._call = call
        self._times = times

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self._coroutine.__await__()
        value: Any = None
        error: BaseException | None = None
        while True:
            try:
                given = inner.send(value) if error is None else inner.throw(error)
            except StopIteration as stop:
                return stop.value
            self.points += 1
            if self._at <= self.points < self._at + self._times:
                self._call()
            value = error = None
            try:
                value = yield given
            except BaseException as thrown:
                error = thrown


async def cancel_at(point: int, operation: Operation, how: str) -> bool:
    """Cancel an operation at a point; tell whether it came that far.

    Exceptions other than its cancellation are raised.
    """
    if how == "scope":
        return await _cancel_scope(point, operation)
    return await _cancel_task(point, operation, 3 if "again" in how else 1)


async def _cancel_scope(point: int, operation: Operation) -> bool:
    with anyio.CancelScope() as scope:
        stepping = Stepping(operation(), point, scope.cancel, 1)
        if point == 0:
            scope.cancel()
        await stepping
    return scope.cancel_called


async def _cancel_task(point: int, operation: Operation, times: int) -> bool:
    reached = point == 0

    def cancel() -> None:
        nonlocal reached
        reached = True
        task.cancel()

    async def run() -> None:
        await Stepping(operation(), point, cancel, times)

    task = asyncio.get_running_loop().create_task(run())
    if point == 0:
        task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        assert reached
    return reached


def living_tasks() -> int:
    """Return the number of tasks in this event loop."""
    if trio.lowlevel.in_trio_task():
        return trio.lowlevel.current_statistics().tasks_living
    return len(asyncio.all_tasks())


def open_files() -> set[str]:
    """Return the open files of this process, by number and name."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{number} {os.readlink(f'/proc/self/fd/{number}')}")
        except FileNotFoundError:  # the one that has just listed them
            continue
    return found


async def at_every_point(
    try_it: Callable[[Callable[[Operation], Awaitable[bool]]], Awaitable[bool]], how: str
) -> int:
    """Repeat an operation, cancelled one point later each time, until it completes.

    Args:
        try_it: prepares, passes the operation to the function that it gets, checks the remains,
            and returns the result of this function.
        how: the cancellation.

    Returns:
        the number of points.
    """
    point = 0
    while True:
        before = living_tasks()

        async def cancel(operation: Operation, point: int = point) -> bool:
            return await cancel_at(point, operation, how)

        with anyio.fail_after(SOON):
            reached = await try_it(cancel)
            while living_tasks() > before:
                await anyio.lowlevel.checkpoint()
        if not reached:
            return point
        point += 1
