"""Servers of the `mcp` package, mounted whole, in both lines of the package."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import anyio
import anyio.abc
import pytest

from claudewire.tools import ServerHost, ToolServer, as_server, tool
from claudewire.tools.mcp_package import MountedConnection, MountedServer, _language
from claudewire.tools.server import SdkServer
from claudewire.wire import McpMessage, McpResponse, Request

pytest.importorskip("mcp", reason="the `mcp` package is not installed")

pytestmark = [
    pytest.mark.anyio,
    # The package warns of what its next line will not have.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

SOON = 60.0

UNKNOWN_METHOD = -32601 if find_spec("mcp.server.mcpserver") else -32602
"""The older line says that the parameters are wrong."""

Message = dict[str, Any]

SETUP = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "claude-code", "version": "2.1.325"},
}


def new_server(name: str = "calc") -> Any:
    """Make a server with decorators, of whichever line is installed."""
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
    """What is known of a tool that takes for ever."""

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
    """A CLI as far as a server can see it."""

    def __init__(self, connection: MountedConnection, heard: list[Message]) -> None:
        self.connection = connection
        self.heard = heard

    async def ask(self, method: str, id: Any = 1, **params: Any) -> Message:
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        with anyio.fail_after(SOON):
            response = await self.connection.handle(message)
        assert response is not None
        assert response["id"] == id
        return response

    async def result(self, method: str, **params: Any) -> Any:
        return (await self.ask(method, **params))["result"]

    async def tell(self, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        assert await self.connection.handle(message) is None

    async def text(self, tool: str, **arguments: Any) -> str:
        result = await self.result("tools/call", name=tool, arguments=arguments)
        return f"{'! ' if result.get('isError') else ''}{result['content'][0]['text']}"


@asynccontextmanager
async def connected(server: Any) -> AsyncIterator[Client]:
    heard: list[Message] = []
    connection = MountedServer(server).attach(heard.append)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        client = Client(connection, heard)
        await client.ask("initialize", 0, **SETUP)
        await client.tell("notifications/initialized")
        yield client
        await connection.aclose()


async def test_the_handshake_is_the_servers_own() -> None:
    connection = MountedServer(calculator()).attach()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        result = await Client(connection, []).result("initialize", **SETUP)
        await connection.aclose()
    assert result["protocolVersion"] == "2025-11-25"
    assert result["serverInfo"]["name"] == "calc"
    assert {"tools", "resources", "prompts"} <= set(result["capabilities"])


async def test_tools_resources_and_prompts_are_served() -> None:
    async with connected(calculator()) as client:
        listed = await client.result("tools/list")
        assert [tool["name"] for tool in listed["tools"]][:2] == ["add", "fail"]
        assert await client.text("add", a=1, b=2) == "3"
        (resource,) = (await client.result("resources/list"))["resources"]
        assert resource["uri"] == "note://one"
        (content,) = (await client.result("resources/read", uri="note://one"))["contents"]
        assert content["text"] == "a note"
        (prompt,) = (await client.result("prompts/list"))["prompts"]
        assert prompt["name"] == "greet"
        got = await client.result("prompts/get", name="greet", arguments={"name": "Ada"})
        assert got["messages"][0]["content"]["text"] == "Greet Ada"
        assert await client.result("ping") == {}


async def test_errors_are_the_servers_own() -> None:
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


async def test_a_server_whose_words_nobody_takes_works_all_the_same() -> None:
    connection = MountedServer(calculator()).attach()
    client = Client(connection, [])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        await client.ask("initialize", 0, **SETUP)
        await client.tell("notifications/initialized")
        meta = {"progressToken": 9}
        result = await client.result("tools/call", name="report", arguments={}, _meta=meta)
        assert result["content"][0]["text"] == "reported"
        await connection.aclose()


async def test_a_server_may_ping_the_client_and_nothing_more() -> None:
    async with connected(calculator()) as client:
        assert await client.text("ping") == "EmptyResult"
        answer = await client.ask("tools/call", name="roots", arguments={})
        assert "Method not found: roots/list" in str(answer)


async def test_a_call_that_the_client_cancels_is_cancelled_and_answered() -> None:
    sleeping = Sleeping()
    answers: list[Message] = []

    async with connected(calculator(sleeping)) as client:

        async def sleep() -> None:
            answers.append(await client.ask("tools/call", 7, name="sleep", arguments={}))

        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(sleep)
                await sleeping.started.wait()
                await client.tell("notifications/cancelled", requestId=8)
                await client.tell("notifications/cancelled", requestId=7)
            await sleeping.ended.wait()
        assert await client.text("add", a=1, b=1) == "2"
    assert answers == [
        {"jsonrpc": "2.0", "id": 7, "error": {"code": -32800, "message": "Request cancelled"}}
    ]


async def test_a_call_ends_with_the_task_that_brought_it() -> None:
    sleeping = Sleeping()
    async with connected(calculator(sleeping)) as client:
        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                message = {"name": "sleep", "arguments": {}}
                tasks.start_soon(lambda: client.ask("tools/call", 7, **message))
                await sleeping.started.wait()
                tasks.cancel_scope.cancel()
            await sleeping.ended.wait()
        assert await client.text("add", a=1, b=1) == "2"


async def test_closing_ends_what_is_being_done_and_refuses_the_rest() -> None:
    sleeping = Sleeping()
    answers: list[Message] = []
    closed = {"code": -32603, "message": "The MCP server calc has been closed"}
    with anyio.fail_after(SOON):
        async with connected(calculator(sleeping)) as client, anyio.create_task_group() as tasks:

            async def sleep() -> None:
                answers.append(await client.ask("tools/call", 7, name="sleep", arguments={}))

            tasks.start_soon(sleep)
            await sleeping.started.wait()
            await client.connection.aclose()
    assert answers == [{"jsonrpc": "2.0", "id": 7, "error": closed}]
    assert sleeping.ended.is_set()
    assert (await client.ask("ping"))["error"] == closed
    await client.tell("notifications/initialized")


async def test_a_connection_that_never_ran_can_be_closed() -> None:
    connection = MountedServer(calculator()).attach()
    await connection.aclose()
    assert "has been closed" in str(await Client(connection, []).ask("ping"))


async def test_the_owner_may_cancel_the_server() -> None:
    connection = MountedServer(calculator()).attach()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            await Client(connection, []).ask("initialize", 0, **SETUP)
            tasks.cancel_scope.cancel()
    assert "has been closed" in str(await Client(connection, []).ask("ping"))


async def test_a_server_that_fails_says_so_and_takes_nobody_with_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @asynccontextmanager
    async def broken(server: Any) -> AsyncIterator[None]:
        if server.name == "broken":
            raise RuntimeError("no database")
        yield

    low_level = import_module("mcp.server.lowlevel").Server("broken", lifespan=broken)
    connection = MountedServer(low_level).attach()
    with anyio.fail_after(SOON):
        await connection.run()
    reason = "The MCP server broken has failed: no database"
    assert (await Client(connection, []).ask("ping"))["error"]["message"] == reason
    assert "The MCP server broken failed" in caplog.text


class Leaving:
    """A server that stops to listen after the first message."""

    name = "leaving"

    def __init__(self) -> None:
        self.stopped = anyio.Event()
        self.goes_on = anyio.Event()

    def create_initialization_options(self) -> None:
        return None

    async def run(self, incoming: Any, outgoing: Any, options: None) -> None:
        await incoming.receive()
        await incoming.aclose()
        self.stopped.set()
        await self.goes_on.wait()


async def test_a_server_that_stops_by_itself_leaves_nobody_waiting() -> None:
    server = Leaving()
    connection = MountedServer(server).attach()
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
    assert error == {"code": -32603, "message": "The MCP server leaving has ended"}
    assert answers[0]["error"] == error


class Recording:
    """A server that notes what it is told, and answers when it is told to."""

    name = "recording"

    def __init__(self, fails_with: BaseException | None = None) -> None:
        self.heard: list[Message] = []
        self.incoming: Any = None
        self.outgoing: Any = None
        self.fails_with = fails_with

    def create_initialization_options(self) -> None:
        return None

    async def run(self, incoming: Any, outgoing: Any, options: None) -> None:
        self.incoming, self.outgoing = incoming, outgoing
        if self.fails_with is not None:
            raise self.fails_with
        async for item in incoming:
            told = item.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
            self.heard.append(told)

    async def say(self, message: Message) -> None:
        await self.outgoing.send(_language().read({"jsonrpc": "2.0", **message}))


@asynccontextmanager
async def recorded() -> AsyncIterator[tuple[Recording, Client, anyio.abc.TaskGroup]]:
    server, heard = Recording(), list[Message]()
    connection = MountedServer(server).attach(heard.append)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            await anyio.wait_all_tasks_blocked()
            yield server, Client(connection, heard), tasks
            await connection.aclose()


async def test_a_server_is_told_each_thing_once_and_by_an_id_of_ours() -> None:
    async with recorded() as (server, client, tasks):
        answers: list[Message] = []

        async def ask(method: str, id: Any) -> None:
            answers.append(await client.ask(method, id))

        for _ in range(2):  # the CLI repeats the handshake with every server that is added
            tasks.start_soon(ask, "initialize", 0)
            await anyio.wait_all_tasks_blocked()
            await client.tell("notifications/initialized")
            await client.tell("notifications/roots/list_changed")
            await client.tell("notifications/cancelled", requestId=9)
            await anyio.wait_all_tasks_blocked()
        tasks.start_soon(ask, "ping", 7)
        await anyio.wait_all_tasks_blocked()
        assert [(it["method"], it.get("id")) for it in server.heard] == [
            ("initialize", 1),
            ("notifications/initialized", None),
            ("notifications/roots/list_changed", None),
            ("notifications/roots/list_changed", None),
            ("ping", 2),
        ]
        assert answers == []
        await server.say({"id": 5, "result": {}})  # an answer to nothing
        await server.say({"id": 1, "result": {"hello": True}})
        await server.say({"id": 1, "result": {"hello": False}})
        await server.say({"id": 2, "result": {}})
        await anyio.wait_all_tasks_blocked()
    assert sorted(answers, key=str) == [
        {"jsonrpc": "2.0", "id": 0, "result": {"hello": True}},
        {"jsonrpc": "2.0", "id": 0, "result": {"hello": True}},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
    ]


async def test_a_call_that_ends_does_not_take_its_id_from_a_newer_one() -> None:
    async with recorded() as (server, client, tasks):
        for _ in range(2):
            tasks.start_soon(client.ask, "tools/call", 7)
            await anyio.wait_all_tasks_blocked()
        await server.say({"id": 1, "result": {}})
        await anyio.wait_all_tasks_blocked()
        await client.tell("notifications/cancelled", requestId=7, reason="AbortError")
        await anyio.wait_all_tasks_blocked()
        assert server.heard[2:] == [
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 2, "reason": "AbortError"},
            }
        ]
        assert (client.connection._ours, client.connection._waiting) == ({}, {})
        await client.tell("notifications/cancelled", requestId=7)
        await anyio.wait_all_tasks_blocked()
        assert len(server.heard) == 3


class Parting(Recording):
    """A server that says something when it is closed."""

    async def run(self, incoming: Any, outgoing: Any, options: None) -> None:
        self.outgoing = outgoing
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await self.say({"method": "notifications/message", "params": {}})


async def test_a_server_may_say_something_while_it_is_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection = MountedServer(Parting()).attach()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            await anyio.wait_all_tasks_blocked()
            await connection.aclose()
    assert "has been closed" in str(await Client(connection, []).ask("ping"))
    assert caplog.messages == []


async def test_what_a_server_says_is_passed_on_as_it_is() -> None:
    said: list[Message] = [
        {"method": "notifications/tools/list_changed"},
        {"method": "notifications/message", "params": {"level": "info", "data": None}},
    ]
    async with recorded() as (server, client, _):
        for message in said:
            await server.say(message)
        await server.say({"id": 3, "method": "ping"})
        await server.say({"id": 4, "method": "roots/list"})
        await anyio.wait_all_tasks_blocked()
    assert client.heard == [{"jsonrpc": "2.0", **message} for message in said]
    error = {"code": -32601, "message": "Method not found: roots/list"}
    assert server.heard == [
        {"jsonrpc": "2.0", "id": 3, "result": {}},
        {"jsonrpc": "2.0", "id": 4, "error": error},
    ]


async def test_a_server_is_told_of_a_call_that_is_given_up() -> None:
    async with recorded() as (server, client, _):
        async with anyio.create_task_group() as calls:
            calls.start_soon(client.ask, "tools/call", 7)
            await anyio.wait_all_tasks_blocked()
            calls.cancel_scope.cancel()
        await anyio.wait_all_tasks_blocked()
        assert server.heard[1:] == [
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 1, "reason": "withdrawn"},
            }
        ]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("no database"), "no database"),
        (RuntimeError(), "RuntimeError"),
        (SystemExit("bye"), "bye"),
        (ExceptionGroup("some", [ExceptionGroup("one", [ValueError("it")])]), "it"),
        (ExceptionGroup("both", [ValueError("a"), ValueError("b")]), "both (2 sub-exceptions)"),
    ],
)
async def test_the_reason_why_a_server_failed_is_told(error: BaseException, reason: str) -> None:
    server = Recording(error)
    connection = MountedServer(server).attach()
    with anyio.fail_after(SOON):
        await connection.run()
        with pytest.raises(anyio.ClosedResourceError):
            await server.say({"method": "notifications/message"})
        with pytest.raises(anyio.ClosedResourceError):
            await server.incoming.receive()
    told = await Client(connection, []).ask("ping")
    assert told["error"] == {
        "code": -32603,
        "message": f"The MCP server recording has failed: {reason}",
    }


async def test_what_is_no_message_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async with connected(calculator()) as client:
        answer = await client.connection.handle({"jsonrpc": "2.0", "id": 7, "method": 5})
        assert answer is not None
        assert answer["error"] == {"code": -32600, "message": "Invalid request"}
        assert await client.connection.handle({"method": 5}) is None
        told = "The CLI sent the MCP server calc an invalid message"
        assert [it for it in caplog.messages if it == told] == [told] * 2
        unasked = {"jsonrpc": "2.0", "id": 7, "result": {}}
        assert await client.connection.handle(unasked) is None


async def test_a_client_that_counts_anew_does_not_mix_up_its_calls() -> None:
    """The CLI shakes hands with all servers again when one is added, while calls are running."""
    sleeping = Sleeping()
    answers: list[Message] = []
    with anyio.fail_after(SOON):
        async with connected(calculator(sleeping)) as client, anyio.create_task_group() as tasks:

            async def sleep() -> None:
                answers.append(await client.ask("tools/call", 2, name="sleep", arguments={}))

            tasks.start_soon(sleep)
            await sleeping.started.wait()
            async with anyio.create_task_group() as greetings:
                for _ in range(2):
                    greetings.start_soon(lambda: client.ask("initialize", 0, **SETUP))
            await client.tell("notifications/initialized")
            await client.tell("notifications/initialized")
            add = {"name": "add", "arguments": {"a": 1, "b": 1}}
            assert (await client.ask("tools/call", 2, **add))["result"]["content"][0]["text"] == "2"
            assert answers == []
            tasks.cancel_scope.cancel()
        assert sleeping.ended.is_set()


async def test_a_call_that_is_given_up_while_the_server_ends_does_no_harm() -> None:
    server = Leaving()
    connection = MountedServer(server).attach()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            async with anyio.create_task_group() as calls:
                calls.start_soon(Client(connection, []).ask, "ping")
                await server.stopped.wait()
                calls.cancel_scope.cancel()
            server.goes_on.set()


async def test_shaking_hands_twice_does_no_harm() -> None:
    async with connected(calculator()) as client:
        await client.ask("initialize", 0, **SETUP)
        await client.tell("notifications/initialized")
        assert await client.text("add", a=1, b=1) == "2"


async def test_a_handshake_that_failed_may_be_tried_again() -> None:
    connection = MountedServer(calculator()).attach()
    client = Client(connection, [])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        assert "error" in await client.ask("initialize", 0, protocolVersion=5)
        assert "result" in await client.ask("initialize", 0, **SETUP)
        await connection.aclose()


async def test_two_sessions_may_use_one_server() -> None:
    server = calculator()
    async with connected(server) as one:
        async with connected(server) as two:
            assert await one.text("add", a=1, b=1) == "2"
            assert await two.text("add", a=2, b=2) == "4"
        assert await one.text("add", a=3, b=3) == "6"


async def test_a_host_treats_both_kinds_of_servers_alike() -> None:
    def double(number: int) -> int:
        return 2 * number

    async with anyio.create_task_group() as tasks:
        host = ServerHost(tasks.start_soon)
        assert host.add(calculator()) == "calc"
        assert host.add(calculator(), "other") == "other"
        host.add(ToolServer("ours", [double]))
        for name in host:
            setup = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": SETUP}
            with anyio.fail_after(SOON):
                answer = await host.serve(Request(id="r", body=McpMessage(name, setup)))
            assert isinstance(answer, McpResponse)
            assert answer.mcp_response is not None
            assert answer.mcp_response["result"]["protocolVersion"] == "2025-11-25"
        await host.aclose()


def test_low_level_and_high_level_servers_are_known() -> None:
    high = calculator()
    assert MountedServer(high).name == "calc"
    low = import_module("mcp.server.lowlevel").Server("low")
    assert MountedServer(low).name == "low"
    mounted = as_server(low, "other")
    assert mounted.name == "other"
    assert repr(mounted) == "<MountedServer other>"
    assert as_server(mounted) is mounted
    assert isinstance(mounted, SdkServer)
    assert not isinstance(high, SdkServer)
    with pytest.raises(TypeError, match="5 is not a server of the `mcp` package"):
        as_server(5)


@pytest.mark.parametrize("inside", ["_mcp_server", "_lowlevel_server"])
def test_a_server_with_decorators_has_a_low_level_one_inside(inside: str) -> None:
    outer = type("Outer", (), {inside: Recording()})()
    assert MountedServer(outer).name == "recording"


def mcp_type(name: str) -> Any:
    return getattr(import_module("mcp.types"), name)


async def test_a_function_may_return_what_a_server_of_the_package_does() -> None:
    words = mcp_type("TextContent")(type="text", text="no")
    failed = mcp_type("CallToolResult")(content=[words], isError=True)
    shown = [{"type": "text", "text": "no"}]
    assert await called(failed) == {"content": shown, "isError": True}
    assert await called(words) == {"content": shown, "isError": False}
    assert await called([words, "and"]) == {
        "content": [*shown, {"type": "text", "text": "and"}],
        "isError": False,
    }


async def called(value: Any) -> Message:
    @tool
    def give() -> Any:
        """Give it."""
        return value

    return await give.call({})
