"""Requests of the host, each with the CLI's answer.

Every field of an answer is optional: older CLIs know fewer, and some answer with an empty object.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from .base import Number, Record, nullable
from .cli_requests import RequestBody
from .configs import AgentDefinition, McpServerManifest, PluginConfig, SdkMcpServerConfig
from .hooks import HookMatcher
from .system import SlashCommand
from .usage import SessionUsage


class AgentInfo(Record):
    """A subagent that the model may call."""

    name: str
    description: str | None = None
    model: str | None = None


class ModelInfo(Record, rename="camel"):
    """An available model, selected by its `value`."""

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
    """The account of the model calls."""

    email: str | None = None
    organization: str | None = None
    subscription_type: str | None = None
    token_source: str | None = None
    api_key_source: str | None = None
    api_provider: str | None = None
    """firstParty, bedrock, vertex, foundry, anthropicAws, anthropicGoogleCloud, mantle, gateway."""


class InitializeResult(Record):
    """The offers of the session: commands, agents, models and more."""

    commands: list[SlashCommand] | None = None
    agents: list[AgentInfo] | None = None
    output_style: str | None = None
    available_output_styles: list[str] | None = None
    models: list[ModelInfo] | None = None
    account: AccountInfo | None = None
    hooks_applied: bool | None = None
    hook_on_failure_supported: bool | None = None
    plugins_applied: bool | None = None
    mcp_servers_applied: bool | None = None
    """Whether `mcp_servers` were taken: they were not if it is absent."""
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
    feedback_mode: dict[str, Any] | None = None
    user_output_styles_dir: str | None = None
    other_hook_ask_outranks_host: bool | None = None
    hooks_when_unanswered_kept: int | None = None  # since 2.1.326
    ide_rc_auto_enable_gate: bool | None = None
    remote_control_available: bool | None = None
    remote_control_auto_enable: bool | None = None
    remote_control_auto_on_by_default: bool | None = None
    remote_control_auto_connect_default: bool | None = None


class Initialize(RequestBody[InitializeResult], tag="initialize", rename="camel"):
    """Set the session up. The CLI may ask back before it answers this."""

    hooks: dict[str, list[HookMatcher]] | None = None
    sdk_mcp_servers: list[str] | None = None
    sdk_mcp_server_configs: dict[str, SdkMcpServerConfig] | None = None
    sdk_mcp_server_manifests: dict[str, McpServerManifest] | None = None
    sdk_mcp_server_manifests_origin: str | None = None
    mcp_servers: dict[str, Any] | None = None
    """Servers in place of those on the command line. Only CLIs since 2.1.327 read it, and only at
    the start, with --await-initialize."""
    json_schema: dict[str, Any] | None = None
    system_prompt: str | list[str] | None = None
    """The newest CLI wants a list of blocks, older ones a text."""
    append_system_prompt: str | None = None
    system_prompt_snapshot: bool | None = None
    plan_mode_instructions: str | None = None
    tool_aliases: dict[str, str] | None = None
    exclude_dynamic_sections: bool | None = None
    agents: dict[str, AgentDefinition] | None = None
    title: str | None = None
    skills: list[str] | None = None
    prompt_suggestions: bool | None = None
    agent_progress_summaries: bool | None = None
    forward_subagent_text: bool | None = None
    supported_dialog_kinds: list[str] | None = None
    """Which dialogs the host can show. Without it the CLI asks for none."""
    per_task_stop_affordance: bool | None = None
    """An interrupt then spares the tasks in the background."""
    plugins: list[PluginConfig] | None = None
    managed_settings: dict[str, Any] | None = None
    """Settings like those of an administrator; the flag --managed-settings-in-initialize announces
    them."""


class InterruptResult(Record):
    """Prompts by uuid: still queued, and dropped with this turn."""

    still_queued: list[str] | None = None
    cancelled: list[str] | None = None


class Interrupt(RequestBody[InterruptResult], tag="interrupt"):
    """Stop the running turn and, if asked to, drop the prompts that wait behind it."""

    cancel_queued: bool | None = None


class Ack(Record):
    """An answer without a payload."""


class EndSession(RequestBody[Ack], tag="end_session"):
    """Finish and exit."""

    reason: str | None = None


class SetPermissionModeResult(Record):
    """The mode from now on."""

    mode: str | None = None


class SetPermissionMode(RequestBody[SetPermissionModeResult], tag="set_permission_mode"):
    """Change the permission mode; a status message follows."""

    mode: str


class SetModelResult(Record):
    """The model from now on."""

    model: str | None = None


class SetModel(RequestBody[SetModelResult], tag="set_model"):
    """Change the model; `None` goes back to the one that the session began with."""

    model: str | None = nullable()


class SetMaxThinkingTokens(RequestBody[Ack], tag="set_max_thinking_tokens"):
    """Change how much the model may think; `None` resets, `UNSET` leaves as it is."""

    max_thinking_tokens: int | UnsetType | None = UNSET
    thinking_display: str | UnsetType | None = UNSET
    """summarized, omitted or highlights."""


class RenameSession(RequestBody[Ack], tag="rename_session"):
    """Give the session a title."""

    title: str
    source: str | None = None
    """remote or host."""
    session_id: str | None = None


class GenerateSessionTitleResult(Record):
    """A title for the session."""

    title: str | None = nullable()


class GenerateSessionTitle(RequestBody[GenerateSessionTitleResult], tag="generate_session_title"):
    """Generate a title from a description."""

    description: str
    persist: bool | None = None


class SetColor(RequestBody[Ack], tag="set_color"):
    """Change the accent colour. A CLI without a screen refuses."""

    color: str


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
    """The contents of the context window. Parts that only a display needs are plain objects."""

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


class GetContextUsage(RequestBody[ContextUsageResult], tag="get_context_usage"):
    """Get the contents of the context window."""

    detail: str | None = None
    """summary or full."""


class SessionCostResult(Record):
    """The cost of the session, in words."""

    text: str | None = None


class GetSessionCost(RequestBody[SessionCostResult], tag="get_session_cost"):
    """Get the cost of the session, in words."""


class GetUsageResult(Record):
    """The cost of the session, and the used share of the subscription."""

    session: SessionUsage | None = None
    subscription_type: str | None = nullable()
    rate_limits_available: bool | None = None
    rate_limits: dict[str, Any] | None = nullable()
    behaviors: dict[str, Any] | None = nullable()


class GetUsage(RequestBody[GetUsageResult], tag="get_usage"):
    """Get the cost of the session, and the used share of the subscription."""

    skip_behaviors: bool | None = None


class ListModelsResult(Record):
    """The available models."""

    models: list[ModelInfo] | None = None


class ListModels(RequestBody[ListModelsResult], tag="list_models"):
    """List the available models."""


class BinaryVersionResult(Record, rename="camel"):
    """The version of the CLI."""

    version: str | None = None
    build_time: str | None = None


class GetBinaryVersion(RequestBody[BinaryVersionResult], tag="get_binary_version"):
    """Get the version of the CLI."""


class SideQuestionResult(Record):
    """The model's answer; `synthetic` if the CLI gave it."""

    response: str | None = nullable()
    synthetic: bool | None = None
    usage: dict[str, Any] | None = None


