"""Python functions as tools, and MCP servers."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import pytest

from claudewire import ImageBlock, image
from claudewire.errors import RequestError, UnsupportedRequest
from claudewire.testing.api import APIReply
from claudewire.tools import ToolContext, ToolError, ToolServer, tool

from .behaviour import alone, shared
from .common import PNG, called
from .stage import Stage

PROGRAM = """
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "outside", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
    else:
        result = {"content": [{"type": "text", "text": "from outside"}]}
    if id is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
"""
OUTSIDE = {"command": sys.executable, "args": ["-c", PROGRAM]}
"""A server that is a program."""


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


def fail() -> None:
    """Fail."""
    raise RuntimeError("the disk is full")


def refuse() -> None:
    """Refuse."""
    raise ToolError("There is nobody of that name.")


def paint() -> list[str | ImageBlock]:
    """Paint a picture."""
    return ["This is it:", image(PNG)]


def point() -> dict[str, float]:
    """Return a point."""
    return {"x": 2.5, "y": 4}


ALLOWED = ("claudewire", "products", "outside", "spare", "late", "program", "reused")


class Slow:
    """A tool that takes for ever."""

    def __init__(self) -> None:
        self.began, self.ended = anyio.Event(), anyio.Event()

    async def sleep(self) -> None:
        """Sleep."""
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()


@tool(timeout=0.2)
async def linger() -> None:
    """Take too long."""
    await anyio.sleep_forever()


def options(stage: Stage) -> dict[str, Any]:
    """The options of the session that these behaviours share."""

    def look(context: ToolContext) -> str:
        """Look around."""
        context.progress(1, 2, "halfway")
        return f"{context.session is stage.session} {context.tool_use_id}"

    return {
        **stage.handlers,
        "tools": [
            add,
            fail,
            refuse,
            paint,
            point,
            linger,
            look,
            ToolServer("products", [multiply]),
        ],
        "mcp_servers": {"outside": OUTSIDE, "spare": ToolServer("spare", [add])},
        "allowed_tools": [f"mcp__{it}" for it in ALLOWED],
    }


@shared("The model calls a Python function", [called("add", a=2, b=3), "It is 5."])
async def function(stage: Stage) -> None:
    assert (await stage.ask()).text == "It is 5."
    assert stage.told == ["5"]


@shared("The model is told where its arguments are wrong", [called("add", a="two", b=3), "Sorry."])
async def wrong_arguments(stage: Stage) -> None:
    await stage.ask()
    assert "Invalid arguments for add" in stage.told[0]
    assert stage.results[0]["is_error"] is True


@shared("The model is told when a function fails", [[called("fail"), called("refuse")], "Oh."])
async def function_fails(stage: Stage) -> None:
    await stage.ask()
    failed, refused = stage.told
    assert "The tool failed: the disk is full" in failed
    assert "There is nobody of that name." in refused
    assert all(it["is_error"] for it in stage.results)


@shared("A function returns a picture", [called("paint"), "Nice."])
async def picture(stage: Stage) -> None:
    await stage.ask()
    (result,) = stage.results
    assert "image" in [block["type"] for block in result["content"]]


@shared("A function returns data", [called("point"), "There."])
async def data(stage: Stage) -> None:
    await stage.ask()
    assert '"x":2.5' in stage.told[0].replace(" ", "")


@shared("A function that takes too long is stopped", [called("linger"), "Well."])
async def function_timeout(stage: Stage) -> None:
    await stage.ask()
    assert "took longer than 0.2 s" in stage.told[0]


@shared("A function knows its session and its call", [called("look"), "Done."])
async def function_context(stage: Stage) -> None:
    await stage.ask()
    assert stage.told == [f"True {stage.results[0]['tool_use_id']}"]


@shared(
    "Functions of two servers run in one turn",
    [APIReply(called("add", a=2, b=3), called("multiply", "products", a=2, b=3)), "Done."],
)
async def two_servers(stage: Stage) -> None:
    await stage.ask()
    assert sorted(stage.told) == ["5", "6"]


@shared("An MCP server that is a program is used", [called("add", "outside", a=1, b=2), "Done."])
async def outside(stage: Stage) -> None:
    await stage.ask()
    assert stage.told == ["from outside"]


@shared("The status of MCP servers is known")
async def status(stage: Stage) -> None:
    found = await stage.session.mcp_status()
    servers = {it.name: it.status for it in found.mcp_servers or ()}
    assert servers["outside"] == "connected"
    assert "claudewire" in servers


async def works(stage: Stage, key: str) -> bool:
    """Return whether the tool that a prompt leads to exists."""
    before = len(stage.results)
    await stage.ask(key)
    return "No such tool" not in str(stage.results[before:])


@shared(
    "A server is added while the session runs, and removed",
    {
        "a": [called("add", "late", a=2, b=3), "Done."],
        "b": [called("add", "late", a=2, b=3), "Done."],
    },
)
async def server_added(stage: Stage) -> None:
    await stage.session.add_server(ToolServer("late", [add]))
    assert await works(stage, "a")
    assert stage.told == ["5"]
    await stage.session.remove_server("late")
    assert not await works(stage, "b")


@shared(
    "A server that is a program is added while the session runs",
    [called("add", "program", a=2, b=3), "Done."],
)
async def program_added(stage: Stage) -> None:
    await stage.session.add_server(OUTSIDE, "program")
    try:
        await stage.ask()
        assert stage.told == ["from outside"]
    finally:
        await stage.session.remove_server("program")


@shared(
    "Another server can have the name of one that was removed",
    {
        "a": [called("add", "reused", a=2, b=3), "Done."],
        "b": [called("add", "reused", a=2, b=3), "Done."],
    },
    deviates=frozenset({"2.1.100", "2.1.197"}),
)
async def name_reused(stage: Stage) -> None:
    await stage.session.add_server(ToolServer("reused", [add]))
    await stage.ask("a")
    await stage.session.remove_server("reused")
    await stage.session.add_server(OUTSIDE, "reused")
    try:
        await stage.ask("b")
    finally:
        await stage.session.remove_server("reused")
    if stage.told[-1] != "from outside":
        stage.deviates("the new server is not called: it goes on with the one that was removed")
    assert stage.told == ["5", "from outside"]


@shared("A server that does not start is not added")
async def broken_server(stage: Stage) -> None:
    program = {"command": sys.executable, "args": ["-c", ""]}
    with pytest.raises(RequestError) as caught:
        await stage.session.add_server(program, "broken")
    if isinstance(caught.value, UnsupportedRequest):
        raise caught.value
    assert "could not connect to the MCP server broken" in str(caught.value)


@shared(
    "A server is switched off and on",
    {
        "a": [called("add", "spare", a=1, b=1), "Done."],
        "b": [called("add", "spare", a=1, b=1), "Done."],
    },
)
async def toggled(stage: Stage) -> None:
    await stage.session.toggle_server("spare", False)
    assert not await works(stage, "a")
    await stage.session.toggle_server("spare", True)
    assert await works(stage, "b")


@shared("A server is connected again", since="2.1.197")
async def reconnected(stage: Stage) -> None:
    try:
        await stage.session.reconnect_server("outside")
    except RequestError as error:
        stage.lacks(f"`{type(error).__name__}`: {error.message}")
    found = await stage.session.mcp_status()
    assert {it.name: it.status for it in found.mcp_servers or ()}["outside"] == "connected"


@alone(
    "Servers that were added and switched off are so after a restart",
    {
        "a": [called("add", "late", a=2, b=3), "Done."],
        "b": [called("add", "one", a=2, b=3), "Done."],
    },
)
async def servers_restarted(stage: Stage) -> None:
    servers = {
        "mcp_servers": [ToolServer("one", [add])],
        "allowed_tools": ["mcp__one", "mcp__late"],
    }
    async with stage.open(**servers) as session:
        await session.send("Hello")
        await session.add_server(ToolServer("late", [add]))
        await session.toggle_server("one", False)
        await session.restart()
        assert await works(stage, "a")
        assert not await works(stage, "b")
