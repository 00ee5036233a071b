"""Python functions as tools of real CLIs: what the model was told shows what became of a call."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import Annotated, Any, Literal

import anyio
import msgspec
import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS

from claudewire.errors import RequestError
from claudewire.testing.api import APIToolUse
from claudewire.testing.cage import Cage
from claudewire.tools import ToolServer, tool
from claudewire.wire import McpCall, McpReadResource

from .sessions import real_session

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real,
    # The `mcp` package warns of what its next line will not have.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

OLD, MIDDLE, _ = VERSIONS
CHANGING = [MIDDLE, NEWEST]
"""Those whose servers may change while they run."""


class Unit(Enum):
    METRES = "m"
    FEET = "ft"


@dataclass
class Point:
    x: float
    y: float = 0.0


@dataclass
class Distance:
    value: float
    unit: Unit
    rounded: bool


def distance(
    a: Point,
    b: Point,
    *,
    unit: Unit = Unit.METRES,
    digits: Annotated[int, msgspec.Meta(ge=0, le=9)] = 1,
    norm: Literal["euclid", "maximum"] = "euclid",
) -> Distance:
    """Say how far two points are from each other.

    Args:
        a: the one.
        b: the other.
        unit: of the result.
        digits: how many digits to keep.
        norm: how to measure.
    """
    sides = abs(a.x - b.x), abs(a.y - b.y)
    found = max(sides) if norm == "maximum" else (sides[0] ** 2 + sides[1] ** 2) ** 0.5
    return Distance(round(found, digits), unit, rounded=True)


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def use(name: str, server: str = "claudewire", **input: Any) -> APIToolUse:
    return APIToolUse(f"mcp__{server}__{name}", input)


def told(cage: Cage, turn: int = -1) -> list[Any]:
    """What the model was told with one request, for each tool that it had used."""
    return [result.get("content") for result in cage.turns[turn].tool_results]


PROGRAM = """
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
    elif method == "resources/list":
        result = {"resources": [{"uri": "outside://one", "name": "one"}]}
    else:
        result = {"content": [{"type": "text", "text": "from outside"}]}
    if id is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
"""
OUTSIDE = {"command": sys.executable, "args": ["-c", PROGRAM]}
"""A server that is a program."""


# --- functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_function_is_called_with_what_its_hints_say_and_the_model_is_told_of_them(
    version: str,
) -> None:
    wrong = use("distance", a={"x": "three"}, b={"x": 0}, digits=12)
    right = use("distance", a={"x": 3}, b={"x": 0, "y": 4}, unit="ft")
    given = {"tools": [tool(always_load=True)(distance)], "allowed_tools": [wrong.name]}
    async with real_session(version, [wrong, right], **given) as (session, cage):
        await session.ask("Go on.")

    (shown,) = [it for it in cage.turns[0].body["tools"] if it["name"].endswith("distance")]
    assert shown["name"] == "mcp__claudewire__distance"
    assert shown["description"] == "Say how far two points are from each other."
    schema = shown["input_schema"]
    assert schema["required"] == ["a", "b"]
    assert schema["properties"]["norm"]["enum"] == ["euclid", "maximum"]
    assert schema["properties"]["norm"]["description"] == "how to measure."

    complaint = str(told(cage, 1))
    assert "Invalid arguments for distance" in complaint
    assert "$.a.x" in complaint
    assert "$.digits" in complaint
    assert cage.turns[1].tool_results[0]["is_error"] is True

    (result,) = cage.turns[2].tool_results
    # Data is shown as JavaScript writes it, but by the oldest.
    value = "5.0" if version == OLD else "5"
    assert f'{{"value":{value},"unit":"ft","rounded":true}}' in str(result["content"])
    assert not result.get("is_error")


# --- cancelling ----------------------------------------------------------------------------------


# --- servers -------------------------------------------------------------------------------------


def library() -> Any:
    """A server of the `mcp` package, of whichever line is there."""
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

    @server.resource("ui://shelf")  # type: ignore[untyped-decorator]
    def shelf() -> str:
        return "<ol></ol>"

    return server


READ_MOBY_DICK = APIToolUse("ReadMcpResourceTool", {"server": "library", "uri": "book://moby-dick"})


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_server_of_the_mcp_package_is_mounted_with_its_resources(version: str) -> None:
    replies = [
        use("find", "library", title="Moby Dick"),
        APIToolUse("ListMcpResourcesTool", {"server": "library"}),
        READ_MOBY_DICK,
    ]
    options = {
        # Old ones have tools for resources only if a server outside has any.
        "mcp_servers": {
            "library": library(),
            **({} if version == NEWEST else {"outside": OUTSIDE}),
        },
        "allowed_tools": ["mcp__library__find", "ListMcpResourcesTool", "ReadMcpResourceTool"],
    }
    async with real_session(version, replies, **options) as (session, cage):
        await session.ask("Go on.")
    assert "Moby Dick is on shelf 5" in str(told(cage, 1))
    assert "book://moby-dick" in str(told(cage, 2))
    assert "Call me Ishmael." in str(told(cage, 3))


async def test_what_the_host_has_itself_the_newest_does_not_call_or_read_for_it() -> None:
    async with real_session(NEWEST, tools=[add], mcp_servers=[library()]) as (session, _):
        await session.ask("Hello.")  # before, its servers may not be connected
        with pytest.raises(RequestError, match="does not support SDK MCP servers"):
            await session.request(McpCall("mcp__claudewire__add", {"a": 2, "b": 3}))
        with pytest.raises(RequestError, match="does not support SDK MCP servers"):
            await session.request(McpReadResource("library", "ui://shelf"))


# --- servers that change -------------------------------------------------------------------------


@pytest.mark.parametrize("version", CHANGING)
async def test_a_mounted_server_goes_on_with_a_call_when_another_is_added(version: str) -> None:
    began, goes_on = anyio.Event(), anyio.Event()
    server = library()

    @server.tool()  # type: ignore[untyped-decorator]
    async def wait() -> str:
        """Wait."""
        began.set()
        await goes_on.wait()
        return "waited"

    replies = [use("wait", "library"), use("find", "library", title="Emma")]
    given = {"mcp_servers": [server], "allowed_tools": ["mcp__library"]}
    async with real_session(version, replies, **given) as (session, cage):
        turn = session.send("Go on.")
        await began.wait()
        await session.add_server(ToolServer("two", [add]))
        goes_on.set()
        await turn
    assert "waited" in str(told(cage, 1))
    assert "Emma is on shelf 5" in str(told(cage, 2))


# --- output --------------------------------------------------------------------------------------
