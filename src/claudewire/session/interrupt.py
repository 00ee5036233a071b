"""Stopping a turn, and being sure that it has stopped."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Literal

import anyio
from msgspec import Struct
from msgspec.structs import replace

from ..concurrency import run_to_completion
from ..errors import (
    Cause,
    CLIError,
    Error,
    RequestError,
    RequestTimeout,
    TransportClosed,
    TurnCancelled,
    UnsupportedRequest,
)
from ..wire import CancelAsyncMessage, EndSession, Interrupt, ResultMessage
from .pending_request import DEFAULT, Timeout
from .turn import AnyTurn, TurnState

if TYPE_CHECKING:
    from .core import Core

__all__ = [
    "Escalation",
    "InterruptReceipt",
    "Outcome",
    "Queued",
    "carry_out",
    "interrupt",
    "interrupt_turn",
    "withdraw",
]

Queued = Literal["keep", "cancel"]

Outcome = Literal["stopped", "withdrawn", "was_over", "not_stopped", "nothing_running"]
"""What became of the turn: it was stopped; it was taken back before it began; it had ended by
itself; it goes on; or there was none."""


class Escalation(Struct, frozen=True):
    """What to do, step after step, with a CLI that does not stop.

    Each step has `step_timeout` seconds: ask again, ask it to end the session, send SIGINT. At last
    the process is killed with all its children.

    Attributes:
        step_timeout: seconds for each step.
        restart: then start another CLI, which resumes the conversation.
    """

    step_timeout: float = 5.0
    restart: bool = False


class InterruptReceipt(Struct, frozen=True):
    """What an interrupt did.

    Attributes:
        acknowledged: whether the CLI has confirmed the interrupt; False if it was not sent one.
        turn: the turn that was to be stopped; None if none was running.
        result: that turn's result; None if it has not arrived.
        still_queued: other turns that are still queued, here or in the CLI.
        cancelled: turns that were dropped.
        steps: what was done, one word for each step.
        outcome: what became of the turn: it was `stopped`; it was `withdrawn` before it began; it
            `was_over`, or ended by itself before it could be stopped; it did not stop in time and
            goes on (`not_stopped`); or `nothing_running`.
    """

    acknowledged: bool
    turn: AnyTurn | None = None
    result: ResultMessage | None = None
    still_queued: tuple[AnyTurn, ...] = ()
    cancelled: tuple[AnyTurn, ...] = ()
    steps: tuple[str, ...] = ()
    outcome: Outcome = "nothing_running"


class _Interruption:
    """One interrupt that is being carried out: of a certain turn, or of the running one."""

    def __init__(
        self, core: Core, queued: Queued, timeout: float | None, turn: AnyTurn | None = None
    ) -> None:
        self.core = core
        self.link = core.check()
        self.queued = queued
        self.timeout = timeout
        self.turn = turn or core.conversation.active
        self.waiting = tuple(turn for turn in core.conversation if turn is not self.turn)
        self.acknowledged = False
        self.steps: list[str] = []

    @property
    def has_stopped(self) -> bool:
        return self.turn is None or self.turn.is_over

    async def ask(self) -> None:
        """Ask the CLI to stop, and once more when the turn begins only after that.

        A CLI that has the prompt but has not begun acknowledges and does nothing.
        """
        if self.core.rules.after_interrupt == "nothing":
            if self.turn is not None:
                await self._tell()
            return
        self.steps.append("interrupt")
        had_begun = self.turn is None or self.turn.started.is_set()
        await self._ask_once()
        if not had_begun:
            assert self.turn is not None
            await self.turn.started.wait()
            if not self.has_stopped:
                await self._ask_once()
        await self.stopped()

    async def _ask_once(self) -> None:
        cancel = True if self.queued == "cancel" else None
        with self.core.holding_back():  # or it could stop a turn that begins before it arrives
            await self.link.ask(Interrupt(cancel), timeout=None)
        self.acknowledged = True
        if self.core.rules.after_interrupt == "answer":
            self._expect_end()

    async def _tell(self) -> None:
        """Interrupt a CLI that may not even answer."""
        self.steps.append("interrupt")
        request = self.link.connection.new_request(Interrupt())
        self.link.post(request)
        self._expect_end()
        try:
            await self.stopped()
        finally:
            self.acknowledged = request.id not in self.link.connection.asked
            if not self.acknowledged:
                self.link.connection.abandon(request.id)

    def _expect_end(self) -> None:
        """Let the turn end when nothing more comes: no result is promised."""
        if self.turn is not None:
            self.core.conversation.note_interrupt(self.turn)
            self.core.watch_ending()

    def check(self) -> None:
        """Raise an error if the CLI has not reacted at all."""
        if self.acknowledged or not self.steps or (self.turn is not None and self.turn.is_over):
            return
        raise RequestTimeout(
            f"The CLI did not acknowledge an interrupt within {self.timeout:g} s",
            request="interrupt",
            evidence=self.link.evidence(),
            advice="Use escalate=True if the turn must end.",
        )

    async def stopped(self) -> None:
        if self.turn is not None:
            await self.turn.finished.wait()

    async def escalate(self, escalation: Escalation) -> None:
        """Use stronger and stronger means until the turn has stopped."""
        for step in (self.ask, self.ask, self._end_session, self._signal):
            with suppress(RequestError), anyio.move_on_after(escalation.step_timeout):
                try:
                    await step()
                except TransportClosed:  # the CLI is ending; the reason will be known then
                    await self.stopped()
            if self.has_stopped:
                return
        await self._kill()

    async def _end_session(self) -> None:
        if self.core.capabilities.lacks("end_session"):
            return
        self.steps.append("end_session")
        await self.link.ask(EndSession(), timeout=None)
        await self.stopped()

    async def _signal(self) -> None:
        self.steps.append("SIGINT")
        self.link.send_signal(signal.SIGINT)
        await self.stopped()

    async def _kill(self) -> None:
        self.steps.append("kill")
        text = "The CLI did not stop when it was interrupted, and was killed"
        evidence = self.link.evidence()
        self.core.give_up(CLIError(text, cause=Cause.NO_ANSWER, evidence=evidence))
        await self.link.finished.wait()

    def receipt(self) -> InterruptReceipt:
        return _receipt(self.turn, self.waiting, tuple(self.steps), self.acknowledged)


def _receipt(
    turn: AnyTurn | None,
    others: tuple[AnyTurn, ...],
    steps: tuple[str, ...] = (),
    acknowledged: bool = False,
) -> InterruptReceipt:
    result = None
    if turn is not None and turn.messages:
        last = turn.messages[-1]
        result = last if isinstance(last, ResultMessage) else None
    return InterruptReceipt(
        acknowledged,
        turn,
        result,
        tuple(other for other in others if not other.is_over),
        tuple(other for other in others if other.state is TurnState.CANCELLED),
        steps,
        _outcome(turn, steps),
    )


def _outcome(turn: AnyTurn | None, steps: tuple[str, ...]) -> Outcome:
    if turn is None:
        return "nothing_running"
    if not turn.is_over:
        return "not_stopped"
    if turn.state is TurnState.CANCELLED:
        return "withdrawn"
    has_succeeded = turn._reply is not None and turn._reply.ok
    return "was_over" if has_succeeded or not steps else "stopped"


async def interrupt(
    core: Core,
    *,
    queued: Queued,
    timeout: float | None,
    escalation: Escalation | None,
    turn: AnyTurn | None = None,
) -> InterruptReceipt:
    """Stop the running turn, or a certain one that has begun; see `Session.interrupt`."""
    core.check()
    dropped: tuple[AnyTurn, ...] = ()
    if queued == "cancel":
        dropped = core.conversation.drop_held(TurnCancelled("Dropped by an interrupt"))
    interruption = _Interruption(core, queued, timeout, turn)
    interruption.waiting = (*dropped, *interruption.waiting)
    if escalation is None:
        with anyio.move_on_after(timeout):
            await interruption.ask()
        interruption.check()
    else:
        await interruption.escalate(escalation)
    return interruption.receipt()


async def carry_out(
    core: Core, work: Callable[[], Awaitable[InterruptReceipt]], escalation: Escalation | None
) -> InterruptReceipt:
    """Interrupt; then start another CLI, if this one was killed and that was asked for."""
    core.keeps_held = escalation is not None and escalation.restart
    try:
        receipt = await work()
        if core.keeps_held and core.is_dead:
            await core.restart()
        return receipt
    finally:
        core.keeps_held = False
        if core.is_dead:
            assert core.failure is not None
            core.conversation.drop_held(core.failure)


# --- a certain turn ------------------------------------------------------------------------------


async def withdraw(core: Core, turn: AnyTurn) -> bool:
    """Take a prompt back that the CLI has not begun with; return whether it was taken back."""
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
    core.settle()
    return True


async def interrupt_turn(
    core: Core, turn: AnyTurn, timeout: Timeout, escalate: Escalation | bool
) -> InterruptReceipt:
    """Stop one turn and no other; see `Turn.interrupt`."""
    if turn.is_over:
        return _untouched(core, turn)
    seconds = core.options.timeouts.interrupt if timeout is DEFAULT else timeout
    escalation = Escalation() if escalate is True else escalate or None
    work = partial(_interrupt_turn, core, turn, seconds, escalation)
    return await run_to_completion(work, "claudewire interrupt")


async def _interrupt_turn(
    core: Core, turn: AnyTurn, timeout: float | None, escalation: Escalation | None
) -> InterruptReceipt:
    with anyio.move_on_after(timeout):
        await _until_it_runs(core, turn)
    if turn.is_over or not _would_be_hit(core, turn):
        return _untouched(core, turn)
    work = partial(
        interrupt, core, queued="keep", timeout=timeout, escalation=escalation, turn=turn
    )
    try:
        return await carry_out(core, work, escalation)
    except TransportClosed:
        with anyio.move_on_after(timeout):
            await turn.finished.wait()
        return _untouched(core, turn)


async def _until_it_runs(core: Core, turn: AnyTurn) -> None:
    """Take the turn back, or wait until it is the one that an interrupt would stop, or is over."""
    may_be_queued = turn.state is TurnState.SENT and core.conversation.narrates
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


def _untouched(core: Core, turn: AnyTurn) -> InterruptReceipt:
    """Return the receipt for a turn that was over, was taken back, or cannot be reached."""
    others = tuple(other for other in core.conversation if other is not turn)
    receipt = _receipt(turn, others)
    return replace(receipt, cancelled=(turn,)) if receipt.outcome == "withdrawn" else receipt
