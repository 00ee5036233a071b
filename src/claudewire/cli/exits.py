"""With which status a command exits. Scripts depend on it: a number never changes its meaning."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Exit"]


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    """It did what it was asked to."""
    FAILED = 1
    """The turn failed, or what was checked is not as it should be."""
    USAGE = 2
    """The command line makes no sense, or names something that is not there."""
    DENIED = 3
    """The turn ended, and something that the model wanted to do was denied."""
    NEEDS_PERSON = 4
    """A person was asked something, and no person can be asked here."""
    BUDGET = 5
    """A limit that was given was reached: of money, or of turns."""
    LIMIT = 6
    """The account has reached a limit of the service."""
    NO_CLI = 7
    """The CLI was not found, could not be started, or ended too early."""
    STALLED = 8
    """Nothing happened for too long, or the time that was given is over."""
    INTERRUPTED = 130
    """It was interrupted with Ctrl-C."""
    BROKEN_PIPE = 141
    """The program that reads the output has ended."""
