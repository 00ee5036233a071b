"""The sandbox server of a cage: a process beside the caged program, in the same network.

It serves the scripted API. When the program ends or the cage closes, it ends all other processes in
that network.

    python -P -m claudewire.testing.cage.sandbox_server FOLDER PROGRAM OUTSIDE
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import select
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from ..api import ScriptedAPI
from .launcher import network

SCRIPT = "script.pickle"
"""The file in the folder of a cage that holds the script of the API."""
REQUESTS = "requests.jsonl"
"""The file in it that records the requests to the API."""
CLOSING = "closing"
"""A pipe in it that can be read once the cage closes."""
RUNNING = "running"
"""A file in it that each server locks as long as it runs."""

TRIES = 3000
PAUSE = 0.01
"""Half a minute in all for processes to end: much more than they need, even on a busy machine."""


def main(folder: Path, program: int, outside: int) -> None:
    """Serve as long as a program runs, and end its processes.

    Args:
        folder: the folder of the cage.
        program: the process id of the program.
        outside: the network that this process must leave alone.
    """
    if os.fork():  # an orphan: the program expects no child
        os._exit(0)
    os.setsid()
    try:
        with open(folder / RUNNING, "wb") as running:
            fcntl.flock(running, fcntl.LOCK_SH)
            _serve(folder, program)
            _end_others(outside)
    except Exception as error:
        traceback.print_exc()
        _report(f"error {error}")


def _serve(folder: Path, program: int) -> None:
    script = pickle.loads((folder / SCRIPT).read_bytes())
    closing = os.open(folder / CLOSING, os.O_RDONLY | os.O_NONBLOCK)
    with ScriptedAPI(script, record=folder / REQUESTS) as api:
        _report(f"url {api.url}")
        select.select([os.pidfd_open(program), closing], [], [])


def _report(text: str) -> None:
    """Report the start to the launcher, which waits for the end of this process's output."""
    sys.stdout.write(text)
    sys.stdout.flush()
    os.dup2(2, 1)


def _end_others(outside: int) -> None:
    """End all other processes of this network, unless it is the one outside."""
    ours = network()
    for _ in range(TRIES):
        others = [] if ours == outside else [*_others(ours)]
        if not others:
            return
        for process in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(PAUSE)


def _others(ours: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            # Processes that have ended, or belong to other users, cannot be examined.
            with contextlib.suppress(OSError):
                if (entry / "ns" / "net").stat().st_ino == ours:
                    yield int(entry.name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
