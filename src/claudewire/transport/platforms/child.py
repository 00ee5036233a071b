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
from .marks import Unclear, find_marked, with_mark
from .process_table import ProcessInfo, Table, descendants, has_proc, process_info, process_table

BRIEFLY = 0.25
"""Seconds that `end_now` waits for the end of a killed process."""
_SHOWS_WITHIN = 2.0
"""Seconds after which a process that still shows no environment is none of ours."""
_PAUSE = 0.001
_LONG_AGO = "0"


class Child:
    """A process, and all that it has started. A guardian ends them if we are killed.

    Its methods may be called from any thread, and do nothing in a fork of the process that
    started it.

    Attributes:
        pid: its process id.
        stdin: its input. This file and the other two never block.
        stdout: its output.
        stderr: its output on stderr.
        exited: can be waited for; readable once the process has exited.
        returncode: its exit status, negative for a signal; None if it is not known.
        blind: the error that has kept the last look at the system's processes from being complete.
    """

    def __init__(self, popen: subprocess.Popen[bytes], mark: str) -> None:
        self._popen = popen
        self._mark = mark
        self._started: str | None = None
        self._owner = os.getpid()
        # Re-entrant: the garbage collector, or a signal handler, may end us in the middle.
        self._lock = threading.RLock()
        self._ended = False
        self._released_at: float | None = None
        self._escaped: dict[int, ProcessInfo] = {}
        self._unclear: Unclear | None = None
        self._found_none = False
        self.blind: OSError | None = None
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
        return self._released_at is not None

    def poll(self) -> bool:
        """Return whether it has exited."""
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
                os.kill(self.pid, number)  # not reaped, so the number is still its own

    def terminate(self) -> None:
        """Ask the whole group to end."""
        with self._lock:
            self._signal_group(signal.SIGTERM)
            self._signal_group(signal.SIGCONT)  # a stopped process does not react to SIGTERM

    def kill(self) -> None:
        """Kill the whole group, and descendants of the process that have left the group."""
        with self._lock:
            if self.is_ours:
                self._kill(self._look() or {})

    def _kill(self, table: Table) -> None:
        self._signal_group(signal.SIGKILL)
        for process in self._escaped_alive(table):
            with suppress(OSError):
                if process.group == process.pid:
                    os.killpg(process.group, signal.SIGKILL)
                os.kill(process.pid, signal.SIGKILL)

    def _signal_group(self, number: int) -> None:
        if self.is_ours and not self._is_number_reused():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _is_number_reused(self) -> bool:
        """Whether another process has the number: it is given away only when the group is empty."""
        return self.is_released and _exists(self.pid)

    # --- processes that have left the group ------------------------------------------------------

    def note_descendants(self) -> None:
        """Note descendants outside the group: after the exit, unmarked ones cannot be found."""
        with self._lock:
            if self.is_ours and not self.poll():
                self._look()

    def _look(self) -> Table | None:
        """Look at all processes; return None if that is not possible now."""
        try:
            table = self._note_escaped()
            self.blind = None
        except OSError as error:
            self.blind = error
            guardian().is_certain = False
            return None
        return table

    def _note_escaped(self) -> Table:
        """Look at all processes; remember who has left the group, and who may have.

        Other children of ours that run are left out: only their own descendants matter.
        """
        table = process_table(without=guardian().listed)
        is_alive = not self.poll()
        family = descendants(self.pid, table) if is_alive else []
        if has_proc():
            marked, unclear = find_marked(self._mark, table, self._when_started())
            family += marked
            # A process that becomes unclear later is not ours, if none of ours is left to start it.
            if is_alive or marked:
                self._unclear = None
            else:
                self._unclear = unclear if self._unclear is None else self._unclear & unclear
        for process in family:
            if self.pid not in (process.pid, process.group):
                self._escaped[process.pid] = process
        return table

    def _when_started(self) -> str:
        """Return the time of the start. `/proc` has it until it is reaped."""
        if self._started is None:
            try:
                self._started = process_info(self.pid).started
            except OSError:  # other code in this process has reaped it, or there is no `/proc`
                self._started = _LONG_AGO
        return self._started

    def _escaped_alive(self, table: Table) -> list[ProcessInfo]:
        return [it for it in table.values() if not it.is_dead and self._has_escaped(it, table)]

    def _has_escaped(self, process: ProcessInfo, table: Table) -> bool:
        """Whether it was seen to have left the group, or is in the group of one that was."""
        before = self._escaped.get(process.pid)
        if before is not None:
            return process.started == before.started
        leader, leader_now = self._escaped.get(process.group), table.get(process.group)
        return leader is not None and (leader_now is None or leader_now.started == leader.started)

    # --- the end ---------------------------------------------------------------------------------

    def release(self) -> None:
        """Reap it, if it has exited. Its number is free from then on."""
        with self._lock:
            if not self.is_released and self.is_ours and self.poll():
                guardian().forget(self.pid)
                self._when_started()
                self._popen.wait()
                self._released_at = time.monotonic()

    def kill_rest(self) -> bool:
        """Kill all that is left of it; say whether anything was, or may be, left.

        A process that exits during a look may have started another, which was not in the list yet.
        So only two looks in a row that find none are sure.
        """
        with self._lock:
            if not self.is_released:
                self._signal_group(signal.SIGKILL)
                self.release()
            if self._released_at is None:
                self.kill()
                return self.is_ours
            if not (has_proc() or self._escaped or _exists(-self.pid)):
                return False  # there is no need to run `ps`
            table = self._look()
            before, self._found_none = self._found_none, False
            if table is None:
                return True
            _reap_orphans(self.pid)
            in_group = not self._is_number_reused() and any(
                it.group == self.pid and not it.is_dead for it in table.values()
            )
            if in_group or self._escaped_alive(table):
                self._kill(table)
                return True
            if self._unclear and time.monotonic() - self._released_at < _SHOWS_WITHIN:
                return True
            self._found_none = True
            return not before

    def end_now(self) -> None:
        """Kill it with all that it has started, and reap it, without waiting long."""
        with self._lock:
            if not self.is_ours or self.is_released:
                return
            deadline = time.monotonic() + BRIEFLY
            self.kill()
            poll = select.poll()
            poll.register(self.exited.fileno(), select.POLLIN)
            poll.poll(BRIEFLY * 1000)
            while self.kill_rest() and time.monotonic() < deadline:
                time.sleep(_PAUSE)

    def close(self) -> None:
        """Close all file descriptors."""
        for file in (self.stdin, self.stdout, self.stderr, self.exited):
            file.close()


