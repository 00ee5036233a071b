"""What is accepted but not simulated is said, and refused if the user wants that."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.helpers.text_mode import Outcome, run_text

from claudewire.simulator import Chat, SimulatedCLI, Simulation
from claudewire.simulator.flags import OPTIONS
from claudewire.simulator.unsimulated import FLAGS
from claudewire.wire import ApplyFlagSettings, Body, Connection, Request, Role, UpdateSettings

SAID = "claudewire-sim: accepted, but not simulated: "


async def greet(chat: Chat) -> None:
    await chat.say("Hi.")


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (['--settings={"model": "opus"}'], "--settings"),
        (["--worktree"], "--worktree"),
        (["--worktree", "a"], "--worktree"),
        (["--include-hook-events", "--add-dir", "a", "b"], "--add-dir, --include-hook-events"),
        (["--permission-prompt-tool=mcp__a__b"], "--permission-prompt-tool=mcp__a__b"),
        (["--permission-prompts=none"], "--permission-prompts=none"),
        (["--system-prompt=Be brief", "--debug", "--betas=x", "--model=haiku"], ""),
    ],
)
def test_a_flag_without_effect_is_named_once(argv: list[str], named: str) -> None:
    stderr = f"{SAID}{named}\n" if named else ""
    assert run_text(greet, "-p", "Hello", *argv) == Outcome(0, "Hi.\n", stderr)
    assert run_text(greet, "-p", "Hello", "--strict", *argv) == (
        Outcome(1, "", stderr) if named else Outcome(0, "Hi.\n")
    )


def test_only_flags_of_the_real_cli_are_named() -> None:
    assert {f"--{name}" for name in FLAGS} <= {option.name for option in OPTIONS.values()}


def test_configuration_that_is_not_read_is_named(tmp_path: Path) -> None:
    config, project = tmp_path / "config", tmp_path / "project"
    for folder in (config, project / ".claude" / "agents"):
        folder.mkdir(parents=True)
    (config / "settings.json").write_text("{}", encoding="utf-8")
    (project / ".claude" / "settings.local.json").write_text("{}", encoding="utf-8")

    def named(*argv: str) -> str:
        env = {"CLAUDE_CONFIG_DIR": str(config)}
        return run_text(greet, "-p", "Hello", *argv, env=env, cwd=project).stderr

    agents = f"{project}/.claude/agents"
    local = f"{project}/.claude/settings.local.json"
    assert named() == f"{SAID}{config}/settings.json, {agents}, {local}\n"
    assert named("--setting-sources=project") == f"{SAID}{agents}\n"
    assert named("--setting-sources=") == ""
    assert run_text(greet, "-p", "Hello", cwd=project).stderr == f"{SAID}{agents}, {local}\n"


def test_the_environment_can_ask_for_it() -> None:
    assert Simulation.from_env({"CLAUDEWIRE_SIM_STRICT": "1"}).strict
    assert not Simulation.from_env({"CLAUDEWIRE_SIM_STRICT": ""}).strict


@pytest.mark.anyio
async def test_the_double_can_be_strict() -> None:
    assert SimulatedCLI(greet, argv=["--settings={}"], strict=True).engine is None
    assert SimulatedCLI(greet, argv=["--settings={}"]).engine is not None


@pytest.mark.anyio
@pytest.mark.parametrize(
    "body", [ApplyFlagSettings({"model": "opus"}), UpdateSettings("userSettings", {})]
)
async def test_settings_that_come_later_are_named_once_too(body: Body) -> None:
    name = "apply_flag_settings" if isinstance(body, ApplyFlagSettings) else "update_settings"
    cli, claude = SimulatedCLI(greet), Connection(Role.CLIENT)
    for id in "12":
        await cli.send(claude.send(Request(id=id, body=body)))
    assert await cli.receive_stderr() == f"{SAID}{name}\n".encode()
    await cli.send_eof()
    assert await cli.receive_stderr() == b""

    strict = SimulatedCLI(greet, strict=True)
    await strict.send(Connection(Role.CLIENT).send(Request(id="1", body=body)))
    assert f"not simulated: {name}".encode() in await strict.receive()
