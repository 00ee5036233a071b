"""Functions of the application are called in a thread or in the event loop, as suits them."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Generator
from typing import Any

import anyio
import pytest

from claudewire.concurrency import (
    FunctionCancelled,
    FunctionExited,
    TookTooLong,
    call_function,
    call_plainly,
    call_within,
    check_function,
    ends_the_caller,
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


def exits() -> None:
    raise SystemExit(3)


def fails() -> None:
    raise KeyError("a bug")


def test_what_a_plain_function_raises_is_an_exception_in_any_case() -> None:
    assert call_plainly(max, 2, 3) == 3
    with pytest.raises(KeyError, match="a bug"):
        call_plainly(fails)
    with pytest.raises(FunctionExited, match=r"^exits raised SystemExit$") as caught:
        call_plainly(exits)
    assert isinstance(caught.value.__cause__, SystemExit)


async def test_a_call_ends_within_its_time_or_is_cancelled() -> None:
    was_cancelled = anyio.Event()

    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            was_cancelled.set()

    async def answer() -> int:
        return 42

    async def fail() -> None:
        fails()

    with anyio.fail_after(60):
        assert await call_within(60, answer) == 42
        with pytest.raises(KeyError, match="a bug"):
            await call_within(60, fail)
        with pytest.raises(TookTooLong):
            await call_within(0.001, wait)
        await was_cancelled.wait()


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (int, "int is a class, not a function; make an object of it: int()"),
        (3, "3 is not a function"),
        (lambda: (yield), "<lambda> yields"),
    ],
)
def test_what_is_no_function_is_said(function: object, error: str) -> None:
    with pytest.raises(TypeError) as caught:
        check_function(function)
    assert error in str(caught.value)


class Secretive(Callable):
    """Does not say what its arguments are."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    @property
    def __signature__(self) -> inspect.Signature:
        raise self.error("not known")


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_a_function_whose_arguments_are_not_known_is_one(error: type[Exception]) -> None:
    assert check_function(Secretive(error)) is None
    assert check_function(plain) == inspect.signature(plain)


def test_a_coroutine_that_is_closed_ends_and_one_that_raises_the_same_does_not() -> None:
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
    outcomes.append(ends_the_caller(GeneratorExit()))
    assert outcomes == [True, False, True]
