"""In-process MCP servers, as the CLI sees them: JSON-RPC carried by control requests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from ..wire import LEGACY, McpMessage, McpResponse
from .engine import Engine, Refused, StreamClosed, TimedOut, Wait

__all__ = ["abandon", "call_tool", "connect", "connect_all", "read_resource"]

PATIENCE = 60.0
"""How long the CLI waits for a server, also after an answer without `mcp_response`."""


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

    setup = engine.session.setup
    manifests = setup.sdk_mcp_server_manifests or {}
    for name in dict.fromkeys([*(setup.sdk_mcp_servers or ()), *_configured(engine)]):
        manifest = manifests.get(name)
        if manifest is None or manifest.tools_list_result is None:
            left.append(name)
        else:
            _learn(engine, name, manifest.tools_list_result)
    if not left:
        then()
    for name in list(left):
        engine.spawn(connect(engine, name), partial(met, name))


def _configured(engine: Engine) -> list[str]:
    """The in-process servers that the command line configures."""
    names: list[str] = []
    for text in engine.session.flags.mcp_config:
        try:
            servers = msgspec.json.decode(text)["mcpServers"]
            names += [name for name, server in servers.items() if server.get("type") == "sdk"]
        except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
            continue  # a file, whose servers are programs and not simulated
    return names


def _learn(engine: Engine, name: str, listed: dict[str, Any]) -> None:
    tools = listed.get("tools")
    engine.session.mcp_tools[name] = tools if isinstance(tools, list) else []


async def connect(engine: Engine, name: str) -> None:
    """Initialize a server and list its tools."""
    client = {"name": "claude-code", "version": engine.session.persona.version}
    params = {
        "protocolVersion": engine.session.persona.mcp_protocol,
        "capabilities": {},
        "clientInfo": client,
    }
    try:
        await _request(engine, name, 0, "initialize", params)
        await _send(engine, name, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = await _request(engine, name, 1, "tools/list", None)
    except (Refused, StreamClosed, TimedOut) as error:
        engine.warn(f"MCP server {name}: {str(error) or type(error).__name__}")
        return
    _learn(engine, name, listed)


async def call_tool(
    engine: Engine, server: str, tool: str, arguments: dict[str, Any], tool_use_id: str
) -> dict[str, Any]:
    """Call a tool of a server; errors are returned as a result with `isError`."""
    meta = {"claudecode/toolUseId": tool_use_id, "progressToken": 2}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    try:
        return await _request(engine, server, 2, "tools/call", params)
    except (Refused, StreamClosed, TimedOut) as error:
        text = str(error) or f"MCP error: {type(error).__name__}"
        return {"content": [{"type": "text", "text": text}], "isError": True}


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
