"""The fault matrix: every fault in every phase, on every backend; one cell of it is played here."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
from tests.helpers.processes import group_of, started_with
from tests.session.reliability.applications import Application, BlockingApplication
from tests.session.reliability.cases import CASES, Case, Phase, Position
from tests.session.reliability.driving import COMPLETED, Driver
from tests.session.reliability.scenario import NEWS
from tests.session.reliability.simulations import Gate, Tapped, in_memory, noted, options_for

from claudewire.simulator.faults import UnknownBlock
from claudewire.transport import Launch
from claudewire.wire import Answer, Cancel, Event, Failure, Request

Flavour = Literal["asyncio", "trio", "sync"]
Carrier = Literal["memory", "process"]

NOT_HAPPENED = "has not happened"

_CONTROL = (Request, Cancel, Answer, Failure)


@dataclass(frozen=True, slots=True)
class Cell:
    """One fault in one phase, on one backend, in memory or as a process."""

    case: Case
    phase: Phase
    flavour: Flavour
    carrier: Carrier

    def __str__(self) -> str:
        return f"{self.case.title} / {self.phase} / {self.flavour} / {self.carrier}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a cell.

    Attributes:
        cell: which.
        steps: what each call came to.
        problems: the promises that were broken.
    """

    cell: Cell
    steps: dict[str, str]
    problems: tuple[str, ...]

    @property
    def fault_did_not_happen(self) -> bool:
        """Return whether the cell ended before its fault and thus shows nothing."""
        return any(it.endswith(NOT_HAPPENED) for it in self.problems)

    @property
    def summary(self) -> str:
        """The outcome in a word: the errors in their order, and whether it went on after them."""
        told = [it for name, it in self.steps.items() if it != COMPLETED and name != "close"]
        goes_on = self.steps.get("next") == COMPLETED
        return ", then ".join([*dict.fromkeys(told), *([COMPLETED] if goes_on else [])])


def cells(flavour: Flavour, carrier: Carrier) -> list[Cell]:
    """Return all cells of one backend, in memory or as processes."""
    return [
        Cell(case, phase, flavour, carrier)
        for case in CASES
        for phase in case.phases
        if carrier == "process" or not case.process
    ]


# --- where the phases are -------------------------------------------------------------------------

Frames = list[dict[str, Any]]


async def _rehearsal(phase: Phase) -> Frames:
    clis: list[Tapped] = []
    await _driver(Cell(Case(""), phase, "asyncio", "memory"), "", None, clis).play(phase)
    return [json.loads(line) for line in clis[0].written.splitlines()]


@functools.cache
def positions() -> dict[Phase, Position]:
    """Return the position of each phase in the output of the CLI, without a fault."""
    return {phase: _position(phase, anyio.run(_rehearsal, phase)) for phase in Phase}


def _position(phase: Phase, frames: Frames) -> Position:
    news = next((n for n, it in enumerate(frames, 1) if it.get("text") == NEWS), 0)
    answers = [n for n, it in enumerate(frames, 1) if it["type"] == "control_response"]
    asked = [it["request"]["subtype"] for it in frames if it["type"] == "control_request"]
    answer = answers[0 if phase is Phase.STARTING else 1]
    into_a_text = 3 if phase is Phase.STREAMING else 0
    moment = news or answer + into_a_text
    of_interest = {"elicitation", "can_use_tool", "hook_callback"}
    request = 1 if phase is Phase.STARTING else _first(asked, of_interest)
    # Another model is announced before that is answered.
    before = answer - (1 if phase in (Phase.STARTING, Phase.CLOSING) else 2)
    block = 1 if phase is Phase.CLOSING else moment
    return Position(before, moment, answer, block, request)


def _first(names: list[str], wanted: set[str]) -> int:
    return next(number for number, name in enumerate(names, 1) if name in wanted)


# --- one cell -------------------------------------------------------------------------------------


def _driver(cell: Cell, faults: str, log: Path | None, clis: list[Tapped]) -> Driver:
    """Make an application that meets these faults; a CLI in memory is put into the list."""
    gate = Gate()

    async def connect(launch: Launch) -> Tapped:
        clis.append(in_memory(launch))
        return clis[0]

    options = options_for(cell.case, cell.phase, faults, gate, log)
    make = BlockingApplication if cell.flavour == "sync" else Application
    application = make(options, connect if log is None else None)
    moment = positions()[cell.phase].moment if faults else 0
    return Driver(application, gate, moment=moment, floods=cell.case.floods)


async def run_cell(cell: Cell, folder: Path) -> Outcome:
    """Play a cell, and look whether all promises were kept.

    Args:
        cell: which. One without async does not wait here but block.
        folder: where files can be made.
    """
    handle, name = tempfile.mkstemp(dir=folder)
    os.close(handle)
    log = None if cell.carrier == "memory" else Path(name)
    clis: list[Tapped] = []
    driver = _driver(cell, cell.case.at(positions()[cell.phase]), log, clis)
    await driver.play(cell.phase)
    written = clis[0].written if log is None else noted(log)
    problems = [*driver.problems, *lost(driver, written), *alive(driver), *idle_faults(clis)]
    return Outcome(cell, driver.steps, tuple(problems))


def lost(driver: Driver, written: bytes) -> Iterable[str]:
    """Report lines of the CLI that were not delivered exactly once."""
    lines = [line for line in written.split(b"\n") if line.strip()]
    events = [it for it in driver.events if isinstance(it, Event) and it.line]
    if [it.line for it in events] != lines:
        yield f"{len(lines)} lines were written, {len(events)} events came"
    control = [it for it in events if isinstance(it, _CONTROL)]
    notices = [it for it in driver.session.notices if it.line]
    delivered = Counter(it.line for it in (*control, *notices, *driver.application.read))
    for line, count in (delivered - Counter(lines)).items():
        yield f"delivered {count} times too often: {line[:100]!r}"
    for line in Counter(lines) - delivered:
        yield f"never delivered: {line[:100]!r}"


def alive(driver: Driver) -> Iterable[str]:
    """Report leftovers."""
    session = driver.session
    if driver.steps["close"] != COMPLETED:
        yield f"close: {driver.steps['close']}"
    if session.failure is None:
        yield f"the session is {session.state} after it was closed"
    if session.inbox.pending:
        yield f"somebody is still asked: {session.inbox.pending}"
    if session.pid is not None and (left := group_of(session.pid)):
        yield f"processes are left: {left}"
    log = session.options.env.get("CLAUDEWIRE_SIM_LOG")  # each has another
    if log is not None and (left := started_with(log)):
        yield f"processes that it has started are left: {left}"


def idle_faults(clis: Iterable[Tapped]) -> Iterable[str]:
    """Say which faults have not happened; that can be seen in memory alone."""
    engines = [cli.engine for cli in clis if cli.engine is not None]
    for fault in (fault for engine in engines for fault in engine._faults):
        if fault._frames < fault.at or (isinstance(fault, UnknownBlock) and not fault._done):
            yield f"{fault} {NOT_HAPPENED}"
