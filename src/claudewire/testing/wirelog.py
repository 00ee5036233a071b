"""A log of the latest traffic on the wire, shown when a test fails."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from ..transport import Direction, Transport

__all__ = ["Watched", "WireLog", "written_to_stderr"]

LINES = 200
"""The lines of one wire that are kept: the cause of a failure is usually among the last."""

WIDEST = 400
"""Characters of a line that are shown: enough to recognise it."""

KEPT = 65536
"""Bytes of a line that are searched for secrets: many more than are shown, so that what is shown
does not end in half a secret."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

T = TypeVar("T", bound="Transport")


class _Line:
    """One line, or the part of it that has arrived."""

    def __init__(self, direction: str) -> None:
        self.direction = direction
        self.head = bytearray()
        self.size = 0
        self.complete = False

    def add(self, data: bytes) -> None:
        self.head += data[: KEPT - len(self.head)]
        self.size += len(data)

    @property
    def text(self) -> str:
        return self.head.decode("utf-8", "backslashreplace")

    def shown(self, text: str) -> str:
        """The line as it is shown, given its text without secrets."""
        text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
        if len(text) > WIDEST or self.size > len(self.head):
            text = f"{text[:WIDEST]}… ({self.size} bytes)"
        return f"{self.direction} {text}{'' if self.complete else ' (no newline yet)'}"


class _Wire:
    """The last lines of one conversation."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lines: deque[_Line] = deque(maxlen=LINES)
        self._open: dict[str, _Line] = {}
        self._count = 0

    def feed(self, direction: str, data: bytes) -> None:
        start = 0
        while start < len(data):
            end = data.find(b"\n", start)
            line = self._open.get(direction) or self._begin(direction)
            line.add(data[start : end if end >= 0 else len(data)])
            if end < 0:
                return
            line.complete = True
            del self._open[direction]
            start = end + 1

    def tell(self, what: str) -> None:
        """Log something other than a line."""
        self.feed("=", f"{what}\n".encode())

    def _begin(self, direction: str) -> _Line:
        line = self._open[direction] = _Line(direction)
        self._lines.append(line)
        self._count += 1
        return line

    def show(self, redact: Callable[[str], str]) -> str:
        left_out = self._count - len(self._lines)
        lines = [line.shown(redact(line.text)) for line in self._lines]
        if left_out:
            lines.insert(0, f"({left_out} earlier lines are left out)")
        return "\n".join(lines)


class Watched(Generic[T]):
    """A transport that passes everything to another one, and logs it.

    Attributes:
        inner: the transport that is watched.
    """

    def __init__(self, inner: T, wire: _Wire) -> None:
        self.inner = inner
        self._wire = wire

    async def send(self, data: bytes) -> None:
        """Write all of `data`."""
        # Logged first, because the answer may arrive before `send` returns.
        self._wire.feed(">", data)
        await self.inner.send(data)

    async def send_eof(self) -> None:
        """Close the peer's stdin."""
        self._wire.tell("end of input")
        await self.inner.send_eof()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""
        return self._noted("<", await self.inner.receive())

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of stderr; `b""` when there will be no more."""
        return self._noted("!", await self.inner.receive_stderr())

    async def wait(self) -> int | None:
        """Wait until the peer has exited; return its exit status."""
        status = await self.inner.wait()
        self._wire.tell(f"exit {status}")
        return status

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self.inner.aclose()

    def _noted(self, direction: Direction, data: bytes) -> bytes:
        self._wire.feed(direction, data)
        return data


class WireLog:
    """Logs the wires of one test: `>` to the CLI, `<` from it, `!` its stderr.

    It keeps the last lines of each wire, and removes secrets when they are shown.
    """

    def __init__(self) -> None:
        self._wires: list[_Wire] = []
        self._files: list[Path] = []

    def watch(self, transport: T, name: str = "") -> Watched[T]:
        """Wrap a transport in one that logs its traffic."""
        wire = _Wire(name or type(transport).__name__)
        self._wires.append(wire)
        return Watched(transport, wire)

    def watch_file(self, path: str | os.PathLike[str]) -> None:
        """Add the log file of simulated CLIs, as `CLAUDEWIRE_SIM_LOG` names it."""
        self._files.append(Path(path))

    def sections(self) -> list[tuple[str, str]]:
        """The log for a report: a title and the lines of each wire that was used."""
        from ..errors import Redactor

        redactor = Redactor()
        wires = [*self._wires, *(wire for path in self._files for wire in _read(path))]
        for wire in wires:  # a secret may be recognised only after its first use
            wire.show(redactor)
        shown = [(wire.name, wire.show(redactor)) for wire in wires]
        return [(f"wire: {name}", text) for name, text in shown if text]


def written_to_stderr(path: Path) -> Iterator[str]:
    """Yield what simulated CLIs have written to stderr, according to their log."""
    for _, direction, data in _entries(path):
        if direction == "!":
            yield data.decode("utf-8", "backslashreplace")


def _entries(path: Path) -> Iterator[tuple[str, str, bytes]]:
    """Read the log of simulated CLIs: each line has a process, a direction and bytes."""
    text = path.read_text("ascii") if path.exists() else ""
    for line in text.split("\n")[:-1]:
        process, direction, data = line.split(" ")
        yield process, direction, bytes.fromhex(data)


def _read(path: Path) -> Iterator[_Wire]:
    wires: dict[str, _Wire] = {}
    for process, direction, data in _entries(path):
        wire = wires.setdefault(process, _Wire(f"{path.stem}, process {process}"))
        wire.feed(direction, data)
    yield from wires.values()
