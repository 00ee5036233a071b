"""Hooks: functions of the application that the CLI calls before or after an event.

    hooks = Hooks()

    @hooks.on("PreToolUse", "Bash")
    def no_force(event: PreToolUseHookInput) -> HookResult | None:
        if "--force" in event.tool_input["command"]:
            return HookResult("deny", "Never with --force.")
        return None

Each hook runs in its own task, and plain functions in threads: no hook waits for another. If
several hooks decide about one event, the CLI weighs their results: a denial wins.
"""

from __future__ import annotations

import inspect
import logging
import math
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from ..concurrency import TookTooLong, call_function, call_within, check_function, function_name
from ..errors import Cause, CLIError, OptionsError, describe
from ..wire import BaseHookInput, HookCallback, HookMatcher, HookOutput, InitializeResult
from .events import HookEvent, check_matcher, event_named
from .results import HookResult, HookResultError, to_output

if TYPE_CHECKING:
    from ..session import Session

log: logging.Logger = logging.getLogger("claudewire.hooks")

OnFailure = Literal["continue", "block", "block_here"]

DEFAULT_TIMEOUT: Final = 50.0
"""In seconds. 2.1.17 waits for 60, whatever its timeout, and then goes on without an answer."""

MAX_TIMEOUT: Final = 1_000_000.0
"""In seconds. The CLI counts milliseconds, and a timer of much longer than that rings at once."""

GRACE: Final = 10
"""Seconds that the CLI waits longer than we do, so that a timeout is noticed here first."""

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

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
    """Check a hook when it is registered, and return whether it takes a context."""
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
        return signature is not None and _takes_context(signature)
    except TypeError as error:
        raise OptionsError(
            f"The hook {hook.name} must be a function of its input and, if it takes one, a "
            f"HookContext, that returns its result: {error}"
        ) from None


def _takes_context(signature: inspect.Signature) -> bool:
    """Whether a function takes a second argument. One with a default is for something else."""
    takes = False
    for second in [*signature.parameters.values()][1:2]:
        if second.kind in (second.POSITIONAL_ONLY, second.POSITIONAL_OR_KEYWORD):
            takes = second.default is second.empty or "HookContext" in str(second.annotation)
    signature.bind(*[None] * (1 + takes))
    return takes


# --- after the call ------------------------------------------------------------------------------


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


# --- the registry ---------------------------------------------------------------------------------


class _Registered(NamedTuple):
    event: HookEvent
    hook: Hook
    takes_context: bool

    @property
    def needs_support(self) -> bool:
        """Whether the CLI has to block on failure; at a Stop no CLI does."""
        return self.hook.on_failure == "block" and not self.event.keeps_going


class Hooks:
    """The hooks of an application. One object may serve several sessions.

    A session takes the hooks that are there when it starts.
    """

    def __init__(self) -> None:
        self._hooks: dict[str, _Registered] = {}
        """The hooks by the ids under which the CLI calls them."""

    @classmethod
    def of(cls, hooks: Hooks | Mapping[str, Any]) -> Hooks:
        """Make hooks from a mapping: the name of an event to a function, a `Hook`, or several.

        Raises:
            OptionsError: there is no such event, or a hook would fail when it is called.
        """
        if isinstance(hooks, Hooks):
            return hooks
        if not isinstance(hooks, Mapping):
            raise OptionsError(f"Hooks must be a mapping of events to functions, not {hooks!r}")
        made = cls()
        for event, given in hooks.items():
            for function in _each(event, given):
                made.add(event, function)
        return made

    def on(
        self,
        event: str | type[BaseHookInput],
        matcher: str | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        on_failure: OnFailure = "continue",
        show_error: bool = False,
    ) -> Callable[[FunctionT], FunctionT]:
        """Return a decorator that adds a function; see `Hook` for the arguments.

        Raises:
            OptionsError: as for `add`.
        """

        def decorate(function: FunctionT) -> FunctionT:
            self.add(event, Hook(function, matcher, timeout, on_failure, show_error))
            return function

        return decorate

    def add(self, event: str | type[BaseHookInput], hook: Hook | Callable[..., Any]) -> None:
        """Add a hook for an event.

        Args:
            event: its name, or the class of the hook's input.
            hook: the hook, or its function.

        Raises:
            OptionsError: there is no such event, or the hook would fail when it is called.
        """
        found = event_named(event)
        given = hook if isinstance(hook, Hook) else Hook(hook)
        given = replace(given, matcher=check_matcher(found, given.matcher))
        takes_context = check_hook(found, given)
        self._hooks[f"hook_{len(self._hooks)}"] = _Registered(found, given, takes_context)

    def __len__(self) -> int:
        return len(self._hooks)

    def __iter__(self) -> Iterator[tuple[str, Hook]]:
        return ((registered.event.name, registered.hook) for registered in self._hooks.values())

    def __repr__(self) -> str:
        return f"<Hooks: {', '.join(f'{event} {hook.name}' for event, hook in self) or 'none'}>"

    # --- for a session ---------------------------------------------------------------------------

    def config(self) -> dict[str, list[HookMatcher]]:
        """Return the hooks for the `initialize` request."""
        config: dict[str, list[HookMatcher]] = {}
        for id, registered in self._hooks.items():
            matcher = HookMatcher(
                hook_callback_ids=[id],
                matcher=registered.hook.matcher,
                timeout=math.ceil(registered.hook.timeout) + GRACE,
                on_failure="block" if registered.needs_support else None,
            )
            config.setdefault(registered.event.name, []).append(matcher)
        return config

    def check(self, info: InitializeResult | None) -> None:
        """Check that the CLI can call the hooks, as far as it reports.

        Raises:
            CLIError: a hook has to block on failure, and the CLI does not support that.
        """
        needing = [it.hook.name for it in self._hooks.values() if it.needs_support]
        taken = info is None or info.hooks_applied is not False
        if self._hooks and not taken:
            log.warning("The CLI did not accept the hooks: none of them will be called")
        if needing and not (taken and info is not None and info.hook_on_failure_supported):
            raise CLIError(
                f"The CLI cannot block when a hook fails, as {', '.join(needing)} must",
                cause=Cause.WRONG_VERSION,
                advice="Use a newer CLI, or on_failure='block_here', which blocks whenever the "
                "hook fails here but cannot when the CLI gets no answer at all.",
            )

    async def serve(self, callback: HookCallback, session: Session | None = None) -> HookOutput:
        """Call a hook for the CLI. Cancel this when the CLI withdraws the request.

        Raises:
            KeyError: there is no such hook.
        """
        event, hook, takes_context = self._hooks[callback.callback_id]
        # At events that are not about a tool the CLI makes an id up.
        tool_use_id = callback.tool_use_id if event.is_about_tool else None
        context = HookContext(event.name, callback.callback_id, tool_use_id, session)
        arguments = (callback.input, context) if takes_context else (callback.input,)
        try:
            call = partial(call_function, hook.function, *arguments)
            return to_output(await call_within(hook.timeout, call), event, callback.input)
        except Exception as error:
            return _failed(event, hook, callback.input, error)
        finally:
            context.cancelled = True


def _each(event: str, given: object) -> Iterable[Any]:
    if callable(given) or isinstance(given, Hook):
        return (given,)
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return given
    raise OptionsError(f"{event} needs a function, a Hook, or a list of them, not {given!r}")
