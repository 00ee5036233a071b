"""The base of all exceptions. What a peer does never raises one: it comes as an event."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Error", "Evidence", "LocalProtocolError"]


class Evidence(msgspec.Struct, frozen=True):
    """What is known about a CLI that failed. Secrets are redacted.

    Attributes:
        argv: how it was started.
        pid: its process id.
        exit_code: how it exited; None if it was killed, or has not been seen to exit.
        signal: the signal that killed it.
        stderr: the end of what it wrote to stderr.
        received: the last lines it wrote.
        sent: the last lines it was sent.
        session: the name that its session was given; empty if it was not given one.
    """

    argv: tuple[str, ...] = ()
    pid: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    stderr: str = ""
    received: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    session: str = ""


_NO_EVIDENCE = Evidence()


class Error(Exception):
    """The base of every exception that claudewire raises.

    Args:
        message: what happened, and why.
        advice: what to do about it.
        evidence: what is known about the CLI.

    Attributes:
        message: what happened, and why.
        advice: what to do about it; may be empty.
        evidence: what is known about the CLI; all of it is empty if no CLI was involved.
    """

    def __init__(
        self, message: str = "", *, advice: str = "", evidence: Evidence | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.evidence: Evidence = evidence or _NO_EVIDENCE

    @property
    def retryable(self) -> bool:
        """Whether the same attempt may succeed later, with nothing changed but the time."""
        return False

    def __str__(self) -> str:
        return "\n".join(part for part in (self.message, self.advice) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        # The arguments of a subclass differ from `args`, so a copy cannot be made by calling it.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[Error], args: tuple[Any, ...], attributes: dict[str, Any]) -> Error:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(attributes)
    return error


class LocalProtocolError(Error):
    """We tried to send what must not be sent now. Nothing was sent, nothing changed."""
