"""Find the cause of a failure in the evidence, and the advice that helps."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from typing import NamedTuple

from ..wire import Evidence, ResultMessage
from .exceptions import Cause, CLIError, signal_name
from .failure_signs import KINDS, SIGNS, STARTUP_FAILURES, STATUS_CLASSES, STATUSES

_LONGEST = 500
"""Characters of the CLI's own output in a message."""

_API_ERROR = re.compile(
    r'API Error: (?:(?P<status>\d{3})\b|.*"type":"error","error":\{"type":"(?P<kind>\w+)")'
)
_KILLED_ADVICE = "The system may have killed it for lack of memory: see its log (dmesg)."
_CRASHES = frozenset(["SIGSEGV", "SIGBUS", "SIGILL", "SIGABRT", "SIGFPE", "SIGTRAP"])
_SUBTYPES = {
    "error_max_turns": "The turn reached its limit of model calls (max_turns)",
    "error_max_budget_usd": "The turn reached its limit of cost (max_budget_usd)",
    "error_max_structured_output_retries": "The model did not produce output of the required form",
    "error_during_execution": "The turn failed, or was interrupted",
}


class Diagnosis(NamedTuple):
    """A failure that was recognised.

    Attributes:
        cause: the kind of failure.
        message: the failure, in words.
        advice: the next step for the user; may be empty.
    """

    cause: Cause
    message: str
    advice: str = ""


# 2.1.17 gives no reason if the API ends its reply before the first block is complete. It does say
# so when a turn is interrupted.
_CUT_OFF = Diagnosis(Cause.CONNECTION_LOST, "The API ended its reply too early", "Try again.")


def diagnose(evidence: Evidence, result: ResultMessage | None = None) -> CLIError:
    """Make the error for a CLI that has ended, or can no longer be used.

    The cause is in its last output or, without any, in its exit.

    Args:
        evidence: everything known.
        result: the last result of the CLI.
    """
    # Output that is not JSON may be the complaint of a wrapper script.
    noise = [line for line in evidence.received if not line.startswith("{")]
    found = _by_words([evidence.stderr, "\n".join(noise)])
    if found is None and result is not None and not result.ok:
        found = diagnose_result(result)
    if found is None or found.cause is Cause.UNKNOWN:
        found = _by_exit(evidence)
    return CLIError(found.message, cause=found.cause, evidence=evidence, advice=found.advice)


def diagnose_result(result: ResultMessage, *, was_silent: bool = False) -> Diagnosis:
    """Find out why a turn has failed.

    Args:
        result: its result.
        was_silent: the turn had no output, not even that it was interrupted.
    """
    words = [*(result.errors or []), result.result or ""]
    said = _shortened("; ".join(word for word in words if word))
    if (reason := result.startup_failure_reason) is not None:
        cause, advice = STARTUP_FAILURES.get(reason, (Cause.REFUSED, ""))
        return Diagnosis(cause, f"The CLI refuses to start: {said or reason}", advice)
    if (found := _by_words(words) or _by_status(result, words, said)) is not None:
        return found
    if result.subtype == "success" and result.was_aborted:
        return Diagnosis(Cause.UNKNOWN, "The turn was stopped before its end")
    if was_silent and not said and result.subtype == "error_during_execution":
        return _CUT_OFF
    meaning = _SUBTYPES.get(result.subtype, "The turn failed")
    return Diagnosis(Cause.UNKNOWN, f"{meaning}: {said}" if said else meaning)


def status_of(kind: str | None) -> int | None:
    """Return the HTTP status of a kind of API error; None if it is unknown."""
    return None if kind is None else KINDS.get(kind)


def _by_words(texts: Iterable[str]) -> Diagnosis | None:
    for text in filter(None, texts):
        for sign in SIGNS:
            if (match := re.search(sign.pattern, text, re.MULTILINE)) is not None:
                line = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
                meaning = sign.message.format(match[1] if match.re.groups else "")
                message = f"{meaning}: {_shortened(line)}"
                return Diagnosis(sign.cause, message, sign.advice)
    return None


def _by_status(result: ResultMessage, words: Iterable[str], said: str) -> Diagnosis | None:
    """Find out the meaning of an HTTP status of the API; None if it is no error."""
    status = result.api_error_status or _status_in(words)
    found = None if status is None else STATUSES.get(status) or STATUS_CLASSES.get(status // 100)
    if found is None:
        return None
    cause, meaning, advice = found
    return Diagnosis(cause, f"{meaning}: {said}" if said else meaning, advice)


def _status_in(words: Iterable[str]) -> int | None:
    """Return the status in a message of a CLI that does not give it in a field."""
    for word in words:
        if (match := _API_ERROR.match(word)) is not None:
            return int(match["status"]) if match["status"] else KINDS.get(match["kind"])
    return None


def _shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _by_exit(evidence: Evidence) -> Diagnosis:
    if evidence.signal is not None:
        return _by_signal(evidence.signal)
    match evidence.exit_code:
        case None:
            return Diagnosis(Cause.UNKNOWN, "The CLI can no longer be used")
        case 126:
            return Diagnosis(Cause.REFUSED, "The command cannot run the CLI")
        case 127:
            advice = "Give its whole path in the command."
            return Diagnosis(Cause.NOT_FOUND, "The command could not find the CLI", advice)
        case 137:  # SIGKILL, in shells and containers
            message = "The CLI was killed, most likely for lack of memory"
            return Diagnosis(Cause.OUT_OF_MEMORY, message, "Give it more memory.")
        case int(code) if 128 < code < 128 + signal.NSIG:
            return _by_signal(code - 128)
    advice = "Try its --version: is it the claude CLI?"
    return Diagnosis(Cause.EXITED, f"The CLI has exited with status {evidence.exit_code}", advice)


def _by_signal(number: int) -> Diagnosis:
    name = signal_name(number)
    if name in _CRASHES:
        return Diagnosis(Cause.KILLED, f"The CLI has crashed with {name}")
    advice = _KILLED_ADVICE if name == "SIGKILL" else "Another process has ended it."
    return Diagnosis(Cause.KILLED, f"The CLI was killed by {name}", advice)
