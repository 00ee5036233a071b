"""Reports a session that waits too long in silence, and ends the stall if it should.

A turn produces nothing for many reasons: the model thinks, a tool runs, a person has not decided.
`StallTimeouts` has a limit for each. A person who thinks is not a stall, however long it takes,
unless there is a limit for that too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct

from ..concurrency import ends_the_caller, run_detached
from ..errors import Evidence, OptionsError, SessionClosed, TurnStalled
from ..options import StallTimeouts, WaitingFor
from ..wire import (
    AssistantMessage,
    CanUseTool,
    Elicitation,
    RequestUserDialog,
    StreamEvent,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from .events import SessionEvent, SessionState
from .interrupt import stop_turn
from .log import log

if TYPE_CHECKING:
    from .core import Core
    from .turn import AnyTurn

MAY_STOP: float = 5.0
"""Seconds that a CLI has to stop a stalled turn, if it was allowed to be silent for less: one that
works answers an interrupt at once."""

_FOR_A_PERSON = (CanUseTool, Elicitation, RequestUserDialog)


class Waiting(Struct, frozen=True):
    """The event that a session waits for, and since when by the clock of the event loop."""

    what: WaitingFor
    since: float


class Stall(SessionEvent, frozen=True):
    """Nothing has happened for longer than `StallTimeouts` allows.

    Attributes:
        waiting_for: the event that the session waits for.
        seconds: the length of the silence.
        evidence: the last lines, the end of stderr.
        action: the next action of the watchdog.
    """

    waiting_for: WaitingFor
    seconds: float
    evidence: Evidence
    action: str


class Watchdog:
    """Watches one session."""

    def __init__(self, core: Core, patience: StallTimeouts) -> None:
        self._core = core
        self._patience = patience
        self._acted = -math.inf

    @property
    def waiting(self) -> Waiting:
        """The event that the session waits for now, and since when."""
        core, link = self._core, self._core.link
        if link is None:
            return Waiting(WaitingFor.NOTHING, anyio.current_time())
        since = max(link.last_progress, link.last_sent)
        if core.state is SessionState.STARTING:
            return Waiting(WaitingFor.START, since)
        if core.is_dead or core.state is SessionState.CLOSING or not link.is_open:
            return Waiting(WaitingFor.NOTHING, since)  # the end has its own timeouts
        if any(isinstance(it.body, _FOR_A_PERSON) for it in link.connection.owed.values()):
            return Waiting(WaitingFor.APPROVER, since)
        if core.conversation.is_busy:
            return Waiting(_next_of(core.conversation.active), since)
        if link.waits_since is not None:
            return Waiting(WaitingFor.ANSWER, max(link.last_progress, link.waits_since))
        return Waiting(WaitingFor.NOTHING, since)

    async def run(self) -> None:
        """Watch until cancelled."""
        # After a shorter sleep the session may wait for an event with a shorter limit.
        longest_sleep = min(map(self._patience.limit, WaitingFor))
        warned: Waiting | None = None
        while longest_sleep < math.inf:
            waiting, now = self.waiting, anyio.current_time()
            limit = self._patience.limit(waiting.what)
            due = max(waiting.since, self._acted) + limit
            if waiting == warned:
                due = math.inf if self._patience.action == "warn" else due + self._patience.grace
            if due > now:
                await anyio.sleep(min(due - now, longest_sleep))
            elif waiting != warned:
                self._warn(waiting, now)
                warned = waiting
            else:
                await self._act(waiting)
                self._acted, warned = anyio.current_time(), None

    def _warn(self, waiting: Waiting, now: float) -> None:
        assert self._core.link is not None
        what, seconds = waiting.what, now - waiting.since
        log.warning("Nothing happened for %.1f s while waiting for %s", seconds, what)
        evidence = self._core.link.evidence()
        self._core.subscriptions.put(Stall(what, seconds, evidence, self._patience.action))

    async def _act(self, waiting: Waiting) -> None:
        """Stop the turn, or the CLI if the turn does not stop."""
        core = self._core
        assert core.link is not None
        error = TurnStalled(_silence(waiting), evidence=core.link.evidence())
        if self._patience.action == "restart":
            core.conversation.drop_sent(error)
            # Not in a task of the link, which ends with the CLI.
            run_detached(self._restart, "claudewire restart")
            await anyio.sleep_forever()
        turn = core.conversation.active
        if turn is None:
            return
        turn._fail_at_end(error)
        may_take = max(self._patience.limit(waiting.what), MAY_STOP)
        if not await stop_turn(core, turn, min(core.options.timeouts.interrupt, may_take)):
            error.message = f"{_silence(waiting)}, and the CLI did not stop when it was told to"
            core.give_up(error)

    async def _restart(self) -> None:
        try:
            await self._core.restart()
        except SessionClosed:
            log.debug("The session was closed while it was restarted")
        except BaseException as error:  # a transport function may raise anything
            if ends_the_caller(error):
                raise
            if isinstance(error, OptionsError):  # it never can, and the CLI is of no use
                self._core.give_up(error)
            log.exception("The session could not be restarted")


def _next_of(turn: AnyTurn | None) -> WaitingFor:
    """Return the event that a turn waits for, by its messages so far."""
    tools: set[str] = set()
    has_output = False
    for message in () if turn is None else turn._log.messages:
        if isinstance(message, AssistantMessage):
            tools |= {it.id for it in message.content if isinstance(it, ToolUseBlock)}
            has_output = True
        elif isinstance(message, StreamEvent):
            has_output = True
        elif isinstance(message, UserMessage) and isinstance(message.content, list):
            results = {it.tool_use_id for it in message.content if isinstance(it, ToolResultBlock)}
            tools -= results
            has_output = has_output and not results  # the model is asked again
    if tools:
        return WaitingFor.TOOL
    return WaitingFor.NEXT_TOKEN if has_output else WaitingFor.FIRST_TOKEN


def _silence(waiting: Waiting) -> str:
    seconds = anyio.current_time() - waiting.since
    return f"Nothing happened for {seconds:.1f} s while waiting for {waiting.what}"
