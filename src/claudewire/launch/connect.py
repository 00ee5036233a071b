"""From options to a transport with a CLI at its other end."""

from __future__ import annotations

import inspect
import shlex
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio.to_thread

from ..errors import CLINotFoundError, OptionsError
from ..options import DECLARATIONS, Options, configured_servers, given_options
from ..transport import Configurable, Launch, Transport, check_platform, spawn
from ..wire import AUTO, RELEASED
from .cli_path import find_cli
from .delivery import PrivateFiles, arguments, environment

SIMULATED = "simulated"
"""The name of the CLI inside this process."""

Connect = Callable[[Launch], Transport | Awaitable[Transport]]
"""Starts a CLI somewhere: in a container, on another machine. A function, async or not."""


class Connected(NamedTuple):
    """A connected CLI, and its command line."""

    transport: Transport
    argv: tuple[str, ...] = ()


def check_transport(transport: object, options: Options) -> None:
    """Check that an object is a transport, or a function that makes one.

    Raises:
        OptionsError: it is neither.
    """
    if transport is None or (callable(transport) and not isinstance(transport, type)):
        return
    if not _is_transport(transport):
        raise OptionsError(
            f"transport must be a Transport, or a function that makes one, got {transport!r}"
        )
    ignored = [] if _configurable(transport) else [*_for_the_start(options)]
    if ignored:
        warnings.warn(
            f"The CLI at the other end of a transport is running already, so these options do not "
            f"reach it: {', '.join(ignored)}. Start it with them; or pass a function as the "
            "transport, which is called with the command line.",
            stacklevel=4,
        )


def check_connect(connect: object, purpose: str) -> None:
    """Check that an object is a function that makes transports, or None.

    Raises:
        OptionsError: it is not; it may be a single transport.
    """
    if connect is not None and (isinstance(connect, type) or not callable(connect)):
        raise OptionsError(
            f"{purpose} needs a function that makes transports, not one transport: {connect!r}"
        )


def _is_transport(transport: object) -> bool:
    return not isinstance(transport, type) and all(
        callable(getattr(transport, name, None)) for name in ("send", "receive")
    )


def _for_the_start(options: Options) -> Iterator[str]:
    """Yield the given options that have an effect only when the CLI starts."""
    for name, _ in given_options(options):
        it = DECLARATIONS[name]
        if name == "mcp_servers" and not configured_servers(options):
            continue
        is_on_the_command_line = it.words or (it.all_flags and not it.initialize)
        if name in ("cwd", "env") or it.variable or is_on_the_command_line:
            yield name


def _configurable(transport: object) -> Configurable | None:
    """Find the transport that takes a command line; others may wrap it."""
    while not isinstance(transport, Configurable):
        transport = getattr(transport, "inner", None)
        if transport is None:
            return None
    return transport


async def open_transport(
    options: Options, transport: Transport | Connect | None = None
) -> Connected:
    """Start the CLI that the options name, or take the given transport.

    Args:
        options: the options of the session.
        transport: a transport in place of a process, or a function that makes one.

    Raises:
        OptionsError: the options are invalid on this machine.
        CLIError: the CLI does not exist, or cannot be started.
    """
    if transport is None and options.cli == SIMULATED:
        from ..simulator import SimulatedCLI  # slow to import, and most sessions talk to a real CLI

        transport = SimulatedCLI(dialect=RELEASED if options.dialect == AUTO else options.dialect)
    if transport is not None and not callable(transport):
        return Connected(transport, _configure(transport, options))
    connect: Connect | None = transport
    if connect is None:
        check_platform()
        times = options.timeouts
        connect = partial(spawn, terminate_after=times.terminate, kill_after=times.kill)
    # Files are found, read and written, perhaps on a slow disk.
    launch = await anyio.to_thread.run_sync(partial(launch_of, options, is_here=transport is None))
    made = connect(launch)
    made = await made if inspect.isawaitable(made) else made
    if not _is_transport(made):
        raise OptionsError(f"The function in transport returned {made!r}, not a Transport")
    return Connected(made, _configure(made, options) or launch.argv)


def launch_of(options: Options, *, is_here: bool = True) -> Launch:
    """Return the command that starts the CLI. Its private files exist from now on.

    Args:
        options: the options of the session.
        is_here: this process starts the CLI, so it must exist here.

    Raises:
        OptionsError: the options are invalid on this machine.
        CLINotFoundError: the CLI does not exist.
    """
    env = environment(options)
    command = find_cli(options.cli, env) if is_here else _find_or_name(options, env)
    files = PrivateFiles()
    try:
        argv = (*command, *_for_a_shell(command, arguments(options, files)))
    except BaseException:
        files.delete()
        raise
    cleanup = () if files.folder is None else (files.delete,)
    return Launch(argv, env, _cwd(options), cleanup)


def _cwd(options: Options) -> Path | None:
    return None if options.cwd is None else Path(options.cwd)


def _find_or_name(options: Options, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command of a CLI that may be on another machine."""
    cli = None if options.cli == SIMULATED else options.cli
    try:
        return find_cli(cli, env)
    except CLINotFoundError:
        return cli if isinstance(cli, tuple) else (str(cli or "claude"),)


def _for_a_shell(command: Sequence[str], words: Sequence[str]) -> Sequence[str]:
    """Quote the words if ssh starts the CLI: it passes them to a shell."""
    if Path(command[0]).stem.lower() != "ssh":
        return words
    return tuple(map(shlex.quote, words))


def _configure(transport: Transport, options: Options) -> tuple[str, ...]:
    """Pass the command line to a transport that takes one, and return it."""
    configurable = _configurable(transport)
    if configurable is None:
        return ()
    with PrivateFiles() as files:
        argv = ("claude", *arguments(options, files))
        env = {name: value for name, value in options.env.items() if value is not None}
        configurable.configure(Launch(argv, env, _cwd(options)))
    return argv
