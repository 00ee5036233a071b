"""Bytes to and from ends that never block, with care for whoever is cancelled in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

import anyio
import anyio.lowlevel

from ..errors import TransportClosed
from .platforms import End

__all__ = ["MOST_KEPT", "HasFileno", "Inlet", "Outlet", "Readiness"]

MOST_KEPT = 64 * 2**20
"""Bytes that are kept of what came while it was closed and nobody received it."""
IN_ONE_GO = 2**20
"""Bytes that are taken without a look at anything else. No pipe holds more."""


class HasFileno(Protocol):
    """Something that can be waited for."""

    def fileno(self) -> int:
        """The number of its file descriptor."""
        ...


class Readiness:
    """Waiting for one file descriptor, by any number of tasks at once.

    An event loop lets only one wait for it. The others wait for that one; should it be cancelled,
    another takes its place. So after the waiting everybody has to look again.
    """

    def __init__(self, source: HasFileno, wait: Callable[[int], Awaitable[None]]) -> None:
        self._source = source
        self._wait = wait
        self._turn: anyio.Event | None = None

    async def wait(self) -> None:
        """Wait until it is ready or closed, or may be."""
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
        """Wake whoever waits. To be called before the file descriptor is closed."""
        if self._turn is not None:
            # There is no loop if the coroutine that waits is thrown away after the loop.
            with suppress(RuntimeError):
                anyio.notify_closing(self._source.fileno())


class Inlet:
    """What comes from a process."""

    def __init__(self, end: End) -> None:
        self._end = end
        self._readable = Readiness(end, anyio.wait_readable)
        self._kept: deque[bytes] = deque()
        self._room = MOST_KEPT
        self._ended = False
        self.lag: float = end.lag

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` at the end. One that is cancelled loses none."""
        # Before anything is taken out; and so that one who writes all the time is not all we see.
        await anyio.lowlevel.checkpoint()
        while True:
            if self._kept:
                return self._kept.popleft()
            if (data := self._take()) is not None:
                return data
            await self._readable.wait()

    async def soak_up(self) -> None:
        """Keep what comes, for whoever will receive it, until the end."""
        while self._soak_up_now():
            await self._readable.wait()

    def _soak_up_now(self) -> bool:
        """Keep what is there; say whether more may come and would be kept."""
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
        data = self._end.read()
        self._ended = data == b""
        return data

    def close(self) -> None:
        """Let go of it. What is there can still be received."""
        self._soak_up_now()
        self._ended = True
        self._readable.close()
        self._end.close()


_NOTHING = memoryview(b"")


class Outlet:
    """What goes to a process."""

    def __init__(self, end: End) -> None:
        self._end = end
        self._writable = Readiness(end, anyio.wait_writable)
        self._one_at_a_time = anyio.Lock()
        self._rest = _NOTHING
        self._is_closed = False

    async def send(self, data: bytes) -> None:
        """Write all of it; see `ProcessTransport.send`.

        Raises:
            TransportClosed: nobody will read it.
        """
        async with self._one_at_a_time:
            await self._flush()
            self._rest = whole = memoryview(data)
            try:
                await self._flush()
            except BaseException:
                if len(self._rest) == len(whole):
                    self._rest = _NOTHING  # not begun, so it need not be finished
                raise

    async def send_eof(self) -> None:
        """Close it, after all that was begun."""
        async with self._one_at_a_time:
            with suppress(TransportClosed):
                await self._flush()
            self.close()

    async def _flush(self) -> None:
        while self._write():
            await self._writable.wait()

    def _write(self) -> bool:
        """Write what can be written in one go; say whether anything is left."""
        if self._is_closed:
            raise TransportClosed("The input of the process is closed")
        if self._rest:
            try:
                written = self._end.write(self._rest)
            except OSError as error:
                raise TransportClosed("The process does not read any more") from error
            self._rest = self._rest[written or 0 :]
        return bool(self._rest)

    def close(self) -> None:
        """Let go of it at once, with what can still be written without waiting."""
        if not self._is_closed:
            with suppress(TransportClosed):
                self._write()
            self._is_closed = True
            self._writable.close()
            self._end.close()
