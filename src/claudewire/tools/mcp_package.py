"""Servers of the `mcp` package, mounted whole: tools, resources, prompts and notifications.

The package is imported when such a server is connected; plain functions do not need it. Versions
1.x and 2.x work, with low-level servers and with those that have decorators, such as FastMCP.
"""

from __future__ import annotations

import functools
import itertools
import logging
import math
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio

from ..concurrency import ends_the_caller
from .context import Send
from .server import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    SdkServer,
    rpc_error,
)

if TYPE_CHECKING:
    from ..session import Session

__all__ = ["MountedConnection", "MountedServer", "as_server"]

Message = dict[str, Any]

log: logging.Logger = logging.getLogger("claudewire.tools")

_INSIDE = ("_mcp_server", "_lowlevel_server")
"""The attribute with the low-level server of one with decorators, by version of the package."""


class MountedServer:
    """A server object of the `mcp` package.

    Args:
        server: the object, low-level or high-level.
        name: the name for the CLI; by default the server's own.

    Raises:
        TypeError: it is not such an object.
    """

    def __init__(self, server: object, *, name: str | None = None) -> None:
        self._low_level = _low_level(server)
        self.name: str = name or str(self._low_level.name)

    def __repr__(self) -> str:
        return f"<MountedServer {self.name}>"

    def attach(self, send: Send | None = None, session: Session | None = None) -> MountedConnection:
        """Connect a session, which servers of the package do not use: see `SdkServer.attach`.

        The caller has to run the connection in a task.
        """
        return MountedConnection(self._low_level, self.name, send)


def _low_level(server: Any) -> Any:
    for candidate in (server, *(getattr(server, name, None) for name in _INSIDE)):
        if callable(getattr(candidate, "create_initialization_options", None)):
            return candidate
    raise TypeError(f"{server!r} is not a server of the `mcp` package, nor a ToolServer")


