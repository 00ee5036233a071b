"""The simulated CLI resumes transcripts of a real one, and the real one resumes its transcripts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS, real_cli, why_not
from tests.helpers.text_mode import run_text

from claudewire.simulator import Chat
from claudewire.testing.cage import Cage

pytestmark = pytest.mark.real

PATIENCE = 60
SESSION = "11111111-1111-4111-8111-111111111111"


async def repeat(chat: Chat) -> None:
    await chat.say(" | ".join(f"{it['type']}: {it['text']}" for it in chat.session.history))


def ask(cage: Cage, version: str, *argv: str) -> str:
    command = cage.command([real_cli(version), "-p", *argv])
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def cage_for(version: str) -> Cage:
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    return Cage(["Green."])


@pytest.mark.parametrize("version", VERSIONS)
def test_simulated_cli_resumes_transcripts_of_a_real_one(version: str, tmp_path: Path) -> None:
    with cage_for(version) as cage:
        assert ask(cage, version, "Which colour?", "--session-id", SESSION) == "Green.\n"
        shutil.copytree(cage.config / "projects", tmp_path / "projects")
        cwd = os.fspath(cage.work)
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    done = run_text(repeat, "-p", "Why?", "--resume", SESSION, env=env, cwd=cwd)
    assert done.stdout == "user: Which colour? | assistant: Green. | user: Why?\n"


def test_real_cli_resumes_transcripts_of_the_simulated_one() -> None:
    with cage_for(NEWEST) as cage:
        env = {"CLAUDE_CONFIG_DIR": str(cage.config)}
        run_text(repeat, "-p", "My words.", "--session-id", SESSION, env=env, cwd=cage.work)
        assert ask(cage, NEWEST, "Why?", "--resume", SESSION) == "Green.\n"
        (request,) = cage.turns
        assert request.prompts == ["My words.", "Why?"]
