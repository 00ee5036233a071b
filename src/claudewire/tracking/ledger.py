"""What a session uses: tokens, money and context, by turn, model and subagent.

Two things are added up, because neither is enough. At the end of a turn the CLI reports what each
model has used since the process was started, subagents and its own small calls included: the
difference from the last report is the turn's, which the newest CLIs also give. Until then only the
messages tell, each counted once however many lines it has; and they still do where a CLI reports
nothing, or leaves out what it broke off.

`Ledger` is what the application reads, `UsageTracker` what the session feeds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
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
    ResultMessage,
    StreamEvent,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserMessage,
    prepared,
)
from .quota import ContextWindow, RateLimit, Retry
from .totals import NOTHING, SYNTHETIC, Price, PriceTable, Totals

__all__ = ["Ledger", "UsageTracker"]

KEPT = 1000
"""How many turns, subagents and messages are remembered: a session may have any number of them."""

Turn = Hashable | None

Models = dict[str, Totals]
"""What was used, by model."""


class _Call(Struct, frozen=True, gc=False):
    """A message of the model, and what it is known to have used so far."""

    model: str
    agent: str | None
    totals: Totals


class _Settled:
    """What was used up to the end of the last turn, added up in several ways."""

    def __init__(self) -> None:
        self.all = NOTHING
        self.main = NOTHING
        self.models: Models = {}
        self.turns: dict[Hashable, Totals] = {}

    def add(self, used: Totals, turn: Turn) -> None:
        self.all += used
        if turn is not None:
            _add(self.turns, turn, used)


class _Live:
    """What was used since then, by the messages. There are many, so each is added up only once."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, bool, Turn], Totals] = {}

    def add(self, model: str, is_main: bool, turn: Turn, used: Totals) -> None:
        _add(self._sums, (model, is_main, turn), used)

    @property
    def all(self) -> Totals:
        return sum(self._sums.values(), NOTHING)

    @property
    def main(self) -> Totals:
        used = (used for (_, is_main, _), used in self._sums.items() if is_main)
        return replace(sum(used, NOTHING), cost_usd=None)

    @property
    def models(self) -> Models:
        models: Models = {}
        for (model, _, _), used in self._sums.items():
            _add(models, model, used)
        return models

    @property
    def turns(self) -> dict[Hashable, Totals]:
        turns: dict[Hashable, Totals] = {}
        for (_, _, turn), used in self._sums.items():
            if turn is not None:
                _add(turns, turn, used)
        return turns


class Ledger:
    """What a session has used, and how it stands with its context and its limits.

    Args:
        prices: what tokens cost, by model or the beginning of its name; instead of the costs that
            the CLI reports. Models that are not in it keep the CLI's.
    """

    def __init__(self, *, prices: Mapping[str, Price] | None = None) -> None:
        self._prices = PriceTable(prices)
        self._settled = _Settled()
        self._live = _Live()
        # The first of an ordinary dictionary is found by a search, past all that were deleted.
        self._agents: OrderedDict[str, Totals] = OrderedDict()
        self._calls: OrderedDict[str, _Call] = OrderedDict()
        self._streaming: dict[str | None, str] = {}
        self._speaks_last: OrderedDict[str, bool] = OrderedDict()
        self._main_model: str = ""
        self._reports = _Reports()
        self._windows: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self.changes: int = 0
        """How often something has been added."""
        self.context: ContextWindow = ContextWindow()
        """How full the context of the main conversation is."""
        self.rate_limit: RateLimit | None = None
        """How the subscription stands with its quotas; None if the CLI has not said."""
        self.retry: Retry | None = None
        """That the CLI is asking the API again; None if it is not."""

    # --- what was used ---------------------------------------------------------------------------

    @property
    def session(self) -> Totals:
        """What the whole session has used, over all its processes."""
        return self._settled.all + self._live.all

    @property
    def main(self) -> Totals:
        """What the main conversation has used, without its share of the cost, which is unknown.

        The rest of the session's is subagents and the CLI's own calls.
        """
        return self._settled.main + self._live.main

    @property
    def models(self) -> Models:
        """What each model has used."""
        models = dict(self._settled.models)
        for model, used in self._live.models.items():
            _add(models, model, used)
        return models

    @property
    def agents(self) -> dict[str, Totals]:
        """What each subagent has used, by the tool call that started it.

        The CLI does not report this, nor all that subagents say, so it is never more than an
        estimate; `session` minus `main` has all of them.
        """
        return dict(self._agents)

    def turn(self, turn: Hashable) -> Totals:
        """Return what a turn has used, with all subagents that worked meanwhile."""
        return self._settled.turns.get(turn, NOTHING) + self._live.turns.get(turn, NOTHING)


