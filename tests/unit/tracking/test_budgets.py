"""Budgets of a session, and of several."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.api_messages import result, whole

from claudewire.errors import OptionsError
from claudewire.tracking import Alert, Budget, BudgetWatch, Ledger, SharedBudget
from claudewire.tracking.budgets import METRICS
from claudewire.wire import ModelUsage, Usage


def spend(ledger: Ledger, output: int, cost: float = 0.0, turn: object = None) -> Ledger:
    """Let a turn pass."""
    used = ModelUsage(output_tokens=output, cost_usd=cost)
    before = ledger.models.get("m")
    ledger.note(result({"m": used}, model_usage_since_last_result={"m": used}), turn)
    assert before is None or ledger.models["m"].output_tokens >= before.output_tokens
    return ledger


def check(budgets: list[Budget], ledger: Ledger, *, turn: object | None = None) -> list[Alert]:
    return BudgetWatch(budgets).check(ledger, turn=turn)


def levels(alerts: list[Alert]) -> list[tuple[str, str, float]]:
    return [(alert.level, alert.metric, alert.part) for alert in alerts]


def test_near_limit_warns_and_reached_limit_is_hard() -> None:
    budget = Budget(output_tokens=100)
    assert levels(check([budget], spend(Ledger(), 80))) == [("warning", "output_tokens", 0.8)]
    assert levels(check([budget], spend(Ledger(), 100))) == [("hard", "output_tokens", 1)]


def test_soft_limit_makes_a_soft_alert() -> None:
    budget = Budget(cost_usd=1, hard=False, warn_at=())
    assert levels(check([budget], spend(Ledger(), 1, 1.5))) == [("soft", "cost_usd", 1)]


@pytest.mark.parametrize("metric", METRICS)
def test_each_metric_can_be_limited(metric: str) -> None:
    ledger = Ledger()
    ledger.note(whole("Hm.", usage=Usage(1, 1)))
    spend(ledger, 100, 1.0)
    limits: dict[str, Any] = {metric: 1}
    (alert,) = check([Budget(**limits)], ledger)
    assert (alert.level, alert.metric, alert.limit) == ("hard", metric, 1)
    assert alert.used >= 1
    assert str(alert).startswith("The session has used ")


def test_limit_per_turn_starts_anew_with_each_turn() -> None:
    budget = Budget(output_tokens=100, per="turn")
    ledger = spend(spend(Ledger(), 90, turn=1), 10, turn=2)
    assert levels(check([budget], ledger, turn=1)) == [("warning", "output_tokens", 0.8)]
    assert check([budget], ledger, turn=2) == []
    assert check([budget], ledger) == []
    (alert,) = check([budget], ledger, turn=1)
    assert str(alert) == "The turn has used 90 of 100 output tokens"


def test_limit_is_noticed_while_the_turn_runs() -> None:
    ledger = Ledger()
    ledger.note(whole("Hm.", usage=Usage(10, 100)), 1)
    (alert,) = check([Budget(output_tokens=100, per="turn")], ledger, turn=1)
    assert (alert.level, alert.estimated) == ("hard", True)
    assert str(alert) == "The turn has used about 100 of 100 output tokens"


def test_alert_shows_dollars_with_significant_digits() -> None:
    (alert,) = check([Budget(cost_usd=1)], spend(Ledger(), 5, 0.9))
    assert str(alert) == "The session has used $0.9000 of $1.0000"
    small = replace(alert, used=0.00094, limit=0.00001)
    assert str(small) == "The session has used $0.00094 of $0.00001"


@given(st.lists(st.integers(0, 60), max_size=8), st.booleans())
def test_each_alert_is_given_once(amounts: list[int], hard: bool) -> None:
    budget = Budget(output_tokens=100, hard=hard, warn_at=(0.5, 0.8))
    watch, ledger = BudgetWatch([budget]), Ledger()
    given_: list[float] = []
    spent = 0
    for amount in amounts:
        spent += amount
        given_ += [alert.part for alert in watch.check(spend(ledger, amount))]
        assert max(given_, default=0) == max(
            (part for part in (0.5, 0.8, 1.0) if spent >= part * 100), default=0
        )
    assert given_ == sorted(set(given_))


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "limits nothing"),
        ({"cost_usd": 0}, "must be more than 0"),
        ({"tokens": -1}, "must be more than 0"),
        ({"cost_usd": float("nan")}, "must be more than 0"),
        ({"tokens": 1, "warn_at": (1.0,)}, "between 0 and 1"),
        ({"tokens": 1, "warn_at": (0.0,)}, "between 0 and 1"),
        ({"turns": 1, "per": "turn"}, "calls instead"),
    ],
)
def test_invalid_budget_is_refused(fields: dict[str, Any], word: str) -> None:
    with pytest.raises(OptionsError, match=word):
        Budget(**fields)


# --- shared budgets -------------------------------------------------------------------------------


def test_shared_budget_adds_up_several_sessions() -> None:
    shared = SharedBudget(output_tokens=30, warn_at=(0.5,))
    watches = [BudgetWatch([shared]) for _ in range(3)]
    ledgers = [Ledger() for _ in range(3)]
    said = []
    for watch, ledger in zip(watches, ledgers, strict=True):
        watch.count(spend(ledger, 10), 0)
        said.append(([alert.level for alert in watch.check(ledger)], shared.is_used_up))
    assert said == [([], False), (["warning"], False), (["hard"], True)]
    assert shared.used.output_tokens == 30
    # That it is used up, each is told once; a warning only one.
    assert [alert.level for alert in watches[0].check(ledgers[0])] == ["hard"]
    assert watches[0].check(ledgers[0]) == []
    assert watches[2].check(ledgers[2]) == []


def test_listener_is_called_when_a_mark_is_passed() -> None:
    shared = SharedBudget(output_tokens=100, warn_at=(0.5,))
    one, other, told = BudgetWatch([shared]), BudgetWatch([shared]), []
    ledger = Ledger()
    other.join(lambda: told.append(shared.used.output_tokens))
    for _ in range(10):
        one.count(spend(ledger, 10), 0)
    assert told == [50, 100]


def test_running_turns_count_as_turns() -> None:
    shared = SharedBudget(turns=2)
    watches = [BudgetWatch([shared]) for _ in range(3)]
    watches[2].count(Ledger(), 0)  # it runs none
    assert [watch.refusal() for watch in watches[:2]] == [None, None]
    assert watches[2].refusal() == "All 2 turns of a shared budget are used or running"
    watches[0].count(Ledger(), 0)  # its turn came to nothing
    assert watches[2].refusal() is None


def test_shared_budget_per_turn_is_refused() -> None:
    with pytest.raises(OptionsError, match=r"use Budget\(per='turn'\)"):
        SharedBudget(calls=1, per="turn")
    with pytest.raises(OptionsError, match="limits nothing"):
        SharedBudget()


def test_threads_may_share_a_budget() -> None:
    shared = SharedBudget(output_tokens=10**9)

    def use(_: int) -> None:
        watch, ledger = BudgetWatch([shared]), Ledger()
        for _ in range(200):
            watch.count(spend(ledger, 1), 0)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(use, range(8)))
    assert shared.used.output_tokens == 1600
