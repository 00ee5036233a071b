"""The exceptions of the library, and the evidence that they carry.

An error says what happened, why, and what to do; `diagnosis` finds the cause in what the CLI wrote
last, `redaction` removes secrets from everything that is kept, and `plain_text` makes it safe to
show. It uses `wire` only. Start with `exceptions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports
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

if TYPE_CHECKING:
    from .diagnosis import Diagnosis, diagnose, diagnose_result, status_of
    from .json_text import dump_string
    from .plain_text import visible
    from .redaction import PLACEHOLDER, Redact, Redactor, StreamRedactor, redact, rewrite

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
    "dump_string",
    "redact",
    "rewrite",
    "status_of",
    "visible",
    "words_of",
]

if not TYPE_CHECKING:  # they take their time to load, and are rarely needed
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            ".diagnosis": "Diagnosis diagnose diagnose_result status_of",
            ".json_text": "dump_string",
            ".plain_text": "visible",
            ".redaction": "PLACEHOLDER Redact Redactor StreamRedactor redact rewrite",
        },
    )
