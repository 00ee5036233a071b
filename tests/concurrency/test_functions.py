"""Functions of the application are called in a thread or in the event loop, as suits them."""

from __future__ import annotations

import functools
import threading
from typing import Any

import anyio
import pytest

from claudewire.concurrency import (
    FunctionCancelled,
    call_function,
    function_name,
    is_async_function,
)

pytestmark = pytest.mark.anyio


def plain(*arguments: Any) -> Any:
    return (*arguments, threading.current_thread())


async def coroutine(*arguments: Any) -> Any:
    return (*arguments, threading.current_thread())


class Callable:
    def __call__(self, *arguments: Any) -> Any:
        return plain(*arguments)

    async def method(self, *arguments: Any) -> Any:
        return await coroutine(*arguments)


class AsyncCallable:
    async def __call__(self, *arguments: Any) -> Any:
        return await coroutine(*arguments)


PLAIN = [plain, functools.partial(plain), Callable(), lambda *given: plain(*given)]
ASYNC = [coroutine, functools.partial(coroutine), Callable().method, AsyncCallable()]


@pytest.mark.parametrize("function", PLAIN)
async def test_a_plain_function_runs_in_a_thread(function: Any) -> None:
    assert not is_async_function(function)
    first, second, thread = await call_function(function, 1, 2)
    assert (first, second) == (1, 2)
    assert thread is not threading.current_thread()


@pytest.mark.parametrize("function", ASYNC)
async def test_an_async_function_runs_in_the_event_loop(function: Any) -> None:
    assert is_async_function(function)
    assert await call_function(function, 1) == (1, threading.current_thread())


async def test_a_coroutine_that_a_plain_function_returns_is_awaited() -> None:
    assert await call_function(lambda: coroutine(1)) == (1, threading.current_thread())


def test_a_function_is_named_as_it_is_written() -> None:
    assert function_name(functools.partial(functools.partial(plain))) == "plain"
    assert function_name(Callable().method) == "Callable.method"
    assert function_name(Callable()) == "Callable"


async def test_what_a_function_raises_is_raised() -> None:
    def fail() -> None:
        raise ZeroDivisionError("by design")

    with pytest.raises(ZeroDivisionError, match="by design"):
        await call_function(fail)


async def test_a_function_that_is_cancelled_from_elsewhere_has_failed() -> None:
    async def cancelled() -> None:
        raise anyio.get_cancelled_exc_class().__new__(anyio.get_cancelled_exc_class())

    with pytest.raises(FunctionCancelled, match="cancelled was cancelled"):
        await call_function(cancelled)


async def test_the_cancellation_of_the_caller_stays_a_cancellation() -> None:
    with anyio.move_on_after(0) as scope:
        await call_function(anyio.sleep_forever)
    assert scope.cancelled_caught
