"""Background tasks: shells, subagents, workflows.

A CLI lists its background tasks whenever they change, and that list counts. A foreground task is
known by the reports of its start and end. An older CLI such as 2.1.17 does not report on subagents:
these are known by the tool call and its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..wire import (
    AssistantMessage,
    BackgroundTasksChangedMessage,
    Message,
    ResultMessage,
    SessionStateChangedMessage,
    TaskNotificationMessage,
    TaskPatch,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    TaskUsage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

KEPT = 200
"""The number of tasks that are remembered after they ended."""

CALLS = 1000
"""The number of tool calls of subagents that are remembered."""

DEFAULT_AGENT = "general-purpose"
"""The kind of a subagent without a named kind."""

AGENT_TOOLS = frozenset({"Agent", "Task"})
"""The names of the tool that starts a subagent."""

_LIVE = frozenset({"pending", "running", "paused"})
_OVER = frozenset({"completed", "failed", "killed", "stopped", "cancelled"})

LOST = "lost"
"""The status of a task whose CLI has ended."""
ENDED = "ended"
"""The status of a task that has ended in an unknown way."""


class BackgroundTask(Struct, frozen=True):
    """A shell, subagent or workflow that runs, or ran, beside the conversation.

    Attributes:
        id: the CLI's id of the task, with which it can be stopped; until that is known, the id of
            the tool call.
        kind: local_bash, local_agent, local_workflow, …
        description: a few words on its purpose.
        status: pending, running, paused; completed, failed, killed, stopped; or a newer word.
        tool_use_id: the tool call that started it.
        parent: the id of the task that started it; None for the main conversation.
        subagent_type: the kind of subagent, if it is one.
        background: whether the conversation goes on without it; None if unknown.
        reported: the CLI itself reports on the task. If it is known by its tool call alone, an
            older CLI never reports its end.
        ambient: it does not count as activity.
        run: the CLI's id of the run; a resumed task has another.
        started: the place of its start in the order of all starts and ends.
        ended: the place of its end; None while it runs.
        usage: tokens, tool calls and time, by the last report.
        last_tool: the tool that it used last.
        summary: its activity, or its outcome.
        error: the reason of its failure.
        output_file: the file with its output.
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
    last: Message | None = None

    @property
    def running(self) -> bool:
        """Whether it has not ended, as far as is known."""
        return self.ended is None


_FACTS = {
    "task_type": "kind",
    "description": "description",
    "tool_use_id": "tool_use_id",
    "parent_task_id": "parent",
    "subagent_type": "subagent_type",
    "is_backgrounded": "background",
    "ambient": "ambient",
    "run_id": "run",
    "usage": "usage",
    "last_tool_name": "last_tool",
    "summary": "summary",
    "error": "error",
    "output_file": "output_file",
}
"""The fields of reports, with the attributes of a task."""

_Report = TaskStartedMessage | TaskProgressMessage | TaskUpdatedMessage | TaskNotificationMessage

Changed = list[BackgroundTask]


