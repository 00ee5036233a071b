"""A cage for real programs: no network but loopback, a private home, a clean environment.

    with Cage(["Hello!"]) as cage:
        command = cage.command(["claude", "-p", "hi"])   # to start as a process
        program = cage.wrapper("claude")                 # as a path to the CLI
        ...
    assert [request.prompt for request in cage.turns] == ["hi"]

A scripted Messages API runs in the same network: a real CLI works there, and nothing can leave the
machine. Where a cage is not possible, `Cage.unavailable()` says why, and programs are not run.
Linux only.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import pickle
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from ...transport import PROCESS_MARK
from ..api import APIRequest, APIScript, ScriptedAPI, ScriptSource
from ..api.requests import TURN
from .launcher import PLAN, WORK, CageError, network

FAKE_KEY = "sk-ant-api03-this-key-is-fake-and-opens-nothing"

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

_KEPT = ("PATH", "LANG", "TERM", PROCESS_MARK)
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
}
_LAUNCHER = (sys.executable, "-P", "-m", "claudewire.testing.cage.launcher")
_PROBED = 30
"""Seconds that a trial run may take; it usually takes less than one."""


class Cage:
    """A place to run programs in. Reusable: each program gets its own network.

    Args:
        script: an `APIScript` without functions, or replies in their order. Each program starts at
            its beginning.
        env: more variables for the programs.
        keep: names of variables that the programs may inherit, besides PATH, LANG and TERM;
            `*` stands for anything.

    Raises:
        ValueError: the script has a function, which cannot be passed to another process.
    """

    def __init__(
        self,
        script: ScriptSource = (),
        *,
        env: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        try:
            self._script = pickle.dumps(APIScript.of(script))
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise ValueError(f"the script of a cage must not have functions: {error}") from None
        self._env = dict(env or {})
        self._keep = [*_KEPT, *keep]
        self._folder: Path | None = None
        self._closing = -1
        self._requests: list[APIRequest] = []

    @staticmethod
    @functools.cache
    def unavailable() -> str | None:
        """Why a cage is not possible on this machine; None if it is."""
        if sys.platform != "linux":
            return "network namespaces exist on Linux only"
        with Cage() as cage:
            trial = subprocess.run(
                cage.command(["true"]), capture_output=True, encoding="utf-8", timeout=_PROBED
            )
        return None if trial.returncode == 0 else trial.stderr.strip() or "the trial run failed"

    # --- its life --------------------------------------------------------------------------------

    def __enter__(self) -> Cage:
        self._folder = Path(tempfile.mkdtemp(prefix="claudewire-cage-")).resolve()
        for folder in (self.home, self.config, self.work, self._tmp):
            folder.mkdir()
        plan = {"keep": self._keep, "env": self._environment(), "mark": PROCESS_MARK}
        (self.folder / PLAN).write_text(json.dumps(plan), encoding="utf-8")
        (self.folder / SCRIPT).write_bytes(self._script)
        os.mkfifo(self.folder / CLOSING)
        self._closing = os.open(self.folder / CLOSING, os.O_RDWR)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """End all programs in the cage, and remove its folder. `api_requests()` stays available.

        Raises:
            CageError: a process did not end.
        """
        if self._folder is not None:
            os.write(self._closing, b".")  # readable in all servers: they do not read it
            _wait_for_servers(self._folder / RUNNING)
            os.close(self._closing)
            self._requests = self.api_requests()
            shutil.rmtree(self._folder)
            self._folder = None

    # --- its places ------------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """The private folder of the cage, which contains all the others."""
        if self._folder is None:
            raise CageError("the cage is not open")
        return self._folder

    @property
    def home(self) -> Path:
        """The home directory of the programs."""
        return self.folder / "home"

    @property
    def config(self) -> Path:
        """Where a CLI keeps its settings and sessions."""
        return self.folder / "config"

    @property
    def work(self) -> Path:
        """The working directory, unless a program is started in a folder inside it."""
        return self.folder / WORK

    @property
    def _tmp(self) -> Path:
        return self.folder / "tmp"

    def api_requests(self) -> list[APIRequest]:
        """Return all requests to the API so far, in the order of arrival."""
        if self._folder is None:
            return self._requests
        try:
            *lines, _being_written = (self._folder / REQUESTS).read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        return [msgspec.json.decode(line, type=APIRequest) for line in lines]

    @property
    def turns(self) -> list[APIRequest]:
        """The requests that the script has answered."""
        return [request for request in self.api_requests() if request.kind == TURN]

    # --- running programs ------------------------------------------------------------------------

    def command(self, command: Sequence[str | os.PathLike[str]]) -> list[str]:
        """Return the command that runs this command in the cage.

        Start it like any other: its process becomes the program, with its pipes, signals and exit
        status.
        """
        return [*_LAUNCHER, str(self.folder), *(os.fspath(word) for word in command)]

    def wrapper(self, program: str | os.PathLike[str]) -> Path:
        """Make an executable that runs a program in the cage, with any arguments."""
        path = self.folder / f"caged-{Path(program).name}"
        words = shlex.join(self.command([program]))
        path.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        path.chmod(0o700)
        return path

    def _environment(self) -> dict[str, str]:
        # A CLI that runs as root must be told that it is in a sandbox.
        root = {"IS_SANDBOX": "1"} if os.geteuid() == 0 else {}
        return {
            **_QUIET,
            **root,
            **self._env,
            "HOME": str(self.home),
            "TMPDIR": str(self._tmp),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "ANTHROPIC_API_KEY": FAKE_KEY,
        }


def _wait_for_servers(running: Path) -> None:
    """Wait until no server holds its lock."""
    with open(running, "ab") as lock:
        for _ in range(TRIES):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(PAUSE)
    raise CageError("a process in the cage did not end")


# --- the sandbox server: a process beside the program, in the same network -----------------------


def serve(folder: Path, program: int, outside: int) -> None:
    """Serve the scripted API as long as a program runs, and end all processes in its network.

    `python -P -m claudewire.testing.cage.cage FOLDER PROGRAM OUTSIDE` runs it.

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
    serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