_children: weakref.WeakSet[Child] = weakref.WeakSet()


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
    """Reap processes that have become our children: we may be the first one of a container."""
    with suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass


def _close_in_fork() -> None:
    # Otherwise a child would see the end of its input only after the fork has ended.
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
        cwd: its working directory.
        user: its user, with the groups of that user; this needs privileges.

    Raises:
        OSError: it cannot be started.
        ValueError: an argument is not possible.
        KeyError: there is no such user.
    """
    uid, gid, groups = _account(user)
    mark = guardian().new_mark()
    popen = None
    try:
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
        guardian().watch(popen.pid)
        return Child(popen, mark)
    except BaseException:
        if popen is None:
            _kill_marked(mark)  # a signal handler may have raised after the fork
            raise
        guardian().forget(popen.pid)
        os.killpg(popen.pid, signal.SIGKILL)  # not reaped, so the number is its own
        with popen:  # closes its pipes and reaps it
            raise


def _kill_marked(mark: str) -> None:
    """Kill and reap the processes with a mark that no `Child` owns, without waiting long."""
    deadline, born, found_none = time.monotonic() + BRIEFLY, set[int](), 0
    while has_proc() and found_none < 2 and time.monotonic() < deadline:
        with suppress(OSError):
            marked, unclear = find_marked(mark, process_table(), _LONG_AGO)
            found_none = 0 if marked or unclear else found_none + 1
            born.update(it.pid for it in marked)
            for process in marked:
                os.kill(process.pid, signal.SIGKILL)
        for pid in list(born):
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(_PAUSE)


def _account(user: str | int | None) -> tuple[int | None, int | None, list[int] | None]:
    """Look up a user, the user's group and further groups."""
    if user is None:
        return None, None, None
    import pwd

    entry = pwd.getpwnam(user) if isinstance(user, str) else pwd.getpwuid(user)
    # A process that gives up privileges has to give up those of its groups.
    return entry.pw_uid, entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)
