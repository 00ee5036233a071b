"""How a command fails: the exit statuses, and errors in words for a person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from ..errors import BudgetExceeded, Cause, CLIError, Error, OptionsError, TurnStalled


class Exit(IntEnum):
    """The exit status of a command. Scripts depend on it: a number never changes its meaning."""

    DONE = 0
    FAILED = 1  # the turn failed, or a check found a problem
    USAGE = 2  # invalid arguments, or a name of something that does not exist
    DENIED = 3  # the turn ended, and a tool was denied
    NEEDS_PERSON = 4  # a request needed a person, and no person can be asked here
    BUDGET = 5  # the turn reached a limit of the user, of money or of model calls
    LIMIT = 6  # the account has reached a limit of the service
    NO_CLI = 7  # the CLI was not found, could not be started, or ended too early
    STALLED = 8  # the CLI was silent for too long, or the given time is over
    INTERRUPTED = 130  # by Ctrl-C
    BROKEN_PIPE = 141  # the program that reads the output has ended


_IN_A_SHELL = {
    r"^(cli|cwd|dialect|model|output|resume)(?:\.|\b)(?=[: ])": r"--\1",
    r"^(allow|ask|deny)\[\d+\]": r"--\1",
    r"^max_turns\b": "--max-turns",
    r"^permission_mode\b": "--mode",
    r"^The limit cost_usd of a budget": "--budget",
    r" If there is such a tool, give the rule as Rule\.parse\(.*\)": "",
    r"cli=…": "--cli PATH",
    r'cli="simulated"': "--cli simulated",
    r"list\(\) returns": "`claudewire sessions list` shows",
    r"archived\(\) returns": "`claudewire sessions list --archived` shows",
    r"resume\(id, cwd=…\)": "--cwd DIR",
    r"\(fork=True\)": "(--fork)",
    r"format=…": "--format",
}
"""Words of the library, and their form on the command line."""

_BY_TYPE = {
    OptionsError: Exit.USAGE,
    BudgetExceeded: Exit.BUDGET,
    TurnStalled: Exit.STALLED,
}
_BY_CAUSE = {
    Cause.LIMIT_REACHED: Exit.LIMIT,
    Cause.RATE_LIMITED: Exit.LIMIT,
    Cause.SESSION_NOT_FOUND: Exit.USAGE,
    Cause.SESSION_IN_USE: Exit.USAGE,
}


class CommandError(Exception):
    """A command cannot do its work."""

    def __init__(self, message: str, *, advice: str = "", exit: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.exit = exit


def exit_for(error: Exception) -> Exit:
    """Return the status for an error."""
    if isinstance(error, CommandError):
        return error.exit
    if isinstance(error, OSError) and not isinstance(error, Error):
        # Without a file name the error is about a stream, not about an argument.
        return Exit.USAGE if error.filename else Exit.FAILED
    for kind, exit in _BY_TYPE.items():
        if isinstance(error, kind):
            return exit
    if (cause := getattr(error, "cause", None)) in _BY_CAUSE:
        return _BY_CAUSE[cause]
    subtype = getattr(getattr(error, "result", None), "subtype", None)
    if subtype in ("error_max_budget_usd", "error_max_turns"):
        return Exit.BUDGET
    return Exit.NO_CLI if isinstance(error, CLIError) else Exit.FAILED


def describe_error(error: BaseException) -> Iterator[str]:
    """Yield lines about an error for a person; the first states the problem."""
    if getattr(error, "message", None) is not None:
        yield from message_of(error).splitlines()
        yield from (f"stderr: {line}" for line in stderr_of(error)[-5:])
        yield from advice_of(error).splitlines()
    elif isinstance(error, OSError):
        place = error.filename or (error.strerror and "Reading or writing failed")
        yield f"{place}: {error.strerror or error}" if place else str(error)
    else:
        yield from str(error).splitlines()


def stderr_of(error: BaseException) -> list[str]:
    """Return the last lines of the CLI's stderr, if the error has them."""
    return str(getattr(getattr(error, "evidence", None), "stderr", "")).strip().splitlines()


def message_of(error: Any) -> str:
    """Return the message of an error; an option has its name on the command line."""
    return in_a_shell(error.message) if isinstance(error, OptionsError) else str(error.message)


def advice_of(error: Any) -> str:
    """Return the advice of an error in the words of the command line."""
    return in_a_shell(error.advice)


def in_a_shell(text: str) -> str:
    """Say something of the library in the words of the command line."""
    for pattern, words in _IN_A_SHELL.items():
        text = re.sub(pattern, words, text)
    return text
