"""The application's limits on the usage of a turn, a session, or several sessions together.

They use the ledger's totals. While a turn runs these are an estimate: its cost is known only if the
prices are, from a table or from an earlier turn, and its output only with partial messages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from ..errors import OptionsError
from .ledger import Ledger
from .totals import NOTHING, Totals, check_amount

Metric = Literal["cost_usd", "tokens", "output_tokens", "turns", "calls"]
"""A limited amount: dollars, all tokens, written tokens, turns, or model calls."""

Level = Literal["warning", "soft", "hard"]
"""The severity: the limit is near, or reached; and at a hard one the turn is interrupted."""

_UNITS: dict[Metric, str] = {
    "cost_usd": "",
    "tokens": " tokens",
    "output_tokens": " output tokens",
    "turns": " turns",
    "calls": " model calls",
}
METRICS: tuple[Metric, ...] = tuple(_UNITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A limit on usage. Use several, for a soft limit and a hard one or for different scopes.

    Each session counts its own usage; a `SharedBudget` limits several sessions together.

    Attributes:
        cost_usd: dollars, by estimate.
        tokens: tokens of all kinds.
        output_tokens: tokens that the model writes.
        turns: turns, in a session.
        calls: model calls.
        per: whether the limits are for each turn, or for the session.
        hard: whether to interrupt when a limit is reached; otherwise it is only reported.
        warn_at: the parts of a limit at which to warn, each less than 1.

    Raises:
        OptionsError: it has no limit, or an invalid number.
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
            raise OptionsError(f"The budget limits nothing. Give it one of {', '.join(METRICS)}.")
        for metric, limit in limits.items():
            check_amount(f"The limit {metric} of a budget", limit, least="more than 0")
        if not all(0 < part < 1 for part in self.warn_at):
            raise OptionsError(f"Each of warn_at must be between 0 and 1, got {self.warn_at}")
        if self.turns is not None and self.per == "turn":
            raise OptionsError("A budget per turn cannot limit turns; limit calls instead")

    @property
    def limits(self) -> Iterator[tuple[Metric, float]]:
        """The limited metrics, with their limits."""
        for metric in METRICS:
            limit: float | None = getattr(self, metric)
            if limit is not None:
                yield metric, limit

    def alerts(self, used: Totals, turn: Hashable | None = None) -> Iterator[Alert]:
        """Yield an alert for the largest part of each limit that was passed."""
        for metric, limit in self.limits:
            amount = getattr(used, metric) or 0
            parts = [part for part in (*self.warn_at, 1.0) if amount >= part * limit]
            if parts:
                reached: Level = "hard" if self.hard else "soft"
                level: Level = "warning" if max(parts) < 1 else reached
                yield Alert(self, metric, level, max(parts), amount, limit, turn, used.estimated)


@dataclass(slots=True, eq=False)
class _Share:
    """The part of one session in a shared budget."""

    used: Totals = NOTHING
    running: int = 0
    """Turns in flight, which count as turns already."""
    listener: Callable[[], None] | None = None


@dataclass(slots=True, eq=False)
class _Count:
    """The usage of the sessions that share a budget. Any thread may change it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    closed: Totals = NOTHING
    """The usage of closed sessions."""
    shares: set[_Share] = field(default_factory=set)
    given: set[Hashable] = field(default_factory=set)
    """Alerts that one of the sessions has given."""

    @property
    def used(self) -> Totals:
        return sum((share.used for share in self.shares), self.closed)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedBudget(Budget):
    """A limit on the usage of several sessions together: give one object to all of them.

        total = claudewire.SharedBudget(cost_usd=5.00)
        replies = [await claudewire.run(prompt, budgets=[total]) for prompt in prompts]

    The sessions may come after each other or run at once, in any event loops and threads, with or
    without async. Their usage counts from the first message on and is never subtracted, also when
    they are closed. When a hard limit is reached, all their running turns are interrupted and fail,
    and no session that has this budget sends another prompt, or can be opened.

    The arguments are those of `Budget`, without `per`.

    Raises:
        OptionsError: it has no limit, an invalid number, or `per` is not `session`.
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
        """The usage of all sessions so far."""
        with self._count.lock:
            return self._count.used

    @property
    def is_used_up(self) -> bool:
        """Whether one of its limits is reached."""
        return any(alert.part >= 1 for alert in self.alerts(self.used))

    def _update(self, share: _Share, used: Totals, running: int) -> None:
        """Set a session's usage and turns in flight; call all sessions if a mark is passed."""
        count = self._count
        with count.lock:
            passed = {alert.key for alert in self.alerts(count.used)}
            share.used, share.running = used, running
            is_new = not {alert.key for alert in self.alerts(count.used)} <= passed
            listeners = [it.listener for it in count.shares if it.listener and is_new]
        for listener in listeners:
            listener()

    def _admit(self, share: _Share) -> bool:
        """Count one more turn in flight, unless all turns are used or in flight."""
        count = self._count
        with count.lock:
            running = sum(each.running for each in count.shares)
            if self.turns is not None and self.hard and count.used.turns + running >= self.turns:
                return False
            share.running += 1
            return True

    def _open(self) -> _Share:
        share = _Share()
        with self._count.lock:
            self._count.shares.add(share)
        return share

    def _leave(self, share: _Share) -> None:
        with self._count.lock:
            self._count.shares.discard(share)
            self._count.closed += share.used

    def _is_first(self, key: Hashable) -> bool:
        """Return whether no session has given this alert before; from now on one has."""
        with self._count.lock:
            is_first = key not in self._count.given
            self._count.given.add(key)
            return is_first


