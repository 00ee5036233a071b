"""Children, their groups and what has left them, seen from as near as possible."""

from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.helpers.processes import (
    ENV,
    PATIENCE,
    descriptors,
    ended,
    group_of,
    is_alive,
    killed_in_the_end,
    python,
    shell,
)

from claudewire.transport.platforms import Child, exit_watcher, marks, start
from claudewire.transport.platforms import process_table as module
from claudewire.transport.platforms.child import _exists
from claudewire.transport.platforms.exit_watcher import PidfdWatcher, ThreadWatcher
from claudewire.transport.platforms.guardian import guardian
from claudewire.transport.platforms.marks import PROCESS_MARK, find_marked, with_mark
from claudewire.transport.platforms.process_table import (
    ProcessInfo,
    SharedTable,
    Table,
    _from_ps,
    _parsed,
    descendants,
    has_proc,
    process_info,
    process_table,
    read_proc,
)

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="looks at /proc and at POSIX signals"
)

Watcher = type[PidfdWatcher] | type[ThreadWatcher]


@pytest.fixture(params=[PidfdWatcher, ThreadWatcher])
def watcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Watcher:
    if request.param is ThreadWatcher:
        monkeypatch.delattr(os, "pidfd_open")
    kind: Watcher = request.param
    return kind


@contextmanager
def child(code: str) -> Iterator[Child]:
    """Start a shell and wait until it says that it is ready."""
    started = start(shell(code), env=ENV)
    try:
        assert line(started) is not None
        yield started
    finally:
        started.end_now()
        started.close()


def wait(fd: int) -> None:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    assert poll.poll(PATIENCE * 1000)


def wait_until_nothing_is_left(child: Child, *, killing: bool = False) -> None:
    """Look again and again, as all do that end a child, or kill what is left each time.

    One look is no answer: any process of the system that is just becoming a program may be its.
    """
    deadline = time.monotonic() + PATIENCE
    while child.is_left():
        assert time.monotonic() < deadline
        if killing:
            child.kill()


def line(child: Child) -> bytes:
    received = b""
    while not received.endswith(b"\n"):
        wait(child.stdout.fileno())
        chunk = child.stdout.read()
        assert chunk
        received += chunk
    return received


# --- the parts ------------------------------------------------------------------------------------


def test_a_pipe_does_not_block() -> None:
    with child("echo ready; exec cat") as cat:
        assert cat.stdout.read() is None
        written = 0
        while count := cat.stdin.write(memoryview(b"x" * 2**16)):
            written += count
        assert written >= 2**16


def test_the_way_of_watching_the_exit_suits_the_platform(
    watcher: Watcher,
) -> None:
    with child("echo ready; read x; exit 7") as shell:
        assert isinstance(shell.exited, watcher)
        assert not shell.poll()
        shell.stdin.close()
        wait(shell.exited.fileno())
        assert shell.poll()
        assert shell.returncode == 7
        assert shell.is_left()
        assert os.getpgid(shell.pid) == shell.pid  # not reaped, so the number is its own
        shell.release()
        assert shell.is_released
        wait_until_nothing_is_left(shell)


def test_without_pidfds_a_thread_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    with child("echo ready; exec sleep 1000") as sleeper:
        assert isinstance(sleeper.exited, ThreadWatcher)
        sleeper.send_signal(signal.SIGUSR1)
        wait(sleeper.exited.fileno())
        assert sleeper.poll()
        assert sleeper.returncode == -signal.SIGUSR1


def test_where_pidfds_are_not_permitted_a_thread_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(pid: int) -> int:
        raise PermissionError("a sandbox does not permit it")

    monkeypatch.setattr(os, "pidfd_open", refused)
    with child("echo ready; exec sleep 1000") as sleeper:
        assert isinstance(sleeper.exited, ThreadWatcher)


def test_a_watcher_that_cannot_be_made_closes_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []

    def refused(pid: int) -> int:
        raise PermissionError

    system = SimpleNamespace(pidfd_open=refused, close=closed.append)
    with monkeypatch.context() as patch:
        patch.setattr(exit_watcher, "os", system)
        with pytest.raises(PermissionError):
            PidfdWatcher(1)
        gc.collect()
    assert closed == []


