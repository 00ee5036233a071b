"""Task and thread primitives that anyio lacks.

Everything here works on asyncio and on trio and knows nothing about the protocol. It uses anyio and
the standard library only. Start with `signal`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports
from .alarm import Alarm
from .cross_thread import Latch, Mailbox, MailboxClosed, RunSoon, run_soon
from .detached import (
    DetachedCall,
    clock,
    event_type,
    in_trio,
    run_detached,
    run_to_completion,
    scope_type,
    sleep,
    spare_task,
    task_starter,
)
from .functions import (
    FunctionCancelled,
    FunctionExited,
    TookTooLong,
    as_exception,
    call_function,
    call_in_thread,
    call_plainly,
    call_within,
    check_function,
    compute_in_thread,
    ends_the_caller,
    function_name,
    is_async_function,
)
from .signal import Flag, Signal
from .threads import StartThread, ThreadCall, thread_starter

if TYPE_CHECKING:
    from .spare import SpareTask

__all__ = [
    "Alarm",
    "DetachedCall",
    "Flag",
    "FunctionCancelled",
    "FunctionExited",
    "Latch",
    "Mailbox",
    "MailboxClosed",
    "RunSoon",
    "Signal",
    "SpareTask",
    "StartThread",
    "ThreadCall",
    "TookTooLong",
    "as_exception",
    "call_function",
    "call_in_thread",
    "call_plainly",
    "call_within",
    "check_function",
    "clock",
    "compute_in_thread",
    "ends_the_caller",
    "event_type",
    "function_name",
    "in_trio",
    "is_async_function",
    "run_detached",
    "run_soon",
    "run_to_completion",
    "scope_type",
    "sleep",
    "spare_task",
    "task_starter",
    "thread_starter",
]

if not TYPE_CHECKING:  # it needs asyncio, and is loaded when it is used
    __getattr__, __dir__ = lazy_exports(__name__, {".spare": "SpareTask"})
