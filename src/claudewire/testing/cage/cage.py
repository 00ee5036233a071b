"""A cage for real programs: no network but loopback, a private home, a clean environment.

    with Cage(["Hello!"]) as cage:
        command = cage.command(["claude", "-p", "hi"])   # for whoever starts processes
        program = cage.wrapper("claude")                 # for whoever wants a path to the CLI
        ...
    assert [request.prompt for request in cage.turns] == ["hi"]

A scripted Messages API runs in the same network, so that a real CLI works in there, and nothing
can leave the machine. Where this cannot be had, `Cage.unavailable()` says why: a program is
never run without it. Linux only; it needs the extra `api`.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from ..api import TURN, APIRequest, APIScript, Source
from .launcher import Plan
from .warden import CageError, dismiss_wardens

__all__ = ["FAKE_KEY", "Cage", "CageError"]

FAKE_KEY = "sk-ant-api03-this-key-is-fake-and-opens-nothing"

_KEPT = ("PATH", "LANG", "TERM")
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
}
_LAUNCHER = (sys.executable, "-P", "-m", "claudewire.testing.cage.launcher")
_PROBED = 30
"""Seconds that a trial run may take; it takes less than one."""


class Cage:
    """A place to run programs in. Reusable: each program gets a network of its own.

    Args:
        script: what the model says: a `APIScript`, replies in their order, or a file. It must be
            such as can be written to a file. Each program starts at its beginning.
        env: more variables for the programs.
        keep: names of variables that the programs may inherit, besides PATH, LANG and TERM;
            `*` stands for anything.
    """

    def __init__(
        self,
        script: Source | Path = (),
        *,
        env: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        loaded = APIScript.load(script) if isinstance(script, Path) else APIScript.of(script)
        self._script = loaded.to_data()
        self._env = dict(env or {})
        self._keep = [*_KEPT, *keep]
        self._folder: Path | None = None
        self._requests: list[APIRequest] = []

    @staticmethod
    def unavailable() -> str | None:
        """Say why there can be no cage on this machine; None if there can."""
        return _unavailable()

    # --- its life --------------------------------------------------------------------------------

    def __enter__(self) -> Cage:
        self._folder = Path(tempfile.mkdtemp(prefix="claudewire-cage-")).resolve()
        for folder in (self.home, self.config, self.work, self._tmp, self.folder / "wardens"):
            folder.mkdir()
        plan = Plan(keep=self._keep, env=self._environment())
        (self.folder / Plan.FILE).write_bytes(msgspec.json.encode(plan))
        (self.folder / Plan.SCRIPT).write_bytes(msgspec.json.encode(self._script))
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End what still runs in the cage, and remove its folder. What was asked is kept.

        Raises:
            CageError: something did not end.
        """
        if self._folder is not None:
            dismiss_wardens(self._folder)
            self._requests = self.api_requests()
            shutil.rmtree(self._folder)
            self._folder = None

    # --- what is in it ---------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """The private folder of the cage, which all the others are in."""
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
        return self.folder / Plan.WORK

    @property
    def _tmp(self) -> Path:
        return self.folder / "tmp"

    def api_requests(self) -> list[APIRequest]:
        """Everything that programs have asked the API so far, in the order of arrival."""
        if self._folder is None:
            return self._requests
        try:
            lines = (self._folder / Plan.REQUESTS).read_bytes().splitlines()
        except FileNotFoundError:
            return []
        return [msgspec.json.decode(line, type=APIRequest) for line in lines]

    @property
    def turns(self) -> list[APIRequest]:
        """The requests that the script has answered."""
        return [request for request in self.api_requests() if request.kind == TURN]

    # --- running programs ------------------------------------------------------------------------

    def command(self, command: Sequence[str | os.PathLike[str]]) -> list[str]:
        """Give the command that runs this one in the cage.

        It can be started by anybody, like any other: the process that is started becomes the
        program, so its pipes, signals and exit status are the program's.
        """
        return [*_LAUNCHER, str(self.folder), *(os.fspath(word) for word in command)]

    def wrapper(self, program: str | os.PathLike[str]) -> Path:
        """Make an executable that runs a program in the cage, whatever its arguments."""
        name = Path(program).name
        path = self.folder / f"caged-{name}"
        path.write_text(
            f'#!/bin/sh\nexec {shlex.join(self.command([program]))} "$@"\n', encoding="utf-8"
        )
        path.chmod(0o700)
        return path

    def _environment(self) -> dict[str, str]:
        # A CLI that runs as root wants to be told that it is in a sandbox. It is.
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


@functools.cache
def _unavailable() -> str | None:
    if sys.platform != "linux":
        return "network namespaces are a thing of Linux"
    with Cage() as cage:
        trial = subprocess.run(
            cage.command(["true"]), capture_output=True, encoding="utf-8", timeout=_PROBED
        )
    return None if trial.returncode == 0 else trial.stderr.strip() or "the trial run failed"
