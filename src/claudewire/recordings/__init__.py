"""Conversations with a CLI as files: recorded, replayed, compared, and shown to people.

It uses `transport`, `errors` and `wire`. Start with `recording`, then `timeline`.
"""

from __future__ import annotations

from .comparison import (
    Comparison,
    FieldChange,
    KindChange,
    LineChange,
    LineKind,
    ValueChange,
    compare,
)
from .html_page import page
from .recorder import RecordingTransport
from .recording import Direction, Recording, RecordingEntry, RecordingError, read
from .replay import Match, ReplayMismatch, ReplayTransport, ReplayUnfinished
from .timeline import Exchange, ExchangeKind, Latency, Step, StepKind, Timeline

__all__ = [
    "Comparison",
    "Direction",
    "Exchange",
    "ExchangeKind",
    "FieldChange",
    "KindChange",
    "Latency",
    "LineChange",
    "LineKind",
    "Match",
    "Recording",
    "RecordingEntry",
    "RecordingError",
    "RecordingTransport",
    "ReplayMismatch",
    "ReplayTransport",
    "ReplayUnfinished",
    "Step",
    "StepKind",
    "Timeline",
    "ValueChange",
    "compare",
    "page",
    "read",
]
