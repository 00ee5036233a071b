"""The figures of a group, and the ratios between them."""

from __future__ import annotations

from statistics import median, quantiles
from typing import Any, NamedTuple

from .table import Figure, Group, Row


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
    """The figures of the runs of a group, round by round."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.rounds: dict[Figure, list[float]] = {}

    def note(self, run: str, figures: dict[str, float]) -> None:
        for name, value in figures.items():
            self.rounds.setdefault(Figure(run, name), []).append(value)

    def forget(self, run: str) -> None:
        """Drop the figures of a run that did not end in each round."""
        self.rounds = {it: values for it, values in self.rounds.items() if it.run != run}

    def ratio(self, row: Row) -> Spread | None:
        """The ratio of a row, taken in each round; None if it was not measured."""
        ours, against = self.rounds.get(row.ours), self.rounds.get(row.against)
        if not ours or not against:
            return None
        # Time in user mode is counted in ticks of the clock, so very little of it may be none.
        ratios = [one / other for one, other in zip(ours, against, strict=True) if other]
        return Spread.of(ratios) if ratios else None

    def verdict(self, row: Row) -> str:
        """Return whether the ratio is within its limit."""
        ratio = self.ratio(row)
        if ratio is None:
            return "not measured"
        return "holds" if ratio.middle <= row.limit else "MISSED"

    @property
    def holds(self) -> bool:
        """Return whether all ratios are within their limits."""
        return all(self.verdict(row) != "MISSED" for row in self.group.rows)

    def cells(self, row: Row) -> list[str]:
        """The row as text: group, row, ours, theirs, ratio, limit, verdict."""
        values = [self.rounds.get(figure) for figure in (row.ours, row.against)]
        ours, theirs = (shown(median(it), self.group.unit) if it else "-" for it in values)
        ratio = str(self.ratio(row) or "-")
        return [
            self.group.name,
            row.what,
            ours,
            f"{theirs} {row.against.run}",
            ratio,
            f"{row.limit:.3g}",
            self.verdict(row),
        ]

    def data(self) -> dict[str, Any]:
        """All figures of all rounds, and the ratios, for JSON."""
        return {
            "group": self.group.name,
            "unit": self.group.unit,
            "figures": [{**figure._asdict(), "rounds": it} for figure, it in self.rounds.items()],
            "ratios": [
                {"what": row.what, "ratio": self.ratio(row), "verdict": self.verdict(row)}
                for row in self.group.rows
            ],
        }


def table(measured: list[Measured]) -> str:
    """The rows of some groups as a table for the terminal."""
    heads = ["group", "row", "ours", "against", "ratio", "at most", ""]
    lines = [heads, *(each.cells(row) for each in measured for row in each.group.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in lines
    )
