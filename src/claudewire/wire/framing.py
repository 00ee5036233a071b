r"""Bytes to lines: incremental, linear in the bytes, and never losing one.

A line ends at the byte `\n` and nowhere else: not at U+2028, not at a lone `\r`. A carriage return
before the newline stays in the line, where JSON takes it for white space.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from .types.base import Event

MAX_LINE = 256 * 2**20
"""Far above any line seen (a screenshot is some MB), far below the memory of a machine."""

HEAD = 1024
"""Bytes that are kept of an undeliverable line: enough to recognise it."""


class Oversize(Event):
    """A line longer than the maximum: its first bytes and its length. The stream goes on."""

    head: bytes
    length: int


class Lines:
    """Splits a stream of bytes into lines.

    Pieces of an unfinished line are written into a buffer that becomes the line: each byte is read
    once however small the pieces are, and a long line is in memory once.
    """

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self.max_line = max_line
        self._buffer: BytesIO | None = None
        self._length = 0

    @property
    def pending(self) -> int:
        """Bytes of the unfinished line."""
        return self._length

    def feed(self, data: bytes) -> list[bytes | Oversize]:
        """Take the next bytes of the stream; return the lines that they complete."""
        lines: list[Any] = data.split(b"\n")
        rest = lines.pop()
        if lines and self._length:
            lines[0] = self._finish(lines[0])
        if len(data) > self.max_line:
            lines = [*map(self._bounded, lines)]
        if rest:
            self._keep(rest)
        return lines

    def end(self) -> list[bytes | Oversize]:
        """End the stream; return the last line if it had no newline."""
        return [self._finish(b"")] if self._length else []

    def _keep(self, piece: bytes) -> BytesIO:
        buffer = self._buffer = self._buffer or BytesIO()
        buffer.write(piece)
        self._length += len(piece)
        if self._length > self.max_line:  # only the head is of use now
            buffer.truncate(HEAD)
            buffer.seek(0, 2)  # to its end, where the next piece is written
        return buffer

    def _finish(self, last: bytes) -> bytes | Oversize:
        line = self._keep(last).getvalue()  # its memory, not a copy
        length, self._length, self._buffer = self._length, 0, None
        return line if length <= self.max_line else Oversize(line[:HEAD], length)

    def _bounded(self, line: bytes | Oversize) -> bytes | Oversize:
        if isinstance(line, Oversize) or len(line) <= self.max_line:
            return line
        return Oversize(line[:HEAD], len(line))
