"""From options to a transport with a CLI at its other end."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio.to_thread

from ..errors import CLINotFoundError, OptionsError
from ..options import Options
from ..transport import Launch, Transport, check_platform, spawn
from ..wire import AUTO, MODERN
from .argv import arguments, check_length
from .environment import environment
from .find_cli import find_cli
from .private_files import PrivateFiles

__all__ = ["SIMULATED", "Connect", "Connected", "check_transport", "launch_of", "open_transport"]

SIMULATED = "simulated"
"""The name of the CLI that lives in this process."""

Connect = Callable[[Launch], Awaitable[Transport]]
"""Starts a CLI somewhere: in a container, on another machine."""


class Connected(NamedTuple):
    """A CLI that can be talked to, and how it was started."""

    transport: Transport
    argv: tuple[str, ...] = ()


def check_transport(transport: object) -> None:
    """Refuse what is neither a transport nor a function that makes one.

    Raises:
        OptionsError: it is neither.
    """
    if transport is None or (callable(transport) and not isinstance(transport, type)):
        return
    if isinstance(transport, type):
        raise OptionsError(f"transport must be an object, not the class {transport.__name__}")
    if not all(callable(getattr(transport, name, None)) for name in ("send", "receive")):
        raise OptionsError(
            f"transport must be a Transport, or an async function that makes one, not {transport!r}"
        )


async def open_transport(
    options: Options, transport: Transport | Connect | None = None
) -> Connected:
    """Start the CLI that the options ask for, or take the one that is given.

    Raises:
        OptionsError: the options make no sense.
        CLIError: there is no such CLI, or it cannot be started.
    """
    if transport is not None and not callable(transport):
        return Connected(transport)
    if transport is None and options.cli == SIMULATED:
        return _simulated(options)
    if transport is None:
        check_platform()
    # It looks for files in many places, some of which may be slow.
    is_here = transport is None
    launch = await anyio.to_thread.run_sync(partial(launch_of, options, is_here=is_here))
    if transport is not None:
        return Connected(await transport(launch), launch.argv)
    timeouts = options.timeouts
    process = await spawn(launch, terminate_after=timeouts.terminate, kill_after=timeouts.kill)
    return Connected(process, launch.argv)


def launch_of(options: Options, *, is_here: bool = True) -> Launch:
    """Say how the CLI would be started. Its private files exist from now on.

    Args:
        options: what the CLI is asked for.
        is_here: whether it is to be started by this process, so that it must be found here.

    Raises:
        OptionsError: the options make no sense.
        CLINotFoundError: there is no such CLI.
    """
    env = environment(options)
    command = find_cli(options.cli, env) if is_here else _find_or_name(options, env)
    files = PrivateFiles()
    try:
        argv = (*command, *_for_a_shell(command, arguments(options, files)))
        check_length(argv, env)
    except BaseException:
        files.delete()
        raise
    cwd = None if options.cwd is None else Path(options.cwd)
    return Launch(argv, env, cwd, (files.delete,))


def _find_or_name(options: Options, env: Mapping[str, str]) -> tuple[str, ...]:
    """Name a CLI that may be somewhere else; find it if it is here."""
    cli = None if options.cli == SIMULATED else options.cli
    try:
        return find_cli(cli, env)
    except CLINotFoundError:
        return cli if isinstance(cli, tuple) else (str(cli or "claude"),)


def _for_a_shell(command: Sequence[str], words: Sequence[str]) -> Sequence[str]:
    """Quote what ssh passes to a shell, as one string of all words that follow the host."""
    if Path(command[0]).stem.lower() != "ssh":
        return words
    return tuple(map(shlex.quote, words))


def _simulated(options: Options) -> Connected:
    # Only when it is asked for: most sessions talk to a real CLI.
    from ..simulator import SimulatedCLI

    with PrivateFiles() as files:
        argv = arguments(options, files)
        env = {name: value for name, value in options.env.items() if value is not None}
        dialect = MODERN.name if options.dialect == AUTO else options.dialect
        cli = SimulatedCLI(argv=argv, cwd=options.cwd or ".", env=env, dialect=dialect)
        _ = cli.engine  # reads its command line, and the files that are named there
    return Connected(cli, ("claude", *argv))
