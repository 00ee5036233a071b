"""Stopping a turn, and being sure that it has stopped."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import anyio

from ..errors import Cause, CLIError, RequestError, RequestTimeout, TransportClosed, TurnCancelled
from ..wire import EndSession, Interrupt, ResultMessage
from .turn import AnyTurn, TurnState

if TYPE_CHECKING:
    from .core import Core

__all__ = ["Escalation", "InterruptReceipt", "interrupt"]

Queued = Literal["keep", "cancel"]


@dataclass(frozen=True, slots=True)
class Escalation:
    """What to do, step after step, with a CLI that does not stop.

    Each step has `step_timeout` seconds: ask again, ask it to end the session, send SIGINT. At last
    the process is killed with all its children.

    Attributes:
        step_timeout: seconds for each step.
        restart: then start another CLI, which resumes the conversation.
    """

    step_timeout: float = 5.0
    restart: bool = False


@dataclass(frozen=True, slots=True)
class InterruptReceipt:
    """What an interrupt did.

    Attributes:
        acknowledged: whether the CLI has confirmed the interrupt.
        turn: the turn that was stopped; None if none was running.
        result: that turn's result; None if it has not arrived.
        still_queued: turns that are still queued, here or in the CLI.
        cancelled: turns that were dropped.
        steps: what was done, one word for each step.
    """

    acknowledged: bool
    turn: AnyTurn | None = None
    result: ResultMessage | None = None
    still_queued: tuple[AnyTurn, ...] = ()
    cancelled: tuple[AnyTurn, ...] = ()
    steps: tuple[str, ...] = ()


class _Interruption:
    """One interrupt that is being carried out."""

    def __init__(self, core: Core, queued: Queued, timeout: float | None) -> None:
        self.core = core
        self.link = core.check()
        self.queued = queued
        self.timeout = timeout
        self.turn = core.conversation.active
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
        if not had_begun and not self.has_stopped:
            assert self.turn is not None
            await self.turn.started.wait()
            if not self.has_stopped:
                await self._ask_once()
        await self.stopped()

    async def _ask_once(self) -> None:
        cancel = True if self.queued == "cancel" else None
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
        result = None
        if self.turn is not None and self.turn.messages:
            last = self.turn.messages[-1]
            result = last if isinstance(last, ResultMessage) else None
        return InterruptReceipt(
            self.acknowledged,
            self.turn,
            result,
            tuple(turn for turn in self.waiting if not turn.is_over),
            tuple(turn for turn in self.waiting if turn.state is TurnState.CANCELLED),
            tuple(self.steps),
        )


async def interrupt(
    core: Core, *, queued: Queued, timeout: float | None, escalation: Escalation | None
) -> InterruptReceipt:
    """Stop the running turn; see `Session.interrupt`."""
    core.check()
    dropped: tuple[AnyTurn, ...] = ()
    if queued == "cancel":
        dropped = core.conversation.drop_held(TurnCancelled("Dropped by an interrupt"))
    interruption = _Interruption(core, queued, timeout)
    interruption.waiting = (*dropped, *interruption.waiting)
    if escalation is None:
        with anyio.move_on_after(timeout):
            await interruption.ask()
        interruption.check()
    else:
        await interruption.escalate(escalation)
    return interruption.receipt()
