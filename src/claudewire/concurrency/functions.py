"""Calling the application's functions: handlers, hooks and tools, plain or async.

A plain function runs in a thread, so it may block. An async function runs in the event loop.
"""

from __future__ import annotations

import functools
import inspect
import math
import threading
from collections.abc import Awaitable, Callable
from types import CoroutineType, FunctionType
from typing import Any, TypeVar

import anyio

from .detached import DetachedCall, is_task_cancelled
from .threads import run_in_thread

__all__ = [
    "FunctionCancelled",
    "FunctionExited",
    "TookTooLong",
    "as_exception",
    "call_function",
    "call_in_thread",
    "call_plainly",
    "call_within",
    "check_function",
    "compute_in_thread",
    "ends_the_caller",
    "function_name",
    "is_async_function",
]


T = TypeVar("T")

_COROUTINE = inspect.CO_COROUTINE


class FunctionCancelled(Exception):
    """A function ended because something that it waited for was cancelled."""


class FunctionExited(Exception):
    """A function raised `SystemExit`, or something else that is not an `Exception`."""


class TookTooLong(Exception):
    """A call did not end in time. It was cancelled, and is no longer waited for."""


def ends_the_caller(error: BaseException) -> bool:
    """Whether an exception is not the function's that was called: the caller itself has to end.

    It is cancelled, or its coroutine is being closed. Everything else comes from the function.
    """
    if isinstance(error, GeneratorExit):
        # One that a function has raised comes from a frame below.
        return error.__traceback__ is None or error.__traceback__.tb_next is None
    if isinstance(error, Exception):
        return False
    if not isinstance(error, anyio.get_cancelled_exc_class()):
        return False
    return anyio.current_effective_deadline() == -math.inf or is_task_cancelled()


def check_function(function: object) -> inspect.Signature | None:
    """Check that something is a function that returns its result, and return its signature.

    Returns:
        the signature; None if it is not known, as for some functions written in C.

    Raises:
        TypeError: it is something else; the message says what.
    """
    if isinstance(function, type):
        name = function.__name__
        raise TypeError(f"{name} is a class, not a function; make an object of it: {name}()")
    if not callable(function):
        raise TypeError(f"{function!r} is not a function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function_name(function)} yields")
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def function_name(function: object) -> str:
    """Return the qualified name of a function, for messages and log lines."""
    if isinstance(function, FunctionType):
        return function.__qualname__
    function = _unwrapped(function)
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def is_async_function(function: object) -> bool:
    """Whether calling this returns a coroutine: a coroutine function, or an object like one."""
    if type(function) is FunctionType and not function.__dict__:
        # As most are; the rest takes twenty times as long.
        return function.__code__.co_flags & _COROUTINE != 0
    function = _unwrapped(function)
    call = getattr(function, "__call__", None)  # noqa: B004 an object may have an async one
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _unwrapped(function: object) -> object:
    while isinstance(function, functools.partial):
        function = function.func
    return function


async def call_function(
    function: Callable[..., Any], *arguments: Any, limiter: anyio.CapacityLimiter | None = None
) -> Any:
    """Call a function and return what it returns, awaited if it is awaitable.

    If this call is cancelled, a function that runs in a thread goes on by itself, and its return
    value is dropped.

    Args:
        function: the function.
        arguments: its positional arguments.
        limiter: limits how many threads run at once; no limit if left out.

    Raises:
        FunctionCancelled: the function was cancelled, but this call was not.
        FunctionExited: the function raised something that is not an `Exception`. In a task of
            asyncio, `SystemExit` would end the event loop, and all sessions in it.
    """
    try:
        if is_async_function(function):
            returned = function(*arguments)
        else:
            returned = await call_in_thread(function, *arguments, limiter=limiter)
        # An abstract class takes long to say what is one of its instances.
        if type(returned) is CoroutineType or isinstance(returned, Awaitable):
            return await returned
        return returned
    except Exception:
        raise
    except BaseException as error:
        if ends_the_caller(error):
            raise
        raise as_exception(function, error) from error


def as_exception(function: object, error: BaseException) -> Exception:
    """Return what an async function has raised, or what says that it has raised something else."""
    if isinstance(error, Exception):
        return error
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return FunctionCancelled(f"{function_name(function)} was cancelled")
    return _exited(function, error)


async def call_in_thread(
    function: Callable[..., Any], *arguments: Any, limiter: anyio.CapacityLimiter | None = None
) -> Any:
    """Call a function in a thread, which is abandoned if this call is cancelled.

    Raises:
        FunctionExited: it raised something that is not an `Exception`.
    """

    def run() -> tuple[Any, BaseException | None]:
        try:
            return function(*arguments), None
        except BaseException as error:  # which would mean something else in the task that waits
            return None, error

    returned, error = await run_in_thread(run, limiter)
    if isinstance(error, Exception):
        raise error
    if error is not None:
        raise _exited(function, error) from error
    return returned


def call_plainly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in this thread, which is not that of an event loop.

    Raises:
        FunctionExited: it raised something that is not an `Exception`.
    """
    try:
        return function(*arguments)
    except Exception:
        raise
    except BaseException as error:
        raise _exited(function, error) from error


_computing = threading.Lock()


async def compute_in_thread(
    function: Callable[..., T], *arguments: Any, limiter: anyio.CapacityLimiter
) -> T:
    """Call a function that computes for long in a thread, so that the event loop can go on.

    Only one of them runs at a time in the whole process: the loop would have to wait for each of
    several threads before it gets the interpreter again.

    Args:
        function: the function.
        arguments: its positional arguments.
        limiter: with one token, so that no more than one thread waits for its turn.
    """

    def run() -> T:
        with _computing:
            return function(*arguments)

    result: T = await call_in_thread(run, limiter=limiter)
    return result


def _exited(function: object, error: BaseException) -> FunctionExited:
    return FunctionExited(f"{function_name(function)} raised {type(error).__name__}")


async def call_within(seconds: float, call: Callable[[], Awaitable[T]]) -> T:
    """Await a call for up to some seconds. If it takes longer, its cleanup is not waited for.

    Raises:
        TookTooLong: it did.
    """
    outcome: list[Callable[[], T]] = []

    async def run() -> None:
        try:
            returned = await call()
        except BaseException as error:
            if ends_the_caller(error):
                raise
            outcome.append(functools.partial(_raise, error))
        else:
            outcome.append(lambda: returned)

    async with DetachedCall(run, "claudewire call") as task:
        with anyio.move_on_after(seconds):
            await task.ended.wait()
    if not outcome:
        raise TookTooLong
    return outcome[0]()


def _raise(error: BaseException) -> Any:
    raise error
