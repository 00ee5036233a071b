"""Who descends from a process: what its group does not tell. POSIX only.

A CLI starts the shells of its tools in sessions of their own. When it is killed it cannot end
them, and as soon as it is gone nothing says whose they were. So they are looked up before.
"""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

__all__ = ["Relative", "descendants", "process_table"]

_PATIENCE = 5.0


class Relative(NamedTuple):
    """One line of the process table.

    Attributes:
        pid: its process id.
        parent: the id of its parent.
        group: the id of its process group.
        is_dead: whether it has ended and only waits to be reaped.
        started: when it was started; with the id it tells a process from all others.
    """

    pid: int
    parent: int
    group: int
    is_dead: bool
    started: str


Table = Mapping[int, Relative]


def process_table() -> Table:
    """Give all processes by their ids; empty where that cannot be found out.

    It is made anew each time: one that is only a little old lacks who was started since.
    """
    lines = _from_proc() if os.path.exists("/proc/self/stat") else _from_ps()
    return {relative.pid: relative for relative in lines}


def descendants(root: int, table: Table) -> list[Relative]:
    """Give those that were started by a process, or by one that it has started, and so on."""
    children = defaultdict(list)
    for relative in table.values():
        children[relative.parent].append(relative)
    found: list[Relative] = []
    wanted = [root]
    while wanted:
        born = children.pop(wanted.pop(), [])
        found += born
        wanted += [relative.pid for relative in born]
    return found


def _from_proc() -> Iterator[Relative]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    stat = file.read(1024)
            except OSError:
                continue  # it has ended in the meantime
            yield _parsed(int(name), stat)


def _parsed(pid: int, stat: bytes) -> Relative:
    # The name is in parentheses, and may itself contain spaces and parentheses.
    fields = stat[stat.rindex(b")") + 2 :].split()
    state, parent, group, started = fields[0], fields[1], fields[2], fields[19]
    return Relative(pid, int(parent), int(group), state in b"ZX", started.decode())


def _from_ps() -> Iterator[Relative]:
    columns = "pid=,ppid=,pgid=,stat=,lstart="
    try:
        listed = subprocess.run(
            ["ps", "-A", "-o", columns],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return
    for line in listed.stdout.decode("utf-8", "replace").splitlines():
        pid, parent, group, state, started = line.split(None, 4)
        yield Relative(int(pid), int(parent), int(group), state.startswith("Z"), started)
