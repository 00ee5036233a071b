"""The processes of a session, and their end."""

from __future__ import annotations

import os
import signal
from typing import Any

import anyio
import pytest

from claudewire.errors import CLIError, Error
from claudewire.session import SessionState

from .behaviour import alone
from .common import ENDLESS, WAIT, bash, touch
from .stage import Stage, until

CLOSE: dict[str, Any] = {"tags": frozenset({"close"})}
KILL: dict[str, Any] = {"tags": frozenset({"kill"})}
BACKGROUND = bash("tail -f /dev/null", run_in_background=True)


def options(stage: Stage) -> dict[str, Any]:
    """Each of these behaviours opens its own session."""
    return {}


async def close(stage: Stage, **how: bool) -> None:
    """Close the session while the servers of the cage are paused, and check for leftovers."""
    with stage.without_servers():
        await stage.session.close(**how)
        stage.check_nothing_left()


@alone("Closing an idle session ends its CLI", **CLOSE)
async def close_idle(stage: Stage) -> None:
    async with stage.open() as session:
        await stage.ask()
        await close(stage)
        assert session.state is SessionState.CLOSED


@alone("A session that had no turn is closed", **CLOSE)
async def close_unused(stage: Stage) -> None:
    async with stage.open():
        pass


@alone("Closing during a command ends it, and the turn fails", [WAIT], **CLOSE)
async def close_during_command(stage: Stage) -> None:
    async with stage.open(allowed_tools=["Bash"]):
        turn = stage.send()
        await stage.shell()
        await close(stage)
        assert turn.is_over


@alone("Closing while the model speaks ends the turn", [ENDLESS], **CLOSE)
async def close_while_speaking(stage: Stage) -> None:
    async with stage.open(include_partial_messages=True):
        turn = stage.send()
        async for _ in turn.iter_text():
            break
        await close(stage)
        assert turn.is_over


@alone("Closing while a person is asked takes the request back", [touch("never")], **CLOSE)
async def close_while_asking(stage: Stage) -> None:
    asked, ended = anyio.Event(), anyio.Event()

    async def wait(request: Any) -> None:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with stage.open(on_permission=wait):
        stage.send()
        await asked.wait()
        await close(stage)
        await ended.wait()
        assert not stage.has("never")


@alone(
    "Closing with a command in the background ends that too",
    [BACKGROUND, "Started."],
    **CLOSE,
)
async def close_with_background(stage: Stage) -> None:
    async with stage.open(allowed_tools=["Bash"]):
        await stage.ask()
        await stage.shell()
        await close(stage)


@alone("`close(now=True)` during a command leaves nothing", [WAIT], **CLOSE)
async def close_now(stage: Stage) -> None:
    async with stage.open(allowed_tools=["Bash"]):
        stage.send()
        await stage.shell()
        await close(stage, now=True)


@alone("A caller who is cancelled during a command leaves nothing", [WAIT], **CLOSE)
async def cancelled_caller(stage: Stage) -> None:
    ended = anyio.Event()

    async def work() -> None:
        try:
            async with stage.open(allowed_tools=["Bash"]):
                turn = stage.send()
                await stage.shell()
                ready.set()
                await turn
        finally:
            ended.set()

    ready = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        await ready.wait()
        with stage.without_servers(), anyio.CancelScope(shield=True):
            tasks.cancel_scope.cancel()
            await ended.wait()
            stage.check_nothing_left()


@alone(
    "A CLI that is killed during a command fails the turn, and the command is ended",
    [WAIT],
    **KILL,
)
async def killed(stage: Stage) -> None:
    async with stage.open(allowed_tools=["Bash"]) as session:
        turn = stage.send()
        await stage.shell()
        with stage.without_servers():
            assert session.pid is not None
            os.kill(session.pid, signal.SIGKILL)
            with pytest.raises(CLIError):
                await turn
            await session.close()
            stage.check_nothing_left()


@alone("A CLI that is killed while idle fails the session, with the signal in the error", **KILL)
async def killed_idle(stage: Stage) -> None:
    async with stage.open() as session:
        await stage.ask()
        assert session.pid is not None
        os.kill(session.pid, signal.SIGKILL)
        await until(lambda: session.failure)
        assert "SIGKILL" in str(session.failure)
        with pytest.raises(Error) as caught:
            session.send("Hello")
        assert caught.value is session.failure


@alone("A CLI that is told to end (SIGTERM) during a command leaves nothing", [WAIT], **KILL)
async def terminated(stage: Stage) -> None:
    async with stage.open(allowed_tools=["Bash"]) as session:
        turn = stage.send()
        await stage.shell()
        with stage.without_servers():
            assert session.pid is not None
            os.kill(session.pid, signal.SIGTERM)
            await until(lambda: turn.is_over)
            await session.close()
            stage.check_nothing_left()


@alone(
    "After its CLI was killed, a session can be restarted and goes on",
    {"a": ["First."], "b": ["Second."]},
    **KILL,
)
async def killed_and_restarted(stage: Stage) -> None:
    async with stage.open() as session:
        reply = await stage.ask("a")
        # A CLI writes its transcript after the reply; unwritten lines die with it.
        await until(lambda: "First." in stage.transcript(reply.session_id))
        assert session.pid is not None
        os.kill(session.pid, signal.SIGKILL)
        await until(lambda: session.failure)
        await session.restart()
        assert (await stage.ask("b")).text == "Second."
        assert stage.prompt("a") in str(stage.turns[-1].messages)


@alone(
    "Commands of two sessions do not disturb each other",
    {"a": ["First."], "b": ["Second."]},
    **CLOSE,
)
async def two_sessions(stage: Stage) -> None:
    from claudewire.session import Session

    async with Session(stage.options()) as one:
        async with Session(stage.options()) as other:
            assert (await other.send(stage.prompt("a"))).text == "First."
        assert (await one.send(stage.prompt("b"))).text == "Second."
