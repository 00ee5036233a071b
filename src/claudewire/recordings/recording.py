r"""The format of recordings: a conversation with the CLI as a file, without its secrets.

A recording is JSON Lines. The first line is the header, then comes one object for each line of the
conversation, in the order in which the application saw it:

    {"claudewire": 1, "redacted": true, "cli_version": "2.1.325", "argv": ["claude", "-p"]}
    {"t": 0.0, "dir": ">", "line": "{\"type\":\"user\", …}"}
    {"t": 0.7, "dir": "<", "line": "{\"type\":\"assistant\", …}"}
    {"t": 0.7, "dir": "!", "line": "a warning", "partial": true}
    {"t": 0.8, "dir": ">", "eof": true}
    {"t": 0.9, "exit": 0}

`t` counts the seconds since the start. `>` is the application, `<` the CLI and `!` its stderr.
`partial` marks a last line without a newline. A byte that is not UTF-8 is written as the escape of
a lone surrogate, `\udc80` to `\udcff`, so nothing is lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from ..errors import OptionsError
from ..wire import Connection, Error, Event, LocalProtocolError, Role

VERSION = 1

Direction = Literal[">", "<", "!"]

_ADVICE = "A recording is made by `claudewire record`, by `claudewire run --record`, or in Python."


class RecordingError(Error):
    """A file is not a recording, or is damaged. `number` is its line, counted from 1."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"Line {number} of the recording: {reason}")
        self.number = number
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingEntry:
    """One event of a recording: a line, the end of a direction, or the exit of the CLI."""

    t: float = 0.0
    dir: Direction | None = None
    """The direction of the line; None for the exit."""
    line: bytes | None = None
    """Without its newline; None for the end of this direction and for the exit."""
    partial: bool = False
    exit: int | None = None
    """The status, if this is the exit and there was one."""
    number: int = 0
    """The line in the file, counted from 1; 0 if it was not read from one."""

    @property
    def eof(self) -> bool:
        """Whether this is the end of a direction."""
        return self.dir is not None and self.line is None

    def is_line(self, direction: Direction) -> bool:
        """Whether this is a line of this direction."""
        return self.dir == direction and self.line is not None

    @property
    def text(self) -> str:
        """The line as text; a byte that is not UTF-8 becomes a lone surrogate."""
        return (self.line or b"").decode("utf-8", "surrogateescape")

    @property
    def data(self) -> bytes:
        """The line as it went over the wire."""
        return (self.line or b"") + (b"" if self.partial else b"\n")

    def dump(self) -> bytes:
        """Write this as one line of a recording."""
        obj: dict[str, Any] = {"t": self.t}
        if self.dir is None:
            obj["exit"] = self.exit
        elif self.line is None:
            obj |= {"dir": self.dir, "eof": True}
        else:
            obj |= {"dir": self.dir, "line": self.text}
        if self.partial:
            obj["partial"] = True
        return dump_line(obj)


def dump_line(obj: Mapping[str, Any]) -> bytes:
    """Write an object as one line of JSON in ASCII."""
    return f"{json.dumps(obj)}\n".encode()


class _Line(msgspec.Struct):
    """An entry as it is in a file."""

    t: float | None = None
    dir: Direction | None = None
    line: str | None = None
    eof: bool = False
    partial: bool = False
    exit: int | UnsetType | None = UNSET


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded conversation."""

    entries: Sequence[RecordingEntry] = ()
    header: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, source: str | os.PathLike[str] | bytes) -> Recording:
        """Read a recording from a file, or from its content.

        Half a line at the very end is left out: the program ended while it wrote it.

        Raises:
            RecordingError: it is not a recording, or is damaged.
            OSError: the file cannot be read.
        """
        objects = _objects(source if isinstance(source, bytes) else Path(source).read_bytes())
        first, header = next(objects, (1, {}))
        version = header.pop("claudewire", None)
        if version != VERSION:
            found = "no header" if version is None else f"version {version!r}"
            raise RecordingError(first, f'{found}; it must begin with {{"claudewire": {VERSION}}}')
        entries: list[RecordingEntry] = []
        for number, obj in objects:
            entries.append(_entry(number, obj, entries[-1].t if entries else 0.0))
        return cls(tuple(entries), header)

    def dump(self) -> bytes:
        """Write it as the content of a file."""
        header = dump_line({"claudewire": VERSION, **self.header})
        return header + b"".join(entry.dump() for entry in self.entries)

    def __iter__(self) -> Iterator[RecordingEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def lines(self, direction: Direction) -> list[bytes]:
        """All lines of one direction, without their newlines."""
        return [entry.line or b"" for entry in self.entries if entry.is_line(direction)]

    def messages(self) -> list[Event]:
        """The output of the CLI, as a connection would have given it to the application."""
        return [event for entry, event in self.events() if event and entry.dir == "<"]

    def events(self) -> Iterator[tuple[RecordingEntry, Event | None]]:
        """Yield the entries, each with the event that its line is for the receiver, if any."""
        # No line is too long: it is in memory already.
        client, cli = (Connection(it, max_line=2**62) for it in (Role.CLIENT, Role.CLI))
        for entry in self.entries:
            if entry.line is None or entry.dir == "!":
                yield entry, None
                continue
            receiver, sender = (client, cli) if entry.dir == "<" else (cli, client)
            events = receiver.receive_data(entry.line + b"\n")
            for event in events:
                # A connection can read an answer only if it knows the request.
                with suppress(LocalProtocolError):
                    sender.send(event)
            yield entry, events[0] if events else None


def _objects(data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            obj = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines) > 1:
                return  # half a line
            raise RecordingError(number, f"not JSON: {error}") from None
        if not isinstance(obj, dict):
            raise RecordingError(number, f"expected an object, got {line[:40]!r}")
        yield number, obj


def _entry(number: int, obj: dict[str, Any], before: float) -> RecordingEntry:
    try:
        it = msgspec.convert(obj, _Line)
        line = None if it.line is None else it.line.encode("utf-8", "surrogateescape")
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise RecordingError(number, str(error)) from None
    t = before if it.t is None else it.t  # can be left out in a recording written by hand
    if it.exit is not UNSET:
        return RecordingEntry(t=t, exit=it.exit, number=number)
    if it.dir is None or it.eof != (line is None) or b"\n" in (line or b""):
        raise RecordingError(number, 'it must have "dir" with one "line" or "eof", or "exit"')
    return RecordingEntry(t=t, dir=it.dir, line=line, partial=it.partial, number=number)


# --- files of users ------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> Recording:
    """Read a recording; or a plain capture, such as the output of `claude -p` in a file.

    The lines of a plain capture have no direction and no time: they count as output of the CLI.

    Raises:
        OptionsError: it cannot be read, or is neither.
    """
    name = os.fspath(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise OptionsError(f"{name} cannot be read: {error.strerror or error}") from error
    if _is_capture(data):
        lines = enumerate(data.split(b"\n"), 1)
        entries = [RecordingEntry(dir="<", line=it, number=at) for at, it in lines if it.strip()]
        return Recording(tuple(entries), {"captured": True})
    try:
        return Recording.load(data)
    except RecordingError as error:
        message = f"{name} is not a recording, or is damaged. {error}"
        raise OptionsError(message, advice=_ADVICE) from error


def _is_capture(data: bytes) -> bool:
    """Whether it begins with a line of the protocol itself."""
    try:
        first = json.loads(data.lstrip().partition(b"\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "type" in first
