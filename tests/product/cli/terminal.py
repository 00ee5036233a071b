"""A terminal in memory: starts a program in it, types, and looks at what a person would see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyte
from tests.product.cli.conftest import COMMAND

PATIENCE = 60.0
"""Seconds to wait for something to appear: it only ends a hang."""


class _Screen(pyte.Screen):
    """A screen that answers a program that asks where the cursor is."""

    keyboard = -1

    def write_process_input(self, data: str) -> None:
        os.write(self.keyboard, data.encode())


class Terminal:
    """A program in its own terminal.

    Args:
        arguments: of the command.
        cwd: its folder.
        env: variables besides those of this process.
        columns: the width of the window.
        rows: its height: large, so that nothing scrolls away.
    """

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        columns: int = 80,
        rows: int = 70,
        argv: list[str] | None = None,
    ) -> None:
        self._master, slave = pty.openpty()
        self.screen = _Screen(columns, rows)
        self.screen.keyboard = self._master
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        self._resize(columns, rows)
        self.process = subprocess.Popen(
            [*(COMMAND if argv is None else argv), *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", **(env or {})},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)

    @property
    def text(self) -> str:
        """The screen, without blanks at the ends of lines."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    @property
    def words(self) -> str:
        """The screen as one long line."""
        return " ".join(self.text.split())

    @property
    def _near(self) -> str:
        """The lines near the cursor and at the bottom as one: a screen can be very long."""
        here, last = self.screen.cursor.y, self.screen.lines
        rows = [*range(max(here - 45, 0), min(here + 4, last)), last - 1]
        cells = [[self.screen.buffer[y][x].data for x in range(self.screen.columns)] for y in rows]
        return " ".join(" ".join("".join(row) for row in cells).split())

    def type(self, text: str) -> None:
        """Type something."""
        os.write(self._master, text.encode())

    def enter(self, text: str = "") -> None:
        """Type a line."""
        self.type(f"{text}\r")

    def wait_for(self, words: str, *, count: int = 1) -> None:
        """Wait until words are on the screen, and so often."""
        self.wait_until(lambda: self._near.count(words) >= count, repr(words))

    def press_until(self, key: str, words: str) -> None:
        """Press a key until words are on the screen."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.words:
            assert time.monotonic() < deadline, f"{words!r} did not appear:\n{self.text}"
            self.type(key)
            look = time.monotonic() + 1.0
            while words not in self.words and self._read(look - time.monotonic()):
                pass

    def wait_until(self, is_true: Any, what: str) -> None:
        """Wait until something is true of the screen."""
        deadline = time.monotonic() + PATIENCE
        while not is_true():
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"{what} did not appear:\n{self.text}")

    def wait_end(self) -> int:
        """Wait until the program has ended; return its status."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(timeout=PATIENCE)

    def resize(self, columns: int, rows: int = 70) -> None:
        """Change the size of the window."""
        self.screen.resize(rows, columns)
        self._resize(columns, rows)

    def _resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self, seconds: float) -> bool:
        """Take some output; return False at the end, or when the time is over."""
        ready = select.select([self._master], [], [], seconds)[0] if seconds > 0 else []
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the program has ended
            return False
        self.written += data
        self._stream.feed(data)
        return bool(data)

    def close(self) -> None:
        """End the program, if it has not ended."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=PATIENCE)
        os.close(self._master)


@contextlib.contextmanager
def opened(*arguments: str, **how: Any) -> Iterator[Terminal]:
    """Start the command in a terminal, and end it in any case."""
    terminal = Terminal(*arguments, **how)
    try:
        yield terminal
    finally:
        terminal.close()
