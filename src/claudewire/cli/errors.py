"""How a command fails: what happened, why, and what to do, and which status says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .exits import Exit

if TYPE_CHECKING:
    from ..errors import Cause, Error

__all__ = ["CommandError", "as_options", "describe_error", "exit_for", "message_of"]

WORDS = {
    "cli=…": "--cli PATH",
    'cli="simulated"': "--cli simulated",
    "list() gives": "`claudewire sessions list` shows",
    "archived() gives": "`claudewire sessions list --archived` shows",
    "resume(id, cwd=…)": "--cwd DIR",
    "(fork=True)": "(--fork)",
    "format=…": "--format",
}
"""What the advice of the library is called on the command line."""

FLAGS = {
    **{name: f"--{name}" for name in ("cli", "cwd", "dialect", "model", "output", "resume")},
    "max_turns": "--max-turns",
    "permission_mode": "--mode",
}
"""The flags of the options that an error of the library can begin with."""

_OPTION = re.compile(rf"({'|'.join(FLAGS)})(\.)?\b")


class CommandError(Exception):
    """A command cannot do what it was asked to.

    Args:
        message: what happened, and why.
        advice: what to do about it.
        exit: the status to exit with.
    """

    def __init__(self, message: str, *, advice: str = "", exit: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.exit = exit


def exit_for(error: Error) -> Exit:
    """Return the status that stands for an error of the library."""
    from ..errors import BudgetExceeded, CLIError, OptionsError, TurnStalled

    if isinstance(error, OptionsError):
        return Exit.USAGE
    if isinstance(error, BudgetExceeded):
        return Exit.BUDGET
    if isinstance(error, TurnStalled):
        return Exit.STALLED
    cause: Cause | None = getattr(error, "cause", None)
    if cause is not None and (found := _by_cause(cause)) is not None:
        return found
    subtype = getattr(getattr(error, "result", None), "subtype", None)
    if subtype in ("error_max_budget_usd", "error_max_turns"):
        return Exit.BUDGET
    return Exit.NO_CLI if isinstance(error, CLIError) else Exit.FAILED


def _by_cause(cause: Cause) -> Exit | None:
    from ..errors import Cause

    if cause in (Cause.LIMIT_REACHED, Cause.RATE_LIMITED):
        return Exit.LIMIT
    if cause in (Cause.SESSION_NOT_FOUND, Cause.SESSION_IN_USE):
        return Exit.USAGE
    return None


def describe_error(error: BaseException) -> Iterator[str]:
    """Yield the lines that tell a person of an error: the first says what happened."""
    found: Any = error
    if getattr(error, "message", None) is None:
        yield from _os_error(error) if isinstance(error, OSError) else str(error).splitlines()
        return
    yield from message_of(error).splitlines()
    yield from _ended(getattr(error, "evidence", None))
    yield from as_options(found.advice).splitlines()


def message_of(error: Any) -> str:
    """Return what an error says; of an option, with the name that it has on the command line."""
    from ..errors import OptionsError

    message: str = error.message
    found = _OPTION.match(message) if isinstance(error, OptionsError) else None
    if found is None:
        return message
    return f"{FLAGS[found[1]]}{': ' if found[2] else ''}{message[found.end() :]}"


def as_options(advice: str) -> str:
    """Put advice of the library into the words of the command line."""
    for name, option in WORDS.items():
        advice = advice.replace(name, option)
    return advice


def _os_error(error: OSError) -> Iterator[str]:
    words = error.strerror or str(error)
    place = error.filename or (error.strerror and "Reading or writing failed")
    yield f"{place}: {words}" if place else words


def _ended(evidence: object) -> Iterator[str]:
    stderr = str(getattr(evidence, "stderr", "")).strip()
    for line in stderr.splitlines()[-5:]:
        yield f"stderr: {line}"
