"""`turn.interrupt()` and the end of a turn's block stop this turn and no other."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import bounded, connected, meanwhile, opened, simulated, soon

from claudewire.errors import TurnCancelled
from claudewire.options import Timeouts
from claudewire.session import InterruptReceipt, Session, Turn, TurnState
from claudewire.testing import Chat
from claudewire.wire import (
    AssistantMessage,
    CancelAsyncMessage,
    CancelAsyncMessageResult,
    Interrupt,
    Request,
    ResultMessage,
)

pytestmark = pytest.mark.anyio


async def endless(chat: Chat) -> None:
    await chat.say("I begin.")
    if chat.text != "short":
        await chat.sleep(math.inf)


async def has_spoken(turn: Turn) -> None:
    async for message in turn:
        if isinstance(message, AssistantMessage):
            break


def interrupts(peer: Peer) -> int:
    """Count the interrupts that a peer has received."""
    requests = (event for event in peer.heard if isinstance(event, Request))
    return sum(isinstance(request.body, Interrupt) for request in requests)


async def heard_all(peer: Peer, session: Session) -> None:
    """Close the session, so that the peer has read everything."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(peer.hear_end)
        await session.close()


async def prompted(peer: Peer, session: Session, *texts: str) -> list[Turn]:
    """Send prompts, and let the first turn begin."""
    turns = [session.send(text) for text in texts]
    await peer.hear_prompt()
    await peer.say(saying.text())
    await turns[0].started.wait()
    return turns


async def sent_early(peer: Peer, session: Session) -> tuple[Turn, Turn]:
    """Send two prompts: the CLI runs one and queues the other."""
    first = session.send("one")
    await peer.say(saying.lifecycle(first.uuid, "started"), saying.text())
    await first.started.wait()
    second = session.send("two", priority="later")
    for _ in range(2):
        await peer.hear_prompt()
    return first, second


# --- states ---------------------------------------------------------------------------------------


async def test_held_turn_is_withdrawn_and_the_running_one_goes_on() -> None:
    async with connected() as (session, peer):
        one, two, three = await prompted(peer, session, "one", "two", "three")
        receipt = await two.interrupt()
        assert receipt == InterruptReceipt(
            False, two, None, (one, three), (two,), outcome="withdrawn"
        )
        with pytest.raises(TurnCancelled):
            await two
        await peer.say(saying.result())
        assert (await one).ok
        assert (await peer.hear_prompt()).text == "three"
        assert interrupts(peer) == 0


async def test_interrupt_of_an_ended_turn_stops_nothing() -> None:
    async with connected() as (session, peer):
        one, two = await prompted(peer, session, "one", "two")
        await peer.say(saying.result("first"))
        await peer.hear_prompt()
        receipt = await one.interrupt()
        assert receipt.outcome == "was_over"
        assert receipt.result is (await one).result
        assert not receipt.acknowledged
        assert receipt.steps == ()
        await peer.say(saying.result("second"))
        assert (await two).text == "second"
        assert interrupts(peer) == 0


async def test_next_prompt_waits_for_the_answer_to_an_interrupt() -> None:
    """The turn ends while the interrupt is in flight."""
    async with connected() as (session, peer):
        one, two = await prompted(peer, session, "one", "two")
        async with meanwhile(one.interrupt) as receipts:
            request = await peer.hear_request(Interrupt)
            await peer.say(saying.result())
            await one
            await anyio.wait_all_tasks_blocked()
            assert two.state is TurnState.HELD
            await peer.answer(request)
            await peer.hear_prompt()
        assert receipts[0].outcome == "was_over"
        assert receipts[0].acknowledged
        await peer.say(saying.result())
        assert (await two).ok


@simulated_time
async def test_overtaken_unsolicited_turn_is_left_alone() -> None:
    peer = Peer()
    with anyio.fail_after(SOON):
        session = await opened(peer)
        await peer.say(saying.text())
        unsolicited = await anext(session.unsolicited)
        turn = session.send("hello")
        await peer.hear_prompt()  # sent without waiting for the unsolicited turn any longer
        await peer.say(saying.lifecycle(turn.uuid, "started"), saying.text())
        await turn.started.wait()
        receipt = await unsolicited.interrupt()
        assert receipt.outcome == "not_stopped"
        assert receipt.steps == ()
        await heard_all(peer, session)
        assert interrupts(peer) == 1  # from the close


# --- in the queue of the CLI ----------------------------------------------------------------------


async def test_turn_in_the_queue_of_the_cli_is_withdrawn() -> None:
    async with connected() as (session, peer):
        one, two = await sent_early(peer, session)
        async with meanwhile(two.interrupt) as receipts:
            request = await peer.hear_request(CancelAsyncMessage)
            await peer.answer(request, CancelAsyncMessageResult(cancelled=True))
        assert receipts[0].outcome == "withdrawn"
        assert receipts[0].still_queued == (one,)
        assert interrupts(peer) == 0


