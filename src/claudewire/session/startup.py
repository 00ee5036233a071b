"""The beginning of a session: a CLI is started, and the conversation with it opened."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import anyio

from ..errors import (
    Cause,
    CLIError,
    Error,
    RequestError,
    RequestTimeout,
    SessionClosed,
    TransportClosed,
    UnsupportedRequest,
)
from ..launch import Connect, open_transport
from ..options import Options, parse_version
from ..transport import Transport
from ..wire import Connection, InitializeResult, Role
from .events import SessionState
from .link import Link
from .linking import Grace
from .watchdog import Watchdog

if TYPE_CHECKING:
    from .core import Core
    from .requests import Desk

__all__ = ["LETS_WITHDRAW", "Beginner", "options_to_resume"]

LETS_WITHDRAW = (2, 1, 325)
"""The oldest CLI that is known to take `control_cancel_request`. 1.0.128 and 2.1.17 exit at it."""

Restart = Callable[[], Coroutine[Any, Any, None]]


class Beginner:
    """Begins a session, as often as it is begun.

    Args:
        core: the session's state.
        desk: who answers what the CLI asks.
        transport: what to talk over, or how to get it.
        restart: begins the session again, when the watchdog wants it to.
    """

    def __init__(
        self, core: Core, desk: Desk, transport: Transport | Connect | None, restart: Restart
    ) -> None:
        self.info: InitializeResult | None = None
        self.watchdog: Watchdog | None = None
        self._core = core
        self._desk = desk
        self._transport = transport
        self._restart = restart

    async def begin(self, options: Options) -> None:
        """Get a CLI and open the conversation; if that fails, leave nothing behind."""
        core = self._core
        try:
            await core.until_free()
            core.claim.expect(options)
            await self._open_link(options)
            self.info = await self._initialize(options)
            core.check()  # it may have been closed, or have died, at the last moment
        except BaseException as error:
            core.give_up(_why_not_begun(error))
            with anyio.CancelScope(shield=True):
                await core.changed.until(lambda: core.is_dead)
            raise
        core.go(SessionState.READY)
        core.settle()

    async def _open_link(self, options: Options) -> None:
        core = self._core
        with anyio.CancelScope() as core.opening:
            connected = await open_transport(options, self._transport)
            link = Link(
                connected.transport,
                Connection(Role.CLIENT, dialect=options.dialect, max_line=options.max_line),
                core,
                grace=Grace(options.timeouts.exit, options.timeouts.drain),
                argv=connected.argv,
            )
            if options.patience is not None:
                self.watchdog = Watchdog(core, options.patience, self._restart)
                core.watchers[:] = [self.watchdog.note]
                link.start_soon(self.watchdog.run)
            core.attach(link)
        if core.link is None:
            raise SessionClosed("The session was closed while the CLI was being started")

    async def _initialize(self, options: Options) -> InitializeResult | None:
        link = self._core.check()
        body = self._desk.open(options, link)
        if not options.handshake:
            return None
        try:
            info = await link.ask(body, timeout=options.timeouts.start)
        except UnsupportedRequest:
            return None
        except RequestTimeout as error:
            raise CLIError(
                f"The CLI was started but did not answer within {options.timeouts.start:g} s",
                cause=Cause.NO_ANSWER,
                evidence=link.evidence(),
                advice="Is it waiting for something on the terminal, or for the network?",
            ) from error
        except RequestError as error:
            raise CLIError(error.message, cause=Cause.REFUSED, evidence=error.evidence) from error
        except TransportClosed:
            raise await self._core.reason(link) from None
        link.may_withdraw = parse_version(info.claude_code_version) >= LETS_WITHDRAW
        self._desk.check(info)
        try:
            await self._desk.restore()
        except TransportClosed:
            raise await self._core.reason(link) from None
        return info


def options_to_resume(options: Options, session_id: str | None) -> Options:
    """Change the options of a session so that they go on with its conversation."""
    if session_id is None:
        return options
    return options.replace(
        resume=session_id,
        session_id=None,
        fork_session=False,
        continue_conversation=False,
        resume_session_at=None,  # what was forgotten then has been followed by other things
        resume_drops_turn=None,
    )


def _why_not_begun(error: BaseException) -> Error:
    if isinstance(error, Error):
        return error
    if not isinstance(error, Exception):
        return SessionClosed("The start of the session was cancelled")
    why = CLIError(f"The CLI could not be started: {error}")
    why.__cause__ = error
    return why
