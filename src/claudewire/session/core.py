"""The inside of a session: starts the CLI, sorts its events, and makes every change of state.

All methods are synchronous except the `async` ones. The link calls them for each chunk of output,
the methods of the session for everything else. Tasks that wait, wait for `changed`.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from uuid import uuid4

import anyio

from ..concurrency import Signal, ends_the_caller, is_of_a_signal
from ..errors import (
    Cause,
    CLIError,
    Error,
    LocalProtocolError,
    RequestError,
    RequestTimeout,
    SessionClosed,
    SessionFailed,
    TransportClosed,
    TurnCancelled,
    TurnError,
    UnsupportedRequest,
    describe,
)
from ..launch import Connect, ConversationLock, check_connect, conversation_lock, open_transport
from ..options import Options, Timeouts
from ..output import OutputSpec
from ..tracking import COUNTED, TRACKED, Ledger, TaskTable
from ..transport import Transport
from ..wire import (
    Answer,
    AssistantMessage,
    Cancel,
    CanUseTool,
    CommandLifecycleMessage,
    Connection,
    ContextUsageResult,
    DialectBehavior,
    Event,
    Failure,
    InitializeResult,
    InitMessage,
    Interrupt,
    Message,
    Request,
    RequestBody,
    ResultMessage,
    Role,
    SessionCreatedMessage,
    SessionStateChangedMessage,
    SetPermissionMode,
    StopTask,
    StreamEvent,
    UserMessage,
    dropped_prompts,
)
from .budgets import BudgetGuard
from .capabilities import Capabilities
from .conversation import Conversation
from .events import (
    SessionEvent,
    SessionState,
    StateChanged,
    StderrOutput,
    Subscription,
    TurnStarted,
    UnreadLimitReached,
)
from .inferred_end import InferredEnd
from .link import Link
from .log import log
from .pending_context import PendingContext, is_command
from .queue import Broadcast, HomeThread, ItemQueue
from .requests import RequestHandlers, would_not_ask
from .turn import AnyTurn, UnreadCounter
from .watchdog import Watchdog

if TYPE_CHECKING:
    from .session import Session

AnswerT = TypeVar("AnswerT")

NOTICES = 1000
"""Messages without a turn that are kept."""

OPEN_ANOTHER = "Open another one; `resume=session_id` continues the conversation."
TURN_OVER = "the turn was over before a decision was made"

TURN_FOLLOWS_WITHIN: float = 1.0
"""Seconds. The end of a task sets off a turn; measured, the CLI is idle for 0.1 s in between."""

MARGIN: float = 10.0
"""Seconds for the parts of an end that no option limits."""

_DEAD = (SessionState.CLOSED, SessionState.FAILED)
_CONTROL = frozenset({Request, Answer, Failure, Cancel})


class Core:
    """The state of one session, which it refers to weakly."""

    def __init__(
        self,
        options: Options,
        transport: Transport | Connect | None,
        session: Callable[[], Session[Any] | None],
    ) -> None:
        self.options = options
        self.transport = transport
        output = options.json_schema if options.output is None else options.output
        self.output: OutputSpec[Any] | None = None if output is None else OutputSpec(output)
        self.lock: ConversationLock = conversation_lock(options, transport)
        """Keeps other sessions away from the same conversation."""
        self.state: SessionState = SessionState.NEW
        self.is_dead: bool = False
        """Whether the session is closed or has failed."""
        self.is_final: bool = False
        """Whether the application has closed the session: no CLI is started any more."""
        self.failure: Error | None = None
        self.link: Link | None = None
        self.home: HomeThread = HomeThread()
        self.watchdog: Watchdog | None = None
        self.changed: Signal = Signal()
        # Its parts refer to it weakly: it is freed with the session, without the garbage collector.
        core = weakref.proxy(self)
        self.unread: UnreadCounter = UnreadCounter(
            options.unread, lambda count: core._unread_limit_reached(count)
        )
        self.conversation: Conversation = Conversation(self)
        self.unsolicited: ItemQueue[AnyTurn] = ItemQueue(self.home, NOTICES)
        self.notices: deque[Event] = deque(maxlen=NOTICES)
        self.subscriptions: Broadcast[Event | SessionEvent] = Broadcast()
        self.tasks: TaskTable = TaskTable()
        self.ledger: Ledger = Ledger(prices=options.prices)
        self.budget: BudgetGuard | None = (
            BudgetGuard(core, options.budgets) if options.budgets else None
        )
        self.handlers: RequestHandlers = RequestHandlers(core, session)
        self.context: PendingContext = PendingContext()
        self.capabilities: Capabilities = Capabilities()
        self.cli_info: InitializeResult | None = None
        self.init_message: InitMessage | None = None
        self.last_result: ResultMessage | None = None
        self.session_id: str | None = None
        self.restarting: bool = False
        self.opening: anyio.CancelScope | None = None
        self.keeps_held: bool = False
        """Set while the CLI may be ended to be started again: held turns are for the next one."""
        self._holding_back = 0
        self._watched: InferredEnd | None = None

    # --- starting --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the CLI of a new session; see `Session.start`."""
        if self.state is not SessionState.NEW:
            is_over = self.is_dead or self.is_final
            advice = OPEN_ANOTHER if is_over else "It can be used now; enter or await it only once."
            raise SessionClosed(
                f"The session was started before: it is {self.state}", advice=advice
            )
        if self.budget is not None:
            self.budget.check_spent()
        self.set_state(SessionState.STARTING)
        await self._start_cli(self.options)

    async def restart(self, *, resume: bool = True) -> None:
        """End the CLI and start another; see `Session.restart`."""
        if not self.is_dead:
            self.home.check()
        check_connect(self.transport, "A restart")
        self._check_not_closed()
        if self.state is SessionState.STARTING:
            # Another caller is restarting it already.
            await self.changed.until(lambda: self.state is not SessionState.STARTING)
            self.check()
            return
        options = _resuming(self.options, self.session_id) if resume else self.options
        self.restarting = True
        self.unsolicited.reopen()
        self.set_state(SessionState.STARTING)
        if self.link is None or self.link.finished.is_set():
            self.ended()
        else:
            self.link.close(now=True)
        await self._start_cli(options)

    async def _start_cli(self, options: Options) -> None:
        """Start a CLI and open the conversation; if that fails, leave nothing behind."""
        self.home.id = threading.get_ident()
        if self.output is not None:
            options = options.replace(output=None, json_schema=self.output.schema)
        try:
            if self.restarting:  # the CLI before this one has to exit first
                await self.until_ended(lambda: not self.restarting)
            self._check_not_closed()
            if self.failure is not None:  # the CLI before this one was given up meanwhile
                raise without_traceback(self.failure)
            self.lock.expect(options)
            link = await self._open_link(options)
            if (info := await self._initialize(link, options)) is not None:
                await self._take_info(info, options)
            self.check()  # it may have been closed, or have failed, at the last moment
        except GeneratorExit:  # the event loop has ended, and the link sees it too
            raise
        except BaseException as error:
            self.give_up(failure_of(error))
            before = self.link
            # Another caller may restart the session as soon as this CLI has ended.
            await self.until_ended(lambda: self.is_dead or self.link is not before)
            raise
        self.set_state(SessionState.READY)
        self.send_queued()

    async def _open_link(self, options: Options) -> Link:
        with anyio.CancelScope() as self.opening:
            connected = await open_transport(options, self.transport)
            connection = Connection(Role.CLIENT, dialect=options.dialect, max_line=options.max_line)
            self.link = link = Link(connected, connection, self, options.timeouts)
            self.conversation.behavior = connection.dialect.behavior
            if self.budget is not None:
                self.budget.join()
            link.start()
            if self.state is not SessionState.STARTING:  # the session was closed meanwhile
                link.close(now=True)
        self.opening = None
        if self.link is None:
            raise SessionClosed("The session was closed while the CLI was being started")
        if options.patience is not None:
            self.watchdog = Watchdog(self, options.patience)
            self.link.start_soon(self.watchdog.run)
        return self.link

    async def _initialize(self, link: Link, options: Options) -> InitializeResult | None:
        """Open the conversation; return None if the CLI speaks a dialect without `initialize`."""
        body = self.handlers.open(options)
        if not (options.handshake and self.behavior.opens_with_initialize):
            return None
        seconds = options.timeouts.start
        try:
            return await self.request(body, seconds)
        except RequestTimeout as error:
            raise CLIError(
                f"The CLI was started but did not answer within {seconds:g} s",
                cause=Cause.NO_ANSWER,
                evidence=link.evidence(),
                advice="Is it waiting for something on the terminal, or for the network?",
            ) from error
        except RequestError as error:
            behavior = link.connection.behavior  # its answer has shown the dialect
            if isinstance(error, UnsupportedRequest) or not behavior.opens_with_initialize:
                return None
            raise CLIError(error.message, cause=Cause.REFUSED, evidence=error.evidence) from error

    async def _take_info(self, info: InitializeResult, options: Options) -> None:
        self.cli_info = info
        self._update_capabilities()
        self.handlers.check(info)
        mode = info.current_permission_mode
        if would_not_ask(options, mode):
            log.warning(
                "CLI started in mode %s, which never asks for permission; switched to default. "
                "Pass permission_mode=%r to keep that mode",
                *(mode, mode),
            )
            await self.request(SetPermissionMode("default"), options.timeouts.start)
        await self.handlers.servers.restore()

    # --- the state -------------------------------------------------------------------------------

    @property
    def behavior(self) -> DialectBehavior:
        """The behavior of the CLI's dialect."""
        return self.conversation.behavior

    @property
    def loop_ended(self) -> bool:
        """Whether the event loop has ended before the session."""
        return self.link is not None and self.link.loop_ended

    def set_state(self, state: SessionState) -> None:
        """Change the state, and report it."""
        if state is self.state:
            return
        old, self.state, self.is_dead = self.state, state, state in _DEAD
        self.subscriptions.put(StateChanged(old, state))
        self.changed.notify()

    def send_queued(self) -> None:
        """Send the turns that may be sent now, and update the state."""
        if self.state not in (SessionState.READY, SessionState.BUSY) or self._holding_back:
            return
        while self.link is not None and self.link.is_open:
            if (turn := self.conversation.take()) is None:
                break
            self._send(self.link, turn)
        if self.budget is not None:
            self.budget.count()
        self.set_state(SessionState.BUSY if self.conversation.is_busy else SessionState.READY)
        self.changed.notify()

    def _send(self, link: Link, turn: AnyTurn) -> None:
        assert turn.prompt is not None
        if self.budget is not None and (refusal := self.budget.refusal()) is not None:
            self.conversation.drop(turn, refusal)
            return
        try:
            if self.context.waiting:
                turn.prompt = self.context.put_before(turn.prompt)
            link.post(turn.prompt)
        except Exception as error:  # a field of the message may be anything
            self.conversation.drop(turn, _unsendable(error))

    @contextmanager
    def holding_back(self) -> Iterator[None]:
        """Send no prompts meanwhile."""
        self._holding_back += 1
        try:
            yield
        finally:
            self._holding_back -= 1
            self.send_queued()

    def check(self) -> Link:
        """Return the link to the CLI, or raise the original reason why there is none."""
        if self.failure is not None:
            raise without_traceback(self.failure)
        self.home.check()
        if self.state is SessionState.NEW:
            raise SessionClosed("The session was not opened; use `async with` or `await`")
        if self.link is None or self.state is SessionState.CLOSING:
            raise SessionClosed(f"The session is {self.state}")
        return self.link

    def check_sending(self) -> None:
        """Check that prompts can be sent now, or after the start of a CLI."""
        has_failed = self.failure is not None and not self.restarting
        if self.state is not SessionState.STARTING or has_failed:
            self.check()
        self.home.check()
        if self.budget is not None:
            self.budget.check_spent()

    async def request(self, body: RequestBody[AnswerT], timeout: float | None) -> AnswerT:
        """Send a request and return its answer; see `Session.request`."""
        link = self.check()
        self.capabilities.check(body, link.evidence)
        try:
            answer = await link.ask(body, timeout=timeout)
        except TransportClosed:
            await self.raise_reason(link)
        if isinstance(answer, ContextUsageResult):
            self.ledger.note_context(answer)
        if isinstance(body, StopTask) and self.tasks.stopped(body.task_id):
            self.changed.notify()
        return answer

    def _update_capabilities(self, init: InitMessage | None = None) -> None:
        self.capabilities = Capabilities(self.cli_info, init)
        self.conversation.names_prompts = self.capabilities.names_prompts
        if self.link is not None:
            self.link.may_withdraw = self.capabilities.takes_cancel

    def add_context(self, content: str | list[Any]) -> None:
        """Add to the conversation; see `Session.add_context`."""
        link = self.check()
        if not (self.capabilities.takes_context and link.is_open) or is_command(content):
            self.context.hold(content)
            return
        uuid = str(uuid4())
        link.post(UserMessage.of(content, uuid=uuid, should_query=False))
        self.conversation.contexts.add(uuid)
        self.context.sent(content, uuid)

    async def raise_reason(self, link: Link) -> NoReturn:
        """Wait for the end of a link that is ending, and raise the reason."""
        await self.changed.until(lambda: self.failure is not None or self.link is not link)
        text = "The CLI was restarted before it had answered"
        reason = without_traceback(self.failure or CLIError(text, cause=Cause.EXITED))
        raise reason from reason.__cause__  # not from an exception that is being handled

    def _check_not_closed(self) -> None:
        if self.is_final:
            text = "The session was closed" if self.is_dead else "The session is closing"
            raise SessionClosed(text, advice=OPEN_ANOTHER)

    def close(self, *, now: bool) -> None:
        """Start to close the session, for good, unless it is being closed already."""
        self.is_final = True
        if self.is_dead:
            return
        was_new = self.state is SessionState.NEW
        self.set_state(SessionState.CLOSING)
        if was_new:
            self.ended()
        elif self.link is not None:
            if self.conversation.is_busy and self.link.is_open:
                # Otherwise it would finish its turn before it exits.
                self.link.post(self.link.connection.new_request(Interrupt()))
            self.link.close(now=now)
        elif self.opening is not None:
            self.opening.cancel()

    async def until_ended(self, condition: Callable[[], bool]) -> None:
        """Wait for the end of a CLI. A cancelled caller waits for as long as an end may take."""
        with anyio.move_on_after(_longest_end(self.options.timeouts), shield=True):
            await self.changed.until(condition)
        await self.changed.until(condition)

    def give_up(self, error: Error) -> None:
        """End the CLI for this reason, which every call raises from then on."""
        self.restarting = False
        if self.failure is None and not self.is_final:
            self.failure = error
        if self.link is None:
            self.ended()
        else:
            self.link.close(now=True)

    async def until_idle(self, *, with_tasks: bool) -> None:
        """Wait until there is no turn, unsolicited or not, and perhaps no task either."""
        self.home.check()

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

    def subscribe(self, limit: int | None) -> Subscription:
        """Subscribe to all events from now on."""
        subscription = Subscription(self.home, limit)
        self.subscriptions.add(subscription)
        if self.is_dead:
            subscription.close()
        return subscription

    # --- called by the link ----------------------------------------------------------------------

    def received(self, events: list[Event]) -> None:
        """Give each event to its turn and to everything that observes the session."""
        if self.link is not None:  # its lines may have shown the dialect
            self.conversation.behavior = self.link.connection.dialect.behavior
        route = self.conversation.route
        for event in events:
            turn = route(event)
            # Pieces of messages are observed by the type of what they carry.
            kind = type(event.event) if type(event) is StreamEvent else type(event)
            for observe in _OBSERVERS.get(kind, ()):
                observe(self, event, turn)
            if turn is None and kind not in _CONTROL and not self.conversation.is_deferred(event):
                self.notices.append(event)
            if self.subscriptions.size:
                self.subscriptions.put(event)
        self.conversation.infer_end()
        self.watch_ending()
        if self.conversation.is_busy is not (self.state is SessionState.BUSY):
            self.send_queued()

    def _count(self, message: Message, turn: AnyTurn | None) -> None:
        self.ledger.note(message, turn and turn.key)
        if self.budget is not None:
            self.budget.check(turn)

    def _track(self, message: Message, turn: AnyTurn | None) -> None:
        if self.tasks.note(message):
            self.changed.notify()

    def _note_answer(self, answer: Answer, turn: AnyTurn | None) -> None:
        """Drop the prompts that the CLI will not answer, as its answer says."""
        dropped = () if answer.request is None else dropped_prompts(answer.request, answer)
        for sent in self.conversation.sent:
            if sent.uuid in dropped:
                error = TurnCancelled("The CLI dropped the prompt, as it was asked to")
                self.conversation.drop(sent, error)
                self.send_queued()

    def _note_init(self, init: InitMessage, turn: AnyTurn | None) -> None:
        if self._confirm(init.session_id or self.session_id):
            self.init_message = init
            self._update_capabilities(init)

    def _note_id(self, message: Message, turn: AnyTurn | None) -> None:
        """Take the id of the conversation from another message, where there is no `init`."""
        if self.session_id is None and message.session_id is not None:
            self._confirm(message.session_id)

    def _confirm(self, session_id: str | None) -> bool:
        """Take the id of the conversation; end a CLI that resumed one of another session."""
        try:
            self.lock.confirm(session_id)
        except CLIError as error:
            assert self.link is not None
            error.evidence = self.link.evidence()
            for turn in self.conversation.sent:
                turn._fail_at_end(error)
            self.give_up(error)
            return False
        self.session_id = session_id
        return True

    def _note_state(self, message: SessionStateChangedMessage, turn: AnyTurn | None) -> None:
        self.changed.notify()  # `tasks.idle` depends on it

    def _note_progress(self, message: CommandLifecycleMessage, turn: AnyTurn | None) -> None:
        if message.is_dropped:
            self.context.dropped(message.command_uuid)

    def _note_result(self, result: ResultMessage, turn: AnyTurn | None) -> None:
        self.last_result = result
        if turn is None:
            return  # a late one, or one that was repeated
        self.context.confirm(self.conversation.contexts)
        if turn.was_asked_for:
            self._note_id(result, turn)
        self.ledger.note(result, turn.key)
        turn._set_totals(self.ledger.turn(turn.key))
        if self.budget is not None:
            self.budget.check(turn)  # before the next one is sent
        self._refuse_permissions()
        self.send_queued()

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

    async def _end_if_silent(self, ending: InferredEnd) -> None:
        def is_off() -> bool:
            return self.conversation.ending is not ending

        while not is_off():
            outputs = self.conversation.outputs
            # Not a sleep: that would keep the turn and its messages after its end.
            await self.changed.until(is_off, ending.within)
            is_silent = self.conversation.outputs == outputs
            if not is_off() and is_silent and self._may_end(ending):
                self._end(ending)

    def _may_end(self, ending: InferredEnd) -> bool:
        if ending.outcome is None:
            return bool(self.conversation.held)
        assert self.link is not None
        is_deciding = bool(self.link.connection.owed)  # a handler is
        return ending.is_certain or bool(ending.left_open) or not is_deciding

    def _end(self, ending: InferredEnd) -> None:
        outcome = ending.outcome
        if isinstance(outcome, Error):
            assert self.link is not None
            outcome.evidence = self.link.evidence()
        self.conversation.end(ending)
        self.watch_ending()  # of the turns behind it, of which the CLI may say no more either
        if isinstance(outcome, ResultMessage):
            self._note_result(outcome, ending.turn)
        else:
            self._refuse_permissions()
            self.send_queued()

    def on_stderr(self, text: str) -> None:
        """Report text that the CLI wrote to stderr."""
        self.subscriptions.put(StderrOutput(text))
        try:
            if self.options.on_stderr is not None:
                self.options.on_stderr(text)
        except BaseException:
            log.exception("on_stderr raised")

    def failed(self, error: BaseException) -> None:
        """End the session: a turn may wait for the event that could not be handled."""
        self.give_up(self._failure(error))
        log.error("The session is ended, because of an exception", exc_info=error)

    def _failure(self, error: BaseException) -> SessionFailed:
        evidence = None if self.link is None else self.link.evidence()
        failure = SessionFailed(f"The session was ended by {describe(error)}", evidence=evidence)
        failure.__cause__ = error
        return failure

    # --- the end ---------------------------------------------------------------------------------

    def ended(self) -> None:
        """Handle the end of the link: a restart, a close, or a failure."""
        try:
            self._wind_up()
        except BaseException as error:  # whatever it was, no call may go on waiting
            self._end_all(self.failure or self._failure(error))
            if is_of_a_signal(error):
                raise
            log.exception("The end of the session could not be handled")

    def _wind_up(self) -> None:
        if self.is_final:
            self.restarting = False  # it was closed in the middle of a restart
        error = self.failure or self._reason()
        self.conversation.drop_sent(error)
        if self.budget is not None:
            self.budget.count()
        if self.restarting:
            self._start_over()
            return
        if self.budget is not None:
            self.budget.leave()
        self.lock.release()
        self._end_all(error)

    def _end_all(self, error: Error) -> None:
        self.failure = error
        self.restarting = False
        self.conversation.drop_sent(error)
        if not self.keeps_held:
            self.conversation.drop_held(error)
            if dropped := len(self.context.waiting):
                text = "Dropped %d notes of add_context(): the session ended before the next prompt"
                log.warning(text, dropped)
        closed = isinstance(error, SessionClosed)
        self.set_state(SessionState.CLOSED if closed else SessionState.FAILED)
        self.subscriptions.end()
        self.unsolicited.end()

    def _start_over(self) -> None:
        self.restarting = False
        self.failure = self.link = self.cli_info = None
        self.capabilities = Capabilities()
        self.context.take_back()
        self.conversation = self.conversation.continued(self)
        self.ledger.restarted()
        self.tasks.restarted()
        self.changed.notify()

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
        if self.loop_ended:
            return SessionClosed(
                "The event loop has ended, and the session with it",
                advice="Open and use it in one event loop: in one `asyncio.run` or `anyio.run`.",
            )
        if self.link.failure is not None:
            return self._failure(self.link.failure)
        from ..errors import diagnose  # most sessions end well

        return diagnose(evidence, self.last_result)

    # --- its own events --------------------------------------------------------------------------

    def _unread_limit_reached(self, count: int) -> None:
        log.warning("%d messages are unread", count)
        self.subscriptions.put(UnreadLimitReached(count))

    def turn_started(self, turn: AnyTurn) -> None:
        """Report an unsolicited turn."""
        for message in turn.messages:  # an `init`, which looked like a notice
            with suppress(ValueError):
                self.notices.remove(message)
        self.unsolicited.put(turn)
        self.subscriptions.put(TurnStarted(turn))
        self.changed.notify()


