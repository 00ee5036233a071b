"""MCP servers as the CLI sees them: in the application, through control requests, or outside."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..wire import LEGACY, McpMessage, McpResponse
from .engine import Engine, Refused, StreamClosed, TimedOut, Wait
from .session import ServerState

if TYPE_CHECKING:
    from .servers import ExternalServer

__all__ = [
    "abandon",
    "call_tool",
    "connect",
    "connect_all",
    "connect_configured",
    "connect_program",
    "read_resource",
]

PATIENCE = 60.0
"""How long the CLI waits for a server, also after an answer without `mcp_response`."""


def connect_configured(engine: Engine) -> None:
    """Connect to the servers that are programs or reached by HTTP; prompts wait for that."""
    for name, config in engine.session.configuration.servers.items():
        if config.get("type") != "sdk":
            engine.session.servers[name] = ServerState("dynamic", config)
            engine.hold()
            engine.spawn(connect_program(engine, name), engine.release)


async def connect_program(engine: Engine, name: str) -> None:
    """Start a server, or reach it, and list its tools."""
    from .jobs import run_blocking
    from .servers import ServerError, connect_external

    session = engine.session
    state = session.servers[name]
    env = {"PATH": os.defpath, **session.env, **session.configuration.env}
    work = partial(connect_external, state.config or {}, _client(engine), env, session.cwd)
    try:
        state.server, state.about, tools = await run_blocking(engine, work)
    except ServerError as error:
        state.failed(str(error))
    else:
        state.connected(tools)


def connect_all(engine: Engine, then: Callable[[], None]) -> None:
    """Connect to all servers of the host, those of `initialize` and those of `--mcp-config`.

    Args:
        engine: the CLI.
        then: is called when all of them are connected, or have failed.
    """
    left: list[str] = []

    def met(name: str) -> None:
        left.remove(name)
        if not left:
            then()

    session = engine.session
    manifests = session.setup.sdk_mcp_server_manifests or {}
    for name in dict.fromkeys([*(session.setup.sdk_mcp_servers or ()), *_in_host(engine)]):
        manifest = manifests.get(name)
        session.servers[name] = ServerState()
        if manifest is None or manifest.tools_list_result is None:
            left.append(name)
        else:
            session.servers[name].connected(manifest.tools_list_result.get("tools"))
    if not left:
        then()
    for name in list(left):
        engine.spawn(connect(engine, name), partial(met, name))


def _in_host(engine: Engine) -> list[str]:
    """The servers in the application that the command line configures."""
    servers = engine.session.configuration.servers
    return [name for name, config in servers.items() if config.get("type") == "sdk"]


def _client(engine: Engine) -> dict[str, Any]:
    persona = engine.session.persona
    return {
        "protocolVersion": persona.mcp_protocol,
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": persona.version},
    }


async def connect(engine: Engine, name: str) -> None:
    """Initialize a server of the application and list its tools."""
    state = engine.session.servers.setdefault(name, ServerState())
    try:
        await _request(engine, name, 0, "initialize", _client(engine))
        await _send(engine, name, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = await _request(engine, name, 1, "tools/list", None)
    except (Refused, StreamClosed, TimedOut) as error:
        state.failed(str(error) or type(error).__name__)
        engine.warn(f"MCP server {name}: {state.error}")
        return
    state.connected(listed.get("tools"))


async def call_tool(
    engine: Engine, server: str, tool: str, arguments: dict[str, Any], tool_use_id: str
) -> dict[str, Any]:
    """Call a tool of a server; errors are returned as a result with `isError`."""
    meta = {"claudecode/toolUseId": tool_use_id, "progressToken": 2}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    state = engine.session.servers.get(server)
    try:
        if state is not None and state.server is not None:
            return await _ask_program(engine, state.server, params)
        return await _request(engine, server, 2, "tools/call", params)
    except (Refused, StreamClosed, TimedOut) as error:
        text = str(error) or f"MCP error: {type(error).__name__}"
        return {"content": [{"type": "text", "text": text}], "isError": True}


async def _ask_program(
    engine: Engine, server: ExternalServer, params: dict[str, Any]
) -> dict[str, Any]:
    from .jobs import run_blocking
    from .servers import ServerError

    work = partial(server.request, "tools/call", params)
    try:
        answer: dict[str, Any] = await run_blocking(engine, work)
    except ServerError as error:
        raise Refused(str(error)) from None
    return answer


async def read_resource(engine: Engine, server: str, uri: str) -> dict[str, Any]:
    """Read a resource of a server. It raises as `Engine.ask` does, also for the server's errors."""
    return await _request(engine, server, 3, "resources/read", {"uri": uri})


def abandon(engine: Engine, id: str) -> None:
    """Stop waiting for a request; an MCP server gets `notifications/cancelled`."""
    request = engine.connection.asked.get(id)
    if request is None or not isinstance(request.body, McpMessage):
        engine.withdraw(id)
        return
    params = {"requestId": request.body.message.get("id"), "reason": "AbortError: remote-cancel"}
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    body = McpMessage(request.body.server_name, message)
    engine.put(body)


async def _request(
    engine: Engine, server: str, id: int, method: str, params: dict[str, Any] | None
) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = params
    response = await _send(engine, server, message)
    if "error" in response:
        error = response["error"]
        raise Refused(str(error.get("message") if isinstance(error, dict) else error))
    result = response.get("result")
    return result if isinstance(result, dict) else {}


async def _send(engine: Engine, server: str, message: dict[str, Any]) -> dict[str, Any]:
    answer = await engine.ask(McpMessage(server, message), seconds=PATIENCE)
    if "id" not in message and engine.speaks == LEGACY.name:
        return {}  # its document wants a notification acknowledged, and no more
    if not isinstance(answer, McpResponse) or answer.mcp_response is None:
        await Wait(seconds=PATIENCE)  # without the wrapper, the CLI sees no answer
        raise TimedOut(f"no mcp_response from {server} within {PATIENCE:g} s")
    return answer.mcp_response
