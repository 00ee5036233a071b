"""The usage of a session, by turn, model and subagent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.api_messages import (
    RECORDINGS,
    delta,
    event,
    recorded,
    result,
    start,
    whole,
)

from claudewire.tracking import (
    ContextWindow,
    Ledger,
    Price,
    PriceTable,
    RateLimit,
    Totals,
)
from claudewire.tracking.totals import NOTHING
from claudewire.wire import (
    APIRetryMessage,
    CompactBoundaryMessage,
    CompactMetadata,
    ContextUsage,
    ContextUsageResult,
    ConversationResetMessage,
    KeepAlive,
    Message,
    MessageChange,
    MessageDelta,
    ModelUsage,
    RateLimitEvent,
    RateLimitInfo,
    ResultMessage,
    Usage,
)

OPUS, HAIKU = "claude-opus-5-5", "claude-haiku-5-5"
PRICES = {
    OPUS: Price(input=4, output=20, cache_read=0.4, cache_creation=5),
    HAIKU: Price(input=1, output=5, cache_read=0.1, cache_creation=1.25),
}


def kept(*messages: Message, ledger: Ledger | None = None, turn: object = None) -> Ledger:
    ledger = ledger or Ledger()
    for message in messages:
        ledger.note(message, turn)
    return ledger


def tokens(totals: Totals) -> tuple[int, int, int, int]:
    return (
        totals.input_tokens,
        totals.output_tokens,
        totals.cache_read_tokens,
        totals.cache_creation_tokens,
    )


def cost(totals: Totals) -> float:
    return totals.cost_usd or 0.0


def dollars(model: str, usage: Usage) -> float:
    """Return the cost by the numbers of `PRICES`, without the code under test."""
    kinds = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens,
    )
    prices = {OPUS: (4.0, 20.0, 0.4, 5.0), HAIKU: (1.0, 5.0, 0.1, 1.25)}[model]
    return sum((count or 0) * price for count, price in zip(kinds, prices, strict=True)) / 10**6


def used(input: int = 0, output: int = 0, read: int = 0, made: int = 0) -> Usage:
    return Usage(input, output, made, read)


def model_usage(input: int = 0, output: int = 0, cost: float | None = None) -> ModelUsage:
    return ModelUsage(
        input_tokens=input,
        output_tokens=output,
        cache_read_input_tokens=0,
        cache_creation_input_tokens=0,
        cost_usd=cost,
        context_window=200_000,
    )


# --- a CLI that counts right ---------------------------------------------------------------------


@dataclass
class Call:
    """A model call."""

    model: str = OPUS
    agent: str | None = None
    usage: Usage = field(default_factory=Usage)
    lines: int = 1
    visible: bool = True


@dataclass
class CLI:
    """A CLI that reports its usage as real ones do.

    Attributes:
        partial: it writes partial messages. Then, as newer CLIs do, only they have the output.
        since: it says what is new in a report.
        reports: it reports anything at all.
    """

    partial: bool = True
    since: bool = True
    reports: bool = True
    before: dict[str, Totals] = field(default_factory=dict)
    calls: int = 0

    def turn(self, calls: Sequence[Call]) -> list[Message]:
        messages: list[Message] = []
        new: dict[str, Totals] = {}
        for call in calls:
            spent = Totals.of(call.usage)
            spent += Totals(cost_usd=dollars(call.model, call.usage))
            new[call.model] = new.get(call.model, NOTHING) + spent
            messages += self.spoken(call) if call.visible else []
        self.before = {
            model: self.before.get(model, NOTHING) + new.get(model, NOTHING)
            for model in dict.fromkeys([*self.before, *new])
        }
        return [*messages, self.result(calls, new)]

    def spoken(self, call: Call) -> list[Message]:
        self.calls += 1
        id, usage = f"m{self.calls}", call.usage
        early = Usage(
            usage.input_tokens,
            1 if usage.output_tokens else 0,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        )
        line = early if self.partial else usage
        lines = [
            whole("Hm.", id=id, model=call.model, agent=call.agent, usage=line)
            for _ in range(call.lines)
        ]
        if not self.partial:
            return list(lines)
        end = MessageDelta(MessageChange("end_turn"), usage)
        return [
            start(id, call.agent, model=call.model, usage=early),
            *lines,
            event(end, call.agent),
        ]

    def result(self, calls: Sequence[Call], new: dict[str, Totals]) -> ResultMessage:
        if not self.reports:
            return result()
        main = sum((Totals.of(it.usage) for it in calls if _is_main(it)), NOTHING)
        return result(
            _reported(self.before),
            total_cost_usd=sum(it.cost_usd or 0 for it in self.before.values()),
            usage=Usage(*tokens(main)[:2], main.cache_creation_tokens, main.cache_read_tokens),
            model_usage_since_last_result=_reported(new) if self.since else None,
        )


def _is_main(call: Call) -> bool:
    return call.agent is None and call.visible


def _reported(models: dict[str, Totals]) -> dict[str, ModelUsage]:
    return {
        model: ModelUsage(
            input_tokens=it.input_tokens,
            output_tokens=it.output_tokens,
            cache_read_input_tokens=it.cache_read_tokens,
            cache_creation_input_tokens=it.cache_creation_tokens,
            cost_usd=it.cost_usd,
        )
        for model, it in models.items()
    }


def truth(calls: Sequence[Call]) -> Totals:
    return sum(
        (
            Totals.of(it.usage)
            + Totals(cost_usd=dollars(it.model, it.usage), calls=int(it.visible))
            for it in calls
        ),
        NOTHING,
    )


counts = st.integers(0, 1000)
usages = st.builds(used, counts, counts, counts, counts)
models = st.sampled_from([OPUS, HAIKU])
visible = st.builds(
    Call, models, st.sampled_from([None, None, "t1", "t2"]), usages, st.integers(1, 3)
)
side = st.builds(Call, models, st.none(), usages, visible=st.just(False))
turns = st.lists(st.lists(visible | side, max_size=4), min_size=1, max_size=4)


@given(turns, st.booleans(), st.booleans())
def test_reports_are_split_by_turn_and_model(
    turns: list[list[Call]], partial: bool, since: bool
) -> None:
    cli, ledger = CLI(partial, since), Ledger()
    for number, calls in enumerate(turns):
        kept(*cli.turn(calls), ledger=ledger, turn=number)
    everything = [call for calls in turns for call in calls]
    assert tokens(ledger.session) == tokens(truth(everything))
    assert ledger.session.cost_usd == pytest.approx(cost(truth(everything)))
    assert (ledger.session.turns, ledger.session.calls) == (len(turns), truth(everything).calls)
    assert not ledger.session.estimated
    for number, calls in enumerate(turns):
        turn = ledger.turn(number)
        assert (tokens(turn), turn.calls) == (tokens(truth(calls)), truth(calls).calls)
        assert cost(turn) == pytest.approx(cost(truth(calls)))
    for model, totals in ledger.models.items():
        mine = truth([call for call in everything if call.model == model])
        assert (tokens(totals), totals.calls) == (tokens(mine), mine.calls)


@given(turns, st.booleans())
def test_messages_are_added_up_without_a_report(turns: list[list[Call]], partial: bool) -> None:
    cli, ledger = CLI(partial, reports=False), Ledger(prices=PRICES)
    for number, calls in enumerate(turns):
        kept(*cli.turn(calls), ledger=ledger, turn=number)
    said = [[call for call in calls if call.visible] for calls in turns]
    everything = [call for calls in said for call in calls]
    assert tokens(ledger.session) == tokens(truth(everything))
    assert cost(ledger.session) == pytest.approx(cost(truth(everything)))
    assert ledger.session.estimated is bool(everything)
    for number, calls in enumerate(said):
        assert tokens(ledger.turn(number)) == tokens(truth(calls))
    sums = sum(ledger.models.values(), NOTHING)
    assert tokens(sums) == tokens(ledger.session)


@given(turns, turns, st.booleans(), st.booleans(), st.booleans())
def test_restarted_process_counts_on_or_from_zero(
    before: list[list[Call]], after: list[list[Call]], goes_on: bool, since: bool, partial: bool
) -> None:
    ledger, cli = Ledger(), CLI(partial, since)
    for calls in before:
        kept(*cli.turn(calls), ledger=ledger)
    ledger.restarted()
    cli.before = cli.before if goes_on else {}
    # What a process has used in its first turn tells which way it counts, if that is anything.
    after[0] = [*after[0], Call(usage=used(5000, 5000, 5000, 5000))]
    if not goes_on and not since:
        before_it = sum((truth(calls) for calls in before), NOTHING)
        after[0] = after[0][-1:] if before_it.tokens else after[0]
    for calls in after:
        kept(*cli.turn(calls), ledger=ledger)
    everything = [call for calls in (*before, *after) for call in calls]
    assert tokens(ledger.session) == tokens(truth(everything))
    assert ledger.session.cost_usd == pytest.approx(cost(truth(everything)))


@given(st.lists(visible, max_size=4), st.booleans())
def test_running_turn_is_estimated_and_never_too_high(calls: list[Call], partial: bool) -> None:
    ledger = Ledger(prices=PRICES)
    *messages, end = CLI(partial).turn(calls)
    before = ledger.session
    for message in messages:
        ledger.note(message, "turn")
        assert ledger.session.covers(before)
        assert ledger.session == ledger.turn("turn")
        assert ledger.session.estimated
        before = ledger.session
    assert tokens(ledger.session) == tokens(truth(calls))
    assert cost(ledger.session) == pytest.approx(cost(truth(calls)))
    ledger.note(end, "turn")
    assert tokens(ledger.session) == tokens(truth(calls))
    assert ledger.session.turns == 1


# --- what reports leave out ----------------------------------------------------------------------


def test_interrupted_message_counts_without_a_report() -> None:
    # As every CLI does after an interrupt in the middle of a message.
    aborted = result({}, usage=used(), total_cost_usd=0, model_usage_since_last_result={})
    ledger = kept(start("m1", model=OPUS, usage=used(10, 1)), aborted, turn=1)
    assert ledger.turn(1) == Totals(10, 1, cost_usd=0, turns=1, calls=1, estimated=True)
    assert ledger.session == ledger.turn(1)
    assert ledger.models == {OPUS: Totals(10, 1, calls=1, estimated=True)}


def test_synthetic_message_costs_nothing() -> None:
    error = whole("API Error: 400", model="<synthetic>", usage=used(5, 5))
    assert kept(error).session == NOTHING


def test_model_with_two_names_is_one_model() -> None:
    report = {f"{OPUS}[1m]": model_usage(10, 5, 0.1)}
    ledger = kept(
        whole("Hm.", id="m1", usage=used(10, 5), model=OPUS),
        result(report, usage=used(10, 5)),
        whole("Hm.", id="m2", usage=used(10, 5), model=OPUS),
    )
    assert list(ledger.models) == [f"{OPUS}[1m]"]
    assert ledger.models[f"{OPUS}[1m]"].calls == 2
    assert ledger.context.window == 200_000


# --- prices --------------------------------------------------------------------------------------


def test_own_prices_replace_those_of_the_cli() -> None:
    ledger = Ledger(prices={"claude-opus": Price(1, 1, 1, 1), OPUS: Price(10, 0, 0, 0)})
    kept(
        *CLI().turn([Call(OPUS, usage=used(10**6, 5)), Call(HAIKU, usage=used(10**6))]),
        ledger=ledger,
    )
    assert ledger.models[OPUS].cost_usd == pytest.approx(10)
    assert ledger.models[HAIKU].cost_usd == pytest.approx(1)
    assert ledger.session.cost_usd == pytest.approx(11)


def test_longest_prefix_of_a_model_name_has_the_price() -> None:
    prices = {"claude": Price(1, 0, 0, 0), "claude-opus": Price(2, 0, 0, 0), "a": Price(9, 0, 0, 0)}
    table, some = PriceTable(prices), Totals(10**6)
    table.learn("claude-opus-5", Totals(10**6, cost_usd=7.0))
    table.learn("other", Totals(10**6, cost_usd=7.0))
    table.learn("other", Totals(10**6))  # which says nothing
    names = ("claude-opus-5", "claude-haiku", "claud", "a", "other", "")
    assert {name: table.cost(name, some) for name in names} == {
        "claude-opus-5": 2.0,
        "claude-haiku": 1.0,
        "claud": None,
        "a": 9.0,
        "other": pytest.approx(7.0),
        "": None,
    }


# --- context, quota, retries ---------------------------------------------------------------------


def test_context_has_the_tokens_of_the_last_main_message() -> None:
    ledger = kept(whole("Hm.", id="m1", usage=used(10, 5, 300, 4000), model=OPUS))
    assert ledger.context == ContextWindow(4315, None, "message")
    assert ledger.context.fill is None
    kept(whole("Hm.", id="s1", agent="t1", usage=used(9, 9)), ledger=ledger)
    kept(result({OPUS: model_usage(10, 5, 0.1)}), ledger=ledger)
    assert ledger.context == ContextWindow(4315, 200_000, "message")
    assert ledger.context.fill == pytest.approx(4315 / 200_000)


def test_context_report_of_the_cli_counts() -> None:
    ledger = kept(whole("…", model="<synthetic>", context_usage=ContextUsage("m", 900, 1000)))
    assert ledger.context == ContextWindow(900, 1000, "report")
    ledger.note_context(ContextUsageResult(total_tokens=800, max_tokens=950))
    assert ledger.context == ContextWindow(800, 950, "report")
    ledger.note_context(ContextUsageResult(total_tokens=700))
    assert ledger.context == ContextWindow(700, 950, "report")
    ledger.note_context(ContextUsageResult(total_tokens=600, max_tokens=900, raw_max_tokens=980))
    assert ledger.context == ContextWindow(600, 980, "report")
    ledger.note_context(ContextUsage("m", 500))
    assert ledger.context == ContextWindow(500, 980, "report")


def test_compaction_empties_the_context() -> None:
    ledger = kept(whole("…", context_usage=ContextUsage("m", 900, 1000)))
    ledger.note(CompactBoundaryMessage(compact_metadata=CompactMetadata("auto", 900, 100)))
    assert ledger.context == ContextWindow(100, 1000, "compaction")
    ledger.note(CompactBoundaryMessage())
    assert ledger.context == ContextWindow(None, 1000, "compaction")
    ledger.note(ConversationResetMessage(new_conversation_id="x"))
    assert ledger.context == ContextWindow(None, 1000, None)


def limit(status: str, **fields: Any) -> RateLimitEvent:
    return RateLimitEvent(rate_limit_info=RateLimitInfo(status, **fields))


def limits(ledger: Ledger) -> RateLimit:
    assert ledger.rate_limit is not None
    return ledger.rate_limit


def test_rejected_quota_limits_until_its_reset() -> None:
    ledger = Ledger()
    assert ledger.rate_limit is None
    ledger.note(limit("allowed_warning", rate_limit_type="seven_day", utilization=0.9))
    near = limits(ledger)
    assert (near.limited, near.until, near.info.utilization) == (False, None, 0.9)
    ledger.note(limit("rejected", rate_limit_type="five_hour", resets_at=1000))
    reached = limits(ledger)
    assert (reached.limited, reached.until) == (True, 1000)
    assert sorted(reached.kinds) == ["five_hour", "seven_day"]
    ledger.note(limit("rejected", is_using_overage=True))
    assert not limits(ledger).limited


RETRY = APIRetryMessage(
    attempt=1, max_retries=10, retry_delay_ms=563, error_status=429, error="rate_limit"
)


def test_retry_is_known_while_the_cli_retries() -> None:
    ledger = kept(RETRY)
    assert ledger.retry == RETRY
    kept(whole("Hm.", agent="t1"), delta(0, "x"), KeepAlive(), ledger=ledger)
    assert ledger.retry is not None


@pytest.mark.parametrize("message", [start(), whole("At last."), result()])
def test_answer_ends_the_retry(message: Message) -> None:
    assert kept(RETRY, message).retry is None


# --- what real and simulated CLIs say ------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recorded_conversations_are_counted_as_reported(path: Path) -> None:
    ledger, number = Ledger(), 0
    results = []
    for message in recorded(path):
        ledger.note(message, number)
        if isinstance(message, ResultMessage):
            number += 1
            results.append(message)
    last = results[-1]
    reported = {model: Totals.of(it) for model, it in (last.model_usage or {}).items()}
    assert {model: tokens(it) for model, it in ledger.models.items()} == {
        model: tokens(it) for model, it in reported.items()
    }
    assert ledger.session.cost_usd == pytest.approx(last.total_cost_usd)
    assert ledger.session.turns == len(results)
    assert not ledger.session.estimated
    assert tokens(sum((ledger.turn(it) for it in range(number)), NOTHING)) == tokens(ledger.session)
    assert ledger.context.window is not None
