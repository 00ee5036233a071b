"""From what a session reports to what a person wants to know of it: text, tools, notices."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

from .reports import Activity, Decided, Notice, TextPiece, ToolEnded, ToolStarted
from .text import one_line

if TYPE_CHECKING:
    from ..tracking import LiveBlock

__all__ = ["ActivityLog", "notice_of", "subject_of"]

_SUBJECTS = (
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "path",
    "description",
    "prompt",
    "skill",
)
"""The fields of a tool's input that say best what it is about, in this order."""

_LONGEST = 200
"""Characters of a subject or a summary: more than fit into a line."""


class ActivityLog:
    """Turns the changes of blocks into activities, each told once.

    Args:
        clock: returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._started: dict[str, float] = {}
        self._agents: dict[str, str | None] = {}
        self._names: dict[str, str] = {}
        self._denied: set[str] = set()

    def note(self, block: LiveBlock, turn: str = "") -> Iterator[Activity]:
        """Take a block that has changed; yield what that means.

        Args:
            block: the block, which has a name of its own only within its turn.
            turn: what the names of the blocks of this turn begin with.
        """
        if block.kind == "text" and block.added:
            yield TextPiece(text=block.added, block=f"{turn}{block.id}", agent=block.agent)
        elif block.kind.endswith("tool_use") and block.tool_use_id is not None:
            yield from self._tool(block, block.tool_use_id)

    def _tool(self, block: LiveBlock, id: str) -> Iterator[Activity]:
        if block.complete and id not in self._started and block.input is not None:
            self._started[id] = self._clock()
            self._agents[id] = block.agent
            self._names[id] = block.name or ""
            yield ToolStarted(
                id=id,
                name=block.name or "",
                subject=subject_of(block.input),
                input=block.input,
                agent=block.agent,
            )
        if block.change == "result" and id in self._started:
            yield self._ended(block, id)

    def _ended(self, block: LiveBlock, id: str) -> ToolEnded:
        failed = bool(getattr(block.result, "is_error", False))
        return ToolEnded(
            id=id,
            name=block.name or "",
            ok=not failed,
            denied=id in self._denied,
            seconds=round(max(self._clock() - self._started.pop(id), 0.0), 3),
            summary=_summary(block.result_text, failed),
            text=block.result_text,
            agent=block.agent,
        )

    def decided(self, decision: Decided) -> None:
        """Note a decision: what was denied, and that waiting for it is not time of the tool."""
        waiting = [id for id in self._started if self._names[id] == decision.tool]
        if not waiting or decision.kind != "permission":
            return
        self._started[waiting[-1]] += decision.seconds or 0.0
        if decision.answer == "deny":
            self._denied.add(waiting[-1])

    def depth(self, agent: str | None) -> int:
        """Return how many subagents deep something happens."""
        depth = 0
        while agent is not None and depth < len(self._agents) + 1:
            depth += 1
            agent = self._agents.get(agent)
        return depth


def subject_of(input: Mapping[str, Any]) -> str:
    """Say in one line what a tool is called with."""
    found = next((input[key] for key in _SUBJECTS if input.get(key)), None)
    if found is None and input:
        found = json.dumps(input, ensure_ascii=False, default=str)
    return one_line(str(found or ""), _LONGEST)


def _summary(text: str, failed: bool) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return "failed" if failed else ""
    if failed or len(lines) == 1:
        return one_line(lines[0], _LONGEST)
    return f"{len(lines)} lines"


def notice_of(event: object) -> Notice | None:
    """Say what an event of the session means for a person; None if it is not worth a line."""
    from ..session import BudgetAlert, Stall
    from ..wire import APIRetryMessage, CompactBoundaryMessage, RateLimitEvent

    if isinstance(event, APIRetryMessage):
        return Notice(text=_retry(event))
    if isinstance(event, CompactBoundaryMessage):
        return Notice(text="The conversation was summarised to make room for more.")
    if isinstance(event, RateLimitEvent) and event.rate_limit_info.status != "allowed":
        return Notice(text=_limit(event))
    if isinstance(event, Stall):
        return Notice(text=f"Nothing for {event.seconds:.0f} s: waiting for {event.waiting_for}.")
    if isinstance(event, BudgetAlert):
        return Notice(text=str(event.alert))
    return None


def _retry(event: Any) -> str:
    why = f" ({event.error_status})" if event.error_status else ""
    wait = f" in {event.retry_delay_ms / 1000:.0f} s" if event.retry_delay_ms else ""
    which = f", attempt {event.attempt} of {event.max_retries}" if event.max_retries else ""
    return f"The API did not answer{why}; asked again{wait}{which}."


def _limit(event: Any) -> str:
    from datetime import datetime

    info = event.rate_limit_info
    when = ""
    if info.resets_at:
        when = f" It resets at {datetime.fromtimestamp(info.resets_at):%H:%M}."
    if info.status == "rejected":
        return f"The usage limit is reached.{when}"
    used = f" ({info.utilization:.0%})" if info.utilization else ""
    return f"The usage limit is near{used}.{when}"
