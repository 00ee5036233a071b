"""The application's limits on what a session, or a turn, can use.

They use the ledger's totals. While a turn runs these are an estimate: its cost is known only if the
prices are, from a table or from an earlier turn, and its output only with partial messages.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ..errors import OptionsError
from .ledger import Ledger
from .totals import Totals, check_amount

__all__ = ["Alert", "Budget", "BudgetWatch", "Level", "Metric"]

Metric = Literal["cost_usd", "tokens", "output_tokens", "turns", "calls"]
"""What is limited: dollars, all tokens, written tokens, turns, or messages of the model."""

Level = Literal["warning", "soft", "hard"]
"""How serious it is: the limit is near, or reached; and at a hard one the turn is interrupted."""

METRICS: tuple[Metric, ...] = ("cost_usd", "tokens", "output_tokens", "turns", "calls")

_WORDS: dict[Metric, str] = {
    "cost_usd": "${:.4f} of ${:.4f}",
    "tokens": "{:,} of {:,} tokens",
    "output_tokens": "{:,} of {:,} output tokens",
    "turns": "{:,} of {:,} turns",
    "calls": "{:,} of {:,} model calls",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A limit on usage. Use several, for a soft limit and a hard one or for different scopes.

    Attributes:
        cost_usd: dollars, by estimate.
        tokens: tokens of all kinds.
        output_tokens: tokens that the model writes.
        turns: turns, in a session.
        calls: messages of the model.
        per: whether the limits are for each turn, or for the session.
        hard: whether to interrupt when a limit is reached; otherwise it is only reported.
        warn_at: the parts of a limit at which to warn, each less than 1.

    Raises:
        OptionsError: it limits nothing, or a number makes no sense.
    """

    cost_usd: float | None = None
    tokens: int | None = None
    output_tokens: int | None = None
    turns: int | None = None
    calls: int | None = None
    per: Literal["session", "turn"] = "session"
    hard: bool = True
    warn_at: tuple[float, ...] = (0.8,)

    def __post_init__(self) -> None:
        limits = dict(self.limits)
        if not limits:
            raise OptionsError(f"The budget limits nothing; give it one of {', '.join(METRICS)}")
        for metric, limit in limits.items():
            check_amount(f"The limit {metric} of a budget", limit, least="more than 0")
        if not isinstance(self.warn_at, tuple | list):
            raise OptionsError(f"warn_at must be a list such as (0.8,), not {self.warn_at!r}")
        for part in self.warn_at:
            check_amount("Each of warn_at", part)
        if any(not 0 < part < 1 for part in self.warn_at):
            raise OptionsError(f"Each of warn_at must be between 0 and 1, not {self.warn_at}")
        if not isinstance(self.hard, bool):
            raise OptionsError(f"hard must be True or False, not {self.hard!r}")
        if self.per not in ("session", "turn"):
            raise OptionsError(f"per must be session or turn, not {self.per!r}")
        if self.turns is not None and self.per == "turn":
            raise OptionsError("A budget per turn cannot limit turns; limit calls instead")

    @property
    def limits(self) -> Iterator[tuple[Metric, float]]:
        """What is limited, and to how much."""
        for metric in METRICS:
            limit: float | None = getattr(self, metric)
            if limit is not None:
                yield metric, limit


@dataclass(frozen=True, slots=True)
class Alert:
    """A limit is near, or reached.

    Attributes:
        budget: whose limit it is.
        metric: what is limited.
        level: warning, soft or hard.
        part: the part of the limit that was passed; 1 is the limit itself.
        used: how much was used.
        limit: how much can be used.
        turn: the turn, if the limit is for each turn.
        estimated: whether what was used is an estimate.
    """

    budget: Budget
    metric: Metric
    level: Level
    part: float
    used: float
    limit: float
    turn: Hashable | None = None
    estimated: bool = False

    @property
    def key(self) -> Hashable:
        """Equal for alerts that are the same."""
        return (self.budget, self.metric, self.part, self.turn)

    def __str__(self) -> str:
        amounts = _WORDS[self.metric].format(self.used, self.limit)
        about = "about " if self.estimated else ""
        scope = "session" if self.budget.per == "session" else "turn"
        return f"The {scope} has used {about}{amounts}"


def _alerts(budget: Budget, ledger: Ledger, turn: Hashable | None) -> Iterator[Alert]:
    scope = turn if budget.per == "turn" else None
    used = ledger.session if scope is None else ledger.turn(scope)
    for metric, limit in budget.limits:
        part = _passed(budget, metric, used, limit)
        if part is not None:
            level: Level = "warning" if part < 1 else "hard" if budget.hard else "soft"
            amount = getattr(used, metric)
            yield Alert(budget, metric, level, part, amount, limit, scope, used.estimated)


def _passed(budget: Budget, metric: Metric, used: Totals, limit: float) -> float | None:
    """Return the largest part of a limit that was passed: one of `warn_at`, or 1."""
    amount = getattr(used, metric) or 0
    return max((part for part in (*budget.warn_at, 1.0) if amount >= part * limit), default=None)


class BudgetWatch:
    """Checks budgets, and gives each alert once."""

    def __init__(self, budgets: Iterable[Budget]) -> None:
        self.budgets: tuple[Budget, ...] = tuple(budgets)
        self._given: dict[Hashable, Hashable | None] = {}
        self._seen: object = None

    def check(self, ledger: Ledger, *, turn: Hashable | None = None) -> list[Alert]:
        """Return alerts for the limits that are near, or reached, since the last call.

        Args:
            ledger: what was used.
            turn: the turn that runs, as the ledger knows it; None to leave out limits of a turn.
        """
        seen = (ledger.changes, turn)
        if not self.budgets or seen == self._seen:
            return []
        self._seen = seen
        alerts = [
            alert
            for budget in self.budgets
            if budget.per == "session" or turn is not None
            for alert in _alerts(budget, ledger, turn)
            if alert.key not in self._given
        ]
        # Alerts about earlier turns are no longer needed.
        self._given = {key: of for key, of in self._given.items() if of is None or of == turn}
        self._given.update((alert.key, alert.turn) for alert in alerts)
        return alerts
