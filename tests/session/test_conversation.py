"""Whose message is it? Checked against CLIs that tell much, little or nothing about that."""

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

from claudewire.errors import LocalProtocolError, SessionClosed, TurnCancelled, TurnError
from claudewire.options import Unread
from claudewire.session import Turn, TurnState
from claudewire.session.conversation import Conversation
from claudewire.session.turn import UnreadCount
from claudewire.wire import HumanOrigin, InitMessage, Message, ResultMessage, UserMessage

AnyTurn = Turn[Any]


class Books:
    """A conversation, and all that it was given and gave."""

    def __init__(self) -> None:
        self.unread = UnreadCount(Unread(), lambda count: None)
        self.unsolicited: list[AnyTurn] = []
        self.notices: list[Message] = []
        self.conversation = Conversation(self.unread, self.unsolicited.append)

    def send(self, **fields: Any) -> AnyTurn:
        turn: AnyTurn = Turn(saying.prompt(**fields), self.unread)
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
            if turn is None and not isinstance(message, ResultMessage):
                self.notices.append(message)


@pytest.fixture
def books() -> Books:
    return Books()


# --- any CLI, in any order ------------------------------------------------------------------------


class Manner(NamedTuple):
    """What a CLI tells about whose its messages are."""

    narrates: bool = False
    """It tells when a prompt is queued, begun, over."""
    names: bool = False
    """Its output and its results name the prompts."""
    replays: bool = False
    """It repeats a prompt when it begins with it."""
    tells_origin: bool = True
    """It tells of a result that nobody asked for it."""


MANNERS = [
    Manner(narrates=True, names=True),
    Manner(narrates=True, names=True, replays=True),
    Manner(narrates=True),
    Manner(names=True),
    Manner(names=True, replays=True),
    Manner(replays=True),
    Manner(),
    Manner(tells_origin=False),
]


@dataclass(eq=False)
class Work:
    """A turn as the CLI sees it: the prompts that it answers, none if nobody asked for it."""

    prompts: list[UserMessage] = field(default_factory=list)
    by_itself: bool = False
    ambiguous: bool = False
    """Nothing on the wire tells yet that this is not the turn of a prompt that is on its way."""
    has_spoken: bool = False
    """Only output shows that there is a turn which nobody asked for."""


