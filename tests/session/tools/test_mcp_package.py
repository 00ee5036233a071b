"""Servers of the `mcp` package, mounted whole, in both versions of the package."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import anyio
import anyio.abc
import pytest
from tests.helpers.peer import SOON

from claudewire.tools import ServerConnection, as_server, tool

pytestmark = [
    pytest.mark.anyio,
    # The package warns of features that its next version will not have.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

UNKNOWN_METHOD = -32601 if find_spec("mcp.server.mcpserver") else -32602
"""Version 1 says that the parameters are wrong."""

Message = dict[str, Any]

SETUP = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "claude-code", "version": "2.1.325"},
}


def new_server(name: str = "calc") -> Any:
    """Make a server with decorators, of the installed version."""
    try:
        return import_module("mcp.server.mcpserver").MCPServer(name)
    except ModuleNotFoundError:
        return import_module("mcp.server.fastmcp").FastMCP(name)


def context_class() -> Any:
    try:
        return import_module("mcp.server.mcpserver").Context
    except ModuleNotFoundError:
        return import_module("mcp.server.fastmcp").Context


class Sleeping:
    """The state of a tool that waits."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.ended = anyio.Event()


async def add(a: int, b: int) -> str:
    return str(a + b)


async def fail() -> str:
    raise ValueError("no")


async def report(context: Any) -> str:
    await context.report_progress(1, 2)
    return "reported"


async def ping(context: Any) -> str:
    return type(await context.request_context.session.send_ping()).__name__


async def roots(context: Any) -> str:
    await context.request_context.session.list_roots()
    return "there are some"


for _function in (report, ping, roots):
    _function.__annotations__["context"] = context_class()


def note() -> str:
    return "a note"


def greet(name: str) -> str:
    return f"Greet {name}"


def calculator(sleeping: Sleeping | None = None) -> Any:
    """Make a server with tools, a resource and a prompt."""
    server = new_server()
    marks = sleeping or Sleeping()

    async def sleep() -> str:
        marks.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            marks.ended.set()
        return "woken"

    for function in (add, fail, report, ping, roots, sleep):
        server.tool()(function)
    server.resource("note://one")(note)
    server.prompt()(greet)
    return server


class Client:
    """A CLI as a server sees it."""

    def __init__(self, connection: ServerConnection, heard: list[Message]) -> None:
        self.connection = connection
        self.heard = heard
        self.answers: list[Message] = []
        self.greeting: Message = {}

    async def ask(self, method: str, id: Any = 1, **params: Any) -> Message:
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        with anyio.fail_after(SOON):
            response = await self.connection.handle(message)
        assert response["id"] == id
        return response

    async def result(self, method: str, **params: Any) -> Any:
        return (await self.ask(method, **params))["result"]

    async def sleep(self, id: int) -> None:
        """Call the tool that waits, and note the answer."""
        self.answers.append(await self.ask("tools/call", id, name="sleep", arguments={}))

    async def tell(self, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        await self.connection.handle(message)

    async def text(self, tool: str, **arguments: Any) -> str:
        result = await self.result("tools/call", name=tool, arguments=arguments)
        return f"{'! ' if result.get('isError') else ''}{result['content'][0]['text']}"


@asynccontextmanager
async def connected(server: Any) -> AsyncIterator[Client]:
    heard: list[Message] = []
    connection = as_server(server).attach(heard.append)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        client = Client(connection, heard)
        client.greeting = (await client.ask("initialize", 0, **SETUP))["result"]
        await client.tell("notifications/initialized")
        yield client
        await connection.aclose()


async def test_the_handshake_is_the_server_s_own() -> None:
    async with connected(calculator()) as client:
        result = client.greeting
    assert result["protocolVersion"] == "2025-11-25"
    assert result["serverInfo"]["name"] == "calc"
    assert {"tools", "resources", "prompts"} <= set(result["capabilities"])


async def test_tools_resources_and_prompts_are_served() -> None:
    async with connected(calculator()) as client:
        listed = await client.result("tools/list")
        assert [tool["name"] for tool in listed["tools"]][:2] == ["add", "fail"]
        assert await client.text("add", a=1, b=2) == "3"
        (content,) = (await client.result("resources/read", uri="note://one"))["contents"]
        assert content["text"] == "a note"
        got = await client.result("prompts/get", name="greet", arguments={"name": "Ada"})
        assert got["messages"][0]["content"]["text"] == "Greet Ada"
        assert await client.result("ping") == {}


async def test_errors_are_the_server_s_own() -> None:
    async with connected(calculator()) as client:
        assert "integer" in await client.text("add", a="x", b=2)
        assert (await client.text("fail")).startswith("! ")
        assert (await client.ask("unheard/of"))["error"]["code"] == UNKNOWN_METHOD


async def test_notifications_of_the_server_reach_the_client() -> None:
    async with connected(calculator()) as client:
        meta = {"progressToken": 9}
        result = await client.result("tools/call", name="report", arguments={}, _meta=meta)
        assert result["content"][0]["text"] == "reported"
    (message,) = client.heard
    assert message["method"] == "notifications/progress"
    assert message["params"] == {"progressToken": 9, "progress": 1, "total": 2}


async def test_a_server_may_ping_the_client_and_nothing_more() -> None:
    async with connected(calculator()) as client:
        assert await client.text("ping") == "EmptyResult"
        answer = await client.ask("tools/call", name="roots", arguments={})
        assert "Method not found: roots/list" in str(answer)


async def test_a_cancelled_call_is_stopped_and_answered() -> None:
    sleeping = Sleeping()
    async with connected(calculator(sleeping)) as client:
        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.sleep, 7)
                await sleeping.started.wait()
                await client.tell("notifications/cancelled", requestId=8)
                await client.tell("notifications/cancelled", requestId=7)
            await sleeping.ended.wait()
        assert await client.text("add", a=1, b=1) == "2"
    assert client.answers == [
        {"jsonrpc": "2.0", "id": 7, "error": {"code": -32800, "message": "Request cancelled"}}
    ]


