"""What a session keeps count of while messages pass: tokens, cost, tasks, blocks.

Each tracker is given one message at a time, reads no clock and does no I/O, so it is tested like
the wire. It uses `errors` and `wire`. Start with `ledger`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports
from .ledger import Ledger, Models, UsageTracker
from .quota import ContextWindow, RateLimit, Retry
from .tasks import BackgroundTask, TaskTable, TaskTracker
from .totals import Price, PriceTable, Totals, check_amount

if TYPE_CHECKING:
    from .assembler import Assembler
    from .blocks import BlockChange, LiveBlock
    from .budgets import Alert, Budget, BudgetWatch, Level, Metric, SharedBudget

__all__ = [
    "Alert",
    "Assembler",
    "BackgroundTask",
    "BlockChange",
    "Budget",
    "BudgetWatch",
    "ContextWindow",
    "Ledger",
    "Level",
    "LiveBlock",
    "Metric",
    "Models",
    "Price",
    "PriceTable",
    "RateLimit",
    "Retry",
    "SharedBudget",
    "TaskTable",
    "TaskTracker",
    "Totals",
    "UsageTracker",
    "check_amount",
]

if not TYPE_CHECKING:  # a session is opened without them
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            ".assembler": "Assembler",
            ".blocks": "BlockChange LiveBlock",
            ".budgets": "Alert Budget BudgetWatch Level Metric SharedBudget",
        },
    )
