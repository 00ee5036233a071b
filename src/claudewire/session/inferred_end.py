"""The ends of turns without a result.

A result ends its turn at once. Where none is sure to come, another sign says that the turn may be
over: the model has stopped, an error was reported, an interrupt was answered. Only silence shows
that nothing follows. So the turn ends after a time without output; output before that belongs to
the turn.

No turn stays open while the CLI is idle, or while it goes on with something else. Turns that the
CLI had started get the last result; all others fail.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from ..errors import Cause, Error, TurnError
from ..wire import (
    AssistantMessage,
    ErrorMessage,
    InvalidLine,
    Malformed,
    Oversize,
    ResultMessage,
    SystemErrorMessage,
)
from .turn import AnyTurn

AFTER_STOP: float = 0.1
"""Seconds. Such a CLI writes the end of a turn at once, and each of its turns takes this longer."""

AFTER_ERROR: float = 1.0
"""Seconds. A CLI that goes on after an error, or ends the turn properly, does so at once."""

AFTER_INTERRUPT: float = 2.0
"""Seconds for the last words, and perhaps a result, of a turn that was interrupted."""

AFTER_REQUEST: float = 60.0
"""Seconds. A tool that was just allowed may run for a while before there is output again."""

AFTER_LATE_RESULT: float = 1.0
"""Seconds for the first output of a turn: it shows that an earlier result was of another turn."""

AFTER_IDLE: float = 5.0
"""Seconds. Usually the result comes before the CLI says that it is idle."""

AFTER_MERGING: float = 60.0
"""Seconds after a result that does not name all prompts of its turn."""

UNSOLICITED: float = 60.0
"""Seconds of silence after which an unsolicited turn no longer keeps a prompt waiting."""

UNANNOUNCED: float = 5.0
"""The same without an `init`, with which all real CLIs begin a turn: it is a stray line."""


class InferredEnd(Struct, frozen=True, eq=False):
    """The end of a turn, unless the CLI says more of it.

    Attributes:
        outcome: its result or error; None to go on without waiting for its end.
        within: the seconds of silence that end it.
        is_certain: output only delays the end. Otherwise output shows that the turn goes on.
        left_open: the turns that it ends, if the CLI goes on with none of them.
    """

    turn: AnyTurn
    outcome: ResultMessage | Error | None
    within: float
    is_certain: bool = False
    left_open: tuple[AnyTurn, ...] = ()


def stopped(turn: AnyTurn, message: AssistantMessage, before: InferredEnd | None) -> InferredEnd:
    """End a turn whose model has stopped, in a dialect without results."""
    if before is not None and before.turn is turn and before.outcome is not None:
        return replace(before, within=AFTER_STOP)  # the last words after an interrupt
    result = ResultMessage(
        subtype="success",
        is_error=False,
        user_message_uuid=turn.uuid,
        session_id=message.session_id,
        stop_reason=message.stop_reason,
        terminal_reason="completed",
        usage=message.usage,
    )
    return InferredEnd(turn, result, AFTER_STOP)


def interrupted(turn: AnyTurn) -> InferredEnd:
    """End a turn that was interrupted, where no result is promised."""
    result = ResultMessage(
        subtype="error_during_execution",
        is_error=True,
        user_message_uuid=turn.uuid,
        errors=["The turn was interrupted"],
        terminal_reason="aborted_streaming",
    )
    return InferredEnd(turn, result, AFTER_INTERRUPT, is_certain=True)


def failed(turn: AnyTurn, message: ErrorMessage | SystemErrorMessage) -> InferredEnd:
    """End a turn after an error that no result follows."""
    from ..errors import diagnose_result, status_of

    code, text = _code_and_text(message)
    found = diagnose_result(
        ResultMessage(subtype="error", errors=[text], api_error_status=status_of(code))
    )
    reported = f"The CLI reported an error: {text}" + (f" ({code})" if code else "")
    error = TurnError(reported, cause=found.cause, code=code, advice=found.advice)
    return InferredEnd(turn, error, AFTER_ERROR)


_END = rb'"type"\s*:\s*"(result|error)"'

TAIL = 4096
"""Bytes at the end of a line that may hold its type: most have it at the beginning."""


def _looks_like_an_end(event: Malformed | InvalidLine | Oversize) -> bool:
    parts = (event.head, event.line[-TAIL:] if event.line.startswith(b"{") else b"")
    return any(re.search(_END, part) for part in parts)


def unreadable(turn: AnyTurn, event: Malformed | InvalidLine | Oversize) -> InferredEnd | None:
    """End a turn after a line that cannot be read, if it looks like a result or an error."""
    kind = event.raw.get("type") if isinstance(event, Malformed) else None
    if kind not in ("result", "error") and (kind is not None or not _looks_like_an_end(event)):
        return None
    why = "it is too long" if isinstance(event, Oversize) else event.reason
    error = TurnError(f"The line with which the CLI ended the turn cannot be read: {why}")
    return InferredEnd(turn, error, AFTER_ERROR)


def became_idle() -> TurnError:
    """Make the error of a turn that the CLI does not go on with."""
    text = "The CLI became idle without a result of this turn"
    return TurnError(text, cause=Cause.NO_ANSWER)


def _code_and_text(message: ErrorMessage | SystemErrorMessage) -> tuple[str | None, str]:
    if isinstance(message, ErrorMessage):
        return message.error.kind, message.error.message
    error = message.error
    if isinstance(error, dict):
        code = error.get("code", error.get("type"))
        return code if isinstance(code, str) else None, str(error.get("message", error))
    texts = (message.message, error, message.content)
    return None, next((str(text) for text in texts if text), "it does not say which")