def without_traceback(error: Error) -> Error:
    """Prepare an error to be raised once more: its traceback would grow with each time."""
    return error.with_traceback(None)


def failure_of(error: BaseException) -> Error:
    """Return the error of a session whose start was ended by any exception."""
    if isinstance(error, Error):
        return error
    if ends_the_caller(error):
        return SessionClosed("The start of the session was cancelled")
    failure = CLIError(f"The CLI could not be started: {describe(error)}")
    failure.__cause__ = error
    return failure


def _longest_end(limits: Timeouts) -> float:
    """Return the seconds that a CLI may take to end: each step has its limit, and so have tasks."""
    return limits.exit + limits.terminate + 2 * limits.kill + 3 * limits.drain + MARGIN


def _resuming(options: Options, session_id: str | None) -> Options:
    """Change the options of a session so that they go on with its conversation."""
    if session_id is None:
        return options
    return options.replace(
        resume=session_id,
        session_id=None,
        fork_session=False,
        continue_conversation=False,
        resume_session_at=None,  # the conversation has gone on since then
        resume_drops_turn=None,
    )


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


_Observer = Callable[[Core, Any, AnyTurn | None], None]

_REACTIONS: tuple[tuple[type[Any], _Observer], ...] = (
    (InitMessage, Core._note_init),
    (SessionCreatedMessage, Core._note_id),
    (AssistantMessage, Core._note_id),
    (CommandLifecycleMessage, Core._note_progress),
    (SessionStateChangedMessage, Core._note_state),
    (ResultMessage, Core._note_result),
    (Answer, Core._note_answer),
)
_OBSERVERS: defaultdict[type[Any], list[_Observer]] = defaultdict(list)
"""The observers of each kind of event, besides the conversation."""
for _kind in COUNTED - {ResultMessage}:  # the usage of a result belongs to the turn that it ends
    _OBSERVERS[_kind].append(Core._count)
for _kind in TRACKED:
    _OBSERVERS[_kind].append(Core._track)
for _kind, _observe in _REACTIONS:
    _OBSERVERS[_kind].append(_observe)
