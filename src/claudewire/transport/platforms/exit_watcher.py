"""Learning that a process has exited and how, without reaping it.

As long as it is not reaped its number, which is also that of its group, is not given to another.
No signal handler and no child watcher of an event loop is involved, so it works on every event
loop, in every thread. A watcher's `status` is negative for a signal, and None if it is not known.
"""

from __future__ import annotations

import os
import socket
import threading
from functools import partial


class PidfdWatcher:
    """Linux: a file descriptor that stands for the process, and is readable when it has exited."""

    def __init__(self, pid: int) -> None:
        self._fd = -1
        self._fd = os.pidfd_open(pid)
        self.status: int | None = None

    def fileno(self) -> int:
        """The file descriptor to wait for."""
        return self._fd

    def has_exited(self) -> bool:
        """Say whether it has exited, and note how."""
        if self._fd < 0:
            return False
        try:
            info = os.waitid(os.P_PIDFD, self._fd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True  # other code in this process has reaped it, and knows how it ended
        if info is None:
            return False
        self.status = _status(info)
        return True

    def close(self) -> None:
        """Close the file descriptor."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class ThreadWatcher:
    """Elsewhere: a thread that waits for the exit and then closes its end of a socket."""

    def __init__(self, pid: int) -> None:
        self.status: int | None = None
        self._done = False
        self._socket, theirs = socket.socketpair()
        run = partial(self._run, pid, theirs)
        threading.Thread(target=run, name="claudewire exit", daemon=True).start()

    def _run(self, pid: int, theirs: socket.socket) -> None:
        with theirs:
            self.status = _wait_without_reaping(pid)
            self._done = True

    def fileno(self) -> int:
        """The file descriptor to wait for."""
        return self._socket.fileno()

    def has_exited(self) -> bool:
        """Return whether the process has exited."""
        return self._done

    def close(self) -> None:
        """Close the socket. The thread ends with the process."""
        self._socket.close()


ExitWatcher = PidfdWatcher | ThreadWatcher


def watch_exit(pid: int) -> ExitWatcher:
    """Watch a child of this process in the best way that the system has."""
    try:
        return PidfdWatcher(pid)
    except (OSError, AttributeError):  # an old kernel or Python, a sandbox, another system
        return ThreadWatcher(pid)


def _status(info: os.waitid_result) -> int:
    exited = info.si_code == os.CLD_EXITED
    return info.si_status if exited else -info.si_status


def _wait_without_reaping(pid: int) -> int | None:
    try:
        if not hasattr(os, "waitid"):  # pragma: no cover - macOS, before Python 3.13: it reaps
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        info = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        return None
    return None if info is None else _status(info)
