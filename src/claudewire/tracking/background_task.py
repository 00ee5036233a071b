"""One thing that runs beside the conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..wire import Message, SubagentRetry, TaskUsage

__all__ = ["BackgroundTask", "launched_by"]


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """Something that runs, or ran, beside the conversation.

    Attributes:
        id: the CLI's id of the task, with which it can be stopped; as long as the CLI has not told
            it, the id of the tool call.
        kind: local_bash, local_agent, local_workflow, …
        description: what it does, in a few words.
        status: pending, running, paused; completed, failed, killed, stopped; or a newer word.
        tool_use_id: the tool call that started it.
        parent: the id of the task that started it; None if the main conversation did.
        subagent_type: what kind of subagent it is, if it is one.
        background: whether the conversation goes on without it; None if that is not known.
        reported: the CLI says itself how the task fares. Of one that is known by its tool call
            alone, an older CLI never tells the end.
        ambient: it does not count as activity.
        run: the CLI's id of the run; a task that is resumed runs again.
        started: the place of its beginning in the order of all that happened to tasks.
        ended: the same of its end; None while it runs.
        usage: tokens, tool calls and time, as it said last.
        last_tool: the tool that it used last.
        summary: what it says it is doing, or has done.
        error: what went wrong.
        output_file: where its output is.
        retry: it is asking the API again.
        last: the last message about it.
    """

    id: str
    kind: str | None = None
    description: str = ""
    status: str = "running"
    tool_use_id: str | None = None
    parent: str | None = None
    subagent_type: str | None = None
    background: bool | None = None
    reported: bool = False
    ambient: bool = False
    run: str | None = None
    started: int = 0
    ended: int | None = None
    usage: TaskUsage | None = None
    last_tool: str | None = None
    summary: str = ""
    error: str | None = None
    output_file: str | None = None
    retry: SubagentRetry | None = None
    last: Message | None = None

    @property
    def running(self) -> bool:
        """Whether it has not ended, as far as is known."""
        return self.ended is None

    @property
    def is_agent(self) -> bool:
        """Whether it is a subagent."""
        return self.subagent_type is not None or self.kind == "local_agent"

    @property
    def raw(self) -> dict[str, Any]:
        """The last message about it, as the CLI wrote it."""
        return {} if self.last is None else self.last.raw


def launched_by(output: Any) -> tuple[str, str] | None:
    """Give the id and the kind of what a tool call has started and not waited for."""
    if not isinstance(output, dict):
        return None
    shell, agent = output.get("backgroundTaskId"), output.get("agentId")
    if isinstance(shell, str):
        return shell, "local_bash"
    if isinstance(agent, str) and output.get("status") == "async_launched":
        return agent, "local_agent"
    return None
