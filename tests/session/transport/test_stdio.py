"""The pipes of this process, connected with a transport: all bytes, both ways, and the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

import anyio
import anyio.to_thread
import pytest

from claudewire.transport import MemoryTransport, memory_pair, relay

SOON = 60

pytestmark = pytest.mark.anyio


class Ends:
    """Pipes in the place of stdin, stdout and stderr, and their other ends."""

    def __init__(self) -> None:
        self.pairs = [os.pipe() for _ in range(3)]
        (self.stdin, self.typed), (self.out, self.stdout), (self.err, self.stderr) = self.pairs

    @property
    def pipes(self) -> tuple[int, int, int]:
        return self.stdin, self.stdout, self.stderr

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


async def test_bytes_go_both_ways_until_the_other_end_exits(ends: Ends) -> None:
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


async def test_end_that_no_longer_reads_is_heard_until_it_exits(ends: Ends) -> None:
    ours, cli = memory_pair()
    await cli.send(b"last words")
    cli.exit(1)
    os.write(ends.typed, b"too late")
    with anyio.fail_after(SOON):
        assert await relay(ours, ends.pipes) == 1
    assert await ends.read(ends.out) == b"last words"


async def test_missing_reader_is_an_error(ends: Ends) -> None:
    ours, cli = memory_pair()
    os.close(ends.out)
    await cli.send(b"for nobody")
    with anyio.fail_after(SOON), pytest.raises(BrokenPipeError):
        await relay(ours, ends.pipes)


async def test_signal_task_is_cancelled_at_the_end(ends: Ends) -> None:
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
