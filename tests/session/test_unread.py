"""However much is unread, nothing stops: not the reader, not a permission, not an interrupt."""

from __future__ import annotations

import gc

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import messages as saying
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import allow, opened, soon

from claudewire.options import Unread
from claudewire.session import UnreadLimitReached
from claudewire.wire import Answer, AssistantMessage, CanUseTool, PermissionResultAllow

pytestmark = pytest.mark.anyio

LONG = 300.0
"""For a hundred thousand lines on a slow machine."""


@pytest.mark.parametrize("count", [150, 1_000, 100_000])
async def test_with_messages_unread_all_goes_on(count: int) -> None:
    """A permission is answered and an interrupt acknowledged, although nobody reads."""
    peer = Peer()
    session = await opened(peer, on_permission=allow, unread=Unread(high_water=count))
    events = session.events(limit=10)
    with anyio.fail_after(LONG):
        turn = session.send("go")
        await peer.hear_prompt()
        line = peer.connection.send(saying.text("word"))
        await peer.write(line * count)
        await peer.ask(CanUseTool("Bash", {"command": "ls"}, tool_use_id="toolu_1"))
        assert isinstance((await peer.hear(Answer)).body, PermissionResultAllow)
        assert session.unread == turn.unread == count
        assert UnreadLimitReached(count) in events.take()
        async with anyio.create_task_group() as tasks:

            async def interrupt() -> None:
                receipt = await session.interrupt()
                assert receipt.acknowledged
                assert receipt.turn is turn

            tasks.start_soon(interrupt)
            await peer.acknowledge()
            await peer.say(saying.result(subtype="error_during_execution"))
        # and nothing is lost
        assert len([message async for message in turn]) == count + 1
        assert session.unread == 0
        await session.close()


async def test_a_turn_that_nobody_holds_is_not_unread_although_its_end_was_waited_for() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("go")
        await peer.hear_prompt()
        await peer.say(saying.text("word"), saying.state("idle"))  # before the result
        await soon(lambda: session._core.conversation.ending is not None)
        await peer.say(saying.result())
        assert (await turn).ok
        assert session.unread == 3
        del turn
        await anyio.wait_all_tasks_blocked()
        gc.collect()
        assert session.unread == 0
        await session.close()


async def test_pieces_go_when_nobody_reads_and_that_is_wanted() -> None:
    peer = Peer()
    session = await opened(peer, unread=Unread(high_water=100, policy="drop_partial"))
    with anyio.fail_after(SOON):
        turn = session.send("go")
        await peer.hear_prompt()
        await peer.write(peer.connection.send(saying.delta("x")) * 1000)
        whole = [saying.text("x" * 1000), saying.result()]
        await peer.say(*whole)
        reply = await turn
        assert session.unread == 102
        assert session._core.unread.dropped == 900
        assert reply.blocks[0].text == "x" * 1000  # type: ignore[union-attr]
        assert "".join([text async for text in turn.iter_text()]) == "x" * 1000
        await session.close()


async def test_a_slow_reader_gets_all_of_it() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("go")
        await peer.hear_prompt()
        got = []
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                async for message in turn:
                    for _ in range(3):
                        await anyio.lowlevel.checkpoint()
                    got.append(message)

            tasks.start_soon(read)
            for number in range(500):
                await peer.say(saying.text(str(number)))
            await peer.say(saying.result())
        texts = [it.text for it in got if isinstance(it, AssistantMessage)]
        assert texts == [str(number) for number in range(500)]
        await soon(lambda: session.unread == 0)
        await session.close()
