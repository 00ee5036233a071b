"""Functions of the application that the CLI calls when something happens.

`Hooks` registers them, and a `HookResult` is their answer. It uses `errors`, `concurrency` and
`wire`. Start with `hooks`.
"""

from __future__ import annotations

from .hooks import DEFAULT_TIMEOUT, Hook, HookContext, Hooks, OnFailure
from .results import HookResult, HookResultError

__all__ = [
    "DEFAULT_TIMEOUT",
    "Hook",
    "HookContext",
    "HookResult",
    "HookResultError",
    "Hooks",
    "OnFailure",
]
