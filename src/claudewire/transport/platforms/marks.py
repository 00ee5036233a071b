"""A mark in the environment, by which all that a child has started can be found.

A tool's shell has a session of its own, and once the CLI has exited nothing says whose it was. But
programs inherit the environment, and on Linux `/proc` shows the one that a program was started
with. What clears its environment, or must not be looked at, is found only by its descent: as long
as its parents live.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from .process_table import ProcessInfo, Table

__all__ = ["PROCESS_MARK", "Marked", "find_marked", "with_mark"]

PROCESS_MARK = "CLAUDEWIRE_PROCESS"
"""The variable. Its value has the marks of all that a process descends from, the nearest last."""

_PREFIX = f"{PROCESS_MARK}=".encode()
_LONGEST = 2**20
"""Bytes of an environment that are looked at."""
_KERNEL = 2
"""The parent of the kernel's own threads, which never show anything."""

_known: dict[tuple[int, str], frozenset[str]] = {}
"""The marks of the processes that were found last, by their ids and when they were started. They
are inherited, and do not change."""


def with_mark(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """Return an environment with one more mark: this process may itself have some."""
    outer = os.environ.get(PROCESS_MARK)
    return {**env, PROCESS_MARK: f"{outer} {mark}" if outer else mark}


class Marked(NamedTuple):
    """The processes that have a mark.

    Attributes:
        processes: what was found.
        is_all: whether that is all. A process that is just becoming another program shows nothing
            for a moment.
    """

    processes: list[ProcessInfo]
    is_all: bool


def find_marked(mark: str, table: Table, since: str) -> Marked:
    """Find the processes that have a mark.

    Args:
        mark: the mark.
        table: the processes of the system, as `/proc` has them.
        since: when the first process with this mark was started. Older ones are not looked at: it
            takes time, and one that hangs in the kernel would hold us up.
    """
    global _known
    first, found, is_all = int(since), [], True
    known = {key: marks for key, marks in _known.items() if key[0] in table}
    for process in table.values():
        if process.is_dead or int(process.started) < first:
            continue
        key = (process.pid, process.started)
        marks = known.get(key)
        if marks is None:
            marks = _marks_of(process.pid)
        if marks is not None:
            known[key] = marks
            if mark in marks:
                found.append(process)
        elif process.parent != _KERNEL:
            is_all = False
    _known = known
    return Marked(found, is_all)


def _marks_of(pid: int) -> frozenset[str] | None:
    """Read the marks of a process; None if it shows nothing now."""
    try:
        environ = _read(pid, "environ")
        for variable in environ.split(b"\0"):
            if variable.startswith(_PREFIX):
                return frozenset(variable[len(_PREFIX) :].decode("ascii", "replace").split())
        return frozenset() if environ or _read(pid, "cmdline") else None
    except OSError:
        return frozenset()  # it has exited, or belongs to another user


def _read(pid: int, name: str) -> bytes:
    with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
        return file.read(_LONGEST)