class SideQuestion(RequestBody[SideQuestionResult], tag="side_question"):
    """Ask the model something beside the conversation, leaving no trace in it."""

    question: str


class McpToolInfo(Record):
    """A tool that an MCP server offers."""

    name: str
    description: str | None = None
    annotations: dict[str, Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class McpServerStatus(Record):
    """The status of an MCP server."""

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
    """The status of all MCP servers."""

    mcp_servers: list[McpServerStatus] | None = None


class McpStatus(RequestBody[McpStatusResult], tag="mcp_status", rename="camel"):
    """Get the status of the MCP servers."""

    live_reply: bool | None = None


class McpCallResult(Record):
    """The result of a tool; `content` is a list of MCP content."""

    content: Any = None
    structured_content: Any = msgspec.field(name="structuredContent", default=None)
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)
    staging: dict[str, Any] | None = None


class McpCall(RequestBody[McpCallResult], tag="mcp_call"):
    """Call an MCP tool without the model; permissions are checked only if asked to."""

    tool: str
    arguments: dict[str, Any] | None = None
    expires_at: str | None = None
    timeout_ms: Number | None = None
    result_not_for_model: bool | None = None
    check_permissions: bool | None = None
    input_files: list[dict[str, Any]] | None = None
    output_files: list[dict[str, Any]] | None = None


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


