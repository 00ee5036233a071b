"""Python functions as tools of the model, served over MCP inside this process.

`tool` makes a tool of a function, `ToolServer` groups several, and servers of the `mcp` package can
be mounted whole. It uses `schemas`, `errors`, `concurrency` and `wire`. Start with `definition`.
"""

from __future__ import annotations

from .context import ToolContext
from .definition import AnyTool, Tool, ToolAnnotations, ToolSettings, tool
from .mcp_package import as_server
from .results import ToolError, ToolResult
from .server import ServerConnection, ToolServer

__all__ = [
    "AnyTool",
    "ServerConnection",
    "Tool",
    "ToolAnnotations",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "ToolServer",
    "ToolSettings",
    "as_server",
    "tool",
]
