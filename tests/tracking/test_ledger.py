"""The books of a session: what was used, by turn, model and subagent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace
from tests.helpers.api_messages import (
    IN_PIECES,
    RECORDINGS,
    delta,
    ended,
    event,
    recorded,
    result,
    start,
    tool_result,
    whole,
)
from tests.helpers.strategies import records
from tests.helpers.talk import Talk

from claudewire.errors import OptionsError
from claudewire.simulator import Chat, SimulatedCLI
from claudewire.tracking import (
    ContextWindow,
    Price,
    PriceTable,
    RateLimit,
    Retry,
    Totals,
    UsageTracker,
    check_amount,
)
from claudewire.tracking.totals import NOTHING
from claudewire.wire import (
    APIRetryMessage,
    AssistantMessage,
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
    StreamEvent,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserMessage,
)

OPUS, HAIKU = "claude-opus-5-5", "claude-haiku-5-5"
PRICES = {
    OPUS: Price(input=4, output=20, cache_read=0.4, cache_creation=5),
    HAIKU: Price(input=1, output=5, cache_read=0.1, cache_creation=1.25),
}


def kept(
    *messages: Message, ledger: UsageTracker | None = None, turn: object = None
) -> UsageTracker:
    ledger = ledger or UsageTracker()
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
    """What so many tokens cost, by the numbers of `PRICES` and without the code under test."""
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


# --- sums ----------------------------------------------------------------------------------------

amounts = st.integers(0, 10**6)
totals = st.builds(
    Totals,
    amounts,
    amounts,
    amounts,
    amounts,
    st.none() | st.integers(0, 1000).map(float),
    amounts,
    amounts,
)


@given(totals, totals, totals)
def test_totals_can_be_added_and_subtracted(one: Totals, two: Totals, three: Totals) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + NOTHING == one == one - NOTHING
    back = one + two - two
    assert tokens(back) == tokens(one)
    assert (back.turns, back.calls, back.cost_usd or 0) == (one.turns, one.calls, one.cost_usd or 0)
    assert (one + two).covers(one)
    assert one.at_least(two).covers(two)


def test_all_tokens_count_cached_or_not() -> None:
    some = Totals(1, 20, 300, 4000)
    assert (some.tokens, some.prompt_tokens) == (4321, 4301)


def test_an_estimate_makes_every_sum_an_estimate() -> None:
    exact, estimate = Totals(1), Totals(1, estimated=True)
    for one, other in ((exact, estimate), (estimate, exact), (estimate, estimate)):
        assert (one + other).estimated
        assert (one - other).estimated
    assert not (exact + exact).estimated
    assert not (exact - exact).estimated


@pytest.mark.parametrize(
    "kind", ["input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens"]
)
def test_each_kind_of_tokens_is_compared_with_its_own(kind: str) -> None:
    some = Totals(10, 10, 10, 10, cost_usd=1.0, turns=2, calls=3, estimated=True)
    for amount in (9, 10, 11):
        other = replace(some, **{kind: amount})
        larger = replace(some, **{kind: max(10, amount)})
        assert some.covers(other) == (amount <= 10)
        assert (some.at_least(other), other.at_least(some)) == (larger, larger)


# --- a CLI that counts right ---------------------------------------------------------------------


@dataclass
class Call:
    """The model is asked once."""

    model: str = OPUS
    agent: str | None = None
    usage: Usage = field(default_factory=Usage)
    lines: int = 1
    visible: bool = True


@dataclass
class CLI:
    """Reports what it has used as real CLIs do.

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
            model_usage_since_last_result=to_builtins(_reported(new)) if self.since else None,
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
def test_each_turn_has_its_own_and_the_session_has_all(
    turns: list[list[Call]], partial: bool, since: bool
) -> None:
    cli, ledger = CLI(partial, since), UsageTracker()
    for number, calls in enumerate(turns):
        kept(*cli.turn(calls), ledger=ledger, turn=number)
    everything = [call for calls in turns for call in calls]
    assert tokens(ledger.session) == tokens(truth(everything))
    assert ledger.session.cost_usd == pytest.approx(cost(truth(everything)))
    assert (ledger.session.turns, ledger.session.calls) == (len(turns), truth(everything).calls)
    assert tokens(ledger.main) == tokens(truth([it for it in everything if _is_main(it)]))
    assert not ledger.session.estimated
    for number, calls in enumerate(turns):
        turn = ledger.turn(number)
        assert (tokens(turn), turn.calls) == (tokens(truth(calls)), truth(calls).calls)
        assert cost(turn) == pytest.approx(cost(truth(calls)))
    for model, totals in ledger.models.items():
        mine = truth([call for call in everything if call.model == model])
        assert (tokens(totals), totals.calls) == (tokens(mine), mine.calls)


