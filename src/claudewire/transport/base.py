"""The protocol of transports, and a pair of them in memory.

A transport moves bytes, nothing else. Lines, JSON and answers are the connection's business, so a
transport is easy to write: for a process, a socket, an ssh channel, a pair of buffers in memory, or
one that records another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import anyio.lowlevel

from ..concurrency import Signal
from ..errors import TransportClosed


class Transport(Protocol):
    """One end of a byte stream in both directions, with a side channel for stderr."""

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
        """Close it, and release all resources. Pending calls return with the end.

        A session waits for it, even if its caller is cancelled, but no longer than the end of a
        process may take: `terminate`, twice `kill` and `drain` of `Timeouts`. Then it is cancelled.
        """


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a CLI.

    Attributes:
        argv: the program, with its path, and its arguments.
        env: all of its environment.
        cwd: its working directory; None for that of this process.
        cleanup: functions to call when it has ended or could not be started, such as one that
            deletes its private files.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path | None = None
    cleanup: tuple[Callable[[], object], ...] = ()


@runtime_checkable
class Configurable(Protocol):
    """A transport whose CLI is not started yet, and starts with the options of the session."""

    def configure(self, launch: Launch) -> None:
        """Learn how the CLI would be started, before anything is sent.

        Args:
            launch: its command line, the variables that the options set, and its working directory.
                Files that the command line names exist during this call only.

        Raises:
            OptionsError: the CLI has been used before.
        """


# --- memory --------------------------------------------------------------------------------------


class MemoryTransport:
    """One side of a pair in memory, made by `memory_pair`.

    Its buffer has no limit: sending never waits for the reader. The side that plays the process
    also writes to stderr and sets the exit status, with `send_stderr` and `exit`.
    """

    def __init__(self) -> None:
        self._peer = self
        # Bytes that the peer has not received, and the end of each stream.
        self._output, self._stderr = bytearray(), bytearray()
        self._ended = self._exited = False
        self._status: int | None = None
        self._changed = Signal()

    async def send(self, data: bytes) -> None:
        """Write all of `data`. If this is cancelled, nothing was written."""
        await anyio.lowlevel.checkpoint()
        self._put(self._output, data, self._ended)

    async def send_eof(self) -> None:
        """Close our direction: nothing more will be sent."""
        await anyio.lowlevel.checkpoint()
        self._end()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""
        peer = self._peer
        return await peer._take(peer._output, lambda: peer._ended)

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of the peer's stderr."""
        peer = self._peer
        return await peer._take(peer._stderr, lambda: peer._exited)

    def send_stderr(self, data: bytes) -> None:
        """Write to the stderr that the other side reads."""
        self._put(self._stderr, data, self._exited)

    def exit(self, status: int) -> None:
        """Exit as a process does: the status is set, all sent bytes can still be read."""
        if self._status is None:
            self._status = status
        self._end(exited=True)
        self._peer._end()

    async def wait(self) -> int | None:
        """Wait until the peer has ended; None if it set no status."""
        peer = self._peer
        await peer._changed.until(lambda: peer._exited)
        return peer._status

    async def aclose(self) -> None:
        """Close both directions. Pending calls on either side return with the end.

        Sent bytes can still be read by the other side; unread bytes here are dropped.
        """
        self._peer._output.clear()
        self._peer._stderr.clear()
        self._end(exited=True)
        self._peer._end(exited=True)
        await anyio.lowlevel.checkpoint()

    def _put(self, buffer: bytearray, data: bytes, has_ended: bool) -> None:
        if has_ended:
            raise TransportClosed("The transport is closed; nothing more can be sent")
        buffer += data
        self._changed.notify()

    def _end(self, *, exited: bool = False) -> None:
        self._ended, self._exited = True, self._exited or exited
        self._changed.notify()

    async def _take(self, buffer: bytearray, has_ended: Callable[[], bool]) -> bytes:
        # Before anything is taken out, so that nothing is lost if the reader is cancelled here.
        await anyio.lowlevel.checkpoint()
        await self._changed.until(lambda: bool(buffer) or has_ended())
        data = bytes(buffer)
        buffer.clear()
        return data


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Make two connected transports: one for the application, one for the simulated CLI."""
    left, right = MemoryTransport(), MemoryTransport()
    left._peer, right._peer = right, left
    return left, right
