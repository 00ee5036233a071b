"""Plain functions are called in threads that wait ready for the next call."""

from __future__ import annotations

import threading
import weakref
from contextvars import Context, ContextVar
from functools import partial
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest
import sniffio

from claudewire.concurrency import ThreadCall, run_soon, thread_starter, threads
from claudewire.concurrency.threads import run_in_thread

pytestmark = pytest.mark.anyio

SOON = 10
"""Seconds; only a hang takes as long."""


def here() -> threading.Thread:
    return threading.current_thread()


async def test_a_call_that_follows_has_the_same_thread() -> None:
    first = await run_in_thread(here)
    assert first is not here()
    assert await run_in_thread(here) is first


async def test_calls_at_the_same_time_have_threads_of_their_own() -> None:
    both = threading.Barrier(2, timeout=SOON)
    found: list[int] = []

    async def call() -> None:
        found.append(await run_in_thread(both.wait))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        tasks.start_soon(call)
    assert sorted(found) == [0, 1]


class Watched(list[Any]):
    """The threads that wait; says when one of them ends."""

    def __init__(self, threads: list[Any]) -> None:
        super().__init__(threads)
        self.ends = threading.Event()

    def remove(self, jobs: Any) -> None:
        super().remove(jobs)
        self.ends.set()


async def test_a_thread_that_nothing_calls_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "KEPT_FOR", 0.001)
    ready = threads._threads()._ready = Watched([])
    await run_in_thread(here)
    assert await anyio.to_thread.run_sync(ready.ends.wait, SOON)
    assert await run_in_thread(lambda: 1) == 1


async def test_a_call_for_a_thread_that_is_about_to_end_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The event loop has taken the thread, and has not put the call into its queue yet."""
    monkeypatch.setattr(threads, "KEPT_FOR", 0.001)
    called = threading.Event()

    class Taken(Watched):
        def remove(self, jobs: Any) -> None:
            self.clear()  # the event loop is quicker
            jobs.put(threads._Call(Context(), called.set, lambda: None, repr))
            raise ValueError

    threads._threads()._ready = Taken([])
    await run_in_thread(here)
    assert await anyio.to_thread.run_sync(called.wait, SOON)


async def test_a_call_sees_the_context_of_its_task_and_no_event_loop() -> None:
    name: ContextVar[str] = ContextVar("name")
    name.set("ours")

    def look() -> str:
        with pytest.raises(sniffio.AsyncLibraryNotFoundError):
            sniffio.current_async_library()
        return name.get()

    assert await run_in_thread(look) == "ours"


async def test_a_call_can_call_back_into_the_event_loop() -> None:
    async def add(a: int, b: int) -> int:
        return a + b

    assert await run_in_thread(partial(anyio.from_thread.run, add, 2, 3)) == 5


async def test_if_the_system_has_no_more_threads_that_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*given: object, **options: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched, anyio.fail_after(SOON):
        patched.setattr(anyio.to_thread, "run_sync", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            await run_in_thread(here)
        call = ThreadCall(here, thread_starter(), run_soon())
        assert not call.ends_within(0)
        with pytest.raises(RuntimeError, match="new thread"):
            await call.wait()
    assert await run_in_thread(here) is not here()


async def test_a_thread_that_waits_for_the_next_call_does_not_keep_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "KEPT_FOR", 2 * SOON)

    def function() -> None:
        pass

    was = weakref.ref(function)
    call = ThreadCall(function, thread_starter(), run_soon())
    if not call.ends_within(0):
        await call.wait()
    del call, function
    with anyio.fail_after(SOON):
        while was() is not None:
            await anyio.lowlevel.checkpoint()


async def test_a_caller_that_is_cancelled_does_not_wait() -> None:
    began, go = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        go.wait(SOON)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_in_thread, work)
            assert await run_in_thread(partial(began.wait, SOON))
            tasks.cancel_scope.cancel()
        assert await run_in_thread(here) is not here()  # in another thread
    go.set()


async def test_a_limiter_bounds_how_many_run_at_once() -> None:
    limiter = anyio.CapacityLimiter(1)
    running, most = 0, 0

    def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        running -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(partial(run_in_thread, work, limiter))
    assert most == 1
    assert limiter.borrowed_tokens == 0


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_threads_end_with_the_event_loop(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "KEPT_FOR", 2 * SOON)  # by itself it would end too late
    work, ended = threads._Threads._work, threading.Event()

    def work_and_tell(self: threads._Threads, jobs: Any) -> None:
        work(self, jobs)
        ended.set()

    monkeypatch.setattr(threads._Threads, "_work", work_and_tell)
    anyio.run(run_in_thread, here, backend=backend)
    assert ended.wait(SOON)
