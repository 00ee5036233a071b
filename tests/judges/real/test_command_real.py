"""The command with real CLIs, in a terminal: each in a cage, with a scripted API."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.real_clis import VERSIONS, real_cli
from tests.judges.real.sessions import open_cage
from tests.product.cli.terminal import opened

from claudewire.testing.api import APIToolUse
from claudewire.testing.cage import Cage

SOON = 120


def program(cage: Cage, version: str) -> str:
    """Write a program that runs a CLI in the cage: `--cli` takes a path."""
    path = cage.folder / "caged-claude"
    command = shlex.join([str(it) for it in cage.command([real_cli(version)])])
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return str(path)


@pytest.mark.parametrize("version", VERSIONS)
def test_run_works_with_a_real_cli(version: str, tmp_path: Path) -> None:
    use = APIToolUse("Bash", {"command": "touch made.txt"})
    with open_cage(version, [use, "It is **made**."]) as cage:
        command = [sys.executable, "-m", "claudewire", "run", "--json"]
        done = subprocess.run(
            [*command, "--cli", program(cage, version), "--cwd", str(cage.folder), "Make a file"],
            capture_output=True,
            cwd=tmp_path,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            timeout=SOON,
        )
        report = json.loads(done.stdout)
        assert done.returncode == report["exit_code"] == 3, done.stderr
        assert report["decisions"][0]["tool"] == "Bash"
        assert report["text"] == "It is **made**."


@pytest.mark.parametrize("version", VERSIONS)
def test_chat_works_with_a_real_cli(version: str, tmp_path: Path) -> None:
    # A real CLI asks about this.
    use = APIToolUse("Bash", {"command": "python3 -c 'print(6 * 7)'"})
    with open_cage(version, [use, "It is **made**.", "Bye."]) as cage:
        arguments = ("chat", "--cli", program(cage, version), "--cwd", str(cage.folder))
        with opened(*arguments, "Make a file", cwd=tmp_path) as terminal:
            terminal.wait_for("- command: python3 -c 'print(6 * 7)'")
            terminal.wait_for("e = edit ❯")
            terminal.enter("y")
            terminal.wait_for("It is made.")
            terminal.wait_for("tokens")
            terminal.enter("Thanks")
            terminal.wait_for("Bye.")
            terminal.type("\x04")
            assert terminal.wait_end() == 0
            assert "✓ Bash python3 -c 'print(6 * 7)' · 42" in terminal.text
