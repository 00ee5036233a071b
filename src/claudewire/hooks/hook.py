"""A hook: a function, what it may look like, how long it may take, and what if it fails."""

from __future__ import annotations

import inspect
import logging
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from ..concurrency import (
    TookTooLong,
    call_function,
    call_within,
    check_function,
    ends_the_caller,
    function_name,
)
from ..errors import OptionsError, describe, words_of
from ..wire import BaseHookInput, HookOutput, UnknownHookInput
from .events import EventKind
from .results import HookResultError, block, to_output

if TYPE_CHECKING:
    from ..session import Session

__all__ = ["DEFAULT_TIMEOUT", "Hook", "HookContext", "OnFailure", "check_hook", "run_hook"]

log: logging.Logger = logging.getLogger("claudewire.hooks")

OnFailure = Literal["continue", "block", "block_here"]

DEFAULT_TIMEOUT: Final = 50.0
"""In seconds. Old CLIs wait for 60, whatever they are told, and then go on without an answer."""

MAX_TIMEOUT: Final = 1_000_000.0
"""In seconds. The CLI counts milliseconds, and a timer of much longer than that rings at once."""

FAILED: Final = "A hook of the application failed, so this was blocked."
NONSENSE: Final = "A hook of the application returned an invalid result, so this was blocked."


@dataclass(frozen=True, slots=True)
class Hook:
    """A function and when to call it.

    Attributes:
        function: called with its input and, if it takes a second argument, a `HookContext`. A plain
            function runs in a thread of its own. It returns None for no result, a result such as
            `deny("…")`, the `HookOutput` itself, or a dictionary as the official SDKs have it.
        matcher: for which tools, or what else the event is matched by; None for all.
        timeout: how many seconds it may take. After that it has failed.
        on_failure: what follows if it raises or takes too long. `continue`: as if it had no result.
            `block`: what the event is about is prevented, also by the CLI if it gets no answer; a
            CLI that cannot do that is refused. `block_here`: the same without the CLI's help, with
            any CLI. An invalid result blocks in any case, at every event that can be blocked but
            Stop and SubagentStop.
        show_error: whether the model is told which exception was raised.
    """

    function: Callable[..., Any]
    matcher: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    on_failure: OnFailure = "continue"
    show_error: bool = False

    @property
    def name(self) -> str:
        """What the function is called."""
        return function_name(self.function)


@dataclass(slots=True, eq=False)
class HookContext:
    """What a hook may want to know besides its input.

    Attributes:
        event: the name of the event.
        callback_id: the name under which the CLI knows the hook.
        tool_use_id: the use of a tool that it is about; None for other events.
        session: the session; None if there is none.
        cancelled: whether the result is no longer needed: the hook took too long, or was
            withdrawn. A function that runs in a thread cannot be stopped; a long one should check
            this.
    """

    event: str
    callback_id: str
    tool_use_id: str | None = None
    session: Session | None = None
    cancelled: bool = False


# --- before it is called -------------------------------------------------------------------------


def check_hook(kind: EventKind, hook: Hook) -> bool:
    """Check a hook when it is registered, and return whether it takes a context.

    Raises:
        OptionsError: it would fail when it is called, or cannot do what it promises.
    """
    if not _is_seconds(hook.timeout):
        raise OptionsError(
            f"The timeout of a hook is a number of seconds up to {MAX_TIMEOUT:,.0f}, "
            f"and not {hook.timeout!r}"
        )
    if hook.on_failure not in typing.get_args(OnFailure):
        known = ", ".join(typing.get_args(OnFailure))
        raise OptionsError(f"on_failure must be one of {known}, not {hook.on_failure!r}")
    if hook.on_failure != "continue" and kind.blocking is None:
        raise OptionsError(
            f"{kind.name} cannot be blocked: its hook {hook.name} can only continue on failure"
        )
    return _check_function(kind, hook)