@given(turns, st.booleans())
def test_where_nothing_is_reported_the_messages_are_added_up(
    turns: list[list[Call]], partial: bool
) -> None:
    cli, ledger = CLI(partial, reports=False), UsageTracker(prices=PRICES)
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
def test_a_process_that_goes_on_may_count_from_its_own_start_or_the_sessions(
    before: list[list[Call]], after: list[list[Call]], goes_on: bool, since: bool, partial: bool
) -> None:
    ledger, cli = UsageTracker(), CLI(partial, since)
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
def test_a_turn_is_estimated_while_it_runs_and_never_too_high(
    calls: list[Call], partial: bool
) -> None:
    ledger = UsageTracker(prices=PRICES)
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
    agents = sum(ledger.agents.values(), NOTHING)
    assert tokens(agents + ledger.main) == tokens(ledger.session)
    ledger.note(end, "turn")
    assert tokens(ledger.session) == tokens(truth(calls))
    assert ledger.session.turns == 1


# --- what reports leave out ----------------------------------------------------------------------


def test_a_message_that_was_broken_off_counts_though_the_cli_reports_nothing() -> None:
    # As every CLI does after an interrupt in the middle of a message.
    aborted = result({}, usage=used(), total_cost_usd=0, model_usage_since_last_result={})
    ledger = kept(start("m1", model=OPUS, usage=used(10, 1)), aborted, turn=1)
    assert ledger.turn(1) == Totals(10, 1, cost_usd=0, turns=1, calls=1, estimated=True)
    assert ledger.session == ledger.turn(1)
    assert ledger.models == {OPUS: Totals(10, 1, calls=1, estimated=True)}
    assert ledger.main == Totals(10, 1, calls=1, estimated=True)


def test_a_message_that_was_broken_off_is_priced_as_earlier_ones_were() -> None:
    ledger = kept(*CLI().turn([Call(usage=used(100, 10))]))
    kept(start("m9", model=OPUS, usage=used(100, 10)), result({}, usage=used()), ledger=ledger)
    assert ledger.session.cost_usd == pytest.approx(2 * 0.0006)


def test_what_a_cli_reports_of_the_turn_counts_even_if_no_message_told_of_it() -> None:
    ledger = kept(whole("Hm.", usage=used(10, 1), model=OPUS), result(usage=used(10, 30)))
    assert ledger.session == Totals(10, 30, turns=1, calls=1, estimated=True)
    assert ledger.models[OPUS].output_tokens == 30


def test_the_cost_of_a_turn_counts_even_if_nothing_else_is_reported() -> None:
    ledger = kept(*CLI().turn([Call(usage=used(100, 10))]), turn=1)
    spent = ledger.session.cost_usd or 0
    kept(whole("Hm.", id="m8", usage=used(5, 5)), result(total_cost_usd=spent + 1), ledger=ledger)
    assert ledger.session.cost_usd == pytest.approx(spent + 1)
    assert ledger.session.input_tokens == 105


def test_the_cost_of_a_turn_counts_instead_of_what_its_messages_are_estimated_to_cost() -> None:
    said = whole("Hm.", usage=used(10**6, 5), model=OPUS)
    ledger = kept(said, ledger=UsageTracker(prices=PRICES))
    assert cost(ledger.session) == pytest.approx(4.0001)
    kept(result(total_cost_usd=1.0), ledger=ledger)
    assert (ledger.session.cost_usd, ledger.models[OPUS].cost_usd) == (1.0, None)
    unknown = kept(said, result(), ledger=UsageTracker(prices=PRICES))
    assert cost(unknown.session) == cost(unknown.models[OPUS]) == pytest.approx(4.0001)


