"""The turns of a session, and which message belongs to which turn.

Prompts are held here until the CLI is free, so that usually one is on its way at a time. That makes
it certain which prompt a result answers, even with a CLI that does not say so. A prompt with a
`priority` is sent at once, if the CLI is one that says which prompts a result answers; the CLI then
puts it in its own queue, or into the running turn.

How it is found out which turn a message belongs to, the surest sign first:

1. it names the prompt (`user_message_uuid`), or the CLI has reported that the prompt has begun
   (`command_lifecycle`, or the prompt came back with `--replay-user-messages`). What lists its
   prompts (`user_message_uuids`) belongs to no other;
2. its origin is not a person, but a task that ended or a wake-up: it belongs to a turn that the CLI
   began by itself, an unsolicited one;
3. a turn is running: it belongs to that turn;
4. a prompt is on its way, to a CLI that does not report when it begins: it belongs to that prompt;
5. the turn before has ended without its result: these are late words, which belong to no turn;
6. otherwise it belongs to a new unsolicited turn.

An `init` in the middle of a turn that names no prompt, from a CLI that names them, may begin an
unsolicited turn. What follows it and names no prompt either is put aside until a result shows which
turn it belongs to.

What holds a prompt back, and until when. There are only two things:

* a prompt before it that is not over. It is over with its result, or with what ends a turn without
  one (see `ending`), or with the CLI; at the latest when the CLI is idle.
* an unsolicited turn. It is over with its result, or when the CLI is idle; and after a while of
  silence the prompt no longer waits for it.

Only output begins an unsolicited turn: what the model says, or what a tool returns. An `init`, a
status, an error, a result and everything else hold nothing back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import Error, LocalProtocolError, TurnCancelled
from ..wire import (
    AssistantMessage,
    CanUseTool,
    CommandLifecycleMessage,
    Connection,
    ContentBlockDelta,
    ErrorMessage,
    HookCallback,
    HumanOrigin,
    InitMessage,
    Malformed,
    Message,
    Noise,
    Oversize,
    Request,
    ResultMessage,
    Rules,
    SessionStateChangedMessage,
    StreamEvent,
    SystemErrorMessage,
    ToolProgressMessage,
    UserMessage,
    UserPromptSubmitHookInput,
)
from .ending import (
    AFTER_IDLE,
    AFTER_MERGING,
    AFTER_REQUEST,
    UNANNOUNCED,
    UNSOLICITED,
    Ending,
    became_idle,
    failed,
    interrupted,
    late,
    left_open,
    stopped,
    unreadable,
)
from .turn import AnyTurn, Turn, TurnState, UnreadCount

__all__ = ["Conversation"]

_UNKNOWN = Rules()


class Conversation:
    """The turns that are not over, and the one that is running.

    `unsolicited` is called with each turn that the CLI begins by itself.
    """

    def __init__(self, unread: UnreadCount, unsolicited: Callable[[AnyTurn], None]) -> None:
        self._unread = unread
        self._unsolicited = unsolicited
        self.connection: Connection | None = None
        """The one with the CLI, as soon as there is one; it knows the dialect."""
        self._held: OrderedDict[str | None, AnyTurn] = OrderedDict()
        self._sent: dict[str | None, AnyTurn] = {}
        self.current: AnyTurn | None = None
        """The turn that is running, as far as is known."""
        self._is_a_guess = False
        self._overtaken: list[AnyTurn] = []
        self.narrates: bool = False
        """Whether the CLI is one that reports which prompt it works on."""
        self.names_prompts: bool = False
        """Whether it is known that each `init` of the CLI names the prompts of its turn."""
        self.answered: list[AnyTurn] = []
        """The turns that the last result has ended."""
        self.ending: Ending | None = None
        """How a turn ends if the CLI says no more of it."""
        self.spoken: int = 0
        """How often there was output, to tell whether there was more."""
        self._announcement: InitMessage | None = None
        """What may be the first message of an unsolicited turn."""
        self._aside: list[Message] = []
        """What may belong to an unsolicited turn in the middle of another; its result tells."""
        self._is_aside = False
        """Whether output that names no prompt is put there now."""
        self._result_is_missing = False
        """Set when a turn has ended without its result, which may still come."""
        self._last_result: ResultMessage | None = None
        self._spoken_before: int  # how often there had been output at the last result
        self._is_idle = False
        """Set when the CLI has said so, and has not gone on since."""
        self.told: set[str | None] = set()
        """The messages that ask for no answer, and that the CLI has not taken up yet. CLIs give
        them an empty result all the same."""
        self._is_telling = False
        """Set while the CLI works on one of them."""

    # --- facts -----------------------------------------------------------------------------------

    @property
    def rules(self) -> Rules:
        """What opens a session and ends a turn in the dialect of the CLI, as far as it is known."""
        return _UNKNOWN if self.connection is None else self.connection.dialect.rules

    @property
    def active(self) -> AnyTurn | None:
        """The turn that is running, or else the one that the CLI will begin with."""
        return self.current or next(iter(self._sent.values()), None)

    @property
    def held(self) -> tuple[AnyTurn, ...]:
        """The turns that are not sent yet."""
        return tuple(self._held.values())

    @property
    def sent(self) -> tuple[AnyTurn, ...]:
        """The turns that the CLI has, running or not."""
        return tuple(self._sent.values())

    @property
    def is_busy(self) -> bool:
        """Whether the CLI has something to do."""
        return self.current is not None or bool(self._sent)

    def __iter__(self) -> Iterator[AnyTurn]:
        yield from self._sent.values()
        yield from self._held.values()

    # --- sending ---------------------------------------------------------------------------------

    def hold(self, turn: AnyTurn) -> None:
        """Put a turn at the end of the queue.

        Raises:
            LocalProtocolError: a turn with the same uuid is not over.
        """
        if turn.uuid in self._held or turn.uuid in self._sent:
            raise LocalProtocolError(f"A prompt with the uuid {turn.uuid!r} is not over yet")
        self._held[turn.uuid] = turn

    def take(self) -> AnyTurn | None:
        """Return the turn that may be sent now, if any; it then counts as sent."""
        turn = self._urgent() if self.is_busy else next(iter(self._held.values()), None)
        if turn is not None:
            del self._held[turn.uuid]
            turn.state = TurnState.SENT
            self._sent[turn.uuid] = turn
            self._is_idle = False
        return turn

    def _urgent(self) -> AnyTurn | None:
        if not self.narrates:
            return None
        held = self._held.values()
        return next((turn for turn in held if turn.prompt and turn.prompt.priority), None)

    def drop(self, turn: AnyTurn, error: Error) -> None:
        """Forget a turn that will have no result."""
        for turns in (self._held, self._sent):
            if turns.get(turn.uuid) is turn:
                del turns[turn.uuid]
        if turn is self.current:
            self._give_aside_to(turn)
            self.current = None
        self._end_of(turn)
        turn._fail(error)

    def drop_held(self, error: Error) -> tuple[AnyTurn, ...]:
        """Forget all turns that are not sent yet."""
        held = self.held
        for turn in held:
            self.drop(turn, error)
        return held

    def drop_sent(self, error: Error) -> None:
        """Forget all turns that the CLI has, after its end."""
        for turn in (*self._sent.values(), *self._overtaken, *filter(None, [self.current])):
            self.drop(turn, error)
        self._overtaken.clear()

    def reset(self) -> None:
        """Forget what is known about the CLI: another one follows."""
        self.current = self.ending = self._last_result = self._announcement = None
        self.connection = None
        self._aside, self._is_aside = [], False
        self.told.clear()
        self._is_telling = False
        self.narrates = self._result_is_missing = self._is_idle = False
        self.names_prompts = False

    # --- receiving -------------------------------------------------------------------------------

    def add(self, output: list[Any]) -> list[tuple[int, Message]] | None:
        """Add events to the running turn, if all are output that belongs to it and ends none.

        Returns:
            all but pieces of text of the main conversation, with their index; None if nothing was
            added.
        """
        turn = self.current
        if turn is None or self.ending is not None or self._is_uncertain():
            return None
        names = {None, None if self._is_a_guess else turn.uuid}
        notable = [
            (index, it)
            for index, it in enumerate(output)
            if type(it) is not StreamEvent
            or type(it.event) is not ContentBlockDelta
            or it.parent_tool_use_id is not None
            or (it.user_message_uuid is not None and it.user_message_uuid not in names)
        ]
        ends_turn = self.rules.ends_turn
        if not all(_goes_on_with(message, names, ends_turn) for _, message in notable):
            return None
        self.spoken += len(output)
        turn._push_all(output, notable)
        return notable

    def _is_uncertain(self) -> bool:
        """Whether what the CLI says may belong to no turn, or begin one."""
        return self._result_is_missing or self._is_aside or self._is_idle

    def route(self, message: Message) -> AnyTurn | None:
        """Add a message to the turn that it belongs to, if any."""
        find = _FINDERS.get(type(message))
        turn = self._running() if find is None else find(self, message)
        if turn is not None:
            turn._push(message)
        self._expect_ends()
        return turn

    def _running(self) -> AnyTurn | None:
        """The turn of a message that does not say which one it belongs to."""
        return self.current or (None if self.narrates else self.active)

    def _of_output(self, message: AssistantMessage | StreamEvent) -> AnyTurn | None:
        self._note_turn(message.user_message_uuids)
        self._note_names(message.user_message_uuid)
        if message.user_message_uuid in self._sent:
            self._is_aside = False
        if self._is_aside and message.parent_tool_use_id is None:
            self._put_aside(message)
            return None
        return self._speaker(message.parent_tool_use_id)

    def _of_assistant(self, message: AssistantMessage) -> AnyTurn | None:
        turn = self._of_output(message)
        if turn is not None and self.rules.ends_turn(message):
            self.ending = stopped(turn, message, self.ending)
        return turn

    def _of_user(self, message: UserMessage) -> AnyTurn | None:
        if message.is_replay:
            self._note_names(message.uuid)
            return self._running()
        if self._is_aside and message.parent_tool_use_id is None:
            self._put_aside(message)
            return None
        return self._speaker(message.parent_tool_use_id)

    def _of_progress(self, message: ToolProgressMessage) -> AnyTurn | None:
        self._spoke()
        return self._running()

    def _speaker(self, agent: str | None) -> AnyTurn | None:
        """The turn of some output, which begins if it has not begun."""
        self._spoke()
        if agent is not None:
            # A subagent may go on between turns, and no result would follow.
            return self._running()
        self._is_idle = False
        turn = self.current or self._begin_some()
        if turn is not None:
            self._result_is_missing = False
        return turn

    def _spoke(self) -> None:
        self.spoken += 1
        ending = self.ending
        if ending is not None and not ending.is_certain:
            self.ending = None if ending.turn.was_asked_for else _bound(ending.turn)

    def _of_init(self, init: InitMessage) -> AnyTurn | None:
        if not self.told.isdisjoint(init.user_message_uuids or ()):
            return None  # no turn follows
        self._note_turn(init.user_message_uuids)
        self._note_names(*(init.user_message_uuids or ()))
        if self.current is None and (self.narrates or not self._sent):
            self._announcement = init  # and perhaps nothing follows: some CLIs say it at any time
            return None
        if self.narrates and self.names_prompts and self._is_of_another_turn(init):
            self._is_aside = True
            self._put_aside(init)
            return None
        return self.current or self._begin_some()

    def _is_of_another_turn(self, init: InitMessage) -> bool:
        """Whether an `init` in a turn that was asked for does not say that it is of that turn."""
        was_asked_for = self.current is not None and self.current.was_asked_for
        return was_asked_for and self._sent.keys().isdisjoint(init.user_message_uuids or ())

    def _put_aside(self, message: Message) -> None:
        self._spoke()
        self._aside.append(message)

    def has_put_aside(self, message: Message) -> bool:
        """Whether it is not known yet which turn a message that was just added belongs to."""
        return bool(self._aside) and self._aside[-1] is message

    def _give_aside_to(self, turn: AnyTurn) -> None:
        messages, self._aside, self._is_aside = self._aside, [], False
        for message in messages:
            turn._push(message)

    def _of_error(self, message: ErrorMessage | SystemErrorMessage) -> AnyTurn | None:
        turn = self._running()
        if turn is not None and (self.ending is None or self.ending.outcome is None):
            self.ending = failed(turn, message)
        return turn

    def _of_state(self, message: SessionStateChangedMessage) -> AnyTurn | None:
        turn = self._running()
        if message.state != "idle":
            self._goes_on()
            return turn
        self._is_idle = True
        if turn is not None and not turn.was_asked_for:
            # Nothing more will come for it, and other turns wait for its end.
            self.drop(turn, became_idle())
        return turn

    def _goes_on(self) -> None:
        """Note that the CLI is not idle."""
        self._is_idle = False
        if self.ending is not None and self.ending.left_open:
            self.ending = None

    def _expect_ends(self) -> None:
        """Have the turns end that the CLI has, and does not go on with."""
        if self.ending is not None:
            return
        if self._is_idle:
            if self._sent:
                self.ending = left_open(self.sent, AFTER_IDLE)
        elif self.current is None and (merged := tuple(filter(_has_begun, self._sent.values()))):
            self.ending = left_open(merged, AFTER_MERGING)

    def _of_lifecycle(self, message: CommandLifecycleMessage) -> AnyTurn | None:
        self.narrates = True
        if message.command_uuid in self.told and message.state != "queued":
            self._is_telling = message.state == "started"
            if not self._is_telling:
                self.told.discard(message.command_uuid)
        turn = self._sent.get(message.command_uuid)
        if turn is None:
            return None
        if message.state == "started":
            # Another may be running: this one was put into it, and its result may name both.
            self._goes_on()
            self._begin(turn)
        elif message.state == "completed":
            self._merge(turn)
        elif message.is_dropped and not self._ends_anyway(turn):
            self.drop(turn, TurnCancelled(f"The CLI has {message.state} the prompt"))
        return turn

    def _ends_anyway(self, turn: AnyTurn) -> bool:
        """Whether it is known how a turn ends, as after an interrupt that no result follows."""
        ending = self.ending
        return ending is not None and ending.turn is turn and not ending.left_open

    def _merge(self, turn: AnyTurn) -> None:
        """End a turn that the CLI put into another one, whose result does not name both."""
        if not _has_begun(turn) or turn is self.current:
            return
        if self.current is not None:
            self._overtaken.append(turn)  # the next result ends both
        elif self._last_result is not None and not _names_all(self._last_result):
            self._finish(turn, self._last_result, merged=True)

    def _of_result(self, result: ResultMessage) -> None:
        if self._is_of_told(result):
            return  # a notice: it ends nothing
        is_repeated = self._is_repeated(result)
        self._last_result, self._spoken_before = result, self.spoken
        if is_repeated or (self._result_is_missing and not self._is_named(result)):
            self._result_is_missing = is_repeated and self._result_is_missing
            # One that names the prompts of another turn cannot be that of this one.
            if (turn := self.active) is not None and not _prompts_of(result):
                self.ending = late(turn, result)
            return
        self.answered = self._answered(result)
        for index, turn in enumerate(self.answered):
            self._finish(turn, result, merged=index > 0)

    def _is_of_told(self, result: ResultMessage) -> bool:
        """Whether it is that of a message that asks for no answer. 2.1.250 does not name it."""
        named = _prompts_of(result)
        is_telling = self._is_telling and self.current is None
        return is_telling if not named else not named.isdisjoint(self.told)

    def _is_repeated(self, result: ResultMessage) -> bool:
        """Whether it may be the last one again; some CLIs give the same uuid to all."""
        last = self._last_result
        is_same = last is not None and result.uuid is not None and result.uuid == last.uuid
        is_of_now = not _prompts_of(result).isdisjoint(self._sent)
        return is_same and not is_of_now and self.spoken == self._spoken_before

    def _finish(self, turn: AnyTurn, result: ResultMessage, *, merged: bool) -> None:
        self._sent.pop(turn.uuid, None)
        if turn is self.current:
            self._give_aside_to(turn)
            self.current = None
        self._end_of(turn)
        turn._finish(result, merged=merged)

    def _end_of(self, turn: AnyTurn) -> None:
        if self.ending is not None and self.ending.turn is turn:
            self.ending = None

    def _answered(self, result: ResultMessage) -> list[AnyTurn]:
        """The turns that a result ends, the one that has the messages first."""
        named = [*(result.user_message_uuids or ()), result.user_message_uuid]
        turns = [turn for uuid, turn in self._sent.items() if uuid in named]
        first = self.current
        if not turns:
            first = self._ended_without_a_name(result)
            # One that names its prompts, as this CLI does, would name those that were put into it.
            is_of_others = self.names_prompts and self._is_from_elsewhere(result)
            if first is self.current and not is_of_others:
                turns = list(filter(_has_begun, self._sent.values()))
        elif first not in turns and not self._is_answered_with(turns[0], result):
            if _names_all(result):
                self._leave_current()
            first = turns[0]
        assert first is not None
        overtaken = [
            turn
            for turn in self._overtaken
            if first is self.current and not (turn.was_asked_for and _names_all(result))
        ]
        turns = [first, *(turn for turn in (*turns, *overtaken) if turn is not first)]
        self._overtaken = [turn for turn in self._overtaken if turn not in turns]
        return turns

    def _is_answered_with(self, named: AnyTurn, result: ResultMessage) -> bool:
        """Whether the running turn ends with the result of another prompt.

        A CLI works on one thing at a time, and what it begins with during a turn is a part of that
        turn. Of the prompts that it takes up together, 2.1.250 names only the last.
        """
        if self.current is None or not self.current.was_asked_for:
            return self.current is not None
        return not (self._is_a_guess or _names_all(result)) and _has_begun(named)

    def _ended_without_a_name(self, result: ResultMessage) -> AnyTurn:
        if self._is_from_elsewhere(result):
            self._take_back_the_guess()
            return self._unsolicited_one()
        return self.current or self._begin_some() or self._new_unsolicited()

    def _is_from_elsewhere(self, result: ResultMessage) -> bool:
        if result.origin is not None:
            return not isinstance(result.origin, HumanOrigin)
        return self._is_named(result)

    def _is_named(self, result: ResultMessage) -> bool:
        """Whether it says what it answers."""
        return bool(result.origin or _prompts_of(result))

    def _unsolicited_one(self) -> AnyTurn:
        """The unsolicited turn that is running, else one that was overtaken, else a new one."""
        if self.current is not None and not self.current.was_asked_for:
            return self.current
        overtaken = (turn for turn in self._overtaken if not turn.was_asked_for)
        return next(overtaken, None) or self._new_unsolicited()

    def _take_back_the_guess(self) -> None:
        """Put a prompt back that was taken for the running turn, and has not begun yet."""
        if self.current is not None and self.current.was_asked_for and self._is_a_guess:
            self.current.state = TurnState.SENT
            self.current = None

    def _note_turn(self, uuids: Sequence[str] | None) -> None:
        """Note that the CLI works on these prompts and no others, if it says so."""
        was_asked_for = self.current is not None and self.current.was_asked_for
        if was_asked_for and not self._sent.keys().isdisjoint(uuids or ()):
            assert self.current is not None
            if self.current.uuid not in (uuids or ()):
                self._leave_current()

    def _leave_current(self) -> None:
        """Go on without the running turn, whose result has not come: the CLI works on another."""
        self._take_back_the_guess()
        if self.current is not None:
            self._give_aside_to(self.current)
            self.current = None

    def _note_names(self, *uuids: str | None) -> None:
        for uuid in uuids:
            if uuid is not None and uuid in self._sent:
                self._overtake()
                self._begin(self._sent[uuid])

    def _overtake(self) -> None:
        """Set an unsolicited turn aside: it has taken the prompt in, or has silently ended."""
        if self.current is not None and not self.current.was_asked_for:
            self._overtaken.append(self.current)  # the next result ends both
            self._end_of(self.current)
            self.current = None

    def _begin(self, turn: AnyTurn) -> None:
        turn._begin()
        if self.current is not turn:
            self._take_back_the_guess()
        if self.current is None or self.current is turn:
            self.current, self._is_a_guess = turn, False
            self._announcement = None

    def _begin_some(self) -> AnyTurn | None:
        """Begin a turn that does not say which prompt it answers, if there is one to begin."""
        waiting = None if self.narrates else next(iter(self._sent.values()), None)
        if waiting is not None:
            self._announcement = None
            waiting._begin()
            self._is_a_guess = True
        elif self._result_is_missing:
            return None
        else:
            waiting = self._new_unsolicited()
            self.ending = _bound(waiting)
        self.current = waiting
        return waiting

    def _new_unsolicited(self) -> AnyTurn:
        turn: AnyTurn = Turn(None, self._unread)
        init, self._announcement = self._announcement, None
        if init is not None:
            turn._push(init)
        self._give_aside_to(turn)
        self._unsolicited(turn)
        return turn

    # --- ends without a result -------------------------------------------------------------------

    def note_request(self, request: Request) -> None:
        """Note that the CLI asks for something: a turn is going on."""
        ending = self.ending
        if ending is not None and ending.left_open:
            if _is_of_a_turn(request):
                self._goes_on()
        elif ending is not None and not ending.is_certain:
            # It may say no more, so this is no reason to wait for ever.
            self.ending = Ending(ending.turn, ending.outcome, AFTER_REQUEST)
        elif isinstance(request.body, CanUseTool) and not self.is_busy:
            self._result_is_missing = False  # what follows are no late words

    def note_unreadable(self, event: Malformed | Noise | Oversize) -> None:
        """Note a line that cannot be read: it may be what ends the turn."""
        turn = self.active
        if turn is not None and (self.ending is None or self.ending.outcome is None):
            self.ending = unreadable(turn, event) or self.ending

    def note_interrupt(self, turn: AnyTurn) -> None:
        """Note that a turn was interrupted, and that perhaps no result follows."""
        if turn is self.active:
            self.ending = interrupted(turn)

    def end(self, ending: Ending) -> None:
        """End a turn of which the CLI says no more."""
        turn, outcome = ending.turn, ending.outcome
        if outcome is None:
            self._overtake()
        elif ending.left_open:
            for each in ending.left_open:
                self._end_left_open(each, outcome)
        else:
            self._end_with(turn, outcome)
        self._expect_ends()

    def _end_left_open(self, turn: AnyTurn, error: ResultMessage | Error) -> None:
        result = self._last_result
        is_merged = _has_begun(turn) and turn is not self.current
        if is_merged and result is not None and not _names_all(result):
            self._finish(turn, result, merged=True)
        elif not turn.is_over:
            self._end_with(turn, error)

    def _end_with(self, turn: AnyTurn, outcome: ResultMessage | Error) -> None:
        self._result_is_missing = not outcome.line if isinstance(outcome, ResultMessage) else True
        if isinstance(outcome, Error):
            self.drop(turn, outcome)
        else:
            self.answered = [turn]
            self._finish(turn, outcome, merged=False)


def _goes_on_with(
    message: Message, names: set[str | None], ends_turn: Callable[[Message], bool]
) -> bool:
    """Whether this is output, and the running turn, which has these names, just goes on with it."""
    if type(message) is UserMessage:
        return not message.is_replay
    if type(message) is AssistantMessage:
        return message.user_message_uuid in names and not ends_turn(message)
    if type(message) is StreamEvent:
        return message.user_message_uuid in names
    return type(message) is ToolProgressMessage


def _prompts_of(result: ResultMessage) -> set[str]:
    """The prompts that a result says it answers."""
    named = (*(result.user_message_uuids or ()), result.user_message_uuid)
    return {uuid for uuid in named if uuid}


def _names_all(result: ResultMessage) -> bool:
    """Whether it lists the prompts that it answers, which it has ended, and not only one."""
    return bool(result.user_message_uuids)


def _has_begun(turn: AnyTurn) -> bool:
    return turn.state is TurnState.RUNNING


def _is_of_a_turn(request: Request) -> bool:
    """Whether the CLI asks in the middle of a turn, and not for something in the background."""
    body = request.body
    if isinstance(body, HookCallback):
        return isinstance(body.input, UserPromptSubmitHookInput)
    return isinstance(body, CanUseTool) and body.agent_id is None


def _bound(unsolicited: AnyTurn) -> Ending:
    """How long an unsolicited turn may be silent while a prompt waits."""
    was_announced = any(isinstance(message, InitMessage) for message in unsolicited.messages[:1])
    seconds = UNSOLICITED if was_announced else UNANNOUNCED
    return Ending(unsolicited, None, seconds, is_certain=True)


_FINDERS: dict[type[Message], Callable[[Conversation, Any], AnyTurn | None]] = {
    AssistantMessage: Conversation._of_assistant,
    StreamEvent: Conversation._of_output,
    UserMessage: Conversation._of_user,
    ToolProgressMessage: Conversation._of_progress,
    InitMessage: Conversation._of_init,
    ErrorMessage: Conversation._of_error,
    SystemErrorMessage: Conversation._of_error,
    SessionStateChangedMessage: Conversation._of_state,
    CommandLifecycleMessage: Conversation._of_lifecycle,
    ResultMessage: Conversation._of_result,
}
"""The messages that may begin or end a turn. All others belong to the running one."""
