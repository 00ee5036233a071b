"""Ties the life of our children to ours, also when we are killed with SIGKILL.

One small shell for each host process, started with the first child. It reads on its stdin which
process groups and private folders there are. However we end, the kernel closes our end of that
pipe: then the guardian ends every group that is still listed, the processes that have left their
groups, and itself, and deletes the folders: they may hold tokens. It has its own session, so that
signals to our group do not reach it.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import threading
from contextlib import suppress
from functools import partial
from itertools import count

log: logging.Logger = logging.getLogger("claudewire.transport")

_SCRIPT = """\
trap '' HUP INT QUIT TERM PIPE USR1 USR2 TSTP
mark=$1
listed='
'
while read -r sign item; do
    case $sign in
        +) listed="$listed$item
" ;;
        -) case $listed in
            *"
$item
"*) listed="${listed%%"
$item
"*}
${listed#*"
$item
"}" ;;
        esac ;;
        .) exit 0 ;;
    esac
done
IFS='
'
set -f
groups=
for item in $listed; do
    case $item in /*) ;; *) groups="$groups
$item" ;; esac
done
for group in $groups; do
    kill -s TERM -- "-$group"
    kill -s CONT -- "-$group"
done 2>/dev/null
tries=20
while [ "$tries" -gt 0 ]; do
    left=
    for group in $groups; do
        kill -s 0 -- "-$group" 2>/dev/null && left="$left
$group"
    done
    groups=$left
    [ -z "$groups" ] && break
    tries=$((tries - 1))
    sleep 0.1 2>/dev/null || sleep 1
done
for group in $groups; do kill -s KILL -- "-$group"; done 2>/dev/null
for item in $listed; do
    case $item in /*) rm -rf -- "$item" ;; esac
done 2>/dev/null
set +f
tries=20
before=some
while [ "$tries" -gt 0 ]; do
    left=$(grep -lsF -e "$mark" /proc/[0-9]*/environ 2>/dev/null)
    [ -z "$left$before" ] && exit 0
    before=$left
    for file in $left; do
        pid=${file#/proc/}
        kill -s KILL "${pid%/environ}"
    done 2>/dev/null
    tries=$((tries - 1))
    sleep 0.1 2>/dev/null || sleep 1
done
"""
"""A group that has ended is taken from the list at once, because its number may be given to another
group. A dot says that all was ended in good order. Two seconds pass between TERM and KILL. Then the
folders are deleted, and, where there is a `/proc`, the processes are killed that have our mark in
their environment, until two looks have found none: a process that is just becoming another program
shows no environment."""

_SHELL = "/bin/sh"
_ENDS_WITHIN = 2.0
"""Seconds to wait for the guardian's own end, when we end in good order."""


class Guardian:
    """The shell, and the list of groups and folders. Safe to be used from several threads."""

    def __init__(self) -> None:
        # Re-entrant: the garbage collector may forget a group in the middle of anything.
        self._lock = threading.RLock()
        self._mark = f"{os.urandom(16).hex()}-"
        self._numbers = count(1)
        self.listed: set[int | str] = set()
        """The process groups and folders that are watched."""
        self.is_certain = True
        """Whether all children have been seen to end, with all that they had started."""
        self._shell: subprocess.Popen[bytes] | None = None
        self._pipe: int | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the shell; None while there is none."""
        return None if self._shell is None else self._shell.pid

    def new_mark(self) -> str:
        """Make a mark for a child and all that it starts. See `marks`."""
        return f"{self._mark}{next(self._numbers)}"

    def watch(self, item: int | str) -> None:
        """End a process group, or delete a folder, when we end."""
        with self._lock:
            self.listed.add(item)
            self._tell(f"+ {item}\n")

    def forget(self, item: int | str) -> None:
        """Leave a folder alone from now on, or a group whose leader is about to be reaped."""
        with self._lock:
            if item in self.listed:
                self.listed.discard(item)
                self._tell(f"- {item}\n")

    def _tell(self, line: str) -> None:
        if self._pipe is not None:
            try:
                os.write(self._pipe, os.fsencode(line))
            except OSError:
                # It was killed, or it hangs: another one takes its place.
                log.warning("The guardian process has ended or hangs; starting another")
                self._dismiss()
            else:
                return
        # The garbage collector may have started one just now, which knows of this line already.
        if self._pipe is None and self.listed:
            self._start()

    def _start(self) -> None:
        ours, theirs = None, None
        try:
            theirs, ours = os.pipe()
            os.set_blocking(ours, False)
            self._shell = _shell(theirs, self._mark)
            known = "".join(f"+ {item}\n" for item in self.listed)
            os.write(ours, os.fsencode(known))
            self._pipe, ours = ours, None
            run = partial(self._replace_killed, self._shell)
            threading.Thread(target=run, name="claudewire guardian", daemon=True).start()
        except OSError as error:
            log.warning(
                "Could not start a guardian process (%s): CLIs may outlive this process", error
            )
        finally:
            for end in (ours, theirs):
                if end is not None:
                    os.close(end)

    def _replace_killed(self, shell: subprocess.Popen[bytes]) -> None:
        """Start another guardian when this one is killed, also while no process starts or ends."""
        killed = shell.wait() < 0
        with self._lock:
            if killed and shell is self._shell:
                log.warning("The guardian process was killed; starting another")
                self._dismiss()
                self._start()

    def _dismiss(self) -> None:
        """Kill the shell before it sees the end of its input, which it would take for our end."""
        shell, pipe = self._shell, self._pipe
        self._shell = self._pipe = None
        if shell is not None:
            shell.kill()
            shell.wait()
        if pipe is not None:
            os.close(pipe)

    def _close(self) -> None:
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            os.close(pipe)

    def end(self) -> None:
        """End the guardian, and with it all listed groups."""
        with self._lock:
            has_groups = any(isinstance(item, int) for item in self.listed)
            if self._pipe is not None and not has_groups and self.is_certain:
                with suppress(OSError):
                    os.write(self._pipe, b".\n")
            self._close()
            shell, self._shell = self._shell, None
            if shell is not None:
                with suppress(subprocess.TimeoutExpired):
                    shell.wait(0 if has_groups else _ENDS_WITHIN)
                shell.returncode = shell.returncode or 0  # it ends later, without a wait
            self.listed.clear()

    def abandon(self) -> None:
        """Forget it in a forked child: it is the parent's, and must see the parent's end."""
        with suppress(OSError):
            self._close()
        if self._shell is not None:
            self._shell.returncode = 0
            self._shell = None


def _shell(stdin: int, mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [_SHELL, "-c", _SCRIPT, "claudewire-guardian", mark],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin"},
        cwd="/",
        start_new_session=True,
    )


_guardian = Guardian()


def guardian() -> Guardian:
    """The guardian of this process."""
    return _guardian


def watch_folder(path: str) -> None:
    """Have a folder deleted if this process ends before it is forgotten."""
    # The shell could misread other paths.
    if path.startswith("/") and "\n" not in path and path == path.strip():
        _guardian.watch(path)


def forget_folder(path: str) -> None:
    """Leave a folder alone from now on, after it was deleted."""
    _guardian.forget(path)


def _new_after_fork() -> None:
    global _guardian
    _guardian.abandon()
    _guardian = Guardian()


atexit.register(lambda: _guardian.end())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_after_fork)
