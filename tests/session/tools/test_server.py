"""Servers of functions: the MCP messages that they take, and their answers."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.abc
import anyio.from_thread
import pytest
from tests.helpers.peer import SOON
from tests.helpers.sessions import soon
from tests.judges.conformance.talk import EXAMPLES

from claudewire.errors import OptionsError
from claudewire.tools import ToolContext, ToolError, ToolServer, tool
from claudewire.wire import Answer, Connection, McpMessage, McpResponse, Request, Role

if TYPE_CHECKING:
    from claudewire.session import Session

pytestmark = pytest.mark.anyio

Message = dict[str, Any]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def divide(a: int, b: int) -> float:
    """Divide a number by another.

    Args:
        a: the one.
        b: the other.
    """
    if b == 0:
        raise ToolError("Division by zero")
    return a / b


CALCULATOR = ToolServer("calculator", [add, divide])


def request(method: str, params: Any = None, id: Any = 1) -> Message:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def call(name: str, id: Any = 1, meta: Any = None, **arguments: Any) -> Message:
    params: Message = {"name": name, "arguments": arguments}
    return request("tools/call", params if meta is None else {**params, "_meta": meta}, id)


async def ask(server: ToolServer, message: Message) -> Any:
    """Return the result, or the error."""
    with anyio.fail_after(SOON):
        response = await server.attach().handle(message)
    assert response.pop("jsonrpc") == "2.0"
    assert response.pop("id") == message["id"]
    ((kind, value),) = response.items()
    return value if kind == "result" else (value["code"], value["message"])


# --- the documented exchange --------------------------------------------------------------------


class Wire:
    """A calculator at the end of a wire."""

    def __init__(self, dialect: str) -> None:
        self.connection = Connection(Role.CLIENT, dialect=dialect)
        self.server = CALCULATOR.attach()

    async def hear(self, line: Message) -> bytes:
        """Take a line of the CLI and give the line of the answer."""
        (event,) = self.connection.receive_data(json.dumps(line).encode() + b"\n")
        assert isinstance(event, Request)
        assert isinstance(event.body, McpMessage)
        with anyio.fail_after(SOON):
            answer = McpResponse(await self.server.handle(event.body.message))
        return self.connection.send(Answer(event.id, answer))


def modern(line: Message) -> Message:
    """Put a request of the old form into the new one."""
    request = dict(line["request"])
    return {"type": "control_request", "request_id": request.pop("request_id"), "request": request}


def written(line: Message) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def legacy(request_id: str, **message: str) -> Message:
    body = {"subtype": "mcp_message", "request_id": request_id, "server_name": "calculator"}
    request = {**body, "message": {"jsonrpc": "2.0", **message}}
    return {"type": "sdk_control_request", "request": request}


NOTIFICATION = legacy("mcp_2", method="notifications/initialized")
LIST = legacy("mcp_3", id="list_1", method="tools/list")
DIVIDE = json.loads(
    json.dumps(EXAMPLES["002-ex-09"]).replace('"add"', '"divide"').replace('"b": 4', '"b": 0')
)
BY_ZERO = EXAMPLES["002-ex-14"]


@pytest.mark.parametrize("dialect", ["legacy", "modern"])
async def test_the_documented_exchange_matches_byte_for_byte(dialect: str) -> None:
    form = modern if dialect == "modern" else lambda line: line
    wire = Wire(dialect)
    assert await wire.hear(form(EXAMPLES["002-ex-11"])) == written(EXAMPLES["002-ex-12"])
    acknowledged = json.loads(await wire.hear(form(NOTIFICATION)))
    assert acknowledged["response"] == {
        "subtype": "success",
        "request_id": "mcp_2",
        "response": {"mcp_response": {"jsonrpc": "2.0", "result": {}, "id": 0}},
    }
    listed = json.loads(await wire.hear(form(LIST)))["response"]["response"]["mcp_response"]
    assert listed == {
        "jsonrpc": "2.0",
        "id": "list_1",
        "result": {"tools": [add.definition(), divide.definition()]},
    }
    assert await wire.hear(form(EXAMPLES["002-ex-09"])) == written(EXAMPLES["002-ex-10"])
    assert await wire.hear(form(DIVIDE)) == written(BY_ZERO)


# --- methods -------------------------------------------------------------------------------------


async def test_a_server_introduces_itself_in_the_version_of_the_client() -> None:
    server = ToolServer("s", version="2.0", instructions="Be careful.")
    assert await ask(server, request("initialize", {})) == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "s", "version": "2.0"},
        "instructions": "Be careful.",
    }
    result = await ask(CALCULATOR, request("initialize", {"protocolVersion": "2030-01-01"}))
    assert result["protocolVersion"] == "2030-01-01"
    assert await ask(CALCULATOR, request("ping")) == {}
    assert repr(CALCULATOR) == "<ToolServer calculator: add, divide>"


async def test_a_plain_function_becomes_a_tool_of_its_server() -> None:
    def greet(name: str = "you") -> str:
        """Greet somebody."""
        return f"Hello {name}"

    server = ToolServer("s", [greet], always_load=True)
    (listed,) = (await ask(server, request("tools/list")))["tools"]
    assert listed["description"] == "Greet somebody."
    assert listed["_meta"] == {"anthropic/alwaysLoad": True}
    result = await ask(server, request("tools/call", {"name": "greet"}))
    assert result["content"] == [{"type": "text", "text": "Hello you"}]


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (request("resources/list"), (-32601, "Method not found: resources/list")),
        (request("tools/call", {}), (-32602, "Unknown tool: None")),
        (request("tools/call", {"name": "subtract"}), (-32602, "Unknown tool: subtract")),
    ],
)
async def test_an_unknown_method_or_tool_is_refused(
    message: Message, error: tuple[int, str]
) -> None:
    assert await ask(CALCULATOR, message) == error


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ],
)
async def test_notifications_and_responses_are_acknowledged(message: Message) -> None:
    acknowledged = {"jsonrpc": "2.0", "result": {}, "id": 0}
    assert await CALCULATOR.attach().handle(message) == acknowledged


@pytest.mark.parametrize("name", ["my server!", "a" * 65, ""])
def test_a_server_name_that_the_api_refuses_is_refused(name: str) -> None:
    with pytest.raises(OptionsError, match="at most 64 letters"):
        ToolServer(name)


@pytest.mark.parametrize("tools", ["add", {"add": add}, add])
def test_tools_that_are_no_list_are_refused(tools: Any) -> None:
    with pytest.raises(OptionsError, match=r"^The tools of a ToolServer must be a list, not "):
        ToolServer("s", tools)


# --- cancellation --------------------------------------------------------------------------------


class Sleeper:
    """A server with tools that wait, and the contexts of their calls."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.ended = anyio.Event()
        self.released = threading.Event()
        self.contexts: list[ToolContext] = []
        self.connection = ToolServer("sleeper", [self.sleep, self.block]).attach()
        self.response: Message | None = None

    async def sleep(self, context: ToolContext) -> None:
        self.contexts.append(context)
        self.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()

    def block(self, context: ToolContext) -> None:
        self.contexts.append(context)
        anyio.from_thread.run_sync(self.started.set)
        assert self.released.wait(SOON)

    async def begin(self, name: str) -> None:
        self.response = await self.connection.handle(call(name, 7))

    async def cancel(self, id: Any) -> None:
        params = {"requestId": id, "reason": "AbortError"}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        await self.connection.handle(message)


