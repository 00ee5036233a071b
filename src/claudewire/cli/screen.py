"""A terminal with lines that stay, in its scrollback, and below them a few that change.

There is no other screen, and nothing above the changing lines is ever touched: scrolling, tmux and
copying work as usual. What is not a terminal gets the lines that stay.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from .styles import clip_painted, painted_cells

__all__ = ["Screen", "is_pipe", "size_of"]

_LEAST_COLUMNS = 20


def size_of(stream: TextIO) -> tuple[int, int]:
    """Return the columns and the rows of a terminal, or the usual ones if it does not know."""
    with suppress(OSError, ValueError, AttributeError):
        columns, rows = os.get_terminal_size(stream.fileno())
        if columns and rows:
            return max(columns, _LEAST_COLUMNS), rows
    columns, rows = shutil.get_terminal_size()
    return max(columns, _LEAST_COLUMNS), rows


def is_pipe(stream: TextIO) -> bool:
    """Whether what is written to a stream goes to another program."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class Screen:
    """Draws on a terminal.

    Args:
        stream: where the changing lines are drawn.
        live: whether the terminal can show lines that change.
    """

    def __init__(self, stream: TextIO, *, live: bool = True) -> None:
        self.stream = stream
        self._is_live = live
        self._drawn: list[str] = []
        self._wanted: list[str] = []
        self._held: list[tuple[TextIO, str]] | None = None

    @property
    def width(self) -> int:
        """How many columns there are."""
        return size_of(self.stream)[0]

    def print(self, lines: Sequence[str], to: TextIO | None = None) -> None:
        """Add lines that stay, above those that change."""
        target = self.stream if to is None else to
        text = "".join(f"{line}\n" for line in lines)
        if not text:
            return
        if self._held is not None:
            self._held.append((target, text))
            return
        self._erase()
        target.write(text)
        target.flush()
        self._draw()

    def change(self, lines: Sequence[str]) -> None:
        """Replace the lines that change."""
        self._wanted = [*lines]
        if self._shown() != self._drawn:
            self._erase()
            self._draw()

    def _shown(self) -> list[str]:
        """Return the changing lines, as far as there is room for them."""
        columns, rows = size_of(self.stream)
        return [clip_painted(line, columns - 1) for line in self._wanted][-max(rows - 2, 1) :]

    @contextmanager
    def held(self) -> Iterator[None]:
        """Show nothing new while this lasts: the terminal is used for something else."""
        self._erase()
        self._held, before = [], self._held
        try:
            yield
        finally:
            kept, self._held = self._held, before
            for target, text in kept:
                self.print(text.splitlines(), target)
            self._draw()

    def _erase(self) -> None:
        if self._drawn:
            columns, _ = size_of(self.stream)
            # A window that became narrower has wrapped what was drawn.
            height = sum(max(1, -(-painted_cells(line) // columns)) for line in self._drawn)
            up = f"\x1b[{height - 1}A" if height > 1 else ""
            self.stream.write(f"\r{up}\x1b[J")
            self.stream.flush()
            self._drawn = []

    def _draw(self) -> None:
        if self._is_live and self._wanted and self._held is None and not self._drawn:
            self._drawn = self._shown()
            self.stream.write("\n".join(self._drawn))
            self.stream.flush()
