"""A copy of the project in which the library is changed and tested.

The working tree is never changed. The copy has an environment of its own: the packages are links,
and `claudewire` is the one of the copy, in whatever process the environment's Python runs, with
whatever variables.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from mutation import ROOT, SOURCE
from mutation.mutations import Mutation

__all__ = ["Finished", "Sandbox"]

_NOT_COPIED = (".*", "__pycache__", "dist")
_KILLED = -signal.SIGKILL


class Finished(NamedTuple):
    """How a command ended. Without a code it took too long."""

    code: int | None
    output: str


class Sandbox:
    """A copy of the project, in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spared: set[int] = set()
        """Processes of the environment that go on from mutation to mutation."""
        self._writes = 0
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*_NOT_COPIED))
        _copy_environment(Path(sys.prefix), folder)

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[Sandbox]:
        """Make a sandbox, and remove it at the end."""
        with tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True) as folder:
            sandbox = cls(Path(folder).resolve() / "project")
            try:
                yield sandbox
            finally:
                sandbox.end_processes()

    @contextmanager
    def changed(self, mutation: Mutation) -> Iterator[None]:
        """Have the file with the change while this lasts."""
        path = self.folder / SOURCE / mutation.identity.file
        original = path.read_bytes()
        self._write(path, mutation.changed)
        try:
            yield
        finally:
            self.end_processes()
            self._write(path, original)

    def _write(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        # Python compares the size of a source and the second of its last change with those of the
        # compiled module. Two changes within one second would be the same to it.
        self._writes += 1
        os.utime(path, (self._writes, self._writes))

    def run(self, *command: str, bound: float, **variables: str) -> Finished:
        """Run a command of the environment in the copy, for at most so many seconds."""
        with tempfile.TemporaryFile() as output:
            process = self.start(command, output, variables)
            try:
                code = process.wait(bound)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            output.seek(0)
            return Finished(code, output.read().decode(errors="replace"))

    def start(
        self,
        command: Sequence[str],
        output: IO[bytes],
        variables: dict[str, str],
        pass_fds: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Start a command of the environment in the copy, in a session of its own."""
        return subprocess.Popen(
            [self.folder / ".venv" / "bin" / command[0], *command[1:]],
            cwd=self.folder,
            env=self._environment() | variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=pass_fds,
        )

    def _environment(self) -> dict[str, str]:
        dropped = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
        variables = {name: value for name, value in os.environ.items() if name not in dropped}
        virtual = self.folder / ".venv"
        search = os.pathsep.join([str(virtual / "bin"), variables.get("PATH", os.defpath)])
        return variables | {
            "VIRTUAL_ENV": str(virtual),
            "PATH": search,
            "PYTHONWARNDEFAULTENCODING": "1",  # as `scripts/test` has it
        }

    def end_processes(self) -> None:
        """End what tests of a broken library have left behind: all else that runs this Python."""
        python = os.fsencode(self.folder / ".venv")
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            pid = int(path.parent.name)
            with suppress(OSError):
                if pid not in self.spared and path.read_bytes().startswith(python):
                    os.kill(pid, signal.SIGKILL)


def _copy_environment(virtual: Path, folder: Path) -> None:
    """Make an environment that is the same but for the place of this project."""
    new = folder / ".venv"
    packages = (virtual / "lib").glob("python*/site-packages")
    for old_packages in packages:
        new_packages = new / old_packages.relative_to(virtual)
        new_packages.mkdir(parents=True)
        for entry in old_packages.iterdir():
            _link(entry, new_packages / entry.name, ROOT, folder)
    shutil.copy(virtual / "pyvenv.cfg", new)
    (new / "bin").mkdir()
    for entry in (virtual / "bin").iterdir():
        _link(entry, new / "bin" / entry.name, virtual, new)


def _link(old: Path, new: Path, place: Path, other: Path) -> None:
    """Link to a file or folder, or copy it if it is a script or a path that names its place."""
    if old.is_file() and not old.is_symlink() and old.suffix in ("", ".pth"):
        data = old.read_bytes()
        if os.fsencode(place) in data:
            new.write_bytes(data.replace(os.fsencode(place), os.fsencode(other)))
            new.chmod(old.stat().st_mode)
            return
    new.symlink_to(old.resolve() if old.parent.name == "bin" and old.is_symlink() else old)
