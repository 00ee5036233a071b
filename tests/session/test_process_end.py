"""The end of a CLI: the session reads the rest of the output and ends in time."""

from __future__ import annotations

import logging

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.peer import SOON, Peer, Through
from tests.helpers.sessions import options, soon

from claudewire.errors import CLIError, TransportClosed
from claudewire.options import Timeouts
from claudewire.session import Session
from claudewire.session.link import REST_FOLLOWS_WITHIN
from claudewire.simulator.faults import KilledBy, NotReading
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Transport
from claudewire.wire import AssistantMessage, Connection, Role

pytestmark = pytest.mark.anyio

PATIENT = Timeouts(exit=SOON, drain=SOON)


async def opened_over(transport: Transport, timeouts: Timeouts = PATIENT) -> Session:
    """Open a session that sends no `initialize`."""
    session = Session(options(handshake=False, timeouts=timeouts), transport=transport)
    await session.start()
    return session


@simulated_time
async def test_cli_that_does_not_exit_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer()
    session = await opened_over(peer.transport, Timeouts(exit=3, drain=0.05))
    began = anyio.current_time()
    await session.close()
    assert 3 <= anyio.current_time() - began < 4
    assert "did not exit by itself within 3 s" in caplog.text
    await peer.hear_end()
    with pytest.raises(TransportClosed):
        await peer.write(b"nobody reads this")


async def test_close_now_does_not_wait_for_the_exit(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    peer = Peer()
    session = await opened_over(peer.transport)
    with anyio.fail_after(SOON / 2):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.close)
            await peer.hear_end()
            await session.close(now=True)
    assert not caplog.records


async def test_last_words_are_read_and_earlier_prompts_written() -> None:
    peer = Peer()
    session = await opened_over(peer.transport)
    turn = session.send("one more thing")
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.close)
            assert (await peer.hear_prompt()).text == "one more thing"
            await peer.hear_end()
            await peer.say(saying.text("last words"), saying.result("the end"))
            peer.exit(0)
        assert (await turn).text == "the end"


class Deaf(Through):
    """A CLI that has closed its stdin."""

    async def send(self, data: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        raise TransportClosed("Broken pipe")


async def test_cli_that_reads_no_more_has_time_to_say_why() -> None:
    peer = Peer()
    session = await opened_over(Deaf(peer.transport))
    turn = session.send("hello")
    await anyio.wait_all_tasks_blocked()
    await peer.say(saying.text())
    peer.end.send_stderr(b"I have closed my input")
    peer.exit(3)
    with anyio.fail_after(SOON), pytest.raises(CLIError) as caught:
        await turn
    evidence = caught.value.evidence
    assert (evidence.exit_code, evidence.stderr) == (3, "I have closed my input")
    assert len(evidence.sent) == len(evidence.received) == 1


class Grandchild(Through):
    """A child of the CLI holds its output open."""

    async def receive(self) -> bytes:
        if data := await super().receive():
            return data
        await anyio.sleep_forever()
        raise AssertionError


async def test_exit_ends_the_session_although_the_output_stays_open() -> None:
    peer = Peer()
    session = await opened_over(Grandchild(peer.transport), Timeouts(exit=SOON, drain=0.05))
    turn = session.send("hello")
    await peer.say(saying.text(), saying.result("done"))
    peer.exit(0)
    with anyio.fail_after(SOON):
        assert (await turn).text == "done"
        await soon(lambda: session.state == "closed")


async def test_output_before_a_kill_is_complete() -> None:
    async def scenario(chat: Chat) -> None:
        for number in range(50):
            await chat.say(str(number))

    session = await opened_over(SimulatedCLI(scenario, faults=[KilledBy(9, at=30)]))
    turn = session.send("go")
    with anyio.fail_after(SOON), pytest.raises(CLIError) as caught:
        await turn
    assert caught.value.evidence.signal == 9
    spoken = [it.text for it in turn.messages if isinstance(it, AssistantMessage)]
    assert spoken == [str(number) for number in range(len(spoken))]
    assert len(spoken) > 10


async def test_cli_that_does_not_read_does_not_stop_the_close() -> None:
    session = await opened_over(SimulatedCLI(faults=[NotReading(at=0)]), Timeouts(exit=0.05))
    session.send("x" * 1_000_000)
    with anyio.fail_after(SOON):
        await session.close()


class LateOutput(Through):
    """A transport with output left when it is closed, each line after a while."""

    def __init__(self, *lines: bytes) -> None:
        super().__init__(Peer().transport)
        self.left = [*lines, b""]
        self.closed = anyio.Event()

    async def receive(self) -> bytes:
        await self.closed.wait()
        await anyio.sleep(0.8 * REST_FOLLOWS_WITHIN)
        return self.left.pop(0)

    async def wait(self) -> int:
        await self.closed.wait()
        return 0

    async def aclose(self) -> None:
        self.closed.set()


@simulated_time
async def test_output_after_the_close_is_read_while_more_comes() -> None:
    cli = Connection(Role.CLI)
    late = LateOutput(*(cli.send(saying.status(it)) for it in ("one", "two", "three")))
    session = await opened_over(late, Timeouts(exit=0.05))
    with anyio.fail_after(SOON):
        await session.close()
    assert [getattr(it, "status", None) for it in session.notices][:3] == ["one", "two", "three"]


async def test_process_that_cannot_be_killed_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Undead(Through):
        def kill_now(self) -> None:
            raise PermissionError("not yours")

    session = await opened_over(Undead(Peer().transport), Timeouts(exit=0.05, drain=0.05))
    assert session._core.link is not None
    session._core.link.kill_now()
    await session.close()
    assert "could not kill" in caplog.text
