"""A turn by itself: a stream that can be read in several ways, and a promise of a reply."""

from __future__ import annotations

import gc
from contextlib import nullcontext
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import api_messages
from tests.helpers import messages as saying

from claudewire.errors import (
    Error,
    OutputError,
    SessionClosed,
    TurnCancelled,
    TurnError,
    TurnStalled,
)
from claudewire.options import Unread
from claudewire.session import Turn
from claudewire.session.turn import UnreadCount
from claudewire.wire import Message, ResultMessage

SOON = 60.0


def counting(unread: Unread | None = None) -> tuple[UnreadCount, list[int]]:
    alarms: list[int] = []
    return UnreadCount(unread or Unread(), alarms.append), alarms


def asked(unread: UnreadCount | None = None, **how: Any) -> Turn[Any]:
    return Turn(saying.prompt(), unread or counting()[0], **how)


async def read(turn: Turn[Any]) -> list[Message]:
    with anyio.fail_after(SOON):
        return [message async for message in turn]


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_messages_come_in_order_and_the_result_last() -> None:
    turn = asked()
    said, ended = saying.text(), saying.result()
    turn._begin()
    turn._push(said)
    turn._finish(ended)
    assert await read(turn) == [said, ended]
    assert await read(turn) == []


@pytest.mark.anyio
async def test_a_reader_waits_for_what_has_not_come() -> None:
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
async def test_leaving_a_loop_early_loses_nothing() -> None:
    turn = asked()
    first, second = saying.text(), saying.text()
    turn._push(first)
    turn._push(second)
    async for message in turn:
        assert message is first
        break
    turn._finish(saying.result())
    assert (await read(turn))[0] is second
    assert turn.messages[:2] == (first, second)


@pytest.mark.anyio
async def test_a_reader_that_is_cancelled_loses_nothing() -> None:
    turn = asked()
    with anyio.move_on_after(0) as scope:
        await anext(turn)
    assert scope.cancelled_caught
    said = saying.text()
    turn._push(said)
    assert await anext(turn) is said


@pytest.mark.anyio
async def test_a_reader_with_much_to_read_lets_others_go_on() -> None:
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
async def test_text_comes_in_pieces_and_none_of_them_twice() -> None:
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
        assert [it async for it in turn.iter_text()] == ["Good ", "morn", "ing", "No pieces"]


@pytest.mark.anyio
async def test_blocks_come_whenever_they_have_changed() -> None:
    turn = asked()
    for message in (saying.block_start(), saying.delta("Hel"), saying.text("Hello")):
        turn._push(message)
    turn._finish(saying.result())
    with anyio.fail_after(SOON):
        blocks = [block async for block in turn.iter_blocks()]
    assert blocks[-1].text == "Hello"
    assert len(blocks) > 1


@pytest.mark.anyio
async def test_blocks_that_come_in_one_message_are_read_one_after_the_other() -> None:
    turn = asked()
    turn._push(api_messages.whole("one", "two", "three"))
    turn._push(api_messages.whole("four", "five", id="m2"))
    turn._finish(saying.result())
    with anyio.fail_after(SOON):
        texts = [block.text async for block in turn.iter_blocks()]
    assert texts == ["one", "two", "three", "four", "five"]


# --- its end --------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_reply_needs_no_reader() -> None:
    turn = asked()
    said, ended = saying.text("thinking"), saying.result("the answer")

    async def work() -> None:
        turn._begin()
        turn._push(saying.delta())
        turn._push(said)
        turn._finish(ended)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            reply = await turn
    assert reply.result is ended
    assert reply.text == "the answer"
    assert reply.messages == (said, ended)
    assert turn.unread == 3
    assert turn.started.is_set()
    assert await turn is reply


@pytest.mark.anyio
async def test_a_turn_that_will_have_no_result_raises_why() -> None:
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
async def test_the_first_end_is_the_end() -> None:
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
async def test_a_doomed_turn_fails_whatever_its_result() -> None:
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


@pytest.mark.anyio
async def test_output_is_read_from_the_result() -> None:
    def read_output(result: ResultMessage) -> str:
        if result.structured_output is None:
            raise OutputError("There is none", text=result.text, result=result)
        return str(result.structured_output)

    good, bad = asked(read_output=read_output), asked(read_output=read_output)
    good._finish(saying.result(structured_output=42))
    bad._finish(saying.result())
    assert (await good).output == "42"
    assert bad.state == "done"
    with pytest.raises(OutputError, match="There is none"):
        await bad


@pytest.mark.anyio
async def test_a_turn_that_nobody_asked_for_is_running_from_the_start() -> None:
    turn: Turn[Any] = Turn(None, counting()[0])
    assert turn.state == "running"
    assert turn.started.is_set()
    assert not turn.was_asked_for
    assert turn.uuid is None
    assert "unsolicited running" in repr(turn)
    assert await turn.cancel() is False


