"""The matrix as a table of a document: written by `scripts/faults`, read by its test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.session.reliability.cases import CASES, Phase
from tests.session.reliability.matrix import Outcome

DOCUMENT = Path(__file__).resolve().parents[2] / "snapshots" / "faults.md"
BEGIN, END = "<!-- matrix: written by scripts/faults --write -->", "<!-- end of the matrix -->"
NOT_PLAYED = "·"

Table = dict[str, dict[str, str]]
"""Outcomes by fault and phase."""


def table_of(outcomes: Iterable[Outcome]) -> Table:
    """Put outcomes together; where backends do not agree, a cell has them all."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for outcome in outcomes:
        found[outcome.cell.case.title, outcome.cell.phase].append(outcome.summary)
    return {
        case.title: {
            phase: " or ".join(dict.fromkeys(found[case.title, phase])) or NOT_PLAYED
            for phase in Phase
        }
        for case in CASES
    }


def written(table: Table) -> str:
    """Write a table in Markdown."""
    lines = [_row(["fault", *Phase]), _row(["---"] * (1 + len(Phase)))]
    lines += [_row([f"`{title}`", *cells.values()]) for title, cells in table.items()]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def read(text: str) -> Table:
    """Read the table of a document."""
    rows = [line.strip("| ").split(" | ") for line in _between(text).strip().splitlines()]
    (_, *phases), _, *rows = rows
    return {title.strip("`"): dict(zip(phases, cells, strict=True)) for title, *cells in rows}


def replaced(text: str, table: Table) -> str:
    """Return a document with another table."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{written(table)}\n{END}{after}"


def _between(text: str) -> str:
    return text.partition(BEGIN)[2].partition(END)[0]
