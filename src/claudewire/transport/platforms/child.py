"""A child process as the rest of the package sees it, whatever the platform."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from abc import ABC, abstractmethod

from .ends import End, read_end, write_end
from .exits import Exit

__all__ = ["BRIEFLY", "Child"]

BRIEFLY = 0.25
"""Seconds that the end of a killed process is waited for where nothing may wait."""
_PAUSE = 0.001


class Child(ABC):
    """A process, and all that it has started.

    Its methods may be called from any thread, and do nothing in a fork of the process that
    started it.

    Attributes:
        pid: its process id.
        stdin: what it reads.
        stdout: what it writes.
        stderr: what it complains about.
        exited: can be waited for; readable once the process has exited.
        returncode: how it exited, negative for a signal; None if that is not known.
    """

    def __init__(self, popen: subprocess.Popen[bytes], exited: Exit, *, threads: bool) -> None:
        self._popen = popen
        self._owner = os.getpid()
        # Re-entrant: the garbage collector, or a signal handler, may end us in the middle.
        self._lock = threading.RLock()
        self._ended = self._released = False
        self.pid: int = popen.pid
        self.returncode: int | None = None
        self.exited = exited
        self.stdin: End = write_end(popen.stdin, threads=threads)
        self.stdout: End = read_end(popen.stdout, threads=threads)
        self.stderr: End = read_end(popen.stderr, threads=threads)

    @property
    def is_ours(self) -> bool:
        """Whether this process has started it, and not one that this is a fork of."""
        return self._owner == os.getpid()

    @property
    def is_released(self) -> bool:
        """Whether it has exited and been reaped."""
        return self._released

    def poll(self) -> bool:
        """Say whether it has exited."""
        with self._lock:
            if not self._ended and self.is_ours and self.exited.has_exited():
                self._ended = True
                self.returncode = self.exited.status
            return self._ended

    @abstractmethod
    def send_signal(self, number: int) -> None:
        """Send a signal to the process alone, if it has not exited."""

    @abstractmethod
    def terminate(self) -> None:
        """Ask it, and all that it has started, to end."""

    @abstractmethod
    def kill(self) -> None:
        """Kill it, and all that it has started."""

    @abstractmethod
    def _await_exit(self, seconds: float) -> bool:
        """Wait for its exit, in this thread."""

    def release(self) -> None:
        """Reap it, if it has exited. Its number is free from then on."""
        with self._lock:
            if not self._released and self.is_ours and self.poll():
                self._before_release()
                self._popen.wait()
                self._released = True

    @abstractmethod
    def _before_release(self) -> None:
        """Do what has to be done while its number is still its own."""

    def left(self) -> bool:
        """Say whether it, or anything that it has started, is still alive."""
        with self._lock:
            return not self._released or self._is_company_alive()

    @abstractmethod
    def _is_company_alive(self) -> bool:
        """Say whether anything that it has started is still alive."""

    def end_now(self) -> None:
        """Kill it with all that it has started, and reap it, without waiting long."""
        with self._lock:
            if not self.is_ours or self._released:
                return
            deadline = time.monotonic() + BRIEFLY
            self.kill()
            if self._await_exit(BRIEFLY):
                self.release()
            while self.left() and time.monotonic() < deadline:
                self.kill()
                time.sleep(_PAUSE)

    def close(self) -> None:
        """Let go of all file descriptors."""
        for end in (self.stdin, self.stdout, self.stderr, self.exited):
            end.close()
