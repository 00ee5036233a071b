"""Watches what a session waits for and since when; reports a stall, and ends it if it should.

A turn produces nothing for many reasons: the model thinks, a tool runs, a person has not decided.
`Patience` has a limit for each. A person who thinks is not a stall, however long it takes, unless
there is a limit for that too.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import anyio
from msgspec import Struct

from ..concurrency import Alarm, clock, ends_the_caller, run_detached
from ..errors import Evidence, SessionClosed, TurnStalled
from ..options import Patience, WaitingFor
from ..wire import (
    AssistantMessage,
    Cancel,
    CanUseTool,
    Elicitation,
    Event,
    Request,
    RequestUserDialog,
    ResultMessage,
    StreamEvent,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from .events import SessionEvent, SessionState
from .log import log
from .queue import EMPTY

if TYPE_CHECKING:
    from .core import Core
    from .link import Link

__all__ = ["Stall", "Waiting", "Watchdog"]

MAY_STOP: float = 5.0
"""Seconds that a CLI has to stop a turn that has stalled, if it was allowed to be silent for less:
one that works answers an interrupt at once."""


class Waiting(Struct, frozen=True):
    """What a session waits for, and since when by the clock of the event loop."""

    what: WaitingFor
    since: float


class Stall(SessionEvent, frozen=True):
    """Nothing has happened for longer than `Patience` allows.

    Attributes:
        waiting_for: what the session waits for.
        seconds: for how long.
        evidence: the last lines, the end of stderr.
        action: what the watchdog will do next.
    """

    waiting_for: WaitingFor
    seconds: float
    evidence: Evidence
    action: str


class Watchdog:
    """Watches one session; `patience` has the limits, and what to do when one is exceeded."""

    def __init__(self, core: Core, patience: Patience) -> None:
        self._core = core
        self._patience = patience
        self._tools: set[str] = set()
        self._people: deque[str] = EMPTY
        """The requests that a person decides about, and those before the first of them."""
        self._spoke = False
        self._since = -math.inf
        self._what = WaitingFor.NOTHING
        self._limit = math.inf
        self._limits = _limits_of(patience)
        self._shortest = min(self._limits.values())
        self._started = -math.inf
        self._now = clock()
        self._warned = self._is_stopped = False
        self._wakes_at = -math.inf
        watchdog = weakref.proxy(self)  # so that it is freed with the session
        self._alarm = Alarm(lambda: watchdog._wake())

    # --- what is going on ------------------------------------------------------------------------

    def note(self, event: Event) -> None:
        """Note an event of the wire."""
        update = _UPDATES.get(type(event))
        if update is not None and update(self, event):
            self.start_again()

    def note_all(self, events: Iterable[Event]) -> None:
        """Note events that have arrived together; the clock is read once."""
        is_news = False
        for event in events:
            update = _UPDATES.get(type(event))
            if update is not None and update(self, event):
                is_news = True
        if is_news:
            self.start_again()

    # Each of these says whether something has changed.

    def _note_piece(self, piece: StreamEvent) -> bool:
        spoke, self._spoke = self._spoke, True
        return not spoke

    def _note_assistant(self, message: AssistantMessage) -> bool:
        is_news, self._spoke = not self._spoke, True
        for block in message.content:
            if type(block) is ToolUseBlock and block.id not in self._tools:
                self._tools.add(block.id)
                is_news = True
        return is_news

    def _note_user(self, message: UserMessage) -> bool:
        content = message.content
        blocks = content if isinstance(content, list) else []
        results = [it.tool_use_id for it in blocks if type(it) is ToolResultBlock]
        if not results:
            return False
        before = (self._spoke, len(self._tools))
        self._tools.difference_update(results)
        self._spoke = False  # the model is asked again
        return before != (False, len(self._tools))

    def _note_result(self, result: ResultMessage) -> bool:
        is_news = self._spoke or bool(self._tools)
        self._tools.clear()
        self._spoke = False
        return is_news

    def _note_request(self, request: Request) -> bool:
        is_for_a_person = type(request.body) in _FOR_A_PERSON
        if is_for_a_person:
            if self._people is EMPTY:
                self._people = deque()
            self._people.append(request.id)
        return is_for_a_person

    def _note_cancel(self, cancel: Cancel) -> bool:
        return True  # it is owed no longer

    @property
    def waiting(self) -> Waiting:
        """What the session waits for now, and since when."""
        self._look()
        return Waiting(self._what, self._since)

    def look(self) -> None:
        """Note that something has changed: the session may wait for something else."""
        if not self._core.is_dead:
            self._look()
            if self._due() < self._wakes_at:
                self._wake()

    def start_again(self) -> None:
        """Start the clock again. What the session waits for now is found out when that matters.

        It is called for each request of the CLI and each answer, so it has to cost little.
        """
        self._started = self._now()
        if self._wakes_at == math.inf:
            self._wake()

    def _look(self) -> None:
        """Find out what the session waits for; a change, or any output, starts the clock again."""
        link = self._core.link
        last = -math.inf if link is None else link.last_received
        what, heard = self._waits_for(), max(last, self._started)
        if what is not self._what:
            is_noted = self._started == heard and (self._what, what) not in _NOT_NOTED
            self._since = heard if is_noted else self._now()
            self._what = what
            self._limit = self._limits[what]
            self._warned = False
        elif heard > self._since:
            self._since = heard
            self._warned = False

    def _waits_for(self) -> WaitingFor:
        core = self._core
        if core.state is SessionState.STARTING:
            return WaitingFor.START
        if core.link is None or core.is_dead or not core.link.is_open:
            return WaitingFor.NOTHING  # the end has its own timeouts
        if self._is_owed_to_a_person(core.link.connection.owed):
            return WaitingFor.PERSON
        if core.conversation.is_busy:
            return self._in_a_turn()
        self._tools.clear()
        self._spoke = False
        return WaitingFor.ANSWER if core.link.connection.asked else WaitingFor.NOTHING

    def _is_owed_to_a_person(self, owed: Container[str]) -> bool:
        """Drop what was answered, up to the first that was not: the others do not matter."""
        while self._people and self._people[0] not in owed:
            self._people.popleft()
        return bool(self._people)

    def _in_a_turn(self) -> WaitingFor:
        if self._tools:
            return WaitingFor.TOOL
        return WaitingFor.NEXT_TOKEN if self._spoke else WaitingFor.FIRST_TOKEN

    # --- what is done about it -------------------------------------------------------------------

    def stop(self) -> None:
        """Watch no longer: the session is being closed, which has its own time limits."""
        self._is_stopped = True
        self._alarm.stop()

    def start(self, link: Link) -> None:
        """Begin to watch; what takes time is done beside the reader of the link."""
        self._link = link
        if self._alarm.needs_task:
            link.start_soon(self._alarm.run)
        self._wake()

    def _wake(self) -> None:
        """Do something if a limit is exceeded; or else wake up again when one may be."""
        if self._is_stopped or self._core.is_dead:
            return
        self._look()
        due, now = self._due(), self._now()
        if due <= now:
            self._wakes_at = -math.inf  # not before that is done
            self._link.start_soon(self._bark)
            return
        # Meanwhile it may begin to wait for what has a shorter limit.
        self._wakes_at = min(due, now + self._shortest) if due < math.inf else math.inf
        self._alarm.set(self._wakes_at)

    def _due(self) -> float:
        limit = self._limit
        if limit == math.inf:
            return limit
        if not self._warned:
            return self._since + limit
        if self._patience.action == "warn":
            return self._now() + limit  # to see whether it goes on
        return self._since + limit + self._patience.grace

    async def _bark(self) -> None:
        self._look()  # again: something may have happened before this task could begin
        is_due = self._due() <= self._now() and not self._is_stopped
        if is_due and not self._warned:
            self._warned = True
            self._warn()
        elif is_due and self._patience.action != "warn":
            await self._act()
        self._wake()

    def _warn(self) -> None:
        assert self._core.link is not None
        seconds = self._now() - self._since
        log.warning("Nothing happened for %.1f s while waiting for %s", seconds, self._what)
        self._core.subscriptions.tell(
            Stall(self._what, seconds, self._core.link.evidence(), self._patience.action)
        )

    async def _act(self) -> None:
        """Stop the turn, or the CLI if the turn does not stop."""
        link = self._core.link
        assert link is not None
        what, since = self._what, self._since
        error = TurnStalled(_silence(what, since), evidence=link.evidence())
        self._since = self._now()
        self._warned = False
        if self._patience.action == "restart":
            self._core.conversation.drop_sent(error)
            # Not in a task of the link, which ends with the CLI.
            run_detached(self._restart, "claudewire restart")
            return
        turn = self._core.conversation.active
        if turn is None:
            return
        turn._fail_at_end(error)
        may_take = max(self._limits[what], MAY_STOP)
        seconds = min(self._core.options.timeouts.interrupt, may_take)
        if not await self._core.stop_turn(turn, seconds):
            error.message = f"{_silence(what, since)}, and the CLI did not stop when it was told to"
            self._core.give_up(error)

    async def _restart(self) -> None:
        try:
            await self._core.restart()
        except SessionClosed:
            log.debug("The session was closed while it was restarted")
        except BaseException as error:  # a transport function may raise anything
            if ends_the_caller(error):
                raise
            log.exception("The session could not be restarted")


@lru_cache  # most sessions have the same
def _limits_of(patience: Patience) -> Mapping[WaitingFor, float]:
    return {what: patience.limit(what) for what in WaitingFor}


_NOT_NOTED = frozenset(
    (before, what)
    for before in (WaitingFor.START, WaitingFor.NOTHING, WaitingFor.ANSWER)
    for what in (WaitingFor.FIRST_TOKEN, WaitingFor.ANSWER)
)
"""What the application begins, and not the CLI or a handler: that is looked at at once, and what
was noted last may have been long ago."""

_FOR_A_PERSON = frozenset({CanUseTool, Elicitation, RequestUserDialog})

_UPDATES: dict[type[Event], Callable[[Watchdog, Any], bool]] = {
    StreamEvent: Watchdog._note_piece,
    AssistantMessage: Watchdog._note_assistant,
    UserMessage: Watchdog._note_user,
    ResultMessage: Watchdog._note_result,
    Request: Watchdog._note_request,
    Cancel: Watchdog._note_cancel,
}


def _silence(what: WaitingFor, since: float) -> str:
    return f"Nothing happened for {anyio.current_time() - since:.1f} s while waiting for {what}"
