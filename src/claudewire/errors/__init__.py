"""The exceptions of the library, and the evidence that they carry.

An error says what happened, why, and what to do; `diagnosis` finds the cause in what the CLI wrote
last, and `redaction` removes secrets from everything that is kept. It uses `wire` only. Start with
`exceptions`.
"""

from __future__ import annotations

from .diagnosis import Diagnosis, diagnose, diagnose_result, status_of
from .evidence import EvidenceLog
from .exceptions import (
    BudgetExceeded,
    Cause,
    CLIError,
    CLINotFoundError,
    Error,
    Evidence,
    LocalProtocolError,
    OptionsError,
    OutputError,
    RequestError,
    RequestTimeout,
    SessionClosed,
    SessionFailed,
    TransportClosed,
    TurnCancelled,
    TurnError,
    TurnStalled,
    UnsupportedRequest,
    describe,
    words_of,
)
from .redaction import PLACEHOLDER, Redact, Redactor, redact, rewrite

__all__ = [
    "PLACEHOLDER",
    "BudgetExceeded",
    "CLIError",
    "CLINotFoundError",
    "Cause",
    "Diagnosis",
    "Error",
    "Evidence",
    "EvidenceLog",
    "LocalProtocolError",
    "OptionsError",
    "OutputError",
    "Redact",
    "Redactor",
    "RequestError",
    "RequestTimeout",
    "SessionClosed",
    "SessionFailed",
    "TransportClosed",
    "TurnCancelled",
    "TurnError",
    "TurnStalled",
    "UnsupportedRequest",
    "describe",
    "diagnose",
    "diagnose_result",
    "redact",
    "rewrite",
    "status_of",
    "words_of",
]
