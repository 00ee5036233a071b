"""Servers of functions: the messages of MCP that they take, and what they answer."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.abc
import anyio.to_thread
import pytest
from tests.conformance.talk import EXAMPLES
from tests.helpers.sessions import soon

from claudewire.errors import OptionsError
from claudewire.tools import ServerHost, ToolContext, ToolError, ToolServer, tool
from claudewire.tools.host import _Connected
from claudewire.tools.server import THREADS, SdkServer
from claudewire.wire import Answer, Connection, Failure, McpMessage, McpResponse, Request, Role

if TYPE_CHECKING:
    from claudewire.session import Session

pytestmark = pytest.mark.anyio

SOON = 60.0

Message = dict[str, Any]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(inline=True)
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


def request(method: Any, params: Any = None, id: Any = 1) -> Message:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def call(name: str, id: Any = 1, meta: Any = None, **arguments: Any) -> Message:
    params: Message = {"name": name, "arguments": arguments}
    return request("tools/call", params if meta is None else {**params, "_meta": meta}, id)


async def ask(server: ToolServer, message: Message) -> Any:
    """Return the result, or the error."""
    with anyio.fail_after(SOON):
        response = await server.handle(message)
    assert response is not None
    assert response.pop("jsonrpc") == "2.0"
    assert response.pop("id") == message["id"]
    ((kind, value),) = response.items()
    return value if kind == "result" else (value["code"], value["message"])


# --- the exchange that is documented --------------------------------------------------------------


class Wire:
    """A host with a calculator at the end of a wire."""

    def __init__(self, dialect: str, tasks: anyio.abc.TaskGroup) -> None:
        self.connection = Connection(Role.CLIENT, dialect=dialect)
        self.host = ServerHost(tasks.start_soon)
        self.host.add(CALCULATOR)

    async def hear(self, line: Message) -> bytes:
        """Take a line of the CLI and give the line of the answer."""
        (event,) = self.connection.receive_data(json.dumps(line).encode() + b"\n")
        assert isinstance(event, Request)
        with anyio.fail_after(SOON):
            answer = await self.host.serve(event)
        return self.connection.send(
            answer if isinstance(answer, Failure) else Answer(event.id, answer)
        )


def modern(line: Message) -> Message:
    """Put a request of the old form into the new one."""
    request = dict(line["request"])
    return {"type": "control_request", "request_id": request.pop("request_id"), "request": request}


def written(line: Message) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


NOTIFICATION = {
    "type": "sdk_control_request",
    "request": {
        "subtype": "mcp_message",
        "request_id": "mcp_2",
        "server_name": "calculator",
        "message": {"jsonrpc": "2.0", "method": "notifications/initialized"},
    },
}
LIST = {
    "type": "sdk_control_request",
    "request": {
        "subtype": "mcp_message",
        "request_id": "mcp_3",
        "server_name": "calculator",
        "message": {"jsonrpc": "2.0", "id": "list_1", "method": "tools/list"},
    },
}
DIVIDE = json.loads(
    json.dumps(EXAMPLES["002-ex-09"]).replace('"add"', '"divide"').replace('"b": 4', '"b": 0')
)
BY_ZERO = EXAMPLES["002-ex-14"]


@pytest.mark.parametrize("dialect", ["legacy", "modern"])
async def test_the_documented_exchange_byte_for_byte(dialect: str) -> None:
    form = modern if dialect == "modern" else lambda line: line
    async with anyio.create_task_group() as tasks:
        wire = Wire(dialect, tasks)
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


# --- methods --------------------------------------------------------------------------------------


async def test_the_handshake_speaks_the_version_of_the_client() -> None:
    for version in ("2025-06-18", "2025-11-25", "2030-01-01"):
        result = await ask(CALCULATOR, request("initialize", {"protocolVersion": version}))
        assert result["protocolVersion"] == version
    for params in ({}, {"protocolVersion": 5}, None):
        result = await ask(CALCULATOR, request("initialize", params))
        assert result["protocolVersion"] == "2025-11-25"


async def test_a_server_says_what_it_is_and_can_do() -> None:
    server = ToolServer("s", version="2.0", instructions="Be careful.", can_change=True, logs=True)
    assert await ask(server, request("initialize", {})) == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": True}, "logging": {}},
        "serverInfo": {"name": "s", "version": "2.0"},
        "instructions": "Be careful.",
    }
    assert await ask(server, request("logging/setLevel", {"level": "info"})) == {}
    assert repr(server) == "<ToolServer s: no tools>"
    assert repr(CALCULATOR) == "<ToolServer calculator: add, divide>"


async def test_tools_are_listed_and_called() -> None:
    listed = await ask(CALCULATOR, request("tools/list"))
    assert [each["name"] for each in listed["tools"]] == ["add", "divide"]
    assert await ask(CALCULATOR, call("add", a=1, b=2)) == {
        "content": [{"type": "text", "text": "3"}],
        "isError": False,
    }
    assert await ask(CALCULATOR, request("ping")) == {}


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


async def test_wrong_arguments_are_told_to_the_model_and_not_to_the_client() -> None:
    result = await ask(CALCULATOR, call("add", a="1", b=2))
    assert result["isError"] is True
    assert result["content"][0]["text"].endswith("$.a: expected `int`, got `str`")


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (request("resources/list"), (-32601, "Method not found: resources/list")),
        (request("prompts/list", {}), (-32601, "Method not found: prompts/list")),
        (request("logging/setLevel", {}), (-32601, "Method not found: logging/setLevel")),
        (request("tools/list", []), (-32602, "params must be an object")),
        (request("tools/call", {}), (-32602, "Unknown tool: None")),
        (request("tools/call", {"name": ["add"]}), (-32602, "Unknown tool: ['add']")),
        (request("tools/call", {"name": "subtract"}), (-32602, "Unknown tool: subtract")),
        (
            request("tools/call", {"name": "add", "arguments": [1, 2]}),
            (-32602, "arguments must be an object"),
        ),
        (request(5), (-32600, "There is no method")),
        ({"jsonrpc": "2.0", "id": None}, (-32600, "There is no method")),
    ],
)
async def test_what_cannot_be_served_is_refused_with_its_code(
    message: Message, error: tuple[int, str]
) -> None:
    assert await ask(CALCULATOR, message) == error


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": None},
        {"jsonrpc": "2.0", "method": "notifications/unheard-of"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {}},
        {},
    ],
)
async def test_what_asks_for_nothing_is_not_answered(message: Message) -> None:
    assert await CALCULATOR.handle(message) is None


async def test_meta_that_is_no_object_does_no_harm() -> None:
    @tool
    async def look(context: ToolContext) -> str:
        await context.progress(1)
        return f"{context.tool_use_id} {context.meta}"

    result = await ask(ToolServer("s", [look]), call("look", meta=5))
    assert result == {"content": [{"type": "text", "text": "None {}"}], "isError": False}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("my server!", "; did you mean 'my-server'?"),
        ("a.b c", "; did you mean 'a-b-c'?"),
        ("a" * 65, ""),
        ("ü", ""),
        ("", ""),
        (5, ""),
    ],
)
def test_a_name_that_the_model_cannot_be_given_is_refused(name: Any, hint: str) -> None:
    with pytest.raises(OptionsError) as caught:
        ToolServer(name)
    assert str(caught.value) == (
        f"{name!r} cannot be the name of a ToolServer: it has at most 64 letters from a to z, "
        f"digits, _ and -{hint}"
    )
    assert ToolServer("a" * 64).name == "a" * 64


@pytest.mark.parametrize("tools", ["add", {"add": add}, 5, add])
def test_tools_that_are_no_list_are_refused(tools: Any) -> None:
    with pytest.raises(OptionsError, match=r"^The tools of a ToolServer must be a list, not "):
        ToolServer("s", tools)


# --- cancellation ---------------------------------------------------------------------------------


class Sleeper:
    """A server with tools that take for ever, and what became of them."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.ended = anyio.Event()
        self.released = threading.Event()
        self.contexts: list[ToolContext] = []
        self.server = ToolServer("sleeper", [self.sleep, self.block])
        self.connection = self.server.attach()
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

    async def begin(self, name: str, id: Any = 7) -> None:
        self.response = await self.connection.handle(call(name, id))


