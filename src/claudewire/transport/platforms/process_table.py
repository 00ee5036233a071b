"""The processes of the system, and which of them descend from a process.

A CLI starts the shells of its tools in sessions of their own. When it is killed it cannot end
them, and once it has exited nothing tells whose they were. So they are looked up before; see also
`marks`.
"""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from functools import cache
from typing import NamedTuple

_PS_TIMEOUT = 5.0

NOT_THERE = (FileNotFoundError, ProcessLookupError, PermissionError)
"""Errors of a file about a process that has exited, or that belongs to another user. After any
other error nothing is known about the process."""


class ProcessInfo(NamedTuple):
    """One line of the process table."""

    pid: int
    parent: int
    group: int
    is_dead: bool
    """Whether it has exited and only waits to be reaped."""
    started: str
    """The time of its start; with the id it identifies the process."""


Table = Mapping[int, ProcessInfo]


def process_table(without: Container[int | str] = ()) -> Table:
    """Return the processes by their ids.

    Processes older than this one may be left out, and those in `without`.

    Raises:
        OSError: the processes cannot be listed now, for example because no file descriptor is free.
    """
    found = _from_proc(without) if has_proc() else _from_ps()
    return {process.pid: process for process in found}


def has_proc() -> bool:
    """Whether the system shows its processes as files."""
    return os.path.exists("/proc/self/stat")


def descendants(root: int, table: Table) -> list[ProcessInfo]:
    """Find the children of a process, their children, and so on."""
    children: defaultdict[int, list[ProcessInfo]] = defaultdict(list)
    for process in table.values():
        children[process.parent].append(process)
    found: list[ProcessInfo] = []
    wanted = [root]
    while wanted:
        born = children.pop(wanted.pop(), [])
        found += born
        wanted += [process.pid for process in born]
    return found


# --- Linux ---------------------------------------------------------------------------------------

_elders: frozenset[tuple[str, int]] = frozenset()
"""The processes that are older than this one: their ids, and the inodes of their folders.

This process has not started them, nor can they join a group of its children. On most systems nearly
all processes are among them, so they are read only once. The kernel gives no inode twice.
"""


def _from_proc(without: Container[int | str]) -> Iterator[ProcessInfo]:
    global _elders
    elders, start = set(), _our_start()
    with os.scandir("/proc") as entries:  # closed before more files are opened: few may be free
        keys = [(it.name, it.inode()) for it in entries if it.name.isdigit()]
    for key in keys:
        if key in _elders:
            elders.add(key)
        elif int(key[0]) not in without:
            try:
                process = process_info(int(key[0]))
            except NOT_THERE:
                continue
            if int(process.started) < start:
                elders.add(key)
            else:
                yield process
    _elders = frozenset(elders)


@cache
def _our_start() -> int:
    # Not by `getpid`: `/proc` may be that of another namespace, where our number is another.
    return int(process_info(int(os.readlink("/proc/self"))).started)


def process_info(pid: int) -> ProcessInfo:
    """Return the facts about one process from `/proc`; an OSError if there is none."""
    # The name is in parentheses, and may itself contain spaces and parentheses.
    fields = read_proc(pid, "stat", 1024).rpartition(b") ")[2].split(None, 20)
    state, parent, group, started = fields[0], fields[1], fields[2], fields[19]
    return ProcessInfo(pid, int(parent), int(group), state in b"ZX", started.decode())


def read_proc(pid: int, name: str, most: int) -> bytes:
    """Read the beginning of a file about a process; an OSError if there is none."""
    file = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, most)
    finally:
        os.close(file)


# --- elsewhere -----------------------------------------------------------------------------------


def _from_ps() -> Iterator[ProcessInfo]:
    try:
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,lstart="],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PS_TIMEOUT,
            check=True,
        )
    except subprocess.SubprocessError as error:
        raise OSError(f"ps failed: {error}") from error
    for line in listed.stdout.decode("utf-8", "replace").splitlines():
        pid, parent, group, state, started = line.split(None, 4)
        yield ProcessInfo(int(pid), int(parent), int(group), state.startswith("Z"), started)
