"""MCP servers: in the application, as programs, and reached by HTTP."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.helpers.talk import Talk, allow, bodies, calculator, only, told, tool_results

from claudewire import wire
from claudewire.simulator import Chat, SimulatedCLI

pytestmark = pytest.mark.anyio

MAY_ADD = ["--allowed-tools", "mcp__calc"]


async def add(chat: Chat) -> None:
    await chat.call("calc", "add", {"a": 2, "b": 3})


# --- in the application ---------------------------------------------------------------------------


async def test_server_is_connected_before_initialize_is_answered() -> None:
    talk = Talk(SimulatedCLI(add), {wire.McpMessage: calculator, wire.CanUseTool: allow})
    await talk.initialize(sdk_mcp_servers=["calc"])
    assert bodies(talk.heard[:1], wire.McpMessage)[0].message["method"] == "initialize"
    turn = await talk.turn("go")
    methods = [it.message["method"] for it in bodies(talk.heard, wire.McpMessage)]
    assert methods[:3] == ["initialize", "notifications/initialized", "tools/list"]
    init = only(turn, wire.InitMessage)[0]
    assert "mcp__calc__add" in (init.tools or ())
    assert [(it.name, it.status) for it in init.mcp_servers or ()] == [("calc", "connected")]


async def test_tool_of_a_server_is_asked_for_and_called() -> None:
    talk = Talk(SimulatedCLI(add), {wire.McpMessage: calculator, wire.CanUseTool: allow})
    await talk.initialize(sdk_mcp_servers=["calc"])
    turn = await talk.turn("go")
    (asked,) = bodies(turn, wire.CanUseTool)
    assert (asked.tool_name, asked.display_name) == ("mcp__calc__add", "Add")
    params = bodies(turn, wire.McpMessage)[-1].message["params"]
    assert (params["name"], params["arguments"]) == ("add", {"a": 2, "b": 3})
    assert params["_meta"]["claudecode/toolUseId"] == asked.tool_use_id
    assert told(turn) == ["5"]


async def test_manifest_replaces_the_list_of_tools() -> None:
    manifest = wire.McpServerManifest({}, {"tools": [{"name": "add"}]})
    talk = Talk(SimulatedCLI(add, argv=MAY_ADD), {wire.McpMessage: calculator})
    await talk.initialize(sdk_mcp_servers=["calc"], sdk_mcp_server_manifests={"calc": manifest})
    turn = await talk.turn("go")
    assert [it.message["method"] for it in bodies(talk.heard, wire.McpMessage)] == ["tools/call"]
    assert told(turn) == ["5"]


async def test_failing_server_is_reported_and_has_no_tools() -> None:
    def broken(body: wire.McpMessage) -> wire.McpResponse:
        error = {"code": -32603, "message": "out of order"}
        return wire.McpResponse({"jsonrpc": "2.0", "id": body.message.get("id"), "error": error})

    talk = Talk(SimulatedCLI(add), {wire.McpMessage: broken})
    await talk.initialize(sdk_mcp_servers=["calc"])
    turn = await talk.turn("go")
    (server,) = only(turn, wire.InitMessage)[0].mcp_servers or []
    assert (server.name, server.status) == ("calc", "failed")
    assert "No such tool available: mcp__calc__add" in told(turn)[0]
    await talk.end()
    assert "MCP server calc: out of order" in await talk.stderr()


async def test_end_of_input_fails_a_pending_call() -> None:
    talk = Talk(SimulatedCLI(add, argv=MAY_ADD))
    await talk.say(wire.UserMessage.of("go"))
    await talk.request(wire.McpMessage)
    assert await talk.end() == 0
    assert tool_results(talk.heard)[0].is_error


async def test_interrupt_cancels_a_pending_call() -> None:
    talk = Talk(SimulatedCLI(add, argv=MAY_ADD))
    await talk.say(wire.UserMessage.of("go"))
    _, call = await talk.request(wire.McpMessage)
    since = len(talk.heard)
    await talk.ask(wire.Interrupt())
    _, notice = await talk.request(wire.McpMessage, since)
    assert notice.message["method"] == "notifications/cancelled"
    assert notice.message["params"]["requestId"] == call.message["id"]
    assert (await talk.until_result(since))[-1].terminal_reason == "aborted_tools"


async def test_tool_of_a_server_decides_on_permissions() -> None:
    def decide(body: wire.McpMessage) -> wire.McpResponse:
        message = body.message
        if message["method"] != "tools/call":
            return calculator(body)
        text = json.dumps({"behavior": "deny", "message": "The tool says no"})
        result = {"content": [{"type": "text", "text": text}]}
        return wire.McpResponse({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def play(chat: Chat) -> None:
        await chat.use("Bash", {"command": "make"})

    cli = SimulatedCLI(play, argv=["--permission-prompt-tool=mcp__calc__add"])
    talk = Talk(cli, {wire.McpMessage: decide})
    await talk.initialize(sdk_mcp_servers=["calc"])
    turn = await talk.turn("go")
    assert told(turn) == ["The tool says no"]
    given = bodies(turn, wire.McpMessage)[-1].message["params"]["arguments"]
    assert (given["tool_name"], given["input"]) == ("Bash", {"command": "make"})


# --- outside --------------------------------------------------------------------------------------

PROGRAM = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result, error = {}, None
    if message["method"] == "initialize":
        result = {"serverInfo": {"name": "calculator"}, "protocolVersion": "2025-06-18"}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "add"}, {"name": "die"}]}
    elif message["params"]["name"] == "die":
        sys.exit()
    else:
        given = message["params"]["arguments"]
        text = f"{given['a'] + given['b']} {os.environ['UNIT']}"
        result = {"content": [{"type": "text", "text": text}]}
    print("noise", flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
EXTERNAL: dict[str, Any] = {
    "command": sys.executable,
    "args": ["-c", PROGRAM],
    "env": {"UNIT": "pears"},
}


async def with_server(config: Any, *argv: str) -> tuple[Talk, Any]:
    """One turn with a server that is not in the application, and its status afterwards."""
    given = json.dumps({"mcpServers": {"calc": config}})
    talk = Talk(SimulatedCLI(add, argv=["--mcp-config", given, *MAY_ADD, *argv]))
    await talk.turn("go")
    answer: Any = await talk.ask(wire.McpStatus())
    return talk, answer.body.mcp_servers[0]


async def test_server_that_is_a_program_is_called() -> None:
    talk, status = await with_server(EXTERNAL)
    assert told(talk.heard) == ["5 pears"]
    assert (status.status, status.scope) == ("connected", "dynamic")
    assert [tool.name for tool in status.tools] == ["add", "die"]
    await talk.ask(wire.McpToggle("calc", enabled=False))
    answer: Any = await talk.ask(wire.McpStatus())
    assert answer.body.mcp_servers[0].status == "disabled"
    assert await talk.end() == 0


async def test_server_that_ends_is_an_error_of_the_tool() -> None:
    async def die(chat: Chat) -> None:
        await chat.call("calc", "die", {})

    given = json.dumps({"mcpServers": {"calc": EXTERNAL}})
    turn = await Talk(SimulatedCLI(die, argv=["--mcp-config", given, *MAY_ADD])).turn("go")
    assert "The server has ended" in told(turn)[0]


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"command": "/does/not/exist"}, "No such file"),
        ({"command": sys.executable, "args": ["-c", ""]}, "The server has ended"),
        ({"type": "http", "url": "http://127.0.0.1:1/"}, "refused"),
        ({"type": "carrier-pigeon"}, "'carrier-pigeon' are not simulated"),
    ],
)
async def test_server_that_does_not_start_is_failed(config: Any, error: str) -> None:
    _, status = await with_server(config)
    assert status.status == "failed"
    assert error in status.error


class Handler(BaseHTTPRequestHandler):
    """An MCP server on the web; it streams if its path says so."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        listed = {"tools": [{"name": "add"}]}
        text = f"5 by {self.headers['Authorization']} in {self.headers['Mcp-Session-Id']}"
        called = {"content": [{"type": "text", "text": text}]}
        result = {"tools/list": listed, "tools/call": called}.get(message["method"], {})
        body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result})
        streams = "stream" in self.path
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
        self.send_header("Mcp-Session-Id", "s1")
        self.end_headers()
        self.wfile.write((f"event: message\ndata: {body}\n\n" if streams else body).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def web_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("path", ["/mcp", "/stream"])
async def test_server_is_reached_by_http(path: str) -> None:
    with web_server() as url:
        config = {"type": "http", "url": url + path, "headers": {"Authorization": "me"}}
        talk, _ = await with_server(config)
    assert told(talk.heard) == ["5 by me in s1"]


async def test_servers_are_replaced_during_the_session(tmp_path: Path) -> None:
    talk = Talk(SimulatedCLI(add, argv=MAY_ADD))
    answer: Any = await talk.ask(wire.McpSetServers({"calc": EXTERNAL, "no": {"command": "/no"}}))
    assert answer.body.added == ["calc", "no"]
    assert list(answer.body.errors) == ["no"]
    assert told(await talk.turn("go")) == ["5 pears"]
    answer = await talk.ask(wire.McpSetServers({}))
    assert isinstance(answer, wire.Answer)
    assert answer.body.removed == ["calc", "no"]