class McpReadResource(RequestBody[ReadResourceResult], tag="mcp_read_resource", rename="camel"):
    """Read a resource of an MCP server."""

    server_name: str
    uri: str


class McpSetServersResult(Record):
    """Added and removed MCP servers, and errors by server."""

    added: list[str] | None = None
    removed: list[str] | None = None
    errors: dict[str, str] | None = None


class McpSetServers(RequestBody[McpSetServersResult], tag="mcp_set_servers"):
    """Replace the MCP servers that were added while running by these."""

    servers: dict[str, Any]


class McpReconnect(RequestBody[Ack], tag="mcp_reconnect", rename="camel"):
    """Connect to an MCP server again."""

    server_name: str


class McpToggle(RequestBody[Ack], tag="mcp_toggle", rename="camel"):
    """Switch an MCP server on or off."""

    server_name: str
    enabled: bool


class FileSuggestion(Record):
    """A file that may be meant."""

    path: str
    score: Number | None = None


class FileSuggestionsResult(Record):
    """Files that may be meant, the likeliest first."""

    suggestions: list[FileSuggestion] | None = None
    cwd: str | None = None


class FileSuggestions(RequestBody[FileSuggestionsResult], tag="file_suggestions"):
    """Complete a file name, typed after an @."""

    query: str


class RewindFilesResult(Record, rename="camel"):
    """Whether files can be put back, and the changes."""

    can_rewind: bool | None = None
    error: str | None = None
    files_changed: list[str] | None = None
    insertions: int | None = None
    deletions: int | None = None
    skipped_links: Any = None


class RewindFiles(RequestBody[RewindFilesResult], tag="rewind_files"):
    """Put files back to their state at a prompt, or only report the changes."""

    user_message_id: str
    dry_run: bool | None = None


class CancelAsyncMessageResult(Record):
    """Whether the prompt was dropped: it had not begun."""

    cancelled: bool | None = None


class CancelAsyncMessage(RequestBody[CancelAsyncMessageResult], tag="cancel_async_message"):
    """Drop a prompt that still waits for its turn."""

    message_uuid: str


class ReadFileResult(Record, rename="camel"):
    """The contents of a file, as text or as base64."""

    contents: str | None = None
    abs_path: str | None = None
    truncated: bool | None = None
    encoding: str | None = None
    lossy: bool | None = None


class ReadFile(RequestBody[ReadFileResult], tag="read_file"):
    """Read a file that the Read tool may read."""

    path: str
    max_bytes: int | None = None
    encoding: str | None = None
    """utf-8 or base64."""


class SeedReadState(RequestBody[Ack], tag="seed_read_state"):
    """Mark a file as read by the model."""

    path: str
    mtime: Number


class RegisterRepoRootResult(Record):
    """The directory, as the CLI names it."""

    directory: str | None = None


class RegisterRepoRoot(RequestBody[RegisterRepoRootResult], tag="register_repo_root"):
    """Let tools work in one more directory."""

    directory: str
    reload_claude_md: bool | None = None
    reload_plugins: bool | None = None
    reload_skills: bool | None = None


class PluginInfo(Record):
    """A plugin that was loaded."""

    name: str
    path: str | None = None
    source: str | None = None
    version: str | None = None


