"""Functions of the application that the CLI calls when something happens.

`Hooks` registers them, and a `HookResult` is their answer. It uses `errors`, `concurrency` and
`wire`. Start with `registry`.
"""

from __future__ import annotations

from .hook import DEFAULT_TIMEOUT, Hook, HookContext, OnFailure
from .registry import Hooks
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
