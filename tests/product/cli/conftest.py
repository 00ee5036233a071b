"""Ways to run the command: in this process, as a program, with a CLI that plays the scenes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.helpers.snapshots import snapshot as snapshot
from tests.product.cli.scenes import SCENES

from claudewire.cli import main

SOON = 60


class Done(NamedTuple):
    """The end of a command."""

    status: int
    out: str
    err: str


class Runner:
    """Runs the command without a terminal, in a folder.

    Calling it runs the command in this process, which is fast; `program` starts a program.
    """

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.patch = patch
        self.folder = folder

    def __call__(self, *arguments: str, stdin: str = "") -> Done:
        out, err = io.StringIO(), io.StringIO()
        with self.patch.context() as patch:
            patch.chdir(self.folder)
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            with pytest.raises(SystemExit) as exited:
                main(arguments)
        assert isinstance(exited.value.code, int)
        return Done(exited.value.code, out.getvalue(), err.getvalue())

    def program(self, *arguments: str, **how: Any) -> Done:
        how = {"capture_output": True, "stdin": subprocess.DEVNULL, **how}
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=self.folder, encoding="utf-8", timeout=SOON, **how
        )
        return Done(done.returncode, done.stdout, done.stderr)


COMMAND = [sys.executable, "-m", "claudewire"]
"""The words that start the command."""

Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runner:
    """Run the command in a folder with one file."""
    (tmp_path / "notes.md").write_text("# Notes\n\nFrogs jump.\n", encoding="utf-8")
    return Runner(monkeypatch, tmp_path)


SIM = """\
#!/bin/sh
unset COVERAGE_PROCESS_CONFIG  # not measured
export PYTHONPATH={folder}
exec {python} -m claudewire.simulator "$@"
"""


@pytest.fixture
def sim(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the simulated CLI as a program, which plays the scenes."""
    monkeypatch.setenv("CLAUDEWIRE_SIM_SCENARIO", SCENES)
    program = tmp_path_factory.mktemp("sim") / "claudewire-sim"
    program.write_text(SIM.format(folder=os.getcwd(), python=sys.executable), encoding="utf-8")
    program.chmod(0o700)
    return str(program)


@pytest.fixture(autouse=True)
def _state(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the user's own history and settings for colours out of it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
