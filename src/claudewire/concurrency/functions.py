"""Calling the application's functions: handlers, hooks and tools, plain or async.

A plain function runs in a thread, so it may block. An async function runs in the event loop.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from .tasks import ends_the_caller

T = TypeVar("T")

_computing: RunVar[anyio.CapacityLimiter] = RunVar("claudewire computing")


class FunctionExited(Exception):
    """A function was cancelled, or raised something else that is not an `Exception`."""


def check_function(function: object) -> inspect.Signature | None:
    """Check that something is a function that returns its result.

    Returns:
        the signature; None if it is not known, as for some functions written in C.

    Raises:
        TypeError: it is something else.
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
    function = _unwrapped(function)
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def is_async_function(function: object) -> bool:
    """Whether calling this returns a coroutine: a coroutine function, or an object like one."""
    function = _unwrapped(function)
    call = getattr(function, "__call__", None)  # noqa: B004 an object may have an async one
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _unwrapped(function: object) -> object:
    while isinstance(function, functools.partial):
        function = function.func
    return function


async def call_function(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function and return its result, awaited if it is awaitable.

    If this call is cancelled, a function in a thread goes on, and its return value is dropped.

    Args:
        function: the function.
        arguments: its positional arguments.

    Raises:
        FunctionExited: the function was cancelled, but this call was not; or it raised something
            that is not an `Exception`. `SystemExit` would end an event loop of asyncio.
    """
    try:
        if is_async_function(function):
            returned = function(*arguments)
        else:
            returned = await call_in_thread(function, *arguments)
        return await returned if isinstance(returned, Awaitable) else returned
    except BaseException as error:
        if isinstance(error, Exception) or ends_the_caller(error):
            raise
        raise as_exception(function, error) from error


def as_exception(function: object, error: BaseException) -> Exception:
    """Return the exception of a function; one that names it if it is not an `Exception`."""
    if isinstance(error, Exception):
        return error
    return FunctionExited(f"{function_name(function)} raised {type(error).__name__}")


async def call_in_thread(
    function: Callable[..., Any], *arguments: Any, limiter: anyio.CapacityLimiter | None = None
) -> Any:
    """Call a function in a thread, which is abandoned if this call is cancelled.

    Raises:
        FunctionExited: the function raised something that is not an `Exception`.
    """

    def run() -> tuple[Any, BaseException | None]:
        try:
            return function(*arguments), None
        except BaseException as error:  # which would mean something else in the task that waits
            return None, error

    limiter = limiter or anyio.CapacityLimiter(math.inf)
    returned, error = await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=limiter)
    if error is not None:
        raise as_exception(function, error) from error.__cause__
    return returned


async def compute_in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function that computes for long in a thread.

    One at a time for each event loop, which gets the interpreter again only after each of them.
    """
    try:
        limiter = _computing.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(1)
        _computing.set(limiter)
    result: T = await call_in_thread(function, *arguments, limiter=limiter)
    return result
