"""Children and their descendants, seen from as near as possible."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.processes import (
    ENV,
    PATIENCE,
    ended,
    group_of,
    is_alive,
    killed_in_the_end,
    shell,
)

from claudewire.transport.platforms import Child, child, marks, process_table, start
from claudewire.transport.platforms.process_table import ProcessInfo, Table

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="looks at /proc and at POSIX signals"
)


@contextmanager
def family(argv: tuple[str, ...]) -> Iterator[tuple[Child, int]]:
    """Start a program that prints a number; end it with all that it has started."""
    started = start(argv, env=ENV)
    try:
        yield started, int(line(started))
    finally:
        started.end_now()
        started.close()


def wait(fd: int) -> None:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    assert poll.poll(PATIENCE * 1000)


def line(child: Child) -> bytes:
    received = b""
    while not received.endswith(b"\n"):
        wait(child.stdout.fileno())
        chunk = child.stdout.read()
        assert chunk
        received += chunk
    return received


def end(child: Child) -> None:
    """End a child and kill the rest of it, within a bound."""
    child.terminate()
    wait(child.exited.fileno())
    deadline = time.monotonic() + PATIENCE
    while child.kill_rest():
        assert time.monotonic() < deadline


# --- the parts ------------------------------------------------------------------------------------


def test_child_that_cannot_be_adopted_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(pid: int) -> None:
        raise MemoryError(str(pid))

    monkeypatch.setattr(child, "watch_exit", fail)
    with pytest.raises(MemoryError) as caught:
        start(shell("exec sleep 1000"), env=ENV)
    assert not is_alive(int(str(caught.value)))


# --- whole families -------------------------------------------------------------------------------


def test_stranger_with_the_same_number_is_left_alone() -> None:
    """The number is put in by hand: a system gives a number again when it likes."""
    with family(shell("echo 1; exec sleep 1000")) as (gone, _):
        gone.end_now()
        with ended(subprocess.Popen(["sleep", "1000"], start_new_session=True)) as stranger:
            gone.pid = stranger.pid
            gone.kill()
            gone.terminate()
            gone.send_signal(signal.SIGKILL)
            assert not gone.kill_rest()
            stranger.send_signal(signal.SIGUSR1)  # any earlier signal would have come first
            assert stranger.wait(PATIENCE) == -signal.SIGUSR1


def test_starting_programs_of_others_do_not_delay_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine some processes show nothing at any time, and always others."""
    numbers = count(10**8)

    def busy_table(without: Container[int | str]) -> Table:
        number = next(numbers)
        return {number: ProcessInfo(number, 1, 1, False, str(2**60))}

    with family(shell("echo 1; exec cat")) as (it, _):
        it.kill()
        wait(it.exited.fileno())
        monkeypatch.setattr(child, "process_table", busy_table)
        monkeypatch.setattr(marks, "_marks_of", lambda pid: None)
        assert it.kill_rest()
        assert it.kill_rest()
        assert not it.kill_rest()


@pytest.mark.parametrize("error", [errno.EMFILE, errno.EIO])
def test_what_cannot_be_looked_at_counts_as_left(
    error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(pid: int, name: str, most: int) -> bytes:
        raise OSError(error, os.strerror(error))

    with family(shell("setsid sh -c 'echo $$; exec sleep 1000' & wait")) as (it, runaway):
        it.kill()
        wait(it.exited.fileno())
        with killed_in_the_end(runaway), monkeypatch.context() as patch:
            for module in (process_table, marks):
                patch.setattr(module, "read_proc", fail)
            it.note_descendants()
            assert it.kill_rest()
            assert it.kill_rest()
            assert it.blind is not None
            assert it.blind.errno == error
        end(it)
        assert not is_alive(runaway)


def test_look_without_a_trace_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that exits during a look may have started one that is not in its list."""
    looks = count()

    def first_without_marked(without: Container[int | str]) -> Table:
        return process_table.process_table(without) if next(looks) else {}

    with family(shell("setsid sh -c 'echo $$; exec sleep 1000' & exit")) as (it, runaway):
        wait(it.exited.fileno())
        it.release()
        with killed_in_the_end(runaway):
            monkeypatch.setattr(child, "process_table", first_without_marked)
            while it.kill_rest():
                pass
            assert not is_alive(runaway)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, TimeoutError])
def test_exception_after_the_fork_leaves_no_process(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of a signal handler."""
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def interrupted(*args: Any, **options: Any) -> None:
        started.append(popen(*args, **options))
        raise kind

    with family(shell("echo 1; exec cat")):  # there is a guardian
        monkeypatch.setattr(subprocess, "Popen", interrupted)
        with pytest.raises(kind):
            start(shell("trap '' TERM HUP; sleep 1000 & wait"), env=ENV)
        monkeypatch.undo()
    with started[0] as lost:
        assert not is_alive(lost.pid)
        assert group_of(lost.pid) == set()


ORPHANAGE = """
import ctypes, os, select, sys
from claudewire.transport.platforms import start
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans become our children, as those of process 1 do
family = start(("/bin/sh", "-c", "sleep 1000 & echo $!; exit"), env={"PATH": "/usr/bin:/bin"})
poll = select.poll()
poll.register(family.exited.fileno())
poll.poll()
orphan = int(family.stdout.read())
while family.kill_rest():
    pass
print(os.path.exists(f"/proc/{orphan}"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there are no subreapers")
def test_orphans_that_have_become_ours_are_reaped() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ORPHANAGE],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
    )
    assert done.stdout == "False\n"
