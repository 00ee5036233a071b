"""The processes of the system, and which of them descend from a process.

A CLI starts the shells of its tools in sessions of their own. When it is killed it cannot end
them, and once it has exited nothing says whose they were. So they are looked up before; see also
`marks`.
"""

from __future__ import annotations

import math
import os
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from functools import cache
from typing import NamedTuple

__all__ = [
    "ProcessInfo",
    "SharedTable",
    "Table",
    "descendants",
    "has_proc",
    "process_info",
    "process_table",
    "read_proc",
]

_PS_TIMEOUT = 5.0
_NO_INODE = 1
"""What the kernel says instead of the number of an inode that it does not have."""
_REST, _LONGEST_REST = 20, 60
"""After the table was read, those who can wait do so for this many times as long as it took; the
longer, the more have used it."""


class ProcessInfo(NamedTuple):
    """One line of the process table.

    Attributes:
        pid: its process id.
        parent: the id of its parent.
        group: the id of its process group.
        is_dead: whether it has exited and only waits to be reaped.
        started: when it was started; with the id it identifies the process.
    """

    pid: int
    parent: int
    group: int
    is_dead: bool
    started: str


Table = Mapping[int, ProcessInfo]


def process_table(without: Container[int] = ()) -> Table:
    """Return the processes by their ids; empty where that cannot be found out.

    Those that are older than this process may be left out. It is made anew each time: an older one
    would lack processes that were started since.

    Args:
        without: processes that may be left out, too, because all is known about them.
    """
    lines = _from_proc(without) if has_proc() else _from_ps()
    return {process.pid: process for process in lines}


def has_proc() -> bool:
    """Whether the system shows its processes as files."""
    return os.path.exists("/proc/self/stat")


class SharedTable:
    """The table, read once for all that ask for it at the same time.

    Hundreds of CLIs may be ended at once, on a system with thousands of processes. Safe to be used
    from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._table: Table = {}
        self._begun = self._ended = -math.inf
        self._used = 0

    def get(self, since: float | None = None, without: Container[int] = ()) -> Table:
        """Return the processes as they were at `since`, a monotonic time, or later; now if None.

        All have to name the same processes that may be left out: see `process_table`.
        """
        with self._lock:
            begun = time.monotonic()
            if self._begun < (begun if since is None else since):
                self._table, self._begun = process_table(without), begun
                self._ended, self._used = time.monotonic(), 0
            self._used += 1
            return self._table

    def due_in(self, since: float) -> float:
        """Say for how many seconds to wait for others, who need a table of `since` as well."""
        if self._begun >= since:
            return 0.0
        rest = min(_REST + self._used, _LONGEST_REST) * (self._ended - self._begun)
        return max(0.0, self._ended + rest - time.monotonic())


def descendants(root: int, table: Table) -> list[ProcessInfo]:
    """Find the children of a process, their children, and so on."""
    children = _children_in(table)
    found: list[ProcessInfo] = []
    wanted, seen = [root], set()
    while wanted:
        parent = wanted.pop()
        if parent not in seen:
            seen.add(parent)
            born = children.get(parent, [])
            found += born
            wanted += [process.pid for process in born]
    return found


_last_children: tuple[Table, dict[int, list[ProcessInfo]]] = ({}, {})


def _children_in(table: Table) -> dict[int, list[ProcessInfo]]:
    """Sort a table by parents; once, if hundreds look for their children in it."""
    global _last_children
    known, children = _last_children
    if known is not table:
        children = defaultdict(list)
        for process in table.values():
            children[process.parent].append(process)
        _last_children = table, children
    return children


_elders: dict[str, int] = {}
"""The processes that are older than this one: their ids, and the inodes of their folders.

They cannot be what this process has started, nor can they join a group of that. On most systems
nearly all processes are among them, so they are not read again and again. The kernel never gives
the same inode to another process.
"""


def _from_proc(without: Container[int]) -> Iterator[ProcessInfo]:
    global _elders
    elders, our_start = {}, _our_start()
    with os.scandir("/proc") as entries:
        for entry in entries:
            name, inode = entry.name, entry.inode()
            if _elders.get(name) != inode:
                if not name.isdigit() or int(name) in without:
                    continue
                try:
                    process = process_info(int(name))
                except OSError:  # it has exited in the meantime
                    continue
                if inode == _NO_INODE or int(process.started) >= our_start:
                    yield process
                    continue
            elders[name] = inode
    _elders = elders


@cache
def _our_start() -> int:
    # Not by `getpid`: `/proc` may be that of another namespace, where our number is another.
    return int(process_info(int(os.readlink("/proc/self"))).started)


def process_info(pid: int) -> ProcessInfo:
    """Return what `/proc` says of one process.

    Raises:
        OSError: there is no such process.
    """
    return _parsed(pid, read_proc(pid, "stat", 1024))


def read_proc(pid: int, name: str, most: int) -> bytes:
    """Read the beginning of a file that says something about a process.

    Raises:
        OSError: there is no such process.
    """
    file = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, most)
    finally:
        os.close(file)


def _parsed(pid: int, stat: bytes) -> ProcessInfo:
    # The name is in parentheses, and may itself contain spaces and parentheses.
    fields = stat.rpartition(b") ")[2].split(None, 20)
    state, parent, group, started = fields[0], fields[1], fields[2], fields[19]
    return ProcessInfo(pid, int(parent), int(group), state in b"ZX", started.decode())


def _from_ps() -> Iterator[ProcessInfo]:
    columns = "pid=,ppid=,pgid=,stat=,lstart="
    try:
        listed = subprocess.run(
            ["ps", "-A", "-o", columns],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PS_TIMEOUT,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return
    for line in listed.stdout.decode("utf-8", "replace").splitlines():
        pid, parent, group, state, started = line.split(None, 4)
        yield ProcessInfo(int(pid), int(parent), int(group), state.startswith("Z"), started)
