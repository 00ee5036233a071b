"""Output of a turn is handled all at once where that is safe, with the same outcome."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import messages as saying
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import opened

from claudewire.options import Unread
from claudewire.session import Turn
from claudewire.session.conversation import Conversation
from claudewire.session.turn import PIECES, UnreadCount
from claudewire.wire import (
    APIMessage,
    Connection,
    InitMessage,
    Message,
    MessageStart,
    MessageStop,
    Role,
    StreamEvent,
    ToolProgressMessage,
)

AGENTS = [None, None, "toolu_agent"]
PROMPT = saying.prompt()
OTHER = saying.prompt()
FIRST = saying.text(user_message_uuid=PROMPT.uuid)


def message_start(**fields: Any) -> StreamEvent:
    message = APIMessage(id="msg", model="m", role="assistant", content=[], usage=None)
    return StreamEvent(event=MessageStart(message), uuid=saying.unique(), **fields)


def message_stop(**fields: Any) -> StreamEvent:
    return StreamEvent(event=MessageStop(), uuid=saying.unique(), **fields)


def progress(**fields: Any) -> ToolProgressMessage:
    return ToolProgressMessage(
        tool_use_id="toolu_1", tool_name="Bash", elapsed_time_seconds=1, uuid=saying.unique()
    )


@st.composite
def output(draw: st.DrawFn) -> Message:
    """Anything that a CLI may say in a turn, most of it pieces of text."""
    agent = draw(st.sampled_from(AGENTS))
    name = draw(st.sampled_from([None, None, None, PROMPT.uuid, OTHER.uuid, "of no prompt"]))
    said: dict[str, Any] = {"parent_tool_use_id": agent, "user_message_uuid": name}
    kind = draw(st.integers(0, 11))
    match kind:
        case 0:
            return message_start(**said)
        case 1:
            return message_stop(**said)
        case 2:
            return saying.block_start(**said)
        case 3 | 4:
            return saying.text(**said)
        case 5:
            replay = draw(st.sampled_from([None, None, True]))
            return saying.tool_result(parent_tool_use_id=agent, is_replay=replay)
        case 6:
            return progress()
        case 7:
            return draw(st.sampled_from([saying.state("idle"), saying.state("running")]))
        case 8:
            return InitMessage(uuid=saying.unique())
        case _:
            return saying.delta(**said)


class Books:
    """A conversation with two prompts, of which the CLI has begun with the first."""

    def __init__(self, *, narrates: bool) -> None:
        self.unread = UnreadCount(Unread(), lambda count: None)
        self.unsolicited: list[Turn[Any]] = []
        self.conversation = Conversation(self.unread, self.unsolicited.append)
        self.conversation.narrates = narrates
        self.turns: list[Turn[Any]] = [Turn(prompt, self.unread) for prompt in (PROMPT, OTHER)]
        for turn in self.turns:
            self.conversation.hold(turn)
            self.conversation.take()
        self.conversation.route(FIRST)

    def outcome(self) -> list[Any]:
        talk = self.conversation
        turns = [*self.turns, *self.unsolicited]
        current = None if talk.current is None else turns.index(talk.current)
        of_all = [current, talk.spoken, talk.is_busy, talk.ending is None, self.unread.count]
        return of_all + [
            (turn.state, turn.messages, turn._queue.take_all(), turn._history.messages)
            for turn in turns
        ]


@given(
    batches=st.lists(st.lists(output(), min_size=1, max_size=8), max_size=6), narrates=st.booleans()
)
def test_many_at_once_mean_the_same_as_one_by_one(
    batches: list[list[Message]], narrates: bool
) -> None:
    together, apart = Books(narrates=narrates), Books(narrates=narrates)
    for batch in batches:
        added = together.conversation.add(batch)
        for message in batch:
            apart.conversation.route(message)
            if added is None:
                together.conversation.route(message)
    assert together.outcome() == apart.outcome()


def test_what_just_goes_on_is_added_at_once() -> None:
    books = Books(narrates=False)
    said = [saying.delta(), saying.text(user_message_uuid=PROMPT.uuid), saying.tool_result()]
    assert books.conversation.add(said) == [(1, said[1]), (2, said[2])]
    of_subagent = saying.delta(parent_tool_use_id="toolu_1")
    assert books.conversation.add([saying.delta(), of_subagent]) == [(1, of_subagent)]
    assert books.conversation.add([saying.delta(user_message_uuid=OTHER.uuid)]) is None
    assert books.conversation.add([saying.text(user_message_uuid=OTHER.uuid)]) is None
    assert books.conversation.add([saying.tool_result(is_replay=True)]) is None
    assert books.conversation.add([saying.delta(), saying.state("running")]) is None
    assert (
        books.conversation.add([saying.delta(), *Connection(Role.CLIENT).receive_data(b"noise\n")])
        is None
    )


def test_the_pieces_of_complete_messages_take_no_memory() -> None:
    books = Books(narrates=False)
    for _ in range(20):
        said: list[Message] = [saying.delta() for _ in range(PIECES)]
        books.conversation.add([message_start(), *said, saying.text(), message_stop()])
    history = books.turns[0]._history
    assert len(history._recent) <= 2 * PIECES
    assert len(history.messages) == 21
    books.conversation.add([saying.delta()] * 3)
    assert len(history.messages) == 24


@pytest.mark.anyio
async def test_a_line_may_arrive_in_halves_in_the_middle_of_a_turn() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        turn = session.send("go")
        await peer.hear_prompt()
        await peer.say(saying.text("one"))
        assert (await anext(turn)).line
        line = peer.connection.send(saying.delta("two"))
        await peer.write(line[:40])
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        await peer.write(line[40:])
        await peer.say(saying.result())
        assert (await anext(turn)).line == line.strip()
        assert (await turn).ok
        await session.close()
