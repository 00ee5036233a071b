"""Starting a session's CLI, and opening the conversation with it."""

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
from ..wire import Connection, Initialize, InitializeResult, Role
from .events import SessionState
from .link import CloseTimeouts, Link
from .watchdog import Watchdog

if TYPE_CHECKING:
    from .core import Core
    from .requests import RequestHandlers

__all__ = ["options_to_resume", "start_cli"]

KNOWS_CANCEL = (2, 1, 325)
"""The oldest CLI that is known to take `control_cancel_request`. 1.0.128 and 2.1.17 exit at it."""

Restart = Callable[[], Coroutine[Any, Any, None]]


async def start_cli(
    core: Core,
    handlers: RequestHandlers,
    options: Options,
    *,
    transport: Transport | Connect | None,
    restart: Restart,
) -> None:
    """Start a CLI and open the conversation; if that fails, leave nothing behind.

    Args:
        core: the session's state.
        handlers: answer the requests of the CLI.
        options: what to ask of the CLI.
        transport: what to talk over, or how to get it.
        restart: starts another CLI, when the watchdog asks for it.
    """
    try:
        await core.until_free()
        core.claim.expect(options)
        await _open_link(core, handlers, options, transport, restart)
        core.cli_info = await _initialize(core, handlers, options)
        core.check()  # it may have been closed, or have failed, at the last moment
    except BaseException as error:
        core.give_up(_failure_of(error))
        with anyio.CancelScope(shield=True):
            await core.changed.until(lambda: core.is_dead)
        raise
    core.go(SessionState.READY)
    core.settle()


async def _open_link(
    core: Core,
    handlers: RequestHandlers,
    options: Options,
    transport: Transport | Connect | None,
    restart: Restart,
) -> None:
    with anyio.CancelScope() as core.opening:
        connected = await open_transport(options, transport)
        link = Link(
            connected.transport,
            Connection(Role.CLIENT, dialect=options.dialect, max_line=options.max_line),
            core,
            handlers,
            timeouts=CloseTimeouts(options.timeouts.exit, options.timeouts.drain),
            argv=connected.argv,
        )
        if options.patience is not None:
            core.watchdog = Watchdog(core, options.patience, restart)
            link.start_soon(core.watchdog.run)
        core.attach(link)
    if core.link is None:
        raise SessionClosed("The session was closed while the CLI was being started")


async def _initialize(
    core: Core, handlers: RequestHandlers, options: Options
) -> InitializeResult | None:
    link = core.check()
    body = handlers.open(options, link)
    if not options.handshake:
        return None
    try:
        info = await _ask_for_info(link, body, options.timeouts.start)
        if info is not None:
            link.may_withdraw = parse_version(info.claude_code_version) >= KNOWS_CANCEL
            handlers.check(info)
            await handlers.servers.restore()
        return info
    except TransportClosed:
        raise await core.reason(link) from None


async def _ask_for_info(link: Link, body: Initialize, timeout: float) -> InitializeResult | None:
    try:
        return await link.ask(body, timeout=timeout)
    except UnsupportedRequest:
        return None
    except RequestTimeout as error:
        raise CLIError(
            f"The CLI was started but did not answer within {timeout:g} s",
            cause=Cause.NO_ANSWER,
            evidence=link.evidence(),
            advice="Is it waiting for something on the terminal, or for the network?",
        ) from error
    except RequestError as error:
        raise CLIError(error.message, cause=Cause.REFUSED, evidence=error.evidence) from error


def options_to_resume(options: Options, session_id: str | None) -> Options:
    """Change the options of a session so that they go on with its conversation."""
    if session_id is None:
        return options
    return options.replace(
        resume=session_id,
        session_id=None,
        fork_session=False,
        continue_conversation=False,
        resume_session_at=None,  # the conversation has gone on since then
        resume_drops_turn=None,
    )


def _failure_of(error: BaseException) -> Error:
    if isinstance(error, Error):
        return error
    if not isinstance(error, Exception):
        return SessionClosed("The start of the session was cancelled")
    failure = CLIError(f"The CLI could not be started: {error}")
    failure.__cause__ = error
    return failure