def test_a_file_descriptor_may_be_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []
    system = SimpleNamespace(
        pidfd_open=lambda pid: 0,
        close=lambda fd: asked.append(("close", fd)),
        waitid=lambda *what: asked.append(what),
        P_PIDFD="fd",
        P_PID="pid",
        WEXITED=1,
        WNOHANG=2,
        WNOWAIT=4,
    )
    with monkeypatch.context() as patch:
        patch.setattr(exit_watcher, "os", system)
        watcher = PidfdWatcher(77)
        assert watcher.fileno() == 0
        assert not watcher.has_exited()
        watcher.close()
        watcher.close()
        assert not watcher.has_exited()
    assert asked == [("fd", 0, 7), ("close", 0), ("pid", 77, 7)]


def test_the_exit_status_of_a_process_that_is_not_our_child_is_unknown() -> None:
    stranger = ThreadWatcher(os.getppid())
    wait(stranger.fileno())
    while not stranger.has_exited():
        pass
    assert stranger.status is None
    stranger.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_what_may_not_be_signalled_exists() -> None:
    os.setresuid(65534, 65534, 0)
    try:
        assert _exists(1)
    finally:
        os.setresuid(0, 0, 0)


def test_one_that_cannot_be_adopted_is_not_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no more file descriptors")

    with child("echo ready; exec sleep 1000"):
        before, groups = descriptors(), set(guardian()._groups)
        monkeypatch.setattr("claudewire.transport.platforms.child._non_blocking", fail)
        with pytest.raises(OSError, match="no more file descriptors"):
            start(shell("exec sleep 1000"), env=ENV)
        assert descriptors() == before
        assert guardian()._groups == groups


def test_starting_takes_no_worker_thread(watcher: Watcher) -> None:
    before = set(threading.enumerate())
    with child("echo ready; exec sleep 1000"):
        assert len(set(threading.enumerate()) - before) == (watcher is ThreadWatcher)


def test_a_thread_that_waits_for_an_exit_does_not_keep_the_interpreter_from_ending() -> None:
    before = set(threading.enumerate())
    with child("echo ready; exec sleep 1000") as sleeper:
        watcher = ThreadWatcher(sleeper.pid)
        (thread,) = set(threading.enumerate()) - before
        assert (thread.daemon, thread.name) == (True, "claudewire exit")
        watcher.close()


# --- the table of processes -----------------------------------------------------------------------


def test_we_are_in_the_table() -> None:
    us = process_table()[os.getpid()]
    assert (us.parent, us.group, us.is_dead) == (os.getppid(), os.getpgid(0), False)


def test_the_table_may_be_that_of_another_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    """There, the number by which we know ourselves is nobody's, or that of another process."""
    us = os.getpid()
    module._our_start.cache_clear()
    monkeypatch.setattr(os, "getpid", lambda: 2**30)
    assert us in process_table()


def test_processes_that_are_older_than_this_one_are_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[int] = []

    def info(pid: int) -> ProcessInfo:
        read.append(pid)
        return process_info(pid)

    monkeypatch.setattr(module, "_elders", {})
    monkeypatch.setattr(module, "process_info", info)
    first, read_first = process_table(), {*read}
    read.clear()
    second = process_table()
    assert 1 in read_first
    assert 1 not in {*first, *second, *read}
    assert os.getpid() in {*first} & {*second} & {*read}


def test_children_that_run_are_not_read_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def read_file(pid: int, name: str, most: int) -> bytes:
        read.append(pid)
        return read_proc(pid, name, most)

    with child("echo ready; exec cat") as one, child("sleep 1000 & echo ready; wait") as other:
        [born] = group_of(other.pid) - {other.pid}
        for user in (module, marks):
            monkeypatch.setattr(user, "read_proc", read_file)
        one.note_descendants()
        assert born in read
        assert other.pid not in read


def test_a_number_that_an_older_process_had_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_elders", {str(os.getpid()): 2})
    assert os.getpid() in process_table()
    assert str(os.getpid()) not in module._elders


