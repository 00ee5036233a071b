"""Recording a conversation while it takes place."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any, BinaryIO

from ..errors import Redact, Redactor, StreamRedactor
from ..transport import Transport
from ..wire import Lines
from .recording import VERSION, Direction, RecordingEntry, dump_line

_DIRECTIONS: tuple[Direction, ...] = (">", "<", "!")


class RecordingTransport:
    """Passes another transport's bytes on, unchanged, and records them.

    If the recording cannot be written, the error is raised: half a recording that looks whole would
    be worse. After each line the file is complete so far.

    Args:
        inner: the transport that is recorded.
        sink: a path, or a binary file, which stays open. A new file, readable by this user only,
            replaces one at the path.
        header: more fields of the header, such as `argv` and `cli_version`.
        redactor: removes the secrets; True for a `Redactor`, False to keep them. It is given whole
            lines, and must return JSON for JSON.

    Raises:
        OSError: the file cannot be written, or is a symbolic link.
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
        redact: Redact = Redactor() if redactor is True else redactor or str
        # One for each direction: a secret can be spread over several lines.
        self._redact: dict[Direction, Redact] = {
            it: StreamRedactor(redact) if isinstance(redact, Redactor) else redact
            for it in _DIRECTIONS
        }
        self._lines = {it: Lines(sys.maxsize) for it in _DIRECTIONS}
        self._ended: set[Direction] = set()
        self._has_exited = False
        self._failure: BaseException | None = None
        self._start = time.monotonic()
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
        self._record(">", data)
        await self.inner.send(data)

    async def send_eof(self) -> None:
        """Close our direction: nothing more will be sent."""
        self._record(">", b"")
        await self.inner.send_eof()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""
        data = await self.inner.receive()
        self._record("<", data)
        return data

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of stderr; `b""` when there will be no more."""
        data = await self.inner.receive_stderr()
        self._record("!", data)
        return data

    async def wait(self) -> int | None:
        """Wait until the peer has ended; return its exit status."""
        status = await self.inner.wait()
        if not self._has_exited:
            self._has_exited = True
            self._write(RecordingEntry(t=self._now(), exit=status))
        return status

    async def aclose(self) -> None:
        """Finish the recording, and close the transport."""
        try:
            for direction in _DIRECTIONS:
                self._end_line(direction)
            if self._failure is not None:
                raise self._failure
        finally:
            if self._owned and self._file is not None:
                self._file.close()
            self._file = None
            await self.inner.aclose()

    # --- the recording ---------------------------------------------------------------------------

    def _now(self) -> float:
        return round(time.monotonic() - self._start, 6)

    def _record(self, direction: Direction, data: bytes) -> None:
        """Record some bytes, or the end of a direction."""
        for line in self._lines[direction].feed(data):
            self._add(direction, line)
        if not data and direction not in self._ended:
            self._ended.add(direction)
            self._end_line(direction)
            self._write(RecordingEntry(t=self._now(), dir=direction))

    def _end_line(self, direction: Direction) -> None:
        """Record a last line that had no newline."""
        for line in self._lines[direction].end():
            self._add(direction, line, partial=True)

    def _add(self, direction: Direction, line: Any, *, partial: bool = False) -> None:
        text = self._redact[direction](line.decode("utf-8", "surrogateescape"))
        data = text.encode("utf-8", "surrogateescape")
        self._write(RecordingEntry(t=self._now(), dir=direction, line=data, partial=partial))

    def _write(self, entry: RecordingEntry) -> None:
        if self._failure is not None:
            raise self._failure
        try:
            if self._file is not None:
                self._file.write(entry.dump())
                self._file.flush()
        except BaseException as error:
            self._failure = error
            raise


def _redacted(header: Mapping[str, Any], redact: Redact) -> Any:
    head = dict(header)
    if "argv" in head:
        # The option before an argument tells whether it is a secret.
        options = [it if it.startswith("-") else "" for it in ["", *head["argv"]]]
        pairs = zip(options, head["argv"], strict=False)
        head["argv"] = [json.loads(redact(json.dumps({name: it})))[name] for name, it in pairs]
    return json.loads(redact(json.dumps(head)))


def _open_private(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a new file that only this user can read, in place of an older one.

    Raises:
        OSError: it cannot be written, or is a symbolic link.
    """
    if os.path.isfile(path) and not os.path.islink(path):
        os.unlink(path)  # others may have opened it, or own it
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600))
