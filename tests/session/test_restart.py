"""A session goes on with another CLI, on request or after a failure."""

from __future__ import annotations

import math
from collections.abc import Awaitable
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers.peer import SOON, Peer
from tests.helpers.programs import ASKS
from tests.helpers.sessions import SOME_CLI, bounded, echo, options, soon, start_with

from claudewire.errors import CLIError, Error, TurnError, TurnStalled
from claudewire.options import StallTimeouts, Timeouts
from claudewire.session import Session, StateChanged
from claudewire.simulator.faults import ExitWith
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import GetSettings

pytestmark = pytest.mark.anyio


class Clis:
    """One CLI after the other: a scenario, a function, a transport or an error."""

    def __init__(self, *transports: Any) -> None:
        self.transports = list(transports)
        self.launches: list[Launch] = []

    async def __call__(self, launch: Launch) -> Transport:
        self.launches.append(launch)
        await anyio.lowlevel.checkpoint()
        transport: Any = self.transports[len(self.launches) - 1]
        if isinstance(transport, Exception):
            raise transport
        if iscoroutinefunction(transport):
            transport = SimulatedCLI(transport)
        elif callable(transport):
            transport = transport(launch)
        taken: Transport = transport
        return taken


def session_with(*transports: Any, **changes: Any) -> tuple[Session, Clis]:
    clis = Clis(*transports)
    return Session(options(**{"cli": SOME_CLI, **changes}), transport=clis), clis


async def endless(chat: Chat) -> None:
    if chat.text == "go on":
        await chat.sleep(math.inf)
    await echo(chat)


async def test_restart_resumes_the_conversation(tmp_path: Path) -> None:
    def keeping(launch: Launch) -> SimulatedCLI:
        resume = [it for it in launch.argv if "--resume" in it]
        return SimulatedCLI(echo, argv=resume, env={"HOME": str(tmp_path)})

    session, clis = session_with(keeping, keeping)
    async with bounded(session):
        reply = await session.send("hello")
        await session.restart()
        assert session.state == "ready"
        assert (await session.send("again")).text == "You said again."
    assert f"--resume={reply.session_id}" in clis.launches[1].argv
    assert not any("--resume" in it for it in clis.launches[0].argv)


async def test_restart_can_begin_a_new_conversation() -> None:
    session, clis = session_with(echo, echo)
    async with bounded(session):
        await session.send("hello")
        await session.restart(resume=False)
        assert (await session.send("again")).ok
    assert not any("--resume" in it for it in clis.launches[1].argv)


async def test_restart_fails_sent_turns_and_sends_held_ones() -> None:
    session, _ = session_with(endless, echo)
    with anyio.fail_after(SOON), session.events() as events:
        async with session:
            sent, held = session.send("go on"), session.send("later")
            await sent.started.wait()
            await session.restart()
            with pytest.raises(TurnError, match="was restarted before"):
                await sent
            assert (await held).text == "You said later."
        states = [it.new for it in events.take() if isinstance(it, StateChanged)]
    assert states[:6] == ["starting", "ready", "busy", "starting", "ready", "busy"]


async def test_failed_session_can_be_restarted() -> None:
    session, _ = session_with(SimulatedCLI(echo, faults=[ExitWith(3, at=3)]), echo)
    with anyio.fail_after(SOON):
        await session.start()
        with pytest.raises(CLIError):
            await session.send("hello")
        assert session.state == "failed"
        await session.restart()
        assert session.failure is None
        assert session.state == "ready"
        with session.events() as events:
            assert (await session.send("again")).ok
            assert events.take()
        await session.close()


def test_handlers_work_in_the_event_loop_of_a_restart(anyio_backend: str) -> None:
    session = Session(options(cli=ASKS, on_permission=lambda request: request.allow()))

    async def begin() -> None:
        with anyio.fail_after(SOON):
            await session.start()
            assert (await session.send("may you?")).text == "allow"

    async def go_on() -> None:
        with anyio.fail_after(SOON):
            await session.restart(resume=False)
            assert (await session.send("may you?")).text == "allow"
            await session.close()

    anyio.run(begin, backend=anyio_backend)  # its end is that of the session
    anyio.run(go_on, backend=anyio_backend)


async def test_failed_restart_fails_the_session() -> None:
    session, _ = session_with(echo, OSError("no fork"))
    with anyio.fail_after(SOON):
        await session.start()
        turn = session.send("hello")
        with pytest.raises(OSError, match="no fork"):
            await session.restart()
        assert session.state == "failed"
        with pytest.raises(Error):
            await turn
        with pytest.raises(CLIError, match="no fork"):
            session.send("again")
        await session.close()


async def test_restart_fails_requests_in_flight() -> None:
    peer = Peer()
    session, _ = session_with(peer.transport, echo)
    failures: list[Error] = []

    async def fail(what: Awaitable[Any]) -> None:
        with pytest.raises(CLIError, match="was restarted before") as caught:
            await what
        failures.append(caught.value)

    with anyio.fail_after(SOON):
        await start_with(session, peer)
        session.send("hello")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail, session.request(GetSettings()))
            tasks.start_soon(fail, session.interrupt())
            await peer.hear_request(GetSettings)
            await session.restart()
        assert len(failures) == 2
        assert (await session.send("again")).ok
        await session.close()


async def test_prompt_sent_during_a_restart_goes_to_the_new_cli() -> None:
    peer = Peer()
    session, _ = session_with(peer.transport, echo, timeouts=Timeouts(exit=SOON, drain=SOON))
    with anyio.fail_after(SOON):
        await start_with(session, peer)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.restart)
            await soon(lambda: session.state == "starting")
            turn = session.send("meanwhile")
            assert turn.state == "held"
        assert (await turn).text == "You said meanwhile."
        await session.close()


async def test_restart_ends_background_tasks() -> None:
    async def build(chat: Chat) -> None:
        chat.start_task("build")

    session, _ = session_with(build, echo)
    async with bounded(session):
        await session.send("go")
        assert len(session.tasks.running) == 1
        await session.restart()
        assert session.tasks.running == []
        assert session.tasks.idle
        assert [it.status for it in session.tasks] == ["lost"]


async def test_second_restart_gets_the_failure_of_the_first() -> None:
    session, clis = session_with(echo, CLIError("No luck."))
    failures: list[Error] = []

    async def restart() -> None:
        with pytest.raises(CLIError, match="No luck") as caught:
            await session.restart()
        failures.append(caught.value)

    with anyio.fail_after(SOON):
        async with session, anyio.create_task_group() as tasks:
            tasks.start_soon(restart)
            tasks.start_soon(restart)
    assert len(failures) == len(clis.launches) == 2


async def test_watchdog_restarts_the_cli() -> None:
    async def stuck(chat: Chat) -> None:
        if chat.text == "stuck":
            await chat.use("Read", {"file_path": "a.txt"}, seconds=math.inf)
        await echo(chat)

    patience = StallTimeouts(tool=0.05, action="restart")
    session, clis = session_with(stuck, stuck, stuck, patience=patience)
    async with bounded(session):
        for _ in range(2):  # the watchdog watches the new CLI, too
            turn, after = session.send("stuck"), session.send("fine")
            with pytest.raises(TurnStalled):
                await turn
            assert (await after).text == "You said fine."
    assert len(clis.launches) == 3
