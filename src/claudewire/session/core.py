"""The inside of a session: sorts what the CLI says, and makes every change of state.

All of it but for the methods that wait is synchronous: it is called by the reader of the link for
each event, and by the methods of the session. Whatever waits, waits for `changed`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import anyio

from ..concurrency import Signal, run_soon
from ..errors import (
    BudgetExceeded,
    Cause,
    CLIError,
    Error,
    LocalProtocolError,
    SessionClosed,
    SessionFailed,
    TransportClosed,
    TurnCancelled,
    TurnError,
    describe,
)
from ..launch import Claim, Connect, claim_for
from ..options import Options
from ..tracking import TaskTracker, UsageTracker
from ..transport import Transport
from ..wire import (
    Answer,
    AssistantMessage,
    Cancel,
    CanUseTool,
    CommandLifecycleMessage,
    ContextUsageResult,
    Event,
    Failure,
    InitializeResult,
    InitMessage,
    Interrupt,
    Malformed,
    Message,
    Noise,
    Oversize,
    Request,
    RequestBody,
    ResultMessage,
    Rules,
    SessionCreatedMessage,
    SessionStateChangedMessage,
    StopTask,
    UserMessage,
    dropped_prompts,
)
from .capabilities import Capabilities
from .conversation import Conversation
from .ending import Ending
from .events import (
    BudgetAlert,
    SessionEvent,
    SessionState,
    StateChanged,
    StderrOutput,
    Subscriptions,
    TurnStarted,
    UnreadLimitReached,
)
from .interrupt import interrupt, interrupt_turn
from .link import Link
from .log import log
from .notes import Notes, is_command
from .queue import HomeThread, ItemQueue
from .turn import AnyTurn, UnreadCount

if TYPE_CHECKING:
    from ..tracking import Alert, BudgetWatch
    from .watchdog import Watchdog

__all__ = ["Core", "again"]

AnswerT = TypeVar("AnswerT")

NOTICES = 1000
"""How many messages that belong to no turn are kept."""

NEW_BUDGET = "A new session has a new budget."
OPEN_ANOTHER = "Open another one; `resume=session_id` continues the conversation."
OTHER_BUDGET = "Use a larger SharedBudget, or a new one."
TURN_OVER = "the turn was over before a decision was made"

TURN_FOLLOWS_WITHIN: float = 1.0
"""Seconds. The end of a task sets off a turn; measured, the CLI is idle for 0.1 s in between."""

_DEAD = (SessionState.CLOSED, SessionState.FAILED)


class Core:
    """The state of one session. The watchdog restarts it with `restart`."""

    # What changes seldom is here: an object with more than 29 attributes of its own takes 1.5 KB.
    is_dead: bool = False
    """Whether the session is closed or has failed."""
    spent: Error | None = None
    """Set when the session has used up its budget: then nothing more is sent."""
    cli_info: InitializeResult | None = None
    init_message: InitMessage | None = None
    last_result: ResultMessage | None = None
    session_id: str | None = None
    restarting: bool = False
    opening: anyio.CancelScope | None = None
    _holding_back: int = 0
    keeps_held: bool = False
    """Set while the CLI may be ended to be started again: held turns are for the next one."""

    def __init__(
        self,
        options: Options,
        transport: Transport | Connect | None,
        restart: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self.options = options
        self.transport = transport
        self.restart = restart
        self.claim: Claim = claim_for(options, transport)
        """Keeps other sessions away from the same conversation."""
        self.state: SessionState = SessionState.NEW
        self.failure: Error | None = None
        self.link: Link | None = None
        self.check_thread: HomeThread = HomeThread()
        """Refuses calls from other threads, also from event loops in them."""
        self.watchdog: Watchdog | None = None
        self.changed: Signal = Signal()
        # Its parts refer to it weakly, so that it is freed with the session, and not by Python's
        # garbage collector.
        core = weakref.proxy(self)
        self.unread: UnreadCount = UnreadCount(
            options.unread, lambda count: core._unread_limit_reached(count)
        )
        self.conversation: Conversation = Conversation(
            self.unread, lambda turn: core._turn_started(turn)
        )
        self.unsolicited: ItemQueue[AnyTurn] = ItemQueue(NOTICES, self.check_thread)
        self.notices: list[Event] = []
        self.subscriptions: Subscriptions[Event | SessionEvent] = Subscriptions(self.check_thread)
        self.tasks: TaskTracker = TaskTracker()
        self.ledger: UsageTracker = UsageTracker(prices=options.prices)
        self.budget: BudgetWatch | None = _watch_of(options)
        self._watched: Ending | None = None
        self.notes: Notes = Notes()
        self.capabilities: Capabilities = Capabilities()

    # --- the state -------------------------------------------------------------------------------

    @property
    def rules(self) -> Rules:
        """What opens a session and ends a turn in the dialect of the CLI, as far as it is known."""
        return self.conversation.rules

    @property
    def is_starting(self) -> bool:
        """Whether a CLI is being started, and nothing has gone wrong so far."""
        has_failed = self.failure is not None and not self.restarting
        return self.state is SessionState.STARTING and not has_failed

    def go(self, state: SessionState) -> None:
        """Change the state, and report it."""
        if state is self.state:
            return
        old, self.state, self.is_dead = self.state, state, state in _DEAD
        self.subscriptions.tell(StateChanged(old, state))
        self.notify()

    def notify(self) -> None:
        """Wake all that wait for a change, and let the watchdog look."""
        self.changed.notify()
        if self.watchdog is not None:
            self.watchdog.look()

    def settle(self) -> None:
        """Send the turns that may be sent now, and find out whether the session is busy."""
        if self.state not in (SessionState.READY, SessionState.BUSY) or self._holding_back:
            return
        assert self.link is not None
        while self.link.is_open and (turn := self.conversation.take()) is not None:
            assert turn.prompt is not None
            if self.budget is not None and (refusal := self.budget.refusal()) is not None:
                self.conversation.drop(turn, BudgetExceeded(refusal, advice=OTHER_BUDGET))
                continue
            try:
                turn.prompt = self.notes.put_before(turn.prompt)
                self.link.post(turn.prompt)
            except Exception as error:  # a field of the message may be anything
                self.conversation.drop(turn, _unsendable(error))
        if self.budget is not None:
            self.budget.count(self.ledger, len(self.conversation.sent))
        state = SessionState.BUSY if self.conversation.is_busy else SessionState.READY
        if state is self.state:
            self.notify()
        else:
            self.go(state)

    @contextmanager
    def holding_back(self) -> Iterator[None]:
        """Send no prompts meanwhile."""
        self._holding_back += 1
        try:
            yield
        finally:
            self._holding_back -= 1
            self.settle()

    def check(self) -> Link:
        """Return the link to the CLI.

        Raises:
            Error: there is none; this is the original reason.
        """
        if self.failure is not None:
            raise again(self.failure)
        self.check_thread()
        if self.state is SessionState.NEW:
            raise SessionClosed("The session was not opened; use `async with` or `await`")
        if self.link is None or self.state is SessionState.CLOSING:
            raise SessionClosed(f"The session is {self.state}")
        return self.link

    async def request(self, body: RequestBody[AnswerT], timeout: float | None) -> AnswerT:
        """Send a request and return its answer; see `Session.request`."""
        link = self.check()
        try:
            await self.capabilities.check_known(body, link, timeout)
            answer = await link.ask(body, timeout=timeout)
        except TransportClosed:
            reason = await self.reason(link)
            raise reason from reason.__cause__  # and not from what was just caught
        if isinstance(answer, ContextUsageResult):
            self.ledger.note_context(answer)
        if isinstance(body, StopTask) and self.tasks.stopped(body.task_id):
            self.notify()
        return answer

    def learn(
        self, *, info: InitializeResult | None = None, init: InitMessage | None = None
    ) -> None:
        """Note what the CLI says of itself."""
        self.capabilities.learn(info, init)
        self.conversation.names_prompts = self.capabilities.names_prompts
        if self.link is not None:
            self.link.may_withdraw = self.capabilities.takes_cancel

    def tell(self, content: str | list[Any]) -> None:
        """Add to the conversation; see `Session.tell`."""
        link = self.check()
        if not (self.capabilities.takes_notes and link.is_open) or is_command(content):
            self.notes.hold(content)
            return
        uuid = str(uuid4())
        link.post(UserMessage.of(content, uuid=uuid, should_query=False))
        self.conversation.told.add(uuid)
        self.notes.sent(content, uuid)

    async def reason(self, link: Link) -> Error:
        """Wait for the end of a link that is ending; return the reason."""
        await self.changed.until(lambda: self.failure is not None or self.link is not link)
        if self.failure is not None:
            return again(self.failure)
        return CLIError("The CLI was restarted before it had answered", cause=Cause.EXITED)

    async def until_free(self) -> None:
        """Wait until the CLI before this one has exited.

        Raises:
            SessionClosed: the session was closed meanwhile.
        """
        if self.restarting:
            with anyio.CancelScope(shield=True):
                await self.changed.until(lambda: not self.restarting)
        if self.failure is not None:
            raise again(self.failure)

    def attach(self, link: Link) -> None:
        """Start to use a link; or end it, if the session was closed meanwhile."""
        self.link = link
        self.conversation.connection = link.connection
        if self.budget is not None and self.budget.is_shared:
            self.budget.join(partial(run_soon(), self._shared_budget_changed))
        link.start()
        if self.state is not SessionState.STARTING:
            link.close(now=True)

    def close(self, *, now: bool) -> None:
        """Start to close the session, unless it is being closed already."""
        if self.is_dead:
            return
        was_new = self.state is SessionState.NEW
        self.go(SessionState.CLOSING)
        if was_new:
            self.ended()
        elif self.link is not None:
            if self.conversation.is_busy and self.link.is_open:
                # Otherwise it would finish its turn before it exits.
                self.link.post(self.link.connection.new_request(Interrupt()))
            self.link.close(now=now)
            if self.watchdog is not None:
                self.watchdog.stop()
        elif self.opening is not None:
            self.opening.cancel()

    def give_up(self, error: Error) -> None:
        """End the CLI for this reason, which every call raises from then on."""
        self.restarting = False
        if self.failure is None:
            self.failure = error
        if self.link is None:
            self.ended()
        else:
            self.link.close(now=True)

    async def stop_turn(self, turn: AnyTurn, timeout: float) -> bool:
        """Interrupt a turn, unless it is no longer the running one.

        Returns:
            whether it is the running one no longer.
        """
        if turn is self.conversation.active:
            with suppress(Error):
                await interrupt(self, queued="keep", timeout=timeout, escalation=None)
        return turn is not self.conversation.active

    def begin_restart(self) -> None:
        """End the CLI, but not the session.

        Raises:
            SessionClosed: the session is being closed.
        """
        if self.state is SessionState.CLOSING:
            raise SessionClosed("The session is closing")
        self.restarting = True
        self.subscriptions.reopen()
        self.unsolicited.reopen()
        self.go(SessionState.STARTING)
        if self.link is None or self.link.finished.is_set():
            self.ended()
        else:
            self.link.close(now=True)

    async def until_idle(self, *, with_tasks: bool) -> None:
        """Wait until there is no turn, asked for or not, and perhaps no task either.

        Raises:
            Error: the session fails meanwhile.
        """
        self.check_thread()

        def is_idle() -> bool:
            is_busy = bool(self.conversation.held) or self.conversation.is_busy
            return self.is_dead or not (is_busy or (with_tasks and not self.tasks.idle))

        while True:
            await self.changed.until(is_idle)
            self.check()
            had_tasks = any(it.reported and it.background is not False for it in self.tasks)
            if not (with_tasks and had_tasks):
                return
            more = await self.changed.until(
                lambda: self.is_dead or not is_idle(), TURN_FOLLOWS_WITHIN
            )
            if not more:
                return

    # --- called by the link ----------------------------------------------------------------------

    def received_output(self, events: list[Any]) -> bool:
        """Sort events all at once, if they are output that can only belong to the running turn."""
        is_watched = self.subscriptions or self.budget is not None  # then each one counts
        notable = None if is_watched else self.conversation.add(events)
        if notable is None:
            return False
        messages = [message for _, message in notable]
        self._count(messages, self.conversation.current)
        if self.watchdog is not None:
            self.watchdog.note_all([*messages, events[-1]])
        self._look_around()
        return True

    def received(self, event: Event) -> None:
        """Sort an event."""
        if type(event) is Request:
            self.conversation.note_request(event)
            self.watch_ending()
        elif type(event) is Answer:
            if event.request is not None:
                self._drop_prompts(dropped_prompts(event.request, event))
        elif isinstance(event, Message) and type(event) is not Cancel:
            self._sort(event)
        elif not isinstance(event, Cancel | Failure):
            self._add_notice(event)
            if isinstance(event, Malformed | Noise | Oversize):
                self.conversation.note_unreadable(event)
                self.watch_ending()
        if self.watchdog is not None:
            self.watchdog.note(event)
        self.subscriptions.tell(event)

    def _sort(self, message: Message) -> None:
        turn = self.conversation.route(message)
        conversation = self.conversation
        if turn is None and not (conversation.answered or conversation.has_put_aside(message)):
            self._add_notice(message)
        self._count((message,), turn)
        self._look_around()

    def _count(self, messages: Sequence[Message], turn: AnyTurn | None) -> None:
        """Note what else messages of one turn say."""
        key = turn and turn.key
        for message in messages:
            if type(message) is not ResultMessage:
                self.ledger.note(message, key)
                if self.budget is not None:
                    self._check_budget(turn)
            if self.tasks.note(message):
                self.notify()
            react = _REACTIONS.get(type(message))
            if react is not None:
                react(self, message)

    def _look_around(self) -> None:
        """Find out whether a turn may end, and whether the session is busy."""
        self.watch_ending()
        if self.conversation.is_busy is not (self.state is SessionState.BUSY):
            self.settle()

    def check_shared(self) -> None:
        """Check that no shared budget is used up, perhaps by other sessions.

        Raises:
            BudgetExceeded: one is.
        """
        if self.spent is None and self.budget is not None:
            alert = self.budget.exhausted(self.ledger)
            if alert is not None:
                self.spent = BudgetExceeded(str(alert), advice=OTHER_BUDGET)
        if self.spent is not None:
            raise self.spent.with_traceback(None)  # or it would grow with each call

    def _shared_budget_changed(self) -> None:
        """Check the budgets when another session has used some of one."""
        if not self.is_dead:
            self._check_budget(self.conversation.active)

    def _check_budget(self, turn: AnyTurn | None) -> None:
        if self.budget is None:
            return
        self.budget.count(self.ledger, len(self.conversation.sent))
        for alert in self.budget.check(self.ledger, turn=turn and turn.key):
            log.warning("%s", alert)
            self.subscriptions.tell(BudgetAlert(alert))
            if alert.level == "hard":
                self._enforce(alert, turn)

    def _enforce(self, alert: Alert, turn: AnyTurn | None) -> None:
        """Stop the running turn; if the session's budget is used up, drop the held turns too."""
        if alert.budget.per == "session":
            from ..tracking import SharedBudget

            is_shared = isinstance(alert.budget, SharedBudget)
            advice = OTHER_BUDGET if is_shared else NEW_BUDGET
            self.spent = error = BudgetExceeded(str(alert), advice=advice)
            self.conversation.drop_held(error)
            self._stop_for(self.conversation.active, error)
        elif turn is not None and not turn.is_over:
            self._stop_for(turn, BudgetExceeded(str(alert)))

    def _stop_for(self, turn: AnyTurn | None, error: Error) -> None:
        """Let a turn fail, and stop it in a task of its own: its result may be here already."""

        async def stop(turn: AnyTurn) -> None:
            if not await self.stop_turn(turn, self.options.timeouts.interrupt):
                self.give_up(error)

        if self.link is not None and turn is not None:
            turn._fail_at_end(error)
            self.link.start_soon(partial(stop, turn))

    def _drop_prompts(self, uuids: Iterable[str]) -> None:
        """Drop the prompts that the CLI will not answer, as one of its answers says."""
        sent = {turn.uuid: turn for turn in self.conversation.sent}
        for uuid in uuids:
            if uuid in sent:
                dropped = TurnCancelled("The CLI dropped the prompt, as it was asked to")
                self.conversation.drop(sent[uuid], dropped)
                self.settle()

    def _note_init(self, init: InitMessage) -> None:
        try:
            self.claim.confirm(init.session_id or self.session_id)
        except CLIError as error:
            self._disown(error)
            return
        self.init_message = init
        self.learn(init=init)
        self.session_id = init.session_id or self.session_id

    def _note_id(self, message: Message) -> None:
        """Take the id of the conversation from another message, where there is no `init`."""
        if self.session_id is None and message.session_id is not None:
            try:
                self.claim.confirm(message.session_id)
            except CLIError as error:
                self._disown(error)
                return
            self.session_id = message.session_id

    def _disown(self, error: CLIError) -> None:
        """End a CLI that resumed a conversation which another session has."""
        assert self.link is not None
        error.evidence = self.link.evidence()
        for turn in self.conversation.sent:
            turn._fail_at_end(error)
        self.give_up(error)

    def _note_state(self, message: SessionStateChangedMessage) -> None:
        self.notify()

    def _note_progress(self, message: CommandLifecycleMessage) -> None:
        if message.is_dropped:
            self.notes.dropped(message.command_uuid)

    def _note_result(self, result: ResultMessage) -> None:
        self.last_result = result
        turns, self.conversation.answered = self.conversation.answered, []  # and not kept alive
        if not turns:
            return  # a late one, or one that was repeated
        self.notes.confirm(self.conversation.told)
        if turns[0].was_asked_for:
            self._note_id(result)
        self.ledger.note(result, turns[0].key)
        turns[0]._set_totals(self.ledger.turn(turns[0].key))
        self._check_budget(turns[0])  # before the next one is sent
        self._refuse_permissions()
        self.settle()

    def _refuse_permissions(self) -> None:
        if self.link is not None and self.link.is_open:
            self.link.refuse(_is_of_the_main_turn, TURN_OVER)

    def watch_ending(self) -> None:
        """Wait for the silence that ends a turn without a result, if one may end so."""
        ending = self.conversation.ending
        if ending is self._watched:
            return
        self._watched = ending
        if ending is not None:
            assert self.link is not None
            self.link.start_soon(partial(self._end_if_silent, ending))

    async def _end_if_silent(self, ending: Ending) -> None:
        def is_off() -> bool:
            return self.conversation.ending is not ending

        while not is_off():
            spoken = self.conversation.spoken
            # Not a sleep: that would keep the turn, and what is unread of it, after its end.
            await self.changed.until(is_off, ending.within)
            is_silent = self.conversation.spoken == spoken
            if not is_off() and is_silent and self._may_end(ending):
                self._end(ending)

    def _may_end(self, ending: Ending) -> bool:
        if ending.outcome is None:
            return bool(self.conversation.held)
        if ending.is_certain or ending.left_open:
            return True
        assert self.link is not None
        return not self.link.connection.owed  # a handler is still deciding

    def _end(self, ending: Ending) -> None:
        outcome = ending.outcome
        if isinstance(outcome, Error):
            assert self.link is not None
            outcome.evidence = self.link.evidence()
        self.conversation.end(ending)
        self.watch_ending()  # of the turns behind it, of which the CLI may say no more either
        if isinstance(outcome, ResultMessage):
            self._note_result(outcome)
        else:
            self._refuse_permissions()
            self.settle()

    def asked(self) -> None:
        """Let the watchdog know that the session waits for an answer."""
        self.notify()

    def answered(self) -> None:
        """Let the watchdog know that the session now waits for the CLI, and not for a person."""
        self.changed.notify()
        if self.watchdog is not None:
            self.watchdog.start_again()

    def heard(self, stderr: str) -> None:
        """Report what the CLI wrote to stderr."""
        self.subscriptions.tell(StderrOutput(stderr))
        try:
            if self.options.on_stderr is not None:
                self.options.on_stderr(stderr)
        except BaseException:
            log.exception("on_stderr raised")

    def failed(self, error: BaseException) -> None:
        """End the session: what could not be handled may be what a turn waits for."""
        self.give_up(self._failure(error))
        log.error("The session is ended, because of an exception", exc_info=error)

    def _failure(self, error: BaseException) -> SessionFailed:
        evidence = None if self.link is None else self.link.evidence()
        failure = SessionFailed(f"The session was ended by {describe(error)}", evidence=evidence)
        failure.__cause__ = error
        return failure

    def ended(self) -> None:
        """Find out what the end of the link means: a restart, a close, or a failure."""
        if self.watchdog is not None:
            self.watchdog.stop()
        try:
            self._wind_up()
        except BaseException as error:  # whatever it was, no call may go on waiting
            self._end_all(self.failure or self._failure(error))
            log.exception("The end of the session could not be handled")

    def _wind_up(self) -> None:
        if self.state is SessionState.CLOSING:
            self.restarting = False  # it was closed in the middle of a restart
        error = self.failure or self._reason()
        self.conversation.drop_sent(error)
        if self.budget is not None:
            self.budget.count(self.ledger, 0)
        if self.restarting:
            self._start_over()
            return
        if self.budget is not None:
            self.budget.leave()
        self.claim.release()
        self._end_all(error)

    def _end_all(self, error: Error) -> None:
        self.failure = error
        self.restarting = False
        self.conversation.drop_sent(error)
        if not self.keeps_held:
            self.conversation.drop_held(error)
            if self.notes:
                log.warning("No prompt followed what was told last: the CLI was never given it")
        closed = isinstance(error, SessionClosed)
        self.go(SessionState.CLOSED if closed else SessionState.FAILED)
        self.subscriptions.end()
        self.unsolicited.end()

    def _start_over(self) -> None:
        self.restarting = False
        self.failure = self.link = None
        self.capabilities = Capabilities()
        self.notes.take_back()
        self.conversation.reset()
        self.ledger.restarted()
        self.tasks.restarted()
        self.notify()

    def _reason(self) -> Error:
        if self.restarting:
            text = "The CLI was restarted before it had answered this turn"
            return TurnError(text, cause=Cause.EXITED)
        if self.link is None or self.link.is_closing:
            return SessionClosed("The session was closed", advice=OPEN_ANOTHER)
        evidence = self.link.evidence()
        if self.link.did_not_exit:  # it was killed, so its exit code says nothing
            cause = Cause.STOPPED_LISTENING if self.link.input_broken else Cause.STOPPED_TALKING
            return CLIError(
                f"The CLI has {cause}, but did not exit", cause=cause, evidence=evidence
            )
        if evidence.exit_code == 0 and self.state is SessionState.READY:
            return SessionClosed("The CLI has exited by itself", evidence=evidence)
        if self.link.loop_ended:
            return SessionClosed(
                "The event loop has ended, and the session with it",
                advice="Open and use it in one event loop: in one `asyncio.run` or `anyio.run`.",
            )
        if self.link.failure is not None:
            return self._failure(self.link.failure)
        from ..errors import diagnose

        return diagnose(evidence, self.last_result)

    def _add_notice(self, event: Event) -> None:
        self.notices.append(event)
        if len(self.notices) > NOTICES:
            del self.notices[0]

    # --- events of its own -----------------------------------------------------------------------

    def _unread_limit_reached(self, count: int) -> None:
        log.warning("%d messages are unread", count)
        self.subscriptions.tell(UnreadLimitReached(count))

    def _turn_started(self, turn: AnyTurn) -> None:
        turn._stop = partial(interrupt_turn, self)
        for message in turn.messages:  # an `init`, which looked like a notice
            with suppress(ValueError):
                self.notices.remove(message)
        self.unsolicited.put(turn)
        self.subscriptions.tell(TurnStarted(turn))
        self.notify()


def again(error: Error) -> Error:
    """Prepare an error to be raised once more: its traceback would grow with each time."""
    return error.with_traceback(None)


def _watch_of(options: Options) -> BudgetWatch | None:
    if not options.budgets:
        return None
    from ..tracking import BudgetWatch

    return BudgetWatch(options.budgets)


def _unsendable(error: Exception) -> Error:
    if isinstance(error, Error):
        return error
    failure = LocalProtocolError(f"The prompt cannot be sent: {describe(error)}")
    failure.__cause__ = error
    return failure


def _is_of_the_main_turn(request: Request) -> bool:
    """Whether a permission is for the main conversation, which cannot use a tool after its turn.

    Agents in the background go on after the turn.
    """
    return isinstance(request.body, CanUseTool) and request.body.agent_id is None


_REACTIONS: dict[type[Message], Callable[[Core, Any], None]] = {
    InitMessage: Core._note_init,
    SessionCreatedMessage: Core._note_id,
    AssistantMessage: Core._note_id,
    CommandLifecycleMessage: Core._note_progress,
    ResultMessage: Core._note_result,
    SessionStateChangedMessage: Core._note_state,
}
