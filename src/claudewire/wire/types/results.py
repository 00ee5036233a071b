"""What a granted request brings: the payloads of successful answers, in both directions.

Every field of what the CLI answers is optional: older ones know fewer, and some answer with
nothing at all.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .base import UNKNOWN, Number, Record, Unknown, nullable
from .system import SlashCommand
from .usage import SessionUsage

__all__ = [
    "AccountInfo",
    "Ack",
    "AgentInfo",
    "BackgroundTasksResult",
    "BinaryVersionResult",
    "CancelAsyncMessageResult",
    "ContextCategory",
    "ContextUsageResult",
    "DialogCancelled",
    "DialogCompleted",
    "DialogResult",
    "ElicitationResult",
    "FeedbackMode",
    "FileSuggestion",
    "FileSuggestionsResult",
    "GenerateSessionTitleResult",
    "GetSettingsResult",
    "GetUsageResult",
    "HookEventInfo",
    "HookInfo",
    "HooksListingResult",
    "InitializeResult",
    "InterruptResult",
    "ListModelsResult",
    "McpCallResult",
    "McpResponse",
    "McpServerStatus",
    "McpSetServersResult",
    "McpStaging",
    "McpStatusResult",
    "McpToolInfo",
    "ModelInfo",
    "PermissionRuleEntry",
    "PermissionRulesResult",
    "PermissionRulesState",
    "PluginInfo",
    "ReadFileResult",
    "ReadResourceResult",
    "RegisterRepoRootResult",
    "ReloadOutputStylesResult",
    "ReloadPluginsResult",
    "ReloadSkillsResult",
    "ResourceContents",
    "RewindFilesResult",
    "SessionCostResult",
    "SetModelResult",
    "SetPermissionModeResult",
    "SettingsParseError",
    "SettingsSource",
    "SideQuestionResult",
    "TaskOutputResult",
    "UnknownDialogResult",
    "WorkspaceDirectory",
]


class ContextCategory(Record, rename="camel"):
    """A share of the context window."""

    name: str
    tokens: int | None = None
    kind: str | None = None
    """used, free, buffer or deferred."""
    id: str | None = None
    """system_prompt, system_tools, mcp_tools, memory_files, messages, free_space, …"""
    color: str | None = None
    is_deferred: bool | None = None


class ContextUsageResult(Record, rename="camel"):
    """What fills the context window. Parts that only a display needs are plain objects."""

    categories: list[ContextCategory] | None = None
    total_tokens: int | None = None
    max_tokens: int | None = None
    raw_max_tokens: int | None = None
    percentage: Number | None = None
    grid_rows: list[list[dict[str, Any]]] | None = None
    model: str | None = None
    memory_files: list[dict[str, Any]] | None = None
    mcp_tools: list[dict[str, Any]] | None = None
    mcp_instructions: list[dict[str, Any]] | None = None
    deferred_builtin_tools: list[dict[str, Any]] | None = None
    system_tools: list[dict[str, Any]] | None = None
    system_prompt_sections: list[dict[str, Any]] | None = None
    agents: list[dict[str, Any]] | None = None
    slash_commands: dict[str, Any] | None = None
    skills: dict[str, Any] | None = None
    auto_compact_threshold: Number | None = None
    is_auto_compact_enabled: bool | None = None
    message_breakdown: dict[str, Any] | None = None
    api_usage: dict[str, Any] | None = nullable()


class GetUsageResult(Record):
    """What the session has cost, and how much of the subscription is used up."""

    session: SessionUsage | None = None
    subscription_type: str | None = nullable()
    rate_limits_available: bool | None = None
    rate_limits: dict[str, Any] | None = nullable()
    behaviors: dict[str, Any] | None = nullable()


class SettingsParseError(Record):
    """What is wrong in a settings file."""

    message: str
    path: str | None = None
    file: str | None = None


class SettingsSource(Record):
    """The settings that one place contributes."""

    source: str
    """userSettings, projectSettings, localSettings, flagSettings or policySettings."""
    settings: dict[str, Any] | None = None


class GetSettingsResult(Record):
    """The settings in effect, and where they come from."""

    effective: dict[str, Any] | None = None
    sources: list[SettingsSource] | None = None
    applied: dict[str, Any] | None = None
    errors: list[SettingsParseError] | None = None
    withheld: Any = None


class HookEventInfo(Record, rename="camel"):
    """An event that hooks can be attached to."""

    name: str
    summary: str | None = None
    supports_matcher: bool | None = None
    hook_count: int | None = None


class HookInfo(Record, rename="camel"):
    """A hook from the settings."""

    event: str
    matcher: str | None = None
    source: str | None = None
    source_label: str | None = None
    plugin_name: str | None = None
    type: str | None = None
    display_text: str | None = None
    command_text: str | None = None
    content_label: str | None = None
    condition: str | None = None
    timeout: Number | None = None
    status_message: str | None = None
    runs_once: bool | None = None
    runs_in_background: bool | None = None
    disabled: bool | None = None
    editable: dict[str, Any] | None = None


class HooksListingResult(Record, rename="camel"):
    """The hooks from the settings, and the events they may be attached to."""

    events: list[HookEventInfo] | None = None
    hooks: list[HookInfo] | None = None
    event_catalog: list[HookEventInfo] | None = None
    policy: dict[str, Any] | None = None
    safe_mode: dict[str, Any] | None = None
    bare_mode: dict[str, Any] | None = None
    errors: list[SettingsParseError] | None = None


class PermissionRuleEntry(Record, rename="camel"):
    """A permission rule in effect, and where it comes from."""

    rule: str
    behavior: str | None = None
    """allow, deny or ask."""
    source: str | None = None
    description: dict[str, Any] | None = None
    editability: str | None = None
    """persistent, session or readonly."""
    not_in_effect: bool | None = None


class WorkspaceDirectory(Record):
    """A directory that tools may work in."""

    path: str
    source: str | None = None


class PermissionRulesState(Record, rename="camel"):
    """All permission rules and directories."""

    rules: list[PermissionRuleEntry] | None = None
    workspace_directories: list[WorkspaceDirectory] | None = None
    original_cwd: str | None = None
    managed_only: bool | None = None
    errors: list[SettingsParseError] | None = None
    withheld: bool | None = None


class PermissionRulesResult(Record):
    """What runs without asking, and what is denied."""

    state: PermissionRulesState | None = None


class Ack(Record):
    """It was done; there is nothing more to say."""


# What the CLI answers.


class AgentInfo(Record):
    """A subagent that the model may call."""

    name: str
    description: str | None = None
    model: str | None = None


class ModelInfo(Record, rename="camel"):
    """A model that may be chosen, by its `value`."""

    value: str
    display_name: str | None = None
    description: str | None = None
    resolved_model: str | None = None
    supports_effort: bool | None = None
    supported_effort_levels: list[str] | None = None
    supports_adaptive_thinking: bool | None = None
    supports_fast_mode: bool | None = None
    supports_auto_mode: bool | None = None
    supports_thinking_off: bool | None = None


class AccountInfo(Record, rename="camel"):
    """On whose account the model is called."""

    email: str | None = None
    organization: str | None = None
    subscription_type: str | None = None
    token_source: str | None = None
    api_key_source: str | None = None
    api_provider: str | None = None
    """firstParty, bedrock, vertex, foundry, anthropicAws, anthropicGoogleCloud, mantle, gateway."""


class FeedbackMode(Record):
    """Whether, and how, a person can send feedback about the CLI."""

    kind: str
    """`disabled` where it was measured."""


class InitializeResult(Record):
    """What the session has to offer."""

    commands: list[SlashCommand] | None = None
    agents: list[AgentInfo] | None = None
    output_style: str | None = None
    available_output_styles: list[str] | None = None
    models: list[ModelInfo] | None = None
    account: AccountInfo | None = None
    hooks_applied: bool | None = None
    hook_on_failure_supported: bool | None = None
    plugins_applied: bool | None = None
    sdk_mcp_manifests_parked: dict[str, str] | None = None
    claude_code_version: str | None = None
    fast_mode_state: str | None = None
    fast_mode_disabled_reason: str | None = None
    # Not documented, but written by the CLI.
    pid: int | None = None
    current_permission_mode: str | None = None
    session_state: str | None = None
    capabilities: list[str] | None = None
    analytics_disabled: bool | None = None
    feedback_mode: FeedbackMode | None = None
    user_output_styles_dir: str | None = None
    other_hook_ask_outranks_host: bool | None = None
    hooks_when_unanswered_kept: int | None = None  # since 2.1.326
    ide_rc_auto_enable_gate: bool | None = None
    remote_control_available: bool | None = None
    remote_control_auto_enable: bool | None = None
    remote_control_auto_on_by_default: bool | None = None
    remote_control_auto_connect_default: bool | None = None


class InterruptResult(Record):
    """Which prompts, by uuid, still wait for their turn, and which were dropped with this one."""

    still_queued: list[str] | None = None
    cancelled: list[str] | None = None


class SetPermissionModeResult(Record):
    """The mode from now on."""

    mode: str | None = None


class SetModelResult(Record):
    """The model from now on."""

    model: str | None = None


class McpToolInfo(Record):
    """A tool that an MCP server offers."""

    name: str
    description: str | None = None
    annotations: dict[str, Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class McpServerStatus(Record):
    """How an MCP server is doing."""

    name: str
    status: str | None = None
    """connected, failed, needs-auth, pending or disabled."""
    server_info: dict[str, Any] | None = msgspec.field(name="serverInfo", default=None)
    error: str | None = None
    config: dict[str, Any] | None = None
    scope: str | None = None
    source: str | None = None
    transport: str | None = None
    tools: list[McpToolInfo] | None = None


class McpStatusResult(Record, rename="camel"):
    """How all MCP servers are doing."""

    mcp_servers: list[McpServerStatus] | None = None


class SessionCostResult(Record):
    """What the session has cost, in words."""

    text: str | None = None


class ListModelsResult(Record):
    """The models that may be chosen."""

    models: list[ModelInfo] | None = None


class BinaryVersionResult(Record, rename="camel"):
    """Which CLI this is."""

    version: str | None = None
    build_time: str | None = None


class McpStaging(Record):
    """What became of the files of a tool call."""

    ok: bool
    outputs: list[dict[str, Any]] | None = None
    inputs_used: list[dict[str, Any]] | None = None
    error_code: str | None = None
    """expired, input_missing, output_too_large, output_conflict, timeout or tool_error."""
    detail: str | None = None
    retryable: bool | None = None


class McpCallResult(Record):
    """What a tool has returned; `content` is a list of MCP content."""

    content: Any = None
    structured_content: Any = msgspec.field(name="structuredContent", default=None)
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)
    staging: McpStaging | None = None


class FileSuggestion(Record):
    """A file that may be meant."""

    path: str
    score: Number | None = None


class FileSuggestionsResult(Record):
    """Files that may be meant, the likeliest first."""

    suggestions: list[FileSuggestion] | None = None
    cwd: str | None = None


class RewindFilesResult(Record, rename="camel"):
    """Whether files can be put back, and what that changes."""

    can_rewind: bool | None = None
    error: str | None = None
    files_changed: list[str] | None = None
    insertions: int | None = None
    deletions: int | None = None
    skipped_links: Any = None


class CancelAsyncMessageResult(Record):
    """Whether the prompt was still there to be dropped."""

    cancelled: bool | None = None


class ReadFileResult(Record, rename="camel"):
    """The contents of a file, as text or as base64."""

    contents: str | None = None
    abs_path: str | None = None
    truncated: bool | None = None
    encoding: str | None = None
    lossy: bool | None = None


class McpSetServersResult(Record):
    """Which MCP servers came and went, and why others did not."""

    added: list[str] | None = None
    removed: list[str] | None = None
    errors: dict[str, str] | None = None


class RegisterRepoRootResult(Record):
    """The directory, as the CLI calls it."""

    directory: str | None = None


class PluginInfo(Record):
    """A plugin that was loaded."""

    name: str
    path: str | None = None
    source: str | None = None
    version: str | None = None


class ReloadPluginsResult(Record):
    """What the session has to offer after its plugins were loaded again."""

    commands: list[SlashCommand] | None = None
    agents: list[AgentInfo] | None = None
    plugins: list[PluginInfo] | None = None
    mcp_servers: list[McpServerStatus] | None = msgspec.field(name="mcpServers", default=None)
    error_count: int | None = None
    held: bool | None = None
    cache_impact: dict[str, Any] | None = None


class ReloadSkillsResult(Record):
    """The skills after they were loaded again."""

    skills: list[SlashCommand] | None = None


class ReloadOutputStylesResult(Record):
    """The output styles after they were loaded again."""

    available_output_styles: list[str] | None = None


class BackgroundTasksResult(Record):
    """Whether anything was put in the background."""

    backgrounded: bool | None = None


class TaskOutputResult(Record):
    """The end of what a task has printed."""

    output: str | None = None
    total_bytes: int | None = None
    truncated: bool | None = None


class ResourceContents(Record):
    """A piece of an MCP resource: text, or bytes as base64."""

    uri: str
    mime_type: str | None = msgspec.field(name="mimeType", default=None)
    text: str | None = None
    blob: str | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class ReadResourceResult(Record):
    """An MCP resource."""

    contents: list[ResourceContents] | None = None


class SideQuestionResult(Record):
    """What the model says; `synthetic` if it was not the model that said it."""

    response: str | None = nullable()
    synthetic: bool | None = None
    usage: dict[str, Any] | None = None


class GenerateSessionTitleResult(Record):
    """A title for the session."""

    title: str | None = nullable()


# What the host answers.


class McpResponse(Record):
    """A JSON-RPC message from an MCP server inside the host. Only the CLI leaves it out."""

    mcp_response: dict[str, Any] | None = None


class ElicitationResult(Record):
    """What the user tells an MCP server."""

    action: str
    """accept, decline or cancel."""
    content: dict[str, Any] | None = None


class DialogCompleted(Record, tag="completed", tag_field="behavior"):
    """The user has gone through the dialog."""

    result: Any = nullable()


class DialogCancelled(Record, tag="cancelled", tag_field="behavior"):
    """The user has left the dialog."""


class UnknownDialogResult(Unknown, Record, tag=UNKNOWN, tag_field="behavior"):
    """An end of a dialog that this version does not know."""

    raw: dict[str, Any]


DialogResult = DialogCompleted | DialogCancelled | UnknownDialogResult
