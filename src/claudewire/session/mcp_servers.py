"""The MCP servers of a session, and how they change while it runs.

A CLI is told of the servers in this process when it is started, and of all changes through
`mcp_set_servers`. That request names all servers: those that it does not name are removed, except
for the servers of the command line and of the user's settings.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from ..concurrency import RunSoon, run_soon
from ..errors import Error, OptionsError, RequestError, RequestTimeout, UnsupportedRequest
from ..options import TOOLS_SERVER, Options, configured_servers, hosted_servers
from ..wire import McpMessage, McpSetServers, McpToggle, Request
from .link import Link

if TYPE_CHECKING:
    from ..tools import ServerHost
    from .session import Session

__all__ = ["Servers"]

SET = "mcp_set_servers"

Message = dict[str, Any]


class Servers:
    """The servers of one session.

    Args:
        options: which there are at first.
        session: gives the session, as long as there is one.

    Raises:
        OptionsError: a function cannot be a tool, something is no server, or two have one name.
    """

    def __init__(self, options: Options, session: Callable[[], Session | None]) -> None:
        self._options = options
        self._session = session
        self._inside: dict[str, Any] = _inside(options)
        self._configured = configured_servers(options)
        self._outside: dict[str, Any] = {}
        self._off: set[str] = set()
        self._link: Link | None = None
        self._host: ServerHost | None = None
        self._thread = 0
        self._soon: RunSoon | None = None
        # Each change names all servers, so one has to be over before the next begins.
        self._changing = anyio.Lock()

    # --- a CLI -----------------------------------------------------------------------------------

    def open(self, link: Link) -> list[str]:
        """Connect the servers inside, for as long as the link lives; give the names of those on."""
        self._link, self._host = link, None
        self._thread, self._soon = threading.get_ident(), run_soon()
        for name, server in self._inside.items():
            self._hosting().add(server, name)
        return [name for name in self._inside if name not in self._off]

    async def restore(self) -> None:
        """Tell a CLI of the servers outside that were added while the one before it ran.

        Raises:
            RequestError: it does not take them.
        """
        if self._outside and self._link is not None:
            body = McpSetServers(self._wanted())
            await self._link.ask(body, timeout=self._options.timeouts.request)

    @property
    def is_hosting(self) -> bool:
        """Whether there are servers inside."""
        return self._host is not None

    async def serve(self, request: Request) -> Any:
        """Answer a request that carries a message for a server."""
        return await self._hosting().serve(request)

    def _hosting(self) -> ServerHost:
        if self._host is None:
            # Not before it is needed: importing it takes its time.
            from ..tools import ServerHost

            assert self._link is not None
            self._host = ServerHost(self._link.start_soon, self._send, self._session())
        return self._host

    def _send(self, server: str, message: Message) -> None:
        if self._soon is not None and threading.get_ident() != self._thread:
            # Tools are added to a server, or taken from it, wherever an application does so.
            self._soon(partial(self._send_late, server, message))
            return
        link = self._link
        if link is not None and link.is_open:
            link.post(link.connection.new_request(McpMessage(server, message)))

    def _send_late(self, server: str, message: Message) -> None:
        with suppress(Exception):  # nobody is there to hear of it but the event loop
            self._send(server, message)

    # --- changes ---------------------------------------------------------------------------------

    async def add(self, session: Session, server: object, name: str | None) -> str:
        """Add a server, and wait until the CLI has met it; see `Session.add_server`."""
        async with self._changing:
            _check_age(session)
            called = self._enter(server, name)
            try:
                trouble = await self._introduce(session, called)
            except BaseException:
                await self._forget(called)
                raise
            if trouble is not None:
                await self._forget(called)
                await self._tell(session)
                raise RequestError(
                    f"The CLI could not connect to the MCP server {called}: {trouble}", request=SET
                )
            return called

    def _enter(self, server: object, name: str | None) -> str:
        """Put a server into the books; give its name."""
        if isinstance(server, Mapping | msgspec.Struct):
            if not name:
                raise ValueError("A server outside this process has to be given a name")
            self._check_free(name)
            self._outside[name] = _config(name, server)
            return name
        from ..tools import as_server

        found = as_server(server, name)
        called = name or found.name
        self._check_free(called)
        self._hosting().add(found, called)
        self._inside = {**self._inside, called: found}
        return called

    def _check_free(self, name: str) -> None:
        if name in self._wanted() or name in self._off or name in self._configured:
            raise ValueError(f"There is an MCP server called {name} already")

    async def _introduce(self, session: Session, name: str) -> str | None:
        """Have the CLI meet a server; say why it could not, if so."""
        errors = await self._tell(session)
        if name in errors or name in self._outside:
            return errors.get(name)
        return await self._until_met(session, name)

    async def _until_met(self, session: Session, name: str) -> str | None:
        host, link = self._hosting(), self._link
        assert link is not None
        seconds = self._options.timeouts.request
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                await link.finished.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            with anyio.move_on_after(seconds):
                trouble = await host.until_met(name)
                tasks.cancel_scope.cancel()
                return trouble
            tasks.cancel_scope.cancel()
        if session.failure is not None:
            raise session.failure
        text = f"The CLI did not connect to the MCP server {name} within {seconds:g} s"
        raise RequestTimeout(text, request=SET)

    async def _forget(self, name: str) -> None:
        self._off.discard(name)
        self._outside.pop(name, None)
        self._inside.pop(name, None)
        if self._host is not None and name in self._host:
            await self._host.remove(name)

    async def remove(self, session: Session, name: str) -> None:
        """Take a server away; see `Session.remove_server`."""
        async with self._changing:
            self._check_known(name)
            await self._tell(session, without=name)
            await self._forget(name)

    def _check_known(self, name: str) -> None:
        if name in self._outside or name in self._inside:
            return
        why = f"There is no MCP server called {name} which could be removed"
        if name in self._configured:
            why += ": it is on the CLI's command line, and can be switched off only"
        raise ValueError(why)

    async def toggle(self, session: Session, name: str, enabled: bool) -> None:
        """Switch a server on or off; see `Session.toggle_server`."""
        async with self._changing:
            is_ours = name in self._outside or name in self._inside
            try:
                await session.request(McpToggle(name, enabled))
            except RequestError as error:
                # An old CLI does not know its host's servers by name, nor does a new one know
                # those that were off when it was started.
                if not is_ours or isinstance(error, RequestTimeout):
                    raise
                await self._tell(session, **{"also" if enabled else "without": name})
            if is_ours:
                (self._off.discard if enabled else self._off.add)(name)

    # --- what the CLI is told --------------------------------------------------------------------

    def _wanted(self, without: str = "", also: str = "") -> dict[str, Any]:
        """All servers that the CLI is to have, but for those of its command line."""
        inside = {name: {"type": "sdk", "name": name} for name in self._inside}
        off = self._off - {also} | {without}
        return {name: it for name, it in {**inside, **self._outside}.items() if name not in off}

    async def _tell(
        self, session: Session, *, without: str = "", also: str = ""
    ) -> Mapping[str, str]:
        answer = await session.request(McpSetServers(self._wanted(without, also)))
        return answer.errors or {}


def _inside(options: Options) -> dict[str, Any]:
    """Give the servers inside this process by name."""
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
    """Check a server outside, as the options do, and write it as the CLI wants it."""
    config: dict[str, Any] = configured_servers(Options(mcp_servers={name: server}))[name]
    # Without a list of arguments, even an empty one, 2.1.325 fails over it.
    return {"args": [], **config} if "command" in config else config


def _check_age(session: Session) -> None:
    # 1.0.128 does not say that it does not know the request: it says nothing, for ever.
    if session.init_message is not None and session.init_message.claude_code_version is None:
        raise UnsupportedRequest(
            "This CLI is too old for MCP servers that change while it runs", request=SET
        )
