"""MCP servers inside this process, of functions for example.

Several sessions may use a server at once, each with its own connection.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio

from ..errors import OptionsError
from .context import Send, ToolContext
from .definition import AnyTool, Tool, tool

if TYPE_CHECKING:
    from ..session import Session

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CANCELLED: Final = -32800

Message = dict[str, Any]

ACKNOWLEDGED: Final[Message] = {"jsonrpc": "2.0", "result": {}, "id": 0}
"""The response to a message that needs none: it comes in a request that has to be answered."""

PROTOCOL_VERSION: Final = "2025-11-25"
"""For a client that does not name its version."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""The names that the API accepts as a part of a tool's name."""


class RpcError(Exception):
    """The refusal of a request, with a code of JSON-RPC."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        more = {} if data is None else {"data": data}
        self.error: Message = {"code": code, "message": message, **more}


class ServerConnection(ABC):
    """Dispatches the messages of one CLI to a server, and cancels calls.

    Args:
        send: sends the server's notifications to the CLI. It must not block.

    Attributes:
        met: set once the CLI has finished the handshake, or the server has refused it.
        trouble: the reason of a refused handshake.
    """

    def __init__(self, send: Send | None) -> None:
        self._send = send
        self._running: dict[Any, anyio.CancelScope] = {}
        self.met: anyio.Event = anyio.Event()
        self.trouble: str | None = None

    @abstractmethod
    async def serve(self, id: Any, method: str, params: Mapping[str, Any]) -> Message:
        """Return the result of a request.

        Raises:
            RpcError: the server refuses the request.
        """

    def take_note(self, method: str, params: Mapping[str, Any]) -> None:  # noqa: B027
        """Take a notification of the CLI; a server need not."""

    async def run(self) -> None:  # noqa: B027
        """Run the server for as long as the session lives, if it needs a task. Never raises."""

    async def aclose(self) -> None:
        """Cancel the calls that are still running, and send nothing more."""
        self._send = None
        for scope in self._running.values():
            scope.cancel()

    def notify(self, message: Message) -> None:
        """Send a notification to the CLI."""
        if self._send is not None:
            self._send(message)

    async def handle(self, message: Mapping[str, Any]) -> Message:
        """Handle a message of the CLI and return the response.

        Never raises. When the calling task is cancelled, so is the request.
        """
        id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if method is None:  # a response to a request that was never sent
            return ACKNOWLEDGED
        if id is None:
            self._take_note(method, params)
            return ACKNOWLEDGED
        response: Message = {"error": RpcError(CANCELLED, "Request cancelled").error}
        scope = anyio.CancelScope()
        self._running[id] = scope  # of the newer request, if the CLI uses an id twice
        try:
            with scope:
                response = {"result": await self.serve(id, method, params)}
        except RpcError as error:
            response = {"error": error.error}
            if method == "initialize":
                self.trouble = str(error)
                self.met.set()
        finally:
            if self._running.get(id) is scope:
                del self._running[id]
        return {"jsonrpc": "2.0", "id": id, **response}

    def _take_note(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/cancelled":
            if (scope := self._running.get(params.get("requestId"))) is not None:
                scope.cancel()
            return
        if method == "notifications/initialized":
            self.trouble = None
            self.met.set()
        self.take_note(method, params)


# --- a server of functions ------------------------------------------------------------------------


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
