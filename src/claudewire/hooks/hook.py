"""A hook: a function, its matcher and timeout, and the effect of a failure."""

from __future__ import annotations

import inspect
import logging
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from ..concurrency import TookTooLong, call_function, call_within, check_function, function_name
from ..errors import OptionsError, describe
from ..wire import HookOutput
from .events import HookEvent
from .results import HookResult, HookResultError, to_output

if TYPE_CHECKING:
    from ..session import Session

log: logging.Logger = logging.getLogger("claudewire.hooks")

OnFailure = Literal["continue", "block", "block_here"]

DEFAULT_TIMEOUT: Final = 50.0
"""In seconds. 2.1.17 waits for 60, whatever its timeout, and then goes on without an answer."""

MAX_TIMEOUT: Final = 1_000_000.0
"""In seconds. The CLI counts milliseconds, and a timer of much longer than that rings at once."""

FAILED: Final = "A hook of the application failed, so this was blocked."
INVALID: Final = "A hook of the application returned an invalid result, so this was blocked."


@dataclass(frozen=True, slots=True)
class Hook:
    """A function and when to call it.

    Attributes:
        function: called with its input and, if it takes a second argument, a `HookContext`. A plain
            function runs in a thread. It returns None for no result, a `HookResult`, the
            `HookOutput` itself, or a dictionary as the official SDKs have it.
        matcher: the tools, or other values of the matched field; None for all.
        timeout: how many seconds it may take. After that it has failed.
        on_failure: the effect if it raises or takes too long. `continue`: as if it had no result.
            `block`: the event is prevented, also by the CLI if it gets no answer; a CLI that cannot
            do that is refused. `block_here`: the same without the CLI's help, with any CLI. An
            invalid result blocks in any case, at every event that can be blocked except Stop and
            SubagentStop.
        show_error: whether the model gets the exception.
    """

    function: Callable[..., Any]
    matcher: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    on_failure: OnFailure = "continue"
    show_error: bool = False

    @property
    def name(self) -> str:
        """The name of the function."""
        return function_name(self.function)


@dataclass(slots=True, eq=False)
class HookContext:
    """The context of a hook, besides its input.

    Attributes:
        event: the name of the event.
        callback_id: the CLI's name for the hook.
        tool_use_id: the use of a tool that it is about; None for other events.
        session: the session; None without one.
        cancelled: whether the result is no longer needed: the hook took too long, or was
            withdrawn. A function that runs in a thread cannot be stopped; a long one should check
            this.
    """

    event: str
    callback_id: str
    tool_use_id: str | None = None
    session: Session | None = None
    cancelled: bool = False


# --- before the call -----------------------------------------------------------------------------


def check_hook(event: HookEvent, hook: Hook) -> bool:
    """Check a hook when it is registered, and return whether it takes a context.

    Raises:
        OptionsError: it would fail when it is called, or cannot do what it promises.
    """
    if not 0 < hook.timeout <= MAX_TIMEOUT:
        raise OptionsError(
            f"The timeout of a hook is a number of seconds up to {MAX_TIMEOUT:,.0f}, "
            f"and not {hook.timeout!r}"
        )
    if hook.on_failure not in typing.get_args(OnFailure):
        known = ", ".join(typing.get_args(OnFailure))
        raise OptionsError(f"on_failure must be one of {known}, not {hook.on_failure!r}")
    if hook.on_failure != "continue" and event.blocking is None:
        raise OptionsError(
            f"{event.name} cannot be blocked: its hook {hook.name} can only continue on failure"
        )
    try:
        signature = check_function(hook.function)
    except TypeError as error:
        raise OptionsError(f"A hook must be a function that returns its result: {error}") from None
    return signature is not None and _takes_context(hook, signature)


def _takes_context(hook: Hook, signature: inspect.Signature) -> bool:
    """Whether a function takes a second argument. One with a default is for something else."""
    takes = False
    for second in [*signature.parameters.values()][1:2]:
        if second.kind in (second.POSITIONAL_ONLY, second.POSITIONAL_OR_KEYWORD):
            takes = second.default is second.empty or "HookContext" in str(second.annotation)
    try:
        signature.bind(*[None] * (1 + takes))
    except TypeError:
        raise OptionsError(
            "A hook is called with its input and, if it takes one, a HookContext, which has the "
            f"tool_use_id; {hook.name}{signature} cannot be called that way"
        ) from None
    return takes


# --- the call ------------------------------------------------------------------------------------


async def run_hook(
    event: HookEvent, hook: Hook, arguments: tuple[Any, ...], context: HookContext
) -> HookOutput:
    """Call a hook and return its output; if it fails, the output that `on_failure` asks for.

    The first of the arguments is its input. The context is cancelled when the hook has ended.
    """
    try:
        call = partial(call_function, hook.function, *arguments)
        return to_output(await call_within(hook.timeout, call), event, arguments[0])
    except Exception as error:
        return _failed(event, hook, arguments[0], error)
    finally:
        context.cancelled = True


def _failed(event: HookEvent, hook: Hook, input: Any, error: Exception) -> HookOutput:
    # An invalid result may have meant no. A Stop that is blocked again and again never ends.
    is_invalid = isinstance(error, HookResultError)
    must_block = is_invalid and event.blocking is not None and not event.keeps_going
    may_block = hook.on_failure != "continue" and not getattr(input, "stop_hook_active", None)
    blocks = must_block or may_block
    is_late = isinstance(error, TookTooLong)
    log.error(
        "The hook %s %s at %s; %s",
        hook.name,
        f"did not return within {hook.timeout:g} s" if is_late else "failed",
        event.name,
        "this is blocked" if blocks else "the CLI goes on without it",
        exc_info=None if is_late else error,
    )
    if not blocks:
        return HookOutput()
    reason = INVALID if is_invalid else FAILED
    if hook.show_error:
        reason += f" ({'It took too long' if is_late else describe(error)})"
    return to_output(HookResult("block", reason), event, input)
