"""Starting a session's CLI, and opening the conversation with it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import anyio

from ..concurrency import ends_the_caller, scope_type
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
from ..options import Options, may_ignore
from ..wire import (
    EARLIEST,
    READS_BLOCKS,
    READS_PROMPTS,
    TAKES_CANCEL,
    Connection,
    InitializeResult,
    Role,
    SetPermissionMode,
    parse_version,
)
from .events import SessionState
from .link import Link
from .requests import would_not_ask

if TYPE_CHECKING:
    from .core import Core
    from .requests import RequestHandlers

__all__ = ["failure_of", "options_to_resume", "start_cli"]

log: logging.Logger = logging.getLogger("claudewire.session")


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


class _ReadsOlder(Exception):
    """The CLI has to be told these options in another way."""

    def __init__(self, options: Collection[str]) -> None:
        self.options = options


async def _open(core: Core, handlers: RequestHandlers, options: Options) -> InitializeResult | None:
    """Open the conversation; with another CLI if this one reads some options in another way."""
    kept, core.keeps_held = core.keeps_held, True
    try:
        await _open_link(core, handlers, options)
        return await _initialize(core, handlers, options)
    except CLIError as error:
        older = _refused(error, options)
        if not (older and _can_start_another(core)):
            raise
    except _ReadsOlder as found:
        older = found.options
    finally:
        core.keeps_held = kept
    core.begin_restart()
    await core.until_free()
    core.claim.expect(options)
    await _open_link(core, handlers, options, older=older)
    return await _initialize(core, handlers, options, older=older)


def _refused(error: CLIError, options: Options) -> Collection[str]:
    """The options to write in another way for a CLI that has exited because of a flag of theirs."""
    flags = ("--append-system-prompt-file", "--tools")
    is_theirs = any(f"option {flag}" in str(error) for flag in flags)
    is_refused = error.cause is Cause.BAD_FLAG and is_theirs
    return _read_otherwise(options, EARLIEST) if is_refused else ()


def _read_otherwise(options: Options, version: tuple[int, ...]) -> Collection[str]:
    """The given options that this version reads from other places."""
    prompt = options.system_prompt
    reads = {
        "agents": version > EARLIEST or not options.agents,
        "append_system_prompt": version >= READS_PROMPTS or options.append_system_prompt is None,
        "builtin_tools": version > EARLIEST or options.builtin_tools is None,
        "system_prompt": not isinstance(prompt, tuple) or version >= READS_BLOCKS,
    }
    if options.remote and prompt is not None and version < READS_PROMPTS:
        reads["system_prompt"] = False
    return [name for name, is_read in reads.items() if not is_read]


def _can_start_another(core: Core) -> bool:
    return core.transport is None or callable(core.transport)


async def _check_options(core: Core, link: Link, options: Options, older: Collection[str]) -> None:
    """Find out whether the CLI ignores what it was given, if it is given what some ignore.

    Raises:
        CLIError: it does, and there is no other way.
        _ReadsOlder: it does, and there is.
    """
    capabilities = core.capabilities
    least = capabilities.version or (() if capabilities.is_silent else TAKES_CANCEL)
    ignored = may_ignore(options, ".".join(map(str, least)))
    # A CLI that does not know `--tools` has not come this far.
    otherwise = {*_read_otherwise(options, least)} - {*older} - {"builtin_tools"}
    if not (ignored or otherwise) or not capabilities.is_real:
        return
    version = await capabilities.find_version(link, options.timeouts.request)
    lost = [name for name, since in ignored.items() if parse_version(since) > version]
    otherwise &= {*_read_otherwise(options, version)}
    if otherwise and not lost and _can_start_another(core):
        raise _ReadsOlder({*otherwise, *older})
    if lost or otherwise:
        raise _too_old([*lost, *sorted(otherwise)], ignored, link)


def _too_old(lost: Sequence[str], since: Mapping[str, str], link: Link) -> CLIError:
    names = ", ".join("output" if name == "json_schema" else name for name in lost)
    needed = max((since.get(name, "2.1.197") for name in lost), key=parse_version)
    return CLIError(
        f"This CLI is too old for {names}: it would ignore that without a word",
        cause=Cause.WRONG_VERSION,
        evidence=link.evidence(),
        advice=f"Use a CLI from {needed} on.",
    )


async def _open_link(
    core: Core, handlers: RequestHandlers, options: Options, *, older: Collection[str] = ()
) -> None:
    with scope_type()() as core.opening:
        connected = await open_transport(options, core.transport, older=older)
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
            core.watchdog.start(link)
        core.attach(link)
    core.opening = None
    if core.link is None:
        raise SessionClosed("The session was closed while the CLI was being started")


async def _initialize(
    core: Core, handlers: RequestHandlers, options: Options, *, older: Collection[str] = ()
) -> InitializeResult | None:
    link = core.check()
    body = handlers.open(options, older)
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
    await _check_options(core, link, options, older)
    handlers.check(info)
    if would_not_ask(options, info.current_permission_mode):
        log.warning(
            "The CLI started in the mode %s, in which it asks nobody, and is set to default. If "
            "that mode is wanted, name it: permission_mode=%r",
            *(info.current_permission_mode, info.current_permission_mode),
        )
        await core.request(SetPermissionMode("default"), seconds)
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
