"""Puts the results into docs/performance.md, with a plot of each group beside it."""

from __future__ import annotations

from datetime import date
from html import escape
from os import cpu_count
from pathlib import Path
from platform import machine, python_version, system

from .results import Measured, Spread, shown
from .table import GROUPS, Figure

__all__ = ["plot", "section", "write"]

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "performance.md"
BEGIN, END = "<!-- written by scripts/bench --write -->\n", "<!-- until here -->\n"

WIDTH, LABEL, BAR, LINE = 760, 250, 380, 24
"""Of a plot, in pixels: the whole, the place for labels, the longest bar, the height of a bar."""

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #333 }
rect { fill: #9aa5b1 } .ours { fill: #2f6fdb } line { stroke: #333; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } line { stroke: #ddd } }
"""


def write(everything: list[Measured]) -> None:
    """Replace what was measured before; what was not measured now stays as it is."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    sections = {each.partition("\n")[0]: f"### {each}" for each in old.split("### ")[1:]}
    sections |= {measured.group.title: section(measured) for measured in everything}
    parts = [sections[group.title] for group in GROUPS if group.title in sections]
    PAGE.write_text(before + BEGIN + "".join(parts) + END + after, encoding="utf-8")
    (DOCS / "plots").mkdir(exist_ok=True)
    for measured in everything:
        path = DOCS / "plots" / f"{measured.group.name}.svg"
        path.write_text(plot(measured), encoding="utf-8")


def section(measured: Measured) -> str:
    """Describe a group: how it is measured, the ratios, the plot."""
    heads = ["", "ours", "against", "theirs", "ratio", "at most", ""]
    rows = [heads, ["---"] * len(heads), *map(measured.cells, measured.group.rows)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    name = measured.group.name
    picture = f"![{measured.group.title}](plots/{name}.svg)"
    where = f"{system()} on {machine()} with {cpu_count()} processors, Python {python_version()}"
    when = f"{date.today()}, {measured.group.rounds} rounds, {where}."
    parts = (measured.group.about, table, picture, when)
    return f"### {measured.group.title}\n\n" + "".join(f"{part}\n\n" for part in parts)


def plot(measured: Measured) -> str:
    """Draw a bar for each figure: its median, with a line from the 10th to the 90th percentile.

    Figures of different names, such as p50 and p99, have scales of their own.
    """
    lines: list[str] = []
    rows = measured.group.rows
    figures = dict.fromkeys(figure for row in rows for figure in (row.ours, row.against))
    names = dict.fromkeys(figure.name for figure in figures)
    has_parties = _has_parties(measured)
    for name in names if has_parties else [None]:
        chosen = {
            figure: spread
            for figure in figures
            if name in (None, figure.name) and (spread := measured.absolute(figure))
        }
        longest = max((spread.high for spread in chosen.values()), default=1)
        for figure, spread in sorted(chosen.items(), key=lambda each: each[1].middle):
            number, unit = len(lines) // 4, measured.group.unit
            lines += _bar(figure, spread, longest, unit, number, has_parties=has_parties)
    height = len(lines) // 4 * LINE + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}">\n<style>{STYLE}</style>\n'
        + "\n".join(lines)
        + "\n</svg>\n"
    )


def _has_parties(measured: Measured) -> bool:
    """Whether the same is measured of several; otherwise the figures themselves are compared."""
    return len(measured.group.runs) > 1


def _bar(
    figure: Figure, spread: Spread, longest: float, unit: str, number: int, *, has_parties: bool
) -> list[str]:
    low, middle, high = (value / longest * BAR for value in spread)
    top = number * LINE + 4
    label = escape(f"{figure.run}, {figure.name}" if has_parties else figure.name)
    kind = ' class="ours"' if figure.run.startswith("claudewire") else ""
    center = top + LINE // 2 - 2
    return [
        f'<text x="{LABEL - 8}" y="{center + 4}" text-anchor="end">{label}</text>',
        f'<rect x="{LABEL}" y="{top}" width="{middle:.1f}" height="{LINE - 6}"{kind}/>',
        f'<line x1="{LABEL + low:.1f}" x2="{LABEL + high:.1f}" y1="{center}" y2="{center}"/>',
        f'<text x="{LABEL + high + 8:.1f}" y="{center + 4}">{shown(spread.middle, unit)}</text>',
    ]
