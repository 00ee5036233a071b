"""What a simulated CLI does to the world: a queue of actions that its host carries out.

The engine itself does no I/O. A host is whatever gives it pipes: the executable, or an in-memory
transport. Faults are functions from actions to actions, so they work alike in both.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "Action",
    "CloseOutput",
    "Exit",
    "IgnoreTermination",
    "Kill",
    "LeaveGrandchild",
    "Pause",
    "ResumeInput",
    "StopInput",
    "Write",
    "WriteError",
]


class Write(NamedTuple):
    """Write to stdout, in one piece."""

    data: bytes


class WriteError(NamedTuple):
    """Write to stderr."""

    data: bytes


class Pause(NamedTuple):
    """Do nothing for a while; None for ever."""

    seconds: float | None


class Exit(NamedTuple):
    """End the process with a status, once what is written has gone out."""

    status: int


class Kill(NamedTuple):
    """Die by a signal, at once."""

    signal: int


class CloseOutput(NamedTuple):
    """Close stdout and go on living."""


class StopInput(NamedTuple):
    """Read no more from stdin, so that the pipe fills up."""


class ResumeInput(NamedTuple):
    """Read stdin again."""


class IgnoreTermination(NamedTuple):
    """Ignore SIGTERM from now on."""


class LeaveGrandchild(NamedTuple):
    """Start a process that holds stdout open and lives for so many seconds."""

    seconds: float


Action = (
    Write
    | WriteError
    | Pause
    | Exit
    | Kill
    | CloseOutput
    | StopInput
    | ResumeInput
    | IgnoreTermination
    | LeaveGrandchild
)
