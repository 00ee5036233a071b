"""Options of a session, checked before anything starts.

`Options` declares every option once and is frozen; a wrong value raises `OptionsError`. It uses
`approvals`, `hooks`, `tools` and lower packages. Start with `options`.
"""

from __future__ import annotations

from .agents import Agent, AgentMemory, AgentServer, check_agents
from .checks import checked
from .options import (
    DECLARATIONS,
    TOOLS_SERVER,
    Options,
    OptionsDict,
    OptionsWithoutOutput,
    check_options,
    configured_servers,
    given_options,
    hosted_servers,
)
from .types import (
    CLI,
    AutoCompact,
    Effort,
    JSONObject,
    McpServer,
    McpServers,
    NamedServer,
    PermissionPrompts,
    Plugin,
    PreviewFormat,
    SettingSource,
    StallTimeouts,
    StrPath,
    Thinking,
    ThinkingDisplay,
    Timeouts,
    UnreadLimit,
    WaitingFor,
)

__all__ = [
    "CLI",
    "DECLARATIONS",
    "TOOLS_SERVER",
    "Agent",
    "AgentMemory",
    "AgentServer",
    "AutoCompact",
    "Effort",
    "JSONObject",
    "McpServer",
    "McpServers",
    "NamedServer",
    "Options",
    "OptionsDict",
    "OptionsWithoutOutput",
    "PermissionPrompts",
    "Plugin",
    "PreviewFormat",
    "SettingSource",
    "StallTimeouts",
    "StrPath",
    "Thinking",
    "ThinkingDisplay",
    "Timeouts",
    "UnreadLimit",
    "WaitingFor",
    "check_agents",
    "check_options",
    "checked",
    "configured_servers",
    "given_options",
    "hosted_servers",
]
