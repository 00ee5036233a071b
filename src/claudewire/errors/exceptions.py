"""Every exception of a session, each with its evidence.

Error                    the base of all
├─ LocalProtocolError    we said what may not be said now (a bug of ours or of a custom request)
├─ TransportClosed       the transport is gone
├─ OptionsError          options that make no sense; nothing was started
├─ SessionClosed         the session was closed before this call, or while it waited
├─ CLIError              the CLI could not be started, or is gone; `cause` says why
│  └─ CLINotFoundError
├─ RequestError          the CLI refused a request
│  ├─ Unsupported        … because it does not know it
│  └─ RequestTimeout     … or did not answer in time
└─ TurnError             a turn ended without success
├─ TurnCancelled      … because it was taken back before it began
├─ BudgetExceeded     … because a limit of ours was reached
├─ Stalled            … because nothing happened for too long
└─ OutputError        … or its output is not of the type that was asked for
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ..wire import Error, LocalProtocolError

if TYPE_CHECKING:
    from ..wire import ResultMessage

__all__ = [
    "BudgetExceeded",
    "CLIError",
    "CLINotFoundError",
    "Cause",
    "Error",
    "Evidence",
    "LocalProtocolError",
    "OptionsError",
    "OutputError",
    "RequestError",
    "RequestTimeout",
    "SessionClosed",
    "Stalled",
    "TransportClosed",
    "TurnCancelled",
    "TurnError",
    "Unsupported",
]


class TransportClosed(Error):
    """The transport was closed, or the peer will never read what was to be sent."""


class Cause(StrEnum):
    """Why a CLI could not be used, as far as it can be told."""

    NOT_FOUND = "not found"
    WRONG_VERSION = "wrong version"
    BAD_FLAG = "bad flag"
    NOT_LOGGED_IN = "not logged in"
    LIMIT_REACHED = "limit reached"
    SESSION_NOT_FOUND = "session not found"
    SESSION_IN_USE = "session in use"
    OTHER_SESSION = "other session"
    OUT_OF_MEMORY = "out of memory"
    KILLED = "killed"
    TOO_LONG = "too long"
    NO_ANSWER = "no answer"
    STOPPED_TALKING = "stopped talking"
    STOPPED_LISTENING = "stopped listening"
    REFUSED = "refused"
    EXITED = "exited"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about a CLI that failed. Secrets have been taken out.

    Attributes:
        argv: how it was started.
        pid: its process id.
        exit_code: how it exited; None if it was killed, or has not been seen to exit.
        signal: the signal that killed it.
        stderr: the end of what it wrote to stderr.
        received: the last lines it wrote.
        sent: the last lines it was sent.
    """

    argv: tuple[str, ...] = ()
    pid: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    stderr: str = ""
    received: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()

    def how_it_ended(self) -> str:
        """Say it in words; empty if it has not ended."""
        if self.signal is not None:
            try:
                name = signal.Signals(self.signal).name
            except ValueError:
                name = f"signal {self.signal}"
            return f"killed by {name}"
        return "" if self.exit_code is None else f"exit code {self.exit_code}"


class _WithEvidence(Error):
    """Says what happened, why as far as it is known, and what to do."""

    def __init__(self, message: str, *, evidence: Evidence | None = None, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.evidence: Evidence = evidence or Evidence()
        self.advice = advice

    def __str__(self) -> str:
        ended = self.evidence.how_it_ended()
        is_new = ended and ended not in self.message
        parts = [f"{self.message} ({ended})" if is_new else self.message]
        if self.evidence.stderr.strip():
            parts.append(f"stderr: {self.evidence.stderr.strip()}")
        if self.advice:
            parts.append(self.advice)
        return "\n".join(parts)


class OptionsError(Error, ValueError):
    """Options that make no sense, alone or together. Nothing was started."""


class SessionClosed(_WithEvidence):
    """The session was closed before this call, or while it waited."""


class CLIError(_WithEvidence):
    """The CLI could not be started, or is gone, or has to be given up.

    Attributes:
        cause: what kind of failure it is.
        evidence: exit code, stderr, last lines.
        advice: what to do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        cause: Cause = Cause.UNKNOWN,
        evidence: Evidence | None = None,
        advice: str = "",
    ) -> None:
        super().__init__(message, evidence=evidence, advice=advice)
        self.cause = cause


class CLINotFoundError(CLIError):
    """There is no `claude` where it was looked for."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message, cause=Cause.NOT_FOUND, advice=advice)


class RequestError(_WithEvidence):
    """The CLI refused a request.

    Attributes:
        request: what was asked, `set_model` for example.
        code: the CLI's code for the reason, if it gave one.
    """

    def __init__(
        self,
        message: str,
        *,
        request: str,
        code: str | None = None,
        evidence: Evidence | None = None,
        advice: str = "",
    ) -> None:
        super().__init__(message, evidence=evidence, advice=advice)
        self.request = request
        self.code = code


class Unsupported(RequestError):
    """The CLI does not know this request; a newer one may."""


class RequestTimeout(RequestError, TimeoutError):
    """The CLI did not answer in time. The request has been withdrawn."""


class TurnError(_WithEvidence):
    """A turn ended without success.

    Attributes:
        result: what the CLI said at its end; None if it said nothing.
        cause: what kind of failure it is, as far as it can be told.
    """

    def __init__(
        self,
        message: str,
        *,
        result: ResultMessage | None = None,
        cause: Cause = Cause.UNKNOWN,
        evidence: Evidence | None = None,
        advice: str = "",
    ) -> None:
        super().__init__(message, evidence=evidence, advice=advice)
        self.result = result
        self.cause = cause


class TurnCancelled(TurnError):
    """The turn was taken back before it began, or dropped by an interrupt."""


class BudgetExceeded(TurnError):
    """A limit of ours was reached, and the turn interrupted."""


class Stalled(TurnError):
    """Nothing happened for longer than the watchdog allows."""


class OutputError(TurnError):
    """The turn has no output of the type that was asked for.

    Attributes:
        text: what the model said instead.
        value: the output as it came, if there was any.
        problem: what is wrong with it.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str = "",
        value: Any = None,
        problem: str = "",
        result: ResultMessage | None = None,
    ) -> None:
        super().__init__(message, result=result)
        self.text = text
        self.value = value
        self.problem = problem
