"""System messages about the session, its tasks and its hooks: one class for each `subtype`."""

from __future__ import annotations

from typing import Any

import msgspec

from .base import Number, Record, leaves, nullable
from .messages import SystemMessage, UnknownSystemMessage


class InitMcpServer(Record):
    """An MCP server of the session."""

    name: str
    status: str | None = None
    """`connected`, `failed`, `needs-auth`, `pending` or `disabled`."""
    source: str | None = None


class InitPlugin(Record):
    """A plugin of the session."""

    name: str
    path: str | None = None
    version: str | None = None
    source: str | None = None


class InitPluginError(Record):
    """The reason why a plugin was not loaded."""

    plugin: str
    kind: str | None = msgspec.field(name="type", default=None)
    message: str | None = None
    path: str | None = None
    managed_lock: Any = None


class InitMessage(SystemMessage, tag="init", kw_only=True):
    """The session at the start of a turn; the newest holds."""

    cwd: str | None = None
    original_cwd: str | None = None
    additional_directories: list[str] | None = None
    memory_paths: dict[str, str] | None = None
    model: str | None = None
    permission_mode: str | None = msgspec.field(name="permissionMode", default=None)
    """`default`, `acceptEdits`, `bypassPermissions`, `plan`, `dontAsk` or `auto`."""
    tools: list[str] | None = None
    tool_descriptions: dict[str, str] | None = None
    """Descriptions by tool. Real CLIs leave them out."""
    mcp_servers: list[InitMcpServer] | None = None
    slash_commands: list[str] | None = None
    terminal_slash_commands: list[str] | None = None
    agents: list[str] | None = None
    skills: list[str] | None = None
    plugins: list[InitPlugin] | None = None
    plugin_errors: list[InitPluginError] | None = None
    api_key_source: str | None = msgspec.field(name="apiKeySource", default=None)
    claude_code_version: str | None = None
    output_style: str | None = None
    betas: list[str] | None = None
    fast_mode_state: str | None = None
    """`off`, `cooldown` or `on`."""
    fast_mode_disabled_reason: str | None = None
    effort: str | None = None
    """`low`, `medium`, `high`, `xhigh` or `max`."""
    view_mode: str | None = None
    capabilities: list[str] | None = None
    """Names of features that the version does not tell."""
    analytics_disabled: bool | None = None
    product_feedback_disabled: bool | None = None
    messaging_socket_path: str | None = None
    per_turn_effort_active: bool | None = None
    ultrathink_available: bool | None = None
    ultrathink_typed_raises: bool | None = None
    user_message_uuids: list[str] | None = None
    """The user messages that the turn begins with."""


class SlashCommand(Record, rename="camel"):
    """A command that a prompt may begin with."""

    name: str
    description: str | None = None
    argument_hint: str | None = None
    aliases: list[str] | None = None
    builtin: bool | None = None


class CommandsChangedMessage(SystemMessage, tag="commands_changed", kw_only=True):
    """All current slash commands."""

    commands: list[SlashCommand]


class PluginInstallMessage(SystemMessage, tag="plugin_install", kw_only=True):
    """The progress of installing plugins."""

    status: str
    """`started`, `installed`, `failed` or `completed`."""
    name: str | None = None
    error: str | None = None


class SessionStateChangedMessage(SystemMessage, tag="session_state_changed", kw_only=True):
    """The state of the session: working, waiting for a person, or idle."""

    state: str
    """`running`, `requires_action` or `idle`."""
    sdk_host_only: bool | None = None


class StatusMessage(SystemMessage, tag="status", kw_only=True):
    """The activity of the CLI, or a change of the permission mode."""

    status: str | None = nullable()
    """`compacting`, `requesting`, or None when that is over."""
    permission_mode: str | None = msgspec.field(name="permissionMode", default=None)
    compact_result: str | None = None
    """`success` or `failed`."""
    compact_error: str | None = None
    user_message_uuids: list[str] | None = None


class ThinkingTokensMessage(SystemMessage, tag="thinking_tokens", kw_only=True):
    """An estimate of the model's thinking."""

    estimated_tokens: int | None = None
    estimated_tokens_delta: int | None = None
    user_message_uuid: str | None = None