async def cancel(connection: Any, id: Any) -> None:
    params = {"requestId": id, "reason": "AbortError"}
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    assert await connection.handle(message) is None


@pytest.mark.parametrize("name", ["sleep", "block"])
async def test_the_client_can_cancel_a_call_and_it_is_answered_all_the_same(name: str) -> None:
    sleeper = Sleeper()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper.begin, name)
            await sleeper.started.wait()
            await cancel(sleeper.connection, 8)
            assert not sleeper.contexts[0].cancelled
            await cancel(sleeper.connection, 7)
    sleeper.released.set()
    assert sleeper.contexts[0].cancelled
    assert sleeper.response == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32800, "message": "Request cancelled"},
    }


async def test_a_call_ends_with_the_task_that_brought_it() -> None:
    sleeper = Sleeper()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper.begin, "sleep")
            await sleeper.started.wait()
            tasks.cancel_scope.cancel()
    assert sleeper.ended.is_set()
    assert sleeper.response is None


async def test_closing_a_connection_cancels_its_calls_only() -> None:
    sleeper, other = Sleeper(), Sleeper()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper.begin, "sleep")
            tasks.start_soon(other.begin, "sleep")
            await sleeper.started.wait()
            await other.started.wait()
            await sleeper.connection.run()
            await sleeper.connection.aclose()
            await sleeper.ended.wait()
            assert not other.ended.is_set()
            await other.connection.aclose()