class TaskTable:
    """All running tasks of a session, and the last that ended. The session feeds it.

    Iterate it for all of them in the order of their starts. A task is a snapshot: ask again for
    its later state.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, BackgroundTask] = {}
        self._callers: dict[str, str] = {}
        """The tool calls of subagents, and the tool calls that started these subagents."""
        self._clock = 0
        self.state: str | None = None
        """The reported state of the session: running, requires_action or idle; None if unknown."""

    def __iter__(self) -> Iterator[BackgroundTask]:
        return iter(sorted(self._tasks.values(), key=lambda task: task.started))

    def __len__(self) -> int:
        return len(self._tasks)

    def get(self, id: str | None) -> BackgroundTask | None:
        """Find a task by its id, or by the tool call that started it."""
        if id is None or id in self._tasks:
            return self._tasks.get(id or "")
        return next((it for it in self._tasks.values() if it.tool_use_id == id), None)

    @property
    def running(self) -> list[BackgroundTask]:
        """The tasks that have not ended."""
        return [task for task in self if task.running]

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, as far as the CLI reports.

        Neither ambient tasks count nor tasks whose end the CLI would never report.
        """
        is_busy = any(task.reported and not task.ambient for task in self.running)
        return not is_busy and self.state in (None, "idle")

    def note(self, message: Message) -> Changed:
        """Take the next message of the session; return the tasks that it has changed."""
        handler = _HANDLERS.get(type(message))
        return [] if handler is None else handler(self, message)

    def restarted(self) -> Changed:
        """Note that the process has ended, and all its tasks with it."""
        self.state = None
        return [self._end(task, LOST) for task in self.running]

    def stopped(self, id: str) -> Changed:
        """Note that the CLI has stopped a task on request: not all report the end."""
        task = self.get(id)
        return [] if task is None or not task.running else [self._end(task, "stopped")]

    # --- changes ---------------------------------------------------------------------------------

    def _put(self, task: BackgroundTask, **fields: Any) -> BackgroundTask:
        self._tasks[task.id] = task = replace(task, **fields)
        return task

    def _begin(self, id: str, last: Message, **facts: Any) -> BackgroundTask:
        """Find a task by its id or tool call, or add it; then add the facts that are known."""
        self._clock += 1
        task = self._tasks.get(id) or BackgroundTask(id, started=self._clock)
        call = facts.get("tool_use_id")
        called = None if call == id else self._tasks.pop(call or "", None)
        if called is not None:
            task = self._identify(called, task)
        facts["parent"] = facts.get("parent") or self._owner(call)
        known = {name: value for name, value in facts.items() if value is not None and value != ""}
        return self._put(task, last=last, **known)

    def _identify(self, called: BackgroundTask, task: BackgroundTask) -> BackgroundTask:
        """Add the facts of a task that was known by its tool call alone."""
        for child in self:
            if child.parent == called.id:
                self._put(child, parent=task.id)
        facts = {
            name: getattr(called, name)
            for name in ("kind", "description", "status", "subagent_type", "background", "parent")
            if getattr(task, name) in (None, "")
        }
        return replace(task, started=min(task.started, called.started), **facts)

    def _owner(self, tool_use_id: str | None) -> str | None:
        """Return the id of the subagent that has made a tool call."""
        agent = self._callers.get(tool_use_id or "")
        task = self.get(agent)
        return agent if task is None else task.id

    def _run(self, task: BackgroundTask) -> BackgroundTask:
        """Let a task run, perhaps again."""
        return self._put(task, status=task.status if task.running else "running", ended=None)

    def _end(self, task: BackgroundTask, status: str) -> BackgroundTask:
        self._clock += 1
        task = self._put(task, status=status, ended=task.ended or self._clock)
        over = [each for each in self._tasks.values() if each.ended is not None]
        for each in sorted(over, key=lambda it: it.ended or 0)[:-KEPT]:
            del self._tasks[each.id]
        return task

    # --- the CLI's reports -----------------------------------------------------------------------

    def _reported(self, message: _Report) -> Changed:
        before = self.get(message.task_id)
        if before is not None and before.run and (message.run_id or before.run) < before.run:
            return []  # about an earlier run: the ids of runs sort as they began
        facts = _facts_in(message)
        if isinstance(message, TaskProgressMessage):
            facts["summary"] = facts.pop("description", None)
            facts |= {"summary": message.summary} if message.summary else {}
        if isinstance(message, TaskUpdatedMessage) and message.patch is not None:
            facts |= _facts_in(message.patch)
        task = self._begin(message.task_id, message, **facts, reported=True)
        if isinstance(message, TaskStartedMessage):
            # An ended task may start again, as another run.
            again = before is not None and (message.run_id is None or before.run != message.run_id)
            is_running = task.running or again
            return [self._put(task, status="running", ended=None) if is_running else task]
        if isinstance(message, TaskNotificationMessage):
            return [self._end(task, message.status or ENDED)]
        patch = message.patch if isinstance(message, TaskUpdatedMessage) else None
        return [task if patch is None else self._patched(task, patch)]

    def _patched(self, task: BackgroundTask, patch: TaskPatch) -> BackgroundTask:
        status = patch.status
        if status in _OVER or (status not in _LIVE and patch.end_time is not None):
            return self._end(task, status or ENDED)
        return self._put(task, status=status) if status and task.running else task

    def _listed(self, message: BackgroundTasksChangedMessage) -> Changed:
        """Let exactly the listed tasks run in the background."""
        ids = {item.task_id for item in message.tasks}
        known = [task for task in self.running if task.background and task.reported]
        changed = [self._end(task, ENDED) for task in known if task.id not in ids]
        for item in message.tasks:
            facts = {**_facts_in(item), "background": True, "reported": True}
            changed.append(self._run(self._begin(item.task_id, message, **facts)))
        return changed

    def _state_changed(self, message: SessionStateChangedMessage) -> Changed:
        self.state = message.state
        return []

    # --- the conversation ------------------------------------------------------------------------

    def _assistant(self, message: AssistantMessage) -> Changed:
        agent = message.parent_tool_use_id
        changed = [] if agent is None else self._speaker(agent, message)
        content = message.message.content
        for block in content if isinstance(content, list) else ():
            if type(block) is ToolUseBlock:
                if agent is not None:
                    self._callers[block.id] = agent
                    for id in list(self._callers)[:-CALLS]:
                        del self._callers[id]
                if block.name in AGENT_TOOLS and self.get(block.id) is None:
                    changed.append(self._call(block, message))
        return changed

    def _speaker(self, agent: str, message: AssistantMessage) -> Changed:
        """Add the subagent of a message, or note that it has started."""
        known = self.get(agent)
        if known is not None:
            waits = known.running and known.status == "pending"
            return [self._put(known, status="running", last=message)] if waits else []
        task = self._begin(
            message.agent_id or agent,
            message,
            tool_use_id=agent,
            kind="local_agent",
            subagent_type=message.subagent_type or DEFAULT_AGENT,
            description=message.task_description,
        )
        return [task]

    def _call(self, block: ToolUseBlock, message: AssistantMessage) -> BackgroundTask:
        """Add a subagent that is about to start."""
        asked = block.input.get("run_in_background")
        return self._begin(
            block.id,
            message,
            tool_use_id=block.id,
            kind="local_agent",
            subagent_type=str(block.input.get("subagent_type") or DEFAULT_AGENT),
            description=str(block.input.get("description") or ""),
            background=asked if isinstance(asked, bool) else None,
            status="pending",
        )

    def _user(self, message: UserMessage) -> Changed:
        results = [block for block in message.content if isinstance(block, ToolResultBlock)]
        output = message.tool_use_result if len(results) == 1 else None
        return [task for block in results for task in self._result(block, output, message)]

    def _result(self, block: ToolResultBlock, output: Any, message: UserMessage) -> Changed:
        match output:  # the call is over, but not the task that it has started
            case {"backgroundTaskId": str(id)}:
                kind = "local_bash"
            case {"agentId": str(id), "status": "async_launched"}:
                kind = "local_agent"
            case _:
                return self._called(block, message)
        call = block.tool_use_id
        task = self._begin(id, message, tool_use_id=call, kind=kind, background=True)
        return [self._put(task, status="running") if task.running else task]

    def _called(self, block: ToolResultBlock, message: UserMessage) -> Changed:
        """End the task of a tool call with its result."""
        task = self.get(block.tool_use_id)
        if task is None or not task.running or (task.background and task.reported):
            return []
        task = self._put(task, last=message)
        return [self._end(task, "failed" if block.is_error else "completed")]

    def _over(self, message: ResultMessage) -> Changed:
        """End the tasks that a turn was waiting for, with the turn."""
        running = self.running
        # A reported task of an unknown place may be in the background.
        outliving = {
            task.id
            for task in running
            if task.background or (task.background is None and task.reported)
        }
        for _ in running:  # a task outlives the turn with the task that started it
            outliving |= {task.id for task in running if task.parent in outliving}
        return [self._end(task, ENDED) for task in running if task.id not in outliving]


def _facts_in(report: Struct) -> dict[str, Any]:
    found = {fact: getattr(report, name, None) for name, fact in _FACTS.items()}
    return {fact: value for fact, value in found.items() if value is not None}


_HANDLERS: dict[type[Message], Callable[[TaskTable, Any], Changed]] = {
    BackgroundTasksChangedMessage: TaskTable._listed,
    TaskStartedMessage: TaskTable._reported,
    TaskProgressMessage: TaskTable._reported,
    TaskUpdatedMessage: TaskTable._reported,
    TaskNotificationMessage: TaskTable._reported,
    SessionStateChangedMessage: TaskTable._state_changed,
    AssistantMessage: TaskTable._assistant,
    UserMessage: TaskTable._user,
    ResultMessage: TaskTable._over,
}

TRACKED: frozenset[type[Message]] = frozenset(_HANDLERS)
"""The kinds of messages that tell of tasks."""