def test_a_cost_that_is_in_no_models_counts_for_the_session() -> None:
    ledger = kept(result({OPUS: model_usage(10, 5, 0.25)}, total_cost_usd=1.0))
    assert ledger.session.cost_usd == pytest.approx(1.0)
    assert ledger.models[OPUS].cost_usd == pytest.approx(0.25)


def test_a_report_of_less_than_before_is_a_new_count() -> None:
    ledger = kept(
        result({OPUS: model_usage(100, 50, 1.0)}, total_cost_usd=1.0),
        result({OPUS: model_usage(10, 5, 0.1)}, total_cost_usd=0.1),
    )
    assert (ledger.session.input_tokens, ledger.session.output_tokens) == (110, 55)
    assert ledger.session.cost_usd == pytest.approx(1.1)


def report(input: int, output: int, cost: float, main: Usage | None = None) -> ResultMessage:
    return result({OPUS: model_usage(input, output, cost)}, total_cost_usd=cost, usage=main)


RESTART = None


@pytest.mark.parametrize(
    ("reports", "input", "output", "cost_usd"),
    [
        ([report(100, 50, 1), report(150, 80, 1.5, used(50, 30))], 150, 80, 1.5),
        ([report(100, 50, 1), result(), report(150, 80, 1.5)], 150, 80, 1.5),
        ([report(100, 50, 1), RESTART, report(150, 80, 1.5, used(50, 30))], 150, 80, 1.5),
        ([report(100, 50, 1), RESTART, report(150, 80, 1.5)], 150, 80, 1.5),
        ([report(100, 50, 1), RESTART, report(150, 80, 1.5, used(150, 80))], 250, 130, 2.5),
        ([report(100, 50, 1), RESTART, report(100, 50, 1, used(100, 50))], 200, 100, 2),
        ([report(100, 50, 1), RESTART, report(10, 5, 0.125, used(10, 5))], 110, 55, 1.125),
        ([report(100, 50, 1), RESTART, result(), report(150, 80, 1.5, used(50, 30))], 150, 80, 1.5),
        (
            [report(100, 50, 1), RESTART, result(), report(150, 80, 1.5, used(150, 80))],
            *(250, 130, 2.5),
        ),
        (
            [report(100, 50, 1), RESTART, report(150, 80, 1.5), report(160, 85, 2, used(50, 50))],
            *(160, 85, 2),
        ),
    ],
)
def test_only_a_report_that_does_not_include_what_was_reported_before_a_restart_is_a_new_count(
    reports: list[ResultMessage | None], input: int, output: int, cost_usd: float
) -> None:
    ledger = UsageTracker()
    for number, it in enumerate(reports):
        if it is RESTART:
            ledger.restarted()
        else:
            ledger.note(it, number)
    turns = sum(it is not RESTART for it in reports)
    assert ledger.session == Totals(input, output, cost_usd=cost_usd, turns=turns)
    assert ledger.models == {OPUS: Totals(input, output, cost_usd=cost_usd)}


def test_a_process_that_reports_another_model_has_begun_a_new_count() -> None:
    ledger = kept(report(100, 50, 1))
    ledger.restarted()
    kept(result({HAIKU: model_usage(100, 50, 2.0)}, total_cost_usd=2.0), ledger=ledger)
    assert ledger.session == Totals(200, 100, cost_usd=3.0, turns=2)


@pytest.mark.parametrize("cost_usd", [None, 0.0])
def test_a_report_of_what_is_new_has_a_cost_only_if_the_cli_says_so(cost_usd: float | None) -> None:
    since = {OPUS: {"inputTokens": 5}}
    ledger = kept(result({}, model_usage_since_last_result=since, total_cost_usd=cost_usd))
    assert ledger.session == Totals(5, cost_usd=cost_usd, turns=1)


