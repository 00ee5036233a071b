"""The page for tools that run `claude`: its commands do what it says, in any language."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.protocol_examples import fences

PAGE = "test-your-tool.md"
SOON = 120

COMMANDS = [fence.code.strip() for fence in fences(PAGE) if fence.language == "sh"]


def run(command: str, folder: Path) -> str:
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {"PATH": search, "HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder / "config")}
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=SOON,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the page, and the program that it makes."""
    for fence in fences(PAGE):
        if "." in fence.info:
            (tmp_path / fence.info).write_text(fence.code, encoding="utf-8")
    run(COMMANDS[1], tmp_path)
    return tmp_path


def test_the_page_begins_with_the_installation() -> None:
    assert COMMANDS[0] == "pip install claudewire"
    assert COMMANDS[1].startswith("claudewire-sim --make-wrapper")


def test_the_program_answers_as_the_page_says(folder: Path) -> None:
    assert run(COMMANDS[2], folder) == "app.py has one line: x = 1\n"
    assert "it was killed" in run(COMMANDS[-1], folder)


@pytest.mark.parametrize("tool", ["node", "go", "bash"])
def test_the_test_of_the_page_passes(folder: Path, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"There is no {tool}")
    (command,) = (it for it in COMMANDS if it.startswith(tool))
    assert "ok" in run(command, folder)
