"""From options to a transport with a CLI at its other end."""

from __future__ import annotations

import inspect
import os
import warnings
import weakref
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread
from msgspec import Struct

from ..concurrency import check_function, function_name
from ..errors import CLINotFoundError, OptionsError
from ..options import DECLARATIONS, Options, configured_servers, given_options
from ..transport import Configurable, Launch, Transport, check_platform, spawn
from ..wire import AUTO, MODERN
from .argv import arguments, check_length
from .cli_path import find_cli, names_path
from .environment import environment
from .private_files import PrivateFiles

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "SIMULATED",
    "Connect",
    "Connected",
    "check_connect",
    "check_restart",
    "check_transport",
    "launch_of",
    "open_transport",
]

SIMULATED = "simulated"
"""The name of the CLI that lives in this process."""

Connect = Callable[[Launch], Transport | Awaitable[Transport]]
"""Starts a CLI somewhere: in a container, on another machine. A function, async or not."""


class Connected(Struct, frozen=True):
    """A CLI that can be talked to, and how it was started."""

    transport: Transport
    argv: tuple[str, ...] = ()


_OF_THE_PROCESS = frozenset({"add_dirs", "cwd", "clean_env", "deny", "env", "extra_args", "remote"})
"""Options that only a CLI heeds that is started with them, besides those that have a flag."""


_NEED_FILES = frozenset({"mcp_servers", "sandbox"})
"""Options that may be passed in files, besides those that name some."""


def check_transport(transport: object, options: Options) -> None:
    """Refuse what is neither a transport nor a function that makes one.

    Raises:
        OptionsError: it is neither.
    """
    if transport is None:
        return
    if callable(transport) and not isinstance(transport, type):
        _check_takes_launch(transport)
        return
    if isinstance(transport, type):
        raise OptionsError(f"transport must be an object, not the class {transport.__name__}")
    if not _is_transport(transport):
        raise OptionsError(
            f"transport must be a Transport, or a function that makes one, not {transport!r}"
        )
    ignored = [] if _configurable(transport) else [*_for_the_start(options)]
    if ignored:
        warnings.warn(
            f"The CLI at the other end of a transport is running already, so these options do not "
            f"reach it: {', '.join(ignored)}. Start it with them; or pass a function as the "
            "transport, which is called with the command line.",
            stacklevel=4,
        )


def check_connect(connect: object) -> None:
    """Refuse what is not a function that makes transports.

    Raises:
        OptionsError: it is not; it may be a single transport.
    """
    if connect is not None and (isinstance(connect, type) or not callable(connect)):
        raise OptionsError(
            f"A pool needs a function that makes transports, not one transport: {connect!r}"
        )
    if connect is not None:
        _check_takes_launch(connect)


def _check_takes_launch(connect: object) -> None:
    try:
        if (signature := check_function(connect)) is not None:
            signature.bind(object())
    except TypeError:
        raise OptionsError(
            "A function in transport is called with one argument, the Launch, and returns a "
            f"Transport; {function_name(connect)} cannot be called that way"
        ) from None


def _is_transport(transport: object) -> bool:
    return not isinstance(transport, type) and all(
        callable(getattr(transport, name, None)) for name in ("send", "receive")
    )


def _for_the_start(options: Options) -> Iterator[str]:
    """Yield the options that are given and go to the CLI when it is started."""
    for name, _ in given_options(options):
        declared = DECLARATIONS[name]
        by_flag = declared.all_flags and not declared.initialize
        if name == "mcp_servers":
            by_flag = bool(configured_servers(options))
        if by_flag or declared.variable or name in _OF_THE_PROCESS:
            yield name


def _configurable(transport: object) -> Configurable | None:
    """Find the transport that can be told how to start the CLI; others may be around it."""
    while not isinstance(transport, Configurable):
        transport = getattr(transport, "inner", None)
        if transport is None:
            return None
    return transport


def check_restart(transport: Transport | Connect | None) -> None:
    """Check that another CLI can be started.

    Raises:
        OptionsError: there is only the one at the end of a transport.
    """
    if transport is not None and not callable(transport):
        raise OptionsError(
            "This session cannot be restarted: it was given a transport, which serves one CLI. "
            "Pass a function that makes transports instead, and each CLI gets its own"
        )