async def test_a_plain_function_does_not_stop_the_others() -> None:
    sleeper = Sleeper()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper.begin, "block")
            await sleeper.started.wait()
            assert (await sleeper.connection.handle(request("ping"))) is not None
            sleeper.released.set()
    assert sleeper.response is not None
    assert sleeper.response["result"] == {"content": [], "isError": False}


async def test_plain_functions_do_not_wait_for_the_threads_of_the_application() -> None:
    limiter = anyio.to_thread.current_default_thread_limiter()
    tasks = [object() for _ in range(int(limiter.available_tokens))]
    connection = CALCULATOR.attach()
    with anyio.fail_after(SOON):
        for task in tasks:
            limiter.acquire_on_behalf_of_nowait(task)
        try:
            response = await connection.handle(call("add", a=1, b=2))
        finally:
            for task in tasks:
                limiter.release_on_behalf_of(task)
    assert response is not None
    assert response["result"]["content"] == [{"type": "text", "text": "3"}]


async def test_an_id_that_is_used_again_belongs_to_the_newer_call() -> None:
    sleeper = Sleeper()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper.begin, "sleep", 7)
            await sleeper.started.wait()
            sleeper.started = anyio.Event()
            first = sleeper.contexts[0]
            tasks.start_soon(sleeper.begin, "sleep", 7)
            await sleeper.started.wait()
            await cancel(sleeper.connection, 7)
            await sleeper.ended.wait()
            assert not first.cancelled
            tasks.cancel_scope.cancel()


async def test_a_call_that_ends_does_not_take_its_id_from_a_newer_one() -> None:
    sleeper = Sleeper()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper.begin, "block", 7)
            await sleeper.started.wait()
            sleeper.started = anyio.Event()
            tasks.start_soon(sleeper.begin, "sleep", 7)
            await sleeper.started.wait()
            sleeper.released.set()
            await soon(lambda: sleeper.response is not None)
            await cancel(sleeper.connection, 7)
    assert sleeper.ended.is_set()
    assert [it.cancelled for it in sleeper.contexts] == [False, True]
    assert sleeper.connection._running == {}


