"""What a simulated CLI does: a queue of actions that its host carries out.

The engine itself does no I/O. Its host is the program or the in-memory transport. Faults are
functions from actions to actions, so they work alike in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = [
    "Action",
    "Append",
    "CloseOutput",
    "Exit",
    "IgnoreTermination",
    "Kill",
    "LeaveGrandchild",
    "LeaveShell",
    "Pause",
    "ReadInput",
    "Run",
    "Write",
    "WriteError",
]


class Write(NamedTuple):
    """Write to stdout, in one piece."""

    data: bytes


class WriteError(NamedTuple):
    """Write to stderr."""

    data: bytes


class Append(NamedTuple):
    """Add entries to a transcript; a file that does not exist is created."""

    path: str
    entries: list[dict[str, Any]]


class Run(NamedTuple):
    """Call a function that blocks, in a thread; then call `Engine.finish` with what it returns."""

    key: str
    work: Callable[[], Any]

    def __call__(self) -> Any:
        """What it returns, or the exception that it raises."""
        try:
            return self.work()
        except Exception as error:
            return error


class Pause(NamedTuple):
    """Do nothing for some seconds; None means for ever."""

    seconds: float | None


class Exit(NamedTuple):
    """Exit with a status, after all output has been written."""

    status: int


class Kill(NamedTuple):
    """Be killed by a signal, at once."""

    signal: int


class CloseOutput(NamedTuple):
    """Close stdout without exiting."""


class ReadInput(NamedTuple):
    """Read stdin again; or not any more, so that the pipe fills up."""

    reading: bool


class IgnoreTermination(NamedTuple):
    """Ignore SIGTERM from now on."""


class LeaveGrandchild(NamedTuple):
    """Start a process that holds stdout open and lives for some seconds."""

    seconds: float


class LeaveShell(NamedTuple):
    """Start a process in a session of its own that lives for some seconds."""

    seconds: float


Action = (
    Write
    | WriteError
    | Append
    | Run
    | Pause
    | Exit
    | Kill
    | CloseOutput
    | ReadInput
    | IgnoreTermination
    | LeaveGrandchild
    | LeaveShell
)
