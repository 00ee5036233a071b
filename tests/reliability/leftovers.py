"""Counting what may be left behind: processes, tasks, threads, file descriptors."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path


def state_of(pid: int) -> tuple[str, int, int]:
    """Return the state of a process, its parent and its group.

    Raises:
        OSError: there is none.
    """
    stat = Path(f"/proc/{pid}/stat").read_bytes()
    state, parent, group, *_ = stat[stat.rindex(b")") + 2 :].split()
    return state.decode(), int(parent), int(group)


def processes() -> dict[int, tuple[str, int, int]]:
    """Return the states of all processes."""
    found = {}
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError):
            found[int(name)] = state_of(int(name))
    return found


def group_of(pid: int) -> set[int]:
    """The processes of a group that run."""
    return {it for it, (state, _, group) in processes().items() if group == pid and state != "Z"}


def started_with(text: str) -> set[int]:
    """The processes that have a text in their environment, whatever group or parent they have."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if text.encode() in path.read_bytes():
                found.add(int(path.parent.name))
    return found


def children() -> set[int]:
    """The children of this process, also those that nobody has waited for."""
    return {it for it, (_, parent, _) in processes().items() if parent == os.getpid()}


def descriptors() -> int:
    """How many file descriptors are open."""
    return len(os.listdir("/proc/self/fd"))


def tasks() -> int:
    """How many tasks there are in this event loop."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        living: int = trio.lowlevel.current_statistics().tasks_living
        return living
    return len(asyncio.all_tasks())
