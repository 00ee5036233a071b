"""Sessions with a CLI: turns, replies, events, interrupts, and pools of ready CLIs.

It may use every package below it; above it are `sync`, `testing` and `cli`. Start with `session`,
which applications call; then read `core`, which holds the state and sorts events, `conversation`,
which finds the turn of a message, and `link`, which owns the reading and writing.
"""

from __future__ import annotations

from .events import (
    UNREAD_EVENTS,
    BudgetAlert,
    SessionEvent,
    SessionState,
    StateChanged,
    StderrOutput,
    Subscription,
    TurnStarted,
    TurnState,
    UnreadLimitReached,
)
from .interrupt import Escalation, InterruptReceipt, Outcome, Queued
from .link import DEFAULT, Timeout
from .pool import Pool, PooledSession, PoolStats
from .queue import ItemQueue
from .session import Priority, Session, SessionFacts, TasksAtEnd, open, run
from .turn import AnyTurn, OutputT, Reply, TextPieces, Turn, TurnReader
from .watchdog import Stall, Waiting

__all__ = [
    "DEFAULT",
    "UNREAD_EVENTS",
    "AnyTurn",
    "BudgetAlert",
    "Escalation",
    "InterruptReceipt",
    "ItemQueue",
    "Outcome",
    "OutputT",
    "Pool",
    "PoolStats",
    "PooledSession",
    "Priority",
    "Queued",
    "Reply",
    "Session",
    "SessionEvent",
    "SessionFacts",
    "SessionState",
    "Stall",
    "StateChanged",
    "StderrOutput",
    "Subscription",
    "TasksAtEnd",
    "TextPieces",
    "Timeout",
    "Turn",
    "TurnReader",
    "TurnStarted",
    "TurnState",
    "UnreadLimitReached",
    "Waiting",
    "open",
    "run",
]
