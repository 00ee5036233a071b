"""Which sessions a process has open now, and whether it waits for a person.

Newer CLIs keep a file for each of their processes, and sessions of this library hold a lock. Both
are checked against the running processes. An older CLI that another program started is not seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from ..launch import lock_holders
from .facts import SessionStatus


class Running(Struct, frozen=True):
    """A process that has a session open."""

    pid: int
    status: SessionStatus = "running"


class _Process(Struct, rename="camel"):
    """The file in which a CLI describes its own process."""

    pid: int
    session_id: str
    status: str | None = None
    waiting_for: str | None = None
    proc_start: str | None = None


_read = msgspec.json.Decoder(_Process, strict=False).decode


def running_sessions(config: Path) -> dict[str, Running]:
    """Return the sessions that running CLIs have open."""
    found: dict[str, Running] = {}
    for path in sorted((config / "sessions").glob("*.json")):
        try:
            it = _read(path.read_bytes())
        except (OSError, msgspec.MsgspecError):
            continue
        if _is_same_process(it.pid, it.proc_start):
            waits = it.status == "waiting" or it.waiting_for is not None
            found[it.session_id] = Running(it.pid, "waiting" if waits else "running")
    return found


def who_runs(session_ids: Iterable[str], config: Path) -> dict[str, Running]:
    """Return which of some sessions a process has open: a CLI, or a session of this library."""
    locked = lock_holders(session_ids, os.path.realpath(config))
    return {id: Running(pid) for id, pid in locked.items()} | running_sessions(config)


def _is_same_process(pid: int, started: str | None) -> bool:
    """Whether a process exists, and is not another one with the same number."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (OSError, OverflowError):
        return False
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    # The name of the program is in brackets, and may itself have brackets and spaces.
    return started is None or text.rpartition(")")[2].split()[19] == started
