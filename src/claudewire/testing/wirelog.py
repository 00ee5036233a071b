"""A log of the latest traffic on the wire, shown when a test fails."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from ..transport import Transport

LINES = 200
"""The lines of one wire to keep: the cause of a failure is usually among the last."""

WIDEST = 400
"""Characters of a line to show: enough to recognise it."""

KEPT = 65536
"""Bytes of a line to search for secrets: many more than are shown, so that the shown part does not
end in half a secret."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

T = TypeVar("T", bound="Transport")


class _Wire:
    """The last lines of one conversation."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lines: deque[tuple[str, bytearray]] = deque(maxlen=LINES)
        self._open: dict[str, bytearray] = {}
        """The unfinished line of each direction."""

    def feed(self, direction: str, data: bytes) -> None:
        for piece in data.splitlines(keepends=True):
            line = self._open.setdefault(direction, bytearray())
            if not line:
                self._lines.append((direction, line))
            line += piece[: KEPT - len(line)]
            if piece.endswith(b"\n"):
                del self._open[direction]

    def show(self, redact: Callable[[str], str]) -> str:
        shown = []
        for direction, line in self._lines:
            text = redact(line.rstrip(b"\n").decode("utf-8", "backslashreplace"))
            text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
            text = text if len(text) <= WIDEST else f"{text[:WIDEST]}…"
            end = " (no newline yet)" if self._open.get(direction) is line else ""
            shown.append(f"{direction} {text}{end}")
        return "\n".join(shown)


class Watched(Generic[T]):
    """A transport that passes everything to another one, and logs it.

    Attributes:
        inner: the other transport.
    """

    def __init__(self, inner: T, wire: _Wire) -> None:
        self.inner = inner
        self._wire = wire

    async def send(self, data: bytes) -> None:
        """Write all of `data`."""
        self._wire.feed(">", data)  # first: the answer may arrive before `send` returns
        await self.inner.send(data)

    async def send_eof(self) -> None:
        """Close the peer's stdin."""
        self._wire.feed("=", b"end of input\n")
        await self.inner.send_eof()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""
        data = await self.inner.receive()
        self._wire.feed("<", data)
        return data

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of stderr; `b""` when there will be no more."""
        data = await self.inner.receive_stderr()
        self._wire.feed("!", data)
        return data

    async def wait(self) -> int | None:
        """Wait until the peer has exited; return its exit status."""
        status = await self.inner.wait()
        self._wire.feed("=", f"exit {status}\n".encode())
        return status

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self.inner.aclose()


class WireLog:
    """Logs the wires of one test: `>` to the CLI, `<` from it, `!` its stderr.

    It keeps the last lines of each wire, and removes secrets when it shows them.
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
        """Return the log for a report: a title and the lines of each wire that was used."""
        from ..errors import Redactor

        redactor = Redactor()
        wires = [*self._wires, *(wire for path in self._files for wire in _read(path))]
        shown = [(wire.name, wire.show(redactor)) for wire in wires]
        return [(f"wire: {name}", text) for name, text in shown if text]


def stderr_of_programs(path: Path) -> Iterator[str]:
    """Yield the stderr of simulated CLIs from their log."""
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
        wires.setdefault(process, _Wire(f"{path.stem}, process {process}")).feed(direction, data)
    yield from wires.values()
