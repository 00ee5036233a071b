"""The tasks of a link: each is ended by its own means, and all together."""

from __future__ import annotations

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