class UsageTracker(Ledger):
    """Keeps the ledger of a session up to date: it is given each message once."""

    changes: int
    context: ContextWindow
    rate_limit: RateLimit | None
    retry: Retry | None

    def note(self, message: Message, turn: Turn = None) -> None:
        """Take the next message of the session, and the turn that it belongs to."""
        handler = _HANDLERS.get(type(message))
        if handler is not None:
            handler(self, message, turn)

    def note_context(self, report: ContextUsageResult | ContextUsage) -> None:
        """Take the CLI's answer to a question about its context."""
        window = report.raw_max_tokens
        if window is None and isinstance(report, ContextUsageResult):
            window = report.max_tokens
        self.context = ContextWindow(report.total_tokens, window or self.context.window, "report")

    def restarted(self) -> None:
        """Note that another process continues the session.

        Some CLIs then report what the session has used, others what the process has: the first
        report shows which.
        """
        for model, used in self._live.models.items():
            _add(self._settled.models, model, used)
        for turn, used in self._live.turns.items():
            _add(self._settled.turns, turn, used)
        self._settled.all += self._live.all
        self._settled.main += self._live.main
        self._live = _Live()
        self._streaming.clear()
        self._reports.is_of_another_process = True
        self.retry = None

    # --- messages --------------------------------------------------------------------------------

    def _stream(self, message: StreamEvent, turn: Turn) -> None:
        event = message.event
        if type(event) is MessageStart:
            self._message_start(message, event, turn)
        elif type(event) is MessageDelta:
            self._message_delta(message, event, turn)

    def _message_start(self, message: StreamEvent, event: MessageStart, turn: Turn) -> None:
        agent, said = message.parent_tool_use_id, event.message
        self._clear_retry(agent)
        if said.id is not None:
            self._streaming[agent] = said.id
            self._count(said.id, said.model, agent, said.usage, turn)

    def _message_delta(self, message: StreamEvent, event: MessageDelta, turn: Turn) -> None:
        agent = message.parent_tool_use_id
        id = message.api_message_id or self._streaming.get(agent)
        if id is not None:
            self._count(id, None, agent, event.usage, turn)

    def _assistant(self, message: AssistantMessage, turn: Turn) -> None:
        agent, said = message.parent_tool_use_id, message.message
        self._clear_retry(agent)
        if message.context_usage is not None:
            self.note_context(message.context_usage)
        id = said.id or message.uuid
        if id is not None and said.model != SYNTHETIC:
            self._count(id, said.model, agent, said.usage, turn)
        if agent is not None:
            calls = any(type(block) is ToolUseBlock for block in message.content)
            _keep(self._speaks_last, agent, not calls)

    def _clear_retry(self, agent: str | None) -> None:
        if agent is None:
            self.retry = None

    def _user(self, message: UserMessage, turn: Turn) -> None:
        """Count a subagent's last message, which is reported only here."""
        output = message.tool_use_result
        if not (isinstance(output, dict) and "agentId" in output):
            return
        usage, model = _convert(output.get("usage"), Usage), output.get("resolvedModel")
        for block in message.content:
            if type(block) is ToolResultBlock and usage is not None:
                agent = block.tool_use_id
                if not self._speaks_last.get(agent):
                    self._count(f"{agent} last", model, agent, usage, turn)

    def _count(
        self, id: str, model: str | None, agent: str | None, usage: Usage | None, turn: Turn
    ) -> None:
        """Count what a message has used beyond what is known of it."""
        known = self._calls.get(id)
        now = NOTHING if usage is None else Totals.of(usage)
        if known is None:
            name, more = self._name(model), now
        else:
            name, now = known.model, known.totals.at_least(now)
            more = now - known.totals
            if not more.tokens:
                return
        _keep(self._calls, id, _Call(name, agent, now))
        cost = self._prices.cost(name, more)
        used = replace(more, cost_usd=cost, calls=int(known is None), estimated=True)
        self._add_live(name, agent, used, turn)
        if agent is None:
            self._main_model = name
            self.context = ContextWindow(now.tokens, self._window(name), "message")

    def _add_live(self, model: str, agent: str | None, used: Totals, turn: Turn) -> None:
        self.changes += 1
        self._live.add(model, agent is None, turn, used)
        if agent is not None:
            _keep(self._agents, agent, self._agents.get(agent, NOTHING) + used)

    def _name(self, model: str | None) -> str:
        name = model or self._main_model
        return self._names.get(name, name)

    def _window(self, model: str) -> int | None:
        return self._windows.get(model, self.context.window)

    # --- the end of a turn -----------------------------------------------------------------------

    def _result(self, message: ResultMessage, turn: Turn) -> None:
        self.retry = None
        live, main = self._live, None if message.usage is None else Totals.of(message.usage)
        reported, rest = self._reports.read(message, main)
        self._learn(message.model_usage or {})
        if reported is None:
            models, missing = self._unpriced(live.models, rest), _beyond(main, live.main)
        else:
            models = self._with_calls(reported)
            # What was broken off is not reported, but costs money nevertheless.
            missing = NOTHING if main is None else _beyond(live.main, main)
        if missing.tokens:
            cost = self._prices.cost(self._main_model, missing)
            _add(models, self._main_model, replace(missing, cost_usd=cost, estimated=True))
        self._settle(models, rest, turn)
        self._settle_main(main)
        self.context = replace(self.context, window=self._window(self._main_model))

    def _unpriced(self, models: Models, cost: float | None) -> Models:
        """Drop the estimated costs of messages if the cost is known as a whole."""
        if cost is None:
            return dict(models)
        return {model: replace(used, cost_usd=None) for model, used in models.items()}

    def _with_calls(self, models: Models) -> Models:
        """Add what is in no report: the user's own prices, and how many messages there were."""
        known: Models = {}
        for model, used in models.items():
            price = self._prices.given(model)
            known[model] = used if price is None else replace(used, cost_usd=price.of(used))
        for model, used in self._live.models.items():
            _add(known, self._names.get(model, model), Totals(calls=used.calls))
        return known

    def _settle(self, models: Models, rest: float | None, turn: Turn) -> None:
        self.changes += 1
        settled = self._settled
        settled.add(sum(models.values(), Totals(cost_usd=rest, turns=1)), turn)
        while len(settled.turns) > KEPT:
            del settled.turns[next(iter(settled.turns))]
        for model, part in models.items():
            _add(settled.models, model, part)

    def _settle_main(self, main: Totals | None) -> None:
        live = self._live.main
        if main is not None:
            live = replace(main.at_least(live), calls=live.calls, estimated=not main.covers(live))
        self._settled.main += live
        self._live = _Live()

    def _learn(self, usage: Mapping[str, ModelUsage]) -> None:
        """Learn windows and prices. Some models have one name in reports, another in messages."""
        for model, used in usage.items():
            for name in {model, model.partition("[")[0], used.canonical_model or model}:
                self._names[name] = model
                self._prices.learn(name, Totals.of_model(used))
                if used.context_window is not None:
                    self._windows[name] = used.context_window

    # --- context and limits ----------------------------------------------------------------------

    def _retry(self, message: APIRetryMessage, turn: Turn) -> None:
        self.retry = Retry.said_by(message)

    def _rate_limit(self, message: RateLimitEvent, turn: Turn) -> None:
        info = message.rate_limit_info
        self.rate_limit = (self.rate_limit or RateLimit(info)).with_info(info)

    def _compacted(self, message: CompactBoundaryMessage, turn: Turn) -> None:
        data = message.compact_metadata
        tokens = None if data is None else data.post_tokens
        self.context = ContextWindow(tokens, self.context.window, "compaction")

    def _reset(self, message: ConversationResetMessage, turn: Turn) -> None:
        self.context = ContextWindow(window=self.context.window)


