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


class _Pipe:
    """A one-way stream of bytes without a limit. Unread bytes can still be read at its end."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ended = False
        self._changed = Signal()

    def put(self, data: bytes) -> None:
        if self._ended:
            raise TransportClosed("The transport is closed; nothing more can be sent")
        self._bytes += data
        self._changed.notify()

    def end(self) -> None:
        self._ended = True
        self._changed.notify()

    def drop(self) -> None:
        """End it, and drop the unread bytes."""
        self._bytes.clear()
        self.end()

    async def get(self) -> bytes:
        # Before anything is taken out, so that nothing is lost if the reader is cancelled here.
        await anyio.lowlevel.checkpoint()
        await self._changed.until(lambda: bool(self._bytes) or self._ended)
        data = bytes(self._bytes)
        self._bytes.clear()
        return data


class _Side:
    """All that one side sends to the other."""

    def __init__(self) -> None:
        self.output, self.stderr = _Pipe(), _Pipe()
        self.has_exited = anyio.Event()
        self.status: int | None = None


class MemoryTransport:
    """One side of a pair in memory, made by `memory_pair`.

    Its buffer has no limit: sending never waits for the reader. The side that plays the process
    also writes to stderr and sets the exit status, with `send_stderr` and `exit`.
    """

    def __init__(self, ours: _Side, theirs: _Side) -> None:
        self._ours = ours
        self._theirs = theirs

    async def send(self, data: bytes) -> None:
        """Write all of `data`. If this is cancelled, nothing was written."""
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
        """Write to the stderr that the other side reads."""
        self._ours.stderr.put(data)

    def exit(self, status: int) -> None:
        """Exit as a process does: the status is set, all sent bytes can still be read."""
        self._ours.output.end()
        self._ours.stderr.end()
        self._theirs.output.end()
        if self._ours.status is None:
            self._ours.status = status
        self._ours.has_exited.set()

    async def wait(self) -> int | None:
        """Wait until the peer has ended; None if it set no status."""
        await self._theirs.has_exited.wait()
        return self._theirs.status

    async def aclose(self) -> None:
        """Close both directions. Pending calls on either side return with the end.

        Sent bytes can still be read by the other side; unread bytes here are dropped.
        """
        self._ours.output.end()
        self._ours.stderr.end()
        self._theirs.output.drop()
        self._theirs.stderr.drop()
        self._ours.has_exited.set()
        self._theirs.has_exited.set()
        await anyio.lowlevel.checkpoint()


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Make two connected transports: one for the application, one for the simulated CLI."""
    left, right = _Side(), _Side()
    return MemoryTransport(left, right), MemoryTransport(right, left)
