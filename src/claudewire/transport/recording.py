r"""Recordings: a conversation with the CLI as a file, without its secrets.

A recording is JSON Lines. The first line is the header, then comes one object per line of the
conversation, in the order in which the application saw it:

    {"claudewire": 1, "redacted": true, "cli_version": "2.1.325", "argv": ["claude", "-p"]}
    {"t": 0.0, "dir": ">", "line": "{\"type\":\"user\", …}"}
    {"t": 0.7, "dir": "<", "line": "{\"type\":\"assistant\", …}"}
    {"t": 0.7, "dir": "!", "line": "a warning", "partial": true}
    {"t": 0.8, "dir": ">", "eof": true}
    {"t": 0.9, "exit": 0}

`t` counts the seconds since the start. `>` is what the application sent, `<` what the CLI wrote
and `!` its stderr. `partial` marks a last line that had no newline. A byte that is not UTF-8
stands in `line` as the escape of a lone surrogate, `\udc80` to `\udcff`, so nothing is lost. Of a
line of many megabytes only the beginning is kept, and `cut` has its length in bytes.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

import anyio

from ..concurrency import Latch, compute_in_thread
from ..errors import Redact, Redactor, StreamRedactor, dump_string
from ..wire import Connection, Error, Event, Lines, LocalProtocolError, Oversize, Role
from .base import Transport

__all__ = [
    "Direction",
    "Recorder",
    "Recording",
    "RecordingEntry",
    "RecordingError",
    "RecordingTransport",
]

VERSION = 1

LONGEST = 32 * 2**20
"""Bytes of a line that are recorded; of a longer one, only the beginning. It has to be kept in
memory until it ends, and looking for secrets in it takes seconds."""
MUCH = 8 * 1024
"""Bytes that are recorded in a thread, so many at a time."""
PAUSE = 0.0001
"""Seconds between them. Without a pause, the event loop waits for the interpreter after each of its
system calls until the thread is made to give it up, which takes 5 ms."""

Direction = Literal[">", "<", "!"]
_DIRECTIONS: tuple[Direction, ...] = (">", "<", "!")


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
    """Which way the line went; None for the exit."""
    line: bytes | None = None
    """Without its newline; None for the end of this direction and for the exit."""
    partial: bool = False
    cut: int | None = None
    """How many bytes the line had, if only its beginning is kept."""
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
        if self.cut is not None:
            obj["cut"] = self.cut
        return _dump(obj)


def _dump(obj: Mapping[str, Any]) -> bytes:
    """Write an object, and a long string in it in pieces: this may run beside an event loop."""
    fields = (
        f"{json.dumps(name)}: {dump_string(it) if isinstance(it, str) else json.dumps(it)}"
        for name, it in obj.items()
    )
    return f"{{{', '.join(fields)}}}\n".encode()


@dataclass(frozen=True, slots=True)
class Recording:
    """A conversation that was recorded."""

    entries: Sequence[RecordingEntry] = ()
    header: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, source: str | os.PathLike[str] | bytes | Iterable[str | bytes]) -> Recording:
        """Read a recording: from a file, from its content, or from its lines.

        Half a line at the very end is left out: the program ended while it wrote it.

        Raises:
            RecordingError: it is not a recording, or is damaged.
            OSError: the file cannot be read.
        """
        if isinstance(source, str | os.PathLike):
            source = Path(source).read_bytes()
        if isinstance(source, bytes):
            source = source.split(b"\n")[: None if _is_object(source) else -1]
        objects = _objects(source)
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
        header = _dump({"claudewire": VERSION, **self.header})
        return header + b"".join(entry.dump() for entry in self.entries)

    def __iter__(self) -> Iterator[RecordingEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def lines(self, direction: Direction) -> list[bytes]:
        """All lines of one direction, without their newlines."""
        return [entry.line or b"" for entry in self.entries if entry.is_line(direction)]

    def messages(self) -> list[Event]:
        """What the CLI wrote, as a connection would have given it to the application."""
        client, cli = Connection(Role.CLIENT), Connection(Role.CLI)
        found: list[Event] = []
        for entry in self.entries:
            if entry.line is None or entry.dir == "!":
                continue
            receiver, sender = (client, cli) if entry.dir == "<" else (cli, client)
            events = receiver.receive_data(entry.line + b"\n")
            for event in events:
                # An answer can be read only by a connection that knows what it has asked.
                with suppress(LocalProtocolError):
                    sender.send(event)
            if receiver is client:
                found += events
        return found


def _is_object(data: bytes) -> bool:
    """Whether the last line is whole. A file that ends in a newline has an empty one there."""
    try:
        return isinstance(json.loads(data.rpartition(b"\n")[2]), dict)
    except (ValueError, RecursionError):
        return False


def _objects(lines: Iterable[str | bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            obj = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RecordingError(number, f"not JSON: {error}") from None
        if not isinstance(obj, dict):
            raise RecordingError(number, f"expected an object, got {line[:40]!r}")
        yield number, obj


def _entry(number: int, obj: dict[str, Any], before: float) -> RecordingEntry:
    t = obj.get("t", before)  # can be left out in a recording written by hand
    if not isinstance(t, int | float) or isinstance(t, bool) or not math.isfinite(t):
        raise RecordingError(number, f'"t" must be a number, not {t!r}')
    if "exit" in obj:
        status = obj["exit"]
        if status is not None and type(status) is not int:
            raise RecordingError(number, f'"exit" must be a whole number, not {status!r}')
        return RecordingEntry(t=t, exit=status, number=number)
    direction = obj.get("dir")
    if direction not in _DIRECTIONS:
        raise RecordingError(number, f'"dir" must be ">", "<" or "!", not {direction!r}')
    if obj.get("eof") is True:
        return RecordingEntry(t=t, dir=direction, number=number)
    line, cut = _line(number, obj.get("line")), obj.get("cut")
    return RecordingEntry(
        t=t,
        dir=direction,
        line=line,
        partial=obj.get("partial") is True,
        cut=cut if type(cut) is int else None,
        number=number,
    )


def _line(number: int, line: Any) -> bytes:
    if not isinstance(line, str) or "\n" in line:
        raise RecordingError(number, '"line" must be a string without a newline, or "eof" true')
    try:
        return line.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise RecordingError(number, f'"line" is not what bytes can be read as: {error}') from None


# --- recording -----------------------------------------------------------------------------------


class Recorder:
    """Writes a recording as it happens. After each line the file is complete so far.

    Args:
        sink: a path, which is overwritten, or a binary file, which stays open. A file is readable
            by this user only, and must not be a symbolic link.
        header: what to add to the header, such as `argv` and `cli_version`.
        redactor: removes the secrets; True for a `Redactor`, False to keep them. It is given whole
            lines, and must return JSON for JSON.
        clock: returns the time in seconds.

    Raises:
        OSError: the file cannot be written, is a link, or belongs to another user.
    """

    def __init__(
        self,
        sink: str | os.PathLike[str] | BinaryIO,
        *,
        header: Mapping[str, Any] | None = None,
        redactor: Redact | bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        redact: Redact = Redactor() if redactor is True else redactor or str
        self._redact = redact
        self._redact_line: dict[Direction, Redact] = {
            it: StreamRedactor(redact) if isinstance(redact, Redactor) else redact
            for it in _DIRECTIONS
        }
        self._clock = clock
        self._start = clock()
        self._lines: dict[Direction, Lines] = {it: Lines(LONGEST) for it in _DIRECTIONS}
        self._ended: set[Direction] = set()
        self._exited = False
        self._owned = isinstance(sink, str | os.PathLike)
        self._file: BinaryIO | None
        self._file = _open_private(sink) if isinstance(sink, str | os.PathLike) else sink
        self._write(_dump({"claudewire": VERSION, **self._head(header or {}, bool(redactor))}))

    def feed(self, direction: Direction, data: bytes) -> None:
        """Record what went one way; lines are written when they are complete."""
        self._feed(direction, data)

    def _feed(self, direction: Direction, data: bytes, t: float | None = None) -> None:
        self._add(direction, self._lines[direction].feed(data), t=t)

    def end(self, direction: Direction) -> None:
        """Record the end of a direction."""
        if direction not in self._ended:
            self._ended.add(direction)
            self._add(direction, self._lines[direction].end(), partial=True)
            self._write(RecordingEntry(t=self._t(), dir=direction).dump())

    def exit(self, status: int | None) -> None:
        """Record the exit of the CLI."""
        if not self._exited:
            self._exited = True
            self._write(RecordingEntry(t=self._t(), exit=status).dump())

    def close(self) -> None:
        """Write unfinished lines, and stop recording."""
        for direction, lines in self._lines.items():
            self._add(direction, lines.end(), partial=True)
        if self._owned and self._file is not None:
            self._file.close()
        self._file = None

    def _unfinished(self, direction: Direction) -> int:
        return self._lines[direction].pending

    def _t(self) -> float:
        return round(self._clock() - self._start, 6)

    def _add(
        self,
        direction: Direction,
        lines: Iterable[bytes | Oversize],
        *,
        partial: bool = False,
        t: float | None = None,
    ) -> None:
        for line in lines:
            cut = line.length if isinstance(line, Oversize) else None
            kept = line.head if isinstance(line, Oversize) else line
            text = self._redact_line[direction](kept.decode("utf-8", "surrogateescape"))
            redacted = text.encode("utf-8", "surrogateescape")
            when = self._t() if t is None else t
            entry = RecordingEntry(t=when, dir=direction, line=redacted, partial=partial, cut=cut)
            self._write(entry.dump())

    def _write(self, line: bytes) -> None:
        if self._file is not None:
            self._file.write(line)
            self._file.flush()

    def _head(self, header: Mapping[str, Any], redacted: bool) -> dict[str, Any]:
        head = dict(header)
        if "argv" in head:
            head["argv"] = self._argv(head["argv"])
        return {"redacted": redacted, **json.loads(self._redact(json.dumps(head)))}

    def _argv(self, argv: Iterable[str]) -> list[str]:
        """Redact each argument under the name of the option before it, which tells what it is."""
        name, shown = "", []
        for argument in argv:
            (value,) = json.loads(self._redact(json.dumps({name: argument}))).values()
            shown.append(value)
            name = argument if argument.startswith("-") else ""
        return shown


def _open_private(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for writing that only this user can read.

    Raises:
        OSError: it cannot be written, is a symbolic link, or belongs to another user.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        number = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        words = "A recording is not written through a symbolic link; name the file itself"
        raise OSError(error.errno, words, os.fspath(path)) from None
    try:
        facts = os.fstat(number)
        if stat.S_ISREG(facts.st_mode):
            if facts.st_uid != os.geteuid():
                words = "The file for the recording belongs to another user; use another name"
                raise PermissionError(errno.EPERM, words, os.fspath(path))
            os.fchmod(number, 0o600)
            os.ftruncate(number, 0)
        return open(number, "wb")
    except BaseException:
        os.close(number)
        raise


class RecordingTransport:
    """Passes another transport's bytes on, unchanged, and records them.

    Its arguments are those of `Recorder`. If the recording cannot be written, the error is raised:
    half a recording that looks whole would be worse.

    What is received is passed on when it is recorded. Looking for secrets takes time, so much data
    is recorded in a thread, and what is sent meanwhile is recorded after it.

    Attributes:
        inner: the transport that is recorded.
    """

    def __init__(
        self,
        inner: Transport,
        sink: str | os.PathLike[str] | BinaryIO,
        *,
        header: Mapping[str, Any] | None = None,
        redactor: Redact | bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.inner = inner
        self._recorder = Recorder(sink, header=header, redactor=redactor, clock=clock)
        self._unreturned: dict[Direction, bytes] = {}
        self._steps: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._is_in_thread = False
        self._failure: BaseException | None = None
        self._limiter = anyio.CapacityLimiter(1)

    async def send(self, data: bytes) -> None:
        """Write all of `data`."""
        # Recorded first: the answer may be read before `send` returns.
        self._record_data(">", data)
        await self.inner.send(data)

    async def send_eof(self) -> None:
        """Close our direction: nothing more will be sent."""
        self._record(partial(self._recorder.end, ">"))
        await self.inner.send_eof()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""
        return await self._receive("<", self.inner.receive)

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of stderr; `b""` when there will be no more."""
        return await self._receive("!", self.inner.receive_stderr)

    async def wait(self) -> int | None:
        """Wait until the peer has ended; return its exit status."""
        status = await self.inner.wait()
        self._record(partial(self._recorder.exit, status))
        return status

    async def aclose(self) -> None:
        """Finish the recording, and close the transport."""
        try:
            with anyio.CancelScope(shield=True):
                await self._finish()
        finally:
            await self.inner.aclose()

    async def _finish(self) -> None:
        done = Latch()
        self._record(self._recorder.close)
        self._record(done.set)
        await done.wait()
        self._check()

    # --- recording -------------------------------------------------------------------------------

    def _feeding(self, direction: Direction, data: bytes) -> Callable[[], None]:
        """Record data later, with the time of its arrival."""
        return partial(self._recorder._feed, direction, data, self._recorder._t())

    async def _receive(
        self, direction: Direction, receive: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        if direction not in self._unreturned:
            data = self._unreturned[direction] = await receive()
            if not data:
                self._record(partial(self._recorder.end, direction))
            elif b"\n" in data and self._recorder._unfinished(direction) + len(data) > MUCH:
                await self._record_in_thread(direction, data)
            else:
                self._record_data(direction, data)
        # Only now, so that nothing is lost if this was cancelled before.
        return self._unreturned.pop(direction)

    def _record_data(self, direction: Direction, data: bytes) -> None:
        if self._is_in_thread:
            self._record(self._feeding(direction, data))
        else:
            self._record(partial(self._recorder.feed, direction, data))

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _record(self, step: Callable[[], None]) -> None:
        """Record something now, or after what is being recorded in a thread."""
        self._check()
        with self._lock:
            self._steps.append(step)
            if self._is_in_thread:
                return
        self._run_steps()
        self._check()

    async def _record_in_thread(self, direction: Direction, data: bytes) -> None:
        self._check()
        pieces = [data[start : start + MUCH] for start in range(0, len(data), MUCH)]
        with self._lock:
            self._steps += [self._feeding(direction, it) for it in pieces]
            is_running, self._is_in_thread = self._is_in_thread, True
        if not is_running:
            await compute_in_thread(partial(self._run_steps, PAUSE), limiter=self._limiter)
        self._check()

    def _run_steps(self, pause: float = 0) -> None:
        while True:
            with self._lock:
                if not self._steps:
                    self._is_in_thread = False
                    return
                step = self._steps.popleft()
            try:
                step()
            except BaseException as error:
                self._failure = self._failure or error
            if pause:
                time.sleep(pause)