def test_a_report_without_a_window_leaves_the_one_that_is_known() -> None:
    ledger = kept(report(1, 1, 0), whole("Hm.", usage=used(9), model=OPUS))
    kept(result({OPUS: ModelUsage(input_tokens=10)}), ledger=ledger)
    assert ledger.context == ContextWindow(9, 200_000, "message")
    kept(whole("Hm.", id="m2", usage=used(10), model=OPUS), ledger=ledger)
    assert ledger.context == ContextWindow(10, 200_000, "message")


def test_what_was_said_before_a_process_went_away_is_not_lost() -> None:
    ledger = kept(whole("Hm.", usage=used(10, 1), model=OPUS), turn=1)
    ledger.note(APIRetryMessage(attempt=1))
    ledger.restarted()
    assert ledger.retry is None
    kept(*CLI().turn([Call(usage=used(100, 10))]), ledger=ledger, turn=2)
    assert (ledger.session.input_tokens, ledger.turn(1).input_tokens) == (110, 10)
    assert (ledger.models[OPUS].input_tokens, ledger.main.input_tokens) == (110, 110)
    assert ledger.session.estimated


def test_what_belongs_to_no_turn_is_in_no_turn() -> None:
    ledger = kept(whole("Hm.", usage=used(10, 1)))
    assert (ledger.session.tokens, ledger.turn(None)) == (11, NOTHING)
    kept(result(), ledger=ledger)
    assert (ledger.session.tokens, ledger.turn(None)) == (11, NOTHING)


def test_what_the_cli_says_itself_costs_nothing() -> None:
    error = whole("API Error: 400", model="<synthetic>", usage=used(5, 5))
    assert kept(error).session == NOTHING


def test_a_message_without_an_id_is_told_by_its_line() -> None:
    line = whole("Hm.", id=None, uuid="1", usage=used(5, 5))
    assert kept(line, line).session.input_tokens == 5
    assert kept(whole("Hm.", id=None, usage=used(5, 5))).session == NOTHING


def test_the_end_of_a_message_without_its_beginning_counts_if_it_has_an_id() -> None:
    end = MessageDelta(MessageChange("end_turn"), used(10, 20))
    assert kept(event(end)).session == NOTHING
    assert kept(event(end, id="m1")).session.output_tokens == 20
    assert kept(start(None), event(end)).session == NOTHING


def test_a_model_that_reports_call_otherwise_is_still_one_model() -> None:
    report = {f"{OPUS}[1m]": model_usage(10, 5, 0.1)}
    ledger = kept(
        whole("Hm.", id="m1", usage=used(10, 5), model=OPUS),
        result(report, usage=used(10, 5)),
        whole("Hm.", id="m2", usage=used(10, 5), model=OPUS),
    )
    assert list(ledger.models) == [f"{OPUS}[1m]"]
    assert ledger.models[f"{OPUS}[1m]"].calls == 2
    assert ledger.context.window == 200_000


# --- subagents -----------------------------------------------------------------------------------


def agent_output(usage: Usage | None) -> dict[str, Any]:
    return {"agentId": "a1", "resolvedModel": HAIKU, "usage": to_builtins(usage)}


def test_the_last_words_of_a_subagent_are_known_from_its_result_alone() -> None:
    # As CLIs do for a subagent in the foreground: its last message is not sent.
    ledger = kept(
        whole(ToolUseBlock("t2", "Bash", {}), agent="t1", id="s1", usage=used(7, 1), model=HAIKU),
        tool_result("t2", agent="t1"),
        tool_result("t1", tool_use_result=agent_output(used(8, 12))),
        tool_result("t1", tool_use_result=agent_output(used(8, 12))),
    )
    assert ledger.agents == {"t1": Totals(15, 13, calls=2, estimated=True)}
    assert ledger.models[HAIKU].calls == 2
    noted = UserMessage.of(
        [TextBlock("Note."), ToolResultBlock("t1")], tool_use_result=agent_output(used(8, 12))
    )
    assert kept(noted).agents == {"t1": Totals(8, 12, calls=1, estimated=True)}


