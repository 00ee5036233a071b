"""The turns of a session, and the assignment of messages to turns.

Prompts are held here until the CLI is free, so that usually one is in flight at a time. That makes
it certain which prompt a result answers, even with a CLI that does not say so. A prompt with a
`priority` is sent at once if the CLI says which prompts a result answers; the CLI then puts it in
its own queue, or into the running turn.

The signs of a message's turn, the surest first:

1. it names the prompt (`user_message_uuid`), or the CLI has reported that the prompt has begun
   (`command_lifecycle`, or the prompt came back with `--replay-user-messages`). A message that
   lists its prompts (`user_message_uuids`) belongs to no other;
2. its origin is not a person, but a task that ended or a wake-up: it belongs to an unsolicited
   turn, which the CLI began without a prompt;
3. a turn is running: it belongs to that turn;
4. a prompt is in flight, to a CLI that does not report when it begins: it belongs to that prompt;
5. the turn before has ended without its result: it is late output, not assigned to any turn;
6. otherwise it belongs to a new unsolicited turn.

An `init` in the middle of a turn that names no prompt, from a CLI that names them, may begin an
unsolicited turn. It and later messages without a name are deferred until a result shows their turn.

Two things hold a prompt back:

* an unfinished prompt before it. It ends with its result, or with an inferred end (see
  `inferred_end`), or with the CLI; at the latest when the CLI is idle.
* an unsolicited turn. It ends with its result, or when the CLI is idle; after a time of silence
  the prompt no longer waits for it.

Only output begins an unsolicited turn: messages of the model, and results of tools. An `init`, a
status, an error and a result hold nothing back.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..errors import Error, LocalProtocolError, TurnCancelled
from ..wire import (
    AssistantMessage,
    Cancel,
    CanUseTool,
    CommandLifecycleMessage,
    DialectBehavior,
    ErrorMessage,
    Event,
    HookCallback,
    HumanOrigin,
    InitMessage,
    InvalidLine,
    Malformed,
    Message,
    Oversize,
    Request,
    ResultMessage,
    SessionStateChangedMessage,
    StreamEvent,
    SystemErrorMessage,
    ToolProgressMessage,
    UserMessage,
    UserPromptSubmitHookInput,
)
from .events import TurnState
from .inferred_end import (
    AFTER_IDLE,
    AFTER_LATE_RESULT,
    AFTER_MERGING,
    AFTER_REQUEST,
    UNANNOUNCED,
    UNSOLICITED,
    InferredEnd,
    became_idle,
    failed,
    interrupted,
    stopped,
    unreadable,
)
from .turn import AnyTurn, Turn

if TYPE_CHECKING:
    from .core import Core


class Conversation:
    """The unfinished turns of a session.

    Attributes:
        reports_progress: whether the CLI reports which prompt it works on.
        names_prompts: whether each `init` of the CLI is known to name the prompts of its turn.
        ending: the end of a turn if the CLI says no more of it.
        outputs: the number of messages with output.
        contexts: the ids of messages that ask for no answer, and that the CLI has not taken up
            yet. CLIs give them an empty result all the same.
    """

    def __init__(self, core: Core, behavior: DialectBehavior | None = None) -> None:
        self._core = weakref.ref(core)
        self.behavior: DialectBehavior = behavior or DialectBehavior()
        self._held: OrderedDict[str | None, AnyTurn] = OrderedDict()
        self._sent: dict[str | None, AnyTurn] = {}
        self.current: AnyTurn | None = None
        self._is_tentative = False
        """Whether the running turn is a guess."""
        self._overtaken: list[AnyTurn] = []
        self.reports_progress: bool = False
        self.names_prompts: bool = False
        self.ending: InferredEnd | None = None
        self.outputs: int = 0
        self._announcement: InitMessage | None = None
        """Perhaps the first message of an unsolicited turn."""
        self._deferred: list[Message] = []
        """Messages in the middle of a turn, perhaps of an unsolicited one; its result tells."""
        self._is_deferring = False
        self._result_is_missing = False
        """A turn has ended without its result, which may still come."""
        self._last_result: ResultMessage | None = None
        self._outputs_before = 0
        """The number of outputs at the last result."""
        self._is_idle = False
        """The CLI has reported that it is idle, and has not gone on since."""
        self.contexts: set[str | None] = set()
        self._is_in_context = False
        """The CLI works on one of `contexts`."""

    # --- facts -----------------------------------------------------------------------------------

    @property
    def active(self) -> AnyTurn | None:
        """The running turn, or else the one that the CLI will begin with."""
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
        """Put a turn at the end of the queue; its uuid must not be in flight."""
        if turn.uuid in self._held or turn.uuid in self._sent:
            raise LocalProtocolError(f"A prompt with the uuid {turn.uuid!r} is not over yet")
        self._held[turn.uuid] = turn

    def take(self) -> AnyTurn | None:
        """Return the turn that may be sent now, if any; it then counts as sent."""
        for turn in self._held.values():
            is_urgent = self.reports_progress and turn.prompt and turn.prompt.priority
            if is_urgent or not self.is_busy:
                del self._held[turn.uuid]
                turn.state = TurnState.SENT
                self._sent[turn.uuid] = turn
                self._is_idle = False
                return turn
        return None

    def drop(self, turn: AnyTurn, error: Error, message: Message | None = None) -> None:
        """Forget a turn that will have no result; `message` is its last one, if any."""
        for turns in (self._held, self._sent):
            if turns.get(turn.uuid) is turn:
                del turns[turn.uuid]
        self._leave(turn)
        if message is not None:
            turn._push(message)
        turn._fail(error)

    def drop_held(self, error: Error) -> None:
        """Forget all turns that are not sent yet."""
        for turn in self.held:
            self.drop(turn, error)

    def drop_sent(self, error: Error) -> None:
        """Forget all turns that the CLI has, after its end."""
        for turn in (*self._sent.values(), *self._overtaken, *filter(None, [self.current])):
            self.drop(turn, error)
        self._overtaken.clear()

    def continued(self, core: Core) -> Conversation:
        """Return the conversation with the next CLI, which gets the held turns."""
        new = Conversation(core)
        new._held = self._held
        return new

    # --- receiving -------------------------------------------------------------------------------

    def route(self, event: Event) -> AnyTurn | None:
        """Add an event to its turn, if it has one, and return that turn."""
        find = _FINDERS.get(type(event))
        if find is not None:
            turn = find(self, event)
        else:
            is_of_a_turn = isinstance(event, Message) and not isinstance(event, Cancel)
            turn = self._running() if is_of_a_turn else None
        if turn is not None and not turn.is_over:
            turn._push(event)
        return turn

    def is_deferred(self, message: Event) -> bool:
        """Whether the turn of the last message is not known yet."""
        return bool(self._deferred) and self._deferred[-1] is message

    def infer_end(self) -> None:
        """Note the end of turns that the CLI has, and does not go on with."""
        if self.ending is not None:
            return
        if self._is_idle:
            if self._sent:
                self._leave_open(self.sent, AFTER_IDLE)
        elif self.current is None and (merged := tuple(filter(_has_begun, self._sent.values()))):
            self._leave_open(merged, AFTER_MERGING)

    def _leave_open(self, turns: tuple[AnyTurn, ...], within: float) -> None:
        self.ending = InferredEnd(turns[0], became_idle(), within, left_open=turns)

    def _running(self) -> AnyTurn | None:
        """Return the turn of a message without a sign of its own."""
        return self.current or (None if self.reports_progress else self.active)

    def _of_output(self, message: AssistantMessage | StreamEvent) -> AnyTurn | None:
        named = message.user_message_uuid
        if named is not None or message.user_message_uuids:
            self._note_turn(message.user_message_uuids or ())
            self._note_names([named])
            self._is_deferring = self._is_deferring and named not in self._sent
        return self._of_speaker(message, message.parent_tool_use_id)

    def _of_assistant(self, message: AssistantMessage) -> AnyTurn | None:
        turn = self._of_output(message)
        if not self.behavior.has_results and turn and self.behavior.ends_turn(message):
            self.ending = stopped(turn, message, self.ending)
        return turn

    def _of_user(self, message: UserMessage) -> AnyTurn | None:
        if message.is_replay:
            self._note_names([message.uuid])
            return self._running()
        return self._of_speaker(message, message.parent_tool_use_id)

    def _of_progress(self, message: ToolProgressMessage) -> AnyTurn | None:
        # Like the output of a subagent: it begins no turn.
        return self._of_speaker(message, message.parent_tool_use_id or message.tool_use_id)

    def _of_speaker(self, message: Message, agent: str | None) -> AnyTurn | None:
        """Return the turn of some output, which begins if it has not begun."""
        if self._is_deferring and agent is None:
            self._defer(message)
            return None
        self.outputs += 1
        if self.ending is not None:
            self._delay_end(self.ending)
        if agent is not None:
            # A subagent may go on between turns, and no result would follow.
            return self._running()
        self._is_idle = False
        turn = self.current or self._begin_some()
        self._result_is_missing = self._result_is_missing and turn is None
        return turn

    def _delay_end(self, ending: InferredEnd) -> None:
        """Note output after a sign that a turn may be over."""
        if not ending.is_certain:
            self.ending = None if ending.turn.was_asked_for else _bound(ending.turn)

    def _of_init(self, init: InitMessage) -> AnyTurn | None:
        named = init.user_message_uuids or []
        if not self.contexts.isdisjoint(named):
            return None  # no turn follows
        self._note_turn(named)
        self._note_names(named)
        if self.current is None and (self.reports_progress or not self._sent):
            self._announcement = init  # perhaps nothing follows: some CLIs send it at any time
            return None
        was_asked_for = self.current is not None and self.current.was_asked_for
        is_of_another = was_asked_for and self._sent.keys().isdisjoint(named)
        if self.reports_progress and self.names_prompts and is_of_another:
            self._is_deferring = True
            self._defer(init)
            return None
        return self.current or self._begin_some()

    def _defer(self, message: Message) -> None:
        self.outputs += 1
        if self.ending is not None:
            self._delay_end(self.ending)
        self._deferred.append(message)

    def _flush_deferred(self, turn: AnyTurn) -> None:
        messages, self._deferred, self._is_deferring = self._deferred, [], False
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
            self._go_on()
            return turn
        self._is_idle = True
        if turn is not None and not turn.was_asked_for:
            # Nothing more will come for it, and other turns wait for its end.
            self.drop(turn, became_idle(), message)
        return turn

    def _go_on(self) -> None:
        self._is_idle = False
        if self.ending is not None and self.ending.left_open:
            self.ending = None

    def _of_lifecycle(self, message: CommandLifecycleMessage) -> AnyTurn | None:
        self.reports_progress = True
        uuid, state = message.command_uuid, message.state
        if uuid in self.contexts and state != "queued":
            self._is_in_context = state == "started"
            if not self._is_in_context:
                self.contexts.discard(uuid)
        turn = self._sent.get(uuid)
        if turn is None:
            return None
        if state == "started":
            # Another may be running: this one was put into it, and its result may name both.
            self._go_on()
            self._begin(turn)
        elif state == "completed":
            self._merge(turn, message)
        elif message.is_dropped and not self._has_known_end(turn):
            self.drop(turn, TurnCancelled(f"The CLI has {state} the prompt"), message)
        return turn

    def _has_known_end(self, turn: AnyTurn) -> bool:
        """Whether a turn ends in another way, as after an interrupt that no result follows."""
        ending = self.ending
        return ending is not None and ending.turn is turn and not ending.left_open

    def _merge(self, turn: AnyTurn, message: Message) -> None:
        """End a turn that the CLI put into another one, whose result does not name both."""
        if not _has_begun(turn) or turn is self.current:
            return
        if self.current is not None:
            self._overtaken.append(turn)  # the next result ends both
        elif self._last_result is not None and not self._last_result.user_message_uuids:
            turn._push(message)
            self._finish(turn, self._last_result, merged=True)

    # --- results ---------------------------------------------------------------------------------

    def _of_result(self, result: ResultMessage) -> AnyTurn | None:
        if self._is_of_context(result):
            return None  # a notice: it ends nothing
        is_repeated = self._is_repeated(result)
        self._last_result, self._outputs_before = result, self.outputs
        if is_repeated or (self._result_is_missing and not (result.origin or _named(result))):
            self._result_is_missing = is_repeated and self._result_is_missing
            # One that names the prompts of another turn cannot be that of this one.
            if (turn := self.active) is not None and not _named(result):
                self.ending = InferredEnd(turn, result, AFTER_LATE_RESULT)
            return None
        turns = self._answered(result)
        for index, turn in enumerate(turns):
            self._finish(turn, result, merged=index > 0)
        return turns[0]

    def _is_of_context(self, result: ResultMessage) -> bool:
        """Whether it answers a message that asks for no answer. 2.1.250 does not name it."""
        if named := _named(result):
            return not named.isdisjoint(self.contexts)
        return self._is_in_context and self.current is None

    def _is_repeated(self, result: ResultMessage) -> bool:
        """Whether it may be the last one again; some CLIs give the same uuid to all."""
        last = self._last_result
        is_same = last is not None and result.uuid is not None and result.uuid == last.uuid
        is_of_now = not _named(result).isdisjoint(self._sent)
        return is_same and not is_of_now and self.outputs == self._outputs_before

    def _finish(self, turn: AnyTurn, result: ResultMessage, *, merged: bool) -> None:
        self._sent.pop(turn.uuid, None)
        self._leave(turn)
        turn._finish(result, merged=merged)

    def _leave(self, turn: AnyTurn) -> None:
        if turn is self.current:
            self._flush_deferred(turn)
            self.current = None
        if self.ending is not None and self.ending.turn is turn:
            self.ending = None

    def _answered(self, result: ResultMessage) -> list[AnyTurn]:
        """Return the turns that a result ends, the one that has the messages first."""
        named = _named(result)
        turns = [turn for uuid, turn in self._sent.items() if uuid in named]
        first = self.current
        if not turns:
            first = self._ended_without_a_name(result)
            # One that names its prompts, as this CLI does, would name those that were put into it.
            is_of_others = self.names_prompts and _is_from_elsewhere(result)
            if first is self.current and not is_of_others:
                turns = list(filter(_has_begun, self._sent.values()))
        elif first not in turns and not self._is_answered_with(turns[0], result):
            if result.user_message_uuids:
                self._leave_current()
            first = turns[0]
        assert first is not None
        overtaken = [
            turn
            for turn in self._overtaken
            if first is self.current and not (turn.was_asked_for and result.user_message_uuids)
        ]
        turns = [first, *(turn for turn in (*turns, *overtaken) if turn is not first)]
        self._overtaken = [turn for turn in self._overtaken if turn not in turns]
        return turns

    def _is_answered_with(self, named: AnyTurn, result: ResultMessage) -> bool:
        """Whether the running turn ends with the result of another prompt.

        A CLI works on one thing at a time: a prompt that it begins during a turn is a part of that
        turn. Of the prompts that it takes up together, 2.1.250 names only the last.
        """
        if self.current is None or not self.current.was_asked_for:
            return self.current is not None
        return not (self._is_tentative or result.user_message_uuids) and _has_begun(named)

    def _ended_without_a_name(self, result: ResultMessage) -> AnyTurn:
        if not _is_from_elsewhere(result):
            return self.current or self._begin_some() or self._new_unsolicited()
        self._take_back_the_guess()
        unsolicited = (it for it in (self.current, *self._overtaken) if it and not it.was_asked_for)
        return next(unsolicited, None) or self._new_unsolicited()

    def _take_back_the_guess(self) -> None:
        """Put a prompt back that was taken for the running turn, and has not begun yet."""
        if self.current is not None and self.current.was_asked_for and self._is_tentative:
            self.current.state = TurnState.SENT
            self.current = None

    # --- beginnings ------------------------------------------------------------------------------

    def _note_turn(self, uuids: Collection[str | None]) -> None:
        """Note that the CLI works on these prompts and no others, if there are any."""
        current = self.current
        if current is None or not current.was_asked_for or current.uuid in uuids:
            return
        if not self._sent.keys().isdisjoint(uuids):
            self._leave_current()

    def _leave_current(self) -> None:
        """Go on without the running turn, whose result has not come: the CLI works on another."""
        self._take_back_the_guess()
        if self.current is not None:
            self._flush_deferred(self.current)
            self.current = None

    def _note_names(self, uuids: Iterable[str | None]) -> None:
        for uuid in uuids:
            if uuid is not None and uuid in self._sent:
                self._overtake()
                self._begin(self._sent[uuid])

    def _overtake(self) -> None:
        """Set an unsolicited turn aside: it has taken the prompt in, or has silently ended."""
        turn = self.current
        if turn is not None and not turn.was_asked_for:
            self._overtaken.append(turn)  # the next result ends both
            self.current = None
            self._leave(turn)

    def _begin(self, turn: AnyTurn) -> None:
        turn._begin()
        if self.current is not turn:
            self._take_back_the_guess()
        if self.current is None or self.current is turn:
            self.current, self._is_tentative = turn, False
            self._announcement = None

    def _begin_some(self) -> AnyTurn | None:
        """Begin a turn that does not say which prompt it answers, if there is one to begin."""
        waiting = None if self.reports_progress else next(iter(self._sent.values()), None)
        if waiting is not None:
            self._announcement = None
            waiting._begin()
            self._is_tentative = True
        elif self._result_is_missing:
            return None
        else:
            waiting = self._new_unsolicited()
            self.ending = _bound(waiting)
        self.current = waiting
        return waiting

    def _new_unsolicited(self) -> AnyTurn:
        core = self._core()
        assert core is not None
        turn: AnyTurn = Turn(None, core)
        init, self._announcement = self._announcement, None
        if init is not None:
            turn._push(init)
        self._flush_deferred(turn)
        core.turn_started(turn)
        return turn

    # --- ends without a result -------------------------------------------------------------------

    def _of_request(self, request: Request) -> None:
        """Note that the CLI asks for something: a turn is going on."""
        ending = self.ending
        if ending is not None and not (ending.left_open or ending.is_certain):
            # It may say no more, so the end is only delayed.
            self.ending = InferredEnd(ending.turn, ending.outcome, AFTER_REQUEST)
        elif self._is_idle and _is_of_a_turn(request):
            self._go_on()
        elif self._result_is_missing and isinstance(request.body, CanUseTool) and not self.is_busy:
            self._result_is_missing = False  # the following output is not late

    def _of_unreadable(self, event: Malformed | InvalidLine | Oversize) -> None:
        """Note a line that cannot be read: it may be the end of the turn."""
        turn = self.active
        if turn is not None and (self.ending is None or self.ending.outcome is None):
            self.ending = unreadable(turn, event) or self.ending

    def note_interrupt(self, turn: AnyTurn) -> None:
        """Note that a turn was interrupted, and that perhaps no result follows."""
        if turn is self.active:
            self.ending = interrupted(turn)

    def end(self, ending: InferredEnd) -> None:
        """End a turn of which the CLI says no more."""
        outcome = ending.outcome
        if outcome is None:
            self._overtake()
        elif ending.left_open:
            for turn in ending.left_open:
                self._end_left_open(turn, outcome)
        else:
            self._end_with(ending.turn, outcome)
        self.infer_end()

    def _end_left_open(self, turn: AnyTurn, outcome: ResultMessage | Error) -> None:
        result = self._last_result
        is_merged = _has_begun(turn) and turn is not self.current
        if is_merged and result is not None and not result.user_message_uuids:
            self._finish(turn, result, merged=True)
        elif not turn.is_over:
            self._end_with(turn, outcome)

    def _end_with(self, turn: AnyTurn, outcome: ResultMessage | Error) -> None:
        self._result_is_missing = not (isinstance(outcome, ResultMessage) and outcome.line)
        if isinstance(outcome, Error):
            self.drop(turn, outcome)
        else:
            self._finish(turn, outcome, merged=False)


def _named(result: ResultMessage) -> set[str]:
    """Return the prompts that a result names; `user_message_uuids` lists all that it answers."""
    named = (*(result.user_message_uuids or ()), result.user_message_uuid)
    return {uuid for uuid in named if uuid}


def _is_from_elsewhere(result: ResultMessage) -> bool:
    """Whether a result that names no prompt in flight is that of an unsolicited turn."""
    if result.origin is not None:
        return not isinstance(result.origin, HumanOrigin)
    return bool(_named(result))


def _has_begun(turn: AnyTurn) -> bool:
    return turn.state is TurnState.RUNNING


def _is_of_a_turn(request: Request) -> bool:
    """Whether the CLI asks in the middle of a turn, and not for something in the background."""
    body = request.body
    if isinstance(body, HookCallback):
        return isinstance(body.input, UserPromptSubmitHookInput)
    return isinstance(body, CanUseTool) and body.agent_id is None


def _bound(unsolicited: AnyTurn) -> InferredEnd:
    """Limit the silence of an unsolicited turn while a prompt waits."""
    was_announced = any(isinstance(message, InitMessage) for message in unsolicited.messages[:1])
    seconds = UNSOLICITED if was_announced else UNANNOUNCED
    return InferredEnd(unsolicited, None, seconds, is_certain=True)


_FINDERS: dict[type[Event], Callable[[Conversation, Any], AnyTurn | None]] = {
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
    Request: Conversation._of_request,
    Malformed: Conversation._of_unreadable,
    InvalidLine: Conversation._of_unreadable,
    Oversize: Conversation._of_unreadable,
}
"""The events that may begin or end a turn. Other messages belong to the running turn."""
