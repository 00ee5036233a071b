"""What a session can be asked for, checked before anything starts.

`Options` declares every option once and is frozen; a wrong value raises `OptionsError`. It uses
`people`, `hooks`, `tools` and what is below them. Start with `options`, then `declaration`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports
from .checks import seconds, whole_number
from .frozen import thaw
from .limits import Patience, Timeouts, Unread, WaitingFor
from .options import (
    DECLARATIONS,
    TOOLS_SERVER,
    Options,
    check_options,
    configured_servers,
    given_options,
    hosted_servers,
    option_of,
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
    PluginDelivery,
    PreviewFormat,
    SettingSource,
    StrPath,
    Thinking,
    ThinkingDisplay,
)
from .versions import MEASURED, may_ignore, unsupported

if TYPE_CHECKING:
    from .agents import Agent, AgentMemory, AgentMode, AgentServer, check_agents
    from .keywords import (
        OptionsDict,
        OptionsWithoutOutput,
        SandboxNetworkSettings,
        SandboxSettings,
    )

__all__ = [
    "CLI",
    "DECLARATIONS",
    "MEASURED",
    "TOOLS_SERVER",
    "Agent",
    "AgentMemory",
    "AgentMode",
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
    "Patience",
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
    "Timeouts",
    "Unread",
    "WaitingFor",
    "check_agents",
    "check_options",
    "configured_servers",
    "given_options",
    "hosted_servers",
    "may_ignore",
    "option_of",
    "seconds",
    "thaw",
    "unsupported",
    "whole_number",
]

if not TYPE_CHECKING:  # most sessions define no agents, and only type checkers need the keywords
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            ".agents": "Agent AgentMemory AgentMode AgentServer check_agents",
            ".keywords": "OptionsDict OptionsWithoutOutput SandboxNetworkSettings SandboxSettings",
        },
    )
