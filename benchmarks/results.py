"""The figures of a group, and the ratios between them."""

from __future__ import annotations

from statistics import median, quantiles
from typing import Any, NamedTuple

from .table import Figure, Group, Row

__all__ = ["Measured", "Spread", "demanded", "shown"]


class Spread(NamedTuple):
    """The median of the rounds, and the 10th and 90th percentile."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """Of at least one value."""
        tenths = quantiles([*values, *values][: max(2, len(values))], n=10, method="inclusive")
        return cls(tenths[0], median(values), tenths[-1])

    def __str__(self) -> str:
        return f"{self.middle:.3g} ({self.low:.3g} to {self.high:.3g})"


def shown(value: float, unit: str) -> str:
    """Show seconds or bytes with three digits."""
    scales = {
        "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs")),
        "B": ((1e6, "MB"), (1e3, "KB"), (1, "B")),
    }[unit]
    scale, name = next((each for each in scales if value >= each[0]), scales[-1])
    number = value / scale
    return f"{number:.0f} {name}" if number >= 100 else f"{number:.3g} {name}"


class Measured:
    """What the runs of a group have measured, round for round."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.rounds: dict[Figure, list[float]] = {}

    def note(self, run: str, figures: dict[str, float]) -> None:
        for name, value in figures.items():
            self.rounds.setdefault(Figure(run, name), []).append(value)

    def forget(self, run: str) -> None:
        """Drop what a run has measured: it did not get to its end in each round."""
        self.rounds = {it: values for it, values in self.rounds.items() if it.run != run}

    def absolute(self, figure: Figure) -> Spread | None:
        """The figure itself; None if it was not measured."""
        values = self.rounds.get(figure)
        return Spread.of(values) if values else None

    def ratio(self, row: Row) -> Spread | None:
        """The ratio of a row, taken in each round; None if it was not measured."""
        ours, against = self.rounds.get(row.ours), self.rounds.get(row.against)
        if not ours or not against:
            return None
        # Time in user mode is counted in ticks of the clock, so very little of it may be none.
        ratios = [one / other for one, other in zip(ours, against, strict=True) if other]
        return Spread.of(ratios) if ratios else None

    def verdict(self, row: Row) -> str:
        """Whether the ratio is what is demanded."""
        ratio = self.ratio(row)
        if ratio is None:
            return "not measured"
        if row.limit is None:
            return "shown only"
        return "holds" if ratio.middle <= row.limit else "MISSED"

    @property
    def holds(self) -> bool:
        """Whether no demanded ratio is missed."""
        return all(self.verdict(row) != "MISSED" for row in self.group.rows)

    def cells(self, row: Row) -> list[str]:
        """The row as text: what, ours, against what, theirs, ratio, limit, verdict."""
        figures = [self.absolute(figure) for figure in (row.ours, row.against)]
        ours, theirs = (shown(each.middle, self.group.unit) if each else "-" for each in figures)
        limit = "-" if row.limit is None else f"{row.limit:.3g}"
        ratio = str(self.ratio(row) or "-")
        return [row.what, ours, row.versus, theirs, ratio, limit, self.verdict(row)]

    def text(self) -> str:
        """A table for the terminal."""
        heads = [self.group.name, "ours", "against", "theirs", "ratio", "at most", ""]
        return _table([heads, *(self.cells(row) for row in self.group.rows)])

    def data(self) -> dict[str, Any]:
        """All figures of all rounds, and the ratios, for JSON."""
        return {
            "group": self.group.name,
            "unit": self.group.unit,
            "figures": [
                {"run": figure.run, "figure": figure.name, "rounds": values}
                for figure, values in self.rounds.items()
            ],
            "ratios": [
                {
                    "what": row.what,
                    "versus": row.versus,
                    "at_most": row.limit,
                    "ratio": ratio and ratio._asdict(),
                    "verdict": self.verdict(row),
                }
                for row in self.group.rows
                for ratio in [self.ratio(row)]
            ],
        }


def demanded(everything: list[Measured]) -> str:
    """A table of all ratios that have a bound, and whether it was reached."""
    lines = [["what is demanded", "", "against", "ratio", "at most", ""]]
    for measured in everything:
        for row in measured.group.rows:
            if row.limit is not None:
                ratio, verdict = measured.ratio(row), measured.verdict(row)
                said = {"holds": "ok", "MISSED": "not reached"}.get(verdict, verdict)
                middle = f"{ratio.middle:.3g}" if ratio else "-"
                name = measured.group.name
                lines.append([name, row.what, row.versus, middle, f"{row.limit:.3g}", said])
    return _table(lines)


def _table(lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )
