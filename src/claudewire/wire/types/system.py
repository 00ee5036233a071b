"""System messages about the session, its tasks and its hooks: one class for each `subtype`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from .base import Number, Record, Unknown, nullable
from .messages import SystemMessage, always

__all__ = [
    "SYSTEM",
    "APIRetryMessage",
    "BackgroundTask",
    "BackgroundTasksChangedMessage",
    "CommandsChangedMessage",
    "CompactBoundaryMessage",
    "CompactMetadata",
    "ControlRequestProgressMessage",
    "ElicitationCompleteMessage",
    "FailedFile",
    "FilesPersistedMessage",
    "HookEventMessage",
    "HookProgressMessage",
    "HookResponseMessage",
    "HookStartedMessage",
    "InformationalMessage",
    "InitMcpServer",
    "InitMessage",
    "InitPlugin",
    "InitPluginError",
    "LocalCommandOutputMessage",
    "McpResourceLink",
    "Memory",
    "MemoryRecallMessage",
    "MirrorErrorMessage",
    "ModelRefusalFallbackMessage",
    "ModelRefusalNoFallbackMessage",
    "NoResponse",
    "NotificationMessage",
    "PermissionDeniedMessage",
    "PersistedFile",
    "PluginInstallMessage",
    "PreservedMessages",
    "PreservedSegment",
    "SessionKey",
    "SessionStateChangedMessage",
    "SessionWritesLostMessage",
    "SlashCommand",
    "StatusMessage",
    "SystemErrorMessage",
    "TaskNotificationMessage",
    "TaskPatch",
    "TaskProgressMessage",
    "TaskStartedMessage",
    "TaskUpdatedMessage",
    "TaskUsage",
    "ThinkingTokensMessage",
    "WorkerShuttingDownMessage",
]


# --- what the session is -------------------------------------------------------------------------


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
    """Why a plugin is not there."""

    plugin: str
    kind: str | None = msgspec.field(name="type", default=None)
    message: str | None = None
    path: str | None = None
    managed_lock: Any = None


class InitMessage(SystemMessage, kw_only=True):
    """What the session works with. It comes at the start of every turn; the newest holds."""

    subtype: str = always("init")
    cwd: str | None = None
    original_cwd: str | None = None
    additional_directories: list[str] | None = None
    memory_paths: dict[str, str] | None = None
    model: str | None = None
    permission_mode: str | None = msgspec.field(name="permissionMode", default=None)
    """`default`, `acceptEdits`, `bypassPermissions`, `plan`, `dontAsk` or `auto`."""
    tools: list[str] | None = None
    tool_descriptions: dict[str, str] | None = None
    """What each tool does. Only the `session` dialect tells."""
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
    """Names of what this CLI can do beyond what its version tells."""
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


class CommandsChangedMessage(SystemMessage, kw_only=True):
    """All the slash commands there are now."""

    subtype: str = always("commands_changed")
    commands: list[SlashCommand]


class PluginInstallMessage(SystemMessage, kw_only=True):
    """How installing plugins goes."""

    subtype: str = always("plugin_install")
    status: str
    """`started`, `installed`, `failed` or `completed`."""
    name: str | None = None
    error: str | None = None


# --- what it is doing ----------------------------------------------------------------------------


class SessionStateChangedMessage(SystemMessage, kw_only=True):
    """Whether the session works, waits for a person, or is done."""

    subtype: str = always("session_state_changed")
    state: str
    """`running`, `requires_action` or `idle`."""
    sdk_host_only: bool | None = None


class StatusMessage(SystemMessage, kw_only=True):
    """What the CLI is busy with, or that the permission mode is another now."""

    subtype: str = always("status")
    status: str | None = nullable()
    """`compacting`, `requesting`, or None when that is over."""
    permission_mode: str | None = msgspec.field(name="permissionMode", default=None)
    compact_result: str | None = None
    """`success` or `failed`."""
    compact_error: str | None = None
    user_message_uuids: list[str] | None = None


class ThinkingTokensMessage(SystemMessage, kw_only=True):
    """About how much the model has thought."""

    subtype: str = always("thinking_tokens")
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
    """What compaction did."""

    trigger: str | None = None
    """`manual` or `auto`."""
    pre_tokens: int | None = None
    post_tokens: int | None = None
    duration_ms: Number | None = None
    preserved_segment: PreservedSegment | None = None
    preserved_messages: PreservedMessages | None = None


class CompactBoundaryMessage(SystemMessage, kw_only=True):
    """What came before is from here on a summary."""

    subtype: str = always("compact_boundary")
    compact_metadata: CompactMetadata | None = None
    logical_parent_uuid: str | None = None


class ControlRequestProgressMessage(SystemMessage, kw_only=True):
    """A control request of the client is being worked on."""

    subtype: str = always("control_request_progress")
    request_id: str
    status: str | None = None
    """`started` or `api_retry`."""
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: Number | None = None
    error_status: int | None = None


class WorkerShuttingDownMessage(SystemMessage, kw_only=True):
    """The process that serves a remote session is about to end."""

    subtype: str = always("worker_shutting_down")
    reason: str | None = None


# --- what it has to say --------------------------------------------------------------------------


class InformationalMessage(SystemMessage, kw_only=True):
    """A line of text for the user."""

    subtype: str = always("informational")
    content: str
    level: str | None = None
    """`info`, `notice`, `suggestion` or `warning`."""
    tool_use_id: str | None = None
    prevent_continuation: bool | None = None
    """True: the turn ends here."""
    tag: str | None = None
    prompt_submit_outcome: Any = None
    """What a hook has decided about a prompt."""


class NotificationMessage(SystemMessage, kw_only=True):
    """A text to show for a while."""

    subtype: str = always("notification")
    key: str | None = None
    text: str
    priority: str | None = None
    """`low`, `medium`, `high` or `immediate`."""
    color: str | None = None
    timeout_ms: Number | None = None


class LocalCommandOutputMessage(SystemMessage, kw_only=True):
    """What a slash command printed that needed no model."""

    subtype: str = always("local_command_output")
    content: str


class Memory(Record):
    """Something remembered from earlier sessions."""

    path: str
    scope: str | None = None
    """`personal`, `team` or `organization`."""
    content: str | None = None


class MemoryRecallMessage(SystemMessage, kw_only=True):
    """What the model was reminded of."""

    subtype: str = always("memory_recall")
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


class FilesPersistedMessage(SystemMessage, kw_only=True):
    """Uploading files is done."""

    subtype: str = always("files_persisted")
    files: list[PersistedFile] | None = None
    failed: list[FailedFile] | None = None
    processed_at: str | None = None


class ElicitationCompleteMessage(SystemMessage, kw_only=True):
    """What an MCP server asked the user to do in a browser is done."""

    subtype: str = always("elicitation_complete")
    mcp_server_name: str | None = None
    elicitation_id: str | None = None


# --- what went wrong -----------------------------------------------------------------------------


class NoResponse(Record):
    """How long the API has been silent."""

    waited_ms: Number | None = None
    retry_wait_ms: Number | None = None


class APIRetryMessage(SystemMessage, kw_only=True):
    """The API failed in a way that may pass; the CLI will ask again."""

    subtype: str = always("api_retry")
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: Number | None = None
    error_status: int | None = nullable()
    """The HTTP status; None if there was no answer at all."""
    error: str | None = None
    no_response: NoResponse | None = None


class ModelRefusalFallbackMessage(SystemMessage, kw_only=True):
    """The model declined; another one takes over."""

    subtype: str = always("model_refusal_fallback")
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


class ModelRefusalNoFallbackMessage(SystemMessage, kw_only=True):
    """The model declined, and that was that."""

    subtype: str = always("model_refusal_no_fallback")
    original_model: str | None = None
    request_id: str | None = nullable()
    api_refusal_category: str | None = None
    api_refusal_explanation: str | None = None
    refused_user_message_uuid: str | None = None
    content: str | None = None


class PermissionDeniedMessage(SystemMessage, kw_only=True):
    """A tool call was denied without asking the host."""

    subtype: str = always("permission_denied")
    tool_name: str
    tool_use_id: str | None = None
    agent_id: str | None = None
    decision_reason_type: str | None = None
    decision_reason: str | None = None
    message: str | None = None
    """What the model was told."""


class SessionKey(Record, rename="camel"):
    """Where a transcript is kept."""

    project_key: str
    session_id: str
    subpath: str | None = None


class MirrorErrorMessage(SystemMessage, kw_only=True):
    """A part of the transcript could not be copied. The client says this, not the CLI."""

    subtype: str = always("mirror_error")
    error: str | None = None
    key: SessionKey | None = None


class SessionWritesLostMessage(SystemMessage, kw_only=True):
    """The disk is full, and a part of the transcript is lost."""

    subtype: str = always("session_writes_lost")
    error_code: str | None = None
    lost: list[str] | None = None
    """`transcript`, `global_config`."""
    transcript_session_ids: list[str] | None = None


class SystemErrorMessage(SystemMessage, kw_only=True):
    """Some error, as a few CLIs report it."""

    subtype: str = always("error")
    error: Any = None
    message: str | None = None
    content: str | None = None


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


def _kinds(base: type[SystemMessage]) -> Iterator[type[SystemMessage]]:
    for kind in base.__subclasses__():
        yield from _kinds(kind)
        if "subtype" in kind.__struct_fields__ and not issubclass(kind, Unknown):
            yield kind


def _subtype(kind: type[SystemMessage]) -> str:
    defaults = dict(zip(kind.__struct_fields__, kind.__struct_defaults__, strict=True))
    return cast("str", defaults["subtype"].factory())


SYSTEM: dict[str, type[SystemMessage]] = {_subtype(kind): kind for kind in _kinds(SystemMessage)}
"""Every kind of system message, by its `subtype`."""
