"""A pair of transports in memory: bytes, ends and the exit status reach the other side."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from claudewire.errors import TransportClosed
from claudewire.transport import memory_pair

SOON = 60

pytestmark = pytest.mark.anyio


async def test_each_side_reads_the_bytes_of_the_other() -> None:
    app, cli = memory_pair()
    with anyio.fail_after(SOON):
        await app.send(b"one")
        await app.send(b" two")
        assert await cli.receive() == b"one two"
        await cli.send(b"three")
        cli.send_stderr(b"warning")
        assert await app.receive() == b"three"
        assert await app.receive_stderr() == b"warning"
        await app.send(b"last")
        await app.send_eof()
        assert [await cli.receive(), await cli.receive()] == [b"last", b""]
        with pytest.raises(TransportClosed):
            await app.send(b"late")


async def test_exit_leaves_unread_bytes_and_the_status() -> None:
    app, cli = memory_pair()
    with anyio.fail_after(SOON):
        await cli.send(b"last words")
        cli.exit(3)
        await cli.aclose()
        assert [await app.receive(), await app.receive()] == [b"last words", b""]
        assert await app.receive_stderr() == b""
        assert await app.wait() == 3
        with pytest.raises(TransportClosed):
            await app.send(b"late")


@pytest.mark.parametrize("closer", [0, 1])
async def test_close_wakes_all_pending_calls(closer: int) -> None:
    pair = memory_pair()
    got: list[object] = []

    async def take(call: Callable[[], Awaitable[object]]) -> None:
        got.append(await call())

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for call in (pair[0].receive, pair[0].receive_stderr, pair[0].wait):
                tasks.start_soon(take, call)
            await anyio.wait_all_tasks_blocked()
            assert not got
            await pair[closer].aclose()
    assert sorted(map(repr, got)) == ["None", "b''", "b''"]


async def test_cancelled_calls_send_and_lose_nothing() -> None:
    app, cli = memory_pair()
    with anyio.fail_after(SOON):
        await app.send(b"one")
        for call in (cli.receive, lambda: app.send(b"two"), app.send_eof):
            with anyio.CancelScope() as scope:
                scope.cancel()
                await call()
            assert scope.cancelled_caught
        await app.send(b"three")
        assert await cli.receive() == b"onethree"
