"""Calling handlers, and what follows when they fail.

A handler gets one argument, the request, and returns an answer that was made with its methods. A
plain function is called in a thread, so it may block; a coroutine function runs in the session's
event loop. If a handler raises, or returns something else, the answer is no.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import anyio

from ..concurrency import (
    as_exception,
    call_function,
    call_plainly,
    check_function,
    ends_the_caller,
    function_name,
)
from ..errors import OptionsError, describe
from .pending import Pending, decided_here

__all__ = ["Handler", "Outcome", "call_plain_handler", "check_handler", "run_handler"]

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
    limiter: Callable[[], anyio.CapacityLimiter] | None = None,
    tell_errors: bool = False,
    name: str | None = None,
    is_async: bool = False,
) -> None:
    """Let a handler answer a request, which has an answer in any case when this returns.

    `limiter` returns what limits the threads of plain functions. With `tell_errors` the model is
    told which exception the handler raised. Its message may contain something that the model should
    not know. `is_async` says that the handler is known to be a coroutine function.
    """
    name = name or function_name(handler)
    try:
        token = decided_here.set(request)
        try:
            if is_async:  # without a coroutine in between: the CLI waits
                returned = await handler(request)
            else:
                threads = None if limiter is None else limiter()
                returned = await call_function(handler, request, limiter=threads)
        finally:
            decided_here.reset(token)
        _settle(request, returned, name)
    except BaseException as error:
        if ends_the_caller(error):
            raise
        _fail(request, as_exception(handler, error), name, tell_errors)


def call_plain_handler(handler: Handler, request: Pending[Any]) -> Outcome:
    """Call a plain function with a request, in a thread, and in a context of this call alone."""
    decided_here.set(request)
    try:
        return Outcome(call_plainly(handler, request))
    except Exception as error:
        return Outcome(error=error)


class Outcome(NamedTuple):
    """What a handler has returned or raised."""

    returned: Any = None
    error: Exception | None = None

    @property
    def is_awaitable(self) -> bool:
        """Whether it is not known yet."""
        return isinstance(self.returned, Awaitable)

    def settle(self, request: Pending[Any], name: str, *, tell_errors: bool) -> None:
        """Let it answer a request; see `run_handler`."""
        try:
            if self.error is not None:
                raise self.error
            _settle(request, self.returned, name)
        except BaseException as error:
            _fail(request, error, name, tell_errors)

    async def get(self, request: Pending[Any]) -> Any:
        """Return what was returned, or raise what was raised; in place of the handler."""
        if self.error is not None:
            raise self.error
        return await self.returned if self.is_awaitable else self.returned


def _settle(request: Pending[Any], returned: object, name: str) -> None:
    answer = request._returned(returned)
    request._answered_by_another = None
    request._settle(answer, by=f"handler: {name}")


def _fail(request: Pending[Any], error: BaseException, name: str, tell_errors: bool) -> None:
    request._answered_by_another = None
    told = f"{FAILED} ({describe(error)})" if tell_errors else FAILED
    request._settle(request._denial(told), by=f"handler: {name}, which failed")
    logger.exception("%s failed to decide about %s, so the answer is no", name, request.id)
