"""Recording a conversation while it takes place."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, BinaryIO

import anyio
import anyio.to_thread

from ..errors import Redact, Redactor, StreamRedactor
from ..transport import Transport
from ..wire import Lines
from .recording import VERSION, Direction, RecordingEntry, dump_line

MUCH = 16 * 1024
"""Bytes that are recorded in a thread: looking for secrets takes about 0.1 ms for each 1,000."""

_DIRECTIONS: tuple[Direction, ...] = (">", "<", "!")


class RecordingTransport:
    """Passes another transport's bytes on, unchanged, and records them.

    If the recording cannot be written, the error is raised: half a recording that looks whole would
    be worse. After each line the file is complete so far.

    Args:
        inner: the transport that is recorded.
        sink: a path, or a binary file, which stays open. A new file, readable by this user only,
            replaces a file or link at the path.
        header: more fields of the header, such as `argv` and `cli_version`.
        redactor: removes the secrets; True for a `Redactor`, False to keep them. It is given whole
            lines, and must return JSON for JSON.
        clock: returns the time in seconds.

    Raises:
        OSError: the file cannot be written.
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
        redact: Redact = Redactor() if redactor is True else redactor or str
        self._streams = {it: _Stream(it, redact) for it in _DIRECTIONS}
        self._one_at_a_time = anyio.Lock()
        self._unreturned: dict[Direction, bytes] = {}
        self._has_exited = False
        self._failure: BaseException | None = None
        self._clock = clock
        self._start = clock()
        self._owned = isinstance(sink, str | os.PathLike)
        self._file: BinaryIO | None
        self._file = _open_private(sink) if isinstance(sink, str | os.PathLike) else sink
        head = {"redacted": bool(redactor), **_redacted(header or {}, redact)}
        self._file.write(dump_line({"claudewire": VERSION, **head}))
        self._file.flush()

    # --- the transport ---------------------------------------------------------------------------

    async def send(self, data: bytes) -> None:
        """Write all of `data`."""
        # Recorded first: the answer may be read before `send` returns.
        await self._record(">", data)
        await self.inner.send(data)

    async def send_eof(self) -> None:
        """Close our direction: nothing more will be sent."""
        await self._record(">", b"")
        await self.inner.send_eof()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""
        return await self._receive("<", self.inner.receive)

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of stderr; `b""` when there will be no more."""
        return await self._receive("!", self.inner.receive_stderr)

    async def _receive(
        self, direction: Direction, receive: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        if direction not in self._unreturned:
            self._unreturned[direction] = data = await receive()
            await self._record(direction, data)
        # Only now, so that nothing is lost if this was cancelled before.
        return self._unreturned.pop(direction)

    async def wait(self) -> int | None:
        """Wait until the peer has ended; return its exit status."""
        status = await self.inner.wait()
        if not self._has_exited:
            self._has_exited = True
            await self._write([RecordingEntry(t=self._now(), exit=status)])
        return status

    async def aclose(self) -> None:
        """Finish the recording, and close the transport."""
        try:
            now, streams = self._now(), self._streams.values()
            await self._write(chain.from_iterable(it.unfinished(now) for it in streams))
        finally:
            if self._owned and self._file is not None:
                self._file.close()
            self._file = None
            await self.inner.aclose()

    # --- the recording ---------------------------------------------------------------------------

    def _now(self) -> float:
        return round(self._clock() - self._start, 6)

    async def _record(self, direction: Direction, data: bytes) -> None:
        """Record some bytes, or the end of a direction."""
        stream = self._streams[direction]
        await self._write(stream.entries(data, self._now()), stream.pending + len(data))

    async def _write(self, entries: Iterable[RecordingEntry], size: int = 0) -> None:
        """Write entries, which are made meanwhile, in the order of these calls."""
        with anyio.CancelScope(shield=True):
            async with self._one_at_a_time:
                if size > MUCH:
                    await anyio.to_thread.run_sync(self._write_now, entries)
                else:
                    self._write_now(entries)

    def _write_now(self, entries: Iterable[RecordingEntry]) -> None:
        if self._failure is not None:
            raise self._failure
        try:
            for entry in entries:
                if self._file is not None:
                    self._file.write(entry.dump())
                    self._file.flush()
        except BaseException as error:
            self._failure = error
            raise


class _Stream:
    """Makes entries of one direction."""

    def __init__(self, direction: Direction, redact: Redact) -> None:
        self._direction = direction
        self._redact = StreamRedactor(redact) if isinstance(redact, Redactor) else redact
        self._lines = Lines(sys.maxsize)
        self._has_ended = False

    @property
    def pending(self) -> int:
        """Bytes of an unfinished line."""
        return self._lines.pending

    def entries(self, data: bytes, t: float) -> Iterator[RecordingEntry]:
        """Yield the complete lines, or the end of the direction."""
        if data:
            yield from (self._entry(line, t) for line in self._lines.feed(data))
        elif not self._has_ended:
            self._has_ended = True
            yield from self.unfinished(t)
            yield RecordingEntry(t=t, dir=self._direction)

    def unfinished(self, t: float) -> Iterator[RecordingEntry]:
        """Yield a last line that had no newline."""
        yield from (self._entry(line, t, partial=True) for line in self._lines.end())

    def _entry(self, line: Any, t: float, *, partial: bool = False) -> RecordingEntry:
        text = self._redact(line.decode("utf-8", "surrogateescape"))
        redacted = text.encode("utf-8", "surrogateescape")
        return RecordingEntry(t=t, dir=self._direction, line=redacted, partial=partial)


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
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)  # never written through a link, nor into a file that others may have open
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600))
