"""`session.interrupt()` stops the running turn at any time, and returns a receipt."""

from __future__ import annotations

import math
import signal

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.peer import SOON, Peer, Through
from tests.helpers.sessions import (
    SOME_CLI,
    begun,
    bounded,
    connected,
    meanwhile,
    never,
    opened,
    options,
    simulated,
    soon,
    start_with,
)

from claudewire.errors import CLIError, RequestTimeout, TurnCancelled
from claudewire.session import Escalation, InterruptReceipt, Session, TurnState
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import (
    AssistantMessage,
    Cancel,
    EndSession,
    InitializeResult,
    Interrupt,
    InterruptResult,
)

pytestmark = pytest.mark.anyio

VERSIONS = ["2.1.17", "2.1.197", "2.1.325"]


async def endless(chat: Chat) -> None:
    if chat.text == "stop at once":
        return
    await chat.say("I begin.")
    await chat.sleep(math.inf)


@pytest.mark.parametrize("version", VERSIONS)
async def test_interrupt_stops_the_running_turn(version: str) -> None:
    async with bounded(simulated(endless, version=version)) as session:
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


async def test_interrupt_without_a_turn_does_nothing() -> None:
    async with bounded(simulated(endless)) as session:
        receipt = await session.interrupt()
        assert receipt == InterruptReceipt(acknowledged=True, steps=("interrupt",))
        receipt = await session.interrupt(escalate=True)
        assert receipt == InterruptReceipt(acknowledged=True, steps=("interrupt",))
        assert (await session.send("stop at once")).ok


@pytest.mark.parametrize("version", VERSIONS)
async def test_interrupt_works_during_a_permission(version: str) -> None:
    async def ask(chat: Chat) -> None:
        await chat.use("Bash", {"command": "make"})

    async with bounded(simulated(ask, version=version, on_permission=never)) as session:
        turn = session.send("go on")
        await soon(lambda: session.inbox.pending)
        receipt = await session.interrupt()
        assert receipt.result is not None
        assert receipt.turn is turn
        await soon(lambda: not session.inbox.pending)


async def test_turn_that_begins_later_is_interrupted_again() -> None:
    """A CLI that has not begun with the prompt acknowledges and does nothing else."""
    async with connected() as (session, peer):
        turn = session.send("hello")
        async with meanwhile(session.interrupt) as receipts:
            await peer.acknowledge()
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            assert not receipts
            await peer.say(saying.init())
            await peer.acknowledge()
            await peer.say(saying.result(subtype="error_during_execution"))
        (receipt,) = receipts
        assert receipt.turn is turn
        assert receipt.steps == ("interrupt",)
        assert receipt.result is not None


# --- queued prompts -------------------------------------------------------------------------------


async def test_queued_cancel_drops_prompts_here_and_in_the_cli() -> None:
    async def ask(chat: Chat) -> None:
        await chat.use("Bash", {"command": "make"})

    async with bounded(simulated(ask, on_permission=never)) as session:
        turn = session.send("go on")
        await soon(lambda: session.inbox.pending)
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


async def test_answer_to_an_interrupt_names_dropped_prompts() -> None:
    async with connected() as (session, peer):
        turn = session.send("hello")
        await peer.say(saying.lifecycle(turn.uuid, "started"))
        await turn.started.wait()
        second = session.send("second", priority="later")
        async with meanwhile(lambda: session.interrupt(queued="cancel")) as receipts:
            request = await peer.hear_request(Interrupt)
            assert request.body == Interrupt(cancel_queued=True)
            await peer.answer(request, InterruptResult([], cancelled=[str(second.uuid), "other"]))
            await peer.say(saying.result(user_message_uuid=turn.uuid))
        assert receipts[0].cancelled == (second,)
        await session.wait_idle()


# --- when the CLI does not stop -------------------------------------------------------------------


