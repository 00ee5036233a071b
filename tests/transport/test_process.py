"""A process as a transport: nothing that it says is lost, and nothing of it is left."""

from __future__ import annotations

import array
import asyncio
import fcntl
import gc
import logging
import os
import signal
import subprocess
import termios
import threading
import weakref
from collections.abc import Awaitable, Callable, Container
from functools import partial
from itertools import count
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from tests.helpers.processes import (
    ENV,
    PATIENCE,
    death,
    descriptors,
    ended,
    everything,
    group_of,
    is_alive,
    killed_in_the_end,
    line,
    numbers,
    python,
    running,
    shell,
)

from claudewire.concurrency import Signal
from claudewire.errors import Cause, CLIError, TransportClosed
from claudewire.transport import Launch, ProcessTransport, Transport, spawn
from claudewire.transport import process as process_module
from claudewire.transport.platforms import Child, child, exit_watcher, marks, process_table

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at /proc"),
]

SLEEPER = shell("echo ready; exec sleep 1000")
STUBBORN = shell("trap '' TERM; echo ready; while :; do sleep 1000; done")
DEAF = python(
    """
    import shutil, signal, sys
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    print("ready", flush=True)
    signal.sigwait([signal.SIGUSR1])
    shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)
    """
)
"""Reads nothing until it gets a signal, and then repeats all that it reads."""
WITH_FAMILY = python(
    """
    import os, signal, subprocess, sys
    sleep = ["sleep", "1000"]
    born = [subprocess.Popen(sleep), subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 1000"])]
    print(*(process.pid for process in born), flush=True)
    signal.pause()
    """
)
WITH_RUNAWAY = python(
    """
    import signal, subprocess, sys
    born = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 1000; done"],
                            start_new_session=True)
    print(born.pid, flush=True)
    signal.pause() if sys.argv[1:] == ["stay"] else sys.exit(7)
    """
)
"""Starts a child that leaves the group, and holds its pipes."""


