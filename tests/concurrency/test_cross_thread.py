"""Tasks are woken from any thread, on both event loops."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest
from tests.helpers.clock import simulated_time
from tests.people.asking import SOON

from claudewire.concurrency import Latch, Mailbox, MailboxClosed, RunSoon, run_soon

pytestmark = pytest.mark.anyio


def in_a_thread(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function)
    thread.start()
    return thread


async def test_a_latch_that_is_set_holds_nobody_up() -> None:
    latch = Latch()
    assert not latch.is_set()
    latch.set()
    assert latch.is_set()
    with anyio.fail_after(SOON):
        await latch.wait()


async def test_a_cancelled_task_gets_nothing_even_if_it_is_there() -> None:
    latch, mailbox = Latch(), Mailbox[str]()
    latch.set()
    mailbox.put("kept")
    for call in (latch.wait, mailbox.get):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await call()
        assert scope.cancelled_caught
    with anyio.fail_after(SOON):
        assert await mailbox.get() == "kept"


async def test_a_latch_is_set_from_another_thread() -> None:
    latch, woken = Latch(), []

    async def wait(name: str) -> None:
        await latch.wait()
        woken.append(name)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for name in "abc":
                tasks.start_soon(wait, name)
            await anyio.wait_all_tasks_blocked()
            assert woken == []
            in_a_thread(latch.set).join()
    assert sorted(woken) == ["a", "b", "c"]


@simulated_time
async def test_a_task_that_stops_waiting_is_forgotten() -> None:
    latch = Latch()
    with anyio.move_on_after(0.001):
        await latch.wait()
    assert latch._waiters._waiting == {}
    latch.set()


def test_one_latch_wakes_tasks_of_several_event_loops() -> None:
    latch, waiting = Latch(), threading.Semaphore(0)
    woken: list[str] = []

    async def wait(name: str) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(latch.wait)
            await anyio.wait_all_tasks_blocked()
            waiting.release()
        woken.append(name)

    threads = [
        threading.Thread(target=anyio.run, args=(wait, name), kwargs={"backend": name})
        for name in ("asyncio", "trio")
    ]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert waiting.acquire(timeout=SOON)
    latch.set()
    for thread in threads:
        thread.join(SOON)
    assert sorted(woken) == ["asyncio", "trio"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_nothing_happens_when_the_event_loop_is_gone(backend: str) -> None:
    async def here() -> RunSoon:
        return run_soon()

    soon = anyio.run(here, backend=backend)
    called: list[int] = []
    soon(lambda: called.append(1))
    assert called == []


async def test_what_is_put_into_a_mailbox_comes_out_in_order() -> None:
    mailbox: Mailbox[int] = Mailbox()
    received: list[int] = []

    async def read() -> None:
        while len(received) < 100:
            received.append(await mailbox.get())

    def write() -> None:
        for number in range(100):
            mailbox.put(number)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.to_thread.run_sync(write)
    assert received == list(range(100))


async def test_a_closed_mailbox_gives_what_it_has_and_takes_nothing() -> None:
    mailbox: Mailbox[str] = Mailbox()
    mailbox.put("a")
    mailbox.close()
    mailbox.put("b")
    with anyio.fail_after(SOON):
        assert await mailbox.get() == "a"
        with pytest.raises(MailboxClosed):
            await mailbox.get()


async def test_a_reader_is_let_go_when_the_mailbox_closes() -> None:
    mailbox: Mailbox[str] = Mailbox()

    async def read() -> None:
        with pytest.raises(MailboxClosed):
            await mailbox.get()

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            in_a_thread(mailbox.close).join()


@simulated_time
async def test_a_reader_that_is_cancelled_loses_nothing() -> None:
    mailbox: Mailbox[str] = Mailbox()
    with anyio.move_on_after(0.001):
        await mailbox.get()
    mailbox.put("a")
    with anyio.fail_after(SOON):
        assert await mailbox.get() == "a"


def test_a_thread_waits_for_what_comes() -> None:
    mailbox: Mailbox[str] = Mailbox()
    received: list[str] = []
    thread = in_a_thread(lambda: received.append(mailbox.get_blocking(SOON)))
    mailbox.put("a")
    thread.join(SOON)
    assert received == ["a"]
    with pytest.raises(TimeoutError):
        mailbox.get_blocking(0.001)
    mailbox.close()
    with pytest.raises(MailboxClosed):
        mailbox.get_blocking()
