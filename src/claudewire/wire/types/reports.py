"""The longer answers of the CLI: context, usage, settings, hooks and permission rules."""

from __future__ import annotations

from typing import Any

from .base import Number, Record, nullable
from .usage import SessionUsage

__all__ = [
    "ContextCategory",
    "ContextUsageResult",
    "GetSettingsResult",
    "GetUsageResult",
    "HookEventInfo",
    "HookInfo",
    "HooksListingResult",
    "PermissionRuleEntry",
    "PermissionRulesResult",
    "PermissionRulesState",
    "SettingsParseError",
    "SettingsSource",
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
    """What may run without asking, and what may not run."""

    state: PermissionRulesState | None = None
