"""A turn: its messages, its text and its reply."""

from __future__ import annotations

import gc
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import messages as saying
from tests.helpers.turns import TurnOwner

from claudewire.errors import SessionClosed, TurnCancelled, TurnError, TurnStalled
from claudewire.options import UnreadLimit
from claudewire.session import Turn
from claudewire.wire import Message

SOON = 60.0


def asked(owner: TurnOwner | None = None, read_output: Any = None) -> Turn[Any]:
    return (owner or TurnOwner()).turn(read_output)


async def read(turn: Turn[Any]) -> list[Message]:
    with anyio.fail_after(SOON):
        return [message async for message in turn]


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_each_message_goes_to_one_of_several_loops() -> None:
    turn = asked()
    read_by: dict[str, list[Message]] = {"one": [], "other": []}

    async def reader(name: str) -> None:
        async for message in turn:
            read_by[name].append(message)

    said, ended = [saying.text() for _ in range(5)], saying.result()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader, "one")
            tasks.start_soon(reader, "other")
            for message in said:
                await anyio.lowlevel.checkpoint()
                turn._push(message)
            turn._finish(ended)
    together = [*read_by["one"], *read_by["other"]]
    assert {id(it) for it in together} == {id(it) for it in (*said, ended)}
    assert len(together) == 6


@pytest.mark.anyio
async def test_loop_over_many_messages_lets_other_tasks_run() -> None:
    turn = asked()
    for _ in range(5000):
        turn._push(saying.delta())
    turn._finish(saying.result())
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.lowlevel.checkpoint()
            ticks += 1

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tick)
            async for _ in turn:
                pass
            tasks.cancel_scope.cancel()
    assert ticks >= 10


@pytest.mark.anyio
async def test_iter_text_yields_each_piece_once() -> None:
    turn = asked()
    for message in (
        saying.block_start(),
        saying.delta("Good "),
        saying.delta("of a subagent", parent_tool_use_id="toolu_0"),
        saying.delta("morn"),
        saying.text("Good morning"),
        saying.text("of a subagent", parent_tool_use_id="toolu_0"),
        saying.tool_use(),
        saying.tool_result(),
        saying.text("No pieces"),
    ):
        turn._push(message)
    turn._finish(saying.result())
    with anyio.fail_after(SOON):
        assert [it async for it in turn.iter_text()] == ["Good ", "morn", "ing", "\n\nNo pieces"]


# --- its end --------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_failed_turn_raises_after_its_messages() -> None:
    turn, why = asked(), SessionClosed("It is over")
    said = saying.text()
    turn._push(said)
    turn._fail(why)
    assert turn.state == "failed"
    with pytest.raises(SessionClosed) as caught:
        await turn
    assert caught.value is why
    # What had come can still be read.
    assert await anext(turn) is said
    with pytest.raises(SessionClosed):
        await anext(turn)


@pytest.mark.anyio
async def test_first_end_of_a_turn_counts() -> None:
    done, cancelled = asked(), asked()
    done._finish(saying.result("first"))
    done._finish(saying.result("second"))
    done._fail(TurnError("too late"))
    done._begin()
    assert done.state == "done"
    assert (await done).text == "first"
    cancelled._fail(TurnCancelled("Taken back"))
    cancelled._finish(saying.result())
    assert cancelled.state == "cancelled"
    assert cancelled.messages == ()


@pytest.mark.anyio
async def test_turn_marked_to_fail_ignores_its_result() -> None:
    why = TurnStalled("Nothing happened")
    turns = [asked(), asked(), asked()]
    for turn in turns:
        turn._fail_at_end(why)
        turn._fail_at_end(TurnError("another reason"))
    turns[0]._finish(saying.result())
    turns[1]._fail(SessionClosed("It is over"))
    turns[2]._fail(TurnCancelled("Dropped"))
    for turn in turns:
        assert turn.is_over
        with pytest.raises(TurnStalled) as caught:
            await turn
        assert caught.value is why
    assert turns[0].state is turns[1].state == "failed"


# --- unread messages ------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_unread_limit_is_reported_once_until_half_is_read() -> None:
    owner = TurnOwner(UnreadLimit(high_water=4))
    turns = [asked(owner), asked(owner)]

    async def push_and_read(pushed: int, read: int) -> None:
        for _ in range(pushed):
            for turn in turns:
                turn._push(saying.text())
        for _ in range(read):
            await anext(turns[0])

    await push_and_read(5, read=4)
    assert owner.unread.count == 6
    assert (turns[0].unread, turns[1].unread) == (1, 5)
    turns.pop()
    gc.collect()
    assert owner.unread.count == 1
    await push_and_read(2, read=3)
    assert owner.alarms == [4]
    await push_and_read(4, read=0)
    assert owner.alarms == [4, 4]
