"""Calls outside of any task group: where their errors go."""

from __future__ import annotations

import gc
import sys
import weakref

import anyio
import anyio.lowlevel
import pytest

from claudewire.concurrency import DetachedCall, Signal, detached, event_type, run_detached, sleep

SOON = 10


async def fail() -> None:
    raise ZeroDivisionError("in the call")


@pytest.mark.anyio
async def test_an_error_of_a_detached_call_is_raised_when_it_is_left() -> None:
    with anyio.fail_after(SOON), pytest.raises(ZeroDivisionError, match="in the call"):
        async with DetachedCall(fail, "fails") as call:
            await call.ended.wait()


@pytest.mark.anyio
async def test_an_error_of_the_caller_goes_before_that_of_the_call() -> None:
    async def leave() -> None:
        async with DetachedCall(fail, "fails") as call:
            await call.ended.wait()
            raise KeyError("of the caller")

    with anyio.fail_after(SOON), pytest.raises(KeyError, match="of the caller"):
        await leave()


@pytest.mark.anyio
async def test_a_call_that_is_not_over_when_its_block_is_left_is_cancelled() -> None:
    was_cancelled = anyio.Event()

    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            was_cancelled.set()

    with anyio.fail_after(SOON):
        async with DetachedCall(wait, "waits") as call:
            await anyio.wait_all_tasks_blocked()
            assert not call.ended.is_set()
        await was_cancelled.wait()
        await call.ended.wait()


@pytest.mark.anyio
async def test_a_detached_task_is_kept_while_it_runs_and_no_longer() -> None:
    class Referred(Signal):
        """One that can be referred to weakly."""

    waiting: list[weakref.ref[Signal]] = []

    async def wait() -> None:
        signal = Referred()  # nothing else refers to it
        waiting.append(weakref.ref(signal))
        await signal.wait()

    with anyio.fail_after(SOON):
        before = len(detached._running)
        run_detached(wait, "waits")
        await anyio.wait_all_tasks_blocked()
        gc.collect()
        signal = waiting[0]()
        assert signal is not None
        signal.notify()
        while len(detached._running) > before:
            await anyio.lowlevel.checkpoint()


def test_with_trio_an_error_of_a_detached_task_is_reported_and_the_loop_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported: list[type[BaseException]] = []

    async def main() -> None:
        told = anyio.Event()

        def hook(kind: type[BaseException], *_: object) -> None:
            reported.append(kind)
            told.set()

        monkeypatch.setattr(sys, "excepthook", hook)
        run_detached(fail, "fails")
        with anyio.fail_after(SOON):
            await told.wait()

    anyio.run(main, backend="trio")
    assert reported == [ZeroDivisionError]


@pytest.mark.anyio
async def test_an_event_is_that_of_the_event_loop() -> None:
    event = event_type()()
    assert type(event) is type(anyio.Event())
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(event.wait)
            await anyio.wait_all_tasks_blocked()
            event.set()


@pytest.mark.anyio
async def test_a_pause_lets_others_run_and_can_be_cancelled() -> None:
    seen: list[str] = []

    async def note() -> None:
        seen.append("other")

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(note)
            await sleep(0)
            await sleep(0.001)
            assert seen == ["other"]
        with anyio.move_on_after(0.001) as scope:
            await sleep(SOON)
    assert scope.cancelled_caught
