"""The usage of a session: tokens, money and context, by turn and model.

While a turn runs, its usage is an estimate from its messages, each model call counted once. The
result replaces the estimate by the CLI's report: the running total of each model, with subagents
and the CLI's own calls, minus the total of the last result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from ..wire import (
    APIRetryMessage,
    AssistantMessage,
    CompactBoundaryMessage,
    ContextUsage,
    ContextUsageResult,
    ConversationResetMessage,
    Message,
    MessageDelta,
    MessageStart,
    ModelUsage,
    RateLimitEvent,
    RateLimitInfo,
    ResultMessage,
    StreamEvent,
    Usage,
)
from .totals import NOTHING, SYNTHETIC, Price, PriceTable, Totals

KEPT = 1000
"""The number of turns that are remembered."""

Turn = Hashable | None

Models = dict[str, Totals]
"""Usage by model."""

_Key = TypeVar("_Key")


class ContextWindow(Struct, frozen=True):
    """The fill of the context window of the main conversation.

    Attributes:
        tokens: the number of tokens in the window; None if unknown.
        window: the size of the window; None if unknown, as in the first turn.
        source: the last `message`, the CLI's own `report`, or a `compaction`.
    """

    tokens: int | None = None
    window: int | None = None
    source: Literal["message", "report", "compaction"] | None = None

    @property
    def fill(self) -> float | None:
        """The used part of the window, 1 being all of it; None if unknown."""
        return self.tokens / self.window if self.tokens is not None and self.window else None


class RateLimit(Struct, frozen=True):
    """The state of a subscription's quotas.

    Attributes:
        info: the CLI's last report.
        kinds: the last report about each quota: five_hour, seven_day, …
    """

    info: RateLimitInfo
    kinds: dict[str, RateLimitInfo] = field(default_factory=dict)

    @property
    def limited(self) -> bool:
        """Whether the last request was refused, and nothing is paid for beyond the quota."""
        beyond = self.info.is_using_overage or self.info.overage_in_use
        return self.info.status == "rejected" and not beyond

    @property
    def until(self) -> float | None:
        """The end of the limit, in seconds since 1970; None if there is none, or unknown."""
        return self.info.resets_at if self.limited else None


class _Call(Struct, frozen=True):
    """A model call, with its usage so far."""

    model: str
    turn: Turn
    totals: Totals
    is_main: bool


class Ledger:
    """The usage of a session, its context and its limits. The session feeds it.

    Args:
        prices: prices of tokens, by model or a prefix of its name, instead of the costs that the
            CLI reports. Other models keep the CLI's.
    """

    def __init__(self, *, prices: Mapping[str, Price] | None = None) -> None:
        self._prices = PriceTable(prices)
        self._session = NOTHING
        self._models: Models = {}
        self._turns: dict[Turn, Totals] = {}
        self._live: dict[str, _Call] = {}
        """The model calls since the last result, by message id."""
        self._streaming: dict[str | None, str] = {}
        """The id of the message that the main conversation and each subagent stream."""
        self._main_model: str = ""
        self._report: Models = {}
        """The last report of running totals."""
        self._reported_cost: float = 0.0
        self._is_new_process = False
        self._windows: dict[str, int] = {}
        self._names: dict[str, str] = {}
        """The name of a model in reports, by its name in messages."""
        self.context: ContextWindow = ContextWindow()
        """The fill of the context of the main conversation."""
        self.rate_limit: RateLimit | None = None
        """The state of the subscription's quotas; None if unknown."""
        self.retry: APIRetryMessage | None = None
        """The CLI's retry of a request to the API; None if there is none."""

    @property
    def session(self) -> Totals:
        """The usage of the whole session, over all its processes."""
        return sum(map(self._estimate, self._live.values()), self._session)

    @property
    def models(self) -> Models:
        """The usage of each model."""
        return _merged(self._models, self._live_models())

    def turn(self, turn: Hashable) -> Totals:
        """Return the usage of a turn, with all subagents that worked meanwhile."""
        live = self._live_by(lambda call: call.turn)
        return self._turns.get(turn, NOTHING) + live.get(turn, NOTHING)

    def note(self, message: Message, turn: Turn = None) -> None:
        """Count a message of a turn."""
        handler = _HANDLERS.get(type(message))
        if handler is not None:
            handler(self, message, turn)

    def note_context(self, report: ContextUsageResult | ContextUsage) -> None:
        """Take the CLI's own report on its context."""
        window = report.raw_max_tokens
        if window is None and isinstance(report, ContextUsageResult):
            window = report.max_tokens
        self.context = ContextWindow(report.total_tokens, window or self.context.window, "report")

    def restarted(self) -> None:
        """Note that another process continues the session."""
        self._settle(self._live_models(), self._live_by(lambda call: call.turn))
        self._is_new_process = True

    # --- messages --------------------------------------------------------------------------------

    def _stream(self, message: StreamEvent, turn: Turn) -> None:
        event, agent = message.event, message.parent_tool_use_id
        if type(event) is MessageStart and event.message.id is not None:
            self.retry = None if agent is None else self.retry
            self._streaming[agent] = event.message.id
            usage, model = event.message.usage, event.message.model
            self._count(event.message.id, model, agent, turn, usage)
        elif type(event) is MessageDelta:
            id = message.api_message_id or self._streaming.get(agent)
            if id is not None:
                self._count(id, None, agent, turn, event.usage)

    def _assistant(self, message: AssistantMessage, turn: Turn) -> None:
        agent, said = message.parent_tool_use_id, message.message
        if agent is None:
            self.retry = None
        if message.context_usage is not None:
            self.note_context(message.context_usage)
        id = said.id or message.uuid
        if id is not None and said.model != SYNTHETIC:
            self._count(id, said.model, agent, turn, said.usage)

    def _count(
        self, id: str, model: str | None, agent: str | None, turn: Turn, usage: Usage | None
    ) -> None:
        now, known = NOTHING if usage is None else Totals.of(usage), self._live.get(id)
        if known is None:
            call = _Call(model or self._main_model, turn, now, agent is None)
        else:
            call = replace(known, totals=known.totals.at_least(now))
        self._live[id] = call
        if agent is None:
            self._main_model = call.model
            window = self._windows.get(call.model, self.context.window)
            self.context = ContextWindow(call.totals.tokens, window, "message")

    # --- sums ------------------------------------------------------------------------------------

    def _estimate(self, call: _Call) -> Totals:
        cost = self._prices.cost(call.model, call.totals)
        return replace(call.totals, cost_usd=cost, calls=1, estimated=True)

    def _live_by(self, key: Callable[[_Call], _Key]) -> dict[_Key, Totals]:
        sums: dict[_Key, Totals] = {}
        for call in self._live.values():
            sums[key(call)] = sums.get(key(call), NOTHING) + self._estimate(call)
        return sums

    def _live_models(self) -> Models:
        return self._live_by(lambda call: self._names.get(call.model, call.model))

    def _settle(self, models: Models, turns: Mapping[Turn, Totals]) -> None:
        """Replace the estimate by usage that will not change."""
        self._models = _merged(self._models, models)
        self._turns = _merged(self._turns, turns)
        self._session = sum(turns.values(), self._session)
        self._live, self._streaming, self.retry = {}, {}, None

    # --- the end of a turn -----------------------------------------------------------------------

    def _result(self, message: ResultMessage, turn: Turn) -> None:
        self._learn(message.model_usage or {})
        main = None if message.usage is None else Totals.of(message.usage)
        said, models = self._live_models(), self._new_usage(message, main)
        if models is None:
            models = said
        else:
            calls = {name: Totals(calls=it.calls) for name, it in said.items()}
            models = _merged(_merged(models, calls), self._unreported(main))
        cost = self._new_cost(message)
        if any(it.cost_usd is not None for it in models.values()):
            cost = None
        self._settle(models, {turn: sum(models.values(), Totals(cost_usd=cost, turns=1))})
        window = self._windows.get(self._main_model, self.context.window)
        self.context = replace(self.context, window=window)

    def _new_usage(self, message: ResultMessage, main: Totals | None) -> Models | None:
        """Return the usage of each model since the last result; None if there is no report.

        After a restart, some CLIs continue the totals of the session, others begin at zero.
        """
        if message.model_usage is None:
            name = self._names.get(self._main_model, self._main_model)
            return None if main is None else {name: self._prices.apply(name, main)}
        now, before = self._models_of(message.model_usage), self._report
        if self._is_new_process and not _continues(now, before, main or NOTHING):
            before = {}
        self._report, self._is_new_process = now, False
        if message.model_usage_since_last_result is not None:
            return self._models_of(message.model_usage_since_last_result)
        return {
            # Fewer tokens than before: the CLI has begun to count anew.
            name: it - before[name] if name in before and it.covers(before[name]) else it
            for name, it in now.items()
        }

    def _unreported(self, main: Totals | None) -> Models:
        """Return the usage of a message that an interrupt broke off: the CLI does not report it."""
        if main is None:
            return {}
        said = sum((call.totals for call in self._live.values() if call.is_main), NOTHING)
        missing = said.at_least(main) - main
        if not missing.tokens:
            return {}
        cost = self._prices.cost(self._main_model, missing)
        name = self._names.get(self._main_model, self._main_model)
        return {name: replace(missing, cost_usd=cost, estimated=True)}

    def _models_of(self, usage: Mapping[str, ModelUsage]) -> Models:
        return {name: self._prices.apply(name, Totals.of(it)) for name, it in usage.items()}

    def _new_cost(self, message: ResultMessage) -> float | None:
        now, before = message.total_cost_usd, self._reported_cost
        if now is None:
            return None
        self._reported_cost = now
        return now - before if now >= before else now

    def _learn(self, usage: Mapping[str, ModelUsage]) -> None:
        """Learn windows, prices and names: reports may call a model differently than messages."""
        for model, used in usage.items():
            for name in {model, model.partition("[")[0], used.canonical_model or model}:
                self._names[name] = model
                self._prices.learn(name, Totals.of(used))
                if used.context_window is not None:
                    self._windows[name] = used.context_window

    # --- context and limits ----------------------------------------------------------------------

    def _retry(self, message: APIRetryMessage, turn: Turn) -> None:
        self.retry = message

    def _rate_limit(self, message: RateLimitEvent, turn: Turn) -> None:
        info = message.rate_limit_info
        known = {} if self.rate_limit is None else self.rate_limit.kinds
        self.rate_limit = RateLimit(info, {**known, info.rate_limit_type or "": info})

    def _compacted(self, message: CompactBoundaryMessage, turn: Turn) -> None:
        data = message.compact_metadata
        tokens = None if data is None else data.post_tokens
        self.context = ContextWindow(tokens, self.context.window, "compaction")

    def _reset(self, message: ConversationResetMessage, turn: Turn) -> None:
        self.context = ContextWindow(window=self.context.window)


