"""The program `claudewire-sim`: its environment, its signals, its wrapper."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import Talk, kinds, only, program, said

from claudewire.simulator import ARGV
from claudewire.wire import AssistantMessage, ResultMessage, UserMessage

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

SIMULATOR = [sys.executable, "-m", "claudewire.simulator"]
SCENARIO = """
default = "You said {prompt}"
[[turn]]
match = "wait"
steps = [{ say = "One." }, { sleep = 60 }]
[[turn]]
match = "work"
steps = [{ use = "Bash", input = { command = "make" }, seconds = 60 }]
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "scenario.toml").write_text(SCENARIO, "utf-8")
    return {
        "CLAUDEWIRE_SIM_SCENARIO": str(tmp_path / "scenario.toml"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "config"),
    }


def run(*argv: Any, env: dict[str, str], **more: Any) -> subprocess.CompletedProcess[str]:
    command = argv if more.pop("alone", False) else [*SIMULATOR, *argv]
    kept = {key: value for key, value in os.environ.items() if key.startswith("COVERAGE_")}
    return subprocess.run(
        command,
        env={**kept, **env},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        stdin=subprocess.DEVNULL,
        **more,
    )


async def test_program_behaves_as_the_transport_in_memory(env: dict[str, str]) -> None:
    async with program(*ARGV, env=env) as process:
        talk = Talk(process)
        await talk.initialize()
        turn = await talk.turn("hello")
        assert kinds(turn) == ["system/init", "assistant", "result/success"]
        assert said(turn) == ["You said hello"]
        assert await talk.end() == 0


async def test_program_answers_in_text_mode(env: dict[str, str]) -> None:
    done = run("-p", "hello", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "You said hello\n", "")


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("SCENARIO", "none.toml", "No such file or directory: 'none.toml'"),
        ("SCENARIO", "none.yaml", "a scenario is a .toml file or file.py:function"),
        ("VERSION", "1.0", "version must be 2.1.17"),
        ("DIALECT", "klingon", "dialect must be one of auto"),
        ("FAULTS", "explode", "Unknown fault 'explode'; the faults are clock-jump"),
        ("LOG", "/", "Is a directory"),
    ],
)
async def test_wrong_variable_is_an_error(
    name: str, value: str, error: str, env: dict[str, str]
) -> None:
    done = run("-p", "hi", env={**env, f"CLAUDEWIRE_SIM_{name}": value})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("claudewire-sim: ")
    assert error in done.stderr


async def test_variables_choose_version_and_strictness(env: dict[str, str]) -> None:
    chosen = {**env, "CLAUDEWIRE_SIM_VERSION": "2.1.100", "CLAUDEWIRE_SIM_STRICT": "1"}
    assert run("--version", env=chosen).stdout == "2.1.100 (Claude Code)\n"
    done = run("-p", "hi", "--fallback-model=haiku", env=chosen)
    assert done.returncode == 1
    assert "not simulated: --fallback-model" in done.stderr


async def test_scenario_is_found_in_the_folder_of_the_cli(tmp_path: Path) -> None:
    (tmp_path / "claudewire-sim.toml").write_text('default = "Found"', "utf-8")
    done = run("-p", "hi", env={"CLAUDE_CONFIG_DIR": str(tmp_path)})
    assert done.stdout == "Found\n"


async def test_log_has_all_traffic(env: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    run("-p", "hi", "--effort=x", env={**env, "CLAUDEWIRE_SIM_LOG": str(log)})
    lines = [line.split() for line in log.read_text("ascii").splitlines()]
    texts = [(direction, bytes.fromhex(data)) for _, direction, data in lines]
    assert [direction for direction, _ in texts] == ["!", "<", "="]
    assert texts[1:] == [("<", b"You said hi\n"), ("=", b"exit 0\n")]


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)]
)
async def test_signal_ends_it_with_the_status_of_the_real_cli(
    number: signal.Signals, status: int, env: dict[str, str]
) -> None:
    argv = [*ARGV, "--allowedTools=Bash"]
    async with program(*argv, env=env) as process:
        talk = Talk(process)
        await talk.say(UserMessage.of("work"))
        await talk.until(lambda it: isinstance(it, AssistantMessage))
        process._process.send_signal(number)
        assert await talk.rest() == status
    results = [it.terminal_reason for it in only(talk.heard, ResultMessage)]
    assert results == (["aborted_tools"] if number == signal.SIGINT else [])


async def test_program_ends_when_nobody_reads_it(env: dict[str, str]) -> None:
    process = subprocess.Popen(  # noqa: ASYNC220 (nothing else runs)
        [*SIMULATOR, *ARGV], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.write(b'{"type":"user","message":{"role":"user","content":"hi"}}\n')
    process.stdin.close()
    assert process.wait(60) == 0


async def test_wrapper_plays_its_scenario_in_an_empty_environment(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO, "utf-8")
    (tmp_path / "mine.py").write_text("async def play(chat): await chat.say('Mine')\n", "utf-8")
    for scenario, answer in (("scenario.toml", "You said hi"), ("mine.py:play", "Mine")):
        made = run("--make-wrapper", scenario, "claude", env={}, cwd=tmp_path)
        assert (made.returncode, made.stderr) == (0, "")
        done = run(tmp_path / "claude", "-p", "hi", env={}, cwd="/", alone=True)
        assert done.stdout == f"{answer}\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["scenario.toml"], "usage: claudewire-sim --make-wrapper SCENARIO PATH"),
        (["none.toml", "claude"], "No such file"),
        (["scenario.toml", "other"], "other exists, and is no wrapper that can be replaced"),
    ],
)
async def test_impossible_wrapper_is_refused(words: list[str], error: str, tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SCENARIO, "utf-8")
    (tmp_path / "other").write_text("#!/bin/sh\n", "utf-8")
    made = run("--make-wrapper", *words, env={}, cwd=tmp_path)
    assert made.returncode == 2
    assert re.search(error, made.stderr)
