"""Actions: everything a simulated CLI does to its surroundings.

The engine performs no I/O on its pipes. It queues actions, and its host carries them out: the
program or the transport in memory. Faults map actions to other actions and therefore work with both
hosts.
"""

from __future__ import annotations

from typing import NamedTuple


class Write(NamedTuple):
    """Write to stdout, in one piece."""

    data: bytes


class WriteError(NamedTuple):
    """Write to stderr."""

    data: bytes


class Pause(NamedTuple):
    """Do nothing for some seconds."""

    seconds: float


class Exit(NamedTuple):
    """Exit with a status after all output has been written."""

    status: int


class Kill(NamedTuple):
    """Die from a signal, immediately."""

    signal: int


class CloseOutput(NamedTuple):
    """Close stdout without exiting."""


class ReadInput(NamedTuple):
    """Read stdin again, or stop reading it so that the pipe fills up."""

    reading: bool


class IgnoreTermination(NamedTuple):
    """Ignore SIGTERM from now on."""


class LeaveProcess(NamedTuple):
    """Start a process that outlives the CLI.

    It holds stdout open; a detached one has a session and no pipe of the CLI instead.
    """

    seconds: float
    detached: bool


Action = (
    Write
    | WriteError
    | Pause
    | Exit
    | Kill
    | CloseOutput
    | ReadInput
    | IgnoreTermination
    | LeaveProcess
)
