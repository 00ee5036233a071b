"""The base of all exceptions. Lines of a peer never raise one: they come as events."""

from __future__ import annotations

from typing import Any

import msgspec


class Evidence(msgspec.Struct, frozen=True):
    """Facts about a CLI that failed. Secrets are redacted.

    Attributes:
        argv: its command line.
        pid: its process id.
        exit_code: None if it was killed, or has not been seen to exit.
        signal: the signal that killed it.
        stderr: the end of its stderr.
        received: the last lines from it.
        sent: the last lines to it.
        session: the name of its session; may be empty.
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
        message: the failure and its cause.
        advice: a way out.
        evidence: facts about the CLI.

    Attributes:
        message: the failure and its cause.
        advice: a way out; may be empty.
        evidence: facts about the CLI; empty if no CLI was involved.
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
        """Whether the same attempt may succeed later."""
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
    """A message that must not be sent now. Nothing was sent, nothing changed."""
