"""What a session keeps count of while messages pass: tokens, cost, tasks, blocks.

Each tracker is fed one message at a time, reads no clock and does no I/O, so it is tested like the
wire. It uses `errors` and `wire`. Start with `ledger`.
"""

from __future__ import annotations

from .assembler import Assembler
from .blocks import LiveBlock
from .budgets import Alert, Budget, BudgetWatch
from .ledger import Ledger
from .tasks import BackgroundTask, TaskTable
from .totals import Price, Totals

__all__ = [
    "Alert",
    "Assembler",
    "BackgroundTask",
    "Budget",
    "BudgetWatch",
    "Ledger",
    "LiveBlock",
    "Price",
    "TaskTable",
    "Totals",
]
