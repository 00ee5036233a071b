"""Moves bytes between a session and a CLI: a process, or memory.

A transport knows nothing about lines or messages. The differences of operating systems are in
`platforms`. It uses `errors`, `concurrency` and `wire`. Start with `base`, then `process`.
"""

from __future__ import annotations

from .base import Configurable, Launch, MemoryTransport, Transport, memory_pair
from .platforms import PROCESS_MARK, forget_folder, watch_folder
from .process import ProcessTransport, check_platform, spawn
from .stdio import relay

__all__ = [
    "PROCESS_MARK",
    "Configurable",
    "Launch",
    "MemoryTransport",
    "ProcessTransport",
    "Transport",
    "check_platform",
    "forget_folder",
    "memory_pair",
    "relay",
    "spawn",
    "watch_folder",
]
