"""Hooks: functions of the application that the CLI calls when something happens.

    hooks = Hooks()

    @hooks.pre_tool_use("Bash")
    def no_force(event: PreToolUseHookInput) -> HookResult | None:
        if "--force" in event.tool_input["command"]:
            return deny("Never with --force.")
        return None

Each call of a hook runs in a task of its own, and plain functions in threads: no hook waits for
another. If several hooks are called for one thing, the CLI weighs their results: a denial wins.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    NamedTuple,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from .. import wire
from ..errors import Cause, CLIError, OptionsError
from ..wire import BaseHookInput, HookCallback, HookMatcher, HookOutput, InitializeResult
from .events import EventKind, check_matcher, event_named
from .hook import Hook, HookContext, OnFailure, check_hook, run_hook
from .results import HookResult

if TYPE_CHECKING:
    from ..session import Session

__all__ = ["EventHooks", "HookDecorator", "HookEvent", "Hooks"]

log: logging.Logger = logging.getLogger("claudewire.hooks")

GRACE: Final = 10
"""Seconds that the CLI waits longer than we do, so that a timeout is noticed here first."""

InputT = TypeVar("InputT")
Said = HookResult | HookOutput | Mapping[str, Any] | None
SaidT = TypeVar("SaidT", bound=Said | Awaitable[Said])


class HookOptions(TypedDict, total=False):
    """How a hook is called; see `Hook`."""

    timeout: float
    on_failure: OnFailure
    show_error: bool


class HookDecorator(Generic[InputT]):
    """A decorator that registers a function as a hook and returns it unchanged."""

    def __init__(self, register: Callable[[Callable[..., Any]], None]) -> None:
        self._register = register

    @overload
    def __call__(self, function: Callable[[InputT], SaidT]) -> Callable[[InputT], SaidT]: ...
    @overload
    def __call__(
        self, function: Callable[[InputT, HookContext], SaidT]
    ) -> Callable[[InputT, HookContext], SaidT]: ...
    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Register a function."""
        self._register(function)
        return function


class EventHooks(Generic[InputT]):
    """Registers hooks for one event: `@hooks.stop` or `@hooks.pre_tool_use("Bash", timeout=5)`."""

    def __init__(self, hooks: Hooks, event: str) -> None:
        self._hooks = hooks
        self._event = event

    @overload
    def __call__(
        self, matcher: str | None = None, **options: Unpack[HookOptions]
    ) -> HookDecorator[InputT]: ...
    @overload
    def __call__(self, matcher: Callable[[InputT], SaidT]) -> Callable[[InputT], SaidT]: ...
    @overload
    def __call__(
        self, matcher: Callable[[InputT, HookContext], SaidT]
    ) -> Callable[[InputT, HookContext], SaidT]: ...
    def __call__(self, matcher: Any = None, **options: Any) -> Any:
        """Register a function, or return a decorator with these options; see `Hook`."""
        if callable(matcher):
            self._hooks.add(self._event, matcher)
            return matcher
        check_matcher(event_named(self._event), matcher)  # now, and not when it decorates
        return HookDecorator(
            lambda function: self._hooks.add(self._event, Hook(function, matcher, **options))
        )


