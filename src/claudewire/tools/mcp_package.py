"""Servers of the `mcp` package, mounted whole: tools, resources, prompts and notifications.

The package is imported when such a server is connected. Versions 1.x and 2.x work, with low-level
servers and with those that have decorators, such as FastMCP.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from ..concurrency import ends_the_caller
from ..errors import words_of
from .context import Send
from .server import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    Message,
    RpcError,
    ServerConnection,
    ToolServer,
)

if TYPE_CHECKING:
    from ..session import Session

log: logging.Logger = logging.getLogger("claudewire.tools")

_INSIDE = ("_mcp_server", "_lowlevel_server")
"""The attribute with the low-level server of one with decorators, by version of the package."""


class MountedServer:
    """A server object of the `mcp` package, low-level or high-level."""

    def __init__(self, server: object, *, name: str | None = None) -> None:
        candidates = (server, *(getattr(server, attribute, None) for attribute in _INSIDE))
        for self._low_level in candidates:
            if callable(getattr(self._low_level, "create_initialization_options", None)):
                break
        else:
            raise TypeError(f"{server!r} is not a server of the `mcp` package, nor a ToolServer")
        self.name: str = name or str(getattr(self._low_level, "name"))  # noqa: B009

    def __repr__(self) -> str:
        return f"<MountedServer {self.name}>"

    def attach(self, send: Send | None = None, session: Session | None = None) -> ServerConnection:
        """Connect a session, which servers of the package do not use."""
        return _MountedConnection(self._low_level, self.name, send)


def as_server(server: object, name: str | None = None) -> ToolServer | MountedServer:
    """Return a server that sessions can connect to.

    Args:
        server: a ToolServer, or a server object of the `mcp` package.
        name: the name for the CLI, for the latter.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(server, ToolServer | MountedServer):
        return server
    return MountedServer(server, name=name)


class _MountedConnection(ServerConnection):
    def __init__(self, server: Any, name: str, send: Send | None) -> None:
        super().__init__(send)
        from mcp.shared.message import SessionMessage
        from mcp.types import JSONRPCMessage
        from pydantic import TypeAdapter

        self._wrapped = SessionMessage
        self._adapter: TypeAdapter[Any] = TypeAdapter(JSONRPCMessage)
        self._server = server
        self._name = name
        self._ids = itertools.count(1)  # ours: the CLI may use an id twice
        self._pending: dict[Any, MemoryObjectSendStream[Message]] = {}
        """Where the responses to open requests go."""
        self._greeting = anyio.Lock()
        self._welcome: Message | None = None
        self._is_greeted = False
        self._end = f"The MCP server {name} has ended"
        self._scope = anyio.CancelScope()
        # No limit is needed: the CLI has only so many requests open.
        self._inbox = anyio.create_memory_object_stream[Any](math.inf)
        self._outbox = anyio.create_memory_object_stream[Any](math.inf)

    # --- the server ------------------------------------------------------------------------------

    async def run(self) -> None:
        try:
            with self._scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._listen)
                    options = self._server.create_initialization_options()
                    await self._server.run(self._inbox[1], self._outbox[0], options)
                    tasks.cancel_scope.cancel()
        except BaseException as error:
            if ends_the_caller(error):
                raise
            log.exception("The MCP server %s failed", self._name)
            while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
                error = error.exceptions[0]
            self._end = f"The MCP server {self._name} has failed: {words_of(error)}"
        finally:
            for side in (*self._inbox, *self._outbox):
                side.close()
            for pending in self._pending.values():
                pending.close()

    async def aclose(self) -> None:
        await super().aclose()
        self._scope.cancel()

    async def _listen(self) -> None:
        async for item in self._outbox[1]:
            message: Message = self._adapter.dump_python(
                item.message, mode="json", by_alias=True, exclude_unset=True
            )
            id, method = message.get("id"), message.get("method")
            if method is None:
                if id in self._pending:
                    self._pending[id].send_nowait(message)
            elif id is None:
                self.notify(message)
            elif method == "ping":
                self._put(id=id, result={})
            else:  # the CLI serves no requests of servers in this process
                error = RpcError(METHOD_NOT_FOUND, f"Method not found: {method}").error
                self._put(id=id, error=error)

    def _put(self, **message: Any) -> None:
        """Pass a message on to the server."""
        parsed = self._adapter.validate_python({"jsonrpc": "2.0", **message})
        self._inbox[0].send_nowait(self._wrapped(parsed))

    # --- the CLI ---------------------------------------------------------------------------------

    def take_note(self, method: str, params: Mapping[str, Any]) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            if method != "notifications/initialized" or not self._is_greeted:
                self._is_greeted = self._is_greeted or method == "notifications/initialized"
                self._put(method=method, params=dict(params))

    async def serve(self, id: Any, method: str, params: Mapping[str, Any]) -> Message:
        if method != "initialize":
            return await self._ask(method, params)
        # The CLI repeats the handshake with all servers when one is added, while calls are running.
        async with self._greeting:
            if self._welcome is None:
                self._welcome = await self._ask(method, params)
        return self._welcome

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Message:
        id = next(self._ids)
        answered, answer = anyio.create_memory_object_stream[Message](1)
        self._pending[id] = answered
        try:
            with answered, answer:
                self._put(id=id, method=method, params=dict(params))
                response = await answer.receive()
        except anyio.get_cancelled_exc_class():
            withdrawn = {"requestId": id, "reason": "withdrawn"}
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._put(method="notifications/cancelled", params=withdrawn)
            raise
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise RpcError(INTERNAL_ERROR, self._end) from None
        finally:
            del self._pending[id]
        if "error" in response:
            raise RpcError(**response["error"])
        result: Message = response["result"]
        return result