async def open_transport(
    options: Options,
    transport: Transport | Connect | None = None,
    *,
    older: Collection[str] = (),
) -> Connected:
    """Start the CLI that the options ask for, or take the one that is given.

    Args:
        options: what the CLI is asked for.
        transport: what to talk over instead of a process, or how to get it.
        older: see `arguments`.

    Raises:
        OptionsError: the options make no sense.
        CLIError: there is no such CLI, or it cannot be started.
    """
    if transport is not None and not callable(transport):
        return Connected(transport, _configure(_unused(transport), options))
    if transport is None and options.cli == SIMULATED:
        # Only when it is asked for: most sessions talk to a real CLI.
        from ..simulator import SimulatedCLI

        dialect = MODERN.name if options.dialect == AUTO else options.dialect
        cli = SimulatedCLI(dialect=dialect)
        return Connected(cli, _configure(cli, options))
    if transport is None:
        check_platform()
    is_here = transport is None
    prepare = partial(launch_of, options, is_here=is_here, older=older)
    launch = prepare() if _is_at_hand(options) else await anyio.to_thread.run_sync(prepare)
    if transport is not None:
        made = transport(launch)
        made = await made if inspect.isawaitable(made) else made
        if not _is_transport(made):
            raise OptionsError(f"The function in transport returned {made!r}, not a Transport")
        return Connected(made, _configure(made, options, older) or launch.argv)
    timeouts = options.timeouts
    process = await spawn(launch, terminate_after=timeouts.terminate, kill_after=timeouts.kill)
    return Connected(process, launch.argv)


def _is_at_hand(options: Options) -> bool:
    """Whether no files matter but the CLI itself and its directory, which its start waits for too.

    Otherwise it is looked for, or files are read and written, in places some of which may be slow.
    """
    return names_path(options.cli) and not any(
        name in _NEED_FILES or (name != "cwd" and DECLARATIONS[name].place is not None)
        for name, _ in given_options(options)
    )


def launch_of(options: Options, *, is_here: bool = True, older: Collection[str] = ()) -> Launch:
    """Say how the CLI would be started. Its private files exist from now on.

    Args:
        options: what the CLI is asked for.
        is_here: whether it is to be started by this process, so that it must be found here.
        older: see `arguments`.

    Raises:
        OptionsError: the options make no sense.
        CLINotFoundError: there is no such CLI.
    """
    env = environment(options)
    command = find_cli(options.cli, env) if is_here else _find_or_name(options, env)
    files = PrivateFiles()
    try:
        argv = (*command, *_for_a_shell(command, arguments(options, files, older=older)))
        check_length(argv, env)
    except BaseException:
        files.delete()
        raise
    cleanup = () if files.folder is None else (files.delete,)
    return Launch(argv, env, _cwd(options), cleanup)


def _cwd(options: Options) -> Path | None:
    if options.cwd is None:
        return None
    from pathlib import Path  # it takes 2 ms to load

    return Path(options.cwd)


def _find_or_name(options: Options, env: Mapping[str, str]) -> tuple[str, ...]:
    """Name a CLI that may be somewhere else; find it if it is here."""
    cli = None if options.cli == SIMULATED else options.cli
    try:
        return find_cli(cli, env)
    except CLINotFoundError:
        return cli if isinstance(cli, tuple) else (str(cli or "claude"),)


def _for_a_shell(command: Sequence[str], words: Sequence[str]) -> Sequence[str]:
    """Quote what ssh passes to a shell, as one string of all words that follow the host."""
    if os.path.splitext(os.path.basename(command[0]))[0].lower() != "ssh":
        return words
    import shlex

    return tuple(map(shlex.quote, words))


_used: weakref.WeakSet[Transport] = weakref.WeakSet()
"""The transports that sessions have, or had and closed."""


def _unused(transport: Transport) -> Transport:
    """Return a transport that no session has had.

    Raises:
        OptionsError: a session has closed it, or will.
    """
    with suppress(TypeError):  # it cannot be hashed, or has no weak references
        if transport in _used:
            raise OptionsError(
                f"{transport!r} was given to a session before. A session closes its transport: "
                "give each one of its own, or a function that makes them"
            )
        _used.add(transport)
    return transport


def _configure(
    transport: Transport, options: Options, older: Collection[str] = ()
) -> tuple[str, ...]:
    """Tell a transport how its CLI is started, if it can be told; return the command line.

    Raises:
        OptionsError: the options make no sense, or the CLI was started before.
    """
    configurable = _configurable(transport)
    if configurable is None:
        return ()
    with PrivateFiles() as files:
        argv = ("claude", *arguments(options, files, older=older))
        env = {name: value for name, value in options.env.items() if value is not None}
        configurable.configure(Launch(argv, env, _cwd(options)))
    return argv
