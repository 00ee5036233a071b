"""Moves bytes between a session and a CLI: a process, memory, a recording.

A transport knows nothing about lines or messages. What operating systems do differently is in
`platforms`. It uses `errors`, `concurrency` and `wire`. Start with `base`, then `process`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports
from .base import MemoryTransport, Transport, memory_pair
from .platforms import PROCESS_MARK, forget_folder, watch_folder
from .process import Configurable, Launch, ProcessTransport, check_platform, spawn

if TYPE_CHECKING:
    from .own_pipes import Pipes, relay
    from .recording import Direction, Recording, RecordingEntry, RecordingError, RecordingTransport
    from .replay import Match, ReplayMismatch, ReplayTransport, ReplayUnfinished

__all__ = [
    "PROCESS_MARK",
    "Configurable",
    "Direction",
    "Launch",
    "Match",
    "MemoryTransport",
    "Pipes",
    "ProcessTransport",
    "Recording",
    "RecordingEntry",
    "RecordingError",
    "RecordingTransport",
    "ReplayMismatch",
    "ReplayTransport",
    "ReplayUnfinished",
    "Transport",
    "check_platform",
    "forget_folder",
    "memory_pair",
    "relay",
    "spawn",
    "watch_folder",
]

if not TYPE_CHECKING:  # most sessions are neither recorded nor replayed
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            ".recording": "Direction Recording RecordingEntry RecordingError RecordingTransport",
            ".own_pipes": "Pipes relay",
            ".replay": "Match ReplayMismatch ReplayTransport ReplayUnfinished",
        },
    )
