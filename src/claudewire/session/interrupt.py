"""Stopping a turn, and being sure that it has stopped."""

from __future__ import annotations

import signal
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Generic, Literal

import anyio
from msgspec import Struct

from ..concurrency import DetachedCall
from ..errors import (
    Cause,
    CLIError,
    Error,
    RequestError,
    RequestTimeout,
    TransportClosed,
    TurnCancelled,
    TurnError,
    UnsupportedRequest,
)
from ..wire import CancelAsyncMessage, EndSession, Interrupt, ResultMessage
from .events import TurnState, TurnT
from .link import DEFAULT, Timeout

if TYPE_CHECKING:
    from .core import Core
    from .turn import AnyTurn

Queued = Literal["keep", "cancel"]

Outcome = Literal["stopped", "withdrawn", "was_over", "not_stopped", "nothing_running"]
"""The fate of the turn: it was stopped; it was taken back before it began; it had ended already;
it goes on; or there was none."""


class Escalation(Struct, frozen=True):
    """The steps against a CLI that does not stop.

    Each step has `step_timeout` seconds: ask again, ask the CLI to end the session, send SIGINT.
    The last step kills the process with all its children.

    Attributes:
        step_timeout: seconds for each step.
        restart: then start another CLI, which resumes the conversation.
    """

    step_timeout: float = 5.0
    restart: bool = False


class InterruptReceipt(Struct, Generic[TurnT], frozen=True):
    """The effects of an interrupt. Its turns are those of the async or of the blocking API.

    Attributes:
        acknowledged: whether the CLI has confirmed the interrupt; False if it was not sent one.
        turn: the turn to stop; None if none was running.
        result: that turn's result; None if it has not arrived.
        still_queued: other turns that are still queued, here or in the CLI.
        cancelled: turns that were dropped.
        steps: a word for each step that was taken.
        outcome: the fate of the turn: it was `stopped`; it was `withdrawn` before it began; it
            `was_over`, or ended before it could be stopped; it did not stop in time and goes on
            (`not_stopped`); or `nothing_running`.
    """

    acknowledged: bool
    turn: TurnT | None = None
    result: ResultMessage | None = None
    still_queued: tuple[TurnT, ...] = ()
    cancelled: tuple[TurnT, ...] = ()
    steps: tuple[str, ...] = ()
    outcome: Outcome = "nothing_running"


class _Interruption:
    def __init__(self, core: Core, turn: AnyTurn | None, queued: Queued = "keep") -> None:
        self.core = core
        self.turn = turn
        self.queued = queued
        self.others = tuple(other for other in core.conversation if other is not turn)
        self.steps: list[str] = []
        self.acknowledged = False

    async def run(self, timeout: float | None, escalation: Escalation | None) -> InterruptReceipt:
        self.link = self.core.check()
        if self.queued == "cancel":
            self.core.conversation.drop_held(TurnCancelled("Dropped by an interrupt"))
        if escalation is not None:
            await self._escalate(escalation)
            return self.receipt()
        with anyio.move_on_after(timeout):
            await self._ask()
        is_over = self.turn is not None and self.turn.is_over
        if self.steps and not self.acknowledged and not is_over:
            raise RequestTimeout(
                f"The CLI did not acknowledge an interrupt within {timeout:g} s",
                request="interrupt",
                evidence=self.link.evidence(),
                advice="Use escalate=True if the turn must end.",
            )
        return self.receipt()

    async def _ask(self) -> None:
        """Ask the CLI to stop, and once more when the turn begins only after that.

        A CLI that has the prompt but has not begun acknowledges and does nothing.
        """
        if self.core.behavior.after_interrupt == "nothing":
            if self.turn is not None:
                await self._tell()
            return
        self.steps.append("interrupt")
        had_begun = self.turn is None or self.turn.started.is_set()
        await self._ask_once()
        if self.turn is not None and not had_begun:
            await self.turn.started.wait()
            if not self.turn.is_over:
                await self._ask_once()
        await self._stopped()

    async def _ask_once(self) -> None:
        cancel = True if self.queued == "cancel" else None
        with self.core.holding_back():  # or it could stop a turn that begins before it arrives
            await self.link.ask(Interrupt(cancel), timeout=None)
        self.acknowledged = True
        if self.core.behavior.after_interrupt == "answer":
            self._infer_end()

    async def _tell(self) -> None:
        """Interrupt a CLI that may not even answer."""
        self.steps.append("interrupt")
        connection = self.link.connection
        request = connection.new_request(Interrupt())
        self.link.post(request)
        self._infer_end()
        try:
            await self._stopped()
        finally:
            self.acknowledged = request.id not in connection.asked
            if not self.acknowledged:
                connection.abandon(request.id)

    def _infer_end(self) -> None:
        """End the turn when nothing more comes: no result is promised."""
        if self.turn is not None:
            self.core.conversation.note_interrupt(self.turn)
            self.core.watch_ending()

    async def _stopped(self) -> None:
        if self.turn is not None:
            await self.turn.finished.wait()

    async def _escalate(self, escalation: Escalation) -> None:
        for step in (self._ask, self._ask, self._end_session, self._signal):
            with suppress(RequestError), anyio.move_on_after(escalation.step_timeout):
                try:
                    await step()
                except TransportClosed:  # the CLI is ending; the reason will be known then
                    await self._stopped()
            if self.turn is None or self.turn.is_over:
                return
        self.steps.append("kill")
        text = "The CLI did not stop when it was interrupted, and was killed"
        evidence = self.link.evidence()
        self.core.give_up(CLIError(text, cause=Cause.NO_ANSWER, evidence=evidence))
        await self.link.finished.wait()

    async def _end_session(self) -> None:
        if self.core.capabilities.knows("end_session"):
            self.steps.append("end_session")
            await self.link.ask(EndSession(), timeout=None)
            await self._stopped()

    async def _signal(self) -> None:
        self.steps.append("SIGINT")
        self.link.send_signal(signal.SIGINT)
        await self._stopped()

    def receipt(self) -> InterruptReceipt:
        turn = self.turn
        outcome = self._outcome()
        dropped = tuple(it for it in self.others if it.state is TurnState.CANCELLED)
        return InterruptReceipt(
            self.acknowledged,
            turn,
            None if turn is None or turn._reply is None else turn._reply.result,
            tuple(other for other in self.others if not other.is_over),
            (turn,) if turn is not None and outcome == "withdrawn" else dropped,
            tuple(self.steps),
            outcome,
        )

    def _outcome(self) -> Outcome:
        turn = self.turn
        if turn is None:
            return "nothing_running"
        if not turn.is_over:
            return "not_stopped"
        if turn.state is TurnState.CANCELLED:
            return "withdrawn"
        has_succeeded = turn._reply is not None and turn._reply.ok
        return "was_over" if has_succeeded or not self.steps else "stopped"