def test_last_words_that_were_sent_are_not_counted_again() -> None:
    ledger = kept(
        whole("Done.", agent="t1", id="s1", usage=used(8, 12), model=HAIKU),
        tool_result("t1", tool_use_result=agent_output(used(8, 12))),
    )
    assert ledger.agents == {"t1": Totals(8, 12, calls=1, estimated=True)}


@pytest.mark.parametrize(
    "output",
    [
        None,
        "Error: no",
        {"stdout": ""},
        agent_output(None),
        {"usage": {"input_tokens": 5}},
        {"agentId": "a1", "usage": {"input_tokens": "many"}},
        {"agentId": "a1", "usage": {"input_tokens": 5, "\ud800": 1}},
    ],
)
def test_other_results_of_tools_cost_nothing(output: Any) -> None:
    assert kept(tool_result("t1", tool_use_result=output)).session == NOTHING


def test_text_of_the_user_costs_nothing() -> None:
    assert kept(UserMessage.of("Hi.", tool_use_result=agent_output(used(1)))).session == NOTHING


def test_the_books_stay_small_in_a_long_session() -> None:
    ledger = UsageTracker()
    for number in range(1500):
        cli = CLI(partial=False)
        call = Call(usage=used(1, 1), agent=f"t{number}")
        cli.calls = number
        kept(*cli.turn([call]), ledger=ledger, turn=number)
    sizes = [len(it) for it in (ledger._calls, ledger.agents, ledger._settled.turns)]
    assert sizes == [1000, 1000, 1000]
    assert ledger.turn(0) == NOTHING
    assert ledger.turn(1499).input_tokens == 1
    assert ledger.session.turns == 1500


# --- prices --------------------------------------------------------------------------------------


def test_prices_of_the_user_replace_those_of_the_cli() -> None:
    ledger = UsageTracker(prices={"claude-opus": Price(1, 1, 1, 1), OPUS: Price(10, 0, 0, 0)})
    kept(
        *CLI().turn([Call(OPUS, usage=used(10**6, 5)), Call(HAIKU, usage=used(10**6))]),
        ledger=ledger,
    )
    assert ledger.models[OPUS].cost_usd == pytest.approx(10)
    assert ledger.models[HAIKU].cost_usd == pytest.approx(1)
    assert ledger.session.cost_usd == pytest.approx(11)
    kept(*CLI(since=False).turn([Call("claude-opus-5-5", usage=used(1))]), ledger=ledger)


@pytest.mark.parametrize(
    ("some", "cost_usd"),
    [
        (Totals(input_tokens=2_000_000), 6.0),
        (Totals(output_tokens=2_000_000), 30.0),
        (Totals(cache_read_tokens=2_000_000), 0.6),
        (Totals(cache_creation_tokens=2_000_000), 7.5),
        (Totals(1_000_000, 100_000, 10_000_000, 1_000_000), 3 + 1.5 + 3 + 3.75),
    ],
)
def test_each_kind_of_token_has_its_own_price(some: Totals, cost_usd: float) -> None:
    price = Price(input=3, output=15, cache_read=0.3, cache_creation=3.75)
    assert price.of(some) == pytest.approx(cost_usd)


@given(totals.filter(lambda it: it.tokens))
def test_prices_are_learnt_from_what_tokens_have_cost(some: Totals) -> None:
    new, written, read, made = tokens(some)
    cost_usd = (3 * new + 15 * written + 0.3 * read + 3.75 * made) / 10**6
    learnt = Price.like(Totals(new, written, read, made, cost_usd))
    assert learnt is not None
    assert learnt.input == pytest.approx(3)
    assert learnt.output == pytest.approx(15)
    assert learnt.cache_read == pytest.approx(0.3)
    assert learnt.cache_creation == pytest.approx(3.75)


def test_nothing_is_learnt_from_what_has_cost_nothing() -> None:
    assert Price.like(Totals(10, 10)) is None
    assert Price.like(Totals(cost_usd=1.0)) is None


def test_the_longest_beginning_of_a_name_has_the_price() -> None:
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