def test_processes_may_have_no_inodes_and_may_exit_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without an inode it cannot be told whether a number was given again."""
    inodes = {"1": 1, str(2**30): 3, "self": 4, "2": 6, "3": 5}

    @contextmanager
    def scandir(path: str) -> Iterator[list[SimpleNamespace]]:
        assert path == "/proc"
        yield [SimpleNamespace(name=it, inode=lambda it=it: inodes[it]) for it in inodes]

    def info(pid: int) -> ProcessInfo:
        return process_info(1 if pid < 3 else pid)._replace(pid=pid)

    module._our_start()
    monkeypatch.setattr(module, "_elders", {"3": 5})
    monkeypatch.setattr(module, "process_info", info)
    monkeypatch.setattr(os, "scandir", scandir)
    tables = [{*process_table()} for _ in range(2)]
    monkeypatch.undo()
    assert tables == [{1}, {1}]


def test_a_dead_one_is_told_from_one_that_runs() -> None:
    dead = subprocess.Popen(shell("exit"))
    wait_until_dead(dead.pid)
    try:
        assert process_table()[dead.pid].is_dead
    finally:
        dead.wait()
    assert dead.pid not in process_table()


def wait_until_dead(pid: int) -> None:
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.skipif(not Path("/bin/ps").exists(), reason="there is no ps")
def test_the_program_ps_tells_the_same() -> None:
    with child("sleep 1000 & echo ready; wait") as family:
        listed = {process.pid: process for process in _from_ps()}
        told = process_table()
        group = [pid for pid in told if told[pid].group == family.pid]
        assert len(group) == 2
        for pid in [*group, os.getpid()]:
            assert listed[pid][:4] == told[pid][:4]
        again = {process.pid: process for process in _from_ps()}
        assert all(listed[pid].started == again[pid].started for pid in group)


def test_where_there_is_no_ps_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert list(_from_ps()) == []


def other_ps(monkeypatch: pytest.MonkeyPatch, folder: Path, code: bytes) -> list[ProcessInfo]:
    """What is known with another program in the place of ps."""
    program = folder / "ps"
    program.write_bytes(b"#!/bin/sh\n" + code)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return list(_from_ps())


def test_ps_may_name_months_in_any_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = b"printf '7 1 7 Ss Mo 2 M\\344r 10:00:00 2026\\n8 7 7 Z+ Mo\\n'\n"
    assert other_ps(monkeypatch, tmp_path, code) == [
        ProcessInfo(7, 1, 7, False, "Mo 2 M\ufffdr 10:00:00 2026"),
        ProcessInfo(8, 7, 7, True, "Mo"),
    ]


def test_what_ps_says_is_of_no_use_if_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert other_ps(monkeypatch, tmp_path, b"echo 7 1 7 Ss Mo; exit 1\n") == []


def test_elsewhere_the_table_comes_from_ps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.exists", lambda path: False)
    assert os.getpid() in process_table()
    monkeypatch.undo()
    process_table()


def test_a_name_may_look_like_the_rest_of_the_line(tmp_path: Path) -> None:
    stat = b"12 (a) Z (b c) S 3 4 5 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 777 0 0"
    assert _parsed(12, stat) == ProcessInfo(12, 3, 4, False, "777")


def test_descendants_are_children_and_their_children() -> None:
    def one(pid: int, parent: int) -> ProcessInfo:
        return ProcessInfo(pid, parent, pid, False, "")

    table = {each.pid: each for each in [one(1, 0), one(2, 1), one(3, 2), one(4, 3), one(5, 1)]}
    assert {each.pid for each in descendants(2, table)} == {3, 4}
    assert {each.pid for each in descendants(1, table)} == {2, 3, 4, 5}
    assert descendants(4, table) == []
    # A table is not made in one moment: numbers may have been given again in between.
    circle = {each.pid: each for each in [one(1, 2), one(2, 1)]}
    assert {each.pid for each in descendants(1, circle)} == {1, 2}


def test_a_table_is_shared_by_all_that_ask_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    reads: list[float] = []

    def read(without: Container[int]) -> Table:
        reads.append(clock.now)
        clock.now += 0.5
        return {}

    monkeypatch.setattr(module, "process_table", read)
    monkeypatch.setattr(module, "time", clock)
    shared = SharedTable()
    shared.get(since=0.0)
    # Those who need a newer one wait a while, so that others can have the same.
    assert shared.due_in(since=0.5) == 0.0
    assert shared.due_in(since=1.5) == 10.5
    shared.get(since=0.5)
    assert shared.due_in(since=1.5) == 11.0  # the more there are, the longer
    for _ in range(100):
        shared.get(since=0.0)
    assert reads == [1.0]
    assert shared.due_in(since=1.5) == 30.0
    clock.now += 30.0
    assert shared.due_in(since=1.5) == 0.0
    for since in (1.5, 2.0, 3.5, 31.5):
        shared.get(since)
    shared.get()
    assert reads == [1.0, 31.5, 32.0]


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.now = 1.0

    def monotonic(self) -> float:
        return self.now


# --- marks ----------------------------------------------------------------------------------------


def test_a_mark_is_added_to_those_that_we_have_ourselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PROCESS_MARK, raising=False)
    assert with_mark({"A": "b"}, "m-1") == {"A": "b", PROCESS_MARK: "m-1"}
    monkeypatch.setenv(PROCESS_MARK, "o-7")
    assert with_mark({}, "m-1") == {PROCESS_MARK: "o-7 m-1"}


def test_a_mark_is_found_with_all_that_descend_from_it() -> None:
    outer, inner = "outer-1", "outer-1 inner-12"
    with (
        shows_its_environment({PROCESS_MARK: outer}) as one,
        shows_its_environment({PROCESS_MARK: inner}) as two,
    ):
        table, since = process_table(), process_info(one).started
        for _ in range(2):  # the second time from memory
            assert marked("outer-1", table, since) == {one, two}
            assert marked("inner-12", table, since) == {two}
            assert marked("inner-1", table, since) == set()
        later = str(int(process_info(two).started) + 1)
        other = dict(table)
        assert marked("outer-1", other, later) == set()
        assert marked("outer-1", other, since) == {one, two}
        assert {pid for pid, _ in marks._known} >= {one, two}
        assert marked("outer-1", {}, since) == set()
        assert marks._known == {}


@contextmanager
def shows_its_environment(env: dict[str, str]) -> Iterator[int]:
    """Start a program that has begun, and becomes no other: such a one shows nothing meanwhile."""
    popen = subprocess.Popen(
        shell("echo ready; read x"),
        env={**ENV, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with ended(popen):
        assert popen.stdout is not None
        assert popen.stdout.readline() == b"ready\n"
        yield popen.pid


def marked(mark: str, table: Table, since: str) -> set[int]:
    return {process.pid for process in find_marked(mark, table, since).processes}


def test_what_cannot_be_looked_at_has_no_mark() -> None:
    nobody = ProcessInfo(2**30, 1, 1, is_dead=False, started="0")
    dead = ProcessInfo(os.getpid(), 1, 1, is_dead=True, started="0")
    assert find_marked("m-1", {it.pid: it for it in (nobody, dead)}, "0") == ([], frozenset())


def shows_nothing(monkeypatch: pytest.MonkeyPatch, number: int, parent: int = 1) -> ProcessInfo:
    monkeypatch.setattr("claudewire.transport.platforms.marks._read", lambda pid, name: b"")
    return ProcessInfo(2**30 + number, parent, 1, is_dead=False, started=str(2**60))


def test_one_that_is_just_becoming_a_program_may_have_a_mark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blank = shows_nothing(monkeypatch, 1)
    table = {blank.pid: blank}
    assert find_marked("m-1", table, "0") == ([], frozenset({(blank.pid, blank.started)}))
    # Or it will never show anything.
    monkeypatch.setattr("claudewire.transport.platforms.marks._SHOWS_WITHIN", -1.0)
    assert find_marked("m-1", table, "0") == ([], frozenset())
    monkeypatch.undo()
    shows_nothing(monkeypatch, 1)
    assert find_marked("m-1", table, "0") == ([], frozenset())


def test_one_that_showed_nothing_is_looked_at_again_in_the_same_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = iter([None, frozenset({"m-1"})])
    monkeypatch.setattr(marks, "_marks_of", lambda pid: next(shown))
    blank = ProcessInfo(2**30 + 7, 1, 1, is_dead=False, started=str(2**60))
    table = {blank.pid: blank}
    assert find_marked("m-1", table, "0") == ([], frozenset({(blank.pid, blank.started)}))
    assert find_marked("m-1", table, "0") == ([blank], frozenset())
    assert find_marked("m-1", table, str(2**60)) == ([blank], frozenset())
    assert find_marked("m-1", table, str(2**60 + 1)) == ([], frozenset())


def test_one_that_has_no_environment_has_no_mark() -> None:
    popen = subprocess.Popen(
        shell("echo ready; read x"), env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with ended(popen):
        assert popen.stdout is not None
        assert popen.stdout.readline() == b"ready\n"
        bare = process_info(popen.pid)
        assert find_marked("m-1", {bare.pid: bare}, bare.started) == ([], frozenset())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look at what is exiting")
def test_one_that_is_exiting_may_have_a_mark() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        # What it has left to do is the kernel's: its memory is gone, with its environment.
        exiting = process_info(process.pid)._replace(is_dead=False)
        found = find_marked("m-1", {exiting.pid: exiting}, exiting.started)
    assert found == ([], frozenset({(exiting.pid, exiting.started)}))


def test_a_thread_of_the_kernel_has_no_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    blank = shows_nothing(monkeypatch, 2, parent=2)
    assert find_marked("m-1", {blank.pid: blank}, "0") == ([], frozenset())


def test_members_of_groups_that_are_known_need_no_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of CLIs may start and exit while one of them is being closed."""
    blank = shows_nothing(monkeypatch, 3)
    table = {blank.pid: blank}
    assert find_marked("m-1", table, "0", groups={blank.group}) == ([], frozenset())


