"""Tasks, threads and event loops: waking, detached calls, and functions of the application."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Generator
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.helpers.peer import SOON

from claudewire.concurrency import (
    Mailbox,
    MailboxClosed,
    RunSoon,
    Signal,
    call_function,
    check_function,
    ends_the_caller,
    function_name,
    is_async_function,
    run_detached,
    run_soon,
)

pytestmark = pytest.mark.anyio


# --- waking ---------------------------------------------------------------------------------------


async def test_cancelled_waiter_leaves_the_others_of_a_signal_waiting() -> None:
    signal, woken = Signal(), []

    async def wait(name: str, scope: anyio.CancelScope) -> None:
        with scope:
            await signal.wait()
            woken.append(name)

    scopes = {name: anyio.CancelScope() for name in ("first", "second")}
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for name, scope in scopes.items():
                tasks.start_soon(wait, name, scope)
            await anyio.wait_all_tasks_blocked()
            scopes["first"].cancel()
            await anyio.wait_all_tasks_blocked()
            assert woken == []
            signal.notify()
    assert woken == ["second"]


async def test_until_returns_whether_the_condition_is_true_in_time() -> None:
    signal, values = Signal(), [1]
    with anyio.fail_after(SOON):
        assert await signal.until(lambda: True, 0)
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


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_run_soon_does_nothing_after_the_end_of_the_event_loop(backend: str) -> None:
    async def here() -> RunSoon:
        return run_soon()

    called: list[int] = []
    anyio.run(here, backend=backend)(lambda: called.append(1))
    assert called == []


async def test_mailbox_keeps_the_order_across_threads() -> None:
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


async def test_closed_mailbox_gives_its_items_and_takes_none() -> None:
    mailbox: Mailbox[str] = Mailbox()
    mailbox.put("a")
    mailbox.close()
    mailbox.put("b")
    with anyio.fail_after(SOON):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await mailbox.get()  # a cancelled reader takes nothing
        assert await mailbox.get() == "a"
        with pytest.raises(MailboxClosed):
            await mailbox.get()


def test_thread_waits_for_an_item_of_a_mailbox() -> None:
    mailbox: Mailbox[str] = Mailbox()
    received: list[str] = []
    thread = threading.Thread(target=lambda: received.append(mailbox.get_blocking(SOON)))
    thread.start()
    mailbox.put("a")
    thread.join(SOON)
    assert received == ["a"]
    with pytest.raises(TimeoutError):
        mailbox.get_blocking(0.001)
    mailbox.close()
    with pytest.raises(MailboxClosed):
        mailbox.get_blocking()


# --- detached calls -------------------------------------------------------------------------------


def test_error_of_a_detached_task_is_reported_by_trio(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[type[BaseException]] = []

    async def fail() -> None:
        raise ZeroDivisionError

    async def main() -> None:
        is_reported = anyio.Event()

        def hook(kind: type[BaseException], *_: object) -> None:
            reported.append(kind)
            is_reported.set()

        monkeypatch.setattr(sys, "excepthook", hook)
        run_detached(fail, "fails")
        with anyio.fail_after(SOON):
            await is_reported.wait()

    anyio.run(main, backend="trio")
    assert reported == [ZeroDivisionError]


def test_closed_coroutine_ends_its_caller() -> None:
    """A function that raises `GeneratorExit` does not."""

    def below() -> None:
        raise GeneratorExit

    outcomes: list[bool] = []

    def closed() -> Generator[None, None, None]:
        try:
            yield
        except GeneratorExit as error:
            outcomes.append(ends_the_caller(error))

    running = closed()
    next(running)
    running.close()
    try:
        below()
    except GeneratorExit as error:
        outcomes.append(ends_the_caller(error))
    assert outcomes == [True, False]


# --- functions of the application -----------------------------------------------------------------


def plain(*arguments: Any) -> Any:
    return (*arguments, threading.current_thread())


async def coroutine(*arguments: Any) -> Any:
    return (*arguments, threading.current_thread())


class AsyncCallable:
    async def __call__(self, *arguments: Any) -> Any:
        return await coroutine(*arguments)


@pytest.mark.parametrize("function", [plain, functools.partial(plain)])
async def test_plain_function_runs_in_a_thread(function: Any) -> None:
    assert not is_async_function(function)
    first, second, thread = await call_function(function, 1, 2)
    assert (first, second) == (1, 2)
    assert thread is not threading.current_thread()


@pytest.mark.parametrize("function", [coroutine, functools.partial(coroutine), AsyncCallable()])
async def test_async_function_runs_in_the_event_loop(function: Any) -> None:
    assert is_async_function(function)
    assert await call_function(function, 1) == (1, threading.current_thread())


async def test_coroutine_of_a_plain_function_is_awaited() -> None:
    assert await call_function(lambda: coroutine(1)) == (1, threading.current_thread())


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (int, "int is a class, not a function; make an object of it: int()"),
        (3, "3 is not a function"),
        (lambda: (yield), "<lambda> yields"),
    ],
)
def test_check_function_says_why_something_is_no_function(function: object, error: str) -> None:
    with pytest.raises(TypeError) as caught:
        check_function(function)
    assert error in str(caught.value)


def test_function_name_is_the_qualified_name() -> None:
    assert function_name(functools.partial(functools.partial(plain))) == "plain"
    assert function_name(AsyncCallable()) == "AsyncCallable"
