"""Our ends of the pipes to a child: they can be waited for on any event loop, and never block.

Pipes of POSIX can be waited for. Those of Windows cannot, but sockets can on every event loop: so
there threads carry between pipes and sockets. They would do so on any platform.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

__all__ = ["End", "PipeEnd", "SocketEnd", "read_end", "write_end"]

_os: Any = os
"""For a type checker: not all of it is there on every platform."""

CHUNK = 64 * 1024
"""How much is read at once. Larger reads and larger pipes were measured to be no faster, and
large pipes are rationed among all processes of a user."""


class PipeEnd:
    """Our end of a pipe to or from a child."""

    lag: float = 0.0
    """Seconds that may pass until what was written at the other end can be read here."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        _os.set_blocking(file.fileno(), False)

    def fileno(self) -> int:
        """What can be waited for."""
        return self._file.fileno()

    def read(self) -> bytes | None:
        """Give what is there; `b""` at the end, None if there is nothing at the moment."""
        return self._file.read(CHUNK)

    def write(self, data: memoryview) -> int | None:
        """Write some of it and say how much; None if nothing can be written at the moment.

        Raises:
            OSError: nobody will read it.
        """
        # The file is not buffered, so it has no other answer than the system's.
        return self._file.write(data)

    def close(self) -> None:
        """Let go of it. The other end sees the end of the stream."""
        self._file.close()


class SocketEnd:
    """Stands for a pipe that cannot be waited for: a thread carries between it and a socket."""

    lag: float = 1.0

    def __init__(self, pipe: IO[bytes], carry: Callable[[IO[bytes], socket.socket], None]) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        threading.Thread(
            target=carry, args=(pipe, theirs), name="claudewire pipe", daemon=True
        ).start()

    def fileno(self) -> int:
        """What can be waited for."""
        return self._socket.fileno()

    def read(self) -> bytes | None:
        """Give what is there; `b""` at the end, None if there is nothing at the moment."""
        try:
            return self._socket.recv(CHUNK)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def write(self, data: memoryview) -> int | None:
        """Write some of it and say how much; None if nothing can be written at the moment.

        Raises:
            OSError: nobody will read it.
        """
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return None

    def close(self) -> None:
        """Let go of it. The thread carries what it was given, and ends."""
        self._socket.close()


End = PipeEnd | SocketEnd


def _carry_in(pipe: IO[bytes], theirs: socket.socket) -> None:
    """Carry what a child writes."""
    with theirs, pipe, suppress(OSError):
        while data := pipe.read(CHUNK):
            theirs.sendall(data)


def _carry_out(pipe: IO[bytes], theirs: socket.socket) -> None:
    """Carry what a child is to read."""
    with theirs, pipe, suppress(OSError):
        while data := theirs.recv(CHUNK):
            rest = memoryview(data)
            while rest:
                rest = rest[pipe.write(rest) :]


def read_end(pipe: IO[bytes] | None, *, threads: bool) -> End:
    """Make the end that we read from."""
    assert pipe is not None
    return SocketEnd(pipe, _carry_in) if threads else PipeEnd(pipe)


def write_end(pipe: IO[bytes] | None, *, threads: bool) -> End:
    """Make the end that we write to."""
    assert pipe is not None
    return SocketEnd(pipe, _carry_out) if threads else PipeEnd(pipe)
