"""An interrupt stops what runs, whenever it comes, and tells what it did."""

from __future__ import annotations

import math
import signal

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.peer import SOON, Peer, Through
from tests.helpers.sessions import SOME_CLI, never, opened, options, simulated, soon

from claudewire.errors import CLIError, RequestTimeout, SessionClosed, TurnCancelled
from claudewire.session import Escalation, InterruptReceipt, Session, TurnState
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import (
    AssistantMessage,
    Cancel,
    EndSession,
    Initialize,
    InitializeResult,
    Interrupt,
    InterruptResult,
)

pytestmark = pytest.mark.anyio

VERSIONS = ["1.0.128", "2.0.76", "2.1.17", "2.1.197", "2.1.325"]


async def endless(chat: Chat) -> None:
    if chat.text == "stop at once":
        return
    await chat.say("I begin.")
    await chat.sleep(math.inf)


class Interrupting:
    """Interrupts in a task of its own."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.receipts: list[InterruptReceipt] = []

    async def __call__(self) -> None:
        self.receipts.append(await self.session.interrupt())


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_running_turn_is_stopped(version: str) -> None:
    with anyio.fail_after(SOON):
        async with simulated(endless, version=version) as session:
            turn, after = session.send("go on"), session.send("stop at once")
            async for message in turn:
                if isinstance(message, AssistantMessage):
                    break
            receipt = await session.interrupt()
            assert receipt.acknowledged
            assert receipt.turn is turn
            assert receipt.result is not None
            assert receipt.result is (await turn).result
            assert receipt.steps == ("interrupt",)
            assert receipt.still_queued == (after,)
            assert receipt.cancelled == ()
            assert not (await turn).ok
            assert (await after).ok


async def test_with_nothing_running_it_does_nothing() -> None:
    with anyio.fail_after(SOON):
        async with simulated(endless) as session:
            receipt = await session.interrupt()
            assert receipt == InterruptReceipt(acknowledged=True, steps=("interrupt",))
            receipt = await session.interrupt(escalate=True)
            assert receipt == InterruptReceipt(acknowledged=True, steps=("interrupt",))
            assert (await session.send("stop at once")).ok


@pytest.mark.parametrize("version", VERSIONS)
async def test_it_works_while_a_permission_is_pending(version: str) -> None:
    async def ask(chat: Chat) -> None:
        await chat.use("Bash", {"command": "make"})

    with anyio.fail_after(SOON):
        async with simulated(ask, version=version, on_permission=never) as session:
            turn = session.send("go on")
            await soon(lambda: session._core.link.serving == 1)  # type: ignore[union-attr]
            receipt = await session.interrupt()
            assert receipt.result is not None
            assert receipt.turn is turn
            await soon(lambda: session._core.link.serving == 0)  # type: ignore[union-attr]


@pytest.mark.parametrize("version", VERSIONS)
async def test_it_works_right_after_a_prompt(version: str) -> None:
    with anyio.fail_after(SOON):
        async with simulated(endless, version=version) as session:
            turn = session.send("go on")
            receipt = await session.interrupt()
            assert receipt.turn is turn
            assert receipt.result is not None


async def test_a_turn_that_begins_only_then_is_interrupted_again() -> None:
    """A CLI that has the prompt and has not begun acknowledges, and does nothing."""
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            interrupt = Interrupting(session)
            turn = session.send("hello")
            tasks.start_soon(interrupt)
            await peer.acknowledge()
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            assert not interrupt.receipts
            await peer.say(saying.init())
            await peer.acknowledge()
            await peer.say(saying.result(subtype="error_during_execution"))
        (receipt,) = interrupt.receipts
        assert receipt.turn is turn
        assert receipt.steps == ("interrupt",)
        assert receipt.result is not None
        await session.close()


async def test_a_prompt_that_is_dropped_by_it_is_not_interrupted_again() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            interrupt = Interrupting(session)
            turn = session.send("hello")
            tasks.start_soon(interrupt)
            await peer.acknowledge()
            await peer.say(saying.lifecycle(turn.uuid, "cancelled"))
        assert interrupt.receipts[0].result is None
        assert turn.state == "cancelled"
        await session.close()


async def test_it_works_while_the_session_starts() -> None:
    peer = Peer()
    session = Session(options(), transport=peer.transport)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start)
            opening = await peer.hear_request(Initialize)
            interrupt = Interrupting(session)
            tasks.start_soon(interrupt)
            await peer.acknowledge()
            await peer.answer(opening)
        assert interrupt.receipts[0].acknowledged
        await session.close()


# --- what waits -----------------------------------------------------------------------------------


async def test_what_waits_can_be_dropped_with_it() -> None:
    async def ask(chat: Chat) -> None:
        await chat.use("Bash", {"command": "make"})

    with anyio.fail_after(SOON):
        async with simulated(ask, on_permission=never) as session:
            turn = session.send("go on")
            await soon(lambda: session._core.link.serving == 1)  # type: ignore[union-attr]
            there = session.send("in the queue of the CLI", priority="later")
            here = session.send("in our own")
            assert (there.state, here.state) == (TurnState.SENT, TurnState.HELD)
            receipt = await session.interrupt(queued="cancel")
            assert receipt.turn is turn
            assert set(receipt.cancelled) == {there, here}
            assert receipt.still_queued == ()
            for dropped in (there, here):
                with pytest.raises(TurnCancelled):
                    await dropped
            await session.wait_idle()


async def test_the_answer_tells_what_was_dropped() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("hello")
        await peer.say(saying.lifecycle(turn.uuid, "started"))
        await soon(lambda: session._core.conversation.narrates)
        second = session.send("second", priority="later")
        async with anyio.create_task_group() as tasks:

            async def interrupt() -> None:
                receipt = await session.interrupt(queued="cancel")
                assert receipt.cancelled == (second,)

            tasks.start_soon(interrupt)
            request = await peer.hear_request(Interrupt)
            assert request.body == Interrupt(cancel_queued=True)
            await peer.answer(request, InterruptResult([], cancelled=[str(second.uuid), "other"]))
            await peer.say(saying.result(user_message_uuid=turn.uuid))
        await session.wait_idle()
        await session.close()


async def test_turns_that_ended_well_meanwhile_were_not_cancelled() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("hello")
        await peer.say(saying.lifecycle(turn.uuid, "started"))
        await soon(lambda: session._core.conversation.narrates)
        second = session.send("second", priority="now")
        async with anyio.create_task_group() as tasks:
            interrupt = Interrupting(session)
            tasks.start_soon(interrupt)
            await peer.acknowledge()
            await peer.say(saying.result(user_message_uuids=[turn.uuid, second.uuid]))
        assert interrupt.receipts[0].cancelled == ()
        assert interrupt.receipts[0].still_queued == ()
        await session.close()


# --- when the CLI does not stop -------------------------------------------------------------------


@simulated_time
@pytest.mark.parametrize("is_running", [True, False])
async def test_an_interrupt_that_is_not_acknowledged_is_an_error(is_running: bool) -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        if is_running:
            session.send("hello")
            await peer.say(saying.text())
        with pytest.raises(RequestTimeout, match=r"within 0\.02 s"):
            await session.interrupt(timeout=0.02)
        request = await peer.hear_request(Interrupt)
        assert (await peer.hear(Cancel)).id == request.id
        assert [it.is_over for it in session.turns] == [False] * is_running
        await session.close()


@simulated_time
async def test_a_turn_that_ends_without_an_acknowledgement_has_stopped() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("hello")
        async with anyio.create_task_group() as tasks:
            receipts = []

            async def interrupt() -> None:
                receipts.append(await session.interrupt(timeout=0.05))

            tasks.start_soon(interrupt)
            await peer.hear_request(Interrupt)
            await peer.say(saying.result())
        assert not receipts[0].acknowledged
        assert receipts[0].turn is turn
        assert receipts[0].result is not None
        await session.close()


@simulated_time
async def test_a_result_that_is_late_is_not_in_the_receipt() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("hello")
        await peer.say(saying.text())
        await turn.started.wait()
        async with anyio.create_task_group() as tasks:
            receipts = []

            async def interrupt() -> None:
                receipts.append(await session.interrupt(timeout=0.05))

            tasks.start_soon(interrupt)
            await peer.acknowledge()
        assert receipts[0].acknowledged
        assert receipts[0].result is None
        assert receipts[0].turn is turn
        await session.close()


class Signalled(Through):
    """A CLI that stops for nothing but, perhaps, a signal."""

    def __init__(self, peer: Peer, *, obeys: bool) -> None:
        super().__init__(peer.transport)
        self._peer = peer
        self._obeys = obeys
        self.signals: list[int] = []

    def send_signal(self, number: int) -> None:
        self.signals.append(number)
        if self._obeys:
            self._peer.exit(130)


QUICKLY = Escalation(step_timeout=0.03)


@simulated_time
async def test_a_cli_that_does_not_stop_is_asked_again_then_to_leave_then_signalled() -> None:
    peer = Peer()
    transport = Signalled(peer, obeys=True)
    session = Session(options(), transport=transport)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.welcome)
            await session.start()
        turn = session.send("hello")
        await peer.say(saying.text())
        await turn.started.wait()
        receipt = await session.interrupt(escalate=QUICKLY)
        assert receipt.steps == ("interrupt", "interrupt", "end_session", "SIGINT")
        assert not receipt.acknowledged
        assert transport.signals == [signal.SIGINT]
        await peer.hear_request(EndSession)
        with pytest.raises(CLIError):
            await turn
        await session.close()
    assert session.state == "failed"


async def test_after_an_escalation_held_turns_end_with_the_cli_as_before() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.acknowledge)
            receipt = await session.interrupt(escalate=Escalation(restart=True))
        assert receipt.outcome == "nothing_running"
        turns = [session.send("one"), session.send("two")]
        peer.exit(1)
        for turn in turns:
            with pytest.raises(CLIError):
                await turn
        await session.close()


@simulated_time
async def test_a_cli_that_cannot_be_asked_to_leave_is_signalled_at_once() -> None:
    peer = Peer()
    transport = Signalled(peer, obeys=True)
    session = Session(options(), transport=transport)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start)
            asked = await peer.hear_request(Initialize)
            await peer.answer(asked, InitializeResult(claude_code_version="2.0.14"))
        turn = session.send("hello")
        await peer.say(saying.text())
        await turn.started.wait()
        began = anyio.current_time()
        receipt = await session.interrupt(escalate=QUICKLY)
        assert receipt.steps == ("interrupt", "interrupt", "SIGINT")
        assert anyio.current_time() - began < 0.09
        assert not any(isinstance(getattr(it, "body", None), EndSession) for it in peer.heard)
        await session.close()


@simulated_time
async def test_a_step_that_the_cli_refuses_is_followed_by_the_next_at_once() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("hello")
        await peer.say(saying.text())
        await turn.started.wait()
        start = anyio.current_time()
        async with anyio.create_task_group() as tasks:

            async def refuse() -> None:
                for kind in (Interrupt, Interrupt, EndSession):
                    await peer.refuse(await peer.hear_request(kind), "No")
                assert anyio.current_time() == start

            tasks.start_soon(refuse)
            receipt = await session.interrupt(escalate=QUICKLY)
        assert receipt.steps == ("interrupt", "interrupt", "end_session", "SIGINT", "kill")
        with pytest.raises(CLIError, match="was killed"):
            await turn


@simulated_time
async def test_a_cli_that_leaves_when_it_is_asked_to_is_not_signalled() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("hello")
        await peer.say(saying.text())
        await turn.started.wait()
        async with anyio.create_task_group() as tasks:
            receipts = []

            async def interrupt() -> None:
                receipts.append(await session.interrupt(escalate=QUICKLY))

            tasks.start_soon(interrupt)
            await peer.answer(await peer.hear_request(EndSession))
            await peer.say(saying.result(subtype="error_during_execution"))
            peer.exit(0)
        assert receipts[0].steps == ("interrupt", "interrupt", "end_session")
        assert receipts[0].result is not None
        await session.close()
    assert session.state == "closed"


@simulated_time
async def test_a_cli_that_stops_for_nothing_is_ended() -> None:
    peer = Peer()
    transport = Signalled(peer, obeys=False)
    session = Session(options(), transport=transport)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.welcome)
            await session.start()
        turn = session.send("hello")
        await peer.say(saying.text())
        await turn.started.wait()
        receipt = await session.interrupt(escalate=QUICKLY)
        assert receipt.steps == ("interrupt", "interrupt", "end_session", "SIGINT", "kill")
        assert session.state == "failed"
        with pytest.raises(CLIError, match="did not stop") as caught:
            await turn
        assert session.failure is caught.value
        await peer.hear_end()


async def test_a_cli_that_dies_during_an_escalation_has_died_by_itself() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("hello")
        await peer.say(saying.text())
        await turn.started.wait()
        async with anyio.create_task_group() as tasks:
            receipts = []

            async def interrupt() -> None:
                receipts.append(await session.interrupt(escalate=True))

            tasks.start_soon(interrupt)
            await peer.hear_request(Interrupt)
            peer.exit(3)
        assert receipts[0].steps == ("interrupt",)
        with pytest.raises(CLIError) as caught:
            await turn
        assert caught.value.evidence.exit_code == 3


@simulated_time
async def test_another_cli_may_take_its_place() -> None:
    peer = Peer()
    launches: list[Launch] = []

    async def connect(launch: Launch) -> Transport:
        launches.append(launch)
        if len(launches) == 1:
            return peer.transport
        return SimulatedCLI(endless)

    session = Session(options(cli=SOME_CLI), transport=connect)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.welcome)
            await session.start()
        turn, after = session.send("go on"), session.send("stop at once")
        await peer.say(saying.text())
        await turn.started.wait()
        receipt = await session.interrupt(escalate=Escalation(step_timeout=0.03, restart=True))
        assert receipt.steps[-1] == "kill"
        assert session.state == "busy"
        with pytest.raises(CLIError, match="did not stop"):
            await turn
        assert (await after).ok
        await session.close()


async def test_on_a_session_that_is_over_it_raises_why() -> None:
    with anyio.fail_after(SOON):
        async with simulated(endless) as session:
            pass
        with pytest.raises(SessionClosed):
            await session.interrupt()