def test_a_mark_is_found_in_a_long_environment() -> None:
    long = {f"LONG_{number}": "x" * 50_000 for number in range(3)}
    with shows_its_environment({**long, PROCESS_MARK: "m-1"}) as one:
        assert marked("m-1", process_table(), process_info(one).started) == {one}


def test_what_a_child_has_left_is_found_although_its_start_was_never_looked_at() -> None:
    started = start(shell("setsid sh -c 'echo $$; sleep 1000; :' &"), env=ENV)
    try:
        left = int(line(started))
        with killed_in_the_end(left):
            wait(started.exited.fileno())
            started.release()
            assert started.is_left()
            wait_until_nothing_is_left(started, killing=True)
            assert not is_alive(left)
    finally:
        started.end_now()
        started.close()


def test_programs_of_others_that_are_just_starting_do_not_hold_up_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine there are some at any time, and always others."""
    numbers = count(10)

    def busy_table(without: Container[int]) -> Table:
        blank = shows_nothing(monkeypatch, next(numbers))
        return {blank.pid: blank}

    with child("echo ready; exec cat") as process:
        process.kill()
        wait(process.exited.fileno())
        process.release()
        monkeypatch.setattr(module, "process_table", busy_table)
        assert process.is_left()
        assert not process.is_left()


# --- whole families -------------------------------------------------------------------------------


def test_end_now_ends_all_at_once(watcher: Watcher) -> None:
    code = "trap '' TERM; sleep 1000 & sleep 1000 & echo ready; while :; do wait; done"
    with child(code) as family:
        assert len(group_of(family.pid)) == 3
        family.end_now()
        assert family.is_released
        assert group_of(family.pid) == set()
        assert not family.is_left()
        assert family.pid not in guardian()._groups
        family.end_now()


RUNAWAY = """
    import signal, subprocess, sys
    born = subprocess.Popen(["sh", "-c", "sleep 1000 & wait"], start_new_session=True)
    print(born.pid, flush=True)
    signal.pause()
