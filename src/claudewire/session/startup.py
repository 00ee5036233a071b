"""Starting a session's CLI, and opening the conversation with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ..concurrency import ends_the_caller
from ..errors import (
    Cause,
    CLIError,
    Error,
    RequestError,
    RequestTimeout,
    SessionClosed,
    UnsupportedRequest,
    describe,
)
from ..launch import open_transport
from ..options import Options
from ..wire import EARLIEST, Connection, InitializeResult, Role
from .events import SessionState
from .link import Link

if TYPE_CHECKING:
    from .core import Core
    from .requests import RequestHandlers

__all__ = ["failure_of", "options_to_resume", "start_cli"]


async def start_cli(core: Core, handlers: RequestHandlers, options: Options) -> None:
    """Start a CLI and open the conversation; if that fails, leave nothing behind."""
    try:
        await core.until_free()
        core.claim.expect(options)
        core.cli_info = await _open(core, handlers, options)
        core.check()  # it may have been closed, or have failed, at the last moment
    except BaseException as error:
        failure = failure_of(error)
        core.give_up(failure)
        with anyio.CancelScope(shield=True):
            await core.changed.until(lambda: core.is_dead)
        if not core.keeps_held:
            core.conversation.drop_held(failure)
        raise
    core.go(SessionState.READY)
    core.settle()


class _TooEarly(Exception):
    """The CLI is one up to 2.0.14, which has to be told some things in other flags."""


async def _open(core: Core, handlers: RequestHandlers, options: Options) -> InitializeResult | None:
    """Open the conversation; with another CLI if this one has to be told things in other flags."""
    kept, core.keeps_held = core.keeps_held, True
    try:
        await _open_link(core, handlers, options)
        return await _initialize(core, handlers, options)
    except CLIError as error:
        if not _refuses_prompt(error, core, options):
            raise
    except _TooEarly:
        pass
    finally:
        core.keeps_held = kept
    core.begin_restart()
    await core.until_free()
    core.claim.expect(options)
    await _open_link(core, handlers, options, early=True)
    return await _initialize(core, handlers, options, early=True)


def _refuses_prompt(error: CLIError, core: Core, options: Options) -> bool:
    """Whether the CLI has exited because of a flag that can be replaced by an older one."""
    is_refused = error.cause is Cause.BAD_FLAG and "--append-system-prompt-file" in str(error)
    return is_refused and options.append_system_prompt is not None and _can_start_another(core)


def _can_start_another(core: Core) -> bool:
    return core.transport is None or callable(core.transport)


async def _check_early(core: Core, link: Link, options: Options, early: bool) -> None:
    """Find out whether a CLI ignores what it was given in `initialize`, if that matters.

    Raises:
        CLIError: it does, and there is no other way.
        _TooEarly: it does, and reads flags.
    """
    told = [name for name in ("agents", "json_schema") if getattr(options, name)]
    if not told or (early and told == ["agents"]) or not core.capabilities.is_silent:
        return
    await core.capabilities.try_out(link, options.timeouts.request)
    if core.capabilities.resembles > EARLIEST:
        return
    if "json_schema" not in told and _can_start_another(core):
        raise _TooEarly
    lost = "output" if "json_schema" in told else "agents"
    raise CLIError(
        f"This CLI is too old for {lost}: it would ignore that without a word",
        cause=Cause.REFUSED,
        evidence=link.evidence(),
        advice="Use a CLI from 2.0.76 on.",
    )


async def _open_link(
    core: Core, handlers: RequestHandlers, options: Options, *, early: bool = False
) -> None:
    with anyio.CancelScope() as core.opening:
        connected = await open_transport(options, core.transport, early=early)
        link = Link(
            connected.transport,
            Connection(Role.CLIENT, dialect=options.dialect, max_line=options.max_line),
            core,
            handlers,
            timeouts=options.timeouts,
            argv=connected.argv,
            name=handlers.name,
        )
        if handlers.is_named:
            link.rename(handlers.name)
        if options.patience is not None:
            from .watchdog import Watchdog

            core.watchdog = Watchdog(core, options.patience)
            link.start_soon(core.watchdog.run)
        core.attach(link)
    if core.link is None:
        raise SessionClosed("The session was closed while the CLI was being started")


async def _initialize(
    core: Core, handlers: RequestHandlers, options: Options, *, early: bool = False
) -> InitializeResult | None:
    link = core.check()
    body = handlers.open(options, link)
    if not (options.handshake and _opens_with_initialize(core)):
        return None
    seconds = options.timeouts.start
    try:
        info = await core.request(body, seconds)
    except UnsupportedRequest:
        return None
    except RequestTimeout as error:
        raise CLIError(
            f"The CLI was started but did not answer within {seconds:g} s",
            cause=Cause.NO_ANSWER,
            evidence=link.evidence(),
            advice="Is it waiting for something on the terminal, or for the network?",
        ) from error
    except RequestError as error:
        if not _opens_with_initialize(core):
            return None  # its answer has shown which dialect it speaks
        raise CLIError(error.message, cause=Cause.REFUSED, evidence=error.evidence) from error
    core.learn(info=info)
    await _check_early(core, link, options, early)
    handlers.check(info)
    await handlers.servers.restore()
    return info


def _opens_with_initialize(core: Core) -> bool:
    return core.rules.opens_with_initialize


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


def failure_of(error: BaseException) -> Error:
    """Return the error of a session whose start was ended by an exception, of whatever kind."""
    if isinstance(error, Error):
        return error
    if ends_the_caller(error):
        return SessionClosed("The start of the session was cancelled")
    failure = CLIError(f"The CLI could not be started: {describe(error)}")
    failure.__cause__ = error
    return failure
