"""What dead sessions have left behind: processes without an owner, and private files."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...transport import PROCESS_MARK
from ..wire.lines import counted
from .report import Check

__all__ = ["leftovers"]

OLD = 3600.0
"""Seconds after which nothing that starts a session is still about to use its files."""
_MARK = f"{PROCESS_MARK}=".encode()


def leftovers(proc: Path = Path("/proc"), folder: Path | None = None) -> Check:
    """Look for what dead sessions have left behind. Nothing is ended or deleted."""
    temporary = Path(tempfile.gettempdir()) if folder is None else folder
    orphans = [*_orphans(proc)]
    files = [*_old_folders(temporary)]
    details = [f"process {it.pid}: {it.words}" for it in orphans]
    details += [f"folder {path}" for path in files]
    facts = {"processes": [it.pid for it in orphans], "folders": [str(path) for path in files]}
    if not details:
        words = "nothing is left of dead sessions"
        if not (proc / "self").exists():
            words = "no files are left of dead sessions; processes cannot be looked at here"
        return Check(name="leftovers", status="ok", message=words)
    return Check(
        name="leftovers",
        status="warning",
        message=f"{counted(len(orphans), 'process', 'processes')} and "
        f"{counted(len(files), 'folder')} seem to be left over",
        advice="If you know no program that uses them: end these processes, delete these folders.",
        details=details,
        facts=facts,
    )


class _Process(NamedTuple):
    pid: int
    parent: int
    words: str


def _orphans(proc: Path) -> Iterator[_Process]:
    """Find processes that a session has started and that belong to no program any more."""
    marked = {it.pid: it for it in _marked(proc)}
    for process in marked.values():
        top = process
        while top.parent in marked:
            top = marked[top.parent]
        # Whoever has lost its parent is given to the first process of the system.
        if top.parent == 1 and not _is_program(proc):
            yield process


def _is_program(proc: Path) -> bool:
    """Whether the first process is itself a program in Python, as in a container."""
    return b"python" in _read(proc / "1" / "cmdline") or os.getpid() == 1


def _marked(proc: Path) -> Iterator[_Process]:
    for path in proc.glob("[0-9]*"):
        environ = _read(path / "environ")
        if environ.startswith(_MARK) or b"\0" + _MARK in environ:
            words = _read(path / "cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()
            yield _Process(int(path.name), _parent(path), words[:200])


def _parent(path: Path) -> int:
    stat = _read(path / "stat")
    # The name is in parentheses, and may itself contain spaces and parentheses.
    fields = stat[stat.rfind(b")") + 2 :].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _old_folders(folder: Path) -> Iterator[Path]:
    if sys.platform == "win32":
        return
    for path in sorted(folder.glob("claudewire-*")):
        try:
            status = path.lstat()
        except OSError:
            continue
        if status.st_uid == os.getuid() and time.time() - status.st_mtime > OLD and path.is_dir():
            yield path
