"""Following a file that grows."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from ..wire import Lines
from .entries import Entry
from .files import CHUNK, Line, chunks_of

__all__ = ["Follower"]


class Follower:
    """Gives the lines that were added to a file since the last look.

    A file that was replaced, or became shorter, is read from its beginning.

    Args:
        path: the file; it need not exist yet.
        from_start: give the lines that are there already, too.
    """

    def __init__(self, path: Path, *, from_start: bool = False) -> None:
        self._path = path
        self._lines = Lines()
        self._file = _opened(path)
        if self._file is not None and not from_start:
            self._file.seek(_last_line(self._file))

    def read(self) -> list[Entry]:
        """Return some of the entries that are complete by now; none if there are no more."""
        entries = self._read()
        if not entries and self._was_replaced():
            self.close()
            self._lines = Lines()
            self._file = _opened(self._path)
            entries = self._read()
        return entries

    def _read(self) -> list[Entry]:
        """Read until a line is complete: not everything at once, as there may be very much."""
        for chunk in () if self._file is None else chunks_of(self._file):
            lines = [line for line in self._lines.feed(chunk) if line]
            if lines:
                return [Line(0, line).read() for line in lines]
        return []

    def _was_replaced(self) -> bool:
        try:
            now = os.stat(self._path)
        except OSError:
            return False
        if self._file is None:
            return True
        opened = os.fstat(self._file.fileno())
        return not os.path.samestat(now, opened) or now.st_size < self._file.tell()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _opened(path: Path) -> IO[bytes] | None:
    try:
        # A named pipe must not block; a regular file takes no notice.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        return None
    return os.fdopen(file, "rb", buffering=0)


def _last_line(file: IO[bytes]) -> int:
    """Return where the line begins that is being written: after the last newline."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - CHUNK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