async def test_closing_cancels_open_calls_and_refuses_others() -> None:
    sleeping = Sleeping()
    with anyio.fail_after(SOON):
        async with connected(calculator(sleeping)) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.sleep, 7)
            await sleeping.started.wait()
            await client.connection.aclose()
    assert client.answers[0]["error"] == {"code": -32800, "message": "Request cancelled"}
    assert sleeping.ended.is_set()
    assert (await client.ask("ping"))["error"] == {
        "code": -32603,
        "message": "The MCP server calc has ended",
    }
    await client.tell("notifications/initialized")


async def test_a_repeated_handshake_does_not_mix_up_calls() -> None:
    """The CLI repeats all handshakes when a server is added, and then counts from 0 again."""
    sleeping = Sleeping()
    with anyio.fail_after(SOON):
        async with connected(calculator(sleeping)) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.sleep, 2)
            await sleeping.started.wait()
            async with anyio.create_task_group() as greetings:
                for _ in range(2):
                    greetings.start_soon(lambda: client.ask("initialize", 0, **SETUP))
            await client.tell("notifications/initialized")
            add = {"name": "add", "arguments": {"a": 1, "b": 1}}
            assert (await client.ask("tools/call", 2, **add))["result"]["content"][0]["text"] == "2"
            assert client.answers == []
            tasks.cancel_scope.cancel()
        assert sleeping.ended.is_set()


async def test_a_failed_handshake_may_be_tried_again() -> None:
    connection = as_server(calculator()).attach()
    client = Client(connection, [])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        assert "error" in await client.ask("initialize", 0, protocolVersion=5)
        assert connection.met.is_set()
        assert connection.trouble
        assert "result" in await client.ask("initialize", 0, **SETUP)
        await connection.aclose()


async def test_two_sessions_may_use_one_server() -> None:
    server = calculator()
    async with connected(server) as one:
        async with connected(server) as two:
            assert await two.text("add", a=2, b=2) == "4"
        assert await one.text("add", a=3, b=3) == "6"


# --- servers that end ----------------------------------------------------------------------------


class Ending:
    """A server that takes one message, and ends when it is told to."""

    name = "ending"

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.stopped = anyio.Event()
        self.goes_on = anyio.Event()

    def create_initialization_options(self) -> None:
        return None

    async def run(self, incoming: Any, outgoing: Any, options: None) -> None:
        if self.error is not None:
            raise self.error
        await incoming.receive()
        await incoming.aclose()
        self.stopped.set()
        await self.goes_on.wait()


async def test_a_server_that_ends_leaves_no_call_waiting() -> None:
    server = Ending()
    connection = as_server(server).attach()
    client = Client(connection, [])
    answers: list[Message] = []

    async def ask() -> None:
        answers.append(await client.ask("ping", 1))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            tasks.start_soon(ask)
            await server.stopped.wait()
            error = (await client.ask("ping", 2))["error"]
            await client.tell("notifications/initialized")
            server.goes_on.set()
    assert error == {"code": -32603, "message": "The MCP server ending has ended"}
    assert answers[0]["error"] == error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("no database"), "no database"),
        (RuntimeError(), "RuntimeError"),
        (SystemExit("bye"), "bye"),
        (ExceptionGroup("some", [ExceptionGroup("one", [ValueError("it")])]), "it"),
    ],
)
async def test_the_answer_names_the_failure_of_a_server(
    error: BaseException, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    connection = as_server(Ending(error)).attach()
    with anyio.fail_after(SOON):
        await connection.run()
    answer = await Client(connection, []).ask("ping")
    assert answer["error"]["message"] == f"The MCP server ending has failed: {reason}"
    assert "The MCP server ending failed" in caplog.text


# --- objects of the package ----------------------------------------------------------------------


def test_low_level_and_high_level_servers_are_known() -> None:
    low = import_module("mcp.server.lowlevel").Server("low")
    mounted = as_server(low, "other")
    assert mounted.name == "other"
    assert as_server(mounted) is mounted
    for inside in ("_mcp_server", "_lowlevel_server"):
        assert as_server(type("Outer", (), {inside: low})()).name == "low"
    assert as_server(calculator()).name == "calc"
    with pytest.raises(TypeError, match="5 is not a server of the `mcp` package"):
        as_server(5)


async def test_a_tool_may_return_objects_of_the_package() -> None:
    types = import_module("mcp.types")
    words = types.TextContent(type="text", text="no")
    shown = [{"type": "text", "text": "no"}]
    for value, result in (
        (types.CallToolResult(content=[words], isError=True), {"content": shown, "isError": True}),
        (words, {"content": shown, "isError": False}),
        ([words, "and"], {"content": [*shown, {"type": "text", "text": "and"}], "isError": False}),
    ):

        @tool
        def give(value: Any = value) -> Any:
            return value

        assert await give.call({}) == result
