"""The application's limits on what a turn, a session, or several sessions together can use.

They use the ledger's totals. While a turn runs these are an estimate: its cost is known only if the
prices are, from a table or from an earlier turn, and its output only with partial messages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from msgspec.structs import replace

from ..errors import OptionsError
from .ledger import Ledger
from .totals import NOTHING, Totals, check_amount

__all__ = ["Alert", "Budget", "BudgetWatch", "Level", "Metric", "SharedBudget"]

Metric = Literal["cost_usd", "tokens", "output_tokens", "turns", "calls"]
"""What is limited: dollars, all tokens, written tokens, turns, or messages of the model."""

Level = Literal["warning", "soft", "hard"]
"""How serious it is: the limit is near, or reached; and at a hard one the turn is interrupted."""

METRICS: tuple[Metric, ...] = ("cost_usd", "tokens", "output_tokens", "turns", "calls")

_WORDS: dict[Metric, str] = {
    "cost_usd": "{} of {}",
    "tokens": "{} of {} tokens",
    "output_tokens": "{} of {} output tokens",
    "turns": "{} of {} turns",
    "calls": "{} of {} model calls",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A limit on usage. Use several, for a soft limit and a hard one or for different scopes.

    Each session that is given a budget counts by itself; `SharedBudget` limits several together.

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
            if metric != "cost_usd" and not isinstance(limit, int):
                raise OptionsError(
                    f"The limit {metric} of a budget must be a whole number, not {limit!r}"
                )
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


class _Count:
    """What the sessions that share a budget have used, and how to reach them. Any thread may."""

    __slots__ = ("changes", "estimates", "given", "listeners", "lock", "running", "used")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.used: Totals = NOTHING
        self.estimates: int = 0
        """How many sessions have only an estimate of what they have used."""
        self.running: int = 0
        """How many turns are running, which count as turns already."""
        self.changes: int = 0
        self.given: set[Hashable] = set()
        """The alerts of which one of the sessions was told."""
        self.listeners: dict[object, Callable[[], None]] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedBudget(Budget):
    """A limit on what several sessions use together: one object that is given to all of them.

        total = claudewire.SharedBudget(cost_usd=5.00)
        replies = [await claudewire.run(prompt, budgets=[total]) for prompt in prompts]

    The sessions may come after each other or run at once, in any event loops and threads, with or
    without async. What they use is added up from their first message on, and is never subtracted,
    also when they are closed. When a hard limit is reached, all their running turns are interrupted
    and fail, and no session that has this budget sends another prompt, or can be opened.

    The arguments are those of `Budget`, without `per`.

    Raises:
        OptionsError: it limits nothing, a number makes no sense, or `per` is not `session`.
    """

    _count: _Count = field(default_factory=_Count, init=False, repr=False)

    # Each counts for itself, so it is equal to no other.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __post_init__(self) -> None:
        Budget.__post_init__(self)
        if self.per != "session":
            raise OptionsError("A shared budget is not per turn; use Budget(per='turn') for that")

    @property
    def used(self) -> Totals:
        """What the sessions have used together so far."""
        return replace(self._count.used, estimated=self._count.estimates > 0)

    @property
    def is_used_up(self) -> bool:
        """Whether one of its limits is reached."""
        return any(_reached(self, self.used))

    def _add(self, before: Totals, now: Totals, running: int) -> None:
        """Add what a session has used since the last time, and how many more turns it runs."""
        count = self._count
        with count.lock:
            passed = set(_passed_parts(self, count.used))
            count.used += now - before
            count.estimates += now.estimated - before.estimated
            count.running += running
            count.changes += 1
            has_passed = not passed.issuperset(_passed_parts(self, count.used))
            listeners = list(count.listeners.values()) if has_passed else []
        for listener in listeners:
            listener()

    def _admit(self) -> bool:
        """Count one more running turn, unless all turns are used or running."""
        count = self._count
        with count.lock:
            is_full = self.turns is not None and count.used.turns + count.running >= self.turns
            if is_full and self.hard:
                return False
            count.running += 1
            return True

    def _is_first(self, key: Hashable) -> bool:
        """Whether no session was told this before; from now on one was."""
        with self._count.lock:
            is_first = key not in self._count.given
            self._count.given.add(key)
            return is_first


class _Share:
    """The part of one session in a shared budget."""

    def __init__(self, budget: SharedBudget) -> None:
        self.budget = budget
        self._used = NOTHING
        self._running = 0

    def count(self, used: Totals, running: int) -> None:
        if (used, running) != (self._used, self._running):
            before, more_running = self._used, running - self._running
            self._used, self._running = used, running
            self.budget._add(before, used, more_running)

    def admit(self) -> bool:
        admitted = self.budget._admit()
        self._running += admitted
        return admitted


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
        shown = _dollars if self.metric == "cost_usd" else "{:,}".format
        amounts = _WORDS[self.metric].format(shown(self.used), shown(self.limit))
        about = "about " if self.estimated else ""
        if isinstance(self.budget, SharedBudget):
            return f"The sessions with this budget have used {about}{amounts}"
        scope = "session" if self.budget.per == "session" else "turn"
        return f"The {scope} has used {about}{amounts}"


def _dollars(amount: float) -> str:
    """Write an amount of money; a small one with two digits that say something."""
    if amount >= 0.001 or amount <= 0:
        return f"${amount:.4f}"
    return f"${Decimal(f'{amount:.2g}'):f}"


def _alerts(budget: Budget, ledger: Ledger, turn: Hashable | None) -> Iterator[Alert]:
    scope = turn if budget.per == "turn" else None
    if isinstance(budget, SharedBudget):
        used = budget.used
    else:
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


def _passed_parts(budget: Budget, used: Totals) -> Iterator[tuple[Metric, float]]:
    for metric, limit in budget.limits:
        part = _passed(budget, metric, used, limit)
        if part is not None:
            yield metric, part


def _reached(budget: Budget, used: Totals) -> Iterator[Metric]:
    return (metric for metric, part in _passed_parts(budget, used) if part >= 1)


class BudgetWatch:
    """Checks the budgets of one session, and gives each alert once.

    A warning of a shared budget is given to one of the sessions; that it is used up, to all.
    """

    def __init__(self, budgets: Iterable[Budget]) -> None:
        self.budgets: tuple[Budget, ...] = tuple(budgets)
        self._given: dict[Hashable, Hashable | None] = {}
        self._seen: object = None
        self._shares = [_Share(each) for each in self.budgets if isinstance(each, SharedBudget)]

    @property
    def is_shared(self) -> bool:
        """Whether other sessions may use up one of the budgets."""
        return bool(self._shares)

    def join(self, listener: Callable[[], None]) -> None:
        """Have a function called, in any thread, when a shared budget passes a mark."""
        for share in self._shares:
            share.budget._count.listeners[self] = listener

    def leave(self) -> None:
        """Have it called no longer."""
        for share in self._shares:
            share.budget._count.listeners.pop(self, None)

    def count(self, ledger: Ledger, running: int) -> None:
        """Add what this session has used to the shared budgets, and how many turns it runs."""
        for share in self._shares:
            share.count(ledger.session, running)

    def refusal(self) -> str | None:
        """Say why another turn cannot begin; None if it can, which then counts as running."""
        for share in self._shares:
            if not share.admit():
                return f"All {share.budget.turns:,} turns of a shared budget are used or running"
        return None

    def exhausted(self, ledger: Ledger) -> Alert | None:
        """Return the alert of a shared budget that is used up; None if there is no such."""
        alerts = (alert for share in self._shares for alert in _alerts(share.budget, ledger, None))
        return next((alert for alert in alerts if alert.level == "hard"), None)

    def check(self, ledger: Ledger, *, turn: Hashable | None = None) -> list[Alert]:
        """Return alerts for the limits that are near, or reached, since the last call.

        Args:
            ledger: what was used.
            turn: the turn that runs, as the ledger knows it; None to leave out limits of a turn.
        """
        seen = (ledger.changes, turn, *(share.budget._count.changes for share in self._shares))
        if not self.budgets or seen == self._seen:
            return []
        self._seen = seen
        alerts = [
            alert
            for budget in self.budgets
            if budget.per == "session" or turn is not None
            for alert in _alerts(budget, ledger, turn)
            if alert.key not in self._given and _is_for_this_session(alert)
        ]
        # Alerts about earlier turns are no longer needed.
        self._given = {key: of for key, of in self._given.items() if of is None or of == turn}
        self._given.update((alert.key, alert.turn) for alert in alerts)
        return alerts


def _is_for_this_session(alert: Alert) -> bool:
    budget = alert.budget
    if alert.level == "hard" or not isinstance(budget, SharedBudget):
        return True
    return budget._is_first(alert.key)