"""


def test_what_has_left_the_group_is_killed_as_long_as_it_is_known_whose_it_is() -> None:
    parent = start(python(RUNAWAY), env=ENV)
    try:
        runaway = int(line(parent))
        with killed_in_the_end(runaway):
            assert parent.pid != os.getpgid(runaway) == runaway
            parent.terminate()
            wait(parent.exited.fileno())
            parent.release()
            assert is_alive(runaway)
            assert parent.is_left()
            wait_until_nothing_is_left(parent, killing=True)
            assert not is_alive(runaway)
            assert group_of(runaway) == set()
    finally:
        parent.end_now()
        parent.close()


LEADERLESS = """
    import signal, subprocess
    code = "sleep 1000 >/dev/null & echo $!"
    leader = subprocess.run(["sh", "-c", code], start_new_session=True, stdout=subprocess.PIPE)
    print(leader.stdout.decode(), end="", flush=True)
    signal.pause()
"""


def test_one_that_is_left_of_another_group_is_killed_alone() -> None:
    parent = start(python(LEADERLESS), env=ENV)
    try:
        left = int(line(parent))
        with killed_in_the_end(left):
            assert os.getpgid(left) not in (left, parent.pid)
            deadline = time.monotonic() + PATIENCE
            while is_alive(left) and time.monotonic() < deadline:
                parent.kill()
            assert not is_alive(left)
    finally:
        parent.end_now()
        parent.close()


def test_a_system_without_proc_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_proc()
    monkeypatch.setattr("os.path.exists", lambda path: path != "/proc/self/stat")
    assert not has_proc()


def test_a_fork_of_us_does_nothing_to_it() -> None:
    code = "sleep 1000 & setsid sh -c 'echo $$; exec sleep 1000' & wait"
    family = start(shell(code), env=ENV)
    try:
        runaway = int(line(family))
        with killed_in_the_end(runaway):
            family.note_descendants()
            family._owner += 1
            family.kill()
            family.terminate()
            family.send_signal(signal.SIGKILL)
            family.end_now()
            family.release()
            assert not family.poll()
            family._owner -= 1
            assert len(group_of(family.pid)) == 2
            assert is_alive(runaway)
            assert not family.poll()
            assert not family.is_released
    finally:
        family.end_now()
        family.close()


def test_what_has_been_started_since_the_look_in_another_group_is_killed_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parent = start(python(RUNAWAY), env=ENV)
    try:
        runaway = int(line(parent))
        with killed_in_the_end(runaway):
            deadline = time.monotonic() + PATIENCE
            while len(group_of(runaway)) < 2:
                assert time.monotonic() < deadline
            (young,) = group_of(runaway) - {runaway}
            before = process_table({young})
            monkeypatch.setattr(module, "process_table", lambda without: before)
            parent.kill()
            monkeypatch.undo()
            while is_alive(young):
                assert time.monotonic() < deadline
    finally:
        parent.end_now()
        parent.close()


def test_what_is_known_of_an_exit_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number may be given to another process, which may be ours, too."""
    with child("echo ready; read x; exit 7") as shell:
        began = process_info(shell.pid).started
        shell.stdin.close()
        wait(shell.exited.fileno())
        assert shell.poll()
        monkeypatch.setattr(shell.exited, "status", 8)
        assert shell.poll()
        assert shell.returncode == 7
        shell.release()
        assert shell._when_started() == began