@simulated_time
@pytest.mark.parametrize("is_running", [True, False])
async def test_missing_acknowledgement_raises_a_timeout(is_running: bool) -> None:
    async with connected() as (session, peer):
        if is_running:
            session.send("hello")
            await peer.say(saying.text())
        with pytest.raises(RequestTimeout, match=r"within 0\.02 s"):
            await session.interrupt(timeout=0.02)
        request = await peer.hear_request(Interrupt)
        assert (await peer.hear(Cancel)).id == request.id
        assert [it.is_over for it in session.turns] == [False] * is_running


@simulated_time
async def test_result_without_acknowledgement_stops_the_turn() -> None:
    async with connected() as (session, peer):
        turn = session.send("hello")
        async with meanwhile(lambda: session.interrupt(timeout=0.05)) as receipts:
            await peer.hear_request(Interrupt)
            await peer.say(saying.result())
        assert not receipts[0].acknowledged
        assert receipts[0].turn is turn
        assert receipts[0].result is not None


@simulated_time
async def test_receipt_without_a_result_in_time_has_none() -> None:
    async with connected() as (session, peer):
        turn = await begun(session, peer)
        async with meanwhile(lambda: session.interrupt(timeout=0.05)) as receipts:
            await peer.acknowledge()
        assert receipts[0].acknowledged
        assert receipts[0].result is None
        assert receipts[0].turn is turn


class Signalled(Through):
    """A CLI that exits on a signal only."""

    def __init__(self, peer: Peer) -> None:
        super().__init__(peer.transport)
        self._peer = peer
        self.signals: list[int] = []

    def send_signal(self, number: int) -> None:
        self.signals.append(number)
        self._peer.exit(130)


QUICKLY = Escalation(step_timeout=0.03)


@simulated_time
async def test_escalation_asks_again_ends_the_session_and_signals() -> None:
    peer = Peer()
    transport = Signalled(peer)
    session = Session(options(), transport=transport)
    with anyio.fail_after(SOON):
        await start_with(session, peer)
        turn = await begun(session, peer)
        receipt = await session.interrupt(escalate=QUICKLY)
        assert receipt.steps == ("interrupt", "interrupt", "end_session", "SIGINT")
        assert not receipt.acknowledged
        assert transport.signals == [signal.SIGINT]
        await peer.hear_request(EndSession)
        with pytest.raises(CLIError):
            await turn
        await session.close()
    assert session.state == "failed"


@simulated_time
async def test_escalation_skips_requests_unknown_to_old_clis() -> None:
    peer = Peer()
    session = Session(options(), transport=Signalled(peer))
    with anyio.fail_after(SOON):
        await start_with(session, peer, InitializeResult(claude_code_version="2.1.17"))
        await begun(session, peer)
        began = anyio.current_time()
        receipt = await session.interrupt(escalate=QUICKLY)
        assert receipt.steps == ("interrupt", "interrupt", "SIGINT")
        assert anyio.current_time() - began < 0.09
        assert not any(isinstance(getattr(it, "body", None), EndSession) for it in peer.heard)
        await session.close()


@simulated_time
async def test_refused_step_is_followed_by_the_next_at_once() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = await begun(session, peer)
        start = anyio.current_time()
        async with meanwhile(lambda: session.interrupt(escalate=QUICKLY)) as receipts:
            for kind in (Interrupt, Interrupt, EndSession):
                await peer.refuse(await peer.hear_request(kind), "No")
            assert anyio.current_time() == start
        assert receipts[0].steps == ("interrupt", "interrupt", "end_session", "SIGINT", "kill")
        with pytest.raises(CLIError, match="was killed"):
            await turn


async def test_escalation_can_restart_and_keep_the_queue() -> None:
    peer = Peer()
    launches: list[Launch] = []

    async def connect(launch: Launch) -> Transport:
        launches.append(launch)
        if len(launches) == 1:
            return peer.transport
        return SimulatedCLI(endless)

    session = Session(options(cli=SOME_CLI), transport=connect)
    with anyio.fail_after(SOON):
        await start_with(session, peer)
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