@pytest.mark.anyio
async def test_to_cancel_asks_whoever_has_it() -> None:
    asked_for: list[Turn[Any]] = []

    async def withdraw(turn: Turn[Any]) -> bool:
        asked_for.append(turn)
        turn._fail(TurnCancelled("Taken back"))
        return True

    turn = asked(withdraw=withdraw)
    assert await turn.cancel() is True
    assert await turn.cancel() is True
    assert asked_for == [turn]
    over = asked(withdraw=withdraw)
    over._finish(saying.result())
    assert await over.cancel() is False


# --- what is unread -------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_what_is_unread_is_counted() -> None:
    unread, alarms = counting(Unread(high_water=3))
    turns = [asked(unread), asked(unread)]
    for turn in turns:
        turn._push(saying.text())
        turn._push(saying.text())
    assert unread.count == 4
    assert alarms == [3]
    await anext(turns[0])
    assert (turns[0].unread, turns[1].unread, unread.count) == (1, 2, 3)
    assert "unread=1" in repr(turns[0])


def test_what_nobody_can_read_any_more_is_not_unread() -> None:
    unread, _ = counting()
    turn = asked(unread)
    turn._push(saying.text())
    del turn
    gc.collect()
    assert unread.count == 0


@pytest.mark.anyio
async def test_the_alarm_comes_once_until_much_has_been_read() -> None:
    unread, alarms = counting(Unread(high_water=4))
    turn = asked(unread)

    async def push_and_read(pushed: int, read: int) -> None:
        for _ in range(pushed):
            turn._push(saying.text())
        for _ in range(read):
            await anext(turn)

    await push_and_read(10, read=8)
    await push_and_read(2, read=3)
    assert alarms == [4]
    await push_and_read(3, read=0)
    assert alarms == [4, 4]


def test_turns_that_are_read_to_their_end_are_no_longer_looked_at() -> None:
    unread, _ = counting()
    turns = [asked(unread) for _ in range(3)]
    turns[0]._finish(saying.result())
    turns[1]._finish(saying.result())
    turns[0]._queue.take_all()
    turns.append(asked(unread))
    assert unread.count == 1
    assert len(unread._readings) == 3


def test_all_is_kept_unless_pieces_may_go() -> None:
    unread, _ = counting(Unread(high_water=1))
    turn = asked(unread)
    for _ in range(5):
        turn._push(saying.delta())
    assert (turn.unread, unread.dropped) == (5, 0)


@pytest.mark.anyio
async def test_of_a_message_only_the_end_is_dropped() -> None:
    """Else whoever puts pieces together would have a text with holes in it, and then all again."""
    unread, _ = counting(Unread(high_water=3, policy="drop_partial"))
    turn = asked(unread)
    pieces = turn.iter_text()
    turn._push(saying.block_start())
    turn._push(saying.delta("a"))
    turn._push(saying.delta("b"))
    turn._push(saying.delta("c"))  # there are three already
    with anyio.fail_after(SOON):
        assert [await anext(pieces), await anext(pieces)] == ["a", "b"]
        turn._push(saying.delta("d"))  # there is room, but c is missing
        assert unread.dropped == 2
        turn._push(saying.delta("other", parent_tool_use_id="toolu_0"))
        assert unread.dropped == 2
        turn._push(saying.text("abcd"))
        turn._push(saying.delta("e"))
        turn._finish(saying.result())
        assert [it async for it in pieces] == ["cd", "e"]


@given(
    words=st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=20),
    high_water=st.integers(1, 8),
    reads=st.lists(st.booleans(), max_size=40),
)
def test_whatever_is_dropped_the_text_is_whole(
    words: list[str], high_water: int, reads: list[bool]
) -> None:
    async def check() -> None:
        unread, _ = counting(Unread(high_water=high_water, policy="drop_partial"))
        turn = asked(unread)
        pieces, got, plan = turn.iter_text(), "", iter(reads)

        for text in words:
            turn._push(saying.block_start())
            for letter in text:
                turn._push(saying.delta(letter))
                if next(plan, False) and turn.unread:
                    with anyio.move_on_after(0):
                        got += await anext(pieces)
            turn._push(saying.text(text))
        turn._finish(saying.result())
        assert got + "".join([it async for it in pieces]) == "".join(words)

    anyio.run(check)


# --- every end is seen by all ---------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("error", [None, TurnCancelled("Taken back"), SessionClosed("It is over")])
async def test_the_end_wakes_all_who_wait(error: Error | None) -> None:
    turn, woken = asked(), 0

    async def wait_for(what: str) -> None:
        nonlocal woken
        if what == "start":
            await turn.started.wait()
        else:
            with nullcontext() if error is None else pytest.raises(type(error)):
                await (turn if what == "reply" else read(turn))
        woken += 1

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for what in ("reply", "message", "start") * 2:
                tasks.start_soon(wait_for, what)
            await anyio.lowlevel.checkpoint()
            if error is None:
                turn._finish(saying.result())
            else:
                turn._fail(error)
    assert woken == 6
