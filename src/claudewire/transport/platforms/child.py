"""A child process that leads a process group, and how it is started."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from .exit_watcher import ExitWatcher, watch_exit
from .guardian import guardian
from .marks import Key, find_marked, with_mark
from .process_table import (
    ProcessInfo,
    SharedTable,
    Table,
    descendants,
    has_proc,
    process_info,
)

__all__ = ["BRIEFLY", "Child", "start"]

BRIEFLY = 0.25
"""Seconds that `end_now` waits for the end of a killed process."""
_PAUSE = 0.001
_LONG_AGO = "0"


class Child:
    """A process, and all that it has started. A guardian ends them if we are killed.

    Its methods may be called from any thread, and do nothing in a fork of the process that
    started it.

    Attributes:
        pid: its process id.
        stdin: what it reads. This file and the other two never block.
        stdout: what it writes.
        stderr: what it writes to stderr.
        exited: can be waited for; readable once the process has exited.
        returncode: how it exited, negative for a signal; None if that is not known.
    """

    def __init__(self, popen: subprocess.Popen[bytes], mark: str) -> None:
        self._popen = popen
        self._mark = mark
        self._started: str | None = None
        self._has_proc = has_proc()
        self._owner = os.getpid()
        # Re-entrant: the garbage collector, or a signal handler, may end us in the middle.
        self._lock = threading.RLock()
        self._ended = self._released = False
        self._escaped: dict[int, ProcessInfo] = {}
        self._unclear: frozenset[Key] | None = None
        self.pid: int = popen.pid
        self.returncode: int | None = None
        self.exited: ExitWatcher = watch_exit(popen.pid)
        self.stdin: IO[bytes] = _non_blocking(popen.stdin)
        self.stdout: IO[bytes] = _non_blocking(popen.stdout)
        self.stderr: IO[bytes] = _non_blocking(popen.stderr)
        _children.add(self)

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
            self._signal_group(signal.SIGTERM)
            self._signal_group(signal.SIGCONT)  # a stopped process does not react to SIGTERM

    def kill(self) -> None:
        """Kill the whole group, and descendants of the process that have left the group."""
        with self._lock:
            if not self.is_ours:
                return
            table = _look()
            self._note_escaped(table)
            self._signal_group(signal.SIGKILL)
            for process in self._escaped_alive(table):
                with suppress(OSError):
                    if process.group == process.pid:
                        os.killpg(process.group, signal.SIGKILL)
                    os.kill(process.pid, signal.SIGKILL)

    def kill_group(self) -> None:
        """Kill what is left of the group, without a look for those that have left it."""
        with self._lock:
            self._signal_group(signal.SIGKILL)

    def note_descendants(self, since: float | None = None) -> None:
        """Remember who has left the group: without a mark it cannot be found out after the exit.

        Args:
            since: the monotonic time that matters; now if None. Not before `look_in` says so.
        """
        with self._lock:
            if not self.poll():
                self._note_escaped(_look(since))

    def _note_escaped(self, table: Table) -> None:
        """Remember who has left the group, and who may have."""
        is_alive = not self.poll()
        family = descendants(self.pid, table) if is_alive else []
        if self._has_proc:
            since = self._when_started()
            marked, unclear = find_marked(self._mark, table, since, guardian().groups)
            family += marked
            self._note_unclear(unclear, may_be_more=is_alive or bool(marked))
        for process in family:
            if self.pid not in (process.pid, process.group):
                self._escaped[process.pid] = process

    def _when_started(self) -> str:
        """Say when it was started. `/proc` has it until it is reaped: it must be known before.

        It is not asked for at once: of a process that is just becoming a program, that takes long.
        """
        if self._started is None:
            try:
                self._started = process_info(self.pid).started
            except OSError:  # other code in this process has reaped it, or there is no `/proc`
                self._started = _LONG_AGO
        return self._started

    def _note_unclear(self, unclear: frozenset[Key], *, may_be_more: bool) -> None:
        """Remember who may be one of ours. What comes later is not, if there are none to start it.

        On a busy machine there are always some of which nothing is known yet.
        """
        if may_be_more:
            self._unclear = None
        else:
            self._unclear = unclear if self._unclear is None else self._unclear & unclear

    def _signal_group(self, number: int) -> None:
        if self.is_ours and not self._is_number_reused():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _is_number_reused(self) -> bool:
        """Whether another process has the number: it is given away only when the group is empty."""
        return self._released and _exists(self.pid)

    # --- the end ---------------------------------------------------------------------------------

    def release(self) -> None:
        """Reap it, if it has exited. Its number is free from then on."""
        with self._lock:
            if not self._released and self.is_ours and self.poll():
                guardian().forget(self.pid)
                self._when_started()
                self._popen.wait()
                self._released = True

    def look_in(self, since: float) -> float:
        """Say in how many seconds to look at what there is since some time: others may, too."""
        return _table.due_in(since) if self._has_proc else 0.0

    def is_left(self, since: float | None = None) -> bool:
        """Say whether it, or anything that it has started, is alive: since some time, or now."""
        with self._lock:
            if not self._released:
                return True
            has_group = not self._is_number_reused() and _exists(-self.pid)
            if not (has_group or self._escaped or self._has_proc):
                return False
            table = _look(since)
            self._note_escaped(table)
            if has_group and self._is_group_alive(table):
                return True
            _reap_orphans(self.pid)
            return bool(self._unclear) or bool(self._escaped_alive(table))

    def _is_group_alive(self, table: Table) -> bool:
        # Dead processes are members until they are reaped, which may never happen.
        return any(each.group == self.pid and not each.is_dead for each in table.values())

    def _escaped_alive(self, table: Table) -> list[ProcessInfo]:
        if not self._escaped:
            return []  # as most of the time, and there may be thousands of processes
        return [
            process
            for process in table.values()
            if not process.is_dead and self._has_escaped(process, table)
        ]

    def _has_escaped(self, process: ProcessInfo, table: Mapping[int, ProcessInfo]) -> bool:
        """Whether it was seen to have left the group, or is in the group of one that was."""
        before = self._escaped.get(process.pid)
        if before is not None:
            return process.started == before.started
        leader, leader_now = self._escaped.get(process.group), table.get(process.group)
        return leader is not None and (leader_now is None or leader_now.started == leader.started)

    def end_now(self) -> None:
        """Kill it with all that it has started, and reap it, without waiting long."""
        with self._lock:
            if not self.is_ours or self._released:
                return
            deadline = time.monotonic() + BRIEFLY
            self.kill()
            self._wait_for_exit(BRIEFLY)
            self.release()
            while self.is_left() and time.monotonic() < deadline:
                self.kill()
                time.sleep(_PAUSE)

    def _wait_for_exit(self, seconds: float) -> None:
        poll = select.poll()
        poll.register(self.exited.fileno(), select.POLLIN)
        poll.poll(seconds * 1000)

    def close(self) -> None:
        """Close all file descriptors."""
        for file in (self.stdin, self.stdout, self.stderr, self.exited):
            file.close()


_children: weakref.WeakSet[Child] = weakref.WeakSet()

_table = SharedTable()


def _look(since: float | None = None) -> Table:
    """Return the processes of the system, but for our children that are not reaped yet.

    Of those only their own descendants matter: nothing else can be in their place, and reading
    each of them for each of the others took a twentieth of the time of a short session.
    """
    return _table.get(since, guardian().groups)


def _non_blocking(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    os.set_blocking(pipe.fileno(), False)
    return pipe


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
    global _table
    _table = SharedTable()  # a thread that is not in the fork may have the lock of the other
    # Otherwise a child would see the end of its input only when the fork has ended, too.
    for child in list(_children):
        with suppress(OSError):
            child.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_fork)


# --- starting -------------------------------------------------------------------------------------


def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | os.PathLike[str] | None = None,
    user: str | int | None = None,
) -> Child:
    """Start a program that, with all that it starts, does not outlive this process.

    Args:
        argv: the program and its arguments.
        env: all of its environment.
        cwd: where it runs.
        user: as whom it runs, with the groups of that user; this needs privileges.

    Raises:
        OSError: it cannot be started.
        ValueError: an argument is not possible.
        KeyError: there is no such user.
    """
    uid, gid, groups = _account(user)
    mark = guardian().new_mark()
    popen = subprocess.Popen(
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=with_mark(env, mark),
        cwd=cwd,
        # A session and not just a group: no terminal sends it signals behind our back.
        start_new_session=True,
        user=uid,
        group=gid,
        extra_groups=groups,
    )
    try:
        guardian().watch(popen.pid)
        return Child(popen, mark)
    except BaseException:
        guardian().forget(popen.pid)
        os.killpg(popen.pid, signal.SIGKILL)  # not reaped, so the number is its own
        with popen:  # closes its pipes and reaps it
            raise


def _account(user: str | int | None) -> tuple[int | None, int | None, list[int] | None]:
    """Look up a user, the user's group and further groups."""
    if user is None:
        return None, None, None
    import pwd

    entry = pwd.getpwnam(user) if isinstance(user, str) else pwd.getpwuid(user)
    # A process that gives up privileges has to give up those of groups, too.
    return entry.pw_uid, entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)
