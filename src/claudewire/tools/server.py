"""MCP servers inside this process: JSON-RPC in, JSON-RPC out.

A server is a definition that several sessions may use at once, each with its own connection. The
CLI sends messages inside control requests, and each of these has to be answered, even if it carries
a notification.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable
from weakref import WeakSet

import anyio

from ..errors import OptionsError
from .context import Send, ToolContext
from .definition import AnyTool, Tool, tool

if TYPE_CHECKING:
    from ..session import Session

__all__ = [
    "CANCELLED",
    "INTERNAL_ERROR",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "SdkConnection",
    "SdkServer",
    "ToolServer",
    "rpc_error",
]

PROTOCOL_VERSION: Final = "2025-11-25"
"""For a client that does not say which version it speaks."""

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CANCELLED: Final = -32800

THREADS: Final = 32
"""How many plain functions of one connection run at once. The CLI calls about ten."""

Message = dict[str, Any]

log: logging.Logger = logging.getLogger("claudewire.tools")


class SdkConnection(Protocol):
    """One session's connection to a server."""

    async def handle(self, message: Mapping[str, Any]) -> Message | None:
        """Handle a message of the CLI and return the response; None for a notification.

        It is called in a new task for each message and does not raise; when that task is
        cancelled, so is the call.
        """

    async def run(self) -> None:
        """Do the background work in one task, until the connection is closed. It does not raise."""

    async def aclose(self) -> None:
        """Close the connection."""


@runtime_checkable
class SdkServer(Protocol):
    """An MCP server inside this process."""

    @property
    def name(self) -> str:
        """The name of the server."""
        ...

    def attach(self, send: Send | None = None, session: Session | None = None) -> SdkConnection:
        """Connect a session.

        Args:
            send: sends the server's notifications to the CLI. It must not block.
            session: the session, for the tools.
        """
        ...


class RpcError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def rpc_error(id: Any, code: int, message: str) -> Message:
    """Make the response that refuses a request."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What the API accepts in the name of a tool, of which it becomes a part."""


def _check_name(name: object) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") if isinstance(name, str) else ""
    raise OptionsError(
        f"{name!r} cannot be the name of a ToolServer: it has at most 64 letters from a to z, "
        f"digits, _ and -{f'; did you mean {plain!r}?' if _NAME.fullmatch(plain) else ''}"
    )


class ToolServer:
    """Tools under one name. The model sees them as `mcp__NAME__TOOL`.

    Args:
        name: the name of the server.
        tools: its tools, or functions to make them of.
        version: the version that it reports.
        instructions: what the model is told about all the tools.
        can_change: whether tools may be added and removed while it is used.
        logs: whether what tools log is also sent to the CLI.
        always_load: whether the model sees all its tools from the start.

    Raises:
        OptionsError: the name is not one that the model can be given, or the tools are not a list.
        TypeError, ValueError: see `tool`.
    """

    def __init__(
        self,
        name: str,
        tools: Iterable[AnyTool | Callable[..., Any]] = (),
        *,
        version: str = "1.0.0",
        instructions: str | None = None,
        can_change: bool = False,
        logs: bool = False,
        always_load: bool = False,
    ) -> None:
        self._name = _check_name(name)
        self.version = version
        self.instructions = instructions
        self.can_change = can_change
        self.logs = logs
        self.always_load = always_load
        self._tools: dict[str, AnyTool] = {}
        self._connections: WeakSet[ToolConnection] = WeakSet()
        if isinstance(tools, str | Mapping) or not isinstance(tools, Iterable):
            raise OptionsError(f"The tools of a ToolServer must be a list, not {tools!r}")
        for each in tools:
            self._put(each)
        self._loose = ToolConnection(self)

    @property
    def name(self) -> str:
        """The name of the server."""
        return self._name

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        """Its tools, by name."""
        return self._tools

    def __repr__(self) -> str:
        return f"<ToolServer {self.name}: {', '.join(self._tools) or 'no tools'}>"

    def _put(self, each: AnyTool | Callable[..., Any]) -> AnyTool:
        made = each if isinstance(each, Tool) else tool(each)
        if made.name in self._tools:
            raise ValueError(f"{self.name} has a tool called {made.name} already")
        self._tools[made.name] = made
        return made

    def add(self, each: AnyTool | Callable[..., Any]) -> AnyTool:
        """Add a tool, and notify all sessions that use the server. Any thread may call this.

        Raises:
            ValueError: there is a tool of that name, or the server was not made to change.
        """
        self._check_can_change()
        made = self._put(each)
        self._tell_change()
        return made

    def remove(self, name: str) -> None:
        """Remove a tool, and notify all sessions that use the server. Any thread may call this.

        Raises:
            ValueError: the server was not made to change.
            KeyError: there is no such tool.
        """
        self._check_can_change()
        del self._tools[name]
        self._tell_change()

    def _check_can_change(self) -> None:
        if not self.can_change:
            raise ValueError(
                f"The CLI was told that the tools of {self.name} do not change; "
                "make the server with can_change=True"
            )

    def _tell_change(self) -> None:
        for connection in list(self._connections):
            connection.notify("notifications/tools/list_changed")

    def attach(self, send: Send | None = None, session: Session | None = None) -> ToolConnection:
        """Connect a session.

        Args:
            send: sends the server's notifications to the CLI. It must not block.
            session: the session, for the tools.
        """
        connection = ToolConnection(self, send, session, threads=THREADS)
        self._connections.add(connection)
        return connection

    async def handle(self, message: Mapping[str, Any]) -> Message | None:
        """Handle a message without a session and return the response, if there is one."""
        return await self._loose.handle(message)

    def initialize_result(self, protocol: str = PROTOCOL_VERSION) -> Message:
        """Return the result of the handshake.

        Args:
            protocol: the version of MCP that the client speaks.
        """
        capabilities: Message = {"tools": {"listChanged": self.can_change}}
        if self.logs:
            capabilities["logging"] = {}
        result: Message = {
            "protocolVersion": protocol,
            "capabilities": capabilities,
            "serverInfo": {"name": self.name, "version": self.version},
        }
        if self.instructions is not None:
            result["instructions"] = self.instructions
        return result

    def tools_list_result(self) -> Message:
        """Return the descriptions of all tools."""
        shown = self.always_load
        tools = tuple(self._tools.values())  # another thread may change them meanwhile
        return {"tools": [each.definition(always_load=shown) for each in tools]}