async def test_turn_not_given_back_is_stopped_when_it_runs() -> None:
    async with connected() as (session, peer):
        one, two = await sent_early(peer, session)
        async with meanwhile(two.interrupt) as receipts:
            request = await peer.hear_request(CancelAsyncMessage)
            await peer.answer(request, CancelAsyncMessageResult(cancelled=False))
            await anyio.wait_all_tasks_blocked()
            await peer.say(saying.result(user_message_uuid=one.uuid))
            assert (await one).ok
            assert interrupts(peer) == 0
            await peer.say(saying.lifecycle(two.uuid, "started"))
            await peer.acknowledge()
            await peer.say(saying.result(is_error=True, user_message_uuid=two.uuid))
        assert receipts[0].outcome == "stopped"


@simulated_time
async def test_turn_that_never_begins_is_given_up_in_time() -> None:
    async with connected() as (session, peer):
        one, two = await sent_early(peer, session)
        receipt = await two.interrupt(timeout=3)
        assert receipt.outcome == "not_stopped"
        assert not one.is_over
        assert interrupts(peer) == 0


async def test_merged_turn_is_stopped_with_the_other() -> None:
    async with connected() as (session, peer):
        one, two = await sent_early(peer, session)
        await peer.say(saying.lifecycle(two.uuid, "started"))
        await two.started.wait()
        async with meanwhile(two.interrupt) as receipts:
            await peer.acknowledge()
            both = [one.uuid, two.uuid]
            await peer.say(saying.result(is_error=True, user_message_uuids=both))
        assert receipts[0].outcome == "stopped"
        assert one.is_over


# --- closing sessions -----------------------------------------------------------------------------


async def test_interrupt_during_a_close_waits_for_the_end() -> None:
    async with bounded(simulated(endless)) as session:
        turn = session.send("long")
        await has_spoken(turn)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.close)
            await soon(lambda: session.state == "closing")
            receipt = await turn.interrupt()
        assert receipt.outcome == "was_over"


# --- cancelled callers ----------------------------------------------------------------------------


async def test_interrupt_is_finished_without_its_caller() -> None:
    """A CLI that has not begun with the prompt needs a second interrupt."""
    async with connected() as (session, peer):
        turn = session.send("one")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await turn.interrupt()
        assert scope.cancelled_caught
        await peer.acknowledge()
        await peer.say(saying.init())
        await peer.acknowledge()
        await peer.say(saying.result(is_error=True))
        assert not (await turn).ok


# --- blocks ---------------------------------------------------------------------------------------


async def test_leaving_a_block_early_stops_the_turn(caplog: pytest.LogCaptureFixture) -> None:
    async with bounded(simulated(endless)) as session:
        async with session.turn("long") as turn:
            await has_spoken(turn)
        assert turn.is_over
        assert not (await turn).ok
        rest = [message async for message in turn]  # what was not read can still be read
        assert isinstance(rest[-1], ResultMessage)
        assert (await session.send("short")).ok
    assert not caplog.records


async def test_error_in_a_block_stops_the_turn_and_is_raised() -> None:
    async with bounded(simulated(endless)) as session:
        turns: list[Turn] = []

        async def fail() -> None:
            async with session.turn("long") as turn:
                turns.append(turn)
                await has_spoken(turn)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        assert turns[0].is_over


async def test_cancelled_scope_stops_the_turn_of_its_block() -> None:
    """Starlette cancels this way when the client disconnects."""
    async with bounded(simulated(endless)) as session:
        turns: list[Turn] = []
        async with anyio.create_task_group() as tasks:

            async def respond() -> None:
                async with session.turn("long") as turn:
                    turns.append(turn)
                    async for _ in turn:
                        pass

            tasks.start_soon(respond)
            await soon(lambda: turns and turns[0].messages)
            tasks.cancel_scope.cancel()
        assert turns[0].is_over
        assert (await session.send("short")).ok


async def test_closed_generator_stops_its_turn() -> None:
    async def pieces(session: Session) -> AsyncGenerator[str, None]:
        async with session.turn("long") as turn:
            async for piece in turn.iter_text():
                yield piece

    async with bounded(simulated(endless)) as session:
        async with aclosing(pieces(session)) as stream:
            assert await anext(stream) == "I begin."
            (turn,) = session.turns
        assert turn.is_over


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_task_cancelled_twice_stops_its_turn() -> None:
    async with connected() as (session, peer):

        async def respond() -> None:
            async with session.turn("one"):
                await asyncio.sleep(math.inf)

        task = asyncio.create_task(respond())
        await peer.hear_prompt()
        (turn,) = session.turns
        await peer.say(saying.text())
        await turn.started.wait()
        task.cancel()
        request = await peer.hear_request(Interrupt)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not turn.is_over
        await peer.answer(request)
        await peer.say(saying.result(is_error=True))
        assert not (await turn).ok


@simulated_time
async def test_leaving_a_block_is_limited_in_time(caplog: pytest.LogCaptureFixture) -> None:
    async with connected(timeouts=Timeouts(interrupt=3)) as (session, peer):
        start = anyio.current_time()
        async with session.turn("one") as turn:
            await peer.say(saying.text())
            await turn.started.wait()
        assert anyio.current_time() - start == pytest.approx(3)
        assert not turn.is_over
        assert "did not stop at the end of its block" in caplog.text


async def test_invalid_prompt_raises_where_the_block_begins() -> None:
    async with simulated(endless) as session:
        with pytest.raises(ValueError, match="use add_context"):
            async with session.turn("one", should_query=False):
                raise AssertionError
        assert session.turns == ()
