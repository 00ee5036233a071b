"""The types of options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from ..wire import McpHttpServerConfig, McpSSEServerConfig, McpStdioServerConfig, PluginConfig

__all__ = [
    "CLI",
    "AutoCompact",
    "Effort",
    "JSONObject",
    "McpServer",
    "McpServers",
    "NamedServer",
    "PermissionPrompts",
    "Plugin",
    "PluginDelivery",
    "PreviewFormat",
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