class PreservedSegment(Record):
    """The stretch of messages that compaction kept, by uuid."""

    head_uuid: str | None = None
    anchor_uuid: str | None = None
    tail_uuid: str | None = None


class PreservedMessages(Record):
    """The messages that compaction kept, by uuid."""

    anchor_uuid: str | None = None
    uuids: list[str] | None = None


class CompactMetadata(Record):
    """The effect of compaction."""

    trigger: str | None = None
    """`manual` or `auto`."""
    pre_tokens: int | None = None
    post_tokens: int | None = None
    duration_ms: Number | None = None
    preserved_segment: PreservedSegment | None = None
    preserved_messages: PreservedMessages | None = None


class CompactBoundaryMessage(SystemMessage, tag="compact_boundary", kw_only=True):
    """A summary has replaced the messages before this one."""

    compact_metadata: CompactMetadata | None = None
    logical_parent_uuid: str | None = None


class ControlRequestProgressMessage(SystemMessage, tag="control_request_progress", kw_only=True):
    """A control request of the client is being worked on."""

    request_id: str
    status: str | None = None
    """`started` or `api_retry`."""
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: Number | None = None
    error_status: int | None = None


class WorkerShuttingDownMessage(SystemMessage, tag="worker_shutting_down", kw_only=True):
    """The process that serves a remote session is about to end."""

    reason: str | None = None


class InformationalMessage(SystemMessage, tag="informational", kw_only=True):
    """A line of text for the user."""

    content: str
    level: str | None = None
    """`info`, `notice`, `suggestion` or `warning`."""
    tool_use_id: str | None = None
    prevent_continuation: bool | None = None
    """True: the turn ends here."""
    tag: str | None = None
    prompt_submit_outcome: Any = None
    """The decision of a hook about a prompt."""


class NotificationMessage(SystemMessage, tag="notification", kw_only=True):
    """A text to show for a while."""

    key: str | None = None
    text: str
    priority: str | None = None
    """`low`, `medium`, `high` or `immediate`."""
    color: str | None = None
    timeout_ms: Number | None = None


class LocalCommandOutputMessage(SystemMessage, tag="local_command_output", kw_only=True):
    """The output of a slash command that needed no model."""

    content: str


class Memory(Record):
    """Something remembered from earlier sessions."""

    path: str
    scope: str | None = None
    """`personal`, `team` or `organization`."""
    content: str | None = None


class MemoryRecallMessage(SystemMessage, tag="memory_recall", kw_only=True):
    """Memories given to the model."""

    mode: str | None = None
    """`select` or `synthesize`."""
    memories: list[Memory] | None = None


class PersistedFile(Record):
    """A file that was uploaded."""

    filename: str
    file_id: str | None = None


class FailedFile(Record):
    """A file that was not uploaded, and why."""

    filename: str
    error: str | None = None


class FilesPersistedMessage(SystemMessage, tag="files_persisted", kw_only=True):
    """Files have been uploaded."""

    files: list[PersistedFile] | None = None
    failed: list[FailedFile] | None = None
    processed_at: str | None = None


class ElicitationCompleteMessage(SystemMessage, tag="elicitation_complete", kw_only=True):
    """The user has finished a task in the browser for an MCP server."""

    mcp_server_name: str | None = None
    elicitation_id: str | None = None


class NoResponse(Record):
    """The silence of the API."""

    waited_ms: Number | None = None
    retry_wait_ms: Number | None = None


class APIRetryMessage(SystemMessage, tag="api_retry", kw_only=True):
    """The API failed in a way that may pass; the CLI will ask again."""

    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: Number | None = None
    error_status: int | None = nullable()
    """The HTTP status; None if there was no answer at all."""
    error: str | None = None
    no_response: NoResponse | None = None


class ModelRefusalFallbackMessage(SystemMessage, tag="model_refusal_fallback", kw_only=True):
    """The model declined; another one takes over."""

    trigger: str | None = None
    direction: str | None = None
    """`retry`, `revert` or `sticky`."""
    scope: str | None = None
    """`session` or `local`."""
    original_model: str | None = None
    fallback_model: str | None = None
    request_id: str | None = nullable()
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    retracted_message_uuids: list[str] | None = None
    """Lines that are to be forgotten."""
    refused_user_message_uuid: str | None = None
    content: str | None = None


