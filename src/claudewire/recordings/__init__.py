"""Reads recordings for people: a timeline, latencies, a page, and how two recordings differ.

It uses `transport`, which makes and replays recordings, `errors` and `wire`, and does not need the
command. Start with `timeline`.
"""

from __future__ import annotations

from .comparison import (
    Comparison,
    FieldChange,
    KindChange,
    LatencyChange,
    LineChange,
    LineKind,
    ValueChange,
    compare,
)
from .html_page import page
from .reading import read
from .timeline import Exchange, ExchangeKind, Latency, Step, StepKind, Timeline

__all__ = [
    "Comparison",
    "Exchange",
    "ExchangeKind",
    "FieldChange",
    "KindChange",
    "Latency",
    "LatencyChange",
    "LineChange",
    "LineKind",
    "Step",
    "StepKind",
    "Timeline",
    "ValueChange",
    "compare",
    "page",
    "read",
]