@pytest.mark.parametrize(
    ("value", "least", "problem"),
    [
        (0, "0 or more", None),
        (0, "more than 0", "It must be more than 0, not 0"),
        (1e-9, "more than 0", None),
        (-1, "0 or more", "It must be 0 or more, not -1"),
        (math.inf, "0 or more", "It must be 0 or more, not inf"),
        (math.nan, "0 or more", "It must be 0 or more, not nan"),
        (True, "0 or more", "It must be a number, not True"),
        ("1", "0 or more", "It must be a number, not '1'"),
    ],
)
def test_an_amount_is_a_number_that_is_large_enough(
    value: Any, least: str, problem: str | None
) -> None:
    told: str | None = None
    try:
        check_amount("It", value, least=least)
    except OptionsError as error:
        told = str(error)
    assert told == problem


def test_an_amount_may_be_nothing_unless_it_is_said_otherwise() -> None:
    check_amount("It", 0)


def test_without_any_price_there_is_no_cost() -> None:
    assert kept(whole("Hm.", usage=used(10, 5))).session.cost_usd is None


# --- context, quota, retries ---------------------------------------------------------------------


def test_the_context_is_as_full_as_the_last_message_of_the_main_conversation_says() -> None:
    ledger = kept(whole("Hm.", id="m1", usage=used(10, 5, 300, 4000), model=OPUS))
    assert ledger.context == ContextWindow(4315, None, "message")
    assert ledger.context.fill is None
    kept(whole("Hm.", id="s1", agent="t1", usage=used(9, 9)), ledger=ledger)
    kept(result({OPUS: model_usage(10, 5, 0.1)}), ledger=ledger)
    assert ledger.context == ContextWindow(4315, 200_000, "message")
    assert ledger.context.fill == pytest.approx(4315 / 200_000)


def test_what_the_cli_says_about_the_context_counts() -> None:
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


def limits(ledger: UsageTracker) -> RateLimit:
    assert ledger.rate_limit is not None
    return ledger.rate_limit


def test_a_quota_that_is_used_up_limits_until_it_is_reset() -> None:
    ledger = UsageTracker()
    assert ledger.rate_limit is None
    ledger.note(limit("allowed_warning", rate_limit_type="seven_day", utilization=0.9))
    near = limits(ledger)
    assert (near.limited, near.until, near.utilization) == (False, None, 0.9)
    ledger.note(limit("rejected", rate_limit_type="five_hour", resets_at=1000))
    reached = limits(ledger)
    assert (reached.limited, reached.until) == (True, 1000)
    assert sorted(reached.kinds) == ["five_hour", "seven_day"]
    ledger.note(limit("allowed", rate_limit_type="five_hour"))
    assert not limits(ledger).limited


def test_a_limit_without_an_end_has_none_and_one_that_is_paid_for_is_none() -> None:
    ledger = kept(limit("rejected"))
    assert (limits(ledger).limited, limits(ledger).until) == (True, None)
    for paid in ({"is_using_overage": True}, {"overage_in_use": True}):
        kept(limit("rejected", **paid, resets_at=1000), ledger=ledger)
        assert (limits(ledger).limited, limits(ledger).until) == (False, None)
    assert set(limits(ledger).kinds) == {""}
    kept(limit("rejected", resets_at=1000), ledger=ledger)
    assert (limits(ledger).limited, limits(ledger).until) == (True, 1000)


@pytest.mark.parametrize(
    ("tokens", "window", "fill"),
    [(50, 200, 0.25), (0, 200, 0.0), (50, 0, None), (50, None, None), (None, 200, None)],
)
def test_a_window_is_as_full_as_is_known(
    tokens: int | None, window: int | None, fill: float | None
) -> None:
    assert ContextWindow(tokens, window).fill == fill


RETRY = APIRetryMessage(
    attempt=1, max_retries=10, retry_delay_ms=563, error_status=429, error="rate_limit"
)


