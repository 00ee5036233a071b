"""Bytes to and from pipes that never block, without loss when a reader or writer is cancelled."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cached_property
from types import SimpleNamespace
from typing import IO, Any, Protocol

import anyio
import anyio.lowlevel

from ..concurrency import Flag, in_trio
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


def _nothing() -> bool:
    return False


class Readiness:
    """Lets any number of tasks wait for one file descriptor.

    An event loop lets only one task wait for it. The others wait for that task; if it is cancelled,
    another takes its place. So each has to check again after waiting.
    """

    __slots__ = ("_ended", "_fd", "_library", "_loop", "_ready", "_source", "_turn", "_wait")

    def __init__(self, source: HasFileno, wait: Callable[[int], Awaitable[None]]) -> None:
        self._source = source
        self._wait = wait
        self._turn: Flag | None = None
        self._ready: Callable[[], bool] = _nothing
        self._ended: Callable[[BaseException | None], object] | None = None
        """Is set while it is watched without a task."""

    @property
    def _is_taken(self) -> bool:
        """Whether a task waits for it, or it is watched without one."""
        return self._turn is not None or self._ended is not None

    async def wait(self) -> None:
        """Wait until it is ready or closed, or at least may be."""
        if self._is_taken:
            if self._turn is None:
                self._turn = Flag()
            await self._turn.wait()
        else:
            self._turn = turn = Flag()
            try:
                with suppress(anyio.ClosedResourceError):
                    await self._wait(self._source.fileno())
            finally:
                self._turn = None
                turn.set()

    async def watch(self, ready: Callable[[], bool]) -> None:
        """Call a function whenever it is readable, until that returns False or this is closed."""
        if in_trio():
            while ready():
                await self.wait()
            return
        while self._is_taken:
            await self.wait()
        ended: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()

        def stopped(error: BaseException | None) -> None:
            if not ended.done():  # it was cancelled
                ended.set_result(error)

        self.watch_without_task(ready, stopped)
        try:
            if (error := await ended) is not None:
                raise error
        finally:
            self._stop()

    def watch_without_task(
        self, ready: Callable[[], bool], ended: Callable[[BaseException | None], object]
    ) -> None:
        """Do the same without a task that waits, which trio cannot. No other may wait for it now.

        It stays registered with asyncio, and the function is called in the round in which something
        arrives. A task that registers for each chunk, and is woken by it, takes three rounds.

        Args:
            ready: the function.
            ended: is called at the end, with what the function has raised.
        """
        assert not self._is_taken
        sniffio = sys.modules.get("sniffio")
        self._library: Any = SimpleNamespace() if sniffio is None else sniffio.thread_local
        self._loop = asyncio.get_running_loop()
        self._fd = self._source.fileno()
        self._ready, self._ended = ready, ended
        self._loop.add_reader(self._fd, self._check)

    def _check(self) -> None:
        library = self._library
        library.name = "asyncio"  # anyio finds it out by itself only in a task
        try:
            if not self._ready():
                self._stop()
        except BaseException as error:
            self._stop(error)
        finally:
            library.name = None

    def _stop(self, error: BaseException | None = None) -> None:
        ended, self._ready, self._ended = self._ended, _nothing, None
        if ended is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.remove_reader(self._fd)
                turn, self._turn = self._turn, None
                if turn is not None:
                    turn.set()
                ended(error)

    def close(self) -> None:
        """Wake all that wait. Call this before the file descriptor is closed."""
        if self._ended is not None:
            self._stop()
        elif self._turn is not None:
            # There is no loop if the coroutine that waits is thrown away after the loop.
            with suppress(RuntimeError):
                anyio.notify_closing(self._source.fileno())


class PipeReader:
    """Reads what a process writes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._readable = Readiness(file, anyio.wait_readable)
        self._kept: list[bytes] = []
        self._room = MOST_KEPT
        self._ended = False
        self._taker: Callable[[bytes], None] | None = None
        """What all that arrives is handed to."""
        self._pumped: Callable[[BaseException | None], object] | None = None
        """What is called at the end of that, if no task waits for it."""

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` at the end. None are lost if it is cancelled."""
        # Before anything is read; and so that a process that always writes leaves time to others.
        await anyio.lowlevel.checkpoint()
        while True:
            if self._kept:
                return self._kept.pop(0)
            if (data := self._take()) is not None:
                return data
            await self._readable.wait()

    async def pump(self, take: Callable[[bytes], None]) -> None:
        """Hand all that arrives to a function, which must not wait, until the end."""
        self._taker = take
        try:
            if self._hand_over():
                await self._readable.watch(self._hand_over)
                self._hand_over()  # what was left when it was closed
        finally:
            self._taker = None

    def pump_without_task(
        self, take: Callable[[bytes], None], ended: Callable[[BaseException | None], object]
    ) -> None:
        """Do the same without a task that waits, which trio cannot.

        Args:
            take: is called with all that arrives.
            ended: is called at the end, with what `take` has raised.
        """
        self._taker, self._pumped = take, ended
        self._readable.watch_without_task(self._hand_over, self._end_pumping)

    def _end_pumping(self, error: BaseException | None) -> None:
        try:
            if error is None:
                self._hand_over()  # what was left when it was closed
        except BaseException as raised:
            error = raised
        ended, self._taker, self._pumped = self._pumped, None, None
        assert ended is not None
        ended(error)

    def _hand_over(self) -> bool:
        """Hand over what is there; say whether more may come."""
        take = self._taker
        assert take is not None
        while self._kept:
            take(self._kept.pop(0))
        if data := self._take():
            take(data)
        return data != b""

    async def drain(self) -> None:
        """Read until the end, and keep it to be received later."""
        while self._taker is not None or self._drain_now():
            await self._readable.wait()
            await anyio.lowlevel.checkpoint()  # so that a `pump` that waits for its turn gets it

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
        self._senders = 0
        self._rest = _NOTHING
        self._is_closed = False

    @cached_property
    def _one_at_a_time(self) -> anyio.Lock:
        return anyio.Lock()  # most of the time all can be written at once, without it

    async def send(self, data: bytes) -> None:
        """Write all of it; see `ProcessTransport.send`.

        Raises:
            TransportClosed: the process does not read it.
        """
        self._senders += 1
        try:
            async with self._one_at_a_time:
                await self._send(data)
        finally:
            self._senders -= 1

    async def _send(self, data: bytes) -> None:
        await self._flush()
        self._rest = whole = memoryview(data)
        try:
            await self._flush()
        except BaseException:
            if len(self._rest) == len(whole):
                self._rest = _NOTHING  # nothing of it was written, so it need not be finished
            raise

    def send_now(self, data: bytes) -> int:
        """Write what can be written without waiting; return how many bytes that was.

        Raises:
            TransportClosed: the process does not read it.
        """
        if self._rest or self._senders:
            return 0
        return self._write(data)

    async def send_eof(self) -> None:
        """Close it, after all that was begun is written."""
        if not (self._rest or self._senders):
            self.close()
            return
        async with self._one_at_a_time:
            with suppress(TransportClosed):
                await self._flush()
            self.close()

    async def _flush(self) -> None:
        while self._write_rest():
            await self._writable.wait()

    def _write_rest(self) -> bool:
        """Write what can be written now; say whether anything is left."""
        self._rest = self._rest[self._write(self._rest) :]
        return bool(self._rest)

    def _write(self, data: bytes | memoryview) -> int:
        if self._is_closed:
            raise TransportClosed("The stdin of the process is closed")
        try:
            return self._file.write(data) or 0 if data else 0
        except OSError as error:
            raise TransportClosed("The process no longer reads its stdin") from error

    def close(self) -> None:
        """Close it at once, after writing what can be written without waiting."""
        if not self._is_closed:
            with suppress(TransportClosed):
                self._write_rest()
            self._is_closed = True
            self._writable.close()
            self._file.close()
