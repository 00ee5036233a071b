"""Task and thread primitives that anyio lacks.

Everything here works on asyncio and on trio and knows nothing about the protocol. It uses anyio and
the standard library only. Start with `waking`.
"""

from __future__ import annotations

from .functions import (
    FunctionExited,
    as_exception,
    call_function,
    check_function,
    compute_in_thread,
    function_name,
    is_async_function,
)
from .tasks import (
    DetachedCall,
    TookTooLong,
    call_within,
    clock,
    ends_the_caller,
    in_trio,
    is_of_a_signal,
    run_detached,
)
from .waking import Mailbox, MailboxClosed, RunSoon, Signal, run_soon

__all__ = [
    "DetachedCall",
    "FunctionExited",
    "Mailbox",
    "MailboxClosed",
    "RunSoon",
    "Signal",
    "TookTooLong",
    "as_exception",
    "call_function",
    "call_within",
    "check_function",
    "clock",
    "compute_in_thread",
    "ends_the_caller",
    "function_name",
    "in_trio",
    "is_async_function",
    "is_of_a_signal",
    "run_detached",
    "run_soon",
]
