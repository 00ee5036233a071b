"""What shells complete, and the scripts with which they do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from tests.cli.running import Runner

from claudewire.cli.commands import COMMANDS


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(run: Runner, shell: str) -> None:
    done = run("completion", shell)
    assert done.status == 0
    assert "_CLAUDEWIRE_COMPLETE" in done.out
    assert done.out.startswith("# ")
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n"], input=done.out.encode(), check=True)


def completed(words: str) -> list[str]:
    """Return what bash is offered after these words."""
    env = {
        **os.environ,
        "_CLAUDEWIRE_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    script = "import sys; sys.argv = ['claudewire']; from claudewire.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, encoding="utf-8", timeout=60
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_commands_options_and_values_are_completed() -> None:
    assert completed("claudewire ") == [*COMMANDS]
    assert completed("claudewire ru") == ["run"]
    assert "--allow" in completed("claudewire run --a")
    assert completed("claudewire run --dialect mo") == ["modern"]
