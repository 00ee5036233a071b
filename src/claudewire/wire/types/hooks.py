"""The input of hooks, one record for each event, and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import msgspec

from .base import UNKNOWN, Number, Record, Unknown, leaves, nullable
from .permissions import McpServerProvenance, PermissionResult, PermissionUpdate


class HookEffort(Record):
    """The effort of the model."""

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
    """A scheduled prompt."""

    id: str
    schedule: str | None = None
    recurring: bool | None = None
    prompt: str | None = None


class HookMatcher(Record, rename="camel"):
    """Which callbacks to call for an event, and for which tools (`*` or none: for all)."""

    hook_callback_ids: list[str]
    matcher: str | None = None
    timeout: Number | None = None
    """In seconds. A hook that takes longer denies the tool."""
    on_failure: str | None = None
    """The effect of a failing hook on the tool: continue (the default) or block."""


class BaseHookInput(Record, kw_only=True, tag_field="hook_event_name"):
    """The session and the agent of an event."""

    session_id: str | None = None
    transcript_path: str | None = None
    cwd: str | None = None
    prompt_id: str | None = None
    permission_mode: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    effort: HookEffort | None = None


class _ToolHookInput(BaseHookInput):
    """A tool call."""

    tool_name: str
    tool_input: Any
    tool_use_id: str | None = None
    mcp_server: McpServerProvenance | None = None


class _ModelSwitchHookInput(BaseHookInput):
    """A change of the model, and its cost."""

    from_model: str
    to_model: str
    requested_model: str | None = nullable()
    source: str | None = None
    """command, picker, sdk; after the switch also auto and resume."""
    context_tokens: int | None = None
    prompt_cache_warm: bool | None = None
    cache_ttl: str | None = None
    """5m or 1h."""
    estimated_cache_write_usd: float | None = None
    pricing: str | None = None
    """configured, catalog or default."""


class _TaskHookInput(BaseHookInput):
    """An entry of the task list, and its owner."""

    task_id: str
    task_subject: str | None = None
    task_description: str | None = None
    teammate_name: str | None = None
    team_name: str | None = None


class PreToolUseHookInput(_ToolHookInput, tag="PreToolUse"):
    """A tool is about to be used."""


class PostToolUseHookInput(_ToolHookInput, tag="PostToolUse"):
    """A tool has been used."""

    tool_response: Any = nullable()
    duration_ms: Number | None = None


class PostToolUseFailureHookInput(_ToolHookInput, tag="PostToolUseFailure"):
    """A tool has failed."""

    error: str | None = None
    is_interrupt: bool | None = None
    duration_ms: Number | None = None


class PostToolBatchHookInput(BaseHookInput, tag="PostToolBatch"):
    """All tools that the model asked for at once have been used."""

    tool_calls: list[PostToolBatchToolCall]


class NotificationHookInput(BaseHookInput, tag="Notification"):
    """The user gets a notification."""

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
    """A command in a prompt is about to be expanded."""

    command_name: str
    expansion_type: str | None = None
    """slash_command or mcp_prompt."""
    command_args: str | None = None
    command_source: str | None = None
    prompt: str | None = None


class SessionStartHookInput(BaseHookInput, tag="SessionStart"):
    """A session begins, or goes on after a break."""

    source: str | None = None
    """startup, resume, clear, compact or fork."""
    model: str | None = None
    session_title: str | None = None
    seconds_since_last_response: Number | None = None
    context_tokens: int | None = None
    prompt_cache_likely_expired: bool | None = None
    estimated_cache_write_usd: float | None = None


class SessionEndHookInput(BaseHookInput, tag="SessionEnd"):
    """A session ends."""

    reason: str | None = None
    """clear, resume, logout, prompt_input_exit or other."""


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


class PreCompactHookInput(BaseHookInput, tag="PreCompact"):
    """The conversation is about to be summarised."""

    trigger: str | None = None
    """manual or auto."""
    custom_instructions: str | None = nullable()


class PostCompactHookInput(BaseHookInput, tag="PostCompact"):
    """The conversation has been summarised."""

    trigger: str | None = None
    """manual or auto."""
    compact_summary: str | None = None


class PreModelSwitchHookInput(_ModelSwitchHookInput, tag="PreModelSwitch"):
    """The model is about to change."""


class PostModelSwitchHookInput(_ModelSwitchHookInput, tag="PostModelSwitch"):
    """The model has changed."""


class PermissionRequestHookInput(_ToolHookInput, tag="PermissionRequest"):
    """The user is about to be asked whether a tool may run."""

    permission_suggestions: list[PermissionUpdate] | None = None


class PermissionDeniedHookInput(_ToolHookInput, tag="PermissionDenied"):
    """A tool call was denied."""

    reason: str | None = None


class SetupHookInput(BaseHookInput, tag="Setup"):
    """The project is set up."""

    trigger: str | None = None
    """init or maintenance."""


class TeammateIdleHookInput(BaseHookInput, tag="TeammateIdle"):
    """A teammate has nothing to do."""

    teammate_name: str
    team_name: str | None = None


class TaskCreatedHookInput(_TaskHookInput, tag="TaskCreated"):
    """A task has been put on the list."""


class TaskCompletedHookInput(_TaskHookInput, tag="TaskCompleted"):
    """A task is about to be marked as done."""


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


class ConfigChangeHookInput(BaseHookInput, tag="ConfigChange"):
    """Settings have changed while the session runs."""

    source: str
    """user_settings, project_settings, local_settings, policy_settings or skills."""
    file_path: str | None = None


class WorktreeCreateHookInput(BaseHookInput, tag="WorktreeCreate"):
    """A worktree of that name is wanted; the hook creates it."""

    name: str


class WorktreeRemoveHookInput(BaseHookInput, tag="WorktreeRemove"):
    """A worktree is no longer wanted."""

    worktree_path: str


class InstructionsLoadedHookInput(BaseHookInput, tag="InstructionsLoaded"):
    """A file of instructions has been read."""

    file_path: str
    memory_type: str | None = None
    """User, Project, Local or Managed."""
    load_reason: str | None = None
    """session_start, nested_traversal, path_glob_match, include or compact."""
    globs: list[str] | None = None
    trigger_file_path: str | None = None
    parent_file_path: str | None = None


class CwdChangedHookInput(BaseHookInput, tag="CwdChanged"):
    """The session works in another directory."""

    old_cwd: str
    new_cwd: str


class FileChangedHookInput(BaseHookInput, tag="FileChanged"):
    """A watched file has changed."""

    file_path: str
    event: str | None = None
    """change, add or unlink."""


class DirectoryAddedHookInput(BaseHookInput, tag="DirectoryAdded"):
    """Tools may work in one more directory."""

    directory: str
    source: str | None = None
    """slash_command or register_repo_root."""


class MessageDisplayHookInput(BaseHookInput, tag="MessageDisplay"):
    """A piece of the model's text is about to be shown."""

    delta: str
    turn_id: str | None = None
    message_id: str | None = None
    index: int | None = None
    final: bool | None = None