class ModelRefusalNoFallbackMessage(SystemMessage, tag="model_refusal_no_fallback", kw_only=True):
    """The model declined; no other one takes over."""

    original_model: str | None = None
    request_id: str | None = nullable()
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    refused_user_message_uuid: str | None = None
    content: str | None = None


class PermissionDeniedMessage(SystemMessage, tag="permission_denied", kw_only=True):
    """A tool call was denied without asking the host."""

    tool_name: str
    tool_use_id: str | None = None
    agent_id: str | None = None
    decision_reason_type: str | None = None
    decision_reason: str | None = None
    message: str | None = None
    """The text for the model."""


class SessionKey(Record, rename="camel"):
    """Where a transcript is kept."""

    project_key: str
    session_id: str
    subpath: str | None = None


class MirrorErrorMessage(SystemMessage, tag="mirror_error", kw_only=True):
    """A part of the transcript could not be copied. Clients write this, not the CLI."""

    error: str | None = None
    key: SessionKey | None = None


class SessionWritesLostMessage(SystemMessage, tag="session_writes_lost", kw_only=True):
    """The disk is full, and a part of the transcript is lost."""

    error_code: str | None = None
    lost: list[str] | None = None
    """`transcript`, `global_config`."""
    transcript_session_ids: list[str] | None = None


class SystemErrorMessage(SystemMessage, tag="error", kw_only=True):
    """An error, as a few CLIs report it."""

    error: Any = None
    message: str | None = None
    content: str | None = None


class TaskUsage(Record):
    """The usage of a task so far."""

    total_tokens: int | None = None
    tool_uses: int | None = None
    duration_ms: Number | None = None


class TaskStartedMessage(SystemMessage, tag="task_started", kw_only=True):
    """A shell command, subagent, workflow or the like now runs on its own."""

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


class TaskProgressMessage(SystemMessage, tag="task_progress", kw_only=True):
    """The progress of a task."""

    task_id: str
    run_id: str | None = None
    tool_use_id: str | None = None
    description: str | None = None
    subagent_type: str | None = None
    usage: TaskUsage | None = None
    last_tool_name: str | None = None
    summary: str | None = None


class TaskPatch(Record):
    """The changed fields of a task; None: unchanged."""

    status: str | None = None
    """`pending`, `running`, `completed`, `failed`, `killed` or `paused`."""
    description: str | None = None
    end_time: Number | None = None
    total_paused_ms: Number | None = None
    error: str | None = None
    is_backgrounded: bool | None = None


class TaskUpdatedMessage(SystemMessage, tag="task_updated", kw_only=True):
    """A task has changed. For some tasks, only this reports the end."""

    task_id: str
    run_id: str | None = None
    patch: TaskPatch | None = None


class McpResourceLink(Record, rename="camel"):
    """Something that an MCP server offers to be read."""

    uri: str
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: Number | None = None
    annotations: dict[str, Any] | None = None


class TaskNotificationMessage(SystemMessage, tag="task_notification", kw_only=True):
    """A task ended."""

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


class BackgroundTasksChangedMessage(SystemMessage, tag="background_tasks_changed", kw_only=True):
    """All tasks that run in the background."""

    tasks: list[BackgroundTask]


class HookEventMessage(SystemMessage, kw_only=True):
    """A hook from the settings runs. Hooks of the client's own are not reported here."""

    hook_id: str | None = None
    hook_name: str | None = None
    hook_event: str | None = None


class HookStartedMessage(HookEventMessage, tag="hook_started", kw_only=True):
    """A hook was started."""


class HookProgressMessage(HookEventMessage, tag="hook_progress", kw_only=True):
    """The output of a hook so far."""

    stdout: str | None = None
    stderr: str | None = None
    output: str | None = None


class HookResponseMessage(HookEventMessage, tag="hook_response", kw_only=True):
    """A hook ended."""

    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    outcome: str | None = None
    """`success`, `error` or `cancelled`."""


SYSTEM: dict[str, type[SystemMessage]] = {
    str(kind.__struct_config__.tag): kind
    for kind in leaves(SystemMessage)
    if kind is not UnknownSystemMessage
}
"""Every kind of system message, by its `subtype`."""