def test_a_process_that_shows_nothing_is_ours_no_longer_although_others_look_for_younger_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(marks, "time", clock)
    monkeypatch.setattr(marks, "_marks_of", lambda pid: None)
    older, younger = (ProcessInfo(10**8 + at, 1, 1, False, str(at)) for at in (5, 9))

    def unclear(since: str) -> set[int]:
        table = {older.pid: older, younger.pid: younger}
        return {pid for pid, _ in find_marked("mark", table, since).unclear}

    assert unclear("5") == {older.pid, younger.pid}
    clock.now = 1.0
    assert unclear("9") == {younger.pid}
    clock.now = 2.0
    assert unclear("5") == {older.pid, younger.pid}
    clock.now = 2.5
    assert unclear("5") == set()
    assert marks._unclear == {}
    gone = ProcessInfo(10**8 + 7, 1, 1, False, "7")
    assert find_marked("mark", {gone.pid: gone}, "0").unclear
    assert not find_marked("mark", {}, "9").unclear
    assert marks._unclear == {}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_does_not_wait_for_a_thread_that_was_looking_at_the_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    us, is_looking, may_go_on = os.getpid(), threading.Event(), threading.Event()

    def look(without: Container[int] = ()) -> Table:
        if os.getpid() == us:
            is_looking.set()
            assert may_go_on.wait(PATIENCE)
        return process_table(without)

    with child("echo ready; exec sleep 1000") as family:
        monkeypatch.setattr(module, "process_table", look)
        thread = threading.Thread(target=family.note_descendants)
        thread.start()
        assert is_looking.wait(PATIENCE)
        pid = os.fork()
        if pid == 0:  # pragma: no cover
            try:
                signal.alarm(int(PATIENCE))
                start(shell("exec sleep 1000"), env=ENV).end_now()
                os._exit(0)
            finally:
                os._exit(1)
        may_go_on.set()
        thread.join()
        with killed_in_the_end(pid):
            assert os.waitpid(pid, 0)[1] == 0


