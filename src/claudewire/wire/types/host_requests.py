"""What the host asks of the CLI."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from .base import Number, nullable
from .cli_requests import RequestBody
from .configs import AgentDefinition, McpServerManifest, PluginConfig, SdkMcpServerConfig
from .hooks import HookMatcher
from .results import (
    Ack,
    BackgroundTasksResult,
    BinaryVersionResult,
    CancelAsyncMessageResult,
    ContextUsageResult,
    FileSuggestionsResult,
    GenerateSessionTitleResult,
    GetSettingsResult,
    GetUsageResult,
    HooksListingResult,
    InitializeResult,
    InterruptResult,
    ListModelsResult,
    McpCallResult,
    McpSetServersResult,
    McpStatusResult,
    PermissionRulesResult,
    ReadFileResult,
    ReadResourceResult,
    RegisterRepoRootResult,
    ReloadOutputStylesResult,
    ReloadPluginsResult,
    ReloadSkillsResult,
    RewindFilesResult,
    SessionCostResult,
    SetModelResult,
    SetPermissionModeResult,
    SideQuestionResult,
    TaskOutputResult,
)

__all__ = [
    "ApplyFlagSettings",
    "BackgroundTasks",
    "CancelAsyncMessage",
    "EndSession",
    "FileSuggestions",
    "GenerateSessionTitle",
    "GetBinaryVersion",
    "GetContextUsage",
    "GetHooksListing",
    "GetSessionCost",
    "GetSettings",
    "GetTaskOutput",
    "GetUsage",
    "HostRequest",
    "Initialize",
    "Interrupt",
    "ListModels",
    "ListPermissionRules",
    "McpCall",
    "McpReadResource",
    "McpReconnect",
    "McpSetServers",
    "McpStatus",
    "McpToggle",
    "ReadFile",
    "RegisterRepoRoot",
    "ReloadOutputStyles",
    "ReloadPlugins",
    "ReloadSkills",
    "RenameSession",
    "RewindFiles",
    "SeedReadState",
    "SetColor",
    "SetHasSubscribers",
    "SetMaxThinkingTokens",
    "SetModel",
    "SetPermissionMode",
    "SideQuestion",
    "StopTask",
    "UpdateSettings",
]


class Initialize(RequestBody[InitializeResult], tag="initialize", rename="camel"):
    """Set the session up. The CLI may ask back before it answers this."""

    hooks: dict[str, list[HookMatcher]] | None = None
    sdk_mcp_servers: list[str] | None = None
    sdk_mcp_server_configs: dict[str, SdkMcpServerConfig] | None = None
    sdk_mcp_server_manifests: dict[str, McpServerManifest] | None = None
    sdk_mcp_server_manifests_origin: str | None = None
    mcp_servers: dict[str, Any] | None = None
    """Written by some hosts; the CLI takes it from its command line instead."""
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


class Interrupt(RequestBody[InterruptResult], tag="interrupt"):
    """Stop the running turn and, if asked to, drop the prompts that wait behind it."""

    cancel_queued: bool | None = None


class EndSession(RequestBody[Ack], tag="end_session"):
    """Finish and exit."""

    reason: str | None = None


class SetPermissionMode(RequestBody[SetPermissionModeResult], tag="set_permission_mode"):
    """Change the permission mode; a status message follows."""

    mode: str


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


class GenerateSessionTitle(RequestBody[GenerateSessionTitleResult], tag="generate_session_title"):
    """Have a title made up from a description."""

    description: str
    persist: bool | None = None


class SetColor(RequestBody[Ack], tag="set_color"):
    """Change the accent colour. A CLI without a screen refuses."""

    color: str


class GetContextUsage(RequestBody[ContextUsageResult], tag="get_context_usage"):
    """What fills the context window?"""

    detail: str | None = None
    """summary or full."""


class GetSessionCost(RequestBody[SessionCostResult], tag="get_session_cost"):
    """What has the session cost, in words?"""


class GetUsage(RequestBody[GetUsageResult], tag="get_usage"):
    """What has the session cost, and how much of the subscription is used up?"""

    skip_behaviors: bool | None = None


class ListModels(RequestBody[ListModelsResult], tag="list_models"):
    """Which models may be chosen?"""


class GetBinaryVersion(RequestBody[BinaryVersionResult], tag="get_binary_version"):
    """Which CLI is this?"""


class SideQuestion(RequestBody[SideQuestionResult], tag="side_question"):
    """Ask the model something beside the conversation, leaving no trace in it."""

    question: str


class McpStatus(RequestBody[McpStatusResult], tag="mcp_status", rename="camel"):
    """How are the MCP servers doing?"""

    live_reply: bool | None = None


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


class McpReadResource(RequestBody[ReadResourceResult], tag="mcp_read_resource", rename="camel"):
    """Read a resource of an MCP server."""

    server_name: str
    uri: str


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


class FileSuggestions(RequestBody[FileSuggestionsResult], tag="file_suggestions"):
    """Which files may be meant by what is typed after an @?"""

    query: str


class RewindFiles(RequestBody[RewindFilesResult], tag="rewind_files"):
    """Put files back to what they were at a prompt, or only say what that would change."""

    user_message_id: str
    dry_run: bool | None = None


class CancelAsyncMessage(RequestBody[CancelAsyncMessageResult], tag="cancel_async_message"):
    """Drop a prompt that still waits for its turn."""

    message_uuid: str


class ReadFile(RequestBody[ReadFileResult], tag="read_file"):
    """Read a file that the Read tool may read."""

    path: str
    max_bytes: int | None = None
    encoding: str | None = None
    """utf-8 or base64."""


class SeedReadState(RequestBody[Ack], tag="seed_read_state"):
    """Take a file as already read by the model."""

    path: str
    mtime: Number


class RegisterRepoRoot(RequestBody[RegisterRepoRootResult], tag="register_repo_root"):
    """Let tools work in one more directory."""

    directory: str
    reload_claude_md: bool | None = None
    reload_plugins: bool | None = None
    reload_skills: bool | None = None


class ReloadPlugins(RequestBody[ReloadPluginsResult], tag="reload_plugins"):
    """Load the plugins again."""

    hold_on_cache_impact: bool | None = None
    add_plugins: list[PluginConfig] | None = None
    refuse_if_busy: bool | None = None


class ReloadSkills(RequestBody[ReloadSkillsResult], tag="reload_skills"):
    """Load the skills again."""


class ReloadOutputStyles(RequestBody[ReloadOutputStylesResult], tag="reload_output_styles"):
    """Load the output styles again."""


class SetHasSubscribers(RequestBody[Ack], tag="set_has_subscribers"):
    """Say whether a client is watching, so that output may be coalesced."""

    has_subscribers: bool | None = nullable()


class StopTask(RequestBody[Ack], tag="stop_task"):
    """Stop a task. An id that is not known is no error."""

    task_id: str


class BackgroundTasks(RequestBody[BackgroundTasksResult], tag="background_tasks"):
    """Put the running tool, or all of them, in the background."""

    tool_use_id: str | None = None


class GetTaskOutput(RequestBody[TaskOutputResult], tag="get_task_output"):
    """What has a task printed last?"""

    task_id: str


class ApplyFlagSettings(RequestBody[Ack], tag="apply_flag_settings"):
    """Merge settings into those of the command line; a null takes one away."""

    settings: dict[str, Any]


class UpdateSettings(RequestBody[Ack], tag="update_settings"):
    """Write settings to a file."""

    source: str
    """localSettings or userSettings."""
    settings: dict[str, Any]


class GetSettings(RequestBody[GetSettingsResult], tag="get_settings"):
    """Which settings are in effect?"""


class GetHooksListing(RequestBody[HooksListingResult], tag="get_hooks_listing"):
    """Which hooks do the settings have?"""


class ListPermissionRules(RequestBody[PermissionRulesResult], tag="list_permission_rules"):
    """Which permission rules are in effect?"""


HostRequest = (
    Initialize
    | Interrupt
    | EndSession
    | SetPermissionMode
    | SetModel
    | SetMaxThinkingTokens
    | RenameSession
    | GenerateSessionTitle
    | SetColor
    | GetContextUsage
    | GetSessionCost
    | GetUsage
    | ListModels
    | GetBinaryVersion
    | SideQuestion
    | McpStatus
    | McpCall
    | McpReadResource
    | McpSetServers
    | McpReconnect
    | McpToggle
    | FileSuggestions
    | RewindFiles
    | CancelAsyncMessage
    | ReadFile
    | SeedReadState
    | RegisterRepoRoot
    | ReloadPlugins
    | ReloadSkills
    | ReloadOutputStyles
    | SetHasSubscribers
    | StopTask
    | BackgroundTasks
    | GetTaskOutput
    | ApplyFlagSettings
    | UpdateSettings
    | GetSettings
    | GetHooksListing
    | ListPermissionRules
)
"""Every request that the host sends."""