class UnknownHookInput(Unknown, BaseHookInput, tag=UNKNOWN):
    """An event that this version does not know."""

    raw: dict[str, Any]


if TYPE_CHECKING:
    HookInput = BaseHookInput
else:
    HookInput = Union[tuple(leaves(BaseHookInput))]  # noqa: UP007

HOOK_EVENTS: tuple[str, ...] = tuple(
    str(kind.__struct_config__.tag)
    for kind in leaves(BaseHookInput)
    if kind is not UnknownHookInput
)
"""The names of all events."""


# --- answers -------------------------------------------------------------------------------------


class _Output(Record, tag_field="hookEventName", rename="camel"):
    """The part of an answer that belongs to one event."""


class _Context(_Output):
    """Text for the model."""

    additional_context: str | None = None


class PreToolUseHookSpecificOutput(_Context, tag="PreToolUse"):
    """The decision about the tool, and perhaps another input."""

    permission_decision: str | None = None
    """allow, deny, ask or defer."""
    permission_decision_reason: str | None = None
    updated_input: dict[str, Any] | None = None


class PostToolUseHookSpecificOutput(_Context, tag="PostToolUse"):
    """Text for the model in place of, or beside, the tool's output."""

    classifier_context: str | None = None
    updated_tool_output: Any = None
    updated_mcp_tool_output: Any = msgspec.field(name="updatedMCPToolOutput", default=None)