def test_while_the_cli_asks_the_api_again_it_says_so() -> None:
    ledger = kept(RETRY)
    assert ledger.retry == Retry(1, 10, 0.563, 429, "rate_limit")
    kept(whole("Hm.", agent="t1"), delta(0, "x"), KeepAlive(), ledger=ledger)
    assert ledger.retry is not None
    assert kept(APIRetryMessage()).retry == Retry(None, None, None, None, None)


@pytest.mark.parametrize("message", [start(), whole("At last."), result()])
def test_an_answer_ends_the_retries(message: Message) -> None:
    assert kept(RETRY, message).retry is None


# --- what real and simulated CLIs say ------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_books_of_recorded_conversations_are_right(path: Path) -> None:
    ledger, number = UsageTracker(), 0
    results = []
    for message in recorded(path):
        ledger.note(message, number)
        if isinstance(message, ResultMessage):
            number += 1
            results.append(message)
    last = results[-1]
    reported = {model: Totals.of_model(it) for model, it in (last.model_usage or {}).items()}
    assert {model: tokens(it) for model, it in ledger.models.items()} == {
        model: tokens(it) for model, it in reported.items()
    }
    assert ledger.session.cost_usd == pytest.approx(last.total_cost_usd)
    assert ledger.session.turns == len(results)
    assert not ledger.session.estimated
    assert tokens(sum((ledger.turn(it) for it in range(number)), NOTHING)) == tokens(ledger.session)
    main = sum((Totals.of(it.usage) for it in results if it.usage), NOTHING)
    assert tokens(ledger.main) == tokens(main)
    assert ledger.context.window is not None


@pytest.mark.parametrize("path", IN_PIECES, ids=lambda path: path.stem)
def test_partial_messages_tell_before_the_report_what_the_main_conversation_used(
    path: Path,
) -> None:
    ledger = UsageTracker()
    main = NOTHING
    for message in recorded(path):
        if isinstance(message, ResultMessage) and message.usage is not None:
            main += Totals.of(message.usage)
            assert tokens(ledger.main) == tokens(main)
        ledger.note(message)
    assert main != NOTHING


@pytest.mark.anyio
@pytest.mark.parametrize("flags", [(), ("--include-partial-messages",)])
async def test_the_books_of_a_simulated_session_are_right_also_after_it_is_resumed(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    async def agent(chat: Chat) -> None:
        await chat.use("Bash", {"command": "make"}, result="made")
        await chat.say("Done.")

    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path)}
    ledger, cost, argv = UsageTracker(), 0.0, ["--allowedTools=Bash", *flags]
    for _ in range(2):
        talk = Talk(SimulatedCLI(agent, env=env, argv=argv))
        for _ in range(2):
            for heard in await talk.turn("Go on."):
                if isinstance(heard, Message):
                    ledger.note(heard)
        last = next(it for it in reversed(talk.heard) if isinstance(it, ResultMessage))
        cost = last.total_cost_usd or 0
        assert last.session_id is not None
        argv = ["--resume", last.session_id, "--allowedTools=Bash", *flags]
        await talk.end()
        ledger.restarted()
    assert ledger.session.turns == 4
    assert ledger.session.cost_usd == pytest.approx(cost)
    assert sum(it.input_tokens for it in ledger.models.values()) == ledger.session.input_tokens


# --- anything ------------------------------------------------------------------------------------

ANY: Sequence[type[Message]] = (
    StreamEvent,
    AssistantMessage,
    UserMessage,
    ResultMessage,
    APIRetryMessage,
    RateLimitEvent,
    CompactBoundaryMessage,
    ConversationResetMessage,
)


@given(st.lists(st.sampled_from(ANY).flatmap(records), max_size=8))
def test_nothing_that_a_cli_says_can_break_the_books(messages: list[Message]) -> None:
    ledger = kept(*messages, turn=1)
    assert ledger.session.turns == len([it for it in messages if isinstance(it, ResultMessage)])
    assert ledger.context.fill is None or math.isfinite(ledger.context.fill)
    ledger.restarted()


def test_the_end_of_a_message_without_usage_changes_nothing() -> None:
    ledger = kept(start("m1", usage=used(5)), ended())
    assert ledger.changes == 1
    assert ledger.session.input_tokens == 5
