"""Python functions as tools of real CLIs: what the model was told shows what became of a call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import Annotated, Any, Literal

import anyio
import msgspec
import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS

import claudewire
from claudewire.content import Image
from claudewire.errors import CLIError, RequestError, UnsupportedRequest
from claudewire.options import Options
from claudewire.session import Session
from claudewire.testing.api import APIReply, APIScript, APIToolUse, structured_output
from claudewire.testing.cage import Cage
from claudewire.tools import ToolContext, ToolError, ToolFile, ToolServer, tool
from claudewire.wire import McpCall, McpReadResource

from .sessions import caged, open_cage, real_session

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.real,
    # The `mcp` package warns of what its next line will not have.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

OLD, MIDDLE, _ = VERSIONS
CHANGING = [MIDDLE, NEWEST]
"""Those whose servers may change while they run."""

PNG = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDAT"
    b"x\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\r\xefF\xb8\0\0\0\0IEND\xaeB`\x82"
)


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


def text(words: str) -> list[Any]:
    return [{"type": "text", "text": words}]


async def outcome(version: str, called: APIToolUse, **options: Any) -> dict[str, Any]:
    """What the model is told about one call."""
    given = {"allowed_tools": [called.name], **options}
    async with real_session(version, [called], **given) as (session, cage):
        reply = await session.ask("Go on.")
    assert reply.text == "Done."
    (result,) = cage.turns[-1].tool_results
    return result


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
async def test_the_model_is_shown_what_the_function_says_of_itself(version: str) -> None:
    shown = tool(always_load=True)(distance)
    async with real_session(version, tools=[shown]) as (session, cage):
        await session.ask("Go on.")
    (found,) = [it for it in cage.turns[0].body["tools"] if it["name"].endswith("distance")]
    assert found["name"] == "mcp__claudewire__distance"
    assert found["description"] == "Say how far two points are from each other."
    schema = found["input_schema"]
    assert schema["required"] == ["a", "b"]
    assert schema["properties"]["norm"]["enum"] == ["euclid", "maximum"]
    assert schema["properties"]["norm"]["description"] == "how to measure."


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_function_is_called_with_what_its_hints_say(version: str) -> None:
    called = use("distance", a={"x": 3}, b={"x": 0, "y": 4}, unit="ft")
    result = await outcome(version, called, tools=[distance])
    # Data is shown as JavaScript writes it, but by the oldest.
    value = "5.0" if version == OLD else "5"
    assert f'{{"value":{value},"unit":"ft","rounded":true}}' in str(result["content"])
    assert not result.get("is_error")


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_model_is_told_where_its_arguments_are_wrong(version: str) -> None:
    wrong = use("distance", a={"x": "three"}, b={"x": 0}, digits=12)
    right = use("distance", a={"x": 3}, b={"x": 0}, digits=2)
    async with real_session(
        version, [wrong, right], tools=[distance], allowed_tools=[wrong.name]
    ) as (session, cage):
        await session.ask("Go on.")
    complaint, success = str(told(cage, 1)), str(told(cage, 2))
    assert "Invalid arguments for distance" in complaint
    assert "$.a.x" in complaint
    assert "$.digits" in complaint
    assert cage.turns[1].tool_results[0]["is_error"] is True
    assert '"value":3' in success


def fail() -> None:
    raise RuntimeError("the disk is full")


def refuse() -> None:
    raise ToolError("There is nobody of that name.")


def paint() -> list[str | Image]:
    return ["This is it:", Image.of(PNG)]


def shop() -> ToolFile:
    return ToolFile(b"milk, bread\n", "list.txt", "text/plain")


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_model_gets_errors_pictures_and_files(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    functions = [fail, refuse, paint, shop]
    replies = [use(function.__name__) for function in functions]
    given = {"tools": functions, "allowed_tools": [reply.name for reply in replies]}
    async with real_session(version, replies, **given) as (session, cage):
        assert (await session.ask("Go on.")).text == "Done."
    failed, refused, painted, bought = (turn.tool_results[0] for turn in cage.turns[1:])
    assert (failed["is_error"], refused["is_error"]) == (True, True)
    assert "The tool failed: the disk is full" in str(failed["content"])
    assert "RuntimeError" in caplog.text
    assert "There is nobody of that name." in str(refused["content"])
    words, picture = painted["content"][:2]  # the newest adds where it has put the picture
    assert words == text("This is it:")[0]
    assert (picture["type"], picture["source"]["type"]) == ("image", "base64")
    assert picture["source"]["data"]
    assert "milk, bread" in str(bought["content"])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_tool_knows_its_call(version: str) -> None:
    seen: list[tuple[Session | None, str | None]] = []

    def look(context: ToolContext) -> str:
        context.progress(1, 2, "halfway")
        context.log("info", "looking")
        seen.append((context.session, context.tool_use_id))
        return "seen"

    called = APIToolUse("mcp__claudewire__look", {}, id="toolu_look")
    async with real_session(version, [called], tools=[look], allowed_tools=[called.name]) as (
        session,
        cage,
    ):
        await session.ask("Go on.")
        await session.ask("Are you still there?")
    assert seen == [(session, "toolu_look")]
    assert cage.turns[1].tool_results[0]["content"] == text("seen")


# --- cancelling ----------------------------------------------------------------------------------


class Slow:
    """A tool that takes for ever."""

    def __init__(self) -> None:
        self.began = anyio.Event()
        self.ended = anyio.Event()

    async def sleep(self) -> None:
        """Sleep."""
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_interrupt_cancels_a_slow_tool(version: str) -> None:
    slow = Slow()
    called = use("sleep")
    async with real_session(version, [called], tools=[slow.sleep], allowed_tools=[called.name]) as (
        session,
        _,
    ):
        turn = session.send("Go on.")
        await slow.began.wait()
        await session.interrupt()
        await slow.ended.wait()
        assert not (await turn).ok
        assert (await session.ask("And now?")).text == "Done."


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_tool_that_takes_too_long_is_stopped(version: str) -> None:
    slow = Slow()
    result = await outcome(version, use("sleep"), tools=[tool(timeout=0.1)(slow.sleep)])
    assert slow.ended.is_set()
    assert result["is_error"] is True
    assert "took longer than 0.1 s" in str(result["content"])


# --- servers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_two_servers_are_used_in_one_turn(version: str) -> None:
    def multiply(a: int, b: int) -> int:
        """Multiply two numbers."""
        return a * b

    servers = [ToolServer("sums", [add]), ToolServer("products", [multiply])]
    both = APIReply(use("add", "sums", a=2, b=3), use("multiply", "products", a=2, b=3))
    async with real_session(
        version, [both], mcp_servers=servers, allowed_tools=["mcp__sums", "mcp__products"]
    ) as (session, cage):
        await session.ask("Go on.")
    assert told(cage) == [text("5"), text("6")]


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


class Calls:
    """A session whose model calls `add` of any server."""

    def __init__(self, session: Session, cage: Cage) -> None:
        self.session, self.cage = session, cage

    async def works(self, server: str) -> bool:
        await self.session.ask(f"Use {server}.")
        (result,) = told(self.cage)
        assert "No such tool" in str(result) or not self.cage.turns[-1].tool_results[0].get(
            "is_error"
        )
        return "No such tool" not in str(result)


def every_server(*names: str) -> APIScript:
    script = APIScript(default="Done.")
    for name in names:
        called = use("add", name, a=1, b=2)
        script.on(f"Use {name}.", called, "Done.", called, "Done.")
    return script


def allowing(*names: str) -> dict[str, Any]:
    return {"allowed_tools": [f"mcp__{name}" for name in names]}


@pytest.mark.parametrize("version", CHANGING)
@pytest.mark.parametrize("make", [lambda: ToolServer("two", [add]), None])
async def test_servers_come_and_go(version: str, make: Callable[[], Any] | None) -> None:
    server = OUTSIDE if make is None else make()
    given = {"mcp_servers": [ToolServer("one", [add])], **allowing("one", "two")}
    async with real_session(version, every_server("one", "two"), **given) as (session, cage):
        calls = Calls(session, cage)
        assert await session.add_server(server, "two") == "two"
        assert await calls.works("two")
        assert await calls.works("one")
        await session.remove_server("two")
        assert not await calls.works("two")
        assert await calls.works("one")


@pytest.mark.parametrize("version", CHANGING)
async def test_a_server_is_switched_off_and_on(version: str) -> None:
    given = {"mcp_servers": [ToolServer("one", [add])], **allowing("one")}
    async with real_session(version, every_server("one"), **given) as (session, cage):
        calls = Calls(session, cage)
        await session.toggle_server("one", False)
        assert not await calls.works("one")
        await session.toggle_server("one", True)
        assert await calls.works("one")


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


@pytest.mark.parametrize("version", CHANGING)
async def test_a_server_that_does_not_start_is_not_added(version: str) -> None:
    async with real_session(version) as (session, _):
        with pytest.raises(RequestError, match="could not connect to the MCP server broken"):
            await session.add_server({"command": sys.executable, "args": ["-c", ""]}, "broken")
        status = await session.mcp_status()
    assert status.mcp_servers == []


@pytest.mark.parametrize("version", CHANGING)
async def test_another_cli_gets_the_servers_as_they_are_by_now(version: str) -> None:
    given = {"mcp_servers": [ToolServer("one", [add])], **allowing("one", "two", "three")}
    script = every_server("one", "two", "three")
    async with real_session(version, script, **given) as (session, cage):
        await session.ask("Hello.")
        await session.add_server(ToolServer("two", [add]))
        await session.add_server(OUTSIDE, "three")
        await session.toggle_server("one", False)
        await session.restart()
        calls = Calls(session, cage)
        assert [await calls.works(name) for name in ("one", "two", "three")] == [False, True, True]
        await session.toggle_server("one", True)
        assert await calls.works("one")


async def test_an_old_cli_keeps_the_servers_that_it_has() -> None:
    given = {"mcp_servers": [ToolServer("one", [add])], **allowing("one")}
    async with real_session(OLD, every_server("one"), **given) as (session, cage):
        assert await Calls(session, cage).works("one")
        with pytest.raises(UnsupportedRequest):
            await session.add_server(ToolServer("two", [add]))
        assert await Calls(session, cage).works("one")


# --- output --------------------------------------------------------------------------------------


async def run(version: str, cage: Cage, **options: Any) -> claudewire.Reply[Distance]:
    given: Options = caged(cage, version, **options)
    with anyio.fail_after(60):
        return await claudewire.run("How far is it?", given, output=Distance)


@pytest.mark.parametrize("version", CHANGING)
async def test_the_output_is_of_the_type_that_was_asked_for(version: str) -> None:
    wrong = structured_output({"value": "far", "unit": "m", "rounded": False})
    right = structured_output({"value": 2.5, "unit": "ft", "rounded": False})
    with open_cage(version, [wrong, right]) as cage:
        reply = await run(version, cage)
    assert reply.output == Distance(2.5, Unit.FEET, rounded=False)
    assert "value" in str(told(cage, 1))


async def test_an_old_cli_gives_no_output_and_that_is_said_before_it_is_asked() -> None:
    with open_cage(OLD, ["It is far."]) as cage:
        with pytest.raises(CLIError, match="too old for output"):
            await run(OLD, cage)
        assert cage.turns == []