@pytest.fixture(params=["pidfd", "thread"])
def watcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the exit is noticed: on macOS by a thread."""
    if request.param == "thread":
        monkeypatch.setattr(exit_watcher, "PidfdWatcher", exit_watcher.ThreadWatcher)
    return str(request.param)


# --- bytes ----------------------------------------------------------------------------------------


async def test_without_tasks_stderr_and_the_exit_are_heard_of_too(anyio_backend: str) -> None:
    heard: list[bytes] = []
    statuses: list[int | None] = []
    changed = Signal()

    def hear(data: bytes) -> None:
        heard.append(data)
        raise ZeroDivisionError("in the function that hears")

    def exited(status: int | None) -> None:
        statuses.append(status)
        changed.notify()

    failures: list[BaseException] = []
    async with running(shell("echo problem >&2; read line; exit 7")) as process:
        is_watched = process.watch(hear, exited, failures.append)
        assert is_watched is (anyio_backend == "asyncio")
        if is_watched:
            await process.send(b"go on\n")
            with anyio.fail_after(PATIENCE):
                await changed.until(lambda: bool(statuses))
                assert await process.wait() == 7
            assert [b"".join(heard), statuses] == [b"problem\n", [7]]
            assert [type(failure) for failure in failures] == [ZeroDivisionError]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_without_tasks_an_exit_is_heard_of_also_if_it_is_not_clear_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statuses: list[int | None] = []
    changed, looks = Signal(), count(1)

    def exited(status: int | None) -> None:
        statuses.append(status)
        changed.notify()

    async with running(shell("read line; exit 7")) as process:
        poll = process._child.poll
        assert process.watch(lambda data: None, exited, lambda error: None)
        with monkeypatch.context() as patch:
            patch.setattr(process._child, "poll", lambda: next(looks) > 2 and poll())
            await process.send(b"go on\n")
            with anyio.fail_after(PATIENCE):
                await changed.until(lambda: bool(statuses))
    assert statuses == [7]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_those_that_have_watched_it_are_forgotten_with_its_end() -> None:
    class Watcher:
        def __call__(self, *told: object) -> None:
            pass

    watchers = [Watcher(), Watcher(), Watcher()]
    async with running(shell("exec cat")) as process:
        assert process.watch(*watchers)
        await process.aclose()
        left = [weakref.ref(it) for it in watchers]
        watchers.clear()
        await anyio.lowlevel.checkpoint()
        assert [it() for it in left] == [None] * 3


async def test_it_is_a_transport(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "claudewire.transport")
    async with running(SLEEPER) as process:
        assert caplog.messages == [f"Started /bin/sh, pid {process.pid}"]
        transport: Transport = process
        assert await transport.receive() == b"ready\n"
        assert repr(process) == f"<ProcessTransport pid={process.pid} running>"
    assert repr(process) == f"<ProcessTransport pid={process.pid} exited with -15>"


async def test_64_mib_go_through_in_both_directions_byte_by_byte() -> None:
    data = array.array("Q", range(8 * 2**20)).tobytes()
    async with running(shell("exec cat")) as process:

        async def send() -> None:
            await process.send(data)
            await process.send_eof()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            received = await everything(process.receive)
        assert len(received) == len(data)
        assert received == data
        assert await process.wait() == 0


async def test_what_several_tasks_send_is_not_mixed_up() -> None:
    lines = [b"%02d" % number * 50_000 for number in range(20)]
    async with running(shell("exec cat")) as process:
        received: list[bytes] = []

        async def receive() -> None:
            received.extend((await everything(process.receive)).splitlines())

        async with anyio.create_task_group() as receiving:
            receiving.start_soon(receive)
            async with anyio.create_task_group() as sending:
                for each in lines:
                    sending.start_soon(process.send, each + b"\n")
            await process.send_eof()
        assert sorted(received) == lines


async def test_a_cancelled_receive_loses_nothing() -> None:
    expected = b"".join(b"%d\n" % number for number in range(200_000))
    program = python("for number in range(200_000): print(number)")
    async with running(program) as process:
        received, cancelled, ended = b"", 0, False
        while not ended:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(cancel_soon, scope, cancelled % 7)
                    chunk = await process.receive()
                    received += chunk
                    ended = not chunk
                    tasks.cancel_scope.cancel()
            cancelled += scope.cancelled_caught
        assert received == expected
        assert cancelled > 5


async def cancel_soon(scope: anyio.CancelScope, steps: int) -> None:
    for _ in range(steps):
        await anyio.lowlevel.checkpoint()
    scope.cancel()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_receive_that_is_cancelled_by_force_loses_nothing() -> None:
    expected = b"".join(b"%d\n" % number for number in range(200_000))
    async with running(python("for number in range(200_000): print(number)")) as process:
        received, cancelled, ended = b"", 0, False
        while not ended:
            task = asyncio.ensure_future(process.receive())
            for _ in range(cancelled % 5):
                await asyncio.sleep(0)
            task.cancel()
            try:
                chunk = await task
            except asyncio.CancelledError:
                cancelled += 1
            else:
                received += chunk
                ended = not chunk
            if not cancelled % 5:
                chunk = await process.receive()
                received += chunk
                ended = not chunk
        assert received == expected
        assert cancelled > 5


async def test_what_a_cancelled_send_has_begun_is_finished_before_anything_else() -> None:
    begun = array.array("Q", range(2**18)).tobytes()
    async with running(DEAF) as process:
        assert await line(process) == b"ready"
        await cancelled_when_stuck(process, lambda: process.send(begun))
        await cancelled_when_stuck(process, lambda: process.send(b"never begun"))
        await cancelled_when_stuck(process, process.send_eof)
        process.send_signal(signal.SIGUSR1)
        async with anyio.create_task_group() as tasks:

            async def send() -> None:
                await process.send(b"the end")
                await process.send_eof()

            tasks.start_soon(send)
            assert await everything(process.receive) == begun + b"the end"
        assert await process.wait() == 0


async def test_what_a_cancelled_send_has_not_begun_is_not_sent() -> None:
    async with running(DEAF) as process:
        assert await line(process) == b"ready"
        full = b"x" * fcntl.fcntl(process._child.stdin.fileno(), fcntl.F_GETPIPE_SZ)
        await process.send(full)
        await cancelled_when_stuck(process, lambda: process.send(b"never begun"))
        process.send_signal(signal.SIGUSR1)
        await process.send(b"the end")
        await process.send_eof()
        assert await everything(process.receive) == full + b"the end"


async def cancelled_when_stuck(
    process: ProcessTransport, function: Callable[[], Awaitable[None]]
) -> None:
    """Cancel what waits because stdin is full."""

    async def run() -> None:
        with scope:
            await function()

    scope = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        while not stdin_is_full(process):
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
    assert scope.cancelled_caught


def stdin_is_full(process: ProcessTransport) -> bool:
    pipe = process._child.stdin.fileno()
    unread = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, unread)
    return unread[0] == fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ)


async def test_stderr_is_received_apart() -> None:
    flood = python("import sys; sys.stderr.write('e' * 10**7); print('out')")
    async with running(flood) as process:
        received: list[bytes] = []

        async def receive() -> None:
            received.append(await everything(process.receive))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            assert await everything(process.receive_stderr) == b"e" * 10**7
        assert received == [b"out\n"]
        assert await process.receive() == b""
        assert await process.receive_stderr() == b""


async def test_sending_to_a_process_that_has_closed_its_stdin_is_an_error() -> None:
    async with running(shell("exec <&-; echo ready; exec sleep 1000")) as process:
        assert await line(process) == b"ready"
        with pytest.raises(TransportClosed):
            await send_for_ever(process)
        with pytest.raises(TransportClosed):
            await process.send(b"x" * 2**20)
        await process.send_eof()
        assert process.is_alive


async def send_for_ever(process: ProcessTransport) -> None:
    while True:
        await process.send(b"x" * 2**20)


async def test_after_the_end_of_input_nothing_can_be_sent() -> None:
    async with running(shell("exec cat")) as process:
        await process.send(b"hello")
        await process.send_eof()
        await process.send_eof()
        with pytest.raises(TransportClosed, match="stdin of the process is closed"):
            await process.send(b"hello")
        assert await everything(process.receive) == b"hello"


async def test_a_process_may_close_its_stdout_and_live_on() -> None:
    async with running(shell("exec >&-; exec sleep 1000")) as process:
        assert await process.receive() == b""
        assert process.is_alive
        assert process.returncode is None
    assert process.returncode == -signal.SIGTERM


# --- without a wait -------------------------------------------------------------------------------


class Chunks:
    """What `pump` hands over."""

    def __init__(self) -> None:
        self.data = b""
        self._arrived = Signal()

    def take(self, data: bytes) -> None:
        self.data += data
        self._arrived.notify()

    async def until(self, data: bytes) -> None:
        await self._arrived.until(lambda: self.data == data)


async def pumped(process: ProcessTransport) -> bytes:
    chunks = Chunks()
    await process.pump(chunks.take)
    return chunks.data


async def test_all_that_it_writes_is_handed_over_as_it_arrives() -> None:
    async with running(python("import sys; print(sys.stdin.read(), end='x' * 10**6)")) as process:
        assert process.send_now(b"hello ") == 6
        await process.send(b"you")
        assert process.send_now(b"!") == 1
        await process.send_eof()
        assert await pumped(process) == b"hello you!" + b"x" * 10**6
        assert await pumped(process) == b""


async def test_what_it_writes_while_it_is_closed_is_handed_over() -> None:
    last_words = shell("trap 'echo bye; exit' TERM; echo hello; while :; do sleep 0.01; done")
    async with running(last_words) as process:
        chunks = Chunks()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(process.pump, chunks.take)
            await chunks.until(b"hello\n")
            await process.aclose()
        assert chunks.data == b"hello\nbye\n"
        assert await pumped(process) == b""


async def test_what_was_read_before_it_was_handed_over_comes_first() -> None:
    async with running(shell("echo hello; echo bye")) as process:
        await process.wait()
        await process.aclose()
        assert await pumped(process) == b"hello\nbye\n"


async def test_handing_over_can_be_cancelled_and_continued() -> None:
    async with running(shell("exec cat")) as process:
        chunks = Chunks()
        for number in range(3):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(process.pump, chunks.take)
                await process.send(b"%d" % number)
                await chunks.until(b"012"[: number + 1])
                tasks.cancel_scope.cancel()
        await process.send(b"the end")
        await process.send_eof()
        assert await pumped(process) == b"the end"


async def test_an_error_of_the_function_ends_the_handing_over() -> None:
    def fail(data: bytes) -> None:
        raise ValueError(data)

    async with running(shell("echo hello; exec cat")) as process:
        with pytest.raises(ValueError, match="hello"):
            await process.pump(fail)
        await process.send(b"more")
        assert await process.receive() == b"more"


async def test_without_a_task_all_is_handed_over_until_an_error_and_then_by_one(
    anyio_backend: str,
) -> None:
    chunks, ends = Chunks(), list[BaseException | None]()

    def take(data: bytes) -> None:
        chunks.take(data)
        if data == b" enough":
            raise ZeroDivisionError

    async with running(shell("exec cat")) as process:
        is_pumped = process.pump_without_task(take, ends.append)
        assert is_pumped is (anyio_backend == "asyncio")
        if is_pumped:
            await process.send(b"hello")
            await chunks.until(b"hello")
            await process.send(b" enough")
            await chunks.until(b"hello enough")
            assert [type(error) for error in ends] == [ZeroDivisionError]
        await process.send(b"more")
        await process.send_eof()
        assert await pumped(process) == b"more"


async def test_what_a_full_pipe_does_not_take_is_not_sent_at_once() -> None:
    async with running(DEAF) as process:
        assert await line(process) == b"ready"
        size = fcntl.fcntl(process._child.stdin.fileno(), fcntl.F_GETPIPE_SZ)
        assert process.send_now(b"x" * 2 * size) == size
        assert process.send_now(b"x") == 0
        await cancelled_when_stuck(process, lambda: process.send(b"never begun"))
        process.send_signal(signal.SIGUSR1)
        await process.send(b"the end")
        await process.send_eof()
        assert await pumped(process) == b"x" * size + b"the end"
        with pytest.raises(TransportClosed, match="stdin of the process is closed"):
            process.send_now(b"hello")


async def test_nothing_is_sent_at_once_in_the_middle_of_something_else() -> None:
    async with running(DEAF) as process:
        assert await line(process) == b"ready"
        begun = b"x" * 2 * fcntl.fcntl(process._child.stdin.fileno(), fcntl.F_GETPIPE_SZ)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(process.send, begun)
            await anyio.wait_all_tasks_blocked()
            assert process.send_now(b"not now") == 0
            process.send_signal(signal.SIGUSR1)
        await process.send_eof()
        assert await pumped(process) == begun


# --- how it ends ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("exit 0", 0),
        ("exit 3", 3),
        ("exit 255", 255),
        ("kill -TERM $$", -15),
        ("kill -KILL $$", -9),
        ("kill -SEGV $$", -11),
    ],
)
async def test_how_it_exited_is_told_to_all_who_wait(code: str, status: int, watcher: str) -> None:
    async with running(shell(f"read x; {code}")) as process:
        told: list[int | None] = []

        async def wait() -> None:
            told.append(await process.wait())

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert process.is_alive
            await process.send(b"\n")
        assert told == [status] * 5
        assert process.returncode == status
        assert not process.is_alive
    assert await process.wait() == status


async def test_of_several_who_wait_one_may_give_up() -> None:
    async with running(shell("read x")) as process:
        told: list[int | None] = []

        async def wait() -> None:
            told.append(await process.wait())

        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as first:
                async with anyio.create_task_group() as impatient:
                    impatient.start_soon(process.wait)
                    await anyio.wait_all_tasks_blocked()
                    tasks.start_soon(wait)
                    tasks.start_soon(wait)
                    await anyio.wait_all_tasks_blocked()
                    first.cancel()
            await process.send_eof()
        assert told == [1, 1]


async def test_a_signal_goes_to_the_process_alone() -> None:
    async with running(WITH_FAMILY) as process:
        family = await numbers(process)
        process.send_signal(signal.SIGINT)
        assert await process.wait() == -signal.SIGINT
        assert all(map(is_alive, family))
        process.send_signal(signal.SIGTERM)
    assert not any(map(is_alive, family))


async def test_nothing_of_the_group_is_left(watcher: str) -> None:
    async with running(WITH_FAMILY) as process:
        family = await numbers(process)
        assert {process.pid, *family} <= group_of(process.pid)
    assert group_of(process.pid) == set()


async def test_one_that_ignores_sigterm_is_killed(
    watcher: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(STUBBORN, terminate_after=0.05) as process:
        assert await line(process) == b"ready"
    assert process.returncode == -signal.SIGKILL
    assert group_of(process.pid) == set()
    assert "did not end after SIGTERM" in caplog.text


async def test_one_that_ends_with_its_input_is_not_killed(caplog: pytest.LogCaptureFixture) -> None:
    code = "trap '' TERM; echo ready; cat >/dev/null; exit 5"
    async with running(shell(code), terminate_after=PATIENCE / 2) as process:
        assert await line(process) == b"ready"
    assert process.returncode == 5
    assert "did not end after SIGTERM" not in caplog.text


async def test_it_runs_where_it_is_told_to(tmp_path: Path) -> None:
    with anyio.fail_after(PATIENCE):
        process = await spawn(Launch(shell("pwd"), ENV, tmp_path))
        assert await everything(process.receive) == os.fsencode(tmp_path) + b"\n"
        await process.wait()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await process.wait()  # which lets others run, also if there is nothing to wait for
        assert scope.cancelled_caught
        await process.aclose()


async def test_one_that_is_stopped_ends_all_the_same() -> None:
    async with running(SLEEPER) as process:
        assert await line(process) == b"ready"
        process.send_signal(signal.SIGSTOP)
    assert process.returncode == -signal.SIGTERM


async def test_what_is_left_is_killed_in_time_however_long_others_would_share_a_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Child, "look_in", lambda child, since: 2.0 * PATIENCE)
    script = shell("setsid sleep 1000 & echo $!; cat >&2")
    async with running(script, kill_after=PATIENCE) as process:
        [runaway] = await numbers(process)
        with killed_in_the_end(runaway):
            await process.send_eof()
            await process.wait()
            await process.aclose()
            assert not is_alive(runaway)


async def test_one_that_has_left_the_group_dies_with_the_process_that_started_it(
    watcher: str,
) -> None:
    async with running((*WITH_RUNAWAY, "stay")) as process:
        [runaway] = await numbers(process)
        with killed_in_the_end(runaway):
            assert os.getpgid(runaway) == runaway
            await process.aclose()
            assert not is_alive(runaway)
            assert group_of(runaway) == set()


SHELL = "sh -c 'echo $$; exec sleep 1000'"
ORPHAN = f"(setsid {SHELL} &)"
"""A process in a session of its own, whose parent has exited. It holds the pipes."""
BARE_CHILD = f"setsid env -i {SHELL} &"
BARE_ORPHAN = f"(setsid env -i {SHELL} &)"
UNTIL_EOF = "cat >/dev/null"


async def by_itself(process: ProcessTransport) -> None:
    assert await process.wait() == 7


async def at_the_end_of_its_input(process: ProcessTransport) -> None:
    await process.send_eof()
    assert await process.wait() == 0


async def killed(process: ProcessTransport) -> None:
    process.send_signal(signal.SIGKILL)
    await process.wait()


async def at_once(process: ProcessTransport) -> None:
    """It is closed while it runs."""


@pytest.mark.parametrize(
    ("end", "then"),
    [(by_itself, "exit 7"), (at_the_end_of_its_input, UNTIL_EOF)]
    + [(end, "sleep 1000") for end in (killed, at_once)],
)
async def test_however_it_ends_nothing_of_it_is_left_not_even_in_another_session(
    end: Callable[[ProcessTransport], Awaitable[None]], then: str
) -> None:
    async with running(shell(f"{ORPHAN}; {then}")) as process:
        [orphan] = await numbers(process)
        with killed_in_the_end(orphan):
            await end(process)
            assert is_alive(orphan)
            await process.aclose()
            assert not is_alive(orphan)


@pytest.mark.parametrize(
    ("look_in", "for_others", "pauses"),
    [
        (0.1, 0.5, [0.1, 0.1]),
        (9.0, 0.5, [0.5, 0.5]),
        (1000.0, 900.0, [900.0, PATIENCE / 2]),
    ],
)
async def test_others_are_waited_for_as_long_as_there_is_time(
    monkeypatch: pytest.MonkeyPatch, look_in: float, for_others: float, pauses: list[float]
) -> None:
    paused: list[float] = []

    async def pause(seconds: float) -> None:
        paused.append(seconds)

    async with running(SLEEPER, kill_after=PATIENCE) as process:
        monkeypatch.setattr(process_module, "_FOR_OTHERS", for_others)
        monkeypatch.setattr(process_module, "_pause", pause)
        monkeypatch.setattr(Child, "look_in", lambda child, since: look_in)
        await process.aclose()
    assert paused == pauses


async def test_those_that_are_closed_at_once_share_a_look_at_the_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with anyio.fail_after(PATIENCE):
        processes = [await spawn(Launch(shell("exit 7"), ENV)) for _ in range(10)]
        for process in processes:
            await by_itself(process)
        clock, reads = Ticking(), 0
        read, marks_of = process_table.process_table, marks._marks_of

        def slow(without: Container[int]) -> process_table.Table:
            nonlocal reads
            reads += 1
            clock.now += 1.0
            return read(without)

        monkeypatch.setattr(child, "_table", process_table.SharedTable())
        monkeypatch.setattr(process_table, "process_table", slow)
        for module in (process_table, process_module):
            monkeypatch.setattr(module, "time", clock)
        monkeypatch.setattr(process_module, "_FOR_OTHERS", 0.01)
        # Nobody is just becoming another program: each would look again because of that.
        monkeypatch.setattr(marks, "_marks_of", lambda pid: marks_of(pid) or frozenset())
        async with anyio.create_task_group() as tasks:
            for process in processes:
                tasks.start_soon(process.aclose)
    assert reads == 2  # the first did not wait for others; all the others did


class Ticking:
    """A time that passes a little each time that it is asked for."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 0.001
        return self.now


