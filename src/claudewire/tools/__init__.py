"""Python functions as tools of the model, served over MCP inside this process.

`tool` makes a tool of a function, `ToolServer` groups several, and servers of the `mcp` package can
be mounted whole. It uses `schemas`, `content`, `errors`, `concurrency` and `wire`. Start with
`tool`.
"""

from __future__ import annotations

from .context import LogLevel, Send, ToolContext
from .definition import AnyTool, Tool, ToolAnnotations, ToolSettings, tool
from .host import ServerHost
from .mcp_package import as_server
from .results import ResourceLink, ToolError, ToolFile, ToolResult
from .server import SdkConnection, SdkServer, ToolConnection, ToolServer

__all__ = [
    "AnyTool",
    "LogLevel",
    "ResourceLink",
    "SdkConnection",
    "SdkServer",
    "Send",
    "ServerHost",
    "Tool",
    "ToolAnnotations",
    "ToolConnection",
    "ToolContext",
    "ToolError",
    "ToolFile",
    "ToolResult",
    "ToolServer",
    "ToolSettings",
    "as_server",
    "tool",
]
