"""The exceptions of the library, and the evidence that they carry.

An error says what happened, why, and what to do. `diagnosis` finds the cause in the CLI's last
output, `redaction` removes secrets from kept data, and `text` makes it safe to show. Imports only
`wire`. Start with `exceptions`.
"""

from __future__ import annotations

from ..wire import Error, Evidence, LocalProtocolError
from .diagnosis import Diagnosis, diagnose, diagnose_result, status_of
from .evidence import EvidenceLog
from .exceptions import (
    BudgetExceeded,
    Cause,
    CLIError,
    CLINotFoundError,
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
from .redaction import PLACEHOLDER, Redact, Redactor, StreamRedactor, redact
from .text import visible

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
    "StreamRedactor",
    "TransportClosed",
    "TurnCancelled",
    "TurnError",
    "TurnStalled",
    "UnsupportedRequest",
    "describe",
    "diagnose",
    "diagnose_result",
    "redact",
    "status_of",
    "visible",
    "words_of",
]
