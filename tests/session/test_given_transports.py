"""Transports of the application: their options, their functions, and one session for each."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.helpers.sessions import bounded, soon

import claudewire
from claudewire import OptionsError, Transport
from claudewire.recordings import Recording, ReplayTransport
from claudewire.simulator.session import SimulatedSession
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Launch, memory_pair

pytestmark = pytest.mark.anyio

SOON = 60.0
SESSION = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"


async def echo(chat: Chat) -> None:
    await chat.say(chat.text)


async def tidy_up(chat: Chat) -> None:
    read = await chat.use("Read", {"file_path": "notes.txt"}, result="a plan")
    removed = await chat.use("Bash", {"command": "rm notes.txt"})
    await chat.say(f"{read.allowed} {removed.allowed}")


def inside(cli: SimulatedCLI) -> SimulatedSession:
    assert cli.engine is not None
    return cli.engine.session


# --- options -------------------------------------------------------------------------------------


async def test_simulated_cli_gets_the_options_of_the_session(tmp_path: Path) -> None:
    cli = SimulatedCLI(tidy_up, argv=["--effort=low"], env={"A": "1", "B": "2"})
    reply = await claudewire.run(
        "x",
        transport=cli,
        model="haiku",
        permission_mode="acceptEdits",
        disallowed_tools=["Bash"],
        cwd=tmp_path,
        env={"B": "3", "C": None},
        session_id=SESSION,
        settings={"includeCoAuthoredBy": False},
    )
    session = inside(cli)
    assert reply.text == "True False"
    assert session.id == reply.result.session_id == SESSION
    assert session.model.startswith("claude-haiku")
    assert (session.mode, session.cwd) == ("acceptEdits", str(tmp_path))
    assert dict(session.env) == {"A": "1", "B": "3"}
    assert session.effort == "low"


async def test_options_do_the_same_over_every_transport(tmp_path: Path) -> None:
    async def connect(launch: Launch) -> Transport:
        return SimulatedCLI()

    (tmp_path / "notes.txt").write_text("milk", encoding="utf-8")
    given: dict[str, Any] = {"cwd": tmp_path, "permission_mode": "bypassPermissions"}
    ways: list[dict[str, Any]] = [
        {"transport": SimulatedCLI()},
        {"transport": connect},
        {"cli": "simulated"},
    ]
    texts = {(await claudewire.run("List the files", **given, **way)).text for way in ways}
    assert len(texts) == 1
    assert "notes.txt" in texts.pop()


async def test_flag_unknown_to_the_cli_is_an_error() -> None:
    with pytest.raises(claudewire.CLIError, match="no-such-flag"):
        await claudewire.run("x", transport=SimulatedCLI(echo), extra_args={"no-such-flag": None})


async def test_options_that_do_not_reach_a_running_cli_are_named() -> None:
    with pytest.warns(UserWarning, match="do not reach it: cwd, env, model, deny") as warned:
        claudewire.open(
            transport=memory_pair()[0],
            model="opus",
            cwd="/",
            env={"A": "1"},
            deny=["Bash"],
            title="This is told in `initialize`",
            decide_within=5,
        )
    assert warned[0].filename == __file__


async def test_replay_takes_any_options() -> None:
    recording = Recording()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        claudewire.open(transport=ReplayTransport(recording), model="opus")


# --- functions -----------------------------------------------------------------------------------


async def test_transport_function_may_be_plain_and_needs_no_cli(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("PATH", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    launches: list[Launch] = []

    def connect(launch: Launch) -> Transport:
        launches.append(launch)
        return SimulatedCLI(echo)

    for cli in (None, "simulated", "no-such-program", ["ssh", "host", "claude"]):
        reply = await claudewire.run("hi", transport=connect, cli=cli, model="opus")
        assert reply.text == "hi"
    assert [launch.argv[0].rpartition("/")[2] for launch in launches] == [
        "claude",
        "claude",
        "no-such-program",
        "ssh",
    ]
    assert all("--model=opus" in launch.argv for launch in launches)


@pytest.mark.parametrize("made", [None, 5, SimulatedCLI])
async def test_transport_function_must_return_a_transport(made: Any) -> None:
    with pytest.raises(OptionsError, match=r"The function in transport returned .*, not a Tran"):
        await claudewire.run("hi", transport=lambda launch: made)


# --- once ----------------------------------------------------------------------------------------


async def test_transport_serves_one_session() -> None:
    cli = SimulatedCLI(echo)
    assert (await claudewire.run("hi", transport=cli)).text == "hi"
    with pytest.raises(OptionsError, match="each session needs a SimulatedCLI of its own"):
        await claudewire.run("hi", transport=cli)
    with pytest.raises(OptionsError, match="each session needs a SimulatedCLI of its own"):
        await claudewire.run("hi", transport=lambda launch: cli)


async def test_session_over_a_transport_cannot_be_restarted() -> None:
    async with bounded(claudewire.open(transport=SimulatedCLI(echo))) as claude:
        with pytest.raises(OptionsError, match="A restart needs a function"):
            await claude.restart()
        assert (await claude.ask("hi")).text == "hi"


async def test_watchdog_that_cannot_restart_ends_the_session() -> None:
    async def stuck(chat: Chat) -> None:
        await chat.sleep(3600)

    patience = claudewire.StallTimeouts(first_token=0.01, action="restart")
    with anyio.fail_after(SOON):
        async with claudewire.open(transport=SimulatedCLI(stuck), patience=patience) as claude:
            with pytest.raises(claudewire.TurnStalled):
                await claude.send("hi")
            await soon(lambda: claude.state == "failed")
            with pytest.raises(OptionsError, match="A restart needs a function"):
                claude.send("hi")