class HookEvent(Generic[InputT]):
    """An attribute of `Hooks` that is named after an event, and registers hooks for it."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._event = event_named(name.title().replace("_", "")).name

    @overload
    def __get__(self, hooks: None, owner: type[Any]) -> HookEvent[InputT]: ...
    @overload
    def __get__(self, hooks: Hooks, owner: type[Any]) -> EventHooks[InputT]: ...
    def __get__(
        self, hooks: Hooks | None, owner: type[Any]
    ) -> EventHooks[InputT] | HookEvent[InputT]:
        return self if hooks is None else EventHooks(hooks, self._event)


class _Registered(NamedTuple):
    kind: EventKind
    hook: Hook
    wants_context: bool

    def matcher(self, callback_id: str) -> HookMatcher:
        return HookMatcher(
            hook_callback_ids=[callback_id],
            matcher=self.hook.matcher,
            timeout=math.ceil(self.hook.timeout) + GRACE,
            on_failure="block" if self.needs_support else None,
        )

    @property
    def needs_support(self) -> bool:
        """Whether the CLI has to block by itself on failure; at a Stop no CLI does."""
        return self.hook.on_failure == "block" and not self.kind.keeps_going


class Hooks:
    """The hooks of an application. One object may serve several sessions.

    A session takes the hooks that are there when it starts.
    """

    pre_tool_use: HookEvent[wire.PreToolUseHookInput] = HookEvent()
    post_tool_use: HookEvent[wire.PostToolUseHookInput] = HookEvent()
    post_tool_use_failure: HookEvent[wire.PostToolUseFailureHookInput] = HookEvent()
    post_tool_batch: HookEvent[wire.PostToolBatchHookInput] = HookEvent()
    notification: HookEvent[wire.NotificationHookInput] = HookEvent()
    user_prompt_submit: HookEvent[wire.UserPromptSubmitHookInput] = HookEvent()
    user_prompt_expansion: HookEvent[wire.UserPromptExpansionHookInput] = HookEvent()
    session_start: HookEvent[wire.SessionStartHookInput] = HookEvent()
    session_end: HookEvent[wire.SessionEndHookInput] = HookEvent()
    stop: HookEvent[wire.StopHookInput] = HookEvent()
    stop_failure: HookEvent[wire.StopFailureHookInput] = HookEvent()
    subagent_start: HookEvent[wire.SubagentStartHookInput] = HookEvent()
    subagent_stop: HookEvent[wire.SubagentStopHookInput] = HookEvent()
    pre_compact: HookEvent[wire.PreCompactHookInput] = HookEvent()
    post_compact: HookEvent[wire.PostCompactHookInput] = HookEvent()
    pre_model_switch: HookEvent[wire.PreModelSwitchHookInput] = HookEvent()
    post_model_switch: HookEvent[wire.PostModelSwitchHookInput] = HookEvent()
    permission_request: HookEvent[wire.PermissionRequestHookInput] = HookEvent()
    permission_denied: HookEvent[wire.PermissionDeniedHookInput] = HookEvent()
    setup: HookEvent[wire.SetupHookInput] = HookEvent()
    teammate_idle: HookEvent[wire.TeammateIdleHookInput] = HookEvent()
    task_created: HookEvent[wire.TaskCreatedHookInput] = HookEvent()
    task_completed: HookEvent[wire.TaskCompletedHookInput] = HookEvent()
    elicitation: HookEvent[wire.ElicitationHookInput] = HookEvent()
    elicitation_result: HookEvent[wire.ElicitationResultHookInput] = HookEvent()
    config_change: HookEvent[wire.ConfigChangeHookInput] = HookEvent()
    worktree_create: HookEvent[wire.WorktreeCreateHookInput] = HookEvent()
    worktree_remove: HookEvent[wire.WorktreeRemoveHookInput] = HookEvent()
    instructions_loaded: HookEvent[wire.InstructionsLoadedHookInput] = HookEvent()
    cwd_changed: HookEvent[wire.CwdChangedHookInput] = HookEvent()
    file_changed: HookEvent[wire.FileChangedHookInput] = HookEvent()
    directory_added: HookEvent[wire.DirectoryAddedHookInput] = HookEvent()
    message_display: HookEvent[wire.MessageDisplayHookInput] = HookEvent()

    def __init__(self) -> None:
        self._hooks: list[_Registered] = []

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

    def add(self, event: str | type[BaseHookInput], hook: Hook | Callable[..., Any]) -> None:
        """Add a hook for an event.

        Raises:
            OptionsError: there is no such event, or the hook would fail when it is called.
        """
        kind = event_named(event)
        given = hook if isinstance(hook, Hook) else Hook(hook)
        matcher = check_matcher(kind, given.matcher)
        wants_context = check_hook(kind, given)
        self._hooks.append(_Registered(kind, replace(given, matcher=matcher), wants_context))

    def extend(self, hooks: Hooks | Mapping[str, Any]) -> None:
        """Add all of these hooks."""
        self._hooks += Hooks.of(hooks)._hooks

    def __len__(self) -> int:
        return len(self._hooks)

    def __iter__(self) -> Iterator[tuple[str, Hook]]:
        return ((registered.kind.name, registered.hook) for registered in self._hooks)

    def __repr__(self) -> str:
        return f"<Hooks: {', '.join(f'{event} {hook.name}' for event, hook in self) or 'none'}>"

    # --- for a session ---------------------------------------------------------------------------

    def config(self) -> dict[str, list[HookMatcher]]:
        """Return what `initialize` tells the CLI about the hooks."""
        config: dict[str, list[HookMatcher]] = {}
        for number, registered in enumerate(self._hooks):
            config.setdefault(registered.kind.name, []).append(registered.matcher(_id(number)))
        return config

    def check(self, info: InitializeResult | None) -> None:
        """Check that the CLI supports what the hooks need, as far as it says.

        Raises:
            CLIError: a hook has to block on failure, and the CLI does not support that.
        """
        needing = [it.hook.name for it in self._hooks if it.needs_support]
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
            LookupError: there is no such hook.
        """
        kind, hook, wants_context = self._find(callback.callback_id)
        context = HookContext(
            kind.name,
            callback.callback_id,
            # At other events the CLI makes one up.
            tool_use_id=callback.tool_use_id if kind.is_about_a_tool else None,
            session=session,
        )
        arguments = (callback.input, context) if wants_context else (callback.input,)
        return await run_hook(kind, hook, arguments, context)

    def _find(self, callback_id: str) -> _Registered:
        for number, registered in enumerate(self._hooks):
            if _id(number) == callback_id:
                return registered
        raise LookupError(f"There is no hook {callback_id}")


def _id(number: int) -> str:
    return f"hook_{number}"


def _each(event: str, given: object) -> Iterable[Any]:
    if callable(given) or isinstance(given, Hook):
        return (given,)
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return given
    raise OptionsError(f"{event} needs a function, a Hook, or a list of them, not {given!r}")
