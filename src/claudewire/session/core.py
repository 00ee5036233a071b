"""The inside of a session: what the CLI says is sorted, and every change of state is made here.

All of it is synchronous: it is called by the reader of the link for each event, and by the methods
of the session. What waits, waits for `changed`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import anyio

from ..concurrency import Signal, run_detached
from ..errors import (
    BudgetExceeded,
    Cause,
    CLIError,
    Error,
    SessionClosed,
    TurnCancelled,
    TurnError,
    diagnose,
)
from ..launch import Claim
from ..options import Unread
from ..tracking import Alert, Budget, BudgetWatch, Price, TaskTracker, UsageTracker
from ..wire import (
    Answer,
    Cancel,
    CanUseTool,
    Event,
    Failure,
    InitMessage,
    Interrupt,
    Message,
    Request,
    ResultMessage,
    SessionStateChangedMessage,
    StreamEvent,
    dropped_prompts,
)
from .conversation import Conversation
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
from .interrupt import interrupt
from .link import Link
from .linking import Services
from .queue import ItemQueue
from .silence import expect_result
from .turn import AnyTurn, UnreadCount

__all__ = ["Core"]

NOTICES = 1000
"""How many messages that belong to no turn are kept."""

NEW_BUDGET = "A new session has a new budget."
TURN_OVER = "the turn was over before anybody decided"

log: logging.Logger = logging.getLogger("claudewire.session")

_DEAD = frozenset({SessionState.CLOSED, SessionState.FAILED})


class Core:
    """The state of one session."""

    def __init__(
        self,
        services: Services,
        *,
        unread: Unread,
        budgets: Iterable[Budget] = (),
        prices: Mapping[str, Price] | None = None,
        patience: float = 10.0,
        on_stderr: Callable[[str], object] | None = None,
        claim: Claim | None = None,
    ) -> None:
        self.state: SessionState = SessionState.NEW
        self.failure: Error | None = None
        self.link: Link | None = None
        self.services = services
        self.patience = patience
        self.changed: Signal = Signal()
        self.unread: UnreadCount = UnreadCount(unread, self._too_much)
        self.conversation: Conversation = Conversation(self.unread, self._unsolicited)
        self.unsolicited: ItemQueue[AnyTurn] = ItemQueue(NOTICES)
        self.notices: deque[Event] = deque(maxlen=NOTICES)
        self.subscriptions: Subscriptions[Event | SessionEvent] = Subscriptions()
        self.watchers: list[Callable[[Event], None]] = []
        self.tasks: TaskTracker = TaskTracker()
        self.ledger: UsageTracker = UsageTracker(prices=prices)
        self.budget: BudgetWatch = BudgetWatch(budgets)
        self.spent: Error | None = None
        """Set when the session may use no more: then nothing more is sent."""
        self.init: InitMessage | None = None
        self.cli_state: str | None = None
        self.last_result: ResultMessage | None = None
        self.session_id: str | None = None
        self.claim: Claim = claim or Claim(None)
        self.restarting: bool = False
        self.opening: anyio.CancelScope | None = None
        self.keeps_held = False
        """Set while the CLI may be ended to be started again: what waits here is for the next."""
        self._on_stderr = on_stderr

    # --- the state -------------------------------------------------------------------------------

    @property
    def is_dead(self) -> bool:
        """Whether nothing can happen any more."""
        return self.state in _DEAD

    @property
    def is_starting(self) -> bool:
        """Whether there will be a CLI soon, for all that is known."""
        has_failed = self.failure is not None and not self.restarting
        return self.state is SessionState.STARTING and not has_failed

    def go(self, state: SessionState) -> None:
        """Change the state, and tell everybody."""
        if state is self.state:
            return
        old, self.state = self.state, state
        self.tell(StateChanged(old, state))
        self.changed.notify()

    def settle(self) -> None:
        """Send what may be sent now; see whether there is something to do."""
        if self.state not in (SessionState.READY, SessionState.BUSY):
            return
        assert self.link is not None
        while self.link.is_open and (turn := self.conversation.take()) is not None:
            assert turn.prompt is not None
            try:
                self.link.post(turn.prompt)
            except Error as error:
                self.conversation.drop(turn, error)
        self.go(SessionState.BUSY if self.conversation.is_busy else SessionState.READY)
        self.changed.notify()

    def check(self) -> Link:
        """Give the link to talk over.

        Raises:
            Error: there is none any more; this is why, the same each time.
        """
        if self.failure is not None:
            raise self.failure.with_traceback(None)  # else it would grow with each call
        if self.state is SessionState.NEW:
            raise SessionClosed("The session was not opened; `async with` or `await` does that")
        if self.link is None or self.state is SessionState.CLOSING:
            raise SessionClosed(f"The session is {self.state}")
        return self.link

    async def reason(self, link: Link) -> Error:
        """Wait for the end of a link, which is at hand; give its reason."""
        await self.changed.until(lambda: self.failure is not None or self.link is not link)
        return self.failure or CLIError(
            "The CLI was started again before it had answered", cause=Cause.EXITED
        )

    def check_not_closing(self) -> None:
        """See to it that the session is to live on.

        Raises:
            SessionClosed: it is not.
        """
        if self.state is SessionState.CLOSING:
            raise SessionClosed("The session is closing")

    async def until_free(self) -> None:
        """Wait until the CLI that was there before has gone.

        Raises:
            SessionClosed: the session was closed meanwhile.
        """
        with anyio.CancelScope(shield=True):
            await self.changed.until(lambda: not self.restarting)
        if self.failure is not None:
            raise self.failure

    def attach(self, link: Link) -> None:
        """Begin to talk over this link; or end it, if the session was closed meanwhile."""
        self.link = link
        link.start()
        if self.state is not SessionState.STARTING:
            link.close(now=True)

    def close(self, *, now: bool) -> None:
        """Begin the end, if it has not begun."""
        if self.is_dead:
            return
        was_new = self.state is SessionState.NEW
        self.go(SessionState.CLOSING)
        if was_new:
            self.ended()
        elif self.link is not None:
            self._stop_work(self.link)
            self.link.close(now=now)
        elif self.opening is not None:
            self.opening.cancel()

    def _stop_work(self, link: Link) -> None:
        """A CLI that is busy would go on for as long as it takes, although nobody listens."""
        if self.conversation.is_busy and link.is_open:
            link.post(link.connection.new_request(Interrupt()))

    def give_up(self, error: Error) -> None:
        """End the CLI for a reason of our own, which is then why every call fails."""
        self.restarting = False
        if self.failure is None:
            self.failure = error
        if self.link is None:
            self.ended()
        else:
            self.link.close(now=True)

    async def stop_turn(self, error: Error) -> bool:
        """Interrupt the running turn, which then fails with this error.

        Returns:
            whether it has stopped.
        """
        turn = self.conversation.active
        if turn is None:
            return True
        turn._fail_at_end(error)
        with suppress(Error):
            await interrupt(self, queued="keep", timeout=self.patience, escalation=None)
        return turn.is_over

    def start_detached(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run something that may outlive the link."""

        async def run() -> None:
            try:
                await function()
            except Exception:
                log.exception("What was to be done in the background has failed")

        run_detached(run, "claudewire session")

    def begin_restart(self) -> None:
        """Take leave of the CLI, but not of the session."""
        self.check_not_closing()
        self.restarting = True
        self.go(SessionState.STARTING)
        if self.link is None or self.link.finished.is_set():
            self.ended()
        else:
            self.link.close(now=True)

    # --- what the link tells ---------------------------------------------------------------------

    def received(self, event: Event) -> None:
        """Sort an event."""
        if type(event) is StreamEvent and self.conversation.add(event):
            pass  # what comes most often, and changes nothing but its turn
        elif isinstance(event, Message) and not isinstance(event, Request | Cancel):
            self._sort(event)
        else:
            self._notice(event)
            if isinstance(event, Answer) and event.request is not None:
                self._drop_prompts(dropped_prompts(event.request, event))
        for watch in self.watchers:
            watch(event)
        if self.subscriptions:
            self.subscriptions.tell(event)

    def _sort(self, message: Message) -> None:
        turn = self.conversation.route(message)
        if turn is None and type(message) is not ResultMessage:
            self._notice(message)
        if type(message) is not ResultMessage:
            self.ledger.note(message, turn and turn.key)
            if self.budget.budgets:
                self._check_budget(turn)
        if self.tasks.note(message):
            self.changed.notify()
        react = _REACTIONS.get(type(message))
        if react is not None:
            react(self, message)
        if self.conversation.is_busy is not (self.state is SessionState.BUSY):
            self.settle()

    def _check_budget(self, turn: AnyTurn | None) -> None:
        for alert in self.budget.check(self.ledger, turn=turn and turn.key):
            log.warning("%s", alert)
            self.tell(BudgetAlert(alert))
            if alert.level == "hard":
                self._enforce(alert, turn)

    def _enforce(self, alert: Alert, turn: AnyTurn | None) -> None:
        """Stop what runs, and if it is the session that may use no more, all that waits."""
        if alert.budget.per == "session":
            self.spent = error = BudgetExceeded(str(alert), advice=NEW_BUDGET)
            self.conversation.drop_held(error)
            self._stop_for(error)
        elif turn is not None and not turn.is_over:
            self._stop_for(BudgetExceeded(str(alert)))

    def _stop_for(self, error: Error) -> None:
        """Have the running turn stopped, which takes a while."""

        async def stop() -> None:
            if not await self.stop_turn(error):
                self.give_up(error)

        if self.link is not None and self.conversation.active is not None:
            self.link.start_soon(stop)

    def _drop_prompts(self, uuids: Iterable[str]) -> None:
        """The CLI says in an answer that it will not do these."""
        sent = {turn.uuid: turn for turn in self.conversation.sent}
        for uuid in uuids:
            if uuid in sent:
                dropped = TurnCancelled("The CLI was told to drop the prompt")
                self.conversation.drop(sent[uuid], dropped)
                self.settle()

    def _notice(self, event: Event) -> None:
        if not isinstance(event, Request | Cancel | Answer | Failure):
            self.notices.append(event)

    def _note_init(self, init: InitMessage) -> None:
        try:
            self.claim.confirm(init.session_id or self.session_id)
        except CLIError as error:
            self._disown(error)
            return
        self.init = init
        self.session_id = init.session_id or self.session_id
        self.changed.notify()

    def _disown(self, error: CLIError) -> None:
        """The CLI has a conversation that it must not have: whatever it does there has failed."""
        assert self.link is not None
        error.evidence = self.link.evidence()
        for turn in self.conversation.sent:
            turn._fail_at_end(error)
        self.give_up(error)

    def _note_state(self, message: SessionStateChangedMessage) -> None:
        self.cli_state = message.state
        if message.state == "idle" and self.link is not None and self.conversation.current:
            self.link.start_soon(partial(expect_result, self, self.conversation.current))
        self.changed.notify()

    def _note_result(self, result: ResultMessage) -> None:
        self.last_result = result
        turns, self.conversation.answered = self.conversation.answered, []  # and not kept alive
        if turns:
            self.ledger.note(result, turns[0].key)
            turns[0]._set_totals(self.ledger.turn(turns[0].key))
            self._check_budget(turns[0])  # before the next one is sent
        if self.link is not None and self.link.is_open:
            self.link.refuse(_is_of_the_main_turn, TURN_OVER)
        self.settle()

    async def serve(self, request: Request) -> Any:
        """Have a request of the CLI answered."""
        try:
            return await self.services.serve(request)
        finally:
            self.changed.notify()  # the CLI has to go on now, and not a person

    def refusal(self, request: Request, reason: str | None = None) -> Answer | Failure:
        """Say no to one."""
        return self.services.refusal(request, reason)

    def heard(self, stderr: str) -> None:
        """Pass stderr on."""
        self.tell(StderrOutput(stderr))
        if self._on_stderr is not None:
            self._on_stderr(stderr)

    def ended(self) -> None:
        """Find out what the end means."""
        if self.state is SessionState.CLOSING:
            self.restarting = False  # it was closed while it was to be started again
        error = self.failure or self._reason()
        self.conversation.drop_sent(error)
        if self.restarting:
            self._start_over()
            return
        self.failure = error
        self.claim.release()
        if not self.keeps_held:
            self.conversation.drop_held(error)
        closed = isinstance(error, SessionClosed)
        self.go(SessionState.CLOSED if closed else SessionState.FAILED)
        self.subscriptions.end()
        self.unsolicited.end()
        self.changed.notify()

    def _start_over(self) -> None:
        self.restarting = False
        self.failure = self.link = None
        self.conversation.forget_the_cli()
        self.ledger.restarted()
        self.tasks.restarted()
        self.subscriptions.reopen()
        self.unsolicited.reopen()
        self.changed.notify()

    def _reason(self) -> Error:
        if self.restarting:
            return TurnError("The CLI was started again, and the turn is lost")
        if self.link is None or self.link.is_closing:
            return SessionClosed("The session was closed")
        evidence = self.link.evidence()
        if self.link.outstayed:  # how it died tells nothing: that was us
            cause = Cause.STOPPED_LISTENING if self.link.is_deaf else Cause.STOPPED_TALKING
            return CLIError(
                f"The CLI has {cause}, but did not exit", cause=cause, evidence=evidence
            )
        if evidence.exit_code == 0 and self.state is SessionState.READY:
            return SessionClosed("The CLI has exited by itself", evidence=evidence)
        error = diagnose(evidence, self.last_result)
        error.__cause__ = self.link.failure  # if it was not the CLI that failed
        return error

    # --- news ------------------------------------------------------------------------------------

    def tell(self, news: SessionEvent) -> None:
        """Tell those who listen."""
        self.subscriptions.tell(news)

    def _too_much(self, count: int) -> None:
        log.warning("%d messages are unread", count)
        self.tell(UnreadLimitReached(count))

    def _unsolicited(self, turn: AnyTurn) -> None:
        self.unsolicited.put(turn)
        self.tell(TurnStarted(turn))
        self.changed.notify()


def _is_of_the_main_turn(request: Request) -> bool:
    """Whether a tool is meant that a turn which is over cannot use any more.

    Agents in the background go on after the turn.
    """
    return isinstance(request.body, CanUseTool) and request.body.agent_id is None


_REACTIONS: dict[type[Message], Callable[[Core, Any], None]] = {
    InitMessage: Core._note_init,
    ResultMessage: Core._note_result,
    SessionStateChangedMessage: Core._note_state,
}