class ToolConnection:
    """One session's connection to a server of functions: see `ToolServer.attach`.

    At most `threads` plain functions run at once; None for the limit that anyio has for all.
    """

    def __init__(
        self,
        server: ToolServer,
        send: Send | None = None,
        session: Session | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self._server = server
        self._send = send
        self._session = session
        self._running: dict[Any, anyio.CancelScope] = {}
        self._threads = threads
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self) -> None:
        """Do nothing: a call runs in the task that handles its message."""

    async def aclose(self) -> None:
        """Cancel the calls that are still running."""
        self._send = None
        for scope in self._running.values():
            scope.cancel()

    def notify(self, method: str) -> None:
        """Send a notification to the CLI."""
        if self._send is not None:
            self._send({"jsonrpc": "2.0", "method": method})

    async def handle(self, message: Mapping[str, Any]) -> Message | None:
        """Handle a message of the CLI and return the response; None for a notification."""
        method, params = message.get("method"), message.get("params", {})
        if "id" not in message:
            self._take_note(method, params)
            return None
        id = message["id"]
        if not isinstance(method, str):
            # A response; but this server sends no requests.
            answers = "result" in message or "error" in message
            return None if answers else rpc_error(id, INVALID_REQUEST, "There is no method")
        try:
            return {"jsonrpc": "2.0", "id": id, "result": await self._serve(id, method, params)}
        except RpcError as error:
            return rpc_error(id, error.code, str(error))

    async def _serve(self, id: Any, method: str, params: Any) -> Message:
        if not isinstance(params, Mapping):
            raise RpcError(INVALID_PARAMS, "params must be an object")
        if method == "tools/call":
            return await self._call(id, params)
        if method == "tools/list":
            return self._server.tools_list_result()
        if method == "initialize":
            asked = params.get("protocolVersion")
            version = asked if isinstance(asked, str) else PROTOCOL_VERSION
            return self._server.initialize_result(version)
        if method == "ping" or (method == "logging/setLevel" and self._server.logs):
            return {}
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")

    def _take_note(self, method: Any, params: Any) -> None:
        if method == "notifications/cancelled" and isinstance(params, Mapping):
            scope = self._running.get(params.get("requestId"))
            if scope is not None:
                scope.cancel()

    async def _call(self, id: Any, params: Mapping[str, Any]) -> Message:
        name, arguments = params.get("name"), params.get("arguments")
        called = self._server.tools.get(name) if isinstance(name, str) else None
        if called is None:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, Mapping):
            raise RpcError(INVALID_PARAMS, "arguments must be an object")
        meta = params.get("_meta")
        context = ToolContext(
            session=self._session,
            server=self._server.name,
            tool=called.name,
            request_id=id,
            meta=meta if isinstance(meta, Mapping) else None,
            send=self._send,
            logs=self._server.logs,
        )
        return await self._run(called, arguments, context)

    async def _run(
        self, called: AnyTool, arguments: Mapping[str, Any], context: ToolContext
    ) -> Message:
        """Run a tool such that the CLI can cancel it."""
        if self._limiter is None and self._threads is not None:
            self._limiter = anyio.CapacityLimiter(self._threads)  # belongs to the event loop
        id = context.request_id
        scope = anyio.CancelScope()
        self._running[id] = scope
        try:
            with scope:
                return await called.call(arguments, context, limiter=self._limiter)
        finally:
            if self._running.get(id) is scope:
                del self._running[id]
        raise RpcError(CANCELLED, "Request cancelled")
