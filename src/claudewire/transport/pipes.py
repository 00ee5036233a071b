"""Bytes to and from pipes that never block, without loss when a reader or writer is cancelled."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import IO, Protocol

import anyio
import anyio.lowlevel

from ..errors import TransportClosed

__all__ = ["MOST_KEPT", "HasFileno", "PipeReader", "PipeWriter", "Readiness"]

MOST_KEPT = 64 * 2**20
"""Bytes that are kept of what arrives while the process is being closed."""
IN_ONE_GO = 2**20
"""Bytes that are read before other tasks may run. No pipe holds more."""
CHUNK = 64 * 1024
"""How much is read at once. Larger reads and larger pipes were measured to be no faster, and
large pipes are rationed among all processes of a user."""


class HasFileno(Protocol):
    """An object that stands for a file descriptor."""

    def fileno(self) -> int:
        """Its file descriptor."""
        ...


class Readiness:
    """Lets any number of tasks wait for one file descriptor.

    An event loop lets only one task wait for it. The others wait for that task; if it is cancelled,
    another takes its place. So each has to check again after waiting.
    """

    def __init__(self, source: HasFileno, wait: Callable[[int], Awaitable[None]]) -> None:
        self._source = source
        self._wait = wait
        self._turn: anyio.Event | None = None

    async def wait(self) -> None:
        """Wait until it is ready or closed, or at least may be."""
        if self._turn is not None:
            await self._turn.wait()
        else:
            self._turn = turn = anyio.Event()
            try:
                with suppress(anyio.ClosedResourceError):
                    await self._wait(self._source.fileno())
            finally:
                self._turn = None
                turn.set()

    def close(self) -> None:
        """Wake all that wait. Call this before the file descriptor is closed."""
        if self._turn is not None:
            # There is no loop if the coroutine that waits is thrown away after the loop.
            with suppress(RuntimeError):
                anyio.notify_closing(self._source.fileno())


class PipeReader:
    """Reads what a process writes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._readable = Readiness(file, anyio.wait_readable)
        self._kept: deque[bytes] = deque()
        self._room = MOST_KEPT
        self._ended = False

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` at the end. None are lost if it is cancelled."""
        # Before anything is read; and so that a process that always writes leaves time to others.
        await anyio.lowlevel.checkpoint()
        while True:
            if self._kept:
                return self._kept.popleft()
            if (data := self._take()) is not None:
                return data
            await self._readable.wait()

    async def drain(self) -> None:
        """Read until the end, and keep it to be received later."""
        while self._drain_now():
            await self._readable.wait()

    def _drain_now(self) -> bool:
        """Keep what can be read now; say whether more may come and would be kept."""
        goal = self._room - IN_ONE_GO
        while not self._ended and self._room > max(goal, 0):
            if (data := self._take()) is None:
                break
            if data:
                self._kept.append(data)
                self._room -= len(data)
        return not self._ended and self._room > 0

    def _take(self) -> bytes | None:
        if self._ended:
            return b""
        data = self._file.read(CHUNK)
        self._ended = data == b""
        return data

    def close(self) -> None:
        """Close the file. What was written before can still be received."""
        self._drain_now()
        self._ended = True
        self._readable.close()
        self._file.close()


_NOTHING = memoryview(b"")


class PipeWriter:
    """Writes what a process reads."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._writable = Readiness(file, anyio.wait_writable)
        self._one_at_a_time = anyio.Lock()
        self._rest = _NOTHING
        self._is_closed = False

    async def send(self, data: bytes) -> None:
        """Write all of it; see `ProcessTransport.send`.

        Raises:
            TransportClosed: the process does not read it.
        """
        async with self._one_at_a_time:
            await self._flush()
            self._rest = whole = memoryview(data)
            try:
                await self._flush()
            except BaseException:
                if len(self._rest) == len(whole):
                    self._rest = _NOTHING  # nothing of it was written, so it need not be finished
                raise

    async def send_eof(self) -> None:
        """Close it, after all that was begun is written."""
        async with self._one_at_a_time:
            with suppress(TransportClosed):
                await self._flush()
            self.close()

    async def _flush(self) -> None:
        while self._write():
            await self._writable.wait()

    def _write(self) -> bool:
        """Write what can be written now; say whether anything is left."""
        if self._is_closed:
            raise TransportClosed("The stdin of the process is closed")
        if self._rest:
            try:
                written = self._file.write(self._rest)
            except OSError as error:
                raise TransportClosed("The process no longer reads its stdin") from error
            self._rest = self._rest[written or 0 :]
        return bool(self._rest)

    def close(self) -> None:
        """Close it at once, after writing what can be written without waiting."""
        if not self._is_closed:
            with suppress(TransportClosed):
                self._write()
            self._is_closed = True
            self._writable.close()
            self._file.close()
