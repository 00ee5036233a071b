"""The running totals of a session: tokens, cost, tasks, blocks.

Each class takes one message at a time with `note()`, reads no clock and does no I/O. Start with
`ledger`.
"""

from .blocks import Assembler, BlockChange, LiveBlock
from .budgets import Alert, Budget, BudgetWatch, Level, Metric, SharedBudget
from .ledger import COUNTED, ContextWindow, Ledger, Models, RateLimit
from .tasks import TRACKED, BackgroundTask, TaskTable
from .totals import Price, PriceTable, Totals, check_amount

__all__ = [
    "COUNTED",
    "TRACKED",
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
    "SharedBudget",
    "TaskTable",
    "Totals",
    "check_amount",
]
