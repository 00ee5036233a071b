"""The seam between a conversation and whatever carries it: a transport moves bytes, nothing else.

Lines, JSON and answers are the connection's business. So a transport is easy to write: a process,
a socket, an ssh channel, a pair of buffers in memory, one that records another.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, Protocol

import anyio
import anyio.lowlevel

from ..errors import TransportClosed

__all__ = ["MemoryTransport", "Transport", "memory_pair"]


class Transport(Protocol):
    """One end of a byte stream in both directions, with a side channel for what goes to stderr."""

    async def send(self, data: bytes) -> None:
        """Write all of `data`.

        Raises:
            TransportClosed: nobody will read it.
        """

    async def send_eof(self) -> None:
        """Say that nothing more will be sent. The other direction stays open."""

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of the peer's stderr; `b""` when there will be no more."""

    async def wait(self) -> int | None:
        """Wait until the peer has gone; give its exit status, negative for a signal.

        None if it has no such thing.
        """

    async def aclose(self) -> None:
        """Let go of everything. Whoever waits is woken with the end."""


class _Pipe:
    """A one-way stream of bytes without a limit. What is unread at its end can still be read."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._ended = False
        self._changed = anyio.Event()

    def put(self, data: bytes) -> None:
        if self._ended:
            raise TransportClosed("The stream has ended; nobody will read this")
        if data:
            self._chunks.append(data)
            self._wake()

    def end(self) -> None:
        self._ended = True
        self._wake()

    def drop(self) -> None:
        """End it, and nobody will read what is left."""
        self._chunks.clear()
        self.end()

    async def get(self) -> bytes:
        if self._chunks or self._ended:
            # Before anything is taken out, so that a reader that is cancelled here loses nothing.
            await anyio.lowlevel.checkpoint()
        while not self._chunks and not self._ended:
            await self._changed.wait()
        chunks = b"".join(self._chunks)
        self._chunks.clear()
        return chunks

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class _Fate:
    """Whether an end has gone, and how. The first status that is told stays."""

    def __init__(self) -> None:
        self._gone = anyio.Event()
        self._status: int | None = None

    def tell(self, status: int | None) -> None:
        if self._status is None:
            self._status = status
        self._gone.set()

    async def get(self) -> int | None:
        await self._gone.wait()
        return self._status


class _Half(NamedTuple):
    """All that one end says to the other."""

    output: _Pipe
    stderr: _Pipe
    fate: _Fate


class MemoryTransport:
    """One end of a pair in memory. It has no limit: sending never waits for the reader.

    An end that plays the process also has the other side of stderr and of the exit status:
    `send_stderr` and `exit`.
    """

    def __init__(self, ours: _Half, theirs: _Half) -> None:
        self._ours = ours
        self._theirs = theirs

    async def send(self, data: bytes) -> None:
        """Write all of `data`. If this is cancelled, nothing was written.

        Raises:
            TransportClosed: nobody will read it.
        """
        await anyio.lowlevel.checkpoint()
        self._ours.output.put(data)

    async def send_eof(self) -> None:
        """Say that nothing more will be sent."""
        await anyio.lowlevel.checkpoint()
        self._ours.output.end()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""
        return await self._theirs.output.get()

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of the peer's stderr."""
        return await self._theirs.stderr.get()

    def send_stderr(self, data: bytes) -> None:
        """Write to the stderr that the other end reads.

        Raises:
            TransportClosed: nobody will read it.
        """
        self._ours.stderr.put(data)

    def exit(self, status: int) -> None:
        """End as a process does: the status is set, all that was sent can still be read."""
        self._ours.output.end()
        self._ours.stderr.end()
        self._theirs.output.end()
        self._ours.fate.tell(status)

    async def wait(self) -> int | None:
        """Wait until the peer has gone; None if it left without a status."""
        return await self._theirs.fate.get()

    async def aclose(self) -> None:
        """Let go of everything. Whoever waits, here or there, is woken with the end.

        What was sent can still be read there; what came is dropped.
        """
        self._ours.output.end()
        self._ours.stderr.end()
        self._theirs.output.drop()
        self._theirs.stderr.drop()
        self._ours.fate.tell(None)
        self._theirs.fate.tell(None)
        await anyio.lowlevel.checkpoint()


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Make two ends that talk to each other: one for an application, one for what plays the CLI."""
    left, right = _Half(_Pipe(), _Pipe(), _Fate()), _Half(_Pipe(), _Pipe(), _Fate())
    return MemoryTransport(left, right), MemoryTransport(right, left)
