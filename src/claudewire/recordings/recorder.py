"""Recording a conversation while it takes place."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, BinaryIO

import anyio
import anyio.to_thread

from ..errors import OptionsError, Redact, Redactor, StreamRedactor
from ..transport import Transport
from ..wire import Lines
from .recording import VERSION, Direction, RecordingEntry, dump_line

log: logging.Logger = logging.getLogger("claudewire.recordings")

LARGE = 100_000
"""Bytes whose secrets are removed in the event loop, in about 10 ms; a worker thread takes more."""

_DIRECTIONS: tuple[Direction, ...] = (">", "<", "!")


class RecordingTransport:
    """Passes another transport's bytes on, unchanged, and records them.

    If the recording cannot be written, on a full disk for example, it ends with a warning in the
    log, and the conversation goes on. After each call the file is complete so far; large lines that
    were received are in it after the next call.

    Args:
        inner: the transport that is recorded.
        sink: a path, or a binary file, which stays open. A new file, readable by this user only,
            replaces one at the path.
        header: more fields of the header, such as `argv` and `cli_version`.
        redactor: removes the secrets; True for a `Redactor`, False to keep them. It is given whole
            lines, and must return JSON for JSON.

    Attributes:
        failure: the error that ended the recording; None if all was recorded.

    Raises:
        OptionsError: the file cannot be opened, or is a symbolic link.
    """

    def __init__(
        self,
        inner: Transport,
        sink: str | os.PathLike[str] | BinaryIO,
        *,
        header: Mapping[str, Any] | None = None,
        redactor: Redact | bool = True,
    ) -> None:
        self.inner = inner
        self.failure: Exception | None = None
        redact: Redact = Redactor() if redactor is True else redactor or str
        # One for each direction: a secret can be spread over several lines.
        self._redact: dict[Direction, Redact] = {
            it: StreamRedactor(redact) if isinstance(redact, Redactor) else redact
            for it in _DIRECTIONS
        }
        self._lines = {it: Lines(sys.maxsize) for it in _DIRECTIONS}
        self._ended: set[Direction] = set()
        self._has_exited = False
        self._start = time.monotonic()
        self._pending: list[RecordingEntry] = []
        self._writing = anyio.Lock()
        self._owned = isinstance(sink, str | os.PathLike)
        self._file: BinaryIO | None
        self._file = _open_private(sink) if isinstance(sink, str | os.PathLike) else sink
        head = {"redacted": bool(redactor), **_redacted(header or {}, redact)}
        self._write(dump_line(it) for it in [{"claudewire": VERSION, **head}])

    # --- the transport ---------------------------------------------------------------------------

    async def send(self, data: bytes) -> None:
        """Write all of `data`."""
        # Recorded first: the answer may be read before `send` returns.
        self._record(">", data)
        await self.inner.send(data)
        await self._flush()

    async def send_eof(self) -> None:
        """Close our direction: nothing more will be sent."""
        self._record(">", b"")
        await self.inner.send_eof()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""
        await self._flush()  # not after it: a cancelled call must not lose what it has received
        data = await self.inner.receive()
        self._record("<", data)
        return data

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of stderr; `b""` when there will be no more."""
        await self._flush()
        data = await self.inner.receive_stderr()
        self._record("!", data)
        return data

    async def wait(self) -> int | None:
        """Wait until the peer has ended; return its exit status."""
        status = await self.inner.wait()
        if not self._has_exited:
            self._has_exited = True
            self._add(RecordingEntry(t=self._now(), exit=status))
        return status

    async def aclose(self) -> None:
        """Finish the recording, and close the transport."""
        try:
            self._add(*(it for direction in _DIRECTIONS for it in self._last(direction)))
            await self._flush()
            self._end()
        finally:
            await self.inner.aclose()

    # --- the recording ---------------------------------------------------------------------------

    def _now(self) -> float:
        return round(time.monotonic() - self._start, 6)

    def _record(self, direction: Direction, data: bytes) -> None:
        """Record some bytes, or the end of a direction."""
        lines: Sequence[Any] = self._lines[direction].feed(data)
        entries = [RecordingEntry(t=self._now(), dir=direction, line=it) for it in lines]
        if not data and direction not in self._ended:
            self._ended.add(direction)
            entries += [*self._last(direction), RecordingEntry(t=self._now(), dir=direction)]
        self._add(*entries)

    def _last(self, direction: Direction) -> Iterator[RecordingEntry]:
        """Yield a last line that had no newline."""
        lines: Sequence[Any] = self._lines[direction].end()
        for line in lines:
            yield RecordingEntry(t=self._now(), dir=direction, line=line, partial=True)

    def _add(self, *entries: RecordingEntry) -> None:
        """Write entries now, if they are small and none is waiting."""
        self._pending += entries
        size = sum(len(it.line or b"") for it in self._pending)
        if size <= LARGE and not self._writing.locked():
            self._write(map(self._dumped, self._taken()))

    async def _flush(self) -> None:
        """Write large entries, and those after them, in a worker thread."""
        if not self._pending and not self._writing.locked():
            return
        with anyio.CancelScope(shield=True):
            async with self._writing:
                while self._pending:
                    lines = map(self._dumped, self._taken())
                    await anyio.to_thread.run_sync(self._write, lines)

    def _taken(self) -> list[RecordingEntry]:
        entries, self._pending = self._pending, []
        return entries

    def _dumped(self, entry: RecordingEntry) -> bytes:
        if entry.dir is not None and entry.line is not None:
            data = self._redact[entry.dir](entry.text).encode("utf-8", "surrogateescape")
            entry = replace(entry, line=data)
        return entry.dump()

    def _write(self, lines: Iterable[bytes]) -> None:
        """Write lines; after a failure no more."""
        if self._file is None:
            return
        try:
            for line in lines:
                self._file.write(line)
                self._file.flush()
        except Exception as error:  # a full disk, or a redactor of the application
            name = getattr(self._file, "name", "")
            log.warning("The recording %s is incomplete: %s", name, error)
            self.failure = error
            self._end()

    def _end(self) -> None:
        file, self._file = self._file, None
        if self._owned and file is not None:
            with suppress(OSError):  # after a failure, it tries to write the rest again
                file.close()


def _redacted(header: Mapping[str, Any], redact: Redact) -> Any:
    head = dict(header)
    if "argv" in head:
        # The option before an argument tells whether it is a secret.
        options = [it if it.startswith("-") else "" for it in ["", *head["argv"]]]
        pairs = zip(options, head["argv"], strict=False)
        head["argv"] = [json.loads(redact(json.dumps({name: it})))[name] for name, it in pairs]
    return json.loads(redact(json.dumps(head)))


def _open_private(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a new file that only this user can read, in place of an older one."""
    try:
        if os.path.isfile(path) and not os.path.islink(path):
            os.unlink(path)  # others may have opened it, or own it
        return open(path, "wb", opener=lambda it, flags: os.open(it, flags | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise OptionsError(f"{os.fspath(path)} cannot be written: {error.strerror}") from error
