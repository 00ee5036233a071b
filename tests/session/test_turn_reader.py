"""A reader sees a turn from its beginning, whatever others have read."""

from __future__ import annotations

import gc
from itertools import zip_longest
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.peer import SOON
from tests.helpers.sessions import bounded, options
from tests.helpers.turns import TurnOwner, feed

from claudewire import sync
from claudewire.errors import TurnCancelled
from claudewire.session import Session, Turn, TurnReader
from claudewire.testing import Chat, SimulatedCLI
from claudewire.wire import AssistantMessage, Message, MessageStart, MessageStop, StreamEvent

pytestmark = pytest.mark.anyio

PARTIAL = ["--include-partial-messages", "--allowedTools=Read"]


async def look(chat: Chat) -> None:
    await chat.say("I'll have a look at it, and then tell you.")
    await chat.use("Read", {"file_path": "notes.txt"}, result="milk")
    await chat.say("It says milk, and nothing else.")


async def messages_of_a_turn() -> list[Message]:
    async with Session(options(), transport=SimulatedCLI(look, argv=PARTIAL)) as session:
        return [message async for message in session.send("hello")]


def fed(messages: list[Message], owner: TurnOwner | None = None) -> Turn[Any]:
    return feed((owner or TurnOwner()).turn(), messages)


async def text(reader: TurnReader | Turn[Any]) -> str:
    with anyio.fail_after(SOON):
        return "".join([piece async for piece in reader.iter_text()])


async def blocks(reader: TurnReader | Turn[Any]) -> dict[str, tuple[str, str, str]]:
    with anyio.fail_after(SOON):
        return {
            block.id: (block.kind, block.text, block.change) async for block in reader.iter_blocks()
        }


def still_needed(messages: list[Message]) -> list[Message]:
    """Return messages without the pieces of complete messages, for each speaker."""
    begins: dict[str | None, int] = {}
    for index, message in enumerate(messages):
        if isinstance(message, StreamEvent) and isinstance(message.event, MessageStart):
            begins[message.parent_tool_use_id] = index
        elif isinstance(message, StreamEvent) and isinstance(message.event, MessageStop):
            del begins[message.parent_tool_use_id]
    return [
        message
        for index, message in enumerate(messages)
        if not isinstance(message, StreamEvent)
        or begins.get(message.parent_tool_use_id, len(messages)) <= index
    ]


def is_an_end(message: Message) -> bool:
    return isinstance(message, StreamEvent) and isinstance(message.event, MessageStop)


@pytest.mark.parametrize("has_ends", [True, False])
async def test_reader_gets_the_pieces_of_unfinished_messages(has_ends: bool) -> None:
    mine = [it for it in (await messages_of_a_turn())[:-1] if has_ends or not is_an_end(it)]
    others = [
        replace(message, parent_tool_use_id="toolu_1")
        for message in mine
        if isinstance(message, StreamEvent | AssistantMessage)
    ]
    both = zip_longest(mine, [*[None] * 5, *others])
    messages = [message for pair in both for message in pair if message is not None]
    for count in range(len(messages) + 1):
        turn = fed(messages[:count])
        reader = turn.reader()
        read = [await anext(reader) for _ in range(reader.unread)]
        assert read == still_needed(messages[:count])


async def test_reader_sees_the_whole_turn_whenever_it_comes() -> None:
    messages = await messages_of_a_turn()
    assert len(messages) > 20
    expected_text, expected_blocks = await text(fed(messages)), await blocks(fed(messages))
    assert expected_text.endswith("It says milk, and nothing else.")
    for count in range(len(messages) + 1):
        turn = fed(messages[:count])
        readers = [turn.reader() for _ in range(3)]
        feed(turn, messages[count:])
        assert await text(readers[0]) == expected_text
        assert await blocks(readers[1]) == expected_blocks
        read = [message async for message in readers[2]]
        assert read == [*still_needed(messages[:count]), *messages[count:]]
        assert [message async for message in turn] == messages


@simulated_time
async def test_reader_follows_the_running_turn() -> None:
    async def slow(chat: Chat) -> None:
        await chat.say("One.")
        await chat.sleep(0.01)
        await chat.say("Two.")

    async with bounded(Session(options(), transport=SimulatedCLI(slow))) as session:
        turn = session.send("hello")
        async for first in turn.iter_text():
            assert first == "One."
            break
        assert await text(turn.reader()) == "One.\n\nTwo."
        assert await text(turn) == "Two."
        assert await text(turn.reader()) == "One.\n\nTwo."


async def test_reader_gets_a_broken_message_until_the_next() -> None:
    messages = await messages_of_a_turn()
    stop = next(
        index
        for index, message in enumerate(messages)
        if isinstance(message, StreamEvent) and isinstance(message.event, MessageStop)
    )
    broken = messages[: stop // 2]
    ended = fed([*broken, saying.result()])
    assert await text(ended.reader()) == await text(ended)
    again = fed([*broken, *messages])
    assert [message async for message in again.reader()] == list(again.messages)


async def test_whole_message_replaces_pieces_without_a_start() -> None:
    turn = fed([saying.delta("he"), saying.delta("llo"), saying.text("hello"), saying.result()])
    assert [message async for message in turn.reader()] == list(turn.messages)


async def test_failed_turn_ends_every_reader_with_its_error() -> None:
    turn = fed([saying.text("one")])
    before = turn.reader()
    turn._fail(TurnCancelled("It was dropped"))
    for reader in (before, turn.reader()):
        with pytest.raises(TurnCancelled):
            await text(reader)


async def test_unread_messages_of_readers_are_counted() -> None:
    owner = TurnOwner()
    unread = owner.unread
    turn = fed([saying.text(), saying.result()], owner)
    assert unread.count == 2
    reader = turn.reader()
    assert (unread.count, reader.unread, turn.unread) == (4, 2, 2)
    await anext(reader)
    assert (unread.count, reader.unread) == (3, 1)
    del reader
    gc.collect()
    assert unread.count == 2
    view = turn.reader().iter_text()
    gc.collect()
    assert unread.count == 4
    del view, turn
    gc.collect()
    assert unread.count == 0


def test_blocking_reader_sees_the_whole_turn() -> None:
    with sync.open(options(), transport=SimulatedCLI(look, argv=PARTIAL)) as claude:
        turn = claude.send("hello")
        said = "".join(turn.iter_text(timeout=SOON))
        assert "".join(turn.reader().iter_text(timeout=SOON)) == said
        assert [block.kind for block in turn.reader().iter_blocks(timeout=SOON)]
        reader = turn.reader()
        assert reader.unread == len(turn.messages)
        assert list(reader) == list(turn.messages)
