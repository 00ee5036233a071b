"""Servers of the `mcp` package with real CLIs."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS

from claudewire.testing.api import APIToolUse
from claudewire.testing.cage import Cage

from .sessions import real_session

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real,
    # The `mcp` package warns of features that its next line drops.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def use(name: str, server: str = "claudewire", **input: Any) -> APIToolUse:
    return APIToolUse(f"mcp__{server}__{name}", input)


def told(cage: Cage, turn: int) -> str:
    """Return the tool results in one request to the model."""
    return str([result.get("content") for result in cage.turns[turn].tool_results])


OUTSIDE = """
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "outside", "version": "1"}
        can = {"tools": {}, "resources": {}}
        result = {"protocolVersion": version, "capabilities": can, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
    else:
        result = {"resources": [{"uri": "outside://one", "name": "one"}]}
    if id is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
"""


def library() -> Any:
    """Make a server of the installed line of the `mcp` package."""
    try:
        server = import_module("mcp.server.mcpserver").MCPServer("library")
    except ModuleNotFoundError:
        server = import_module("mcp.server.fastmcp").FastMCP("library")

    @server.tool()  # type: ignore[untyped-decorator]
    def find(title: str) -> str:
        """Find a book."""
        return f"{title} is on shelf 5"

    @server.resource("book://moby-dick")  # type: ignore[untyped-decorator]
    def moby_dick() -> str:
        return "Call me Ishmael."

    return server


@pytest.mark.parametrize("version", VERSIONS)
async def test_server_of_the_mcp_package_is_mounted(version: str) -> None:
    replies = [
        use("find", "library", title="Moby Dick"),
        APIToolUse("ListMcpResourcesTool", {"server": "library"}),
        APIToolUse("ReadMcpResourceTool", {"server": "library", "uri": "book://moby-dick"}),
    ]
    outside = {"command": sys.executable, "args": ["-c", OUTSIDE]}
    options = {
        # Old CLIs have tools for resources only if an outside server has resources.
        "mcp_servers": {"library": library(), **({} if version == NEWEST else {"out": outside})},
        "allowed_tools": ["mcp__library__find", "ListMcpResourcesTool", "ReadMcpResourceTool"],
    }
    async with real_session(version, replies, **options) as (session, cage):
        await session.ask("Go on.")
    assert "Moby Dick is on shelf 5" in told(cage, 1)
    assert "book://moby-dick" in told(cage, 2)
    assert "Call me Ishmael." in told(cage, 3)