def test_a_stranger_that_has_got_the_number_is_left_alone() -> None:
    """The number is put in by hand: a system gives a number again when it likes."""
    with child("echo ready; exec sleep 1000") as gone:
        gone.end_now()
        assert gone.is_released
        with ended(subprocess.Popen(["sleep", "1000"], start_new_session=True)) as stranger:
            gone.pid = stranger.pid
            gone.kill()
            gone.terminate()
            gone.send_signal(signal.SIGKILL)
            gone.end_now()
            assert not gone.is_left()
            assert stranger.poll() is None
            stranger.send_signal(signal.SIGUSR1)  # any that came before would have come first
            assert stranger.wait(PATIENCE) == -signal.SIGUSR1


@pytest.mark.parametrize(
    ("escaped", "is_killed"),
    [("the leader", True), ("another leader before", False), ("a leader that is gone", True)],
)
def test_members_of_a_group_are_killed_if_its_leader_was_one_of_ours(
    escaped: str, is_killed: bool
) -> None:
    """Numbers may be given again: what was started at another time is another process."""
    code = (
        "sh -c 'echo $$; exec sleep 1000' & wait"
        if "gone" not in escaped
        else "sleep 1000 & echo $!"
    )
    popen = subprocess.Popen(shell(code), stdout=subprocess.PIPE, bufsize=0, start_new_session=True)
    with child("echo ready; exec sleep 1000") as gone, ended(popen) as leader:
        assert leader.stdout is not None
        member = int(leader.stdout.readline())
        with killed_in_the_end(member):
            seen = process_info(leader.pid)
            if escaped == "a leader that is gone":
                leader.wait(PATIENCE)
            elif escaped == "another leader before":
                seen = seen._replace(started="1")
            gone.end_now()
            gone._escaped[seen.pid] = seen
            assert gone.is_left() is is_killed
            gone.kill()
            if is_killed:
                wait_until_nothing_is_left(gone, killing=True)
            assert is_alive(member) is not is_killed


ORPHANAGE = """
import ctypes, os, select, sys
from claudewire.transport.platforms import start
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans become our children, as those of process 1 do
family = start(("/bin/sh", "-c", "sleep 1000 & echo $!; exit"), env={"PATH": "/usr/bin:/bin"})
poll = select.poll()
poll.register(family.exited.fileno())
poll.poll()
orphan = int(family.stdout.read())
family.kill()
family.release()
while family.is_left():
    family.kill()
print(os.path.exists(f"/proc/{orphan}"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there are no subreapers")
def test_orphans_that_have_become_ours_are_reaped() -> None:
    told = subprocess.run(
        [sys.executable, "-c", ORPHANAGE],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
    )
    assert told.stdout == "False\n"


# --- Windows --------------------------------------------------------------------------------------

ON_WINDOWS = """
import os, sys, anyio, asyncio, subprocess
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "killpg", "pidfd_open", "register_at_fork", "set_blocking", "waitid"):
    delattr(os, name)
import claudewire, claudewire.sync
sys.platform = "win32"

async def main():
    print((await claudewire.run("Hello", cli="simulated")).ok)
    try:
        await claudewire.run("Hello")
    except claudewire.CLIError as error:
        print(error.message)

anyio.run(main)
"""


def test_on_windows_the_library_loads_and_says_that_it_cannot_start_a_cli() -> None:
    told = subprocess.run(
        [sys.executable, "-c", ON_WINDOWS],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
    )
    loads, refusal = told.stdout.splitlines()
    assert loads == "True"
    assert "cannot start a CLI on Windows" in refusal
