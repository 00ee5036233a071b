"""The budgets of one session: alerts, and the end of turns that exceed them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from ..concurrency import run_soon
from ..errors import BudgetExceeded, Error
from ..tracking import Alert, Budget, BudgetWatch, SharedBudget
from .events import BudgetAlert
from .interrupt import stop_turn
from .log import log

if TYPE_CHECKING:
    from .core import Core
    from .turn import AnyTurn

NEW_BUDGET = "A new session has a new budget."
OTHER_BUDGET = "Use a larger SharedBudget, or a new one."


class BudgetGuard:
    """Enforces the budgets of a session."""

    def __init__(self, core: Core, budgets: Iterable[Budget]) -> None:
        self._core = core
        self._watch = BudgetWatch(budgets)
        self._spent: Error | None = None
        """Set when a budget of the session is used up: then nothing more is sent."""

    def join(self) -> None:
        """Check the budgets whenever another session uses up some of a shared one."""
        if self._watch.is_shared:
            self._watch.join(partial(run_soon(), self._shared_budget_changed))

    def _shared_budget_changed(self) -> None:
        if not self._core.is_dead:
            self.check(self._core.conversation.active)

    def leave(self) -> None:
        """Count nothing more in shared budgets."""
        self._watch.leave()

    def check_spent(self) -> None:
        """Check that no budget of the session is used up, perhaps by other sessions.

        Raises:
            BudgetExceeded: a budget is used up.
        """
        if self._spent is None and (alert := self._watch.exhausted()) is not None:
            self._spent = BudgetExceeded(str(alert), advice=OTHER_BUDGET)
        if self._spent is not None:
            raise self._spent.with_traceback(None)  # or it would grow with each call

    def refusal(self) -> BudgetExceeded | None:
        """Return the reason why another turn cannot begin; if None, it counts from now on."""
        reason = self._watch.refusal()
        return None if reason is None else BudgetExceeded(reason, advice=OTHER_BUDGET)

    def count(self) -> None:
        """Update the usage of this session and its turns in flight in shared budgets."""
        self._watch.count(self._core.ledger, len(self._core.conversation.sent))

    def check(self, turn: AnyTurn | None) -> None:
        """Report limits that are near, and stop turns that exceed one."""
        self.count()
        for alert in self._watch.check(self._core.ledger, turn=turn and turn.key):
            log.warning("%s", alert)
            self._core.subscriptions.put(BudgetAlert(alert))
            if alert.level == "hard":
                self._enforce(alert, turn)

    def _enforce(self, alert: Alert, turn: AnyTurn | None) -> None:
        """Stop the running turn; if the session's budget is used up, drop the held turns too."""
        if alert.budget.per == "session":
            is_shared = isinstance(alert.budget, SharedBudget)
            advice = OTHER_BUDGET if is_shared else NEW_BUDGET
            self._spent = error = BudgetExceeded(str(alert), advice=advice)
            self._core.conversation.drop_held(error)
            self._stop(self._core.conversation.active, error)
        elif turn is not None and not turn.is_over:
            self._stop(turn, BudgetExceeded(str(alert)))

    def _stop(self, turn: AnyTurn | None, error: Error) -> None:
        """Let a turn fail, and stop it in a task: its result may be here already."""
        core = self._core

        async def stop(turn: AnyTurn) -> None:
            if not await stop_turn(core, turn, core.options.timeouts.interrupt):
                core.give_up(error)

        if core.link is not None and turn is not None:
            turn._fail_at_end(error)
            core.link.start_soon(partial(stop, turn))
