"""Faults and phases: the rows and the columns of the matrix."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import StrEnum

from msgspec.structs import replace

from claudewire.options import StallTimeouts, Timeouts
from claudewire.simulator.faults import FAULTS

SHORT = {
    "start": 5.0,
    "request": 1.5,
    "patience": 2.0,
    "interrupt": 1.0,
    "exit": 0.5,
    "terminate": 0.5,
    "drain": 0.5,
}
"""Seconds to wait in vain: enough for a busy machine."""
LONG = 60.0
"""Seconds that never pass."""


class Phase(StrEnum):
    """The state of the session at the fault."""

    STARTING = "starting"
    IDLE = "idle"
    STREAMING = "streaming"
    PERMISSION = "permission pending"
    HOOK = "hook pending"
    CLOSING = "closing"


Passes = tuple[tuple[str, tuple[Phase, ...]], ...]


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a phase in the output of the CLI, counted from 1.

    Attributes:
        before: the last frame before a request of the client.
        moment: the frame that the fault hits.
        answer: the answer to the client's request in this phase.
        block: the frame before the next message of the assistant in this phase.
        request: the number of the CLI's request in this phase.
    """

    before: int
    moment: int
    answer: int
    block: int
    request: int


@dataclass(frozen=True, slots=True)
class Case:
    """One row: a fault with its parameters.

    Attributes:
        faults: in the language of `CLAUDEWIRE_SIM_FAULTS`; `{moment}` and so on stand for the
            fields of a `Position`.
        passes: the timeouts that expire, and the phases in which they do. All others are too long
            to expire.
        process: whether the fault needs a real process.
        floods: whether the client writes more than a pipe holds at the fault.
        at_start: whether the fault happens only at the start of the CLI.
        slower: the factor of the timeouts.
    """

    faults: str
    passes: Passes = ()
    process: bool = False
    floods: bool = False
    at_start: bool = False
    slower: float = 1.0

    @property
    def title(self) -> str:
        """Return the faults without their positions."""
        title = re.sub(r"@\{\w+\}", "", self.faults)
        return f"{title}, a full pipe" if self.floods else title

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Return the phases in which the faults can happen."""
        return (Phase.STARTING,) if self.at_start else tuple(Phase)

    @property
    def names(self) -> set[str]:
        """Return the names of the faults."""
        return set(re.findall(r"[a-z][\w-]+", self.title)) & FAULTS.keys()

    def at(self, position: Position) -> str:
        """Return the faults for one phase."""
        return self.faults.format(**asdict(position))

    def short(self, phase: Phase) -> dict[str, float]:
        """Return the timeouts that expire in a phase."""
        return {name: SHORT[name] * self.slower for name, phases in self.passes if phase in phases}

    def timeouts(self, phase: Phase) -> Timeouts:
        """Return the timeouts of a session with these faults."""
        short = {name: it for name, it in self.short(phase).items() if name != "patience"}
        return replace(Timeouts(LONG, LONG, LONG, LONG, LONG, LONG, LONG), **short)

    def patience(self, phase: Phase) -> StallTimeouts:
        """Return the watchdog's limits."""
        seconds = self.short(phase).get("patience", LONG)
        return StallTimeouts(seconds, seconds, seconds, None, seconds, action="interrupt")


PENDING = (Phase.PERMISSION, Phase.HOOK)
OPEN = (Phase.IDLE, Phase.STREAMING, *PENDING)
ALL = tuple(Phase)

NO_START = ("start", (Phase.STARTING,))
NO_EXIT = ("exit", (Phase.CLOSING,))
SILENT = (
    NO_START,
    ("request", (Phase.IDLE, *PENDING)),
    ("patience", OPEN),
    ("interrupt", OPEN),
    NO_EXIT,
)
STUCK = (("patience", (Phase.STARTING, *OPEN)), ("interrupt", (Phase.STARTING, *OPEN)), NO_EXIT)

CASES = (
    Case("clock-jump(3600)@{moment}"),
    Case("clock-jump(-3600)@{moment}"),
    Case("duplicate-answers@{answer}"),
    Case("eof-without-exit@{moment}", (("exit", ALL),)),
    Case("exit(0)@{moment}"),
    Case("exit(1)@{moment}"),
    Case("exit(1)@0", at_start=True),
    Case("garbage@{moment}"),
    Case("grandchild(60)@{moment}", (("drain", ALL),)),
    Case("grandchild(60)@{moment}, exit(1)@{moment}", (("drain", ALL),)),
    Case("half-line@{moment}", (NO_START, ("request", PENDING))),
    Case("half-line(1)@{moment}"),
    Case("half-line(-9)@{moment}"),
    Case("ignore-sigterm", process=True),
    Case("ignore-sigterm, silence@{moment}", (*SILENT, ("terminate", ALL)), process=True),
    Case("kill(9)@{moment}"),
    Case("kill(9)@0", at_start=True),
    Case("kill(11)@{moment}"),
    Case("kill(15)@{moment}"),
    Case("late-answers(1)@{answer}", (("request", (Phase.IDLE, *PENDING)),)),
    Case("late-answers(seconds=0.1)@{answer}"),
    Case("leftover-shell(60)@{moment}", process=True),
    Case("leftover-shell(60)@{moment}, kill(9)@{moment}", process=True),
    Case("long-line(5)@{moment}"),
    Case("missing-answers@{answer}", (NO_START, ("request", OPEN))),
    Case("not-reading@{moment}", (*STUCK, ("request", (Phase.IDLE,)))),
    Case("not-reading@{before}", (*STUCK, ("request", OPEN)), floods=True),
    Case("not-reading(0.2)@{moment}"),
    Case("not-reading@0", (NO_START,), at_start=True),
    Case("result-without-turn@{moment}"),
    Case("silence@{moment}", SILENT),
    Case("slow(0.02)@{moment}"),
    Case("split(1, 100, -1)@{moment}"),
    Case("split-every-byte@{moment}"),
    Case("split-utf8@{moment}"),
    Case("stderr-flood(1000000)@{moment}"),
    Case("unknown-answers@{moment}"),
    Case("unknown-block@{block}"),
    Case("unknown-field@{moment}"),
    Case("unknown-message@{moment}"),
    Case("unsolicited-turn@{moment}"),
    Case("withdrawn-request@{request}"),
)
