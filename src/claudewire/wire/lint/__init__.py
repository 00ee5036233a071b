"""Explains, line by line, what is wrong, outdated or suspicious in a capture of the wire.

It uses the types, the codec and the dialects. Start with `capture`.
"""

from __future__ import annotations

from .capture import Capture, Finding, Severity, lint

__all__ = ["Capture", "Finding", "Severity", "lint"]