# --- reports ----------------------------------------------------------------------------------


class _Reports:
    """What the CLI reported last, to find out what is new in the next report.

    A report is of all that was used since the process was started.
    """

    def __init__(self) -> None:
        self.models: Models = {}
        self.cost: float = 0.0
        self.is_of_another_process: bool = False

    def read(
        self, message: ResultMessage, main: Totals | None
    ) -> tuple[Models | None, float | None]:
        """Return what each model has used since the last report, and the cost of no model.

        None instead of the models if nothing was reported.
        """
        since = _convert(message.model_usage_since_last_result, dict[str, ModelUsage])
        now = {model: Totals.of_model(it) for model, it in (message.model_usage or {}).items()}
        if self.is_of_another_process and message.model_usage is not None:
            self.is_of_another_process = False
            if not self._goes_on(now, main):
                self.models, self.cost = {}, 0.0
        models = {model: _since(used, self.models.get(model)) for model, used in now.items()}
        cost = message.total_cost_usd
        new_cost = None if cost is None else cost - (self.cost if cost >= self.cost else 0.0)
        if message.model_usage is not None:
            self.models = now
        self.cost = self.cost if cost is None else cost
        if since is not None:
            rest = None if cost is None else 0.0
            return {model: Totals.of_model(used) for model, used in since.items()}, rest
        if message.model_usage is None:
            return None, new_cost
        return models, _rest(new_cost, models)

    def _goes_on(self, now: Models, main: Totals | None) -> bool:
        """Whether the first report of a process includes what the last one reported."""
        if not all(model in now and now[model].covers(used) for model, used in self.models.items()):
            return False
        new = sum(now.values(), NOTHING) - sum(self.models.values(), NOTHING)
        return main is None or new.covers(main)


