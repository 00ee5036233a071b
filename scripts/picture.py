"""Make the picture of the README: the command in a terminal, as it really looks.

    scripts/env python -m scripts.picture

It runs the command in a terminal in memory, answers its question, and draws what is on the screen.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

import pyte.screens
from tests.cli.terminal import Terminal, opened

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "run.svg"
PROMPT = "Replace an old with a new in haiku.txt"
TYPED = f'$ claudewire run --cli simulated "{PROMPT}"'
COLUMNS, CELL, LINE, MARGIN = 76, 8.4, 20, 16

COLOURS = {
    "default": "#d4d7dd",
    "red": "#f0827d",
    "green": "#8fd18b",
    "magenta": "#d49be8",
    "cyan": "#7fcfd8",
}
DIM = "#8a909c"


def screen() -> Terminal:
    """Run the command, and return the terminal as it is then."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "haiku.txt").write_text(
            "an old silent pond\na frog jumps in\nsplash! silence again\n", encoding="utf-8"
        )
        os.environ["CLAUDE_CONFIG_DIR"] = str(folder / ".config")
        arguments = ("run", "--cli", "simulated", PROMPT)
        with opened(*arguments, cwd=folder, columns=COLUMNS, rows=60) as terminal:
            terminal.wait_for("x no, and stop ❯")
            terminal.enter("y")
            assert terminal.wait_end() == 0
            return terminal


def style(cell: pyte.screens.Char) -> str:
    colour = COLOURS.get(cell.fg, DIM)
    weight = ' font-weight="bold"' if cell.bold else ""
    return f'fill="{colour}"{weight}'


def drawn(row: list[pyte.screens.Char], y: float) -> Iterator[str]:
    """Draw the parts of a line that have the same style."""
    at = 0
    for how, group in groupby(row, style):
        text = "".join(cell.data for cell in group)
        x = MARGIN + (at + len(text) - len(text.lstrip())) * CELL
        at += len(text)
        if words := text.strip():
            length = f'textLength="{len(words) * CELL:.1f}"'
            yield f'<text x="{x:.1f}" y="{y:.1f}" {how} {length}>{escape(words)}</text>'


def picture(terminal: Terminal) -> str:
    """Draw the screen as SVG."""
    typed = [pyte.screens.Char(it, bold=True) for it in TYPED]
    count = len(terminal.text.splitlines())
    buffer = terminal.screen.buffer
    rows = [typed, *([buffer[y][x] for x in range(COLUMNS)] for y in range(count))]
    width, height = COLUMNS * CELL + 2 * MARGIN, len(rows) * LINE + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'width="{width:.0f}" height="{height}" role="img" aria-label="claudewire run asks before '
        'it changes a file">',
        '<rect width="100%" height="100%" rx="8" fill="#1d2027"/>',
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" '
        'font-size="14" style="white-space: pre">',
    ]
    for number, row in enumerate(rows):
        lines += drawn(row, MARGIN + (number + 0.75) * LINE)
    return "\n".join([*lines, "</g>", "</svg>", ""])


def main() -> None:
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(screen()), encoding="utf-8")
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
