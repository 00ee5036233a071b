"""Why a program could not be started, as an error with advice."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import Cause, CLIError, CLINotFoundError, Error, Evidence, OptionsError

__all__ = ["explained"]

_INTERPRETER = (
    "Either the program that its first line names is missing (is Node.js installed?), or it is "
    "a binary for another C library: one for glibc does not run on Alpine Linux, nor one for musl "
    "elsewhere."
)
_REASONS: dict[int, tuple[Cause, str, str]] = {
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


def explained(
    error: Exception, argv: Sequence[str], env: Mapping[str, str], cwd: Path | None
) -> Error:
    """Turn the system's error into one that says what to do."""
    if cwd is not None and not os.path.isdir(cwd):
        return OptionsError(f"The working directory {cwd} does not exist, or is not a directory")
    if not isinstance(error, OSError):
        return OptionsError(f"The command cannot be started: {error}")
    if error.errno == errno.E2BIG:
        return _too_long(argv, env)
    if error.errno == errno.ENOENT:
        return _not_there(argv)
    other = (Cause.UNKNOWN, error.strerror or str(error), "")
    cause, reason, advice = _REASONS.get(error.errno or 0, other)
    return _error(argv, cause, reason, advice)


def _error(argv: Sequence[str], cause: Cause, reason: str, advice: str) -> CLIError:
    from ..errors import redact

    evidence = Evidence(argv=tuple(map(redact, argv)))
    message = f"{argv[0]} cannot be started: {reason}"
    return CLIError(message, cause=cause, advice=advice, evidence=evidence)


def _not_there(argv: Sequence[str]) -> CLIError:
    if os.path.exists(argv[0]):
        return _error(argv, Cause.REFUSED, "the system cannot load it", _INTERPRETER)
    return CLINotFoundError(f"There is no program {argv[0]}")


def _named(word: str, argv: Sequence[str]) -> str:
    """Name an argument without its value."""
    number = list(argv).index(word)
    flags = (each.partition("=")[0] for each in (word, argv[number - 1]) if each[:1] == "-")
    return next(flags, f"number {number}")


def _too_long(argv: Sequence[str], env: Mapping[str, str]) -> CLIError:
    from ..errors import redact

    longest = max(argv, key=len)
    arguments = sum(len(os.fsencode(word)) + 1 for word in argv)
    variables = sum(len(os.fsencode(k + v)) + 2 for k, v in env.items())
    evidence = Evidence(argv=tuple(redact(word[:200]) for word in argv))
    return CLIError(
        f"The command line is too long: the longest argument, {_named(longest, argv)}, has "
        f"{len(longest)} characters; all arguments have {arguments} bytes, the environment "
        f"{variables}",
        cause=Cause.TOO_LONG,
        evidence=evidence,
        advice="Pass long strings in a file, or in the initialize request.",
    )
