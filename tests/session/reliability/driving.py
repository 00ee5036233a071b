"""Plays a phase with an application, and notes the outcome of each call."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from tests.session.reliability.applications import Application
from tests.session.reliability.cases import Phase
from tests.session.reliability.scenario import NEWS, WORDS
from tests.session.reliability.simulations import Gate

from claudewire.errors import CLIError, Error, TurnError
from claudewire.session import SessionEvent
from claudewire.wire import Event

SLACK = 20.0
"""Seconds by which a busy machine may exceed any limit."""
MUCH = "x" * 300_000
"""More than a pipe holds."""
QUIET = 0.5
"""Seconds after which a CLI counts as silent."""
COMPLETED = "completed"


def label(error: BaseException) -> str:
    """Name an error, with its cause."""
    name = type(error).__name__
    cause = error.cause if isinstance(error, CLIError | TurnError) else "unknown"
    return name if cause == "unknown" else f"{name}: {cause}"


class Driver:
    """One application that meets a fault.

    Args:
        application: the application.
        gate: the gate at which its handlers wait.
        moment: the number of lines of the CLI up to the fault; 0 without a fault.
        floods: whether to write more than a pipe holds at the fault.

    Attributes:
        steps: the outcome of each call: "completed", or the name of the error.
        events: the events of the session.
        problems: the broken promises.
    """

    def __init__(
        self, application: Application, gate: Gate, *, moment: int = 0, floods: bool = False
    ) -> None:
        self.application = application
        self.session = application.session
        self.gate = gate
        self.moment = moment
        self.floods = floods
        self.events: list[Event | SessionEvent] = []
        self.steps: dict[str, str] = {}
        self.problems: list[str] = []

    # --- phases ----------------------------------------------------------------------------------

    async def play(self, phase: Phase) -> None:
        """Use a session as applications do, while the fault of this phase happens."""
        try:
            if await self.step("open", self.application.open):
                await _PHASES[phase](self)
                if phase is not Phase.CLOSING:
                    await self.turn("next", "say something")
        finally:
            self.gate.open.set()
            await self.step("close", self.application.close)
            await self.application.read_unsolicited()
            self.collect()

    async def starting(self) -> None:
        """Do nothing: the start was the phase."""
        await self.turn("turn", MUCH if self.floods else "say something")

    async def idle(self) -> None:
        """Wait for the message between turns."""
        await self.turn("turn", "rest then")
        is_silent = "silence" in str(self.session.options.env["CLAUDEWIRE_SIM_FAULTS"])
        await self.until(self.heard_news, QUIET if is_silent else SLACK)
        turns = self.flood()
        await self.step("request", self.application.ask)
        await self.finish_all(turns)

    async def streaming(self) -> None:
        """Send a request in the middle of a text."""
        turn = self.application.send("stream")
        await self.step("first", lambda: self.application.first(turn))
        turns = {"turn": turn, **self.flood()}
        await self.step("request", self.application.ask)
        await self.finish_all(turns)

    async def pending(self) -> None:
        """Send a request while the CLI waits for an answer."""
        turn = self.application.send("use a tool")
        await self.until(lambda: self.gate.reached.is_set() or turn.is_over, SLACK)
        turns = {"turn": turn, **self.flood()}
        await self.step("request", self.application.ask)
        self.gate.open.set()
        await self.finish_all(turns)

    async def closing(self) -> None:
        """Close in the middle of a turn."""
        turn = self.application.send("work for long")
        await self.step("first", lambda: self.application.first(turn))
        turns = {"turn": turn, **self.flood()}
        await self.step("close", self.application.close)
        await self.finish_all(turns)

    # --- steps -----------------------------------------------------------------------------------

    async def step(self, name: str, call: Callable[[], Awaitable[str | None]]) -> bool:
        """Make one call, and note its outcome."""
        bound = self.bound(name)
        try:
            with self.application.at_most(bound + SLACK):
                self.steps[name] = await call() or COMPLETED
        except Error as error:
            self.steps[name] = label(error)
        except TimeoutError:
            self.steps[name] = "hangs"
            self.problems.append(f"{name} takes more than {bound} s")
        except Exception as error:
            self.steps[name] = repr(error)
            self.problems.append(f"{name} raises {error!r}")
        return self.steps[name] == COMPLETED

    def bound(self, name: str) -> float:
        """Return the limit of a step in seconds, by the options."""
        timeouts, patience = self.session.options.timeouts, self.session.options.patience
        assert patience is not None
        assert patience.tool is not None
        end: float = timeouts.exit + timeouts.terminate + 2 * timeouts.kill + 3 * timeouts.drain
        before = {"open": timeouts.start, "request": timeouts.request, "close": 0.0}
        limit: float = before.get(name, patience.tool + timeouts.interrupt)
        return limit + end

    async def turn(self, name: str, prompt: str) -> None:
        """Send a prompt and wait for its reply."""
        await self.step(name, lambda: self.finish(self.application.send(prompt)))

    async def finish(self, turn: Any) -> str:
        """Wait for the reply to a turn; return the outcome."""
        reply = await self.application.finish(turn)
        if turn.merged:
            self.application.read.pop()  # the result, which the other turn has, too
        if not reply.ok:
            was_stopped = str(reply.result.terminal_reason).startswith("aborted")
            return "interrupted" if was_stopped else f"result: {reply.result.subtype}"
        if reply.text != WORDS:
            self.problems.append(f"a turn has the reply {reply.text!r}")
        return COMPLETED

    async def finish_all(self, turns: dict[str, Any]) -> None:
        """Wait for all replies."""
        for name, turn in turns.items():
            await self.step(name, lambda turn=turn: self.finish(turn))  # type: ignore[misc]

    def flood(self) -> dict[str, Any]:
        """Write more than a pipe holds, if the case asks for it."""
        return {"flood": self.application.send(MUCH, priority="now")} if self.floods else {}

    async def until(self, true: Callable[[], bool], seconds: float) -> None:
        """Wait for a condition, within a limit, unless the session has ended."""
        end = time.monotonic() + seconds
        while not true() and self.session.failure is None and time.monotonic() < end:
            await self.application.pause()

    def heard_news(self) -> bool:
        """Return whether the message between turns has arrived, as far as the fault let it."""
        self.collect()
        lines = [it.line for it in self.events if isinstance(it, Event) and it.line]
        if self.moment:
            return len(lines) >= self.moment
        return any(NEWS.encode() in line for line in lines)

    def collect(self) -> None:
        """Take the events of the session."""
        self.events += self.application.listener.take()


_PHASES: dict[Phase, Callable[[Driver], Awaitable[None]]] = {
    Phase.STARTING: Driver.starting,
    Phase.IDLE: Driver.idle,
    Phase.STREAMING: Driver.streaming,
    Phase.PERMISSION: Driver.pending,
    Phase.HOOK: Driver.pending,
    Phase.CLOSING: Driver.closing,
}
