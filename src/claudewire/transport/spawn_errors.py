"""The reason why a program could not be started, as an error with advice."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import Cause, CLIError, CLINotFoundError, Error, Evidence, OptionsError, redact

LONGEST = 200
"""Characters of an argument that are kept as evidence."""

_INTERPRETER = (
    "Either the program that its first line names is missing (is Node.js installed?), or it is "
    "a binary for another C library: one for glibc does not run on Alpine Linux, nor one for musl "
    "elsewhere."
)
_REASONS: dict[int, tuple[Cause, str, str]] = {
    errno.E2BIG: (
        Cause.TOO_LONG,
        "the command line is too long",
        "Pass long strings in a file, or in the initialize request.",
    ),
    errno.EACCES: (
        Cause.REFUSED,
        "it is not executable, or its directory cannot be entered",
        "Make it executable (chmod +x), and check that its file system is not mounted noexec.",
    ),
    errno.EPERM: (
        Cause.REFUSED,
        "that is not permitted",
        "Only a privileged process can start one as another user.",
    ),
    errno.ENOEXEC: (
        Cause.REFUSED,
        "it is not a program for this machine",
        "Install the CLI that was built for this system and processor.",
    ),
    errno.ENOMEM: (Cause.OUT_OF_MEMORY, "there is not enough memory", "Run fewer at once."),
    errno.EAGAIN: (
        Cause.REFUSED,
        "there are too many processes",
        "Run fewer at once, or raise the limit (ulimit -u).",
    ),
    errno.EMFILE: (
        Cause.REFUSED,
        "this process has too many open files",
        "Run fewer at once, or raise the limit (ulimit -n).",
    ),
    errno.ENFILE: (Cause.REFUSED, "the system has too many open files", "Run fewer at once."),
}


def explained(error: Exception, argv: Sequence[str], cwd: Path | None) -> Error:
    """Turn the system's error into one with advice."""
    if cwd is not None and not os.path.isdir(cwd):
        return OptionsError(f"The working directory {cwd} does not exist, or is not a directory")
    if not isinstance(error, OSError):
        return OptionsError(f"The command cannot be started: {error}")
    if error.errno == errno.ENOENT:
        return _not_there(argv)
    other = (Cause.UNKNOWN, error.strerror or str(error), "")
    cause, reason, advice = _REASONS.get(error.errno or 0, other)
    return _error(argv, cause, reason, advice)


def _error(argv: Sequence[str], cause: Cause, reason: str, advice: str) -> CLIError:
    evidence = Evidence(argv=tuple(redact(word[:LONGEST]) for word in argv))
    message = f"{argv[0]} cannot be started: {reason}"
    return CLIError(message, cause=cause, advice=advice, evidence=evidence)


def _not_there(argv: Sequence[str]) -> CLIError:
    if os.path.exists(argv[0]):
        return _error(argv, Cause.REFUSED, "the system cannot load it", _INTERPRETER)
    return CLINotFoundError(f"There is no program {argv[0]}")
