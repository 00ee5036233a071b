"""Limits of our own: when they are near, when they are reached, and that it is said once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.api_messages import result, whole

from claudewire.errors import OptionsError
from claudewire.tracking import Alert, Budget, BudgetWatch, SharedBudget, UsageTracker
from claudewire.tracking.budgets import METRICS
from claudewire.wire import ModelUsage, Usage


def spend(
    ledger: UsageTracker, output: int, cost: float = 0.0, turn: object = None
) -> UsageTracker:
    """Let a turn pass."""
    used = ModelUsage(output_tokens=output, cost_usd=cost)
    before = ledger.models.get("m")
    since = {"m": {"outputTokens": output, "costUSD": cost}}
    ledger.note(result({"m": used}, model_usage_since_last_result=since), turn)
    assert before is None or ledger.models["m"].output_tokens >= before.output_tokens
    return ledger


def check(
    budgets: list[Budget], ledger: UsageTracker, *, turn: object | None = None
) -> list[Alert]:
    return BudgetWatch(budgets).check(ledger, turn=turn)


def levels(alerts: list[Alert]) -> list[tuple[str, str, float]]:
    return [(alert.level, alert.metric, alert.part) for alert in alerts]


def test_a_limit_that_is_far_away_is_not_mentioned() -> None:
    assert check([Budget(output_tokens=100)], spend(UsageTracker(), 79)) == []
    assert check([Budget(cost_usd=1)], UsageTracker()) == []


def test_a_limit_that_is_near_is_a_warning_and_one_that_is_reached_is_hard() -> None:
    budget = Budget(output_tokens=100)
    assert levels(check([budget], spend(UsageTracker(), 80))) == [("warning", "output_tokens", 0.8)]
    assert levels(check([budget], spend(UsageTracker(), 100))) == [("hard", "output_tokens", 1)]


def test_a_soft_limit_is_only_said() -> None:
    budget = Budget(cost_usd=1, hard=False, warn_at=())
    assert levels(check([budget], spend(UsageTracker(), 1, 1.5))) == [("soft", "cost_usd", 1)]


@pytest.mark.parametrize("metric", METRICS)
def test_everything_that_is_counted_can_be_limited(metric: str) -> None:
    ledger = UsageTracker()
    ledger.note(whole("Hm.", usage=Usage(1, 1)))
    spend(ledger, 100, 1.0)
    limits: dict[str, Any] = {metric: 1}
    (alert,) = check([Budget(**limits)], ledger)
    assert (alert.level, alert.metric, alert.limit) == ("hard", metric, 1)
    assert alert.used >= 1
    assert str(alert).startswith("The session has used ")


def test_limits_of_a_turn_start_anew_with_each() -> None:
    budget = Budget(output_tokens=100, per="turn")
    ledger = spend(spend(UsageTracker(), 90, turn=1), 10, turn=2)
    assert levels(check([budget], ledger, turn=1)) == [("warning", "output_tokens", 0.8)]
    assert check([budget], ledger, turn=2) == []
    assert check([budget], ledger) == []
    (alert,) = check([budget], ledger, turn=1)
    assert str(alert) == "The turn has used 90 of 100 output tokens"


def test_a_limit_of_the_session_is_the_same_in_every_turn() -> None:
    ledger = spend(spend(UsageTracker(), 90, turn=1), 20, turn=2)
    (alert,) = check([Budget(output_tokens=100)], ledger, turn=2)
    assert (alert.level, alert.used, alert.turn) == ("hard", 110, None)


def test_a_limit_is_noticed_while_the_turn_runs() -> None:
    ledger = UsageTracker()
    ledger.note(whole("Hm.", usage=Usage(10, 100)), 1)
    (alert,) = check([Budget(output_tokens=100, per="turn")], ledger, turn=1)
    assert (alert.level, alert.estimated) == ("hard", True)
    assert str(alert) == "The turn has used about 100 of 100 output tokens"


@pytest.mark.parametrize(
    ("used", "shown"),
    [
        (0.0, "$0.0000"),
        (0.0000123, "$0.000012"),
        (0.000999, "$0.001"),
        (0.001, "$0.0010"),
        (0.25, "$0.2500"),
    ],
)
def test_small_amounts_are_shown_with_digits_that_say_something(used: float, shown: str) -> None:
    alert = Alert(Budget(cost_usd=1.0), "cost_usd", "warning", 0.8, used, 1.0)
    assert str(alert) == f"The session has used {shown} of $1.0000"


def test_dollars_are_shown_as_dollars() -> None:
    (alert,) = check([Budget(cost_usd=1)], spend(UsageTracker(), 5, 0.9))
    assert str(alert) == "The session has used $0.9000 of $1.0000"
    small = replace(alert, used=0.00094, limit=0.00001)
    assert str(small) == "The session has used $0.00094 of $0.00001"


@given(st.lists(st.integers(0, 60), max_size=8), st.booleans())
def test_each_alert_is_given_once(amounts: list[int], hard: bool) -> None:
    budget = Budget(output_tokens=100, hard=hard, warn_at=(0.5, 0.8))
    watch, ledger = BudgetWatch([budget]), UsageTracker()
    given_: list[float] = []
    spent = 0
    for amount in amounts:
        spent += amount
        given_ += [alert.part for alert in watch.check(spend(ledger, amount))]
        assert max(given_, default=0) == max(
            (part for part in (0.5, 0.8, 1.0) if spent >= part * 100), default=0
        )
    assert given_ == sorted(set(given_))


def test_a_watch_gives_an_alert_of_a_turn_once_for_each_turn() -> None:
    watch, ledger = BudgetWatch([Budget(output_tokens=10, per="turn")]), UsageTracker()
    spend(ledger, 10, turn=1)
    assert [len(watch.check(ledger, turn=1)) for _ in range(2)] == [1, 0]
    spend(ledger, 10, turn=1)
    assert watch.check(ledger, turn=1) == []
    spend(ledger, 10, turn=2)
    assert [len(watch.check(ledger, turn=2)) for _ in range(2)] == [1, 0]


def test_an_alert_is_given_once_however_often_is_looked() -> None:
    budgets = [Budget(output_tokens=10), Budget(output_tokens=10, per="turn")]
    watch, ledger = BudgetWatch(budgets), UsageTracker()
    given_ = []
    for turn in range(3):
        for _ in range(4):
            given_ += watch.check(spend(ledger, 10, turn=turn), turn=turn)
    assert [(alert.budget.per, alert.turn) for alert in given_] == [
        ("session", None),
        *(("turn", turn) for turn in range(3)),
    ]
    assert len(watch._given) == 2  # those of earlier turns are forgotten


def test_a_watch_without_budgets_says_nothing() -> None:
    assert BudgetWatch([]).check(spend(UsageTracker(), 10)) == []


def test_what_was_given_before_is_not_given_again() -> None:
    budgets = [Budget(output_tokens=10), Budget(output_tokens=10, hard=False)]
    watch, ledger = BudgetWatch(budgets), UsageTracker()
    assert [alert.budget for alert in watch.check(spend(ledger, 10))] == budgets
    assert watch.check(spend(ledger, 10)) == []


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "limits nothing"),
        ({"cost_usd": 0}, "must be more than 0"),
        ({"tokens": -1}, "must be more than 0"),
        ({"cost_usd": float("nan")}, "must be more than 0"),
        ({"tokens": 1, "warn_at": (1.0,)}, "between 0 and 1"),
        ({"tokens": 1, "warn_at": (0.0,)}, "between 0 and 1"),
        ({"tokens": 1, "warn_at": ("0.8",)}, "Each of warn_at must be a number, not '0.8'"),
        ({"tokens": 1, "warn_at": 0.8}, r"warn_at must be a list such as \(0.8,\), not 0.8"),
        ({"tokens": 1.5}, "The limit tokens of a budget must be a whole number, not 1.5"),
        ({"tokens": 1, "hard": 1}, "hard must be True or False, not 1"),
        ({"tokens": 1, "per": "day"}, "per must be session or turn, not 'day'"),
        ({"turns": 1, "per": "turn"}, "calls instead"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(fields: dict[str, Any], word: str) -> None:
    with pytest.raises(OptionsError, match=word):
        Budget(**fields)


# --- shared budgets -------------------------------------------------------------------------------


def test_a_shared_budget_adds_up_what_several_sessions_use() -> None:
    shared = SharedBudget(output_tokens=30, warn_at=(0.5,))
    watches = [BudgetWatch([shared]) for _ in range(3)]
    ledgers = [UsageTracker() for _ in range(3)]
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


def test_a_warning_of_a_shared_budget_is_given_to_one_session() -> None:
    shared = SharedBudget(output_tokens=10)
    watches, ledger = [BudgetWatch([shared]) for _ in range(3)], UsageTracker()
    watches[0].count(spend(ledger, 9), 0)
    assert [len(watch.check(ledger)) for watch in watches] == [1, 0, 0]
    assert watches[0].exhausted(ledger) is None


def test_what_a_shared_budget_says_is_about_all_sessions() -> None:
    shared = SharedBudget(output_tokens=5)
    watch, ledger = BudgetWatch([shared]), UsageTracker()
    watch.count(spend(ledger, 5), 0)
    alert = watch.exhausted(ledger)
    assert not shared.used.estimated
    assert str(alert) == "The sessions with this budget have used 5 of 5 output tokens"


def test_what_a_session_has_used_is_counted_once() -> None:
    shared = SharedBudget(output_tokens=100)
    watch, ledger = BudgetWatch([shared]), UsageTracker()
    for _ in range(3):
        watch.count(spend(ledger, 10), 0)
        watch.count(ledger, 0)
    assert shared.used.output_tokens == 30
    assert not shared.is_used_up
    assert watch.exhausted(ledger) is None


def test_sessions_are_told_when_a_mark_is_passed_and_only_then() -> None:
    shared = SharedBudget(output_tokens=100, warn_at=(0.5,))
    one, other, told = BudgetWatch([shared]), BudgetWatch([shared]), []
    ledger = UsageTracker()
    other.join(lambda: told.append(shared.used.output_tokens))
    for _ in range(10):
        one.count(spend(ledger, 10), 0)
    assert told == [50, 100]


def test_a_session_that_has_left_is_told_nothing() -> None:
    shared = SharedBudget(output_tokens=10)
    one, other, told = BudgetWatch([shared]), BudgetWatch([shared]), []
    other.join(lambda: told.append(shared.used.output_tokens))
    other.leave()
    one.count(spend(UsageTracker(), 10), 0)
    assert told == []
    assert (one.is_shared, BudgetWatch([Budget(tokens=1)]).is_shared) == (True, False)


def test_turns_that_are_running_count_as_turns() -> None:
    shared = SharedBudget(turns=2)
    watches = [BudgetWatch([shared]) for _ in range(3)]
    watches[2].count(UsageTracker(), 0)  # it runs none
    assert [watch.refusal() for watch in watches[:2]] == [None, None]
    assert watches[2].refusal() == "All 2 turns of a shared budget are used or running"
    watches[0].count(UsageTracker(), 0)  # its turn came to nothing
    assert watches[2].refusal() is None


def test_a_soft_limit_of_turns_refuses_none() -> None:
    for shared in (SharedBudget(turns=1, hard=False), SharedBudget(tokens=1)):
        watches = [BudgetWatch([shared]) for _ in range(3)]
        assert [watch.refusal() for watch in watches] == [None] * 3


def test_two_shared_budgets_are_never_the_same() -> None:
    one, other = SharedBudget(turns=1), SharedBudget(turns=1)
    assert one == one
    assert one != other
    assert len({one, other}) == 2
    assert repr(one).startswith("SharedBudget(cost_usd=None, ")
    assert isinstance(one, Budget)


def test_a_shared_budget_is_not_per_turn() -> None:
    with pytest.raises(OptionsError, match=r"use Budget\(per='turn'\)"):
        SharedBudget(calls=1, per="turn")
    with pytest.raises(OptionsError, match="limits nothing"):
        SharedBudget()


def test_threads_may_use_a_shared_budget_at_once() -> None:
    shared = SharedBudget(output_tokens=10**9)

    def use(_: int) -> None:
        watch, ledger = BudgetWatch([shared]), UsageTracker()
        for _ in range(200):
            watch.count(spend(ledger, 1), 0)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(use, range(8)))
    assert shared.used.output_tokens == 1600


def test_while_a_turn_runs_it_is_an_estimate() -> None:
    shared = SharedBudget(output_tokens=5)
    watch, ledger = BudgetWatch([shared]), UsageTracker()
    ledger.note(whole("Hm.", usage=Usage(1, 1)))
    watch.count(ledger, 1)
    assert shared.used.estimated
    watch.count(spend(ledger, 5), 0)
    assert not shared.used.estimated
