"""How the lines of a recording are shown on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from ...recordings import Exchange, Latency, Step, Timeline
from ..screen import size_of
from ..styles import Paint
from ..text import cells, clip, fold, one_line, safe

__all__ = [
    "UNLIMITED",
    "LineView",
    "counted",
    "duration",
    "latency_table",
    "put",
    "width_of",
    "wrapped",
]

UNLIMITED = 10_000
"""Columns of what is no terminal: nothing is cut, so that it can be searched."""

_LEAST_FOR_TIMES = 32
"""Columns below which there is no room to say how long something took."""

_ARROWS = {">": ("→", "->"), "<": ("←", "<-"), "!": ("!", "!"), None: ("=", "=")}
_STYLES = {">": "code", "<": "ok", "!": "bad", None: "dim"}
_PREFIXED = {"answer", "failure"}
_SIDES = {">": "application", "<": "CLI"}


def width_of() -> int:
    """Return how many columns a line on stdout may have."""
    return size_of(sys.stdout)[0] if sys.stdout.isatty() else UNLIMITED


def duration(seconds: float | None) -> str:
    """Say how long something took, in a few characters."""
    if seconds is None:
        return "never"
    if seconds < 0.0995:
        return f"{seconds * 1000:.{1 if seconds < 0.00995 else 0}f} ms"
    if seconds < 60:
        return f"{seconds:.{2 if seconds < 10 else 1}f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def put(*lines: str) -> None:
    """Print lines to stdout. What its encoding cannot write is escaped."""
    text = "".join(f"{line}\n" for line in lines)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def wrapped(line: str, width: int) -> Iterator[str]:
    """Break a safe line between words, and inside those that are too long."""
    current = ""
    for number, word in enumerate(line.split(" ")):
        longer = f"{current} {word}" if number else word
        if cells(longer) <= width:
            current = longer
            continue
        if current.strip():
            yield current
        *parts, current = fold(word, width)
        yield from parts
    yield current


def counted(number: int, one: str, several: str = "") -> str:
    """Say how many there are: `1 line`, `2 lines`."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"


class LineView:
    """Writes steps of a timeline, each as one line.

    Args:
        timeline: the recording.
        paint: how to colour it.
        width: how many columns there are.
    """

    def __init__(self, timeline: Timeline, paint: Paint, width: int) -> None:
        self._paint = paint
        self._width = width
        self._endings = timeline.endings()
        self._steps = timeline.steps
        self._name = min(28, max(8, width // 3))

    def line(self, step: Step) -> str:
        """Return one line: when, which way, what it is, what it says, and how long it took."""
        took = self._took(self._endings.get(step.index, []), len(step.findings))
        time = f"{step.t - self._steps[0].t:8.3f}"
        arrow = _ARROWS[step.dir][0 if self._paint.mark("dot") == "·" else 1]
        name = clip(safe(title_of(step)), self._name)
        if self._width < _LEAST_FOR_TIMES:
            took = ""
        left = self._width - len(time) - cells(arrow) - self._name - cells(took) - 5
        says = one_line(step.summary, left) if left > 3 else ""
        if self._width < UNLIMITED:
            says = says + " " * max(0, left - cells(says))
        elif took:
            took = f"({took})"
        name += " " * (self._name - cells(name))
        bad = step.kind in ("bad line", "failure")
        parts = [
            self._paint("dim", time),
            self._paint(_STYLES[step.dir], arrow),
            self._paint("bad" if bad else "strong", name),
            self._paint("bad", says) if step.dir == "!" else says,
            self._paint("dim", took),
        ]
        return " ".join(part for part in parts if part).rstrip()

    def _took(self, ended: Sequence[Exchange], findings: int) -> str:
        # The first of them has begun first, so it took the longest.
        took = [duration(it.seconds) for it in ended[:1]]
        return " ".join([*took, f"!{findings}"] if findings else took)


def title_of(step: Step) -> str:
    """Name a step: that it answers a request is part of it."""
    return f"{step.kind} {step.name}" if step.kind in _PREFIXED else step.name


def latency_table(latencies: Iterable[Latency], paint: Paint, width: int) -> Iterator[str]:
    """Show how long things took, as a table that fits."""
    rows = [["", "name", "begun by", "times", "median", "longest"]]
    for it in latencies:
        times = f"{it.count}" + (f" ({it.unanswered} open)" if it.unanswered else "")
        found = [it.kind, safe(it.name), _SIDES[it.by], times, duration(it.median)]
        rows.append([*found, duration(it.longest)])
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    widths[1] = max(8, min(widths[1], width - sum(widths) + widths[1] - 12))
    for number, row in enumerate(rows):
        cut = [clip(cell, size) for cell, size in zip(row, widths, strict=True)]
        padded = [
            cell.rjust(size) if column > 2 else cell + " " * (size - cells(cell))
            for column, (cell, size) in enumerate(zip(cut, widths, strict=True))
        ]
        line = clip("  ".join(padded).rstrip(), width)
        yield paint("dim", line) if number == 0 else line
