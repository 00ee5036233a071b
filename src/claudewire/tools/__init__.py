"""Python functions as tools of the model, served over MCP inside this process.

`tool` makes a tool of a function, `ToolServer` groups several, and servers of the `mcp` package can
be mounted whole. It uses `schemas`, `content`, `errors` and `wire`. Start with `tool`.
"""

from __future__ import annotations

from .definition import (
    ResourceLink,
    Tool,
    ToolAnnotations,
    ToolContext,
    ToolError,
    ToolFile,
    ToolResult,
    ToolSettings,
    tool,
)
from .host import ServerHost
from .mcp_package import as_server
from .server import AnyTool, ToolServer

__all__ = [
    "AnyTool",
    "ResourceLink",
    "ServerHost",
    "Tool",
    "ToolAnnotations",
    "ToolContext",
    "ToolError",
    "ToolFile",
    "ToolResult",
    "ToolServer",
    "ToolSettings",
    "as_server",
    "tool",
]