class ReloadPluginsResult(Record):
    """The commands, agents, plugins and servers after reloading the plugins."""

    commands: list[SlashCommand] | None = None
    agents: list[AgentInfo] | None = None
    plugins: list[PluginInfo] | None = None
    mcp_servers: list[McpServerStatus] | None = msgspec.field(name="mcpServers", default=None)
    error_count: int | None = None
    held: bool | None = None
    cache_impact: dict[str, Any] | None = None


class ReloadPlugins(RequestBody[ReloadPluginsResult], tag="reload_plugins"):
    """Load the plugins again."""

    hold_on_cache_impact: bool | None = None
    add_plugins: list[PluginConfig] | None = None
    refuse_if_busy: bool | None = None


class ReloadSkillsResult(Record):
    """The skills after they were loaded again."""

    skills: list[SlashCommand] | None = None


class ReloadSkills(RequestBody[ReloadSkillsResult], tag="reload_skills"):
    """Load the skills again."""


class ReloadOutputStylesResult(Record):
    """The output styles after they were loaded again."""

    available_output_styles: list[str] | None = None


class ReloadOutputStyles(RequestBody[ReloadOutputStylesResult], tag="reload_output_styles"):
    """Load the output styles again."""


class SetHasSubscribers(RequestBody[Ack], tag="set_has_subscribers"):
    """Say whether a client is watching, so that output may be coalesced."""

    has_subscribers: bool | None = nullable()


class StopTask(RequestBody[Ack], tag="stop_task"):
    """Stop a task. An id that is not known is no error."""

    task_id: str


class BackgroundTasksResult(Record):
    """Whether anything was put in the background."""

    backgrounded: bool | None = None


class BackgroundTasks(RequestBody[BackgroundTasksResult], tag="background_tasks"):
    """Put the running tool, or all of them, in the background."""

    tool_use_id: str | None = None


class TaskOutputResult(Record):
    """The end of a task's output."""

    output: str | None = None
    total_bytes: int | None = None
    truncated: bool | None = None


class GetTaskOutput(RequestBody[TaskOutputResult], tag="get_task_output"):
    """Get the end of a task's output."""

    task_id: str


class ApplyFlagSettings(RequestBody[Ack], tag="apply_flag_settings"):
    """Merge settings into those of the command line; a null takes one away."""

    settings: dict[str, Any]


class UpdateSettings(RequestBody[Ack], tag="update_settings"):
    """Write settings to a file."""

    source: str
    """localSettings or userSettings."""
    settings: dict[str, Any]


class SettingsSource(Record):
    """The settings that one place contributes."""

    source: str
    """userSettings, projectSettings, localSettings, flagSettings or policySettings."""
    settings: dict[str, Any] | None = None


class SettingsParseError(Record):
    """An error in a settings file."""

    message: str
    path: str | None = None
    file: str | None = None


class GetSettingsResult(Record):
    """The settings in effect, and where they come from."""

    effective: dict[str, Any] | None = None
    sources: list[SettingsSource] | None = None
    applied: dict[str, Any] | None = None
    errors: list[SettingsParseError] | None = None
    withheld: Any = None


class GetSettings(RequestBody[GetSettingsResult], tag="get_settings"):
    """Get the settings in effect."""


class HookEventInfo(Record, rename="camel"):
    """An event that hooks can be attached to."""

    name: str
    summary: str | None = None
    supports_matcher: bool | None = None
    hook_count: int | None = None


class HooksListingResult(Record, rename="camel"):
    """The hooks from the settings, and the events they may be attached to."""

    events: list[HookEventInfo] | None = None
    hooks: list[dict[str, Any]] | None = None
    event_catalog: list[HookEventInfo] | None = None
    policy: dict[str, Any] | None = None
    safe_mode: dict[str, Any] | None = None
    bare_mode: dict[str, Any] | None = None
    errors: list[SettingsParseError] | None = None


class GetHooksListing(RequestBody[HooksListingResult], tag="get_hooks_listing"):
    """List the hooks of the settings."""


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
    """The permission rules in effect."""

    state: PermissionRulesState | None = None


class ListPermissionRules(RequestBody[PermissionRulesResult], tag="list_permission_rules"):
    """List the permission rules in effect."""
