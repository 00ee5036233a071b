"""The turn of each message, with CLIs that report much, little or nothing about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import anyio
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.helpers import messages as saying
from tests.helpers.examples import examples
from tests.helpers.turns import TurnOwner

from claudewire.errors import TurnCancelled, TurnError
from claudewire.session import Turn, TurnState
from claudewire.session.conversation import Conversation
from claudewire.wire import HumanOrigin, InitMessage, Message, ResultMessage, UserMessage

AnyTurn = Turn[Any]


class Books:
    """A conversation with its input and output."""

    def __init__(self) -> None:
        self.owner = TurnOwner()
        self.unsolicited = self.owner.unsolicited
        self.notices: list[Message] = []
        self.conversation = Conversation(self.owner.core)

    def send(self, **fields: Any) -> AnyTurn:
        turn: AnyTurn = Turn(saying.prompt(**fields), self.owner.core)
        self.conversation.hold(turn)
        return turn

    def sent(self, **fields: Any) -> AnyTurn:
        """Send a prompt that goes to the CLI at once."""
        turn = self.send(**fields)
        assert self.conversation.take() is turn
        return turn

    def say(self, *messages: Message) -> None:
        for message in messages:
            turn = self.conversation.route(message)
            self.conversation.infer_end()
            if turn is None and not isinstance(message, ResultMessage):
                self.notices.append(message)


@pytest.fixture
def books() -> Books:
    return Books()


# --- any CLI, in any order ------------------------------------------------------------------------


class Manner(NamedTuple):
    """The facts by which a CLI assigns its messages to turns."""

    reports: bool = False
    """It reports the progress of prompts."""
    names: bool = False
    """Its output and its results name the prompts."""
    replays: bool = False
    """It repeats a prompt at the beginning of its turn."""
    tells_origin: bool = True
    """It marks the results of unsolicited turns."""


MANNERS = [
    Manner(reports=True, names=True),
    Manner(reports=True, names=True, replays=True),
    Manner(reports=True),
    Manner(names=True),
    Manner(names=True, replays=True),
    Manner(replays=True),
    Manner(),
    Manner(tells_origin=False),
]


@dataclass(eq=False)
class Work:
    """A turn of the CLI: the prompts that it answers, none if unsolicited."""

    prompts: list[UserMessage] = field(default_factory=list)
    by_itself: bool = False
    ambiguous: bool = False
    """The turn may still be that of a prompt in flight."""
    has_spoken: bool = False
    """An unsolicited turn shows only by its output."""


class AnyCLI(RuleBasedStateMachine):
    """A CLI that does anything a CLI may do, and a conversation that follows it.

    `expected` says for each message whose it must be: a prompt's, a turn that nobody asked for,
    or `UNSURE` where the wire does not tell and any one of them will do.
    """

    UNSURE = "unsure"

    def __init__(self) -> None:
        super().__init__()
        self.books = Books()
        self.turns: dict[str | None, AnyTurn] = {}
        self.on_the_way: list[UserMessage] = []
        self.queue: list[UserMessage] = []
        self.work: Work | None = None
        self.expected: list[tuple[Message, object]] = []
        self.results: dict[str | None, ResultMessage] = {}
        self.wake_ups: list[ResultMessage] = []
        self.cancelled: set[str | None] = set()

    @initialize(manner=st.sampled_from(MANNERS))
    def begin(self, manner: Manner) -> None:
        self.manner = manner

    # --- the application ---

    @rule(priority=st.sampled_from([None, None, "now", "next", "later"]))
    def send(self, priority: str | None) -> None:
        turn = self.books.send(priority=priority)
        self.turns[turn.uuid] = turn
        self.settle()

    @rule(index=st.integers(0, 5))
    def cancel(self, index: int) -> None:
        """Withdraw a prompt that has not begun, here or by a request to the CLI."""
        candidates = [*self.books.conversation.held, *(self.turns[it.uuid] for it in self.queue)]
        if index < len(candidates):
            turn = candidates[index]
            self.queue = [it for it in self.queue if it.uuid != turn.uuid]
            self.cancelled.add(turn.uuid)
            if turn.state == "sent" and self.manner.reports:
                self.say(saying.lifecycle(turn.uuid, "cancelled"), turn.uuid)
            self.books.conversation.drop(turn, TurnCancelled("Taken back"))
            self.settle()

    def settle(self) -> None:
        while (turn := self.books.conversation.take()) is not None:
            assert turn.prompt is not None
            self.on_the_way.append(turn.prompt)
            if self.work is not None and self.work.by_itself and not self.work.has_spoken:
                self.work.ambiguous |= not self.books.conversation.reports_progress

    # --- the CLI ---

    def say(self, message: Message, whose: object) -> None:
        self.expected.append((message, whose))
        self.books.say(message)
        self.settle()

    @rule()
    @precondition(lambda self: self.on_the_way)
    def hear(self) -> None:
        heard = self.on_the_way.pop(0)
        self.queue.append(heard)
        if self.manner.reports:
            self.say(saying.lifecycle(heard.uuid, "queued"), heard.uuid)

    @rule(index=st.integers(0, 3))
    @precondition(lambda self: self.work is None and self.queue)
    def begin_with_a_prompt(self, index: int = 0) -> None:
        """Begin the first queued prompt, or one that overtook it."""
        taken = self.queue.pop(min(index, len(self.queue) - 1))
        self.work = Work([taken])
        self.tell_begun(taken)
        self.say(saying.init(), self.whose())

    @rule()
    @precondition(lambda self: self.work is None)
    def begin_by_itself(self) -> None:
        waits = bool(self.queue or self.on_the_way)
        knows = self.books.conversation.reports_progress
        if waits and not self.manner.tells_origin:
            return  # nothing on the wire would ever tell the two apart
        self.work = Work(by_itself=True, ambiguous=waits and not knows)
        self.say(saying.init(), self.UNSURE)  # which announces a turn, and is not part of one
        if not self.manner.tells_origin:
            # A prompt that is sent before there is output would be taken for its reason.
            self.speak(saying.text)

    def tell_begun(self, taken: UserMessage) -> None:
        if self.manner.reports:
            self.say(saying.lifecycle(taken.uuid, "started"), taken.uuid)
        if self.manner.replays:
            # Without output so far, the turn of the repeated prompt is unknown.
            self.say(saying.prompt(uuid=taken.uuid, is_replay=True), self.UNSURE)

    @rule()
    @precondition(lambda self: self.work is not None and self.manner.names and self.queue)
    def take_a_prompt_in(self) -> None:
        """A prompt that waits is read in the middle of the running turn."""
        assert self.work is not None
        taken = self.queue.pop(0)
        self.work.prompts.append(taken)
        self.tell_begun(taken)

    @rule()
    @precondition(lambda self: self.manner.reports and self.queue)
    def discard(self) -> None:
        gone = self.queue.pop(0)
        self.cancelled.add(gone.uuid)
        self.say(saying.lifecycle(gone.uuid, "discarded"), gone.uuid)

    @rule(kind=st.sampled_from([saying.text, saying.delta, saying.block_start, saying.tool_use]))
    @precondition(lambda self: self.work is not None)
    def speak(self, kind: Callable[..., Message]) -> None:
        assert self.work is not None
        named = self.work.prompts[0].uuid if self.work.prompts and self.manner.names else None
        self.work.has_spoken = True
        self.say(kind(user_message_uuid=named), self.whose())

    @rule(kind=st.sampled_from([saying.tool_result, saying.status, saying.keep_alive]))
    @precondition(lambda self: self.work is not None)
    def do_something_else(self, kind: Callable[[], Message]) -> None:
        assert self.work is not None
        self.work.has_spoken = self.work.has_spoken or kind is saying.tool_result
        self.say(kind(), self.whose())

    @rule(kind=st.sampled_from([saying.status, saying.keep_alive]))
    @precondition(lambda self: self.work is None)
    def remark(self, kind: Callable[[], Message]) -> None:
        self.say(kind(), self.UNSURE)

    @rule()
    @precondition(lambda self: self.work is None)
    def speak_for_a_subagent(self) -> None:
        """Background tasks write between turns, without a result."""
        self.say(saying.text(parent_tool_use_id="toolu_0"), self.UNSURE)

    @rule()
    @precondition(lambda self: self.work is not None)
    def end_turn(self) -> None:
        assert self.work is not None
        work, self.work = self.work, None
        names = [it.uuid for it in work.prompts] if self.manner.names else []
        fields: dict[str, Any] = {}
        if names:
            fields = {"user_message_uuid": names[0], "user_message_uuids": names}
        if not work.prompts and self.manner.tells_origin:
            ended = saying.wake_up_result(**fields)
        else:
            ended = saying.result(**fields)
        for it in work.prompts:
            self.results[it.uuid] = ended
        if not work.prompts:
            self.wake_ups.append(ended)
        self.books.say(ended)
        self.settle()
        if self.manner.reports:
            for it in work.prompts:
                self.say(saying.lifecycle(it.uuid, "completed"), self.UNSURE)

    def whose(self) -> object:
        assert self.work is not None
        if self.work.ambiguous or (self.work.by_itself and self.work.prompts):
            return self.UNSURE
        if self.work.by_itself and not self.work.has_spoken:
            return self.UNSURE
        return self.work.prompts[0].uuid if self.work.prompts else self.work

    # --- what must be true ---

    def teardown(self) -> None:
        self.finish()
        self.check_turns()
        anyio.run(self.check_messages)

    def finish(self) -> None:
        while self.on_the_way or self.queue or self.work is not None:
            if self.on_the_way:
                self.hear()
            elif self.work is None:
                self.begin_with_a_prompt()
            else:
                self.end_turn()

    def check_turns(self) -> None:
        assert not self.books.conversation.is_busy
        assert not self.books.conversation.held
        for uuid, turn in self.turns.items():
            if uuid in self.cancelled:
                assert turn.state == "cancelled"
            else:
                assert turn.state == "done"
                assert turn.messages[-1] is self.results[uuid]
        # Each unsolicited turn was delivered once, and has ended.
        for turn in self.books.unsolicited:
            assert turn.is_over
        ends = [turn.messages[-1] for turn in self.books.unsolicited]
        for result in self.wake_ups:
            assert sum(end is result for end in ends) == 1

    async def check_messages(self) -> None:
        """Each message is in one turn, or among the notices, and in no wrong one."""
        # An `init` without a turn is a notice; if a turn follows, it is also that turn's first.
        notices = [it for it in self.books.notices if not isinstance(it, InitMessage)]
        places = {id(it): ["notices"] for it in notices}
        assert len(places) == len(notices)
        for turn in (*self.turns.values(), *self.books.unsolicited):
            for message in await everything(turn):
                if not isinstance(message, ResultMessage):
                    places.setdefault(id(message), []).append(turn.uuid or "unsolicited")
        for message, whose in self.expected:
            place = places.get(id(message), ["notices"])
            assert len(place) == 1, (message, place)
            if isinstance(whose, Work):
                assert place == ["unsolicited"], message
            elif whose != self.UNSURE:
                assert place == [whose], message


async def everything(turn: AnyTurn) -> list[Message]:
    """All messages of a turn that is over."""
    messages = []
    try:
        async for message in turn:
            messages.append(message)
    except TurnError:
        pass
    return messages


TestAnyCLI = AnyCLI.TestCase
TestAnyCLI.settings = settings(examples(6), stateful_step_count=40)


# --- single cases, which say what the rules above mean --------------------------------------------


def test_priority_needs_a_cli_that_reports_its_progress(books: Books) -> None:
    first, second = books.sent(), books.send(priority="now")
    assert books.conversation.take() is None
    books.say(saying.lifecycle(first.uuid, "queued"))
    assert books.conversation.reports_progress
    assert books.conversation.take() is second


def test_result_with_human_origin_ends_the_prompt(books: Books) -> None:
    turn = books.sent()
    books.say(saying.result(origin=HumanOrigin()))
    assert turn.is_over


def test_unsolicited_turn_may_take_a_prompt_in(books: Books) -> None:
    books.say(saying.lifecycle("of another", "queued"), saying.text())
    turn = books.send(priority="next")
    books.conversation.take()
    books.say(saying.wake_up_result(user_message_uuids=[turn.uuid]))
    (other,) = books.unsolicited
    assert turn.merged
    assert other.messages[-1] is turn.messages[-1]


def test_idle_cli_ends_its_unsolicited_turn(books: Books) -> None:
    """Otherwise a stray line would begin a turn and hold all prompts back."""
    books.say(saying.tool_result())
    turn, idle = books.send(), saying.state("idle")
    assert books.conversation.take() is None
    books.say(idle)
    assert books.conversation.take() is turn
    (other,) = books.unsolicited
    assert other.state == "failed"
    assert other.messages[-1] is idle


def test_idle_cli_may_still_get_a_sent_prompt(books: Books) -> None:
    turn = books.sent()
    books.say(saying.state("idle"))
    assert turn.state == "sent"


def test_init_begins_the_prompt_it_names(books: Books) -> None:
    first = books.sent()
    books.say(saying.lifecycle(first.uuid, "queued"))
    second = books.send(priority="now")
    books.conversation.take()
    books.say(saying.init(user_message_uuids=[second.uuid]))
    assert books.conversation.current is second


def test_guess_is_taken_back_if_the_result_names_another(books: Books) -> None:
    books.conversation.names_prompts = True
    first = books.sent()
    books.say(saying.text("whose is it?"), saying.lifecycle("of another", "queued"))
    second = books.send(priority="next")
    books.conversation.take()
    init, ended = saying.init(), saying.result(user_message_uuids=[second.uuid])
    books.say(init, ended)
    assert second.messages == (ended,)
    assert first.state == "sent"
    assert books.conversation.current is None
    ended = saying.result(user_message_uuids=[first.uuid])
    books.say(saying.text("mine", user_message_uuid=first.uuid), ended)
    assert init in first.messages  # nobody else's
    assert first.messages[-1] is ended


def test_prompt_left_by_the_cli_ends_without_a_result(books: Books) -> None:
    first = books.sent()
    books.say(saying.lifecycle(first.uuid, "started"))
    second = books.sent(priority="next")
    names: dict[str, Any] = {"user_message_uuid": second.uuid, "user_message_uuids": [second.uuid]}
    books.say(saying.text(**names), saying.lifecycle(second.uuid, "cancelled"))
    assert (first.state, second.state) == (TurnState.RUNNING, TurnState.CANCELLED)
    books.say(saying.lifecycle(first.uuid, "completed"))
    assert first.state == "running"
    assert books.conversation.ending is not None
    assert books.conversation.ending.left_open == (first,)


def test_named_output_returns_to_its_prompt(books: Books) -> None:
    """An `init` without names may begin another turn; here it does not."""
    books.conversation.names_prompts = True
    turn = books.sent()
    began, init, aside = saying.lifecycle(turn.uuid, "started"), saying.init(), saying.text()
    books.say(began, init, aside)
    assert [*turn.messages] == [began]
    named, after = saying.text(user_message_uuid=turn.uuid), saying.text()
    books.say(named, after)
    assert [*turn.messages] == [began, named, after]
    ended = saying.result(user_message_uuids=[turn.uuid])
    books.say(ended)
    assert [*turn.messages] == [began, named, after, init, aside, ended]
