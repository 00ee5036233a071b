"""The types of options, and their names and types once more for `**options`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict, runtime_checkable

from ..wire import (
    AgentDefinition,
    McpHttpServerConfig,
    McpSSEServerConfig,
    McpStdioServerConfig,
    PermissionMode,
    PluginConfig,
)

__all__ = [
    "CLI",
    "AutoCompact",
    "CLIOptionsDict",
    "Effort",
    "JSONObject",
    "McpServer",
    "McpServers",
    "NamedServer",
    "PermissionPrompts",
    "Plugin",
    "PluginDelivery",
    "PreviewFormat",
    "SandboxNetworkSettings",
    "SandboxSettings",
    "SettingSource",
    "StrPath",
    "Thinking",
    "ThinkingDisplay",
]

StrPath = str | os.PathLike[str]
JSONObject = Mapping[str, Any]

CLI = StrPath | Sequence[str]
"""A program, a command that runs it (`["ssh", "host", "claude"]`), or `"simulated"`."""

Effort = Literal["low", "medium", "high", "xhigh", "max"]
Thinking = Literal["adaptive", "disabled"] | int
"""As much as the model likes, not at all, or up to so many tokens."""
ThinkingDisplay = Literal["summarized", "omitted", "highlights"]
AutoCompact = Literal["auto"] | int
PermissionPrompts = Literal["host", "none"]
PreviewFormat = Literal["markdown", "html"]
PluginDelivery = Literal["flags", "initialize"]
SettingSource = Literal["user", "project", "local"]

McpServer = McpStdioServerConfig | McpHttpServerConfig | McpSSEServerConfig | JSONObject
"""The configuration of an MCP server that the CLI starts or connects to."""


@runtime_checkable
class NamedServer(Protocol):
    """An MCP server inside this process: a `ToolServer`, or a server of the `mcp` package."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


McpServers = Mapping[str, McpServer | NamedServer] | Sequence[NamedServer]
"""MCP servers by name; servers inside this process know their names, so a list will do."""

Plugin = PluginConfig | StrPath | JSONObject


class SandboxNetworkSettings(TypedDict, total=False):
    """What commands in the sandbox may reach."""

    allowedDomains: Sequence[str]
    deniedDomains: Sequence[str]
    allowManagedDomainsOnly: bool
    allowUnixSockets: Sequence[str]
    allowAllUnixSockets: bool
    allowLocalBinding: bool
    allowMachLookup: Sequence[str]
    httpProxyPort: int
    socksProxyPort: int


class SandboxSettings(TypedDict, total=False):
    """How the CLI confines the commands that it runs; the names are those of its settings."""

    enabled: bool
    failIfUnavailable: bool
    autoAllowBashIfSandboxed: bool
    excludedCommands: Sequence[str]
    allowUnsandboxedCommands: bool
    network: SandboxNetworkSettings
    ignoreViolations: Mapping[str, Sequence[str]]
    enableWeakerNestedSandbox: bool


class CLIOptionsDict(TypedDict, total=False):
    """The fields of `CLIOptions`, for functions that take them as keyword arguments."""

    cli: CLI | None
    remote: bool
    cwd: StrPath | None
    add_dirs: Sequence[StrPath]
    worktree: str | bool
    project_config_root: StrPath | None
    env: Mapping[str, str | None]
    clean_env: bool
    client_app: str | None
    extra_args: Mapping[str, str | Sequence[str] | None]

    model: str | None
    fallback_model: str | Sequence[str] | None
    effort: Effort | None
    thinking: Thinking | None
    thinking_display: ThinkingDisplay | None
    max_turns: int | None
    max_budget_usd: float | None
    task_budget: int | None
    autocompact: AutoCompact | None
    advisor: str | None
    betas: Sequence[str]

    system_prompt: str | os.PathLike[str] | Sequence[str] | None
    append_system_prompt: str | os.PathLike[str] | None
    append_subagent_system_prompt: str | os.PathLike[str] | None
    exclude_dynamic_sections: bool
    system_prompt_snapshot: bool | None
    plan_mode_instructions: str | None
    json_schema: JSONObject | None
    verbatim_prompts: bool

    builtin_tools: Sequence[str] | Literal["default"] | None
    allowed_tools: Sequence[str]
    disallowed_tools: Sequence[str]
    permission_mode: PermissionMode | None
    allow_dangerously_skip_permissions: bool
    permission_prompts: PermissionPrompts | None
    tool_aliases: Mapping[str, str]
    question_preview_format: PreviewFormat | None

    mcp_servers: McpServers
    mcp_config: Sequence[StrPath]
    strict_mcp_config: bool
    agent: str | None
    agents: Mapping[str, AgentDefinition | JSONObject]
    plugins: Sequence[Plugin]
    plugin_urls: Sequence[str]
    plugin_delivery: PluginDelivery
    skills: Sequence[str] | Literal["all"] | None
    disable_slash_commands: bool

    setting_sources: Sequence[SettingSource] | None
    settings: JSONObject | StrPath | None
    managed_settings: JSONObject | None
    sandbox: SandboxSettings | JSONObject | None
    bare: bool
    safe_mode: bool
    restricted: bool

    resume: str | None
    continue_conversation: bool
    fork_session: bool
    session_id: str | None
    resume_session_at: str | None
    resume_drops_turn: str | None
    persist_session: bool
    session_mirror: bool
    title: str | None
    enable_file_checkpointing: bool

    include_partial_messages: bool
    include_hook_events: bool
    forward_subagent_text: bool
    replay_user_messages: bool
    prompt_suggestions: bool
    agent_progress_summaries: bool
    per_task_stop_affordance: bool
    supported_dialog_kinds: Sequence[str]
    enable_auth_status: bool
    debug: bool | str
    debug_file: StrPath | None
