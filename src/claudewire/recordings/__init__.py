"""Reads recordings for people: a timeline, latencies, a page, and how two recordings differ.

It uses `transport`, which makes and replays recordings, `errors` and `wire`, and does not need the
command. Start with `timeline`.
"""

from __future__ import annotations

from .comparison import Comparison, compare
from .page import page
from .reading import read
from .timeline import Exchange, Latency, Step, Timeline

__all__ = ["Comparison", "Exchange", "Latency", "Step", "Timeline", "compare", "page", "read"]