class PostToolUseFailureHookSpecificOutput(_Context, tag="PostToolUseFailure"):
    """Text for the model beside the tool's error."""


class PostToolBatchHookSpecificOutput(_Context, tag="PostToolBatch"):
    """Text for the model beside the outputs of the tools."""


class NotificationHookSpecificOutput(_Context, tag="Notification"):
    """Text for the model about the notification."""


class UserPromptSubmitHookSpecificOutput(_Context, tag="UserPromptSubmit"):
    """Text for the model beside, or in place of, the prompt."""

    session_title: str | None = None
    suppress_original_prompt: bool | None = None


class UserPromptExpansionHookSpecificOutput(_Context, tag="UserPromptExpansion"):
    """Text for the model beside, or in place of, the expanded command."""

    suppress_original_prompt: bool | None = None


class SessionStartHookSpecificOutput(_Context, tag="SessionStart"):
    """Text, title and watched files of a session that starts."""

    initial_user_message: str | None = None
    session_title: str | None = None
    watch_paths: list[str] | None = None
    reload_skills: bool | None = None


class StopHookSpecificOutput(_Context, tag="Stop"):
    """Text for the model at the end of its turn."""


class SubagentStartHookSpecificOutput(_Context, tag="SubagentStart"):
    """Text for the subagent beside its prompt."""


class SubagentStopHookSpecificOutput(_Context, tag="SubagentStop"):
    """Text for the subagent at its end."""


class PreModelSwitchHookSpecificOutput(_Output, tag="PreModelSwitch"):
    """The decision about the change of the model."""

    permission_decision: str | None = None
    """allow, deny or ask."""
    permission_decision_reason: str | None = None


class PostModelSwitchHookSpecificOutput(_Context, tag="PostModelSwitch"):
    """Text for the new model."""


class PermissionRequestHookSpecificOutput(_Output, tag="PermissionRequest"):
    """The decision in place of the user's."""

    decision: PermissionResult


class PermissionDeniedHookSpecificOutput(_Output, tag="PermissionDenied"):
    """Whether the model may try the tool again."""

    retry: bool | None = None


class SetupHookSpecificOutput(_Context, tag="Setup"):
    """Text for the model about the setup."""


class ElicitationHookSpecificOutput(_Output, tag="Elicitation"):
    """The answer to an MCP server in place of the user's."""

    action: str | None = None
    """accept, decline or cancel."""
    content: dict[str, Any] | None = None


class ElicitationResultHookSpecificOutput(_Output, tag="ElicitationResult"):
    """The answer to an MCP server, changed before it is sent."""

    action: str | None = None
    """accept, decline or cancel."""
    content: dict[str, Any] | None = None


class WorktreeCreateHookSpecificOutput(_Output, tag="WorktreeCreate"):
    """Where the hook has made the worktree."""

    worktree_path: str


class CwdChangedHookSpecificOutput(_Output, tag="CwdChanged"):
    """The files to watch from now on."""

    watch_paths: list[str] | None = None


class FileChangedHookSpecificOutput(_Output, tag="FileChanged"):
    """The files to watch from now on."""

    watch_paths: list[str] | None = None


class MessageDisplayHookSpecificOutput(_Output, tag="MessageDisplay"):
    """The text to show instead."""

    display_content: str | None = None


class UnknownHookSpecificOutput(Unknown, _Output, tag=UNKNOWN):
    """The output for an event that this version does not know."""

    raw: dict[str, Any]


if TYPE_CHECKING:
    HookSpecificOutput = _Output
else:
    HookSpecificOutput = Union[tuple(leaves(_Output))]  # noqa: UP007


class HookOutput(Record, rename="camel"):
    """The answer of a hook; an empty one changes nothing.

    With `async_` the CLI goes on at once and ignores the other fields.
    """

    continue_: bool | None = msgspec.field(name="continue", default=None)
    decision: str | None = None
    """approve or block."""
    reason: str | None = None
    stop_reason: str | None = None
    system_message: str | None = None
    suppress_output: bool | None = None
    terminal_sequence: str | None = None
    hook_specific_output: HookSpecificOutput | None = None
    async_: bool | None = msgspec.field(name="async", default=None)
    async_timeout: Number | None = None
