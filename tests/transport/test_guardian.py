"""Whatever happens to us, our children do not outlive us, and no other process is harmed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
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
"""The program says its child's id. What it then does waits until the test has looked at it."""
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
    """Read a line, of which nothing is in a buffer, and do not wait for ever."""
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

    def ready(self) -> None:
        assert self.popen.stdout is not None
        assert read_line(self.popen.stdout) == "ready"

    def end(self) -> int:
        with self.popen:
            kill_group(self.popen)
        return self.popen.returncode

    def ended(self) -> int:
        """Wait for an end that comes by itself."""
        return self.popen.wait(PATIENCE)


NewGroup = Callable[..., Group]


@pytest.fixture
def new_group() -> Iterator[NewGroup]:
    """Start groups, and leave none of them behind."""
    started: list[Group] = []

    def start(code: str = "echo ready; exec sleep 1000") -> Group:
        group = Group(code)
        started.append(group)
        group.ready()
        return group

    yield start
    for group in started:
        group.end()


def kill_group(leader: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a group, with all of the group, unless it has ended."""
    if leader.poll() is None:
        os.killpg(leader.pid, signal.SIGKILL)


class Host:
    """A process that starts a CLI with our means. What it forks is in its group.

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
        """Wait until it has ended; give its status and what else it has said."""
        rest, _ = self.popen.communicate(timeout=PATIENCE)
        return self.popen.returncode, rest.decode().splitlines()

    def _begin(self) -> None:
        self.pids = [int(word) for word in self.line().split()]
        assert len(self.pids) == 3
        assert all(map(is_alive, self.pids[:2]))
        assert self.popen.stdin is not None
        self.popen.stdin.write(b"\n")

    def __enter__(self) -> Host:
        try:
            self._begin()
        except BaseException:
            self._end(failed=True)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._end(failed=kind is not None)

    def _end(self, *, failed: bool) -> None:
        with self.popen:
            kill_group(self.popen)
        if failed:  # perhaps the guardian has not done its duty
            for pid in self.pids[:2]:
                with killed_in_the_end(pid):
                    pass


async def ready(pid: int) -> None:
    """Wait until a guardian has come so far that it ignores signals."""
    with anyio.fail_after(PATIENCE):
        while not ignores_sigterm(pid):
            await anyio.lowlevel.checkpoint()


def ignores_sigterm(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    [mask] = (int(line.split()[1], 16) for line in lines if line.startswith("SigIgn"))
    return bool(mask & 1 << signal.SIGTERM - 1)


async def all_dead(pids: list[int]) -> None:
    with anyio.fail_after(PATIENCE):
        for pid in pids:
            await death(pid)


# --- we are killed --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program", [FAMILY, STUBBORN, SCATTERED], ids=["polite", "stubborn", "scattered"]
)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
async def test_if_we_are_killed_the_cli_and_its_children_and_the_guardian_die(
    number: int, program: str
) -> None:
    with Host("await anyio.sleep_forever()", program) as host:
        host.popen.send_signal(number)
        assert host.ended() == (-number, [])
        await all_dead(host.pids)


async def test_what_is_sent_to_our_group_does_not_reach_the_others() -> None:
    with Host("await anyio.sleep_forever()") as host:
        cli, guardian, child = host.pids
        assert os.getpgid(cli) == os.getpgid(child) == os.getsid(cli) == cli
        assert os.getsid(guardian) == guardian
        await ready(guardian)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            os.kill(guardian, number)
        host.popen.kill()
        host.ended()
        await all_dead(host.pids)


@pytest.mark.parametrize(
    "last",
    ["return", "raise SystemExit(0)", "globals().update(kept=process)"],
    ids=["forgotten", "exit", "kept"],
)
async def test_what_was_not_closed_ends_with_the_interpreter(last: str) -> None:
    with Host(last) as host:
        assert host.ended() == (0, [])
        await all_dead(host.pids)


async def test_a_host_that_closes_in_good_order_leaves_nothing() -> None:
    with Host("await process.aclose(); print(guardian().pid)") as host:
        assert host.ended() == (0, [str(host.pids[1])])
        await all_dead(host.pids)


# --- forks ----------------------------------------------------------------------------------------

FORK = """
if not os.fork():
    process.kill_now()
    process.send_signal(9)
    alive = process.is_alive
    del process
    gc.collect()
    print("fork", alive, guardian().pid, flush=True)
    sys.exit()  # as a program ends: with all that is to be done at its end
os.wait()
print(process.is_alive, flush=True)
await process.send_eof()
print(await process.receive(), flush=True)
print(await process.wait(), flush=True)
await process.aclose()
"""


async def test_a_fork_ends_no_process_of_its_parent() -> None:
    with Host(FORK, "echo 1; read x; echo over; exit 3") as host:
        assert host.ended() == (0, ["fork True None", "True", repr(b"over\n"), "3"])
        await all_dead(host.pids[:2])


FORK_THAT_STAYS = """
pid = os.fork()
if not pid:
    signal.pause()
print(pid, flush=True)
await process.send_eof()
print(await process.wait(), flush=True)
signal.pause()
"""


async def test_a_fork_that_lives_on_keeps_nothing_alive() -> None:
    with Host(FORK_THAT_STAYS, "echo 1; read x; exit 3") as host:
        cli, guardian, _ = host.pids
        fork = int(host.line())
        with killed_in_the_end(fork):
            # The CLI has seen the end of its input, though the fork was never told to close it.
            assert host.line() == "3"
            host.popen.kill()
            await all_dead([guardian])
            assert is_alive(fork)
        host.ended()
        assert not is_alive(cli)


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


async def test_a_fork_has_a_guardian_of_its_own() -> None:
    with Host(FORK_THAT_STARTS) as host:
        guardian = host.pids[1]
        status, [first, second] = host.ended()
        others = [int(word) for word in first.split()]
        assert others[0] != guardian
        assert second == f"True {guardian}"
        assert status == 0
        await all_dead(others)


# --- the guardian itself --------------------------------------------------------------------------


async def test_it_ends_what_is_listed_and_nothing_else(
    guardian: Guardian, new_group: NewGroup, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("first", "forgotten", "last", "unknown")]
    for folder in folders:
        folder.mkdir()
    for folder in folders[:3]:
        guardian.watch_folder(str(folder))
    for folder in (folders[1], folders[3]):
        guardian.forget_folder(str(folder))
    listed, forgotten, unknown = new_group(), new_group(), new_group()
    guardian.watch(forgotten.id)
    guardian.watch(listed.id)
    guardian.forget(forgotten.id)
    guardian.forget(unknown.id)
    pid = guardian.pid
    assert pid is not None
    guardian.end()
    assert listed.ended() == -signal.SIGTERM
    await all_dead([pid])
    assert is_alive(forgotten.id)
    assert is_alive(unknown.id)
    assert [it.exists() for it in folders] == [False, True, False, True]
    assert forgotten.end() == unknown.end() == -signal.SIGKILL


def marked(mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["/bin/sleep", "1000"], env={"MARK": mark})


@pytest.mark.parametrize("is_listed", [False, True])
async def test_what_has_left_its_group_is_killed_unless_all_was_ended_in_good_order(
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


async def test_what_ignores_its_request_is_killed(guardian: Guardian, new_group: NewGroup) -> None:
    stubborn = new_group("trap '' TERM; echo ready; while :; do sleep 1000; done")
    guardian.watch(stubborn.id)
    guardian.end()
    assert stubborn.ended() == -signal.SIGKILL
    await all_dead([*group_of(stubborn.id)])


async def test_what_is_stopped_dies_as_well(guardian: Guardian, new_group: NewGroup) -> None:
    stopped = new_group()
    os.kill(stopped.id, signal.SIGSTOP)
    guardian.watch(stopped.id)
    guardian.end()
    assert stopped.ended() == -signal.SIGTERM


def test_what_shows_no_environment_at_the_first_look_is_killed_at_the_second(
    tmp_path: Path,
) -> None:
    blind_at_first = tmp_path / "grep"
    blind_at_first.write_text(
        f'#!/bin/sh\n[ -e "{tmp_path}/looked" ] && exec /bin/grep "$@"\n: > "{tmp_path}/looked"\n',
        encoding="utf-8",
    )
    blind_at_first.chmod(0o700)
    mark = os.urandom(16).hex()
    with subprocess.Popen(
        shell("echo ready; read it"), stdin=-1, stdout=-1, env={"MARK": mark}
    ) as it:
        try:
            assert it.stdout is not None
            assert read_line(it.stdout) == "ready"
            subprocess.run(
                ["/bin/sh", "-c", module._SCRIPT, "guardian", mark],
                input=b"",
                env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
                timeout=PATIENCE,
                check=False,
            )
            assert it.wait(PATIENCE) == -signal.SIGKILL
        finally:
            it.kill()


async def test_it_starts_with_the_first_group_and_has_nothing_of_ours(
    guardian: Guardian, new_group: NewGroup
) -> None:
    assert guardian.pid is None
    before = descriptors()
    group = new_group()
    secret = os.open("/dev/zero", os.O_RDONLY)
    os.set_inheritable(secret, True)
    try:
        guardian.watch(group.id)
        pid = guardian.pid
        assert set(os.listdir(f"/proc/{pid}/fd")) <= {"0", "1", "2", "10"}  # 10 is the shell's own
        targets = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in ("1", "2")}
        assert targets == {"/dev/null"}
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        assert await environment(pid) == b"PATH=/usr/bin:/bin\0"
    finally:
        os.close(secret)
    guardian.forget(group.id)
    assert guardian.pid == pid
    guardian.end()
    group.end()
    assert descriptors() == before


async def environment(pid: int | None) -> bytes:
    """What a process was started with; it shows nothing while it is just becoming a program."""
    with anyio.fail_after(PATIENCE):
        while not (shown := await anyio.Path(f"/proc/{pid}/environ").read_bytes()):
            pass
    return shown


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_one_that_does_not_do_its_duty_is_replaced(
    guardian: Guardian, new_group: NewGroup, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    groups = [new_group(), new_group(), new_group()]
    guardian.watch(groups[0].id)
    guardian.watch(groups[1].id)
    first, before = guardian.pid, len(descriptors())
    assert first is not None
    os.kill(first, number)
    if number == signal.SIGKILL:
        await all_dead([first])
    else:
        while guardian.pid == first:  # until it is noticed that nobody reads
            guardian.watch(groups[2].id)
            guardian.forget(groups[2].id)
    guardian.forget(groups[0].id)
    guardian.watch(groups[2].id)
    assert guardian.pid not in {None, first}
    assert "The guardian process has ended or hangs" in caplog.text
    assert first not in children()
    assert len(descriptors()) == before
    guardian.end()
    assert groups[1].ended() == groups[2].ended() == -signal.SIGTERM
    assert is_alive(groups[0].id)
    groups[0].end()


async def test_one_may_be_replaced_while_it_is_being_replaced(
    guardian: Guardian, new_group: NewGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The garbage collector may call it in the middle of anything."""
    groups = [new_group(), new_group(), new_group()]
    guardian.watch(groups[0].id)
    first, before, shell = guardian.pid, len(descriptors()), guardian._shell
    assert first is not None
    assert shell is not None
    wait = shell.wait

    def wait_meanwhile() -> int:
        guardian.watch(groups[1].id)
        return wait()

    monkeypatch.setattr(shell, "wait", wait_meanwhile)
    os.kill(first, signal.SIGKILL)
    await death(first)
    guardian.watch(groups[2].id)
    second = guardian.pid
    assert second is not None
    assert first not in children()
    assert second in children()
    assert len(descriptors()) == before
    guardian.end()
    assert [group.ended() for group in groups] == [-signal.SIGTERM] * 3
    await all_dead([second])


@pytest.mark.parametrize("what", ["a group", "a folder"])
async def test_one_that_has_ended_is_not_replaced_if_there_is_nothing_to_guard(
    guardian: Guardian, what: str
) -> None:
    before = len(descriptors())
    if what == "a group":
        guardian.watch(2**23)  # a number that no group has
    else:
        guardian.watch_folder("/there/is/no/such/folder")
    first = guardian.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await death(first)
    if what == "a group":
        guardian.forget(2**23)
    else:
        guardian.forget_folder("/there/is/no/such/folder")
    assert guardian.pid is None
    assert len(descriptors()) == before


async def test_one_that_takes_the_place_of_another_guards_all_of_it(
    guardian: Guardian, new_group: NewGroup, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
        guardian.watch_folder(str(folder))
    group, first = new_group(), guardian.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await death(first)
    guardian.forget_folder(str(folders[1]))
    guardian.watch(group.id)
    second = guardian.pid
    assert second is not None
    guardian.end()
    assert group.ended() == -signal.SIGTERM
    await all_dead([second])
    assert [it.exists() for it in folders] == [False, True, False]


async def test_after_its_end_nothing_is_guarded(
    guardian: Guardian, new_group: NewGroup, tmp_path: Path
) -> None:
    folder, other = tmp_path / "folder", new_group()
    folder.mkdir()
    guardian.watch(new_group().id)
    guardian.watch_folder(str(folder))
    first = guardian.pid
    assert first is not None
    guardian.end()
    await all_dead([first])
    assert [*guardian.groups] == []
    folder.mkdir()  # by somebody else, who has got the same name
    guardian.watch(other.id)
    second = guardian.pid
    assert second is not None
    guardian.end()
    assert other.ended() == -signal.SIGTERM
    await all_dead([second])
    assert folder.exists()


@pytest.mark.parametrize("name", ["a\nb", " a", "a ", "a\t"])
async def test_a_folder_that_a_shell_could_misread_is_not_guarded(
    guardian: Guardian, name: str
) -> None:
    guardian.watch_folder(name)
    assert guardian.pid is None
    guardian.forget_folder(name)
    assert guardian.pid is None


async def test_many_threads_may_use_it(guardian: Guardian, new_group: NewGroup) -> None:
    last = new_group()

    def use(first: int) -> None:
        # Numbers that no process has: the largest possible one is 2**22.
        for number in range(first, first + 50):
            guardian.watch(number)
        for number in range(first, first + 50):
            guardian.forget(number)

    users = [threading.Thread(target=use, args=(2**23 + 1000 * n,)) for n in range(8)]
    for each in users:
        each.start()
    guardian.watch(last.id)
    for each in users:
        each.join(PATIENCE)
    pid = guardian.pid
    assert pid is not None
    guardian.end()
    assert last.ended() == -signal.SIGTERM
    await all_dead([pid])


async def test_without_a_shell_there_is_a_warning_and_no_guardian(
    guardian: Guardian, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_SHELL", "/no/such/shell")
    before = descriptors()
    guardian.watch(2**23)
    assert guardian.pid is None
    assert descriptors() == before
    assert "Could not start a guardian" in caplog.text
    guardian.forget(2**23)
