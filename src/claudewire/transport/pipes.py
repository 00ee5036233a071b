"""Bytes to and from pipes that never block, without loss when a reader or writer is cancelled."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import IO

import anyio

from ..errors import TransportClosed

MOST_KEPT = 64 * 2**20
"""Bytes that are kept while the process is being closed and no task reads them."""
CHUNK = 64 * 1024
"""Bytes that are read at once: the usual size of a pipe."""


class PipeReader:
    """Reads the output of a process: in a task, or by a callback of asyncio."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._kept: deque[bytes] = deque()
        self._ended = False
        self._take: Callable[[bytes], None] | None = None
        self._one_at_a_time = anyio.Lock()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` at the end. None are lost if it is cancelled."""
        async with self._one_at_a_time:  # also a checkpoint, before anything is read
            while not self._kept:
                data = self._read()
                if data is not None:
                    return data
                await self._until_readable()
            return self._kept.popleft()

    async def drain(self) -> None:
        """Read until the end, and keep the bytes to be received later."""
        room = MOST_KEPT
        while not self._ended and self._take is None and room > 0:
            async with self._one_at_a_time:
                if data := self._read():
                    self._kept.append(data)
                    room -= len(data)
                elif data is None:
                    await self._until_readable()

    def _read(self) -> bytes | None:
        """Read without waiting: None for nothing yet, `b""` for the end."""
        data = b"" if self._ended else self._file.read(CHUNK)
        self._ended = data == b""
        return data

    async def _until_readable(self) -> None:
        with suppress(anyio.ClosedResourceError):
            await anyio.wait_readable(self._file.fileno())

    def read_by_callback(self, take: Callable[[bytes], None]) -> None:
        """Have asyncio call a function with all bytes that arrive, and with `b""` at the end."""
        self._take = take
        asyncio.get_running_loop().add_reader(self._file.fileno(), self._hand_over)

    def _hand_over(self) -> None:
        data, take = self._read(), self._take
        if data is not None and take is not None:
            if not data:
                self._take = None
                with suppress(RuntimeError):  # the event loop has ended
                    asyncio.get_running_loop().remove_reader(self._file.fileno())
            take(data)

    def close(self) -> None:
        """Close the file. Bytes that were written before can still be received."""
        if self._file.closed:
            return
        take, room = self._take or self._kept.append, MOST_KEPT
        while room > 0 and (data := self._read()):
            take(data)
            room -= len(data)
        self._ended = True
        self._hand_over()
        _close(self._file)


class PipeWriter:
    """Writes the input of a process."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._rest = memoryview(b"")
        self._one_at_a_time = anyio.Lock()

    async def send(self, data: bytes) -> None:
        """Write all of it. If this is cancelled, the rest is written before anything else."""
        async with self._one_at_a_time:
            await self._flush()
            self._rest = memoryview(data)
            await self._flush()

    def send_now(self, data: bytes) -> int:
        """Write without waiting; return how many bytes were written."""
        is_busy = self._rest or self._one_at_a_time.locked()
        return 0 if is_busy else self._write(memoryview(data))

    async def send_eof(self) -> None:
        """Close it, after the rest of a cancelled send is written."""
        async with self._one_at_a_time:
            with suppress(TransportClosed):
                await self._flush()
            self.close()

    async def _flush(self) -> None:
        while self._rest:
            written = self._write(self._rest)
            self._rest = self._rest[written:]
            if self._rest:
                with suppress(anyio.ClosedResourceError):
                    await anyio.wait_writable(self._file.fileno())

    def _write(self, data: memoryview) -> int:
        if self._file.closed:
            raise TransportClosed("The stdin of the process is closed")
        try:
            return self._file.write(data) or 0
        except OSError as error:
            raise TransportClosed("The process no longer reads its stdin") from error

    def close(self) -> None:
        """Close it at once, after writing as much as fits into the pipe."""
        if not self._file.closed:
            with suppress(TransportClosed):
                self._write(self._rest)
            _close(self._file)


def _close(file: IO[bytes]) -> None:
    with suppress(RuntimeError):  # the event loop has ended
        anyio.notify_closing(file.fileno())
    file.close()
