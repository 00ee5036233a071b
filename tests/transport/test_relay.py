"""The pipes of this process, connected with a transport: all bytes, both ways, and the end."""

from __future__ import annotations

import array
import fcntl
import os
import termios
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from claudewire.transport import MemoryTransport, Pipes, memory_pair, own_pipes, relay

SOON = 60


class Ends:
    """Pipes in the place of stdin, stdout and stderr, and their other ends."""

    def __init__(self) -> None:
        self.pairs = [os.pipe() for _ in range(3)]
        (self.stdin, self.typed), (self.out, self.stdout), (self.err, self.stderr) = self.pairs

    @property
    def pipes(self) -> Pipes:
        return Pipes(self.stdin, self.stdout, self.stderr)

    async def read(self, fd: int) -> bytes:
        return await anyio.to_thread.run_sync(os.read, fd, 2**20)

    def close(self) -> None:
        for fd in (fd for pair in self.pairs for fd in pair):
            with suppress(OSError):
                os.close(fd)


@pytest.fixture
def ends() -> Iterator[Ends]:
    ends = Ends()
    yield ends
    ends.close()


async def take(cli: MemoryTransport, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += await cli.receive()
    return data


@pytest.mark.anyio
async def test_bytes_go_both_ways_as_they_are_until_the_other_end_has_exited(ends: Ends) -> None:
    ours, cli = memory_pair()
    statuses: list[int | None] = []

    async def run() -> None:
        statuses.append(await relay(ours, ends.pipes))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            os.write(ends.typed, b"half a \xff line")
            assert await take(cli, 13) == b"half a \xff line"
            await cli.send(b"an answer\n")
            assert await ends.read(ends.out) == b"an answer\n"
            cli.send_stderr(b"a warning")
            assert await ends.read(ends.err) == b"a warning"
            os.close(ends.typed)
            assert await cli.receive() == b""
            await cli.send(b"goodbye")
            cli.exit(7)
    assert statuses == [7]
    assert await ends.read(ends.out) == b"goodbye"


@pytest.mark.anyio
async def test_an_end_that_no_longer_reads_is_heard_until_it_exits(ends: Ends) -> None:
    ours, cli = memory_pair()
    await cli.send(b"last words")
    cli.exit(1)
    os.write(ends.typed, b"too late")
    with anyio.fail_after(SOON):
        assert await relay(ours, ends.pipes) == 1
    assert await ends.read(ends.out) == b"last words"


@pytest.mark.anyio
async def test_a_reader_that_is_gone_is_an_error_and_nothing_hangs(ends: Ends) -> None:
    ours, cli = memory_pair()
    os.close(ends.out)
    await cli.send(b"for nobody")
    with anyio.fail_after(SOON), pytest.raises(BrokenPipeError):
        await relay(ours, ends.pipes)


class Busy:
    """A transport that never takes what it is sent."""

    def __init__(self) -> None:
        self.inner, self.cli = memory_pair()
        self.taken = b""
        self.may_go_on = anyio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def send(self, data: bytes) -> None:
        await self.may_go_on.wait()
        self.taken += data


def unread(fd: int) -> int:
    """How many bytes a pipe holds."""
    size = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, size)
    return size[0]


@pytest.mark.anyio
async def test_only_so_much_is_read_before_it_is_taken(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_pipes, "CHUNK", 1)
    busy: Any = Busy()
    os.write(ends.typed, bytes(range(100)))
    before = {*threading.enumerate()}
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(relay, busy, ends.pipes)
            while unread(ends.stdin) > 83:  # one is being sent, and sixteen wait
                await anyio.lowlevel.checkpoint()
            for _ in range(1000):
                await anyio.lowlevel.checkpoint()
            assert unread(ends.stdin) == 83
            (reader,) = (it for it in {*threading.enumerate()} - before if "relay" in it.name)
            assert reader.daemon
            busy.may_go_on.set()
            while len(busy.taken) < 100:
                await anyio.lowlevel.checkpoint()
            busy.cli.exit(0)
    assert busy.taken == bytes(range(100))


@pytest.mark.anyio
async def test_it_can_be_cancelled_although_nobody_reads_what_is_written(ends: Ends) -> None:
    ours, cli = memory_pair()
    size = fcntl.fcntl(ends.out, fcntl.F_GETPIPE_SZ)
    scope, has_ended = anyio.CancelScope(), anyio.Event()

    async def run() -> None:
        with scope:
            await relay(ours, ends.pipes)
        has_ended.set()

    await cli.send(b"x" * 2 * size)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        with anyio.fail_after(SOON):
            while unread(ends.out) < size:
                await anyio.lowlevel.checkpoint()
        scope.cancel()
        with anyio.move_on_after(SOON):
            await has_ended.wait()
        was_cancelled = has_ended.is_set()
        os.close(ends.out)  # ends the thread that writes
    assert was_cancelled


@pytest.mark.anyio
async def test_what_passes_signals_on_runs_until_the_end(ends: Ends) -> None:
    ours, cli = memory_pair()
    seen = []

    async def signals() -> None:
        try:
            cli.exit(0)
            await anyio.sleep_forever()
        finally:
            seen.append("cancelled")

    with anyio.fail_after(SOON):
        assert await relay(ours, ends.pipes, signals) == 0
    assert seen == ["cancelled"]


@pytest.mark.anyio
async def test_a_stdin_that_cannot_be_read_counts_as_ended(ends: Ends) -> None:
    ours, cli = memory_pair()
    pipes = ends.pipes._replace(stdin=ends.typed)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(relay, ours, pipes)
            assert await cli.receive() == b""
            cli.exit(0)
