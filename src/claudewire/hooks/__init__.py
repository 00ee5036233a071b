"""Functions of the application that the CLI calls when something happens.

`Hooks` registers them; functions such as `deny` and `add_context` make their results. It uses
`errors`, `concurrency` and `wire`. Start with `registry`.
"""

from __future__ import annotations

from .hook import DEFAULT_TIMEOUT, Hook, HookContext, OnFailure
from .registry import EventHooks, HookDecorator, HookEvent, Hooks
from .results import (
    HookResult,
    HookResultError,
    add_context,
    allow,
    answer,
    ask,
    block,
    change_input,
    change_output,
    defer,
    deny,
    retry,
    set_fields,
    show,
    stop,
    tell_user,
    use_worktree,
    watch,
)

__all__ = [
    "DEFAULT_TIMEOUT",
    "EventHooks",
    "Hook",
    "HookContext",
    "HookDecorator",
    "HookEvent",
    "HookResult",
    "HookResultError",
    "Hooks",
    "OnFailure",
    "add_context",
    "allow",
    "answer",
    "ask",
    "block",
    "change_input",
    "change_output",
    "defer",
    "deny",
    "retry",
    "set_fields",
    "show",
    "stop",
    "tell_user",
    "use_worktree",
    "watch",
]