@pytest.mark.parametrize(
    ("end", "then"), [(at_the_end_of_its_input, UNTIL_EOF), (at_once, "sleep 1000")]
)
async def test_what_clears_its_environment_is_found_by_its_descent_before_its_parent_ends(
    end: Callable[[ProcessTransport], Awaitable[None]], then: str
) -> None:
    async with running(shell(f"{BARE_CHILD} {then}")) as process:
        [bare] = await numbers(process)
        with killed_in_the_end(bare):
            await end(process)
            await process.aclose()
            assert not is_alive(bare)


async def test_what_clears_its_environment_and_has_no_parent_is_not_found(watcher: str) -> None:
    async with running(shell(f"{BARE_ORPHAN}; exit 7")) as process:
        [orphan] = await numbers(process)
        with killed_in_the_end(orphan):
            await by_itself(process)
            await process.aclose()
            assert is_alive(orphan)
            assert await process.receive() == b""


async def test_where_there_is_no_proc_what_has_left_the_group_is_found_by_its_descent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on macOS."""
    monkeypatch.setattr(child, "has_proc", lambda: False)
    monkeypatch.setattr(process_table, "has_proc", lambda: False)
    async with running(shell(f"{BARE_CHILD} {UNTIL_EOF}")) as process:
        [runaway] = await numbers(process)
        with killed_in_the_end(runaway):
            assert process._child.look_in(0.0) == 0.0  # no table is shared
            await at_the_end_of_its_input(process)
            await process.aclose()
            assert not is_alive(runaway)
    async with running(shell("exit 7")) as process:
        await by_itself(process)


async def test_what_it_says_at_its_end_is_received(watcher: str) -> None:
    last_words = python(
        """
        import signal, sys
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        print("ready", flush=True)
        signal.sigwait([signal.SIGTERM])
        sys.stdout.write("x" * 10**6 + "\\n")
        sys.stderr.write("e" * 10**6 + "\\n")
        sys.exit(3)
        """
    )
    async with running(last_words) as process:
        assert await line(process) == b"ready"
        await process.aclose()
        assert await everything(process.receive) == b"x" * 10**6 + b"\n"
        assert await everything(process.receive_stderr) == b"e" * 10**6 + b"\n"
        assert process.returncode == 3


async def test_what_was_said_before_an_early_end_is_received(watcher: str) -> None:
    async with running(python("print('x' * 60_000)")) as process:
        assert await process.wait() == 0
        await process.aclose()
        assert await everything(process.receive) == b"x" * 60_000 + b"\n"
        assert await process.receive() == b""


async def test_a_limited_amount_is_kept_of_a_process_that_writes_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("claudewire.transport.pipes.MOST_KEPT", 3 * 2**20)
    talker = shell("trap '' TERM; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxx; done")
    async with running(talker, terminate_after=0.5) as process:
        assert await process.receive()
        await process.aclose()
        assert process.returncode == -signal.SIGKILL
        assert len(await everything(process.receive)) < 4 * 2**20


async def test_all_who_wait_for_something_are_woken_by_the_end(watcher: str) -> None:
    async with running(STUBBORN, terminate_after=0.05) as process:
        assert await line(process) == b"ready"
        ends: list[object] = []

        async def send() -> None:
            try:
                await process.send(b"x" * 2**24)
            except TransportClosed:
                ends.append("not sent")

        async def note(function: Callable[[], Awaitable[object]]) -> None:
            ends.append(await function())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            for function in (process.receive, process.receive, process.receive_stderr):
                tasks.start_soon(note, function)
            for _ in range(2):
                tasks.start_soon(note, process.wait)
            await anyio.wait_all_tasks_blocked()
            for _ in range(2):
                tasks.start_soon(note, process.aclose)
        assert sorted(ends, key=str) == sorted(
            ["not sent", b"", b"", b"", -9, -9, None, None], key=str
        )


async def test_what_is_closed_twice_at_once_is_ended_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(WITH_FAMILY) as process:
        await numbers(process)
        calls: list[str] = []
        terminate = process._child.terminate

        def counted() -> None:
            calls.append("terminate")
            terminate()

        monkeypatch.setattr(process._child, "terminate", counted)
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(process.aclose)
        assert calls == ["terminate"]


async def test_closing_cannot_be_cancelled(watcher: str) -> None:
    async with running(WITH_FAMILY) as process:
        family = await numbers(process)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await process.aclose()
        assert not any(map(is_alive, [process.pid, *family]))
        assert await process.wait() == -signal.SIGTERM
        await process.aclose()


async def test_to_cancel_the_closing_does_not_take_its_time_from_the_process(watcher: str) -> None:
    slow_to_leave = python(
        """
        import signal, sys
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])
        print("ready", flush=True)
        signal.sigwait([signal.SIGTERM])
        signal.sigwait([signal.SIGUSR1])
        sys.exit(7)
        """
    )
    async with running(slow_to_leave, terminate_after=PATIENCE) as process:
        assert await line(process) == b"ready"

        async def close() -> None:
            with anyio.CancelScope() as scope:
                scope.cancel()
                await process.aclose()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(close)
            await anyio.wait_all_tasks_blocked()
            process.send_signal(signal.SIGUSR1)
        assert process.returncode == 7


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("steps", range(12))
async def test_if_closing_is_cancelled_by_force_the_process_is_killed(steps: int) -> None:
    before: set[str] = set()
    async with running(STUBBORN, terminate_after=PATIENCE) as process:
        assert await line(process) == b"ready"
        before = descriptors()
        closing = asyncio.ensure_future(process.aclose())
        for _ in range(steps):
            await asyncio.sleep(0)
        also_closing = asyncio.ensure_future(process.aclose())
        closing.cancel()
        if steps:
            with pytest.raises(asyncio.CancelledError):
                await closing
        else:
            also_closing.cancel()  # neither has begun
            await asyncio.gather(closing, also_closing, return_exceptions=True)
            assert process.is_alive
            process.kill_now()
            await process.aclose()
        await asyncio.gather(also_closing, return_exceptions=True)
        assert not process.is_alive
        assert group_of(process.pid) == set()
        assert len(descriptors()) == len(before) - 4
        assert await process.receive() == b""


async def test_what_cannot_be_killed_is_reported(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "BRIEFLY", 0.02)
    with ended(started(SLEEPER)) as popen, anyio.fail_after(PATIENCE):
        removed: list[str] = []
        cleanup = partial(removed.append, "once")
        process = ProcessTransport(Immortal(popen, "no mark"), cleanup, 0, 0.02)
        assert await line(process) == b"ready"
        process.kill_now()
        assert removed == []  # it may still need its files
        before = descriptors()
        told: list[object] = []

        async def wait() -> None:
            told.append(await process.wait())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(CLIError, match=f"Process {process.pid}, or a process") as caught:
                await process.aclose()
        assert caught.value.evidence.pid == process.pid
        assert told == [None]
        assert not process._finalizer.alive
        assert "cannot be killed" in caplog.text
        assert removed == ["once"]
        assert len(descriptors()) == len(before) - 4
        assert is_alive(process.pid)
        assert await process.wait() is None
        os.kill(process.pid, signal.SIGKILL)
        popen.wait()
        assert await process.wait() is None
        assert not process.is_alive


def started(argv: tuple[str, ...]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        argv, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    )


class Immortal(Child):
    def terminate(self) -> None:
        pass

    def kill(self) -> None:
        pass

    def kill_group(self) -> None:
        pass


# --- killed, forgotten ----------------------------------------------------------------------------


async def test_it_can_be_killed_without_an_event_loop(tmp_path: Path, watcher: str) -> None:
    secret = tmp_path / "secret"
    secret.touch()
    with anyio.fail_after(PATIENCE):
        process = await spawn(Launch(WITH_FAMILY, ENV, cleanup=(secret.unlink,)))
        family = await numbers(process)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(process.wait)
            await anyio.wait_all_tasks_blocked()
            await anyio.to_thread.run_sync(process.kill_now)
        assert process.returncode == -signal.SIGKILL
        assert not secret.exists()
        for pid in family:
            await death(pid)
        process.kill_now()
        process.send_signal(signal.SIGTERM)
        await process.aclose()


async def test_a_killed_process_need_not_be_closed(recwarn: pytest.WarningsRecorder) -> None:
    with anyio.fail_after(PATIENCE):
        process = await spawn(Launch(SLEEPER, ENV))
        gc.collect()  # what earlier tests have left
        recwarn.clear()
        before = descriptors()
        process.kill_now()
        del process
        gc.collect()
        assert len(descriptors()) == len(before) - 4
        assert [str(each.message) for each in recwarn] == []


async def test_a_process_that_is_never_closed_is_killed_with_a_warning(
    tmp_path: Path, watcher: str, recwarn: pytest.WarningsRecorder
) -> None:
    secret = tmp_path / "secret"
    secret.touch()
    with anyio.fail_after(PATIENCE):
        process = await spawn(Launch(SLEEPER, ENV, cleanup=(secret.unlink,)))
        pid = process.pid
        gc.collect()  # what earlier tests have left
        recwarn.clear()
        del process
        gc.collect()
        assert not is_alive(pid)
        assert not secret.exists()
        warning = recwarn.pop(ResourceWarning)
        assert f"process {pid} was never closed" in str(warning.message)


async def test_other_code_may_have_reaped_it() -> None:
    async with running(shell("read x; exit 3")) as process:
        await process.send(b"\n")
        assert await anyio.to_thread.run_sync(os.waitpid, process.pid, 0) == (process.pid, 3 << 8)
        assert await process.wait() is None
        assert not process.is_alive


# --- what is left ---------------------------------------------------------------------------------


async def test_50_at_once_leave_nothing_behind() -> None:
    async with running(SLEEPER):
        pass
    before, threads_before = descriptors(), our_threads()
    pids: list[int] = []

    async def talk() -> None:
        async with running(shell("exec cat")) as process:
            pids.append(process.pid)
            await process.send(b"hello\n")
            assert await line(process) == b"hello"

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(talk)
    assert len(set(pids)) == 50
    assert not any(map(is_alive, pids))
    assert descriptors() == before
    assert our_threads() <= threads_before


def our_threads() -> set[threading.Thread]:
    """Those of this library. Event loops keep some of their own, for a while."""
    return {it for it in threading.enumerate() if it.name.startswith("claudewire")}


@pytest.mark.parametrize("watcher", ["thread"], indirect=True)
async def test_a_thread_ends_with_the_process(watcher: str) -> None:
    async with running(SLEEPER):
        pass
    before, threads_before = descriptors(), set(threading.enumerate())
    async with running(SLEEPER) as process:
        assert await line(process) == b"ready"
        ours = set(threading.enumerate()) - threads_before
        assert len(ours) == 1
    for each in ours:
        await anyio.to_thread.run_sync(each.join, PATIENCE)
    assert not any(each.is_alive() for each in ours)
    assert descriptors() == before


def test_it_works_on_an_event_loop_in_another_thread(anyio_backend: str) -> None:
    told: list[object] = []

    async def talk() -> None:
        async with running(shell("read x; echo $x; exit 3")) as process:
            await process.send(b"hello\n")
            told.append(await everything(process.receive))
            told.append(await process.wait())

    thread = threading.Thread(target=anyio.run, args=(talk,), kwargs={"backend": anyio_backend})
    thread.start()
    thread.join(PATIENCE)
    assert told == [b"hello\n", 3]


async def test_the_cleanup_is_done_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []
    secret = tmp_path / "secret"
    secret.touch()

    def fail() -> None:
        raise RuntimeError("no")

    cleanup = (secret.unlink, lambda: done.append("once"), fail)
    with anyio.fail_after(PATIENCE), caplog.at_level(logging.ERROR):
        process = await spawn(Launch(SLEEPER, ENV, cleanup=cleanup))
        assert secret.exists()
        await process.aclose()
        await process.aclose()
        process.kill_now()
    assert done == ["once"]
    assert not secret.exists()
    assert "Could not clean up" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may start processes of others")
@pytest.mark.parametrize("user", ["nobody", 65534])
async def test_it_may_run_as_another_user(user: str | int) -> None:
    async with running(shell("id -u; id -G"), user=user) as process:
        assert await everything(process.receive) == b"65534\n65534\n"


async def test_windows_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch()
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(CLIError, match="cannot start a CLI on Windows") as caught:
        await spawn(Launch(SLEEPER, ENV, cleanup=(secret.unlink,)))
    assert "WSL" in caught.value.advice
    assert caught.value.cause is Cause.REFUSED
    assert not secret.exists()
