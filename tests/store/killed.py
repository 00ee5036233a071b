"""Changes a session in processes that die: each one write later, until one comes to its end.

    python -m tests.store.killed ACTION FOLDER

It is a program because to fork a process as large as one that runs all tests takes ten times as
long. Each process works in a folder of its own, 0, 1, 2 and so on.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from claudewire.store import BlockingSessions

from .made import MAIN, conversation

WRITES = ("write", "link", "rename", "fsync", "unlink", "mkdir", "ftruncate")
ACTIONS: dict[str, Callable[[BlockingSessions, Path], object]] = {
    "rename": lambda sessions, config: sessions.rename(MAIN, "New name"),
    "fork": lambda sessions, config: sessions.fork(MAIN),
    "delete": lambda sessions, config: sessions.delete(MAIN),
    "import": lambda sessions, config: sessions.import_(config / "in.zip"),
    "export": lambda sessions, config: sessions.export(MAIN, config / "out.md"),
}


def killed_after(count: int, action: str, config: Path) -> bool:
    """Do something in a fork that dies before its next write; say whether it came to its end."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            sessions = BlockingSessions(config)
            sessions.list()
            _die_after(count)
            ACTIONS[action](sessions, config)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _die_after(count: int) -> None:
    left = iter(range(count))

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def replaced(*args: Any, **kwargs: Any) -> Any:
            if next(left, None) is None:
                os._exit(9)
            return call(*args, **kwargs)

        return replaced

    for name in WRITES:
        setattr(os, name, counted(getattr(os, name)))


def main(action: str, folder: Path) -> None:
    for writes in range(60):
        config = folder / str(writes)
        conversation(config)
        shutil.copy(folder / "in.zip", config)
        if killed_after(writes, action, config):
            return


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
