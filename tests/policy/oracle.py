"""What a command really runs: asked of bash itself.

In an empty directory, with a PATH that holds nothing but stubs which write their names down (and a
few harmless programs that run others), the command is handed to a real bash.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BASH = shutil.which("bash")
SECONDS = 60
"""Only what hangs takes so long, however slow the machine."""
PROCESSOR_SECONDS = 1
"""Only a loop without an end takes so long: what it has run until then counts."""
STUBS = ("zork", "zap", "zip", "rm", "git")
"""Programs that only leave their name. `rm` and `git` are not the real ones."""
WRAPPERS = ("cat", "env", "nice", "nohup", "sleep", "stdbuf", "timeout", "true", "xargs")
"""Programs that are real: most of them run another one."""


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    programs: tuple[str, ...]
    files: tuple[str, ...]
    status: int


class Oracle:
    """Runs commands in a folder of its own."""

    def __init__(self, folder: Path, stubs: Sequence[str] = STUBS) -> None:
        self.log = folder / "log"
        self.work = folder / "work"
        self._bin = folder / "bin"
        self._bin.mkdir()
        for name in stubs:
            stub = self._bin / name
            stub.write_text(f"#!/bin/sh\nprintf '%s\\n' {name} >> '{self.log}'\n", encoding="utf-8")
            stub.chmod(0o755)
        for name in WRAPPERS:
            real = shutil.which(name)
            if real is not None:
                (self._bin / name).symlink_to(real)
        (self._bin / "bash").symlink_to(BASH or "bash")
        (self._bin / "sh").symlink_to(shutil.which("sh") or "sh")

    def run(self, command: str) -> Ran:
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        self.log.write_text("", encoding="utf-8")
        process = subprocess.Popen(
            [BASH or "bash", "-c", command],
            cwd=self.work,
            env={"PATH": str(self._bin), "HOME": str(self.work), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        limits = PROCESSOR_SECONDS, PROCESSOR_SECONDS
        resource.prlimit(process.pid, resource.RLIMIT_CPU, limits)
        try:
            status = process.wait(SECONDS)
        finally:
            # What it has left behind in the background belongs to its group.
            _end_group(process.pid)
            process.wait()
        names = tuple(self.log.read_text(encoding="utf-8").split())
        return Ran(names, tuple(sorted(path.name for path in self.work.iterdir())), status)

    def settle(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)


def _end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
