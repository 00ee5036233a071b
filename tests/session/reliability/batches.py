"""Plays many cells side by side, and counts what they leave behind."""

from __future__ import annotations

import gc
import sys
import tempfile
import threading
import time
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import anyio
from tests.helpers.cancellation import living_tasks
from tests.helpers.processes import children, descriptors
from tests.session.reliability.cases import Case, Phase
from tests.session.reliability.matrix import (
    Carrier,
    Cell,
    Flavour,
    Outcome,
    cells,
    positions,
    run_cell,
)

from claudewire.sync.portal import portal

ResultT = TypeVar("ResultT")

AT_ONCE = {"memory": 40, "process": 16}
"""The number of cells played side by side: most cells are idle most of the time."""
AFTERMATH = 10.0
"""Seconds that finished tasks and processes may take to disappear."""
SLOWER = 5.0
"""The factor by which limits grow when a cell is played again."""
FOR_EVER = 300.0
"""Seconds after which a thread that does not come back never will."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The outcome of cells that were played side by side.

    Attributes:
        outcomes: of all cells.
        left: what was there afterwards and not before: tasks, processes, file descriptors.
    """

    outcomes: tuple[Outcome, ...]
    left: tuple[str, ...]


def run_batch(flavour: Flavour, carrier: Carrier) -> Batch:
    """Play all cells of one backend, in memory or as processes."""
    positions()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # What is made once and kept is made now: the guardian of processes, a portal, caches.
        _play([Cell(Case(""), Phase.IDLE, flavour, carrier)], folder)
        before = _Count()
        # Cells with long waits go first; the others fill the time.
        order = sorted(cells(flavour, carrier), key=lambda cell: -len(cell.case.short(cell.phase)))
        outcomes, left = _play(order, folder)
        late = [it for it in outcomes if it.fault_did_not_happen]
        again, left_again = _play_slower([it.cell for it in late], folder) if late else ([], [])
        kept = [it for it in outcomes if not it.fault_did_not_happen]
        return Batch((*kept, *again), (*left, *left_again, *before.left()))


def _play_slower(cells: Sequence[Cell], folder: Path) -> tuple[list[Outcome], list[str]]:
    """Play cells in which a bound passed before the fault came, because the machine was busy."""
    given = {replace(it, case=replace(it.case, slower=SLOWER)): it for it in cells}
    outcomes, left = _play(list(given), folder)
    return [replace(it, cell=given[it.cell]) for it in outcomes], left


def _play(cells: Sequence[Cell], folder: Path) -> tuple[list[Outcome], list[str]]:
    flavour = cells[0].flavour
    if flavour == "sync":
        return _play_in_threads(cells, folder)
    return anyio.run(_play_in_tasks, cells, folder, backend=flavour)


async def _play_in_tasks(cells: Sequence[Cell], folder: Path) -> tuple[list[Outcome], list[str]]:
    outcomes: dict[Cell, Outcome] = {}
    limit = anyio.CapacityLimiter(AT_ONCE[cells[0].carrier])

    async def play(cell: Cell) -> None:
        async with limit:
            outcomes[cell] = await run_cell(cell, folder)

    before = living_tasks()
    async with anyio.create_task_group() as group:
        for cell in cells:
            group.start_soon(play, cell)
    return [outcomes[cell] for cell in cells], await _tasks_beyond(before)


async def _tasks_beyond(before: int) -> list[str]:
    """Report additional tasks, after ending tasks had time to disappear."""
    end = time.monotonic() + AFTERMATH
    while (more := living_tasks() - before) > 0 and time.monotonic() < end:  # noqa: ASYNC110
        await anyio.sleep(0.01)
    return [f"{more} tasks are left"] if more > 0 else []


def _play_in_threads(cells: Sequence[Cell], folder: Path) -> tuple[list[Outcome], list[str]]:
    loop = portal()
    loop.do(sys.settrace, None)  # its thread may be older: begun by a test that was measured
    before = loop.do(living_tasks)
    outcomes: dict[Cell, Outcome] = {}
    to_play = iter(cells)

    def play() -> None:
        for cell in to_play:
            outcomes[cell] = _run(run_cell(cell, folder))

    # Daemons: should one of them never come back, we can still end.
    count = AT_ONCE[cells[0].carrier]
    threads = [threading.Thread(target=play, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + FOR_EVER
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    hangs = [Outcome(cell, {}, ("hangs",)) for cell in cells if cell not in outcomes]
    played = [outcomes[cell] for cell in cells if cell in outcomes]
    return [*played, *hangs], loop.call(_tasks_beyond, before)


def _run(coroutine: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a coroutine that blocks where others wait."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: ResultT = stop.value
        return result
    raise AssertionError("It has waited, and there is no event loop")


class _Count:
    """The current numbers of processes and file descriptors."""

    def __init__(self) -> None:
        gc.collect()
        self._children = children()
        self._descriptors = len(descriptors())

    def left(self) -> Iterable[str]:
        """Report additional leftovers, after ending ones had time to disappear."""
        end = time.monotonic() + AFTERMATH
        while (found := self._found()) and time.monotonic() < end:
            gc.collect()
            time.sleep(0.05)
        return found

    def _found(self) -> list[str]:
        found = []
        if processes := children() - self._children:
            found.append(f"processes are left: {sorted(processes)}")
        if (more := len(descriptors()) - self._descriptors) > 0:
            found.append(f"{more} file descriptors are left")
        return found
