"""A mark in the environment, by which all that a child has started can be found.

A tool's shell has a session of its own, and once the CLI has exited nothing says whose it was. But
programs inherit the environment, and on Linux `/proc` shows the one that a program was started
with. What clears its environment, or must not be looked at, is found only by its descent: as long
as its parents live.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import NamedTuple

from .process_table import ProcessInfo, Table, read_proc

__all__ = ["PROCESS_MARK", "Key", "Marked", "find_marked", "with_mark"]

PROCESS_MARK = "CLAUDEWIRE_PROCESS"
"""The variable. Its value has the marks of all that a process descends from, the nearest last."""

_PREFIX = f"{PROCESS_MARK}=".encode()
_PIECE = 2**16
"""Bytes of an environment that are read at once. Few are longer, and a larger buffer takes time."""
_LONGEST = 2**20
"""Bytes of an environment that are looked at."""
_KERNEL = 2
"""The parent of the kernel's own threads, which never show anything."""

_SHOWS_WITHIN = 2.0
"""Seconds after which a process that shows nothing is none of ours: it has cleared all it had."""

Key = tuple[int, str]
"""The id of a process, and when it was started."""

_known: dict[Key, frozenset[str]] = {}
"""The marks of the processes that were found last. They are inherited, and do not change."""
_unclear: dict[Key, float] = {}
"""The processes that showed nothing the last time, and since when."""


def with_mark(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """Return an environment with one more mark: this process may itself have some."""
    outer = os.environ.get(PROCESS_MARK)
    return {**env, PROCESS_MARK: f"{outer} {mark}" if outer else mark}


class Marked(NamedTuple):
    """The processes that have a mark.

    Attributes:
        processes: what was found.
        unclear: what may have it, too. A process that is just becoming another program, or exits,
            shows nothing for a moment.
    """

    processes: list[ProcessInfo]
    unclear: frozenset[Key]


def find_marked(mark: str, table: Table, since: str, groups: Collection[int] = ()) -> Marked:
    """Find the processes that have a mark.

    Args:
        mark: the mark.
        table: the processes of the system, as `/proc` has them.
        since: when the first process with this mark was started. Older ones are not looked at: it
            takes time, and one that hangs in the kernel would hold us up.
        groups: the process groups whose members are known without their marks: nothing that has
            left another group can join them.
    """
    first, index = int(since), _last_index
    # Hundreds may look for theirs in the same table, one after the other.
    if index is None or index.table is not table or index.first > first or index.unclear:
        index = _index_of(table, first, groups)
    found = [it for it in index.processes.get(mark, []) if int(it.started) >= first]
    return Marked(found, index.unclear)  # some are left only if all were looked at just now


class _Index(NamedTuple):
    """The processes of a table that were started at some time or later, by their marks."""

    table: Table
    first: int
    processes: dict[str, list[ProcessInfo]]
    unclear: frozenset[Key]


_last_index: _Index | None = None


def _index_of(table: Table, first: int, groups: Collection[int]) -> _Index:
    global _known, _last_index, _unclear
    now, found = time.monotonic(), defaultdict(list)
    known = {key: marks for key, marks in _known.items() if key[0] in table}
    unclear: dict[Key, float] = {}
    for process in table.values():
        if process.is_dead or int(process.started) < first:
            continue
        key = (process.pid, process.started)
        marks = known.get(key)
        if marks is None:
            marks = _marks_of(process.pid)
        if marks is not None:
            known[key] = marks
            for mark in marks:
                found[mark].append(process)
        elif process.parent != _KERNEL and process.group not in groups:
            unclear[key] = _unclear.get(key, now)
    for key in [key for key, then in unclear.items() if now - then > _SHOWS_WITHIN]:
        known[key] = frozenset()
        del unclear[key]
    # Those that are too old to be looked at here may matter to others.
    older = {key: at for key, at in _unclear.items() if key[0] in table and int(key[1]) < first}
    _known, _unclear = known, older | unclear
    _last_index = _Index(table, first, dict(found), frozenset(unclear))
    return _last_index


def _marks_of(pid: int) -> frozenset[str] | None:
    """Read the marks of a process; None if it shows nothing now."""
    try:
        environ = _read(pid, "environ")
        for variable in environ.split(b"\0"):
            if variable.startswith(_PREFIX):
                return frozenset(variable[len(_PREFIX) :].decode("ascii", "replace").split())
        return frozenset() if environ or _read(pid, "cmdline") else None
    except ProcessLookupError:  # it is exiting; before Linux 6.15, what is read is empty then
        return None
    except OSError:
        return frozenset()  # it has exited, or belongs to another user


def _read(pid: int, name: str) -> bytes:
    data = read_proc(pid, name, _PIECE)
    return data if len(data) < _PIECE else read_proc(pid, name, _LONGEST)
