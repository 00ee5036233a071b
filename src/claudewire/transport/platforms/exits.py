"""Learning that a process has exited and how, without reaping it.

As long as it is not reaped its number, which is also that of its group, is not given to another.
No signal handler and no child watcher of an event loop has a part in it, so it works on every
event loop, in every thread.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Exit", "Pidfd", "Waiter", "watch_exit"]

_os: Any = os
"""For a type checker: not all of it is there on every platform."""


class Pidfd:
    """Linux: a file descriptor that stands for the process, and is readable when it has exited.

    Attributes:
        status: how it exited, negative for a signal; None if it has not, or nobody knows.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._fd = -1
        self._fd = _os.pidfd_open(pid)
        self.status: int | None = None

    def fileno(self) -> int:
        """What can be waited for."""
        return self._fd

    def has_exited(self) -> bool:
        """Say whether it has exited, and note how."""
        look = _os.WEXITED | _os.WNOHANG | _os.WNOWAIT
        known = (_os.P_PIDFD, self._fd) if self._fd >= 0 else (_os.P_PID, self._pid)
        try:
            info = _os.waitid(*known, look)
        except ChildProcessError:
            return True  # somebody else has reaped it, and knows how it ended
        if info is None:
            return False
        self.status = _status(info)
        return True

    def close(self) -> None:
        """Let go of it."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class Waiter:
    """Elsewhere: a thread that waits for the exit and then closes its end of a socket.

    Attributes:
        status: how it exited, negative for a signal; None if it has not, or nobody knows.
    """

    def __init__(self, wait: Callable[[], int | None]) -> None:
        self.status: int | None = None
        self._done = False
        self._socket, theirs = socket.socketpair()
        threading.Thread(
            target=self._run, args=(wait, theirs), name="claudewire exit", daemon=True
        ).start()

    def _run(self, wait: Callable[[], int | None], theirs: socket.socket) -> None:
        with theirs:
            self.status = wait()
            self._done = True

    def fileno(self) -> int:
        """What can be waited for."""
        return self._socket.fileno()

    def has_exited(self) -> bool:
        """Say whether it has exited, and note how."""
        return self._done

    def close(self) -> None:
        """Let go of it. The thread ends with the process."""
        self._socket.close()


Exit = Pidfd | Waiter


def watch_exit(pid: int, *, threads: bool) -> Exit:
    """Watch a child of ours in the best way there is here. POSIX only."""
    if not threads:
        try:
            return Pidfd(pid)
        except (OSError, AttributeError):
            pass  # an old kernel or Python, a sandbox, another system
    return Waiter(lambda: _wait_without_reaping(pid))


def _status(info: Any) -> int:
    exited = info.si_code == _os.CLD_EXITED
    return int(info.si_status if exited else -info.si_status)


def _wait_without_reaping(pid: int) -> int | None:
    if not hasattr(os, "waitid"):  # pragma: no cover - macOS, before Python 3.13
        return _wait_by_kqueue(pid)
    try:
        return _status(_os.waitid(_os.P_PID, pid, _os.WEXITED | _os.WNOWAIT))
    except ChildProcessError:
        return None


def _wait_by_kqueue(pid: int) -> int | None:  # pragma: no cover - macOS
    kq: Any = select
    note_exit_status = 0x04000000  # of Darwin; Python has no name for it
    event = kq.kevent(pid, kq.KQ_FILTER_PROC, kq.KQ_EV_ADD, kq.KQ_NOTE_EXIT | note_exit_status)
    queue = kq.kqueue()
    try:
        status = int(queue.control([event], 1)[0].data)
    except ProcessLookupError:
        # It has exited already, and can only be asked by reaping it.
        status = os.waitpid(pid, 0)[1]
    finally:
        queue.close()
    return os.waitstatus_to_exitcode(status)
