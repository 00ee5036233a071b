"""The MCP servers of one session: who is there, and who gets which message of the CLI."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from ..wire import Failure, McpMessage, McpResponse, Request
from .mcp_package import as_server
from .server import SdkConnection

if TYPE_CHECKING:
    from ..session import Session

__all__ = ["ServerHost"]

Message = dict[str, Any]
Background = Callable[[], Coroutine[Any, Any, None]]

log: logging.Logger = logging.getLogger("claudewire.tools")


class _Place:
    """Where a server is: its connection, and whether the CLI has met it."""

    __slots__ = ("connection", "met", "trouble")

    def __init__(self, connection: SdkConnection) -> None:
        self.connection = connection
        self.met = anyio.Event()
        self.trouble: str | None = None

    def note(self, method: Any, response: Message | None) -> None:
        """Take notice of how the handshake goes."""
        if method == "notifications/initialized":
            self.trouble = None
            self.met.set()
        elif method == "initialize" and response is not None and "error" in response:
            self.trouble = str(response["error"].get("message"))
            self.met.set()


class ServerHost:
    """The servers that a session has, each with its connection.

    Args:
        start_soon: runs something in the background for as long as the session lives.
        send: takes what a server has to say by itself: the server's name and the message. It must
            not wait.
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
        self._places: dict[str, _Place] = {}

    def __iter__(self) -> Iterator[str]:
        """Give the names of the servers."""
        return iter(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, server: object, name: str | None = None) -> str:
        """Connect a server, and give the name by which the CLI knows it.

        Args:
            server: a ToolServer, or a server object of the `mcp` package.
            name: what it is called; by default its own name.

        Raises:
            TypeError: it is no server.
            ValueError: there is one of that name.
        """
        found = as_server(server, name)
        called = name or found.name
        if called in self._places:
            raise ValueError(f"There is an MCP server called {called} already")
        connection = found.attach(partial(self._push, called), self._session)
        self._places[called] = _Place(connection)
        self._start_soon(connection.run)
        return called

    def _push(self, name: str, message: Message) -> None:
        if self._send is None:
            return
        try:
            self._send(name, message)
        except Exception:  # at the end of a session; a tool is not to fail because of it
            log.debug("A message of the MCP server %s was lost", name, exc_info=True)

    async def remove(self, name: str) -> None:
        """Disconnect a server. What it was still doing is cancelled.

        Raises:
            KeyError: there is none of that name.
        """
        await self._places.pop(name).connection.aclose()

    async def until_met(self, name: str) -> str | None:
        """Wait until the CLI has shaken hands with a server; say why it could not, if so.

        Raises:
            KeyError: there is none of that name.
        """
        place = self._places[name]
        await place.met.wait()
        return place.trouble

    async def aclose(self) -> None:
        """Disconnect all servers."""
        for name in list(self._places):
            await self.remove(name)

    async def serve(self, request: Request) -> McpResponse | Failure:
        """Answer a request of the CLI that carries a message for a server."""
        body = request.body
        assert isinstance(body, McpMessage)
        place = self._places.get(body.server_name)
        if place is None:
            log.warning("There is no MCP server called %s here", body.server_name)
            return Failure(request.id, f"SDK MCP server not found: {body.server_name}")
        response = await place.connection.handle(body.message)
        place.note(body.message.get("method"), response)
        # Also a message that needs no response is a request that waits for an answer.
        return McpResponse(response or {"jsonrpc": "2.0", "result": {}, "id": 0})