def _continues(now: Models, before: Models, main: Totals) -> bool:
    """Whether the first report of a process includes the earlier processes of the session."""
    if not all(name in now and now[name].covers(used) for name, used in before.items()):
        return False
    return (sum(now.values(), NOTHING) - sum(before.values(), NOTHING)).covers(main)


def _merged(sums: Mapping[_Key, Totals], more: Mapping[_Key, Totals]) -> dict[_Key, Totals]:
    """Add usage by key, and forget the oldest keys."""
    merged = dict(sums)
    for key, used in more.items():
        merged[key] = merged.get(key, NOTHING) + used
    for key in list(merged)[:-KEPT]:
        del merged[key]
    return merged


_HANDLERS: dict[type[Message], Callable[[Ledger, Any, Turn], None]] = {
    StreamEvent: Ledger._stream,
    AssistantMessage: Ledger._assistant,
    ResultMessage: Ledger._result,
    APIRetryMessage: Ledger._retry,
    RateLimitEvent: Ledger._rate_limit,
    CompactBoundaryMessage: Ledger._compacted,
    ConversationResetMessage: Ledger._reset,
}

COUNTED: frozenset[type[Any]] = frozenset(_HANDLERS) - {StreamEvent} | {MessageStart, MessageDelta}
"""The kinds of messages that a ledger counts, and of events in a `StreamEvent`."""