@dataclass(frozen=True, slots=True)
class Alert:
    """A limit is near, or reached.

    Attributes:
        budget: the budget with the limit.
        metric: the limited amount.
        level: warning, soft or hard.
        part: the part of the limit that was passed; 1 is the limit itself.
        used: the usage.
        limit: the limit.
        turn: the turn, if the limit is for each turn.
        estimated: whether the usage is an estimate.
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
        amounts = f"{shown(self.used)} of {shown(self.limit)}{_UNITS[self.metric]}"
        about = "about " if self.estimated else ""
        if isinstance(self.budget, SharedBudget):
            return f"The sessions with this budget have used {about}{amounts}"
        return f"The {self.budget.per} has used {about}{amounts}"


def _dollars(amount: float) -> str:
    """Format an amount of money; a small one with two significant digits."""
    if amount >= 0.001 or amount <= 0:
        return f"${amount:.4f}"
    return f"${Decimal(f'{amount:.2g}'):f}"


class BudgetWatch:
    """Checks the budgets of one session, and gives each alert once.

    A warning of a shared budget is given to one of the sessions; that it is used up, to all.
    """

    def __init__(self, budgets: Iterable[Budget]) -> None:
        self.budgets: tuple[Budget, ...] = tuple(budgets)
        self._given: dict[Hashable, Hashable | None] = {}
        """The keys of the alerts, with their turns."""
        shared = [budget for budget in self.budgets if isinstance(budget, SharedBudget)]
        self._shares = {budget: budget._open() for budget in shared}

    @property
    def is_shared(self) -> bool:
        """Whether other sessions may use up one of the budgets."""
        return bool(self._shares)

    def join(self, listener: Callable[[], None]) -> None:
        """Call a function, in any thread, whenever a shared budget passes a mark."""
        for share in self._shares.values():
            share.listener = listener

    def leave(self) -> None:
        """Stop calling the function, and count nothing more."""
        for budget, share in self._shares.items():
            budget._leave(share)
        self._shares = {}

    def count(self, ledger: Ledger, running: int) -> None:
        """Update the usage of this session and its turns in flight in the shared budgets."""
        for budget, share in self._shares.items():
            used = ledger.session
            if (used, running) != (share.used, share.running):
                budget._update(share, used, running)

    def refusal(self) -> str | None:
        """Return the reason why another turn cannot begin; if None, it counts from now on."""
        for budget, share in self._shares.items():
            if not budget._admit(share):
                return f"All {budget.turns:,} turns of a shared budget are used or running"
        return None

    def exhausted(self) -> Alert | None:
        """Return the alert of a shared budget that is used up, if any."""
        alerts = (alert for shared in self._shares for alert in shared.alerts(shared.used))
        return next((alert for alert in alerts if alert.level == "hard"), None)

    def check(self, ledger: Ledger, *, turn: Hashable | None = None) -> list[Alert]:
        """Return alerts for the limits that are near, or reached, since the last call.

        Args:
            ledger: the usage.
            turn: the running turn, as the ledger knows it; None to skip limits per turn.
        """
        # Alerts about earlier turns are no longer needed.
        self._given = {key: of for key, of in self._given.items() if of is None or of == turn}
        alerts = []
        for alert in self._current(ledger, turn):
            if alert.key not in self._given and _is_for_this_session(alert):
                self._given[alert.key] = alert.turn
                alerts.append(alert)
        return alerts

    def _current(self, ledger: Ledger, turn: Hashable | None) -> Iterator[Alert]:
        for budget in self.budgets:
            if isinstance(budget, SharedBudget):
                yield from budget.alerts(budget.used)
            elif budget.per == "session":
                yield from budget.alerts(ledger.session)
            elif turn is not None:
                yield from budget.alerts(ledger.turn(turn), turn)


def _is_for_this_session(alert: Alert) -> bool:
    budget = alert.budget
    if alert.level == "hard" or not isinstance(budget, SharedBudget):
        return True
    return budget._is_first(alert.key)
