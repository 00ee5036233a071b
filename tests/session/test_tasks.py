"""The tasks of a link: each is ended by its own means, and all together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import pytest

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


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_while_one_waits_another_task_is_kept_for_those_that_do_not() -> None:
    used: list[asyncio.Task[None] | None] = []
    answer = anyio.Event()

    async def nothing() -> None:
        pass

    async def serve(
        tasks: TaskSet, scope: anyio.CancelScope, handler: Callable[[], Awaitable[object]]
    ) -> None:
        used.append(asyncio.current_task())
        await handler()
        tasks.ended(scope)

    async with anyio.create_task_group() as group:
        tasks = TaskSet(group)

        def start(handler: Callable[[], Awaitable[object]]) -> None:
            scope = tasks.new_scope(at_once=True)
            tasks.start(scope, serve(tasks, scope, handler))

        loop = asyncio.get_running_loop()
        for handler in [answer.wait, nothing, nothing, nothing]:
            loop.call_soon(start, handler)  # in no task, as the reader of a pipe does
            await asyncio.sleep(0)
            await anyio.wait_all_tasks_blocked()
        waits, *others = used
        assert others == [others[0]] * 3  # the one that was started while the first was waiting
        assert waits is not others[0]
        answer.set()
        with anyio.fail_after(60):
            await asyncio.wait([task for task in (waits,) if task is not None])
        tasks.close()
        with anyio.fail_after(60):
            await asyncio.wait([task for task in others if task is not None])
