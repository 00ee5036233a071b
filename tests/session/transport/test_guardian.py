"""The end of this program, however it comes, is the end of its children and of no other process."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent, indent
from typing import IO

import anyio
import anyio.lowlevel
import pytest
from tests.helpers.processes import (
    PATIENCE,
    children,
    death,
    descriptors,
    ended,
    group_of,
    is_alive,
    killed_in_the_end,
    shell,
)

from claudewire.transport.platforms import guardian as module
from claudewire.transport.platforms.guardian import Guardian

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at /proc"),
]

HOST = """
import gc, os, signal, sys, threading
import anyio
import anyio.lowlevel
from claudewire.transport.platforms.guardian import guardian
from claudewire.transport import Launch, spawn

PROGRAM = ("/bin/sh", "-c", {program!r})
ENV = {{"PATH": os.environ["PATH"]}}

async def main():
    process = await spawn(Launch(PROGRAM, ENV))
    ready = await process.receive()
    print(process.pid, guardian().pid, ready.decode().strip(), flush=True)
    sys.stdin.readline()
{last}

anyio.run(main)
"""
"""The program prints its child's id. Then it waits until the test has looked at it."""
FAMILY = "sleep 1000 & echo $!; wait"
STUBBORN = "trap '' TERM; sleep 1000 & echo $!; while :; do wait; done"
SCATTERED = "(setsid sh -c 'echo $$; exec sleep 1000' &); sleep 1000"


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def guardian() -> Iterator[Guardian]:
    guardian = Guardian()
    yield guardian
    guardian.end()


def read_line(file: IO[bytes]) -> str:
    """Read a line, without a buffer and within a bound."""
    poll, line = select.poll(), b""
    poll.register(file, select.POLLIN)
    while not line.endswith(b"\n"):
        assert poll.poll(PATIENCE * 1000), f"no more comes after {line!r}"
        byte = os.read(file.fileno(), 1)
        assert byte, f"ended after {line!r}"
        line += byte
    return line.decode().strip()


class Group:
    """A process group of a shell."""

    def __init__(self, code: str) -> None:
        self.popen = subprocess.Popen(
            shell(code), stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        self.id = self.popen.pid
        assert self.popen.stdout is not None
        assert read_line(self.popen.stdout) == "ready"

    def end(self) -> int:
        with self.popen:
            if self.popen.poll() is None:
                os.killpg(self.id, signal.SIGKILL)
        return self.popen.returncode

    def ended(self) -> int:
        """Wait for an end that comes without the test."""
        return self.popen.wait(PATIENCE)


NewGroup = Callable[..., Group]


@pytest.fixture
def new_group() -> Iterator[NewGroup]:
    """Start groups, and leave none of them behind."""
    started: list[Group] = []

    def start(code: str = "echo ready; exec sleep 1000") -> Group:
        started.append(Group(code))
        return started[-1]

    yield start
    for group in started:
        group.end()


class Host:
    """A process that starts a CLI. Its forks are in its group.

    Attributes:
        pids: the ids of the CLI, of the guardian and of the CLI's child.
    """

    def __init__(self, last: str, program: str = FAMILY) -> None:
        code = HOST.format(program=program, last=indent(dedent(last), " " * 4))
        self.pids: list[int] = []
        self.popen = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )

    def line(self) -> str:
        assert self.popen.stdout is not None
        return read_line(self.popen.stdout)

    def ended(self) -> tuple[int, list[str]]:
        """Wait for its end; return its status and the rest of its output."""
        rest, _ = self.popen.communicate(timeout=PATIENCE)
        return self.popen.returncode, rest.decode().splitlines()

    def __enter__(self) -> Host:
        try:
            self.pids = [int(word) for word in self.line().split()]
            assert all(map(is_alive, self.pids[:2]))
            assert self.popen.stdin is not None
            self.popen.stdin.write(b"\n")
        except BaseException:
            self.__exit__(None)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with self.popen:
            if self.popen.poll() is None:
                os.killpg(self.popen.pid, signal.SIGKILL)
        for pid in self.pids[:2]:  # perhaps the guardian has not done its duty
            with killed_in_the_end(pid):
                pass


async def all_dead(pids: list[int]) -> None:
    with anyio.fail_after(PATIENCE):
        for pid in pids:
            await death(pid)


# --- the end of the program -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "program", [FAMILY, STUBBORN, SCATTERED], ids=["polite", "stubborn", "scattered"]
)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
async def test_killed_program_takes_all_its_processes_with_it(number: int, program: str) -> None:
    with Host("await anyio.sleep_forever()", program) as host:
        host.popen.send_signal(number)
        assert host.ended() == (-number, [])
        await all_dead(host.pids)


async def test_guardian_is_reached_by_no_signal_to_the_program() -> None:
    with Host("await anyio.sleep_forever()") as host:
        cli, guardian, child = host.pids
        assert os.getpgid(cli) == os.getpgid(child) == os.getsid(cli) == cli
        assert os.getsid(guardian) == guardian
        while not ignores_sigterm(guardian):
            await anyio.lowlevel.checkpoint()
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            os.kill(guardian, number)
        host.popen.kill()
        host.ended()
        await all_dead(host.pids)