class AnyCLI(RuleBasedStateMachine):
    """A CLI that does anything that a CLI may do, and a conversation that has to make sense of it.

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
        """A prompt that has not begun is taken back, here or by a request to the CLI."""
        candidates = [*self.books.conversation.held, *(self.turns[it.uuid] for it in self.queue)]
        if index < len(candidates):
            turn = candidates[index]
            self.queue = [it for it in self.queue if it.uuid != turn.uuid]
            self.cancelled.add(turn.uuid)
            if turn.state == "sent" and self.manner.narrates:
                self.say(saying.lifecycle(turn.uuid, "cancelled"), turn.uuid)
            self.books.conversation.drop(turn, TurnCancelled("Taken back"))
            self.settle()

    def settle(self) -> None:
        while (turn := self.books.conversation.take()) is not None:
            assert turn.prompt is not None
            self.on_the_way.append(turn.prompt)
            if self.work is not None and self.work.by_itself and not self.work.has_spoken:
                self.work.ambiguous |= not self.books.conversation.narrates

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
        if self.manner.narrates:
            self.say(saying.lifecycle(heard.uuid, "queued"), heard.uuid)

    @rule(index=st.integers(0, 3))
    @precondition(lambda self: self.work is None and self.queue)
    def begin_with_a_prompt(self, index: int = 0) -> None:
        """The first in the queue, or one of those that went ahead of it."""
        taken = self.queue.pop(min(index, len(self.queue) - 1))
        self.work = Work([taken])
        self.tell_begun(taken)
        self.say(saying.init(), self.whose())

    @rule()
    @precondition(lambda self: self.work is None)
    def begin_by_itself(self) -> None:
        waits = bool(self.queue or self.on_the_way)
        knows = self.books.conversation.narrates
        if waits and not self.manner.tells_origin:
            return  # nothing on the wire would ever tell the two apart
        self.work = Work(by_itself=True, ambiguous=waits and not knows)
        self.say(saying.init(), self.UNSURE)  # which announces a turn, and is not part of one
        if not self.manner.tells_origin:
            # A prompt that is sent before there is output would be taken for its reason.
            self.speak(saying.text)

    def tell_begun(self, taken: UserMessage) -> None:
        if self.manner.narrates:
            self.say(saying.lifecycle(taken.uuid, "started"), taken.uuid)
        if self.manner.replays:
            # With nobody's output so far, its place cannot be told from its prompt's.
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
    @precondition(lambda self: self.manner.narrates and self.queue)
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
        """What works in the background speaks between turns, and no result will follow."""
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
        if self.manner.narrates:
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
        # What the CLI did by itself is told of once each, and every such turn has ended.
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


def test_prompts_wait_until_the_one_before_them_is_over(books: Books) -> None:
    first, second = books.send(), books.send()
    assert books.conversation.take() is first
    assert books.conversation.take() is None
    assert (first.state, second.state) == (TurnState.SENT, TurnState.HELD)
    books.say(saying.result())
    assert books.conversation.take() is second


def test_a_priority_is_for_a_cli_that_says_which_prompt_it_works_on(books: Books) -> None:
    first, second = books.sent(), books.send(priority="now")
    assert books.conversation.take() is None
    books.say(saying.lifecycle(first.uuid, "queued"))
    assert books.conversation.narrates
    assert books.conversation.take() is second


def test_two_prompts_of_one_name_cannot_be_on_their_way(books: Books) -> None:
    turn = books.sent(uuid="the same")
    with pytest.raises(LocalProtocolError, match="the same"):
        books.send(uuid="the same")
    books.say(saying.result())
    assert turn.is_over
    assert books.send(uuid="the same").state == "held"


def test_what_comes_before_the_first_output_belongs_to_the_prompt_that_is_on_its_way(
    books: Books,
) -> None:
    turn, remark = books.sent(), saying.status()
    books.say(remark)
    assert turn.messages == (remark,)
    assert turn.state == "sent"


def test_between_turns_a_remark_is_a_notice(books: Books) -> None:
    remark = saying.status()
    books.say(remark)
    assert books.notices == [remark]
    assert not books.conversation.is_busy


@pytest.mark.parametrize("kind", [saying.text, saying.delta, saying.tool_result])
def test_a_subagent_that_goes_on_between_turns_begins_none(
    books: Books, kind: Callable[..., Message]
) -> None:
    message = kind(parent_tool_use_id="toolu_0")
    books.say(message)
    assert books.notices == [message]
    assert books.sent().state == "sent"


def test_output_that_nobody_asked_for_is_a_turn_of_its_own(books: Books) -> None:
    said, ended = saying.text(), saying.wake_up_result()
    books.say(said, ended)
    (turn,) = books.unsolicited
    assert not turn.was_asked_for
    assert turn.messages == (said, ended)
    assert turn.state == "done"


def test_a_result_out_of_nothing_is_a_turn_of_its_own(books: Books) -> None:
    books.say(saying.result())
    assert [turn.state for turn in books.unsolicited] == [TurnState.DONE]


def test_a_result_of_somebody_elses_prompt_leaves_ours_alone(books: Books) -> None:
    turn = books.sent()
    books.say(saying.text(), saying.result(user_message_uuid="of another"))
    assert not turn.is_over
    (other,) = books.unsolicited
    assert other.is_over


def test_a_person_as_the_origin_is_us(books: Books) -> None:
    turn = books.sent()
    books.say(saying.result(origin=HumanOrigin()))
    assert turn.is_over


def test_a_guess_is_taken_back_when_it_was_wrong(books: Books) -> None:
    """The CLI began by itself while our prompt was on its way, and says so only at the end."""
    turn = books.sent()
    books.say(saying.text())
    assert turn.state == "running"
    books.say(saying.wake_up_result())
    assert turn.state == "sent"
    own = saying.result()
    books.say(saying.text(), own)
    assert turn.messages[-1] is own


def test_turns_that_are_answered_together_have_the_same_result(books: Books) -> None:
    first = books.sent()
    books.say(saying.lifecycle(first.uuid, "started"))
    second = books.send(priority="next")
    assert books.conversation.take() is second
    said = saying.text()
    ended = saying.result(user_message_uuids=[first.uuid, second.uuid])
    books.say(saying.lifecycle(second.uuid, "started"), said, ended)
    assert (first.merged, second.merged) == (False, True)
    assert first.messages[-2:] == (said, ended)
    assert second.messages[-1] is ended


@pytest.mark.parametrize("is_late", [False, True])
def test_a_prompt_that_was_taken_into_a_turn_ends_with_it_though_the_result_names_one(
    books: Books, is_late: bool
) -> None:
    first = books.sent()
    books.say(saying.lifecycle(first.uuid, "started"))
    second = books.send(priority="next")
    assert books.conversation.take() is second
    completed = saying.lifecycle(second.uuid, "completed")
    ended = saying.result(user_message_uuid=first.uuid)
    books.say(saying.lifecycle(second.uuid, "started"), saying.text())
    books.say(*((ended, completed) if is_late else (completed, ended)))
    assert (first.merged, second.merged) == (False, True)
    assert ended in second.messages


@pytest.mark.parametrize("is_late", [True, False], ids=["late", "lost"])
def test_a_result_that_lists_its_prompts_ends_no_other(books: Books, is_late: bool) -> None:
    first = books.sent()
    books.say(saying.lifecycle(first.uuid, "started"), saying.text())
    second = books.send(priority="next")
    assert books.conversation.take() is second
    books.say(
        saying.lifecycle(second.uuid, "started"), saying.result(user_message_uuids=[second.uuid])
    )
    assert (second.state, second.merged) == (TurnState.DONE, False)
    assert not first.is_over
    if is_late:
        books.say(saying.result("late", user_message_uuids=[first.uuid]))
        assert first.state is TurnState.DONE
    else:
        books.say(saying.lifecycle(first.uuid, "completed"), saying.state("idle"))
        assert books.conversation.ending is not None
        books.conversation.end(books.conversation.ending)
        assert first.state is TurnState.FAILED


def test_prompts_that_are_taken_up_together_end_together_though_the_result_names_the_last(
    books: Books,
) -> None:
    """As 2.1.250 does with prompts that wait in its queue."""
    running = books.sent()
    books.say(saying.lifecycle(running.uuid, "started"))
    first, last = (books.sent(priority="next") for _ in range(2))
    books.say(saying.result(user_message_uuid=running.uuid))
    said = saying.text(user_message_uuid=last.uuid)
    ended = saying.result(user_message_uuid=last.uuid)
    books.say(saying.lifecycle(first.uuid, "started"), saying.lifecycle(last.uuid, "started"))
    books.say(saying.init(), said, ended)
    assert (first.merged, last.merged) == (False, True)
    assert first.messages[-2:] == (said, ended)
    assert last.messages[-1] is ended
    assert not books.conversation.is_busy


def test_the_result_of_what_was_told_begins_no_turn_though_more_was_told_meanwhile(
    books: Books,
) -> None:
    """2.1.250 does not say what the empty result belongs to."""
    first, second = "of the first", "of the second"
    books.conversation.told |= {first, second}
    books.say(saying.lifecycle(first, "started"), saying.lifecycle(second, "queued"))
    books.say(saying.init(), saying.result(""), saying.lifecycle(first, "completed"))
    assert not books.unsolicited
    assert books.conversation.told == {second}


def test_a_turn_that_nobody_asked_for_may_take_a_prompt_in(books: Books) -> None:
    books.say(saying.lifecycle("of another", "queued"), saying.text())
    turn = books.send(priority="next")
    books.conversation.take()
    books.say(saying.wake_up_result(user_message_uuids=[turn.uuid]))
    (other,) = books.unsolicited
    assert turn.merged
    assert other.messages[-1] is turn.messages[-1]


def test_a_turn_that_silently_ended_does_not_hang(books: Books) -> None:
    books.say(saying.lifecycle("of another", "queued"), saying.text())
    turn = books.send(priority="next")
    books.conversation.take()
    said, ended = saying.text(user_message_uuid=turn.uuid), saying.result()
    is_bound = books.conversation.ending is not None  # a prompt does not wait for it for ever
    assert is_bound
    books.say(said)
    assert books.conversation.current is turn
    assert books.conversation.ending is None
    books.say(ended)
    assert turn.messages == (said, ended)
    assert [it.is_over for it in books.unsolicited] == [True]


def test_a_late_result_of_an_overtaken_turn_is_its_own(books: Books) -> None:
    books.say(saying.lifecycle("of another", "queued"), saying.text())
    turn = books.send(priority="next")
    books.conversation.take()
    ended = saying.wake_up_result()
    books.say(saying.text(user_message_uuid=turn.uuid), ended)
    assert not turn.is_over
    assert [it.messages[-1] for it in books.unsolicited] == [ended]


def test_an_idle_cli_has_no_turn_that_nobody_asked_for(books: Books) -> None:
    """Else a stray line would look like the beginning of one, and hold all prompts for ever."""
    books.say(saying.tool_result())
    turn, idle = books.send(), saying.state("idle")
    assert books.conversation.take() is None
    books.say(idle)
    assert books.conversation.take() is turn
    (other,) = books.unsolicited
    assert other.state == "failed"
    assert other.messages[-1] is idle


def test_an_idle_cli_is_still_to_hear_the_prompt_that_is_on_its_way(books: Books) -> None:
    turn = books.sent()
    books.say(saying.state("idle"))
    assert turn.state == "sent"


def test_a_cli_that_starts_a_prompt_after_it_was_idle_is_not_expected_to_leave_it_open(
    books: Books,
) -> None:
    turn = books.sent()
    books.say(saying.state("idle"))
    assert books.conversation.ending is not None
    books.say(saying.lifecycle(turn.uuid, "started"))
    assert books.conversation.ending is None


def test_an_init_that_names_its_prompt_begins_it(books: Books) -> None:
    first = books.sent()
    books.say(saying.lifecycle(first.uuid, "queued"))
    second = books.send(priority="now")
    books.conversation.take()
    books.say(saying.init(user_message_uuids=[second.uuid]))
    assert books.conversation.current is second


def test_a_guess_is_taken_back_when_the_result_names_another_prompt(books: Books) -> None:
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


def test_a_guess_that_is_confirmed_is_not_taken_back(books: Books) -> None:
    """Also where output is sorted all at once."""
    turn = books.sent()
    books.say(saying.text())
    named = [saying.delta(user_message_uuid=turn.uuid)]
    assert books.conversation.add([saying.delta()]) == []
    assert books.conversation.add(named) is None  # one after the other, then
    books.say(*named)
    assert books.conversation.add(named) == []
    books.say(saying.wake_up_result())
    assert turn.state == "running"


def test_a_prompt_that_the_cli_has_left_may_be_over_before_there_is_any_result(
    books: Books,
) -> None:
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


def test_output_that_names_the_running_prompt_is_its_own_again(books: Books) -> None:
    """An `init` that named nothing may have begun another turn, and has not."""
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


@pytest.mark.parametrize("how", ["cancelled", "discarded", "refused"])
def test_a_prompt_that_the_cli_drops_ends_its_turn(books: Books, how: str) -> None:
    turn, word = books.sent(), saying.lifecycle(None, how)
    books.say(word)
    assert not turn.is_over
    word = saying.lifecycle(turn.uuid, how)
    books.say(word)
    assert turn.state == "cancelled"
    assert turn.messages == (word,)


def test_a_dropped_turn_makes_room_for_the_next(books: Books) -> None:
    turn, after = books.sent(), books.send()
    books.say(saying.text())
    assert tuple(books.conversation) == (turn, after)
    books.conversation.drop(turn, TurnCancelled("Given up"))
    assert books.conversation.active is None
    assert books.conversation.take() is after


def test_all_that_the_cli_had_is_gone_with_it(books: Books) -> None:
    books.say(saying.lifecycle("of another", "queued"), saying.text())
    sent = books.send(priority="next")
    books.conversation.take()
    books.say(saying.text(user_message_uuid=sent.uuid))
    held = books.send()
    assert books.conversation.sent == (sent,)
    books.conversation.drop_sent(SessionClosed("It is over"))
    books.conversation.reset()
    assert [it.state for it in (sent, *books.unsolicited, held)] == [
        TurnState.FAILED,
        TurnState.FAILED,
        TurnState.HELD,
    ]
    assert not books.conversation.narrates
    assert books.conversation.drop_held(SessionClosed("It is over")) == (held,)
    assert not books.conversation.is_busy
