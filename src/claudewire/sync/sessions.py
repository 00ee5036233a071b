"""Conversations on disk, without async.

What `claudewire.store` does with files blocks by nature, so these are its own classes.
"""

from __future__ import annotations

from ..store import BlockingSessions, BlockingTranscript

__all__ = ["Sessions", "Transcript"]

Sessions = BlockingSessions
Transcript = BlockingTranscript