def _is_seconds(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value <= MAX_TIMEOUT


def _check_function(kind: EventKind, hook: Hook) -> bool:
    try:
        signature = check_function(hook.function)
    except TypeError as error:
        raise OptionsError(f"A hook must be a function that returns its result: {error}") from None
    if signature is None:
        return False
    if not _takes(signature, 1) and not _takes(signature, 2):
        raise OptionsError(
            f"A hook is called with its input and, if it takes one, a HookContext, which has the "
            f"tool_use_id, too; {hook.name}{signature} cannot be called that way"
        )
    _check_annotation(kind, hook, signature)
    return _wants_context(signature)


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*[object()] * count)
    except TypeError:
        return False
    return True


def _wants_context(signature: inspect.Signature) -> bool:
    """Whether it takes a second argument. One with a default is for something else."""
    if not _takes(signature, 2):
        return False
    parameters = [*signature.parameters.values()]
    if parameters[1:2] and parameters[1].kind is not inspect.Parameter.VAR_POSITIONAL:
        second = parameters[1]
        return second.default is inspect.Parameter.empty or "HookContext" in str(second.annotation)
    return False


def _check_annotation(kind: EventKind, hook: Hook, signature: inspect.Signature) -> None:
    """Refuse a function whose annotation says that it is for another event."""
    try:
        hints = typing.get_type_hints(hook.function)
    except Exception:  # names that are only there for a type checker, and whatever else they hold
        return
    first = hints.get(next(iter(signature.parameters)))
    members = typing.get_args(first) or (first,)
    told = [it for it in members if isinstance(it, type) and issubclass(it, BaseHookInput)]
    if told and not any(issubclass(kind.input, it) for it in told):
        wanted = " or ".join(it.__name__ for it in told)
        raise OptionsError(
            f"{hook.name} takes a {wanted}; at {kind.name} it gets a {kind.input.__name__}"
        )


# --- when it is called ---------------------------------------------------------------------------


async def run_hook(
    kind: EventKind, hook: Hook, arguments: tuple[Any, ...], context: HookContext
) -> HookOutput:
    """Call a hook and return its output; if it fails, the output that `on_failure` asks for.

    The first of the arguments is its input. The context is cancelled when the hook has ended.
    """
    event = arguments[0]
    # Without a limiter: it never waits until other functions have returned.
    call = partial(call_function, hook.function, *arguments)
    error: BaseException | None = None
    try:
        return _read(await call_within(hook.timeout, call), kind, event)
    except TookTooLong:
        pass
    except BaseException as failure:
        if ends_the_caller(failure):
            raise
        error = failure
    finally:
        context.cancelled = True
    return _failed(kind, hook, event, error)


def _read(returned: object, kind: EventKind, event: Any) -> HookOutput:
    """Read what a hook returned. Whatever is wrong with it is a `HookResultError`."""
    try:
        return to_output(returned, kind, event)
    except HookResultError:
        raise
    except BaseException as error:
        raise HookResultError(f"{_shown(returned)} cannot be read: {words_of(error)}") from error


def _shown(returned: object) -> str:
    try:
        return repr(returned)
    except BaseException:
        return f"A {type(returned).__name__}"


def _failed(kind: EventKind, hook: Hook, event: Any, error: BaseException | None) -> HookOutput:
    # What it meant is not known; a guard may have meant no.
    is_invalid = isinstance(error, HookResultError)
    must_block = is_invalid and kind.blocking is not None and not kind.keeps_going
    blocks = must_block or _blocks(hook, event)
    log.error(
        "The hook %s %s at %s; %s",
        hook.name,
        f"did not return within {hook.timeout:g} s" if error is None else "failed",
        kind.name,
        "this is blocked" if blocks else "the CLI goes on without it",
        exc_info=error,
    )
    if not blocks:
        return HookOutput()
    told = NONSENSE if is_invalid else FAILED
    told = f"{told} ({_words(error)})" if hook.show_error else told
    return to_output(block(told), kind, event)


def _words(error: BaseException | None) -> str:
    return "It took too long" if error is None else describe(error)


def _blocks(hook: Hook, event: BaseHookInput | UnknownHookInput) -> bool:
    if hook.on_failure == "continue":
        return False
    # Blocked again and again, the model would never come to an end.
    return not getattr(event, "stop_hook_active", None)
