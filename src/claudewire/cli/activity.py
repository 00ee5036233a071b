"""The activities of a session: text, tools, decisions and notices, from its blocks and events."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..approvals import subject_of
from .reports import Decided, Notice, TextPiece, ToolEnded, ToolStarted
from .text import one_line

if TYPE_CHECKING:
    from ..approvals import PolicyLike
    from ..policy import DecisionRecord
    from ..session import InterruptReceipt, Session, Turn
    from ..tracking import LiveBlock
    from .reports import View

_LONGEST = 200
"""Characters of a subject or a summary: more than fit into a line."""

_DENIALS = frozenset({"deny", "decline", "cancel", "skipped", "cancelled"})

_OUTCOMES = {
    "stopped": "Turn stopped.",
    "withdrawn": "Prompt taken back before its turn began.",
    "was_over": "The turn had already ended.",
    "not_stopped": "The turn has not stopped.",
    "nothing_running": "No turn was running.",
}


class Progress:
    """Shows the turns, notices and decisions of a session in a view.

    The CLI hides some denied tools from the model and asks nobody: the policy explains these.
    """

    def __init__(self, view: View, policy: PolicyLike | None = None) -> None:
        self.decisions: list[Decided] = []
        self.denied: bool = False
        self._view = view
        self._policy = policy
        self._turns = count()
        self._depths: dict[str | None, int] = {None: 0}
        self._running: dict[str, ToolStarted] = {}
        self._since: dict[str, float] = {}
        """The start of each running tool, without the wait for a decision."""
        self._denied: set[str] = set()

    async def show(self, turn: Turn[Any]) -> None:
        """Show a turn until it ends."""
        number = next(self._turns)
        async for block in turn.iter_blocks():
            if block.kind == "text" and block.added:
                # The id of a block is unique only within its turn.
                id = f"turn-{number}-{block.id}" if number else block.id
                self._view.show(TextPiece(text=block.added, block=id, agent=block.agent))
            elif block.kind.endswith("tool_use") and block.tool_use_id is not None:
                self._tool(block, block.tool_use_id)

    async def show_notices(self, session: Session[Any]) -> None:
        """Show the notices of a session until it ends."""
        with session.events() as events:
            async for event in events:
                if text := notice_of(event):
                    self._view.show(Notice(text=text))

    def decided(self, record: DecisionRecord) -> None:
        """Show a decision, and mark a denied tool."""
        by = record.decided_by
        if by.startswith("handler"):
            by = "no terminal" if "NoPerson" in by else "approver"
        seconds = None if record.latency is None else round(record.latency, 3)
        decision = Decided(
            kind=record.kind,
            tool=record.tool,
            answer=record.answer,
            by=by,
            reason=record.reason,
            seconds=seconds,
        )
        self.decisions.append(decision)
        self.denied |= decision.answer in _DENIALS
        pending = [id for id, it in self._running.items() if it.name == decision.tool]
        if pending and decision.kind == "permission":
            self._since[pending[-1]] += seconds or 0.0
            if decision.answer == "deny":
                self._denied.add(pending[-1])
        self._view.show(decision)

    def _tool(self, block: LiveBlock, id: str) -> None:
        if block.complete and block.input is not None and id not in self._depths:
            depth = self._depths.get(block.agent, 0)
            self._depths[id] = depth + 1  # of the tools of this subagent, if it is one
            self._since[id] = monotonic()
            started = self._running[id] = ToolStarted(
                id=id,
                name=block.name or "",
                subject=one_line(subject_of(block.input), _LONGEST),
                input=block.input,
                agent=block.agent,
                depth=depth,
            )
            self._view.show(started)
        if block.change == "result" and id in self._running:
            self._view.show(self._ended(block, self._running.pop(id)))

    def _ended(self, block: LiveBlock, started: ToolStarted) -> ToolEnded:
        failed = bool(getattr(block.result, "is_error", False))
        denied = started.id in self._denied or (failed and self._denies(started))
        self.denied |= denied
        return ToolEnded(
            **{name: getattr(started, name) for name in started.__struct_fields__},
            ok=not failed,
            denied=denied,
            seconds=round(max(monotonic() - self._since.pop(started.id), 0.0), 3),
            summary=_summary(block.result_text, failed),
            text=block.result_text,
        )

    def _denies(self, tool: ToolStarted) -> bool:
        policy = self._policy
        return policy is not None and policy.decide(tool.name, tool.input).behavior == "deny"


def _summary(text: str, failed: bool) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return "failed" if failed else ""
    if failed or len(lines) == 1:
        return one_line(lines[0], _LONGEST)
    return f"{len(lines)} lines"


def doing_of(session: Session[Any]) -> str:
    """Return the work of a session, in a few words."""
    waiting = session.waiting
    if waiting is None or waiting.what == "nothing":
        return "Working"
    return f"Waiting for {waiting.what}"


def receipt_words(receipt: InterruptReceipt) -> str:
    """Describe the effect of an interrupt."""
    words = _OUTCOMES[receipt.outcome]
    if receipt.cancelled:
        words += f" Dropped from the queue: {len(receipt.cancelled)}."
    if receipt.still_queued:
        words += f" Still queued: {len(receipt.still_queued)}."
    return words


def notice_of(event: object) -> str:
    """Describe an event of the session; empty if it is not worth a line."""
    from ..session import BudgetAlert, Stall
    from ..wire import APIRetryMessage, CompactBoundaryMessage, RateLimitEvent

    match event:
        case APIRetryMessage():
            return _retry(event)
        case CompactBoundaryMessage():
            return "The CLI summarised the conversation to make room for more."
        case RateLimitEvent() if event.rate_limit_info.status != "allowed":
            return _limit(event.rate_limit_info)
        case Stall():
            return f"Silent for {event.seconds:.0f} s: waiting for {event.waiting_for}."
        case BudgetAlert():
            return str(event.alert)
    return ""


def _retry(event: Any) -> str:
    why = f" ({event.error_status})" if event.error_status else ""
    wait = f" in {event.retry_delay_ms / 1000:.0f} s" if event.retry_delay_ms else ""
    which = f", attempt {event.attempt} of {event.max_retries}" if event.max_retries else ""
    return f"The API request failed{why}; retrying{wait}{which}."


def _limit(info: Any) -> str:
    at = info.resets_at
    when = f" It resets at {datetime.fromtimestamp(at):%H:%M}." if at else ""
    if info.status == "rejected":
        return f"Usage limit reached.{when}"
    used = f" ({info.utilization:.0%})" if info.utilization else ""
    return f"Usage limit near{used}.{when}"
