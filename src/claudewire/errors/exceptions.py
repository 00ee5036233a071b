"""The exceptions of the library. Each has a `message`, an `advice`, `evidence` and `retryable`.

Error                       the base of all
├─ LocalProtocolError       a message that must not be sent now (a defect here, or in a custom
│                           request)
├─ TransportClosed          the transport is closed, or the CLI has exited
├─ OptionsError             an option is unknown, invalid, or conflicts with another
├─ SessionClosed            the session was closed before or during this call
├─ SessionFailed            a failure in this process ended the session
├─ CLIError                 the CLI could not be started, or has ended; `cause` gives the reason
│  └─ CLINotFoundError      … because it is not installed, or not in the expected place
├─ RequestError             the CLI refused a request
│  ├─ UnsupportedRequest    … because it does not know it
│  └─ RequestTimeout        … or did not answer in time
└─ TurnError                a turn ended without success
   ├─ TurnCancelled         … because it was withdrawn before it started
   ├─ BudgetExceeded        … because a limit of the application was reached
   ├─ TurnStalled           … because nothing happened for too long
   └─ OutputError           … or its output is not of the requested type

Other packages add their own, such as `RecordingError` and `ToolError`. Exceptions that stay inside
one package need not be an `Error`.
"""

from __future__ import annotations

import signal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ..wire import Error, Evidence

if TYPE_CHECKING:
    from ..wire import ResultMessage


def words_of(error: BaseException) -> str:
    """Return the message of an exception, or its type if it has none."""
    try:
        return str(error) or type(error).__name__
    except BaseException:
        return type(error).__name__


def describe(error: BaseException) -> str:
    """Format an exception as `Type: message`."""
    name, words = type(error).__name__, words_of(error)
    return name if words == name else f"{name}: {words}"


class TransportClosed(Error):
    """The transport is closed, or the peer no longer reads."""


class Cause(StrEnum):
    """The reason why a CLI could not be used, or a turn has failed."""

    NOT_FOUND = "not found"
    WRONG_VERSION = "wrong version"
    BAD_FLAG = "bad flag"
    NOT_LOGGED_IN = "not logged in"
    LIMIT_REACHED = "limit reached"
    RATE_LIMITED = "rate limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server error"
    CONNECTION_LOST = "connection lost"
    INVALID_REQUEST = "invalid request"
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

    @property
    def retryable(self) -> bool:
        """Whether the same attempt may succeed later."""
        return self in _RETRYABLE


_RETRYABLE = frozenset(
    {
        Cause.RATE_LIMITED,
        Cause.OVERLOADED,
        Cause.SERVER_ERROR,
        Cause.CONNECTION_LOST,
        Cause.OUT_OF_MEMORY,
        Cause.KILLED,
        Cause.NO_ANSWER,
        Cause.STOPPED_TALKING,
        Cause.STOPPED_LISTENING,
        Cause.EXITED,
    }
)


class _Details(TypedDict, total=False):
    cause: Cause
    code: str | None
    evidence: Evidence | None
    advice: str


class _CLIRelatedError(Error):
    """An error that also shows the exit and the stderr of the CLI."""

    _retryable = False
    _cause = Cause.UNKNOWN

    def __init__(
        self,
        message: str,
        *,
        cause: Cause | None = None,
        code: str | None = None,
        evidence: Evidence | None = None,
        advice: str = "",
    ) -> None:
        super().__init__(message, evidence=evidence, advice=advice)
        self.cause: Cause = cause or self._cause
        self.code = code

    @property
    def retryable(self) -> bool:
        """Whether the same may succeed later, in a new session or after a restart."""
        return self._retryable or self.cause.retryable

    def __str__(self) -> str:
        session, ended = self.evidence.session, how_it_ended(self.evidence)
        facts = [f"session {session}"] if session else []
        if ended and ended not in self.message:
            facts.append(ended)
        parts = [f"{self.message} ({', '.join(facts)})" if facts else self.message]
        if self.evidence.stderr.strip():
            parts.append(f"stderr: {self.evidence.stderr.strip()}")
        if self.advice:
            parts.append(self.advice)
        return "\n".join(parts)


def how_it_ended(evidence: Evidence) -> str:
    """Describe the exit of a CLI; empty if it still runs."""
    if evidence.signal is not None:
        return f"killed by {signal_name(evidence.signal)}"
    return "" if evidence.exit_code is None else f"exit code {evidence.exit_code}"


def signal_name(number: int) -> str:
    """Name a signal, `SIGKILL` for example."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class OptionsError(Error, ValueError):
    """An option is unknown, invalid, or conflicts with another. Nothing was started."""


class SessionClosed(_CLIRelatedError):
    """The session was closed before or during this call."""


class SessionFailed(_CLIRelatedError):
    """A failure in this process, not in the CLI, ended the session.

    Its `__cause__` is that failure: in a price table or a transport of the application, for
    example, or a defect of this library.
    """


class CLIError(_CLIRelatedError):
    """The CLI could not be started, has ended, or can no longer be used.

    Attributes:
        cause: the kind of failure.
    """


class CLINotFoundError(CLIError):
    """The `claude` CLI was not found."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message, cause=Cause.NOT_FOUND, advice=advice)


class RequestError(_CLIRelatedError):
    """The CLI refused a request.

    Attributes:
        request: the kind of request, `set_model` for example.
        code: the CLI's code for the reason, if it gave one.
    """

    def __init__(self, message: str, *, request: str, **details: Unpack[_Details]) -> None:
        super().__init__(message, **details)
        self.request = request


class UnsupportedRequest(RequestError):
    """The CLI does not know this request; a newer one may."""


class RequestTimeout(RequestError, TimeoutError):
    """The CLI did not answer in time. The request is withdrawn, if the CLI supports that."""

    _retryable = True


class TurnError(_CLIRelatedError):
    """A turn ended without success.

    Attributes:
        result: the result of the CLI; None if it gave none.
        cause: the kind of failure, as far as known.
        code: the CLI's code for the reason, if it gave one.
    """

    def __init__(
        self, message: str, *, result: ResultMessage | None = None, **details: Unpack[_Details]
    ) -> None:
        super().__init__(message, **details)
        self.result = result


class TurnCancelled(TurnError):
    """The turn was withdrawn before it started, or dropped by an interrupt."""


class BudgetExceeded(TurnError):
    """A limit of the application was reached, so the turn was interrupted."""

    _cause = Cause.LIMIT_REACHED


class TurnStalled(TurnError):
    """Nothing happened for longer than the watchdog allows."""

    _retryable = True


class OutputError(TurnError):
    """The turn has no output of the requested type.

    Attributes:
        text: the text that the model gave instead.
        value: the output as received, if any.
        problem: the reason why it is not of the type.
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

    _retryable = True
