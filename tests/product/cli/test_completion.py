"""The completions of shells, and the scripts that install them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from tests.product.cli.conftest import COMMAND, Runner

from claudewire.cli.commands import COMMANDS


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_valid(run: Runner, shell: str) -> None:
    done = run("completion", shell)
    assert done.status == 0
    assert "_CLAUDEWIRE_COMPLETE" in done.out
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n"], input=done.out.encode(), check=True)


def completed(words: str) -> list[str]:
    """Return the completions of bash after these words."""
    variables = {"_CLAUDEWIRE_COMPLETE": "bash_complete", "COMP_WORDS": words}
    env = {**os.environ, **variables, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(COMMAND, env=env, capture_output=True, encoding="utf-8", timeout=60)
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_commands_options_and_values_are_completed() -> None:
    assert completed("claudewire ") == [*COMMANDS]
    assert completed("claudewire ru") == ["run"]
    assert "--allow" in completed("claudewire run --a")
    assert completed("claudewire run --dialect mo") == ["modern"]
