"""An alarm rings once for each time that is set, at that time, and not when it was stopped."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

from claudewire.concurrency import Alarm, Signal

SOON = 10


@asynccontextmanager
async def running(ring: Callable[[], None]) -> AsyncIterator[Alarm]:
    alarm = Alarm(ring)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            if alarm.needs_task:
                tasks.start_soon(alarm.run)
            yield alarm
            alarm.stop()
            tasks.cancel_scope.cancel()


@pytest.mark.anyio
async def test_an_alarm_rings_once_for_each_time() -> None:
    rang, signal = [], Signal()

    def ring() -> None:
        rang.append(True)
        signal.notify()

    async with running(ring) as alarm:
        alarm.set(anyio.current_time() + 0.001)
        await signal.until(lambda: bool(rang))
        alarm.set(anyio.current_time() + 0.001)
        await signal.until(lambda: len(rang) == 2)
        assert not await signal.until(lambda: len(rang) > 2, 0.005)


@pytest.mark.anyio
async def test_the_last_time_that_is_set_counts() -> None:
    rang, signal = [], Signal()

    def ring() -> None:
        rang.append(True)
        signal.notify()

    async with running(ring) as alarm:
        alarm.set(anyio.current_time() + 1000)
        await anyio.wait_all_tasks_blocked()
        alarm.set(anyio.current_time() + 0.001)
        await signal.until(lambda: bool(rang))
        alarm.set(anyio.current_time())
        alarm.set(math.inf)
        assert not await signal.until(lambda: len(rang) > 1, 0.005)
        alarm.set(anyio.current_time())
        alarm.stop()
        assert not await signal.until(lambda: len(rang) > 1, 0.005)


def test_what_it_calls_can_use_anyio_also_where_a_program_does_not() -> None:
    rang, ended = [], Signal()

    def ring() -> None:
        rang.append(type(anyio.CancelScope()).__module__)
        ended.notify()

    async def main() -> None:
        alarm = Alarm(ring)
        alarm.set(asyncio.get_running_loop().time())
        await ended.until(lambda: bool(rang), SOON)

    asyncio.run(main())  # and not with anyio, which remembers that it runs on asyncio
    assert rang == ["anyio._backends._asyncio"]
