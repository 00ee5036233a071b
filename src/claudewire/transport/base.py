"""What a transport is, and one in memory.

A transport moves bytes, nothing else. Lines, JSON and answers are the connection's business, so a
transport is easy to write: for a process, a socket, an ssh channel, a pair of buffers in memory, or
one that records another.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

import anyio
import anyio.lowlevel
from msgspec import Struct

from ..concurrency import Signal
from ..errors import TransportClosed

__all__ = ["MemoryTransport", "Transport", "memory_pair"]


class Transport(Protocol):
    """One end of a byte stream in both directions, with a side channel for what goes to stderr."""

    async def send(self, data: bytes) -> None:
        """Write all of `data`.

        Raises:
            TransportClosed: the peer no longer reads.
        """

    async def send_eof(self) -> None:
        """Close our direction: nothing more will be sent. The other one stays open."""

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""
        ...

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of the peer's stderr; `b""` when there will be no more."""
        ...

    async def wait(self) -> int | None:
        """Wait until the peer has ended; return its exit status, negative for a signal.

        None if it has no exit status.
        """

    async def aclose(self) -> None:
        """Close it, and release all resources. Calls that wait return with the end.

        A session waits for it, even if its caller is cancelled, but no longer than the end of a
        process may take: `terminate`, twice `kill` and `drain` of `Timeouts`. Then it is cancelled.
        """


class _Pipe:
    """A one-way stream of bytes without a limit. What is unread at its end can still be read."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._ended = False
        self._changed = Signal()

    def put(self, data: bytes) -> None:
        if self._ended:
            raise TransportClosed("The transport is closed; nothing more can be sent")
        if data:
            self._chunks.append(data)
            self._changed.notify()

    def end(self) -> None:
        self._ended = True
        self._changed.notify()

    def drop(self) -> None:
        """End it, and throw away what is unread."""
        self._chunks.clear()
        self.end()

    async def get(self) -> bytes:
        if self._chunks or self._ended:
            # Before anything is taken out, so that nothing is lost if the reader is cancelled here.
            await anyio.lowlevel.checkpoint()
        while not self._chunks and not self._ended:
            await self._changed.wait()
        chunks = b"".join(self._chunks)
        self._chunks.clear()
        return chunks


class _ExitStatus:
    """Whether one side has ended, and with which status. The first status that is set stays."""

    def __init__(self) -> None:
        self._ended = anyio.Event()
        self._status: int | None = None

    def set(self, status: int | None) -> None:
        if self._status is None:
            self._status = status
        self._ended.set()

    async def get(self) -> int | None:
        await self._ended.wait()
        return self._status


class _Half(Struct, frozen=True):
    """All that one side sends to the other."""

    output: _Pipe
    stderr: _Pipe
    status: _ExitStatus


class MemoryTransport:
    """One side of a pair in memory, made by `memory_pair`.

    Its buffer has no limit: sending never waits for the reader. The side that plays the process
    also writes to stderr and sets the exit status, with `send_stderr` and `exit`.
    """

    def __init__(self, ours: _Half, theirs: _Half) -> None:
        self._ours = ours
        self._theirs = theirs

    async def send(self, data: bytes) -> None:
        """Write all of `data`. If this is cancelled, nothing was written.

        Raises:
            TransportClosed: the peer no longer reads.
        """
        await anyio.lowlevel.checkpoint()
        self._ours.output.put(data)

    async def send_eof(self) -> None:
        """Close our direction: nothing more will be sent."""
        await anyio.lowlevel.checkpoint()
        self._ours.output.end()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""
        return await self._theirs.output.get()

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of the peer's stderr."""
        return await self._theirs.stderr.get()

    def send_stderr(self, data: bytes) -> None:
        """Write to the stderr that the other side reads.

        Raises:
            TransportClosed: the peer no longer reads.
        """
        self._ours.stderr.put(data)

    def exit(self, status: int) -> None:
        """Exit as a process does: the status is set, all that was sent can still be read."""
        self._ours.output.end()
        self._ours.stderr.end()
        self._theirs.output.end()
        self._ours.status.set(status)

    async def wait(self) -> int | None:
        """Wait until the peer has ended; None if it set no status."""
        return await self._theirs.status.get()

    async def aclose(self) -> None:
        """Close both directions. Calls that wait, on either side, return with the end.

        What was sent can still be read by the other side; what is unread here is dropped.
        """
        self._ours.output.end()
        self._ours.stderr.end()
        self._theirs.output.drop()
        self._theirs.stderr.drop()
        self._ours.status.set(None)
        self._theirs.status.set(None)
        await anyio.lowlevel.checkpoint()


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Make two connected transports: one for the application, one for what plays the CLI."""
    left, right = (_Half(_Pipe(), _Pipe(), _ExitStatus()) for _ in range(2))
    return MemoryTransport(left, right), MemoryTransport(right, left)