def ignores_sigterm(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    [mask] = (int(line.split()[1], 16) for line in lines if line.startswith("SigIgn"))
    return bool(mask & 1 << signal.SIGTERM - 1)


@pytest.mark.parametrize(
    "last",
    ["return", "raise SystemExit(0)", "globals().update(kept=process)", "await process.aclose()"],
    ids=["forgotten", "exit", "kept", "closed"],
)
async def test_interpreter_that_ends_leaves_nothing(last: str) -> None:
    with Host(last) as host:
        assert host.ended() == (0, [])
        await all_dead(host.pids)


# --- forks ----------------------------------------------------------------------------------------

FORK = """
if not os.fork():
    process.kill_now()
    process.send_signal(9)
    del process
    gc.collect()
    sys.exit()  # with all that happens at the end of a program
os.wait()
await process.send_eof()
print(await process.receive(), await process.wait(), flush=True)
await process.aclose()
"""


async def test_fork_ends_no_process_of_its_parent() -> None:
    with Host(FORK, "echo 1; read x; echo over; exit 3") as host:
        assert host.ended() == (0, [f"{b'over' + bytes([10])!r} 3"])
        await all_dead(host.pids[:2])


FORK_THAT_STARTS = """
async def again():
    other = await spawn(Launch(PROGRAM, ENV))
    await other.receive()
    print(guardian().pid, other.pid, flush=True)
    os.kill(os.getpid(), 9)

if not os.fork():
    thread = threading.Thread(target=anyio.run, args=(again,))  # here a loop is running already
    thread.start()
    thread.join()
os.wait()
print(process.is_alive, guardian().pid, flush=True)
await process.aclose()
"""


async def test_fork_has_a_guardian_of_its_own() -> None:
    with Host(FORK_THAT_STARTS) as host:
        guardian = host.pids[1]
        status, [first, second] = host.ended()
        others = [int(word) for word in first.split()]
        assert others[0] != guardian
        assert (status, second) == (0, f"True {guardian}")
        await all_dead(others)


# --- the guardian itself --------------------------------------------------------------------------


async def test_guardian_ends_listed_groups_and_folders_only(
    guardian: Guardian, new_group: NewGroup, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("first *", "forgotten", "last", "unknown")]
    for folder in folders:
        folder.mkdir()
    for folder in folders[:3]:
        guardian.watch(str(folder))
    for folder in (folders[1], folders[3]):
        guardian.forget(str(folder))
    listed, forgotten, unknown = new_group(), new_group(), new_group()
    stubborn = new_group("trap '' TERM; echo ready; while :; do sleep 1000; done")
    stopped = new_group()
    os.kill(stopped.id, signal.SIGSTOP)
    for group in (forgotten, listed, stubborn, stopped):
        guardian.watch(group.id)
    for group in (forgotten, unknown):
        guardian.forget(group.id)
    pid = guardian.pid
    assert pid is not None
    guardian.end()
    assert listed.ended() == stopped.ended() == -signal.SIGTERM
    assert stubborn.ended() == -signal.SIGKILL
    await all_dead([pid, *group_of(stubborn.id)])
    assert is_alive(forgotten.id)
    assert is_alive(unknown.id)
    assert [it.exists() for it in folders] == [False, True, False, True]


def marked(mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["/bin/sleep", "1000"], env={"MARK": mark})


@pytest.mark.parametrize("is_listed", [False, True])
async def test_marked_processes_end_unless_all_ended_in_good_order(
    guardian: Guardian, is_listed: bool
) -> None:
    guardian.watch(2**23)  # a number that no group has
    pid = guardian.pid
    assert pid is not None
    if not is_listed:
        guardian.forget(2**23)
    with ended(marked(guardian.new_mark())) as left:
        guardian.end()
        await all_dead([pid])
        assert left.poll() == (-signal.SIGKILL if is_listed else None)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_guardian_that_fails_is_replaced(
    guardian: Guardian, new_group: NewGroup, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    groups = [new_group(), new_group(), new_group()]
    guardian.watch(groups[0].id)
    guardian.watch(groups[1].id)
    first, before = guardian.pid, len(descriptors())
    assert first is not None
    guardian.forget(groups[0].id)
    guardian.watch(groups[2].id)
    os.kill(first, number)
    with anyio.fail_after(PATIENCE):
        while guardian.pid in {None, first} or len(descriptors()) != before:
            if number == signal.SIGSTOP:  # its pipe becomes full
                guardian.watch(groups[0].id)
                guardian.forget(groups[0].id)
            await anyio.lowlevel.checkpoint()
    assert "; starting another" in caplog.text
    assert first not in children()
    guardian.end()
    assert groups[1].ended() == groups[2].ended() == -signal.SIGTERM
    assert is_alive(groups[0].id)


async def test_system_without_a_shell_logs_a_warning(
    guardian: Guardian, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_SHELL", "/no/such/shell")
    before = descriptors()
    guardian.watch(2**23)
    assert guardian.pid is None
    assert descriptors() == before
    assert "Could not start a guardian" in caplog.text
    guardian.forget(2**23)
