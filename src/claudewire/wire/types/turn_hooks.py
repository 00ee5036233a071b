"""What a hook is told about a turn: prompts, tools, permissions, and how it ends."""

from __future__ import annotations

from typing import Any

from .base import Number, Record, nullable
from .permissions import McpServerProvenance, PermissionUpdate

__all__ = [
    "BackgroundTaskSummary",
    "BaseHookInput",
    "ElicitationHookInput",
    "ElicitationResultHookInput",
    "HookEffort",
    "MessageDisplayHookInput",
    "NotificationHookInput",
    "PermissionDeniedHookInput",
    "PermissionRequestHookInput",
    "PostToolBatchHookInput",
    "PostToolBatchToolCall",
    "PostToolUseFailureHookInput",
    "PostToolUseHookInput",
    "PreToolUseHookInput",
    "SessionCronSummary",
    "StopFailureHookInput",
    "StopHookInput",
    "SubagentStartHookInput",
    "SubagentStopHookInput",
    "UserPromptExpansionHookInput",
    "UserPromptSubmitHookInput",
]


class HookEffort(Record):
    """How hard the model thinks."""

    level: str | None = None


class PostToolBatchToolCall(Record):
    """One of the tool calls of a batch."""

    tool_name: str
    tool_input: Any = nullable()
    tool_use_id: str | None = None
    tool_response: Any = None


class BackgroundTaskSummary(Record):
    """A task that is still running."""

    id: str
    type: str | None = None
    status: str | None = None
    description: str | None = None
    command: str | None = None
    agent_type: str | None = None
    server: str | None = None
    tool: str | None = None
    name: str | None = None


class SessionCronSummary(Record):
    """A prompt that is to come by the clock."""

    id: str
    schedule: str | None = None
    recurring: bool | None = None
    prompt: str | None = None


class BaseHookInput(Record, kw_only=True, tag_field="hook_event_name"):
    """Where it happened: in which session, and in which of its agents."""

    session_id: str | None = None
    transcript_path: str | None = None
    cwd: str | None = None
    prompt_id: str | None = None
    permission_mode: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    effort: HookEffort | None = None


class PreToolUseHookInput(BaseHookInput, tag="PreToolUse"):
    """A tool is about to be used."""

    tool_name: str
    tool_input: Any
    tool_use_id: str | None = None
    mcp_server: McpServerProvenance | None = None


class PostToolUseHookInput(BaseHookInput, tag="PostToolUse"):
    """A tool has been used."""

    tool_name: str
    tool_input: Any
    tool_response: Any = nullable()
    tool_use_id: str | None = None
    duration_ms: Number | None = None
    mcp_server: McpServerProvenance | None = None


class PostToolUseFailureHookInput(BaseHookInput, tag="PostToolUseFailure"):
    """A tool has failed."""

    tool_name: str
    tool_input: Any
    error: str | None = None
    tool_use_id: str | None = None
    is_interrupt: bool | None = None
    duration_ms: Number | None = None
    mcp_server: McpServerProvenance | None = None


class PostToolBatchHookInput(BaseHookInput, tag="PostToolBatch"):
    """All tools that the model asked for at once have been used."""

    tool_calls: list[PostToolBatchToolCall]


class NotificationHookInput(BaseHookInput, tag="Notification"):
    """The user is to be told something."""

    message: str
    title: str | None = None
    notification_type: str | None = None


class UserPromptSubmitHookInput(BaseHookInput, tag="UserPromptSubmit"):
    """A prompt is about to reach the model."""

    prompt: str
    source: str | None = None
    """user, sdk, system, loop_wakeup, schedule_wakeup or poll_event."""
    session_title: str | None = None


class UserPromptExpansionHookInput(BaseHookInput, tag="UserPromptExpansion"):
    """A command in a prompt is about to be replaced by what it stands for."""

    command_name: str
    expansion_type: str | None = None
    """slash_command or mcp_prompt."""
    command_args: str | None = None
    command_source: str | None = None
    prompt: str | None = None


class StopHookInput(BaseHookInput, tag="Stop"):
    """The model is about to end its turn; `stop_hook_active` if a hook has kept it going before."""

    stop_hook_active: bool | None = None
    last_assistant_message: str | None = None
    background_tasks: list[BackgroundTaskSummary] | None = None
    session_crons: list[SessionCronSummary] | None = None


class StopFailureHookInput(BaseHookInput, tag="StopFailure"):
    """A turn ends with an error of the API."""

    error: str | None = None
    error_details: str | None = None
    last_assistant_message: str | None = None


class SubagentStartHookInput(BaseHookInput, tag="SubagentStart"):
    """A subagent begins; `agent_id` and `agent_type` say which."""


class SubagentStopHookInput(BaseHookInput, tag="SubagentStop"):
    """A subagent is about to end; `agent_id` and `agent_type` say which."""

    stop_hook_active: bool | None = None
    agent_transcript_path: str | None = None
    last_assistant_message: str | None = None
    background_tasks: list[BackgroundTaskSummary] | None = None
    session_crons: list[SessionCronSummary] | None = None


class PermissionRequestHookInput(BaseHookInput, tag="PermissionRequest"):
    """Somebody is about to be asked whether a tool may run."""

    tool_name: str
    tool_input: Any
    permission_suggestions: list[PermissionUpdate] | None = None
    mcp_server: McpServerProvenance | None = None


class PermissionDeniedHookInput(BaseHookInput, tag="PermissionDenied"):
    """A tool may not run."""

    tool_name: str
    tool_input: Any
    tool_use_id: str | None = None
    reason: str | None = None
    mcp_server: McpServerProvenance | None = None


class ElicitationHookInput(BaseHookInput, tag="Elicitation"):
    """An MCP server asks the user something."""

    mcp_server_name: str
    message: str | None = None
    mode: str | None = None
    """form or url."""
    url: str | None = None
    elicitation_id: str | None = None
    requested_schema: dict[str, Any] | None = None


class ElicitationResultHookInput(BaseHookInput, tag="ElicitationResult"):
    """The user has answered an MCP server."""

    mcp_server_name: str
    action: str
    """accept, decline or cancel."""
    content: dict[str, Any] | None = None
    mode: str | None = None
    """form or url."""
    elicitation_id: str | None = None


class MessageDisplayHookInput(BaseHookInput, tag="MessageDisplay"):
    """A piece of the model's text is about to be shown."""

    delta: str
    turn_id: str | None = None
    message_id: str | None = None
    index: int | None = None
    final: bool | None = None
