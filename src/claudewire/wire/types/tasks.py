"""System messages about work beside the conversation: tasks and hooks."""

from __future__ import annotations

from typing import Any

from .base import Number, Record
from .messages import SystemMessage, always

__all__ = [
    "BackgroundTask",
    "BackgroundTasksChangedMessage",
    "HookEventMessage",
    "HookProgressMessage",
    "HookResponseMessage",
    "HookStartedMessage",
    "McpResourceLink",
    "TaskNotificationMessage",
    "TaskPatch",
    "TaskProgressMessage",
    "TaskStartedMessage",
    "TaskUpdatedMessage",
    "TaskUsage",
]


class TaskUsage(Record):
    """What a task has used so far."""

    total_tokens: int | None = None
    tool_uses: int | None = None
    duration_ms: Number | None = None


class TaskStartedMessage(SystemMessage, kw_only=True):
    """A shell command, subagent, workflow or the like now runs on its own."""

    subtype: str = always("task_started")
    task_id: str
    run_id: str | None = None
    """One run of the task; a task that is resumed runs again."""
    tool_use_id: str | None = None
    description: str | None = None
    subagent_type: str | None = None
    is_backgrounded: bool | None = None
    spawn_depth: int | None = None
    parent_task_id: str | None = None
    task_type: str | None = None
    workflow_name: str | None = None
    prompt: str | None = None
    skip_transcript: bool | None = None
    ambient: bool | None = None
    """True: it does not count as activity."""


class TaskProgressMessage(SystemMessage, kw_only=True):
    """A task is getting on."""

    subtype: str = always("task_progress")
    task_id: str
    run_id: str | None = None
    tool_use_id: str | None = None
    description: str | None = None
    subagent_type: str | None = None
    usage: TaskUsage | None = None
    last_tool_name: str | None = None
    summary: str | None = None


class TaskPatch(Record):
    """What has changed about a task; None: unchanged."""

    status: str | None = None
    """`pending`, `running`, `completed`, `failed`, `killed` or `paused`."""
    description: str | None = None
    end_time: Number | None = None
    total_paused_ms: Number | None = None
    error: str | None = None
    is_backgrounded: bool | None = None


class TaskUpdatedMessage(SystemMessage, kw_only=True):
    """Something about a task has changed. For some tasks, this alone tells that they ended."""

    subtype: str = always("task_updated")
    task_id: str
    run_id: str | None = None
    patch: TaskPatch | None = None

    @property
    def status(self) -> str | None:
        """What has become of the task; None if that has not changed."""
        return self.patch.status if self.patch else None


class McpResourceLink(Record, rename="camel"):
    """Something that an MCP server offers to be read."""

    uri: str
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: Number | None = None
    annotations: dict[str, Any] | None = None


class TaskNotificationMessage(SystemMessage, kw_only=True):
    """A task ended."""

    subtype: str = always("task_notification")
    task_id: str
    run_id: str | None = None
    tool_use_id: str | None = None
    status: str | None = None
    """`completed`, `failed` or `stopped`."""
    reason: str | None = None
    output_file: str | None = None
    summary: str | None = None
    usage: TaskUsage | None = None
    resource_links: list[McpResourceLink] | None = None
    skip_transcript: bool | None = None
    ambient: bool | None = None


class BackgroundTask(Record):
    """A task that runs in the background."""

    task_id: str
    run_id: str | None = None
    task_type: str | None = None
    subagent_type: str | None = None
    description: str | None = None
    parent_task_id: str | None = None
    ambient: bool | None = None


class BackgroundTasksChangedMessage(SystemMessage, kw_only=True):
    """All the tasks that now run in the background."""

    subtype: str = always("background_tasks_changed")
    tasks: list[BackgroundTask]


class HookEventMessage(SystemMessage, kw_only=True):
    """A hook from the settings runs. Hooks of the client's own are not reported here."""

    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None

    @property
    def hook_event_name(self) -> str:
        """What the hook was called for."""
        return self.hook_event or self.hook_name or ""


class HookStartedMessage(HookEventMessage, kw_only=True):
    """A hook was started."""

    subtype: str = always("hook_started")


class HookProgressMessage(HookEventMessage, kw_only=True):
    """What a hook has printed so far."""

    subtype: str = always("hook_progress")
    stdout: str | None = None
    stderr: str | None = None
    output: str | None = None


class HookResponseMessage(HookEventMessage, kw_only=True):
    """A hook ended."""

    subtype: str = always("hook_response")
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    outcome: str | None = None
    """`success`, `error` or `cancelled`."""
