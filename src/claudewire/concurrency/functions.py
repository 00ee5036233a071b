"""Calling the application's functions: handlers, hooks and tools, plain or async.

A plain function runs in a thread, so it may block. An async function runs in the event loop.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.to_thread

__all__ = [
    "FunctionCancelled",
    "call_function",
    "call_in_thread",
    "check_function",
    "function_name",
    "is_async_function",
]


class FunctionCancelled(Exception):
    """A function ended because something that it waited for was cancelled."""


def check_function(function: object) -> inspect.Signature | None:
    """Check that something is a function that returns its result, and return its signature.

    Returns:
        the signature; None if it is not known, as for some functions written in C.

    Raises:
        TypeError: it is something else; the message says what.
    """
    if isinstance(function, type) or not callable(function):
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


async def call_function(
    function: Callable[..., Any], *arguments: Any, limiter: anyio.CapacityLimiter | None = None
) -> Any:
    """Call a function and return what it returns, awaited if it is awaitable.

    If this call is cancelled, a function that runs in a thread goes on by itself, and its return
    value is dropped.

    Args:
        function: the function.
        arguments: its positional arguments.
        limiter: limits how many threads run at once; anyio's default limiter if left out.

    Raises:
        FunctionCancelled: the function was cancelled, but this call was not.
    """
    try:
        if is_async_function(function):
            returned = function(*arguments)
        else:
            returned = await call_in_thread(function, *arguments, limiter=limiter)
        return await returned if isinstance(returned, Awaitable) else returned
    except anyio.get_cancelled_exc_class() as error:
        if anyio.current_effective_deadline() == -math.inf:
            raise  # it is this call that was cancelled
        raise FunctionCancelled(f"{function_name(function)} was cancelled") from error


async def call_in_thread(
    function: Callable[..., Any], *arguments: Any, limiter: anyio.CapacityLimiter | None = None
) -> Any:
    """Call a function in a thread, which is abandoned if this call is cancelled."""
    # In a tuple: trio does not accept a coroutine as the return value of a thread.
    (returned,) = await anyio.to_thread.run_sync(
        lambda: (function(*arguments),), abandon_on_cancel=True, limiter=limiter
    )
    return returned
