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

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ..errors import Cause, CLIError, OptionsError
from ..wire import BaseHookInput, HookCallback, HookMatcher, HookOutput, InitializeResult
from .events import HookEvent, check_matcher, event_named
from .hook import DEFAULT_TIMEOUT, Hook, HookContext, OnFailure, check_hook, run_hook

if TYPE_CHECKING:
    from ..session import Session

log: logging.Logger = logging.getLogger("claudewire.hooks")

GRACE: Final = 10
"""Seconds that the CLI waits longer than we do, so that a timeout is noticed here first."""

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


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
        return await run_hook(event, hook, arguments, context)


def _each(event: str, given: object) -> Iterable[Any]:
    if callable(given) or isinstance(given, Hook):
        return (given,)
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return given
    raise OptionsError(f"{event} needs a function, a Hook, or a list of them, not {given!r}")
