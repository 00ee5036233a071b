"""A CLI elsewhere is reached by a command, whatever that command does to the words it gets."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import Any

import anyio
import pytest
from tests.helpers.peer import SOON
from tests.helpers.sessions import options

import claudewire
from claudewire import Session
from claudewire.launch.delivery import FIXED
from claudewire.testing import SimulatedCLI
from claudewire.transport import Launch

pytestmark = pytest.mark.anyio

SIMULATED = Path(sys.executable).parent / "claudewire-sim"
RULES = ["Bash(git status:*)", "Bash(echo $HOME)", "Edit(src/**)"]
PROMPT = 'it\'s; $(touch made-by-a-shell) `touch made-by-a-shell` "both" & more'

SSH = 'shift; exec /bin/sh -c "$*"'
"""What ssh does with a command, but for the other machine."""
DOCKER = 'shift 2; exec "$@"'


def program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("name", "script", "between"),
    [
        ("ssh", SSH, ["host"]),
        ("ssh", SSH, ["host", "cd / && exec"]),
        ("docker", DOCKER, ["exec", "container"]),
    ],
    ids=["ssh", "ssh, to a directory", "docker"],
)
async def test_words_arrive_unchanged_through_ssh_and_docker(
    name: str, script: str, between: list[str], tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    note = f'printf "%s\\n" "$@" > {quote(str(heard))}'
    cli = program(tmp_path / "cli", f'{note}; exec {quote(str(SIMULATED))} "$@"')
    asked = options(
        cli=[program(tmp_path / name, script), *between, quote(cli) if script == SSH else cli],
        remote=True,
        cwd=tmp_path,
        allowed_tools=RULES,
        append_subagent_system_prompt=PROMPT,
        env={"HOME": str(tmp_path)},
    )
    with anyio.fail_after(SOON):
        async with Session(asked) as claude:
            assert (await claude.send("Hello")).ok
    words = heard.read_text(encoding="utf-8").splitlines()
    assert [f"--allowedTools={rule}" for rule in RULES] == [
        word for word in words if word.startswith("--allowedTools")
    ]
    assert f"--append-subagent-system-prompt={PROMPT}" in words
    assert not (tmp_path / "made-by-a-shell").exists()


@pytest.mark.parametrize("cli", [None, ["claude-there", "--fast"]])
async def test_function_may_start_a_cli_that_is_not_here(cli: Any, tmp_path: Path) -> None:
    commands: list[tuple[str, ...]] = []

    async def connect(launch: Launch) -> SimulatedCLI:
        words = next(i for i, word in enumerate(launch.argv) if word == FIXED[0])
        commands.append(launch.argv[:words])
        return SimulatedCLI(argv=launch.argv[words:])

    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    async with claudewire.open(cli=cli, env=env, transport=connect) as claude:
        assert (await claude.send("Hello")).ok
    named = cli if isinstance(cli, list) else [cli if cli == "claude-there" else "claude"]
    assert commands == [tuple(named)]
