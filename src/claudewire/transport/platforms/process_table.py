"""The processes of the system, and which of them descend from a process.

A CLI starts the shells of its tools in sessions of their own. When it is killed it cannot end
them, and once it has exited nothing says whose they were. So they are looked up before.
"""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

__all__ = ["ProcessInfo", "descendants", "process_table"]

_PS_TIMEOUT = 5.0


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


def process_table() -> Table:
    """Return all processes by their ids; empty where that cannot be found out.

    It is made anew each time: an older one would lack processes that were started since.
    """
    lines = _from_proc() if os.path.exists("/proc/self/stat") else _from_ps()
    return {process.pid: process for process in lines}


def descendants(root: int, table: Table) -> list[ProcessInfo]:
    """Find the children of a process, their children, and so on."""
    children = defaultdict(list)
    for process in table.values():
        children[process.parent].append(process)
    found: list[ProcessInfo] = []
    wanted = [root]
    while wanted:
        born = children.pop(wanted.pop(), [])
        found += born
        wanted += [process.pid for process in born]
    return found


def _from_proc() -> Iterator[ProcessInfo]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    stat = file.read(1024)
            except OSError:
                continue  # it has exited in the meantime
            yield _parsed(int(name), stat)


def _parsed(pid: int, stat: bytes) -> ProcessInfo:
    # The name is in parentheses, and may itself contain spaces and parentheses.
    fields = stat[stat.rindex(b")") + 2 :].split()
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
