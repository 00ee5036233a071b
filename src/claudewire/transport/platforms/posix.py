"""Linux and macOS: a session of its own, and a process group that is signalled as a whole."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import weakref
from contextlib import suppress
from typing import Any

from . import guardian
from .child import Child
from .exits import watch_exit
from .offspring import Relative, descendants, process_table

__all__ = ["PosixChild", "adopt", "popen_options"]

assert sys.platform != "win32"


class PosixChild(Child):
    """A process that leads a group. A guardian ends the group if we are killed."""

    def __init__(self, popen: subprocess.Popen[bytes], *, threads: bool) -> None:
        self._escaped: dict[int, Relative] = {}
        super().__init__(popen, watch_exit(popen.pid, threads=threads), threads=threads)
        _children.add(self)

    # --- signals ---------------------------------------------------------------------------------

    def send_signal(self, number: int) -> None:
        """Send a signal to the process alone, if it has not exited."""
        with self._lock:
            if self.is_ours and not self.poll():
                # Not reaped, so the number is still its own.
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the whole group to end."""
        with self._lock:
            self._look_around()
            self._signal_group(signal.SIGTERM)
            self._signal_group(signal.SIGCONT)  # one that is stopped does not listen

    def kill(self) -> None:
        """Kill the whole group, and what has left the group but descends from the process."""
        with self._lock:
            self._look_around()
            self._signal_group(signal.SIGKILL)
            for relative in self._alive_outside():
                with suppress(OSError):
                    if relative.group == relative.pid:
                        os.killpg(relative.group, signal.SIGKILL)
                    os.kill(relative.pid, signal.SIGKILL)

    def _look_around(self) -> None:
        """Remember who has left the group: after the exit nothing will tell."""
        if self.is_ours and not self.poll():
            for relative in descendants(self.pid, process_table()):
                if relative.group != self.pid:
                    self._escaped[relative.pid] = relative

    def _signal_group(self, number: int) -> None:
        if self.is_ours and not self._is_number_of_another():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _is_number_of_another(self) -> bool:
        """Whether a stranger has our number: which it gets only when our group is empty."""
        return self._released and _exists(self.pid)

    # --- the end ---------------------------------------------------------------------------------

    def _await_exit(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.exited.fileno(), select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _before_release(self) -> None:
        guardian.forget(self.pid)

    def _is_company_alive(self) -> bool:
        return self._is_group_alive() or bool(self._alive_outside())

    def _is_group_alive(self) -> bool:
        if not self._is_number_of_another() and _exists(-self.pid):
            # Dead ones count as members until somebody has reaped them, which may be never.
            table = process_table().values()
            if any(each.group == self.pid and not each.is_dead for each in table):
                return True
        _reap_orphans(self.pid)
        return False

    def _alive_outside(self) -> list[Relative]:
        if not self._escaped or not self.is_ours:
            return []
        table = process_table()
        now = ((table.get(pid), before) for pid, before in self._escaped.items())
        return [
            relative
            for relative, before in now
            if relative and relative.started == before.started and not relative.is_dead
        ]


_children: weakref.WeakSet[PosixChild] = weakref.WeakSet()


def _exists(pid: int) -> bool:
    """Whether there is such a process or, if the number is negative, such a group."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _reap_orphans(group: int) -> None:
    """Reap those that have become our children because we are the first process of a container."""
    with suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass


def _close_in_fork() -> None:
    # Else a child would see the end of its input only when the fork has ended, too.
    for child in list(_children):
        with suppress(OSError):
            child.close()


os.register_at_fork(after_in_child=_close_in_fork)


# --- starting -------------------------------------------------------------------------------------


def popen_options(user: str | int | None) -> dict[str, Any]:
    """Say how a process is to be started.

    Raises:
        KeyError: there is no such user.
    """
    # A session and not just a group: no terminal sends it signals behind our back.
    options: dict[str, Any] = {"start_new_session": True}
    if user is not None:
        import pwd

        entry = pwd.getpwnam(user) if isinstance(user, str) else pwd.getpwuid(user)
        # Whoever gives up privileges has to give up those of groups, too.
        groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
        options |= {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}
    return options


def adopt(popen: subprocess.Popen[bytes], *, threads: bool | None) -> PosixChild:
    """Take charge of a process that was started with these options."""
    guardian.watch(popen.pid)
    try:
        return PosixChild(popen, threads=bool(threads))
    except BaseException:
        guardian.forget(popen.pid)
        os.killpg(popen.pid, signal.SIGKILL)  # not reaped, so the number is its own
        raise