def as_server(server: object, name: str | None = None) -> SdkServer:
    """Return a server that sessions can connect to.

    Args:
        server: a ToolServer, or a server object of the `mcp` package.
        name: the name for the CLI, for the latter.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(server, SdkServer):
        return server
    return MountedServer(server, name=name)


class _Waiting:
    """A request that the server has not answered yet."""

    __slots__ = ("answered", "response")

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.response: Message | None = None

    def settle(self, response: Message) -> None:
        self.response = self.response or response
        self.answered.set()


class MountedConnection:
    """One session's connection to a server of the `mcp` package."""

    def __init__(self, server: Any, name: str, send: Send | None) -> None:
        self._server = server
        self._name = name
        self._send = send
        self._language = _language()
        self._ids = itertools.count(1)
        self._ours: dict[Any, int] = {}  # by the id of the CLI, which may use one twice
        self._waiting: dict[Any, _Waiting] = {}
        self._greeting = anyio.Lock()
        self._welcome: Message | None = None
        self._is_greeted = False
        self._failure: str | None = None
        self._is_running = False
        self._scope = anyio.CancelScope()
        # No limit is needed: the CLI has only so many requests open.
        self._inbox = anyio.create_memory_object_stream[Any](math.inf)
        self._outbox = anyio.create_memory_object_stream[Any](math.inf)

    async def run(self) -> None:
        """Run the server until the connection is closed. It does not raise."""
        self._is_running = True
        how = "has been closed"
        try:
            with self._scope:
                await self._serve()
                how = "has ended"
        except BaseException as error:
            if ends_the_caller(error):
                raise
            log.exception("The MCP server %s failed", self._name)
            how = f"has failed: {_reason(error)}"
        finally:
            self._end(how)

    async def _serve(self) -> None:
        options = self._server.create_initialization_options()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen)
            await self._server.run(self._inbox[1], self._outbox[0], options)
            tasks.cancel_scope.cancel()

    def _end(self, how: str) -> None:
        """Answer all open requests, and all that come from now on, with the reason."""
        self._failure = f"The MCP server {self._name} {how}"
        for stream in (*self._inbox, *self._outbox):
            stream.close()
        for id, waiting in self._waiting.items():
            waiting.settle(rpc_error(id, INTERNAL_ERROR, self._failure))

    async def aclose(self) -> None:
        """Close the connection, and cancel the calls that are still running."""
        self._send = None
        self._scope.cancel()
        if not self._is_running:
            self._end("has been closed")

    async def _listen(self) -> None:
        """Handle what the server sends: responses, notifications and requests."""
        async for item in self._outbox[1]:
            self._hear(self._language.write(item.message))

    def _hear(self, message: Message) -> None:
        if "method" not in message:
            waiting = self._waiting.get(message.get("id"))
            if waiting is not None:
                waiting.settle(message)
        elif "id" not in message:
            if self._send is not None:
                self._send(message)
        elif message["method"] == "ping":
            self._put({"jsonrpc": "2.0", "id": message["id"], "result": {}})
        else:
            # The CLI serves no requests of servers in this process.
            reason = f"Method not found: {message['method']}"
            self._put(rpc_error(message["id"], METHOD_NOT_FOUND, reason))

    def _put(self, message: Mapping[str, Any]) -> None:
        self._inbox[0].send_nowait(self._language.read(message))

    async def handle(self, message: Mapping[str, Any]) -> Message | None:
        """Handle a message of the CLI and return the response; None for a notification."""
        id = message.get("id")
        if self._failure is not None:
            return None if id is None else rpc_error(id, INTERNAL_ERROR, self._failure)
        try:
            if id is None:
                self._take_note(message)
                return None
            return await self._ask(id, message)
        except ValueError:
            log.warning("The CLI sent the MCP server %s an invalid message", self._name)
            return None if id is None else rpc_error(id, INVALID_REQUEST, "Invalid request")
        except anyio.BrokenResourceError:  # it no longer reads, and is about to end
            reason = f"The MCP server {self._name} has ended"
            return None if id is None else rpc_error(id, INTERNAL_ERROR, reason)

    def _take_note(self, message: Mapping[str, Any]) -> None:
        method = message.get("method")
        if method == "notifications/cancelled":
            self._cancel(message)
        elif method != "notifications/initialized" or not self._is_greeted:
            self._is_greeted = self._is_greeted or method == "notifications/initialized"
            self._put(message)

    def _cancel(self, message: Mapping[str, Any]) -> None:
        params = message.get("params") or {}
        ours = self._ours.get(params.get("requestId"))
        if ours is not None:
            self._put({**message, "params": {**params, "requestId": ours}})
            # Not every server answers a cancelled request, and the CLI needs an answer.
            self._waiting[ours].settle(rpc_error(ours, CANCELLED, "Request cancelled"))

    async def _ask(self, id: Any, message: Mapping[str, Any]) -> Message | None:
        if "method" not in message:
            return None  # a response to a request that the server did not send
        if message["method"] == "initialize":
            return {**await self._greet(message), "id": id}
        ours = next(self._ids)
        self._ours[id] = ours
        try:
            return {**await self._pass_on(ours, message), "id": id}
        finally:
            if self._ours.get(id) == ours:
                del self._ours[id]

    async def _greet(self, message: Mapping[str, Any]) -> Message:
        """Pass on the first handshake, and repeat its result later.

        The CLI repeats the handshake with all servers when one is added, while calls are running.
        It then also counts its requests from the beginning again.
        """
        async with self._greeting:
            if self._welcome is None:
                response = await self._pass_on(next(self._ids), message)
                if "error" in response:
                    return response
                self._welcome = response
        return self._welcome

    async def _pass_on(self, ours: int, message: Mapping[str, Any]) -> Message:
        waiting = _Waiting()
        self._put({**message, "id": ours})
        self._waiting[ours] = waiting
        try:
            await waiting.answered.wait()
        except anyio.get_cancelled_exc_class():
            self._withdraw(ours)
            raise
        finally:
            del self._waiting[ours]
        assert waiting.response is not None
        return waiting.response

    def _withdraw(self, ours: int) -> None:
        params = {"requestId": ours, "reason": "withdrawn"}
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._put({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return str(error) or type(error).__name__


class _Language:
    """Converts messages to the types of the package and back."""

    def __init__(self) -> None:
        types = import_module("mcp.types")
        self._adapter: Any = import_module("pydantic").TypeAdapter(types.JSONRPCMessage)
        self._envelope: Any = import_module("mcp.shared.message").SessionMessage

    def read(self, message: Mapping[str, Any]) -> Any:
        """Raise ValueError for an invalid message."""
        return self._envelope(self._adapter.validate_python(dict(message)))

    def write(self, message: Any) -> Message:
        written: Message = self._adapter.dump_python(
            message, mode="json", by_alias=True, exclude_unset=True
        )
        return written


_language = functools.cache(_Language)
