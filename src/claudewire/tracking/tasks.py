"""What runs beside the conversation: shells in the background, subagents, workflows.

A new CLI lists the tasks in the background whenever that changes, and this list is what counts. A
task in the foreground, or of a CLI that sends no list, is known by its beginning and its end, each
reported in one of several ways; a subagent of an older CLI, only by the tool call and its result.

`TaskTable` is what the application reads, `TaskTracker` what the session feeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..wire import (
    AssistantMessage,
    BackgroundTasksChangedMessage,
    Message,
    ResultMessage,
    SessionStateChangedMessage,
    SubagentRetry,
    TaskNotificationMessage,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    TaskUsage,
    ToolProgressMessage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from ..wire import BackgroundTask as Listed

__all__ = ["BackgroundTask", "TaskTable", "TaskTracker"]

KEPT = 200
"""How many tasks are remembered after they ended: as many as a person will look at."""

RUNNING = 2000
"""How many tasks that run are remembered: more than any CLI runs. Then the oldest is forgotten."""

LISTED = 1000
"""How many tasks of one list are looked at."""

CALLS = 1000
"""How many tool calls of subagents are remembered: more than are ever under way."""

DEFAULT_AGENT = "general-purpose"
"""The kind of subagent that is started when none is named."""

AGENT_TOOLS = frozenset({"Agent", "Task"})
"""The tool that starts a subagent, by its names."""

_LIVE = frozenset({"pending", "running", "paused"})
_OVER = frozenset({"completed", "failed", "killed", "stopped", "cancelled"})

LOST = "lost"
"""The status of a task whose CLI has ended."""
ENDED = "ended"
"""The status of a task that has ended, if nothing else is known of it."""


class BackgroundTask(Struct, frozen=True):
    """Something that runs, or ran, beside the conversation.

    Attributes:
        id: the CLI's id of the task, with which it can be stopped; until that is known, the id of
            the tool call.
        kind: local_bash, local_agent, local_workflow, …
        description: what it does, in a few words.
        status: pending, running, paused; completed, failed, killed, stopped; or a newer word.
        tool_use_id: the tool call that started it.
        parent: the id of the task that started it; None if the main conversation did.
        subagent_type: what kind of subagent it is, if it is one.
        background: whether the conversation goes on without it; None if that is not known.
        reported: the CLI itself reports on the task. If it is known by its tool call alone, an
            older CLI never reports its end.
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


Changed = Sequence[BackgroundTask]


