"""Calling whoever decides: functions and coroutine functions, and what is done when they fail.

A handler gets one argument, the request, and returns an answer that was made with its methods. A
plain function is called in a thread, so it may wait for a person; a coroutine function runs in the
session's event loop. A handler that raises, or returns something else, has said no.
"""

from __future__ import annotations

import functools
import inspect
import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from ..errors import OptionsError
from .pending import Pending

__all__ = ["Handler", "call_handler", "check_handler", "run_handler"]

logger: logging.Logger = logging.getLogger("claudewire.people")

AnswerT = TypeVar("AnswerT")

Handler = Callable[[Any], Any]
"""Any handler: what it is called with, and what it may return, depends on what it is for."""

FAILED = "The application failed to decide about this, so the answer is no."


def check_handler(handler: object, kind: str) -> None:
    """Check that something can be called with a request, before there is one.

    Args:
        handler: a function, a coroutine function, or an object that can be called like one.
        kind: what it is for, `on_permission` for example.

    Raises:
        OptionsError: it cannot.
    """
    if not callable(handler):
        raise OptionsError(f"{kind} has to be a function, and not {handler!r}")
    if inspect.isasyncgenfunction(handler) or inspect.isgeneratorfunction(handler):
        raise OptionsError(f"{kind} has to return its answer; {name_of(handler)} yields")
    if isinstance(handler, type):
        raise OptionsError(f"{kind} has to be a function, and not the class {handler.__name__}")
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):  # written in C: nobody knows
        return
    try:
        signature.bind(object())
    except TypeError:
        raise OptionsError(
            f"{kind} is called with one argument, the request; {name_of(handler)}{signature} "
            "cannot be called so"
        ) from None


def name_of(handler: object) -> str:
    """Give a name to call a handler by."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    return getattr(handler, "__qualname__", None) or type(handler).__qualname__


async def call_handler(
    handler: Handler, request: Pending[Any], limiter: anyio.CapacityLimiter | None = None
) -> Any:
    """Call a handler and give what it returns; a plain function is called in a thread.

    When this is cancelled, a function that runs in a thread is left to itself, and what it
    returns is of no account.
    """
    if _is_async(handler):
        returned = handler(request)
    else:
        # In a tuple: trio does not let a thread give a coroutine, as a lambda of one does.
        (returned,) = await anyio.to_thread.run_sync(
            lambda: (handler(request),), abandon_on_cancel=True, limiter=limiter
        )
    return await returned if isinstance(returned, Awaitable) else returned


def _is_async(handler: object) -> bool:
    while isinstance(handler, functools.partial):
        handler = handler.func
    call = getattr(handler, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(call)


async def run_handler(
    handler: Handler,
    request: Pending[AnswerT],
    *,
    limiter: anyio.CapacityLimiter | None = None,
    tell_errors: bool = False,
) -> None:
    """Let a handler answer a request. It is answered in any case when this returns.

    Args:
        handler: who decides.
        request: what is to be decided.
        limiter: how many threads there may be.
        tell_errors: whether the model is told what the handler has raised. It may be something
            that the model should not know.
    """
    try:
        with request.being_decided():
            returned = await call_handler(handler, request, limiter)
        request.resolve(request.returned(returned), by=f"handler: {name_of(handler)}")
    except BaseException as error:
        if not _is_failure(error):
            raise
        logger.exception("%s failed at %s; the answer is no", name_of(handler), request.id)
        told = f"{FAILED} ({type(error).__name__}: {error})" if tell_errors else FAILED
        request.resolve(request.no(told), by=f"handler: {name_of(handler)}, which failed")


def _is_failure(error: BaseException) -> bool:
    """Tell a failing handler from the end of the task that it runs in."""
    if isinstance(error, anyio.get_cancelled_exc_class()):
        # One that was cancelled by somebody else has failed like any other.
        return anyio.current_effective_deadline() > -math.inf
    return isinstance(error, Exception)
