"""Calling handlers, and what follows when they fail.

A handler gets one argument, the request, and returns an answer that was made with its methods. A
plain function is called in a thread, so it may block; a coroutine function runs in the session's
event loop. If a handler raises, or returns something else, the answer is no.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

import anyio

from ..concurrency import call_function, check_function, ends_the_caller, function_name
from ..errors import OptionsError, describe
from .pending import Pending

__all__ = ["Handler", "check_handler", "run_handler"]

logger: logging.Logger = logging.getLogger("claudewire.people")

AnswerT = TypeVar("AnswerT")

Handler = Callable[[Any], Any]
"""Any handler: what it is called with, and what it may return, depends on what it is for."""

FAILED = "The application's handler failed, so the answer is no."


def check_handler(handler: object, kind: str) -> None:
    """Check that something can be called with a request, before there is one.

    Raises:
        OptionsError: it cannot; the message says what it is for, `on_permission` for example.
    """
    if _takes_one_argument(handler):
        return
    try:
        signature = check_function(handler)
    except TypeError as error:
        raise OptionsError(f"{kind} must be a function that returns its answer: {error}") from None
    try:
        if signature is not None:
            signature.bind(object())
    except TypeError:
        raise OptionsError(
            f"{kind} is called with one argument, the request; {function_name(handler)}{signature} "
            "cannot be called that way"
        ) from None


def _takes_one_argument(handler: object) -> bool:
    """Whether it is an ordinary function of one argument; making a signature takes much longer."""
    if type(handler) is not FunctionType or handler.__dict__:  # what it wraps may be there
        return False
    code, yields = handler.__code__, inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
    return code.co_argcount == 1 and not (code.co_kwonlyargcount or code.co_flags & yields)


async def run_handler(
    handler: Handler,
    request: Pending[AnswerT],
    limiter: anyio.CapacityLimiter | None = None,
    tell_errors: bool = False,
) -> None:
    """Let a handler answer a request, which has an answer in any case when this returns.

    With `tell_errors` the model is told which exception the handler raised. Its message may contain
    something that the model should not know.
    """
    name = function_name(handler)
    try:
        with request._being_decided():
            returned = await call_function(handler, request, limiter=limiter)
        answer = request._returned(returned)
        request._answered_by_another = None
        request._settle(answer, by=f"handler: {name}")
    except BaseException as error:
        if ends_the_caller(error):
            raise
        request._answered_by_another = None
        told = f"{FAILED} ({describe(error)})" if tell_errors else FAILED
        request._settle(request._denial(told), by=f"handler: {name}, which failed")
        logger.exception("%s failed to decide about %s, so the answer is no", name, request.id)