async def test_a_connection_runs_only_so_many_plain_functions_at_once() -> None:
    may_go_on = threading.Event()
    running: list[int] = []

    def wait() -> None:
        running.append(threading.get_ident())
        assert may_go_on.wait(SOON)

    connection = ToolServer("s", [wait]).attach()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for id in range(THREADS + 1):
                tasks.start_soon(connection.handle, call("wait", id))
            try:
                await soon(lambda: len(running) >= THREADS)
                await anyio.wait_all_tasks_blocked()
                assert len(running) == THREADS
                assert connection._limiter is not None
                assert connection._limiter.borrowed_tokens == THREADS
            finally:
                may_go_on.set()
    assert len(running) == THREADS + 1


# --- sessions -------------------------------------------------------------------------------------


async def test_a_call_knows_its_session_and_its_place() -> None:
    seen: list[ToolContext] = []

    @tool
    async def look(context: ToolContext) -> None:
        seen.append(context)
        await context.progress(1)
        await context.log("info", "looked")

    server = ToolServer("s", [look], logs=True)
    session = cast("Session", object())
    sent: list[Message] = []
    connection = server.attach(sent.append, session)
    await connection.handle(
        call("look", 5, {"claudecode/toolUseId": "toolu_1", "progressToken": 9})
    )
    (context,) = seen
    assert context.session is session
    assert (context.server, context.tool, context.request_id) == ("s", "look", 5)
    assert context.tool_use_id == "toolu_1"
    assert [it["params"] for it in sent] == [
        {"progressToken": 9, "progress": 1},
        {"level": "info", "logger": "look", "data": "looked"},
    ]


async def test_a_change_of_tools_is_told_to_all_who_are_connected() -> None:
    server = ToolServer("s", [add], can_change=True)
    first: list[Message] = []
    second: list[Message] = []
    one, two = server.attach(first.append), server.attach(second.append)
    silent = server.attach()
    assert server.add(divide) is divide
    assert list(server.tools) == ["add", "divide"]
    await one.aclose()
    server.remove("add")
    assert list(server.tools) == ["divide"]
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert first == [changed]
    assert second == [changed, changed]
    await silent.aclose()
    await two.aclose()


async def test_a_server_does_not_hold_on_to_those_who_have_left() -> None:
    server = ToolServer("s", [add], can_change=True)
    sent: list[Message] = []
    connection = server.attach(sent.append)
    del connection
    gc.collect()
    server.remove("add")
    assert sent == []


def test_a_server_changes_only_if_it_was_made_to() -> None:
    with pytest.raises(ValueError, match="make the server with can_change=True"):
        CALCULATOR.add(tool(name="more")(len))
    with pytest.raises(ValueError, match="calculator do not change"):
        CALCULATOR.remove("add")
    with pytest.raises(ValueError, match="s has a tool called add already"):
        ToolServer("s", [add, add])


# --- all servers of a session ---------------------------------------------------------------------


Background = Callable[[], Coroutine[Any, Any, None]]


def carried(server: str, message: Message) -> Request:
    return Request(id="r1", body=McpMessage(server, message))


async def test_each_server_gets_its_own_messages() -> None:
    started: list[Background] = []
    sent: list[tuple[str, Message]] = []
    host = ServerHost(started.append, lambda name, message: sent.append((name, message)))
    server = ToolServer("other", [add], can_change=True)
    assert host.add(CALCULATOR) == "calculator"
    assert host.add(server) == "other"
    assert host.add(server, "again") == "again"
    assert list(host) == ["calculator", "other", "again"]
    assert len(started) == len(host) == 3
    assert isinstance(server, SdkServer)
    answer = await host.serve(carried("other", request("tools/list")))
    assert isinstance(answer, McpResponse)
    assert answer.mcp_response is not None
    assert len(answer.mcp_response["result"]["tools"]) == 1
    server.remove("add")
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert sorted(sent, key=str) == [("again", changed), ("other", changed)]
    with pytest.raises(ValueError, match="an MCP server called other already"):
        host.add(server)
    with pytest.raises(TypeError, match="is not a server of the `mcp` package"):
        host.add(object())
    await host.remove("other")
    assert "other" not in host
    await host.aclose()
    assert len(host) == 0


