"""What tasks wait for: that it wakes them, and is remembered."""

from __future__ import annotations

import anyio
import pytest

from claudewire.concurrency import Flag, Signal

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
