"""MCP servers as the CLI uses them: in the application, through control requests, or outside."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from ..wire import McpMessage, McpResponse
from .engine import Engine, Refused, StreamClosed
from .scheduler import TimedOut, Wait
from .servers import PATIENCE, STARTING, ServerError, ServerState

PROTOCOL = "2025-11-25"


def connect_configured(engine: Engine) -> None:
    """Connect to the servers outside of the application; prompts wait for them."""
    for name, config in engine.session.configuration.servers.items():
        if config.get("type") != "sdk":
            engine.session.servers[name] = ServerState("dynamic", config)
            engine.hold()
            engine.spawn(connect_program(engine, name), engine.release)


async def connect_program(engine: Engine, name: str) -> None:
    """Start or reach a server, and list its tools."""
    session = engine.session
    state = session.servers[name]
    env = {"PATH": os.defpath, **session.env, **session.configuration.settings.env}
    work = partial(state.open, _client(engine), env, session.cwd)
    try:
        state.connected(await engine.run_blocking(work, seconds=STARTING))
    except (ServerError, TimedOut) as error:
        state.close()
        state.failed(error)


async def connect_all(engine: Engine) -> None:
    """Connect to all servers in the application."""
    session = engine.session
    configured = session.configuration.servers.items()
    in_files = (name for name, config in configured if config.get("type") == "sdk")
    manifests = session.setup.sdk_mcp_server_manifests or {}
    for name in dict.fromkeys([*(session.setup.sdk_mcp_servers or ()), *in_files]):
        manifest = manifests.get(name)
        session.servers[name] = ServerState()
        if manifest is None or manifest.tools_list_result is None:
            await connect(engine, name)
        else:
            session.servers[name].connected(manifest.tools_list_result.get("tools"))


def _client(engine: Engine) -> dict[str, Any]:
    about = {"name": "claude-code", "version": engine.session.persona.version}
    return {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about}


async def connect(engine: Engine, name: str) -> None:
    """Initialize a server of the application and list its tools."""
    state = engine.session.servers.setdefault(name, ServerState())
    try:
        state.about = await _request(engine, name, 0, "initialize", _client(engine))
        await _send(engine, name, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = await _request(engine, name, 1, "tools/list", None)
    except (Refused, StreamClosed, TimedOut) as error:
        state.failed(error)
        engine.warn(f"MCP server {name}: {state.error}")
    else:
        state.connected(listed.get("tools"))


async def call_tool(
    engine: Engine, name: str, arguments: dict[str, Any], tool_use_id: str
) -> dict[str, Any]:
    """Call the tool with a name like `mcp__server__tool`; an error is a result with `isError`."""
    _, server, tool = name.split("__", 2)
    meta = {"claudecode/toolUseId": tool_use_id, "progressToken": 2}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    state = engine.session.servers.get(server)
    try:
        if state is None or state.server is None:
            return await _request(engine, server, 2, "tools/call", params)
        work = partial(state.server.request, "tools/call", params)
        answer: dict[str, Any] = await engine.run_blocking(work, seconds=PATIENCE)
        return answer
    except (Refused, StreamClosed, TimedOut, ServerError) as error:
        text = str(error) or f"MCP error: {type(error).__name__}"
        return {"content": [{"type": "text", "text": text}], "isError": True}


def abandon(engine: Engine, id: str) -> None:
    """Stop waiting for a request; an MCP server gets `notifications/cancelled`."""
    request = engine.connection.asked.get(id)
    if request is None or not isinstance(request.body, McpMessage):
        engine.withdraw(id)
        return
    params = {"requestId": request.body.message.get("id"), "reason": "AbortError: remote-cancel"}
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    engine.put(McpMessage(request.body.server_name, message))


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
    if "id" not in message and engine.behavior.answers_notifications:
        return {}  # its document wants a notification acknowledged, and no more
    if not isinstance(answer, McpResponse) or answer.mcp_response is None:
        await Wait(seconds=PATIENCE)  # without the wrapper, the CLI sees no answer
        raise TimedOut(f"no mcp_response from {server} within {PATIENCE:g} s")
    return answer.mcp_response
