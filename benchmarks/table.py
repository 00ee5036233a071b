"""The runs of the benchmarks, and the ratios with their limits."""

from __future__ import annotations

import sys
from typing import NamedTuple


class Run(NamedTuple):
    """One process."""

    party: str
    work: str
    quick: str = ""
    """The counterpart with small numbers, for a quick check."""
    on_one_processor: bool = False
    """Whether the program shares one processor with its CLI."""


class Figure(NamedTuple):
    """A figure of a run."""

    run: str
    name: str


class Row(NamedTuple):
    """One ratio, and the largest allowed value."""

    what: str
    ours: Figure
    against: Figure
    limit: float


class Group(NamedTuple):
    """Runs that take turns, and the ratios of their figures."""

    name: str
    about: str
    """The kinds of figures."""
    rounds: int
    runs: dict[str, Run]
    rows: list[Row]
    unit: str = "s"


OFFICIAL = "official SDK"
OURS = "claudewire"

EAGER = sys.version_info >= (3, 12)
"""Whether asyncio has eager tasks."""

LIMITS = {"async": 1.0 if EAGER else 1.2, "plain": 2.5, "policy": 1.0}
"""The time of a permission beside the official SDK, by its decider."""


def _beside(
    name: str,
    about: str,
    rounds: int,
    works: tuple[str, str],
    figure: str,
    limit: float,
    unit: str = "s",
) -> Group:
    """A group with one row: the same work with this library and with the official SDK."""
    runs = {OURS: Run("ours", *works), OFFICIAL: Run("official", *works)}
    row = Row(name, Figure(OURS, figure), Figure(OFFICIAL, figure), limit)
    return Group(name, about, rounds, runs, [row], unit)


def _permissions() -> Group:
    deciders = {"async": "async handler", "plain": "plain function", "policy": "Policy rule"}
    works = {OFFICIAL: ("official", "permissions")}
    works |= {what: ("ours", f"permissions {it}") for it, what in deciders.items()}
    runs = {
        name: Run(party, f"{work} 2000", f"{work} 20", on_one_processor=True)
        for name, (party, work) in works.items()
    }
    rows = [
        Row(what, Figure(what, "p50"), Figure(OFFICIAL, "p50"), LIMITS[it])
        for it, what in deciders.items()
    ]
    about = (
        "The fake CLI asks for 2,000 permissions, one after the other, and measures the time from "
        "writing each request to reading its answer. Both processes share one processor: the work "
        "counts, not the time it takes to wake another processor."
    )
    return Group("permissions", about, 9, runs, rows)


def _lines() -> Group:
    runs = {OURS: Run("ours", "long_lines 1 64", "long_lines 1")}
    row = Row("64 MB, per MB", Figure(OURS, "64"), Figure(OURS, "1"), 1.5)
    about = "One assistant message of this length, from the prompt to the reply, by its length."
    return Group("lines", about, 3, runs, [row])


def _pool() -> Group:
    runs = {
        OURS: Run("ours with a real CLI", "warm 5"),
        OFFICIAL: Run("official with a real CLI", "cold"),
    }
    row = Row("opening", Figure(OURS, "open"), Figure(OFFICIAL, "open"), 0.05)
    about = "A real CLI with a scripted API: `await pool.open()`, and opening an official session."
    return Group("pool", about, 3, runs, [row])


def _start() -> Group:
    about = "Processor time in user mode from the start of Python until a session is open."
    runs = {OURS: Run("start_ours", ""), OFFICIAL: Run("start_official", "")}
    row = Row("user CPU", Figure(OURS, "user"), Figure(OFFICIAL, "user"), 0.25)
    return Group("start", about, 15, runs, [row])


def _floods() -> Group:
    run = Run("floods", "longest 12000", "longest 40")
    row = Row("the longest stall", Figure(OURS, "longest"), Figure(OURS, "50 ms"), 1)
    about = (
        "The longest stall of the event loop while the fake CLI floods it: processor time of the "
        "process between two rounds of a task that wakes every millisecond."
    )
    return Group("floods", about, 1, {OURS: run}, [row])


GROUPS = [
    _permissions(),
    _beside(
        "stream",
        "A turn of 84,000 messages (27 MB), from the prompt to the end of the loop.",
        *(7, ("stream 1", "stream 1"), "turn", 1 / 4),
    ),
    _start(),
    _beside(
        "many",
        "Processor time of 100 sessions open at once, each with 20 permissions, four times.",
        *(3, ("many 100 4", "many 2 1"), "each", 0.7),
    ),
    _beside(
        "memory",
        "Resident memory of the process with 400 open sessions.",
        *(3, ("memory 400", "memory 2"), "whole", 0.7, "B"),
    ),
    _beside(
        "tools",
        "The fake CLI calls an async function as a tool 500 times, one after the other.",
        *(7, ("tools 500 1", "tools 20 1"), "each", 0.3),
    ),
    _lines(),
    _pool(),
    _floods(),
]
