"""A mark in the environment, by which all processes that a child has started can be found.

A tool's shell has its own session, and once the CLI has exited nothing tells whose it was. But
programs inherit the environment, and on Linux `/proc` shows the one that a program was started
with. A program that clears its environment is found only by its descent, while its parents live.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from .process_table import NOT_THERE, ProcessInfo, Table, read_proc

PROCESS_MARK = "CLAUDEWIRE_PROCESS"
"""The variable. Its value has the marks of all ancestors of a process, the nearest last."""

_PREFIX = f"{PROCESS_MARK}=".encode()
_LONGEST = 2**20
"""Bytes of an environment that are read."""
_KERNEL = 2
"""The parent of the kernel's own threads, which never show anything."""

Unclear = frozenset[tuple[int, str]]
"""Processes that show nothing now, by their ids and start times."""


def with_mark(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """Return an environment with one more mark: this process may itself have some."""
    outer = os.environ.get(PROCESS_MARK)
    return {**env, PROCESS_MARK: f"{outer} {mark}" if outer else mark}


def find_marked(mark: str, table: Table, since: str) -> tuple[list[ProcessInfo], Unclear]:
    """Find the processes that have a mark, and the unclear ones that may have it.

    A process that is just becoming another program, or exits, shows nothing for a moment. Processes
    older than `since` are not read: one that hangs in the kernel would block this.
    """
    found, unclear = [], set()
    for process in table.values():
        if process.is_dead or int(process.started) < int(since):
            continue
        marks = _marks_of(process.pid)
        if marks is None:
            if process.parent != _KERNEL:
                unclear.add((process.pid, process.started))
        elif mark in marks:
            found.append(process)
    return found, frozenset(unclear)


def _marks_of(pid: int) -> list[str] | None:
    """Read the marks of a process; None if it shows nothing now."""
    try:
        environ = read_proc(pid, "environ", _LONGEST)
        for variable in environ.split(b"\0"):
            if variable.startswith(_PREFIX):
                return variable[len(_PREFIX) :].decode("ascii", "replace").split()
        return [] if environ or read_proc(pid, "cmdline", 1) else None
    except ProcessLookupError:  # it is exiting; before Linux 6.15, its environment is empty then
        return None
    except NOT_THERE:
        return []