@pytest.mark.parametrize("name", ["sleep", "block"])
async def test_a_cancelled_call_is_stopped_and_answered(name: str) -> None:
    sleeper = Sleeper()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper.begin, name)
            await sleeper.started.wait()
            await sleeper.cancel(8)
            assert not sleeper.contexts[0].cancelled
            await sleeper.cancel(7)
    sleeper.released.set()
    assert sleeper.contexts[0].cancelled
    assert sleeper.response == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32800, "message": "Request cancelled"},
    }


async def test_a_call_ends_with_the_task_that_brought_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sleeper = Sleeper()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper.begin, "sleep")
            await sleeper.started.wait()
            tasks.cancel_scope.cancel()
    assert sleeper.ended.is_set()
    assert sleeper.contexts[0].cancelled
    assert sleeper.response is None
    assert caplog.messages == []


async def test_closing_a_connection_cancels_its_calls_only() -> None:
    sleeper, other = Sleeper(), Sleeper()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper.begin, "sleep")
            tasks.start_soon(other.begin, "sleep")
            await sleeper.started.wait()
            await other.started.wait()
            await sleeper.connection.aclose()
            await sleeper.ended.wait()
            assert not other.ended.is_set()
            await other.connection.aclose()


async def test_plain_functions_do_not_stop_each_other() -> None:
    both = threading.Barrier(50, timeout=SOON)
    connection = ToolServer("s", [tool(name="meet")(both.wait)]).attach()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for id in range(50):
                tasks.start_soon(connection.handle, call("meet", id))


async def test_an_id_that_is_used_twice_belongs_to_the_newer_call() -> None:
    sleeper = Sleeper()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper.begin, "block")
            await sleeper.started.wait()
            sleeper.started = anyio.Event()
            tasks.start_soon(sleeper.begin, "sleep")
            await sleeper.started.wait()
            sleeper.released.set()
            await soon(lambda: sleeper.response is not None)
            assert not sleeper.contexts[1].cancelled
            await sleeper.cancel(7)
    assert sleeper.ended.is_set()


# --- sessions ------------------------------------------------------------------------------------


async def test_a_context_knows_its_session_and_ids() -> None:
    seen: list[ToolContext] = []

    @tool
    async def look(context: ToolContext) -> None:
        seen.append(context)
        context.progress(1)

    session = cast("Session", object())
    sent: list[Message] = []
    connection = ToolServer("s", [look]).attach(sent.append, session)
    meta = {"claudecode/toolUseId": "toolu_1", "progressToken": 9}
    await connection.handle(call("look", 5, meta))
    (context,) = seen
    assert context.session is session
    assert (context.server, context.tool, context.request_id) == ("s", "look", 5)
    assert context.tool_use_id == "toolu_1"
    assert [it["params"] for it in sent] == [{"progressToken": 9, "progress": 1}]


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="s has two tools called add"):
        ToolServer("s", [add, add])
