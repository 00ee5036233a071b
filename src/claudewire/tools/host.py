"""The MCP servers of one session, and the dispatch of the CLI's messages to them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from ..concurrency import ends_the_caller
from ..errors import describe
from ..wire import Failure, McpMessage, McpResponse, Request
from .mcp_package import as_server
from .server import SdkConnection

if TYPE_CHECKING:
    from ..session import Session

__all__ = ["ServerHost"]

Message = dict[str, Any]
Background = Callable[[], Coroutine[Any, Any, None]]

log: logging.Logger = logging.getLogger("claudewire.tools")


class _Connected:
    """A connected server, and whether the CLI has finished the handshake with it."""

    __slots__ = ("connection", "met", "trouble")

    def __init__(self, connection: SdkConnection) -> None:
        self.connection = connection
        self.met = anyio.Event()
        self.trouble: str | None = None

    def note(self, method: Any, response: Message | None) -> None:
        """Follow the handshake."""
        if method == "notifications/initialized":
            self.trouble = None
            self.met.set()
        elif method == "initialize" and response is not None and "error" in response:
            self.trouble = str(response["error"].get("message"))
            self.met.set()


class ServerHost:
    """The servers of a session, each with its connection.

    Args:
        start_soon: runs a function in the background for as long as the session lives.
        send: sends a notification of a server to the CLI; it takes the server's name and the
            message, and must not block.
        session: the session, for the tools.
    """

    def __init__(
        self,
        start_soon: Callable[[Background], object],
        send: Callable[[str, Message], None] | None = None,
        session: Session | None = None,
    ) -> None:
        self._start_soon = start_soon
        self._send = send
        self._session = session
        self._servers: dict[str, _Connected] = {}

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the servers."""
        return iter(self._servers)

    def __contains__(self, name: object) -> bool:
        return name in self._servers

    def __len__(self) -> int:
        return len(self._servers)

    def add(self, server: object, name: str | None = None) -> str:
        """Connect a server, and return the name by which the CLI knows it.

        Args:
            server: a ToolServer, or a server object of the `mcp` package.
            name: the name for the CLI; by default the server's own.

        Raises:
            TypeError: it is not a server.
            ValueError: there is a server of that name.
        """
        found = as_server(server, name)
        called = name or found.name
        if called in self._servers:
            raise ValueError(f"There is an MCP server called {called} already")
        connection = found.attach(partial(self._push, called), self._session)
        self._servers[called] = _Connected(connection)
        self._start_soon(connection.run)
        return called

    def _push(self, name: str, message: Message) -> None:
        if self._send is None:
            return
        try:
            self._send(name, message)
        except Exception:  # at the end of a session; the tool should not fail because of it
            log.debug("A message of the MCP server %s was lost", name, exc_info=True)

    async def remove(self, name: str) -> None:
        """Disconnect a server, and cancel its calls.

        Raises:
            KeyError: there is no server of that name.
        """
        await self._servers.pop(name).connection.aclose()

    async def until_met(self, name: str) -> str | None:
        """Wait for the handshake of the CLI with a server; return why it failed, if it did.

        Raises:
            KeyError: there is no server of that name.
        """
        server = self._servers[name]
        await server.met.wait()
        return server.trouble

    async def aclose(self) -> None:
        """Disconnect all servers."""
        for name in list(self._servers):
            await self.remove(name)

    async def serve(self, request: Request) -> McpResponse | Failure:
        """Answer a request of the CLI that carries a message for a server."""
        body = request.body
        assert isinstance(body, McpMessage)
        server = self._servers.get(body.server_name)
        if server is None:
            log.warning(
                "The CLI sent a message for the MCP server %s, which is not connected",
                body.server_name,
            )
            return Failure(request.id, f"SDK MCP server not found: {body.server_name}")
        method = body.message.get("method")
        try:
            response = _checked(await server.connection.handle(body.message))
        except BaseException as error:  # a server of the application's own may raise anything
            if not ends_the_caller(error):
                server.note(method, {"error": {"message": describe(error)}})
            raise
        server.note(method, response)
        # Even a message without a response came in a request that has to be answered.
        return McpResponse(response or {"jsonrpc": "2.0", "result": {}, "id": 0})


def _checked(response: Any) -> Message | None:
    """Check what a server of the application's own returned: the CLI would wait for a message.

    Raises:
        TypeError: it is not a message.
    """
    if response is not None and not isinstance(response, dict):
        kind = type(response).__name__
        raise TypeError(f"An MCP server returns a message as a dictionary, or None, not a {kind}")
    return response
