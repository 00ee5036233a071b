"""What tasks wait for: that it wakes them, and is remembered."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextvars import Context
from typing import TypeVarTuple, Unpack

import anyio
import pytest

from claudewire.concurrency import Flag, Signal

SOON = 10

Ts = TypeVarTuple("Ts")


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


@pytest.mark.anyio
async def test_a_task_that_is_cancelled_while_it_waits_for_a_signal_leaves_the_others_waiting() -> (
    None
):
    signal, woken = Signal(), []

    async def wait(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            await signal.wait()
            woken.append(name)

    scopes = {name: anyio.CancelScope() for name in ("first", "second", "third")}
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for name, scope in scopes.items():
                tasks.start_soon(wait, name, scope)
            await anyio.wait_all_tasks_blocked()
            scopes["first"].cancel()
            await anyio.wait_all_tasks_blocked()
            assert woken == []
            scopes["second"].cancel()  # at the same time
            signal.notify()
        assert woken == ["third"]
        with anyio.move_on_after(0):  # it is no longer notified
            await signal.wait()
            woken.append("again")
    assert woken == ["third"]


@pytest.mark.anyio
async def test_a_wait_with_a_limit_says_whether_it_has_come_true() -> None:
    signal, values = Signal(), [1]
    with anyio.fail_after(SOON):
        assert await signal.until(lambda: True, 0)
        assert not await signal.until(lambda: False, 0)
        assert not await signal.until(lambda: False, 0.001)
        async with anyio.create_task_group() as tasks:

            async def change() -> None:
                await anyio.wait_all_tasks_blocked()
                signal.notify()  # nothing has changed
                await anyio.wait_all_tasks_blocked()
                values.clear()
                signal.notify()

            tasks.start_soon(change)
            assert await signal.until(lambda: not values, SOON)
        assert not await Flag().wait(0)


@pytest.mark.anyio
async def test_a_wait_with_a_limit_can_be_cancelled() -> None:
    signal, came_back = Signal(), []

    async def wait() -> None:
        await signal.until(lambda: False, SOON)
        came_back.append(True)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert came_back == []


class FiniteLoop(asyncio.SelectorEventLoop):
    """Refuses a timer that never ends, as the event loop uvloop does."""

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        assert math.isfinite(delay)
        return super().call_later(delay, callback, *args, context=context)


def test_a_limit_without_an_end_needs_no_timer() -> None:
    signal, values = Signal(), [1]

    def change() -> None:
        values.clear()
        signal.notify()

    async def wait() -> bool:
        asyncio.get_running_loop().call_soon(change)
        return await signal.until(lambda: not values, math.inf)

    with asyncio.Runner(loop_factory=FiniteLoop) as runner:
        assert runner.run(wait())
