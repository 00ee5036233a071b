"""What is accepted but not simulated is said, and refused if the user wants that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.helpers.text_mode import Outcome, run_text

from claudewire import simulator
from claudewire.simulator import Chat, SimulatedCLI, Simulation
from claudewire.simulator.flags import OPTIONS
from claudewire.simulator.unsimulated import FLAGS, WITHOUT_EFFECT
from claudewire.wire import ApplyFlagSettings, Body, Connection, Request, Role, UpdateSettings

SAID = "claudewire-sim: accepted, but not simulated: "


async def greet(chat: Chat) -> None:
    await chat.say("Hi.")


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (['--settings={"model": "opus", "sandbox": {}}'], "sandbox (flagSettings)"),
        (
            ['--settings={"hooks": {"Stop": [{"hooks": [{"type": "prompt"}]}]}}'],
            "hooks of the type prompt",
        ),
        (['--settings={"permissions": {"x": 1}}'], "permissions.x (flagSettings)"),
        (["--worktree"], "--worktree"),
        (["--worktree", "a"], "--worktree"),
        (["--include-hook-events", "--ide", "--add-dir", "a"], "--ide, --include-hook-events"),
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


def test_every_flag_has_an_effect_or_is_named_or_can_have_none() -> None:
    source = "".join(it.read_text("utf-8") for it in Path(simulator.__path__[0]).glob("*.py"))
    left = []
    for name in {option.name.removeprefix("--") for option in OPTIONS.values()}:
        field = re.sub("([A-Z])", r"_\1", name.replace("-", "_")).lower()
        acted_on = re.search(rf"flags\.{field}_?\b|\"{name}\" (not )?in flags\.others", source)
        if name not in FLAGS | WITHOUT_EFFECT and acted_on is None:
            left.append(name)
    assert sorted(left) == ["print", "version"]
    assert set() == FLAGS & WITHOUT_EFFECT


def test_only_flags_of_the_real_cli_are_named() -> None:
    known = {option.name for option in OPTIONS.values()}
    assert {f"--{name}" for name in FLAGS | WITHOUT_EFFECT} <= known


def test_servers_that_a_person_has_to_approve_are_named(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text("{}", encoding="utf-8")
    done = run_text(greet, "-p", "Hello", cwd=tmp_path)
    assert done.stderr == f"{SAID}{tmp_path}/.mcp.json\n"


def test_the_environment_can_ask_for_it() -> None:
    assert Simulation.from_env({"CLAUDEWIRE_SIM_STRICT": "1"}).strict
    assert not Simulation.from_env({"CLAUDEWIRE_SIM_STRICT": ""}).strict


@pytest.mark.anyio
async def test_the_double_can_be_strict() -> None:
    assert SimulatedCLI(greet, argv=["--ide"], strict=True).engine is None
    assert SimulatedCLI(greet, argv=["--ide"]).engine is not None


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
