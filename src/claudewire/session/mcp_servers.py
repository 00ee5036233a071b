"""The MCP servers of a session, and how they change while it runs.

`initialize` names the servers in this process; `mcp_set_servers` reports each change. That request
names all servers: the CLI removes all others, except the servers of the command line and of the
user's settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from ..errors import Error, OptionsError, RequestError, RequestTimeout
from ..options import TOOLS_SERVER, Options, configured_servers, hosted_servers
from ..wire import Failure, McpMessage, McpResponse, McpSetServers, McpToggle, Request
from .log import log

if TYPE_CHECKING:
    from ..tools import ServerConnection
    from .core import Core
    from .session import Session

SET = "mcp_set_servers"


class Servers:
    """The servers of one session. Their names must differ."""

    def __init__(self, core: Core, session: Callable[[], Session | None]) -> None:
        self._core = core
        self._session = session
        self._timeout = core.options.timeouts.request
        self._hosted: dict[str, Any] = _hosted(core.options)
        """The servers in this process."""
        self._configured = configured_servers(core.options)
        """The servers of the command line."""
        self._added: dict[str, Any] = {}
        """The servers outside this process that were added while the session ran."""
        self._off: set[str] = set()
        self._connections: dict[str, ServerConnection] = {}
        """The connections of the CLI to the servers in this process."""
        self._changing = anyio.Lock()
        """Each change names all servers, so one has to be over before the next begins."""

    # --- a CLI -----------------------------------------------------------------------------------

    def open(self) -> list[str]:
        """Connect the servers in this process to the CLI; return the names of those that are on."""
        self._connections = {}
        for name, server in self._hosted.items():
            self._attach(name, server)
        return [name for name in self._hosted if name not in self._off]

    async def restore(self) -> None:
        """Add the servers to a new CLI that were added to the one before it."""
        if self._added:
            await self._set_servers()

    async def serve(self, request: Request) -> McpResponse | Failure:
        """Answer a request that carries a message for a server."""
        body = request.body
        assert isinstance(body, McpMessage)
        connection = self._connections.get(body.server_name)
        if connection is None:
            log.warning("Message for the MCP server %s, which is not connected", body.server_name)
            return Failure(request.id, f"SDK MCP server not found: {body.server_name}")
        answer = McpResponse(await connection.handle(body.message))
        self._core.changed.notify()  # it may have been the handshake
        return answer

    def _attach(self, name: str, server: Any) -> None:
        assert self._core.link is not None
        connection = server.attach(partial(self._send, name), self._session())
        self._connections[name] = connection
        self._core.link.start_soon(connection.run)

    def _send(self, server: str, message: dict[str, Any]) -> None:
        link = self._core.link
        if link is not None and link.is_open:
            link.post(link.connection.new_request(McpMessage(server, message)))

    # --- changes ---------------------------------------------------------------------------------

    async def add(self, server: object, name: str | None) -> str:
        """Add a server, and wait until the CLI has connected to it; see `Session.add_server`."""
        async with self._changing:
            called = self._register(server, name)
            try:
                trouble = await self._connect(called)
            except BaseException:
                await self._forget(called)
                raise
            if trouble is not None:
                await self._forget(called)
                await self._set_servers()
                raise RequestError(
                    f"The CLI could not connect to the MCP server {called}: {trouble}",
                    request=SET,
                    evidence=self._core.check().evidence(),
                )
            return called

    def _register(self, server: object, name: str | None) -> str:
        if isinstance(server, Mapping | msgspec.Struct):
            if not name:
                raise ValueError("A server outside this process needs a name")
            self._check_free(name)
            self._added[name] = _config(name, server)
            return name
        from ..tools import as_server

        found = as_server(server, name)
        called = name or found.name
        self._check_free(called)
        self._attach(called, found)
        self._hosted = {**self._hosted, called: found}
        return called

    def _check_free(self, name: str) -> None:
        if any(name in it for it in (self._hosted, self._added, self._configured)):
            raise ValueError(f"There is an MCP server called {name} already")

    async def _connect(self, name: str) -> str | None:
        """Have the CLI connect to a server; return why it could not, if so."""
        errors = await self._set_servers()
        if name in errors or name in self._added:
            return errors.get(name)
        return await self._until_met(name)

    async def _until_met(self, name: str) -> str | None:
        core, link, connection = self._core, self._core.check(), self._connections[name]

        def is_decided() -> bool:
            return connection.met.is_set() or core.is_dead or core.link is not link

        await core.changed.until(is_decided, self._timeout)
        if connection.met.is_set():
            return connection.trouble
        text = f"The CLI did not connect to the MCP server {name} within {self._timeout:g} s"
        raise RequestTimeout(text, request=SET, evidence=core.check().evidence())

    async def _forget(self, name: str) -> None:
        self._off.discard(name)
        self._added.pop(name, None)
        self._hosted.pop(name, None)
        if name in self._connections:
            await self._connections.pop(name).aclose()

    async def remove(self, name: str) -> None:
        """Remove a server; see `Session.remove_server`."""
        async with self._changing:
            if name not in self._added and name not in self._hosted:
                why = f"There is no MCP server called {name} that could be removed"
                if name in self._configured:
                    why += ": it is on the CLI's command line, and can only be switched off"
                raise ValueError(why)
            await self._set_servers(without=name)
            await self._forget(name)

    async def toggle(self, name: str, enabled: bool) -> None:
        """Switch a server on or off; see `Session.toggle_server`."""
        async with self._changing:
            if name not in self._added and name not in self._hosted:
                await self._core.request(McpToggle(name, enabled), self._timeout)
                return
            # Not `mcp_toggle`: an old CLI does not know its host's servers by name, a new one does
            # not know those that were off when it was started, and 2.1.250 accepts it for a server
            # of its host and changes nothing.
            await self._set_servers(**{"also" if enabled else "without": name})
            (self._off.discard if enabled else self._off.add)(name)

    # --- the list for the CLI --------------------------------------------------------------------

    def _wanted(self, without: str = "", also: str = "") -> dict[str, Any]:
        """All servers that the CLI should have, without those of its command line."""
        inside = {name: {"type": "sdk", "name": name} for name in self._hosted}
        off = self._off - {also} | {without}
        return {name: it for name, it in {**inside, **self._added}.items() if name not in off}

    async def _set_servers(self, *, without: str = "", also: str = "") -> Mapping[str, str]:
        body = McpSetServers(self._wanted(without, also))
        answer = await self._core.request(body, self._timeout)
        return answer.errors or {}


def _hosted(options: Options) -> dict[str, Any]:
    hosted = hosted_servers(options)
    if not hosted and not options.tools:
        return {}
    from ..tools import ToolServer, as_server

    try:
        servers: dict[str, Any] = {name: as_server(it, name) for name, it in hosted.items()}
        groups = [it for it in options.tools if isinstance(it, ToolServer)]
        functions = [it for it in options.tools if not isinstance(it, ToolServer)]
        if functions:
            groups.append(ToolServer(TOOLS_SERVER, functions))
    except (TypeError, ValueError) as error:
        if isinstance(error, Error):
            raise
        raise OptionsError(str(error)) from error
    for group in groups:
        if group.name in servers or group.name in configured_servers(options):
            raise OptionsError(f"There are two MCP servers called {group.name}")
        servers[group.name] = group
    return servers


def _config(name: str, server: Any) -> dict[str, Any]:
    """Check the configuration of a server, as the options do, and write it for the CLI."""
    config: dict[str, Any] = configured_servers(Options(mcp_servers={name: server}))[name]
    # 2.1.325 fails without a list of arguments, even an empty one.
    return {"args": [], **config} if "command" in config else config
