"""MCP servers of functions inside this process.

Several sessions may use a server at once, each with its own connection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..errors import OptionsError
from .connection import INVALID_PARAMS, METHOD_NOT_FOUND, Message, RpcError, ServerConnection
from .context import Send, ToolContext
from .definition import AnyTool, Tool, tool

if TYPE_CHECKING:
    from ..session import Session

PROTOCOL_VERSION: Final = "2025-11-25"
"""For a client that does not name its version."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The names that the API accepts as a part of a tool's name."""


class ToolServer:
    """Tools under one name. The model sees them as `mcp__NAME__TOOL`.

    Args:
        name: the name of the server.
        tools: its tools, or functions to make them of.
        version: the version that it reports.
        instructions: instructions for the model about all the tools.
        always_load: whether the model sees all its tools from the start.

    Attributes:
        tools: its tools, by name.

    Raises:
        OptionsError: the API does not accept the name, or the tools are not a list.
        TypeError, ValueError: see `tool`.
    """

    def __init__(
        self,
        name: str,
        tools: Iterable[AnyTool | Callable[..., Any]] = (),
        *,
        version: str = "1.0.0",
        instructions: str | None = None,
        always_load: bool = False,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise OptionsError(
                f"{name!r} cannot be the name of a ToolServer: it has at most 64 letters from a "
                "to z, digits, _ and -"
            )
        if isinstance(tools, str | Mapping) or not isinstance(tools, Iterable):
            raise OptionsError(f"The tools of a ToolServer must be a list, not {tools!r}")
        self.name: str = name
        self.version = version
        self.instructions = instructions
        self.always_load = always_load
        self.tools: dict[str, AnyTool] = {}
        for each in tools:
            made = each if isinstance(each, Tool) else tool(each)
            if made.name in self.tools:
                raise ValueError(f"{name} has two tools called {made.name}")
            self.tools[made.name] = made

    def __repr__(self) -> str:
        return f"<ToolServer {self.name}: {', '.join(self.tools) or 'no tools'}>"

    def attach(self, send: Send | None = None, session: Session | None = None) -> ServerConnection:
        """Connect a session.

        Args:
            send: sends the server's notifications to the CLI. It must not block.
            session: the session, for the tools.
        """
        return _ToolConnection(self, send, session)


class _ToolConnection(ServerConnection):
    def __init__(self, server: ToolServer, send: Send | None, session: Session | None) -> None:
        super().__init__(send)
        self._server = server
        self._session = session

    async def serve(self, id: Any, method: str, params: Mapping[str, Any]) -> Message:
        server = self._server
        if method == "tools/call":
            return await self._call(id, params)
        if method == "tools/list":
            tools = server.tools.values()
            return {"tools": [each.definition(always_load=server.always_load) for each in tools]}
        if method == "initialize":
            result = {
                "protocolVersion": params.get("protocolVersion", PROTOCOL_VERSION),
                "capabilities": {"tools": {"listChanged": False}},
                "serverInfo": {"name": server.name, "version": server.version},
                "instructions": server.instructions,
            }
            return {key: value for key, value in result.items() if value is not None}
        if method == "ping":
            return {}
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")

    async def _call(self, id: Any, params: Mapping[str, Any]) -> Message:
        called = self._server.tools.get(params.get("name", ""))
        if called is None:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {params.get('name')}")
        context = ToolContext(
            session=self._session,
            server=self._server.name,
            tool=called.name,
            request_id=id,
            meta=params.get("_meta"),
            send=self.notify,
        )
        return await called.call(params.get("arguments") or {}, context)