async def interrupt(
    core: Core, queued: Queued, timeout: Timeout, escalate: Escalation | bool
) -> InterruptReceipt:
    """Stop the running turn; see `Session.interrupt`."""
    link = core.check()
    try:
        interruption = _Interruption(core, core.conversation.active, queued)
        return await _carry_out(interruption, *_limits(core, timeout, escalate))
    except TransportClosed:
        await core.raise_reason(link)


async def interrupt_turn(
    core: Core, turn: AnyTurn, timeout: Timeout, escalate: Escalation | bool
) -> InterruptReceipt:
    """Stop one turn and no other; see `Turn.interrupt`."""
    if turn.is_over:
        return _Interruption(core, turn).receipt()
    work = partial(_interrupt_turn, core, turn, *_limits(core, timeout, escalate))
    # It goes on if the caller is cancelled.
    return await DetachedCall(work, "claudewire interrupt").result()


def _limits(
    core: Core, timeout: Timeout, escalate: Escalation | bool
) -> tuple[float | None, Escalation | None]:
    seconds = core.options.timeouts.interrupt if timeout is DEFAULT else timeout
    return seconds, Escalation() if escalate is True else escalate or None


async def _carry_out(
    interruption: _Interruption, timeout: float | None, escalation: Escalation | None
) -> InterruptReceipt:
    """Interrupt; then start another CLI, if this one was killed and a restart was asked for."""
    core = interruption.core
    core.keeps_held = escalation is not None and escalation.restart
    try:
        receipt = await interruption.run(timeout, escalation)
        if core.keeps_held and core.is_dead:
            await core.restart()
        return receipt
    finally:
        core.keeps_held = False
        if core.is_dead:
            assert core.failure is not None
            core.conversation.drop_held(core.failure)


async def _interrupt_turn(
    core: Core, turn: AnyTurn, timeout: float | None, escalation: Escalation | None
) -> InterruptReceipt:
    with anyio.move_on_after(timeout):
        await _until_it_runs(core, turn)
    interruption = _Interruption(core, turn)
    if turn.is_over or not _would_be_hit(core, turn):
        return interruption.receipt()
    try:
        return await _carry_out(interruption, timeout, escalation)
    except TransportClosed:
        with anyio.move_on_after(timeout):
            await turn.finished.wait()
        return _Interruption(core, turn).receipt()


async def _until_it_runs(core: Core, turn: AnyTurn) -> None:
    """Take the turn back, or wait until an interrupt would stop it, or it is over."""
    may_be_queued = turn.state is TurnState.SENT and core.conversation.reports_progress
    if turn.state is TurnState.HELD or may_be_queued:
        with suppress(Error):  # the CLI is too old, or about to exit
            await withdraw(core, turn)
    if core.link is None or core.link.is_closing or not core.link.is_open:
        await turn.finished.wait()
    elif turn.was_asked_for and not _would_be_hit(core, turn):
        await turn.started.wait()


def _would_be_hit(core: Core, turn: AnyTurn) -> bool:
    """Whether an interrupt stops this turn, alone or together with one that it is part of."""
    is_part = turn.was_asked_for and turn.state is TurnState.RUNNING
    return is_part or turn is core.conversation.active


async def withdraw(core: Core, turn: AnyTurn) -> bool:
    """Withdraw a prompt that the CLI has not begun; return whether that succeeded."""
    if turn.state is TurnState.SENT:
        seconds = core.options.timeouts.request
        try:
            answer = await core.request(CancelAsyncMessage(str(turn.uuid)), seconds)
        except UnsupportedRequest:
            return False
        if not answer.cancelled:
            return False
    elif turn.state is not TurnState.HELD:
        return False
    core.conversation.drop(turn, TurnCancelled("The turn was cancelled before it began"))
    core.send_queued()
    return True


async def stop_turn(core: Core, turn: AnyTurn, timeout: float) -> bool:
    """Interrupt a turn if it is the running one; return whether it no longer is."""
    if turn is core.conversation.active:
        with suppress(Error):
            await _Interruption(core, turn).run(timeout, None)
    return turn is not core.conversation.active


async def limit_turn(core: Core, turn: AnyTurn, seconds: float) -> None:
    """Stop a turn that takes longer; it then fails."""
    with anyio.move_on_after(seconds):
        await turn.finished.wait()
        return
    error = TurnError(f"The turn took longer than {seconds:g} s and was interrupted")
    turn._fail_at_end(error)
    with suppress(Error):
        receipt = await interrupt_turn(core, turn, DEFAULT, escalate=False)
        if receipt.outcome != "not_stopped":
            return
    if not turn.is_over:
        core.give_up(error)