def _since(now: Totals, before: Totals | None) -> Totals:
    # Less than before: the CLI has begun to count anew, without saying so.
    return now if before is None or not now.covers(before) else now - before


def _rest(cost: float | None, models: Models) -> float | None:
    """Return the part of a cost that belongs to no model."""
    if cost is None:
        return None
    rest = cost - sum(used.cost_usd or 0.0 for used in models.values())
    # Less than that is what floats leave behind.
    return rest if abs(rest) > 1e-9 else 0.0


def _convert(value: Any, kind: Any) -> Any:
    """Read a value that has no declared type; None if it is not of this kind."""
    try:
        return msgspec.convert(value, prepared(kind))
    except (msgspec.ValidationError, UnicodeEncodeError):  # or a key that is no text
        return None


# --- sums -------------------------------------------------------------------------------------


def _beyond(one: Totals | None, other: Totals) -> Totals:
    """Return by how much one exceeds the other, for each kind of tokens."""
    return NOTHING if one is None else replace(other.at_least(one) - other, calls=0, cost_usd=None)


def _add(sums: dict[Any, Totals], key: Hashable, used: Totals) -> None:
    sums[key] = sums.get(key, NOTHING) + used


def _keep(book: OrderedDict[str, Any], key: str, value: Any) -> None:
    book[key] = value
    if len(book) > KEPT:
        book.popitem(last=False)


_HANDLERS: dict[type[Message], Callable[[UsageTracker, Any, Turn], None]] = {
    StreamEvent: UsageTracker._stream,
    AssistantMessage: UsageTracker._assistant,
    UserMessage: UsageTracker._user,
    ResultMessage: UsageTracker._result,
    APIRetryMessage: UsageTracker._retry,
    RateLimitEvent: UsageTracker._rate_limit,
    CompactBoundaryMessage: UsageTracker._compacted,
    ConversationResetMessage: UsageTracker._reset,
}