async def test_a_message_that_cannot_be_sent_any_more_does_no_harm() -> None:
    def closed(name: str, message: Message) -> None:
        raise RuntimeError("the session is closed")

    server = ToolServer("s", [add, divide], can_change=True)
    hosts = [ServerHost(lambda function: None, closed), ServerHost(lambda function: None)]
    for host in hosts:
        host.add(server)
    server.remove("add")
    assert list(server.tools) == ["divide"]


async def test_a_message_for_nobody_is_refused() -> None:
    host = ServerHost(lambda function: None)
    answer = await host.serve(carried("nobody", request("ping")))
    assert answer == Failure("r1", "SDK MCP server not found: nobody")


async def test_a_server_that_left_is_not_asked_any_more() -> None:
    host = ServerHost(lambda function: None)
    host.add(CALCULATOR)
    await host.remove("calculator")
    with pytest.raises(KeyError):
        await host.remove("calculator")
    assert isinstance(await host.serve(carried("calculator", request("ping"))), Failure)


class Broken:
    """A server of an application that fails, and its own connection."""

    name = "broken"

    def __init__(self, returned: Any = None) -> None:
        self.returned = returned
        self.session: object = None

    def attach(self, send: object = None, session: object = None) -> Broken:
        self.session = session
        return self

    async def handle(self, message: object) -> Message | None:
        if self.returned is None:
            raise ZeroDivisionError("no luck")
        if self.returned == "nothing":
            await anyio.sleep_forever()
        return cast("Message", self.returned)

    async def run(self) -> None: ...

    async def aclose(self) -> None: ...


async def test_a_handshake_that_fails_is_trouble() -> None:
    host = ServerHost(lambda function: None)
    host.add(Broken())
    with anyio.fail_after(SOON):
        with pytest.raises(ZeroDivisionError):
            await host.serve(carried("broken", request("initialize")))
        assert await host.until_met("broken") == "ZeroDivisionError: no luck"


async def test_what_is_no_message_is_trouble() -> None:
    host = ServerHost(lambda function: None)
    host.add(Broken([]))
    with anyio.fail_after(SOON):
        with pytest.raises(TypeError, match="a dictionary, or None, not a list"):
            await host.serve(carried("broken", request("initialize")))
        trouble = await host.until_met("broken")
    assert trouble == (
        "TypeError: An MCP server returns a message as a dictionary, or None, not a list"
    )


async def test_a_handshake_that_is_given_up_is_no_trouble() -> None:
    host, met = ServerHost(lambda function: None), []
    host.add(Broken("nothing"))

    async def wait() -> None:
        met.append(await host.until_met("broken"))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            with anyio.move_on_after(SOON) as scope:
                tasks.start_soon(wait_and_cancel, scope)
                await host.serve(carried("broken", request("initialize")))
            await anyio.wait_all_tasks_blocked()
            assert met == []
            tasks.cancel_scope.cancel()


async def wait_and_cancel(scope: anyio.CancelScope) -> None:
    await anyio.wait_all_tasks_blocked()
    scope.cancel()


def test_a_server_is_told_the_session_that_it_is_connected_to() -> None:
    session, server = cast("Session", object()), Broken()
    ServerHost(lambda function: None, None, session).add(server)
    assert server.session is session


def test_only_a_handshake_that_is_refused_is_trouble() -> None:
    server, refusal = _Connected(cast("Any", None)), {"error": {"message": "not you"}}
    server.note("tools/list", refusal)
    assert (server.trouble, server.met.is_set()) == (None, False)
    server.note("initialize", {"result": {}})
    assert (server.trouble, server.met.is_set()) == (None, False)
    server.note("initialize", None)
    assert (server.trouble, server.met.is_set()) == (None, False)
    server.note("initialize", refusal)
    assert (server.trouble, server.met.is_set()) == ("not you", True)
    server.note("notifications/initialized", None)
    assert server.trouble is None
    server.note("initialize", {"error": {"message": 5}})
    assert server.trouble == "5"
