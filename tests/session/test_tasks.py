"""The tasks of a link: each is ended by its own means, and all together."""

from __future__ import annotations

import asyncio
import gc
import weakref
from functools import partial

import anyio
import pytest
from anyio.abc import TaskGroup

from claudewire.session.tasks import TaskSet

pytestmark = pytest.mark.anyio


async def test_to_cancel_all_is_no_failure_of_any() -> None:
    async with anyio.create_task_group() as group:
        tasks = TaskSet(group)
        tasks.start_soon(anyio.sleep_forever)
        await anyio.wait_all_tasks_blocked()
        assert not tasks.is_cancelled
        assert await tasks.cancel(60)
        assert tasks.is_cancelled


async def test_where_nothing_runs_nothing_is_cancelled() -> None:
    async with anyio.create_task_group() as group:
        tasks = TaskSet(group)
        assert await tasks.cancel(60)
        assert not tasks.is_cancelled


class Served:
    """Serves some requests with a set of tasks, as a link does."""

    def __init__(self, group: TaskGroup) -> None:
        self.tasks = TaskSet(group)
        self.used: list[asyncio.Task[None] | None] = []
        self.at_once: list[bool] = []
        """Of each, whether it had begun when its start was over."""
        self.futures: list[weakref.ref[asyncio.Future[None]]] = []
        self.scopes: list[weakref.ref[anyio.CancelScope]] = []

    def start(self, *, waits: bool, at_once: bool = True) -> None:
        scope = self.tasks.new_scope(at_once=at_once)
        self.scopes.append(weakref.ref(scope))
        self.tasks.start(scope, self._serve(scope, waits))
        self.at_once.append(len(self.used) == len(self.scopes))

    async def _serve(self, scope: anyio.CancelScope, waits: bool) -> None:
        self.used.append(asyncio.current_task())
        try:
            if waits:
                future = asyncio.get_running_loop().create_future()  # nothing else refers to it
                self.futures.append(weakref.ref(future))
                await future
        finally:
            self.tasks.ended(scope)

    async def start_outside(self, *, waits: bool, at_once: bool = True) -> None:
        """Start one in no task, as the reader of a pipe does."""
        start = partial(self.start, waits=waits, at_once=at_once)
        asyncio.get_running_loop().call_soon(start)
        await asyncio.sleep(0)
        await anyio.wait_all_tasks_blocked()

    def answer_all(self) -> None:
        for future in [it() for it in self.futures]:
            assert future is not None
            future.set_result(None)

    async def until_ended(self, *tasks: asyncio.Task[None] | None) -> None:
        with anyio.fail_after(60):
            await asyncio.wait([task for task in tasks if task is not None])


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_while_one_waits_another_task_is_kept_for_those_that_do_not() -> None:
    async with anyio.create_task_group() as group:
        served = Served(group)
        for waits in (True, False, False, True, False, False):
            await served.start_outside(waits=waits)
        served.start(waits=False)  # in another task, where it cannot begin at once
        await anyio.wait_all_tasks_blocked()
        await served.start_outside(waits=False)
        first, second, *rest = served.used
        assert rest[:2] == [second] * 2
        third = rest[2]
        assert rest == [second, second, third, third, rest[4], third]
        assert len({first, second, third, rest[4]}) == 4
        assert served.at_once == [False, False, True, True, True, True, False, True]
        await served.start_outside(waits=False, at_once=False)
        assert served.at_once[-1] is False
        assert served.used[-1] is not third
        served.answer_all()
        await served.until_ended(first, second)
        assert third is not None
        assert not third.done()
        served.tasks.close()
        await served.until_ended(third)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_one_that_waits_is_kept_until_it_has_ended_and_no_longer() -> None:
    async with anyio.create_task_group() as group:
        served = Served(group)
        for _ in range(3):
            served.start(waits=True)
        await anyio.wait_all_tasks_blocked()
        served.used.clear()
        gc.collect()
        served.answer_all()
        await anyio.wait_all_tasks_blocked()
        assert await served.tasks.cancel(60)
        assert not served.tasks.is_cancelled  # nothing was left to cancel
        served.tasks.close()
        await anyio.wait_all_tasks_blocked()
        gc.collect()
        assert [scope() for scope in served.scopes] == [None] * 3


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_after_the_end_no_task_is_kept_for_others() -> None:
    async with anyio.create_task_group() as group:
        served = Served(group)
        served.tasks.start_soon(anyio.sleep_forever)
        served.start(waits=False)
        await anyio.wait_all_tasks_blocked()
        assert await served.tasks.cancel(60)
        with anyio.CancelScope(shield=True):
            await served.until_ended(*served.used)  # also the one that waits for others
            served.start(waits=False)
            await anyio.wait_all_tasks_blocked()
            await served.until_ended(*served.used)
