"""Sessions with a CLI: turns, replies, interrupts, and pools of ready CLIs.

`link` owns the task that reads and writes, `core` sorts what arrives and holds the state, `session`
is what applications call. It uses every package below it. Start with `session`, then `core`.
"""

from __future__ import annotations

from .entry import TASKS_MAY_TAKE, open, run
from .events import (
    BudgetAlert,
    SessionEvent,
    SessionState,
    StateChanged,
    StderrOutput,
    Subscription,
    TurnStarted,
    UnreadLimitReached,
)
from .interrupt import Escalation, InterruptReceipt, Queued
from .pool import Pool, PooledSession, PoolStats
from .queue import ItemQueue
from .reply import OutputT, Reply
from .session import DEFAULT, Priority, Session, TasksAtEnd, Timeout, check_tasks
from .turn import TextPieces, Turn, TurnState
from .watchdog import Stall, Waiting

__all__ = [
    "DEFAULT",
    "TASKS_MAY_TAKE",
    "BudgetAlert",
    "Escalation",
    "InterruptReceipt",
    "ItemQueue",
    "OutputT",
    "Pool",
    "PoolStats",
    "PooledSession",
    "Priority",
    "Queued",
    "Reply",
    "Session",
    "SessionEvent",
    "SessionState",
    "Stall",
    "StateChanged",
    "StderrOutput",
    "Subscription",
    "TasksAtEnd",
    "TextPieces",
    "Timeout",
    "Turn",
    "TurnStarted",
    "TurnState",
    "UnreadLimitReached",
    "Waiting",
    "check_tasks",
    "open",
    "run",
]