class TaskTable:
    """All tasks of a session: those that run, and the last that ended.

    Iterate it for all of them in the order of their beginnings. A task is a snapshot: ask again
    for what has become of it.
    """

    def __init__(self, *, kept: int = KEPT) -> None:
        self._kept = kept
        self._tasks: dict[str, BackgroundTask] = {}
        self._names: dict[str | None, str] = {}
        """Every name of a task, its tool call's among them, and the id it goes by."""
        self._names_of: dict[str, set[str]] = {}
        self._children: dict[str, dict[str, None]] = {}
        """The tasks that each task has started."""
        self._running: dict[str, None] = {}
        """Those that run, the oldest first."""
        self._ended: dict[str, None] = {}
        """Those that have ended, the first first."""
        self._in_background: set[str] = set()
        """Those that run in the background."""
        self._busy: set[str] = set()
        """Those that run and count as activity."""
        self._listed: set[str] = set()
        self._callers: dict[str | None, str] = {}
        """The tool calls of subagents, and who has made them."""
        self._clock = 0
        self.state: str | None = None
        """What the session said it is: running, requires_action or idle; None if it does not."""

    def __iter__(self) -> Iterator[BackgroundTask]:
        return iter(sorted(self._tasks.values(), key=lambda task: task.started))

    def __len__(self) -> int:
        return len(self._tasks)

    def get(self, id: str) -> BackgroundTask | None:
        """Find a task by its id, or by the tool call that started it."""
        return self._tasks.get(self._names.get(id, id))

    @property
    def running(self) -> list[BackgroundTask]:
        """The tasks that have not ended."""
        return [task for task in self if task.running]

    @property
    def agents(self) -> list[BackgroundTask]:
        """The subagents."""
        return [task for task in self if task.is_agent]

    def children(self, id: str | None = None) -> list[BackgroundTask]:
        """The tasks that one has started, or, for None, that the main conversation has."""
        return [task for task in self if task.parent == id]

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, as far as the CLI reports.

        Ambient tasks do not count, nor those whose end the CLI would never report.
        """
        return not self._busy and self.state in (None, "idle")


class TaskTracker(TaskTable):
    """Keeps the table of tasks up to date: it is given each message once."""

    def note(self, message: Message) -> Changed:
        """Take the next message of the session; return the tasks that it has changed."""
        handler = _HANDLERS.get(type(message))
        return () if handler is None else handler(self, message)

    def restarted(self) -> Changed:
        """Note that the process has ended, and with it all that it was running."""
        self.state = None
        self._listed.clear()
        return [self._end(task, LOST) for task in self.running]

    def stopped(self, id: str) -> Changed:
        """Note that the CLI has stopped a task, as it was asked to: not all tell of the end."""
        task = self.get(id)
        return () if task is None or not task.running else (self._end(task, "stopped"),)

    def _set(self, task: BackgroundTask, **fields: Any) -> BackgroundTask:
        """Change a task. What is None stays as it was."""
        known = {name: value for name, value in fields.items() if value is not None}
        return self._put(replace(task, **known))

    def _put(self, task: BackgroundTask) -> BackgroundTask:
        """Keep a task as it is now, and what is looked up without a look at all of them."""
        id, before = task.id, self._tasks.get(task.id)
        self._tasks[id] = task
        if before is None or before.parent != task.parent:
            self._move_child(id, None if before is None else before.parent, task.parent)
        if task.running:
            self._ended.pop(id, None)
            self._running.setdefault(id)
        else:
            self._running.pop(id, None)
            self._ended.setdefault(id)
        _choose(self._in_background, id, task.running and task.background is True)
        _choose(self._busy, id, task.running and task.reported and not task.ambient)
        return task

    def _drop(self, id: str) -> None:
        task = self._tasks.pop(id)
        self._move_child(id, task.parent, None)
        self._running.pop(id, None)
        self._ended.pop(id, None)
        self._in_background.discard(id)
        self._busy.discard(id)

    def _move_child(self, id: str, before: str | None, after: str | None) -> None:
        if before is not None:
            del self._children[before][id]
            if not self._children[before]:
                del self._children[before]
        if after is not None:
            self._children.setdefault(after, {})[id] = None

    def _name(self, id: str, *names: str | None) -> None:
        for name in filter(None, names):
            before = self._names.get(name, id)
            if before != id:
                self._names_of[before].discard(name)
                if not self._names_of[before]:
                    del self._names_of[before]
            self._names[name] = id
            self._names_of.setdefault(id, set()).add(name)

    def _begin(self, id: str, tool_use_id: str | None = None, **fields: Any) -> BackgroundTask:
        """Find a task by any of its names, or add it; then change it."""
        self._clock += 1
        task = self.get(id)
        called = None if tool_use_id in (None, id) else self._tasks.get(str(tool_use_id))
        if called is not None:
            task = self._identify(called, id, task)
        if task is None:
            task = BackgroundTask(id, started=self._clock)
        self._name(task.id, id, tool_use_id)
        parent = fields.pop("parent", None) or self._owner(tool_use_id)
        task = self._set(task, tool_use_id=tool_use_id, parent=parent, **fields)
        while len(self._running) > RUNNING:
            self._forget(next(iter(self._running)))
        return task

    def _identify(
        self, called: BackgroundTask, id: str, known: BackgroundTask | None
    ) -> BackgroundTask:
        """Learn the id of a task that was known by its tool call alone."""
        self._drop(called.id)
        for child in list(self._children.get(called.id, ())):
            self._set(self._tasks[child], parent=id)
        if known is None:
            return replace(called, id=id)
        told = {
            name: getattr(called, name)
            for name in ("kind", "description", "subagent_type", "background", "parent")
            if getattr(known, name) in (None, "")
        }
        return replace(known, started=min(known.started, called.started), **told)

    def _owner(self, tool_use_id: str | None) -> str | None:
        """Return the id of the subagent that has made a tool call."""
        agent = self._callers.get(tool_use_id)
        return self._names.get(agent, agent)

    def _end(self, task: BackgroundTask, status: str, **fields: Any) -> BackgroundTask:
        self._clock += 1
        ended = task.ended or self._clock
        known = {name: value for name, value in fields.items() if value is not None}
        known |= {"status": status, "ended": ended, "retry": None}
        task = self._put(replace(task, **known))
        while len(self._ended) > self._kept:
            self._forget(next(iter(self._ended)))
        return task

    def _forget(self, id: str) -> None:
        self._drop(id)
        for name in self._names_of.pop(id, ()):
            del self._names[name]

    def _is_old(self, task: BackgroundTask | None, run: str | None) -> bool:
        """Whether a message is about an earlier run; the ids of runs sort as they began."""
        return task is not None and None not in (task.run, run) and str(run) < str(task.run)

    # --- what the CLI says about tasks -----------------------------------------------------------

    def _started(self, message: TaskStartedMessage) -> Changed:
        known = self.get(message.task_id)
        if self._is_old(known, message.run_id):
            return ()
        task = self._begin(
            message.task_id,
            message.tool_use_id,
            description=message.description,
            subagent_type=message.subagent_type,
            background=message.is_backgrounded,
            kind=message.task_type,
            parent=message.parent_task_id,
            ambient=message.ambient,
            run=message.run_id,
            reported=True,
            last=message,
        )
        # What has ended may begin again, as another run.
        again = known is not None and (message.run_id is None or known.run != message.run_id)
        if task.running or again:
            task = self._put(replace(task, status="running", ended=None))
        return (task,)

    def _progressed(self, message: TaskProgressMessage) -> Changed:
        if self._is_old(self.get(message.task_id), message.run_id):
            return ()
        task = self._begin(
            message.task_id,
            message.tool_use_id,
            subagent_type=message.subagent_type,
            run=message.run_id,
            usage=message.usage,
            last_tool=message.last_tool_name,
            summary=message.summary or message.description,
            reported=True,
            last=message,
        )
        return (self._put(replace(task, retry=None)),)

    def _updated(self, message: TaskUpdatedMessage) -> Changed:
        patch = message.patch
        if patch is None or self._is_old(self.get(message.task_id), message.run_id):
            return ()
        task = self._begin(
            message.task_id,
            description=patch.description,
            background=patch.is_backgrounded,
            error=patch.error,
            run=message.run_id,
            reported=True,
            last=message,
        )
        status = patch.status
        if status in _OVER or (status not in _LIVE and patch.end_time is not None):
            return (self._end(task, status or ENDED),)
        return (self._set(task, status=status) if task.running else task,)

    def _notified(self, message: TaskNotificationMessage) -> Changed:
        if self._is_old(self.get(message.task_id), message.run_id):
            return ()
        task = self._begin(message.task_id, message.tool_use_id, reported=True, run=message.run_id)
        return (
            self._end(
                task,
                message.status or ENDED,
                usage=message.usage,
                summary=message.summary,
                output_file=message.output_file or None,
                ambient=message.ambient,
                last=message,
            ),
        )

    def _tasks_changed(self, message: BackgroundTasksChangedMessage) -> Changed:
        """Let exactly these tasks run in the background."""
        live = {item.task_id: item for item in message.tasks}
        gone = [self._tasks.get(id) for id in (self._in_background | self._listed) - live.keys()]
        ended = [task for task in gone if task is not None and task.running and task.reported]
        ended.sort(key=lambda task: task.started)
        changed = [self._end(task, ENDED) for task in ended]
        changed += [self._list(item, message) for item in islice(live.values(), LISTED)]
        self._listed = set(live)
        return changed

    def _list(self, item: Listed, message: BackgroundTasksChangedMessage) -> BackgroundTask:
        task = self._begin(
            item.task_id,
            kind=item.task_type,
            subagent_type=item.subagent_type,
            description=item.description,
            parent=item.parent_task_id,
            ambient=item.ambient,
            run=item.run_id,
            background=True,
            reported=True,
            last=message,
        )
        if not task.running:
            task = self._put(replace(task, status="running", ended=None))
        return task

    def _tool_progress(self, message: ToolProgressMessage) -> Changed:
        retry = message.subagent_retry
        task = self.get((retry and retry.agent_id) or message.task_id or message.tool_use_id)
        if task is None or not task.running or task.retry == retry:
            return ()
        return (self._put(replace(task, retry=retry, last=message)),)

    # --- what the conversation shows -------------------------------------------------------------

    def _assistant(self, message: AssistantMessage) -> Changed:
        changed = self._speaker(message)
        for block in message.content:
            if type(block) is ToolUseBlock:
                if message.parent_tool_use_id is not None:
                    self._remember_caller(block.id, message.parent_tool_use_id)
                if block.name in AGENT_TOOLS and self.get(block.id) is None:
                    changed.append(self._call(block, message))
        return changed

    def _speaker(self, message: AssistantMessage) -> list[BackgroundTask]:
        """Know the subagent that says something, even if its beginning was never seen."""
        agent = message.parent_tool_use_id
        if agent is None:
            return []
        known = self.get(agent)
        if known is not None:
            waits = known.running and known.status == "pending"
            return [self._set(known, status="running", last=message)] if waits else []
        return [
            self._begin(
                message.agent_id or agent,
                agent,
                kind="local_agent",
                subagent_type=message.subagent_type or DEFAULT_AGENT,
                description=message.task_description,
                last=message,
            )
        ]

    def _remember_caller(self, tool_use_id: str, agent: str) -> None:
        self._callers[tool_use_id] = agent
        if len(self._callers) > CALLS:
            del self._callers[next(iter(self._callers))]

    def _call(self, block: ToolUseBlock, message: AssistantMessage) -> BackgroundTask:
        """Note that a subagent is about to start."""
        asked = block.input.get("run_in_background")
        return self._begin(
            block.id,
            block.id,
            kind="local_agent",
            subagent_type=str(block.input.get("subagent_type") or DEFAULT_AGENT),
            description=str(block.input.get("description") or ""),
            background=asked if isinstance(asked, bool) else None,
            status="pending",
            last=message,
        )

    def _user(self, message: UserMessage) -> Changed:
        content = message.content
        if isinstance(content, str):
            return ()
        results = [block for block in content if type(block) is ToolResultBlock]
        changed: list[BackgroundTask] = []
        for block in results:
            output = message.tool_use_result if len(results) == 1 else None
            changed += self._result(block, output, message)
        return changed

    def _result(self, block: ToolResultBlock, output: Any, message: UserMessage) -> Changed:
        launched = _launched_by(output)
        if launched is not None:
            # The call is over, and what it has started is not.
            id, kind = launched
            task = self._begin(id, block.tool_use_id, kind=kind, background=True, last=message)
            return (self._set(task, status="running") if task.running else task,)
        called = self.get(block.tool_use_id)
        if called is None or not called.running or (called.background and called.reported):
            return ()
        return (self._end(called, "failed" if block.is_error else "completed", last=message),)

    def _over(self, message: ResultMessage) -> Changed:
        """End the tasks that a turn was waiting for, with the turn."""
        goes_on = {task.id for task in self.running if _goes_on_alone(task)}
        for id in list(goes_on):
            self._add_children(id, goes_on)
        return [self._end(task, ENDED) for task in self.running if task.id not in goes_on]

    def _add_children(self, id: str, found: set[str]) -> None:
        """Add all that a task has started, and what that has started, as far as it runs."""
        unseen = [id]
        while unseen:
            for child in self._children.get(unseen.pop(), ()):
                if child not in found and self._tasks[child].running:
                    found.add(child)
                    unseen.append(child)

    def _state_changed(self, message: SessionStateChangedMessage) -> Changed:
        self.state = message.state
        return ()


def _goes_on_alone(task: BackgroundTask) -> bool:
    """Whether the conversation goes on without a task, as far as the task itself shows."""
    return bool(task.background) or (task.background is None and task.reported)


def _choose(chosen: set[str], id: str, wanted: bool) -> None:
    if wanted:
        chosen.add(id)
    else:
        chosen.discard(id)


def _launched_by(output: Any) -> tuple[str, str] | None:
    """Return the id and the kind of a task that a tool call has started in the background."""
    if not isinstance(output, dict):
        return None
    shell, agent = output.get("backgroundTaskId"), output.get("agentId")
    if isinstance(shell, str):
        return shell, "local_bash"
    if isinstance(agent, str) and output.get("status") == "async_launched":
        return agent, "local_agent"
    return None


_HANDLERS: dict[type[Message], Callable[[TaskTracker, Any], Changed]] = {
    BackgroundTasksChangedMessage: TaskTracker._tasks_changed,
    TaskStartedMessage: TaskTracker._started,
    TaskProgressMessage: TaskTracker._progressed,
    TaskUpdatedMessage: TaskTracker._updated,
    TaskNotificationMessage: TaskTracker._notified,
    ToolProgressMessage: TaskTracker._tool_progress,
    SessionStateChangedMessage: TaskTracker._state_changed,
    AssistantMessage: TaskTracker._assistant,
    UserMessage: TaskTracker._user,
    ResultMessage: TaskTracker._over,
}
