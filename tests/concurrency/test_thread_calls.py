"""A call in a thread that the event loop waits for, but only for a moment."""

from __future__ import annotations

import threading

import anyio
import pytest

from claudewire.concurrency import ThreadCall, run_soon, thread_starter
from claudewire.concurrency.threads import run_in_thread

pytestmark = pytest.mark.anyio

SOON = 10
"""Seconds; only a hang takes as long."""


@pytest.fixture(autouse=True)
async def a_thread_waits() -> None:
    """The first one cannot start while the event loop is blocked."""
    await run_in_thread(lambda: None)


async def test_a_call_that_ends_in_time_has_its_result() -> None:
    call = ThreadCall(threading.current_thread, thread_starter(), run_soon())
    assert call.ends_within(SOON)
    assert call.result is not threading.current_thread()
    assert 0 <= call.seconds < SOON
    with anyio.fail_after(SOON):
        await call.wait()


async def test_a_call_that_takes_longer_is_waited_for_in_a_task() -> None:
    may_end = threading.Event()

    def block() -> str:
        assert may_end.wait(SOON)
        return "done"

    call = ThreadCall(block, thread_starter(), run_soon())
    assert not call.ends_within(0)
    may_end.set()
    with anyio.fail_after(SOON):
        await call.wait()
    assert call.result == "done"


async def test_a_call_that_ends_when_the_time_is_over_has_ended() -> None:
    """The thread has said so before the event loop could say that it no longer waits."""
    ended = threading.Event()

    class Late(ThreadCall[str]):
        def _take(self) -> bool:
            is_thread = threading.current_thread() is not here
            if not is_thread:
                assert ended.wait(SOON)
            taken = super()._take()
            if is_thread:
                ended.set()
            return taken

    here = threading.current_thread()
    may_end = threading.Event()

    def block() -> str:
        assert may_end.wait(SOON)
        return "done"

    call = Late(block, thread_starter(), run_soon())
    threading.Timer(0, may_end.set).start()
    assert call.ends_within(0)
    assert call.result == "done"
    with anyio.fail_after(SOON):
        await call.wait()
