"""Settings of a session: agents, plugins and MCP servers."""

from __future__ import annotations

from typing import Any

import msgspec

from .base import Number, Record


class McpServerToolPolicy(Record):
    """The permission of one tool of a server."""

    name: str
    permission_policy: str | None = None
    """always_allow, always_ask or always_deny."""
    org_max_permission: str | None = None
    """allow, ask or blocked."""


class McpStdioServerConfig(Record):
    """An MCP server that the CLI starts as a process; `type` is often left out."""

    command: str
    args: list[str] | None = None
    env: dict[str, str] | None = None
    type: str | None = None
    timeout: Number | None = None
    always_load: bool | None = msgspec.field(name="alwaysLoad", default=None)


class _RemoteServerConfig(Record, tag_field="type"):
    """An MCP server reached over HTTP."""

    url: str
    headers: dict[str, str] | None = None
    tools: list[McpServerToolPolicy] | None = None
    timeout: Number | None = None
    always_load: bool | None = msgspec.field(name="alwaysLoad", default=None)


class McpSSEServerConfig(_RemoteServerConfig, tag="sse"):
    """An MCP server reached over server-sent events."""


class McpHttpServerConfig(_RemoteServerConfig, tag="http"):
    """An MCP server reached over streamable HTTP."""


class SdkMcpServerConfig(Record, rename="camel"):
    """Settings of a server inside the host, in `initialize`."""

    timeout: Number | None = None
    tools: list[McpServerToolPolicy] | None = None
    on_persons_machine: bool | None = None


class McpServerManifest(Record, rename="camel"):
    """The answers of a server inside the host to the handshake, sent in advance."""

    initialize_result: dict[str, Any]
    tools_list_result: dict[str, Any] | None = None


def _local() -> str:
    return "local"


class PluginConfig(Record, rename="camel"):
    """A plugin in a local directory."""

    path: str
    skip_mcp_discovery: bool | None = None
    type: str = msgspec.field(default_factory=_local)


class AgentDefinition(Record, rename="camel"):
    """A subagent: its purpose, its prompt and its limits."""

    description: str | None = None
    prompt: str | None = None
    tools: list[str] | None = None
    disallowed_tools: list[str] | None = None
    model: str | None = None
    mcp_servers: list[str | dict[str, Any]] | None = None
    """Names of servers of the session, or definitions by name."""
    critical_system_reminder: str | None = msgspec.field(
        name="criticalSystemReminder_EXPERIMENTAL", default=None
    )
    skills: list[str] | None = None
    initial_prompt: str | None = None
    max_turns: int | None = None
    auto_compact_window: int | None = None
    background: bool | None = None
    omit_claude_md: bool | None = None
    memory: str | None = None
    """user, project or local."""
    effort: str | int | None = None
    """low, medium, high, xhigh, max, or a number."""
    permission_mode: str | None = None
    observer: str | None = None
    observer_message: str | None = None
