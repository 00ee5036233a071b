"""A process as a transport: no byte is lost, and no process is left."""

from __future__ import annotations

import array
import errno
import fcntl
import gc
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from tests.helpers.processes import (
    ENV,
    PATIENCE,
    death,
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
from claudewire.errors import CLIError, TransportClosed
from claudewire.transport import Launch, ProcessTransport, spawn
from claudewire.transport.platforms import child, exit_watcher, process_table

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
"""Reads nothing until it gets a signal, and then repeats its input."""
WITH_FAMILY = python(
    """
    import signal, subprocess
    sleep = ["sleep", "1000"]
    born = [subprocess.Popen(sleep), subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 1000"])]
    print(*(process.pid for process in born), flush=True)
    signal.pause()
    """
)
NUMBERS = b"".join(b"%d\n" % number for number in range(200_000))
COUNTING = python("for number in range(200_000): print(number)")


@pytest.fixture(params=["pidfd", "thread"])
def watcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the exit is noticed: on macOS by a thread."""
    if request.param == "thread":
        monkeypatch.setattr(exit_watcher, "PidfdWatcher", exit_watcher.ThreadWatcher)
    return str(request.param)


# --- bytes ----------------------------------------------------------------------------------------


async def test_64_mib_pass_in_both_directions() -> None:
    data = array.array("Q", range(8 * 2**20)).tobytes()
    async with running(shell("exec cat")) as process:

        async def send() -> None:
            await process.send(data)
            await process.send_eof()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            received = await everything(process.receive)
        assert received == data
        assert await process.wait() == 0


async def test_cancelled_receive_loses_nothing() -> None:
    async with running(COUNTING) as process:
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
        assert received == NUMBERS
        assert cancelled > 5


async def cancel_soon(scope: anyio.CancelScope, steps: int) -> None:
    for _ in range(steps):
        await anyio.lowlevel.checkpoint()
    scope.cancel()


async def test_rest_of_a_cancelled_send_comes_before_anything_else() -> None:
    begun = array.array("Q", range(2**18)).tobytes()
    async with running(DEAF) as process:
        assert await line(process) == b"ready"
        scope = anyio.CancelScope()

        async def send() -> None:
            with scope:
                await process.send(begun)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            await anyio.wait_all_tasks_blocked()
            assert process.send_now(b"not in the middle") == 0
            scope.cancel()
        assert scope.cancelled_caught
        process.send_signal(signal.SIGUSR1)
        async with anyio.create_task_group() as tasks:

            async def send_more() -> None:
                await process.send(b"the end")
                await process.send_eof()

            tasks.start_soon(send_more)
            assert await everything(process.receive) == begun + b"the end"
        assert await process.wait() == 0


async def test_send_now_writes_as_much_as_fits() -> None:
    async with running(DEAF) as process:
        assert await line(process) == b"ready"
        size = fcntl.fcntl(process._child.stdin.fileno(), fcntl.F_GETPIPE_SZ)
        assert process.send_now(b"x" * 2 * size) == size
        assert process.send_now(b"x") == 0
        process.send_signal(signal.SIGUSR1)
        await process.send(b"the end")
        await process.send_eof()
        assert await everything(process.receive) == b"x" * size + b"the end"
        with pytest.raises(TransportClosed, match="stdin of the process is closed"):
            process.send_now(b"hello")


async def test_callback_gets_all_output_and_the_end(anyio_backend: str) -> None:
    chunks: list[bytes] = []
    changed = Signal()

    def take(data: bytes) -> None:
        chunks.append(data)
        changed.notify()

    async with running(COUNTING) as process:
        assert process.read_by_callback(take) is (anyio_backend == "asyncio")
        if anyio_backend == "asyncio":
            await changed.until(lambda: b"" in chunks)
            assert b"".join(chunks) == NUMBERS
            assert chunks.count(b"") == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_callback_gets_the_output_of_the_end() -> None:
    chunks: list[bytes] = []
    code = "trap 'yes | head -c 1000000; exit 3' TERM; echo ready; while :; do sleep 0.01; done"
    async with running(shell(code)) as process:
        assert await line(process) == b"ready"
        process.read_by_callback(chunks.append)
        await process.aclose()
    assert (len(b"".join(chunks)), chunks[-1]) == (1_000_000, b"")


# --- its end -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status"), [("exit 0", 0), ("exit 255", 255), ("kill -KILL $$", -9)]
)
async def test_all_who_wait_get_the_status(code: str, status: int, watcher: str) -> None:
    async with running(shell(f"read x; {code}")) as process:
        told: list[int | None] = []

        async def wait() -> None:
            told.append(await process.wait())

        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as impatient:
                async with anyio.create_task_group() as first:
                    first.start_soon(process.wait)
                    await anyio.wait_all_tasks_blocked()
                    for _ in range(3):
                        tasks.start_soon(wait)
                    await anyio.wait_all_tasks_blocked()
                    impatient.cancel()
            assert process.is_alive
            await process.send(b"\n")
        assert told == [status] * 3
        assert process.returncode == status
        assert not process.is_alive
    assert await process.wait() == status


async def test_signal_goes_to_the_process_alone() -> None:
    async with running(WITH_FAMILY) as process:
        family = await numbers(process)
        process.send_signal(signal.SIGINT)
        assert await process.wait() == -signal.SIGINT
        assert all(map(is_alive, family))
    assert not any(map(is_alive, family))


async def test_close_ends_the_whole_group(watcher: str) -> None:
    async with running(WITH_FAMILY) as process:
        family = await numbers(process)
        assert {process.pid, *family} <= group_of(process.pid)
    assert process.returncode == -signal.SIGTERM
    assert group_of(process.pid) == set()


async def test_process_that_ignores_sigterm_is_killed(caplog: pytest.LogCaptureFixture) -> None:
    async with running(STUBBORN, terminate_after=0.05) as process:
        assert await line(process) == b"ready"
    assert process.returncode == -signal.SIGKILL
    assert group_of(process.pid) == set()
    assert "did not end after SIGTERM" in caplog.text


async def test_stopped_process_ends() -> None:
    async with running(SLEEPER) as process:
        assert await line(process) == b"ready"
        process.send_signal(signal.SIGSTOP)
    assert process.returncode == -signal.SIGTERM


SHELL = "sh -c 'echo $$; exec sleep 1000'"
ORPHAN = f"(setsid {SHELL} &)"
"""A process in a session of its own, whose parent has exited. It holds the pipes."""
BARE_CHILD = f"setsid env -i {SHELL} &"
UNTIL_EOF = "cat >/dev/null"


async def by_itself(process: ProcessTransport) -> None:
    assert await process.wait() == 7


async def after_its_input(process: ProcessTransport) -> None:
    await process.send_eof()
    assert await process.wait() == 0


async def killed(process: ProcessTransport) -> None:
    process.send_signal(signal.SIGKILL)
    await process.wait()


async def running_on(process: ProcessTransport) -> None:
    """It is closed while it runs."""


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (by_itself, f"{ORPHAN}; exit 7"),
        (after_its_input, f"{ORPHAN}; {UNTIL_EOF}"),
        (killed, f"{ORPHAN}; sleep 1000"),
        (running_on, f"{ORPHAN}; sleep 1000"),
        (after_its_input, f"{BARE_CHILD} {UNTIL_EOF}"),
        (running_on, f"{BARE_CHILD} sleep 1000"),
    ],
)
async def test_process_in_another_session_does_not_outlive_the_cli(
    end: Callable[[ProcessTransport], Awaitable[None]], code: str
) -> None:
    async with running(shell(code)) as process:
        [orphan] = await numbers(process)
        with killed_in_the_end(orphan):
            await end(process)
            assert is_alive(orphan)
            await process.aclose()
            assert not is_alive(orphan)


async def test_descendants_are_found_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS."""
    monkeypatch.setattr(child, "has_proc", lambda: False)
    monkeypatch.setattr(process_table, "has_proc", lambda: False)
    async with running(shell(f"{BARE_CHILD} {UNTIL_EOF}")) as process:
        [runaway] = await numbers(process)
        with killed_in_the_end(runaway):
            await after_its_input(process)
            await process.aclose()
            assert not is_alive(runaway)
    async with running(shell("exit 7")) as process:
        await by_itself(process)


async def test_output_of_the_end_can_be_received(watcher: str) -> None:
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


async def test_endless_output_is_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.transport.pipes.MOST_KEPT", 3 * 2**20)
    talker = shell("trap '' TERM; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxx; done")
    async with running(talker, terminate_after=0.5) as process:
        assert await process.receive()
        await process.aclose()
        assert process.returncode == -signal.SIGKILL
        assert len(await everything(process.receive)) < 4 * 2**20


async def test_close_wakes_all_pending_calls() -> None:
    async with running(STUBBORN, terminate_after=0.05) as process:
        assert await line(process) == b"ready"
        ends: list[object] = []

        async def send() -> None:
            with pytest.raises(TransportClosed):
                await process.send(b"x" * 2**24)

        async def note(call: Callable[[], Awaitable[object]]) -> None:
            ends.append(await call())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            for call in (process.receive, process.receive, process.receive_stderr, process.wait):
                tasks.start_soon(note, call)
            await anyio.wait_all_tasks_blocked()
            for _ in range(2):
                tasks.start_soon(note, process.aclose)
        assert sorted(ends, key=str) == [-9, None, None, b"", b"", b""]


async def test_process_that_cannot_be_killed_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(child, "BRIEFLY", 0.02)
    removed: list[str] = []
    cleanup = (lambda: removed.append("once"),)
    with anyio.fail_after(PATIENCE):
        launch = Launch(STUBBORN, ENV, cleanup=cleanup)
        process = await spawn(launch, terminate_after=0, kill_after=0.02)
        assert await line(process) == b"ready"
        with monkeypatch.context() as patch, killed_in_the_end(process.pid):
            for name in ("terminate", "kill"):
                patch.setattr(process._child, name, lambda: None)
            patch.setattr(process._child, "_signal_group", lambda number: None)
            process.kill_now()
            assert removed == []  # it may still need its files
            with pytest.raises(CLIError, match=f"Process {process.pid}, or a process") as caught:
                await process.aclose()
            assert is_alive(process.pid)
        assert caught.value.evidence.pid == process.pid
        assert await process.wait() is None
        assert removed == ["once"]
        await anyio.to_thread.run_sync(process._child._popen.wait)


async def test_processes_that_nobody_can_see_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(pid: int, name: str, most: int) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    with anyio.fail_after(PATIENCE):
        process = await spawn(Launch(shell("exit 7"), ENV), kill_after=0.02)
        await process.wait()
        with monkeypatch.context() as patch:
            patch.setattr(process_table, "read_proc", fail)
            with pytest.raises(CLIError, match=r"may be left: .* Too many open files"):
                await process.aclose()


# --- killed, forgotten ---------------------------------------------------------------------------


async def test_kill_now_works_in_any_thread(tmp_path: Path, watcher: str) -> None:
    secret = tmp_path / "secret"
    secret.touch()
    with anyio.fail_after(PATIENCE):
        process = await spawn(Launch(WITH_FAMILY, ENV, cleanup=(secret.unlink,)))
        family = await numbers(process)
        await anyio.to_thread.run_sync(process.kill_now)
        assert process.returncode == -signal.SIGKILL
        assert not secret.exists()
        for pid in family:
            await death(pid)
        await process.aclose()


async def test_process_that_is_never_closed_is_killed_with_a_warning(
    tmp_path: Path, watcher: str, recwarn: pytest.WarningsRecorder
) -> None:
    secret = tmp_path / "secret"
    secret.touch()
    with anyio.fail_after(PATIENCE):
        process = await spawn(Launch(SLEEPER, ENV, cleanup=(secret.unlink,)))
        pid = process.pid
        gc.collect()  # of earlier tests
        recwarn.clear()
        del process
        gc.collect()
        assert not is_alive(pid)
        assert not secret.exists()
        warning = recwarn.pop(ResourceWarning)
        assert f"process {pid} was never closed" in str(warning.message)


async def test_status_is_unknown_if_other_code_reaped_the_process() -> None:
    async with running(shell("read x; exit 3")) as process:
        await process.send(b"\n")
        assert await anyio.to_thread.run_sync(os.waitpid, process.pid, 0) == (process.pid, 3 << 8)
        assert await process.wait() is None
        assert not process.is_alive


async def test_each_cleanup_is_done_once(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    def fail() -> None:
        raise RuntimeError("no")

    launch = Launch(SLEEPER, ENV, cleanup=(lambda: done.append("once"), fail))
    with anyio.fail_after(PATIENCE), caplog.at_level(logging.ERROR):
        process = await spawn(launch)
        await process.aclose()
        await process.aclose()
        process.kill_now()
    assert done == ["once"]
    assert "Could not clean up" in caplog.text


async def test_process_runs_in_its_directory(tmp_path: Path) -> None:
    with anyio.fail_after(PATIENCE):
        process = await spawn(Launch(shell("pwd"), ENV, tmp_path))
        assert await everything(process.receive) == os.fsencode(tmp_path) + b"\n"
        await process.aclose()


ON_WINDOWS = """
import os, sys, anyio
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


def test_library_loads_on_windows_and_refuses_to_start_a_cli() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ON_WINDOWS],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=PATIENCE,
        check=True,
    )
    loads, refusal = done.stdout.splitlines()
    assert loads == "True"
    assert "cannot start a CLI on Windows" in refusal
