"""What tasks wait for: that it wakes them, and is remembered."""

from __future__ import annotations

import anyio
import pytest

from claudewire.concurrency import Flag

SOON = 10


@pytest.mark.anyio
async def test_a_flag_wakes_all_that_wait_and_is_set_for_those_that_come_later() -> None:
    flag, woken = Flag(), []

    async def wait(name: str) -> None:
        await flag.wait()
        woken.append(name)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait, "first")
            tasks.start_soon(wait, "second")
            await anyio.wait_all_tasks_blocked()
            assert [woken, flag.is_set()] == [[], False]
            flag.set()
        await wait("later")
    assert [sorted(woken), flag.is_set()] == [["first", "later", "second"], True]
