"""The pair in memory: what one side sends, the other reads, and no call waits for ever."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest

from claudewire.errors import TransportClosed
from claudewire.transport import MemoryTransport, Transport, memory_pair
from claudewire.wire import Error

pytestmark = pytest.mark.anyio

SOON = 60


@pytest.fixture
def made_early() -> tuple[MemoryTransport, MemoryTransport]:
    """Made before there is an event loop: this fixture is not async."""
    return memory_pair()


def ends() -> tuple[Transport, MemoryTransport]:
    return memory_pair()


async def meanwhile(wait: Callable[[], Awaitable[object]], act: Callable[[], object]) -> object:
    """Act while a call waits; return what it got."""
    got: list[object] = []

    async def waiter() -> None:
        got.append(await wait())

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waiter)
            await anyio.wait_all_tasks_blocked()
            assert not got
            done = act()
            if isinstance(done, Awaitable):
                await done
    return got[0]


async def test_each_end_reads_what_the_other_sends() -> None:
    app, cli = ends()
    with anyio.fail_after(SOON):
        await app.send(b"hello ")
        await app.send(b"")
        await app.send(b"there")
        await cli.send(b"hi")
        assert await cli.receive() == b"hello there"
        assert await app.receive() == b"hi"


async def test_a_pair_can_be_made_outside_of_an_event_loop(
    made_early: tuple[MemoryTransport, MemoryTransport],
) -> None:
    app, cli = made_early
    assert await meanwhile(app.receive, lambda: cli.send(b"x")) == b"x"


async def test_a_reader_is_woken_by_what_comes() -> None:
    app, cli = ends()
    assert await meanwhile(app.receive, lambda: cli.send(b"x")) == b"x"
    assert await meanwhile(app.receive_stderr, lambda: cli.send_stderr(b"oh")) == b"oh"
    assert await meanwhile(cli.receive, app.send_eof) == b""


async def test_of_two_readers_one_gets_it_and_the_other_goes_on_waiting() -> None:
    app, cli = ends()
    got: list[bytes] = []

    async def read() -> None:
        got.append(await app.receive())

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await cli.send(b"one")
            await anyio.wait_all_tasks_blocked()
            assert got == [b"one"]
            await cli.send(b"two")
    assert got == [b"one", b"two"]


async def test_the_end_comes_after_what_was_sent_and_stays() -> None:
    app, cli = ends()
    with anyio.fail_after(SOON):
        await app.send(b"last")
        await app.send_eof()
        await app.send_eof()
        assert [await cli.receive() for _ in range(3)] == [b"last", b"", b""]
        with pytest.raises(TransportClosed):
            await app.send(b"more")
        await cli.send(b"the other direction is open")
        assert await app.receive() == b"the other direction is open"


async def test_exit_leaves_what_was_sent_and_the_status() -> None:
    app, cli = ends()
    with anyio.fail_after(SOON):
        await cli.send(b"bye")
        cli.send_stderr(b"crash")
        cli.exit(-9)
        cli.exit(0)
        assert await app.wait() == -9
        assert [await app.receive(), await app.receive()] == [b"bye", b""]
        assert [await app.receive_stderr(), await app.receive_stderr()] == [b"crash", b""]
        with pytest.raises(TransportClosed):
            await app.send(b"anybody there?")
        assert await cli.receive() == b""


async def test_exit_wakes_a_waiting_reader() -> None:
    app, cli = ends()
    assert await meanwhile(app.wait, lambda: cli.exit(3)) == 3


@pytest.mark.parametrize("what", ["receive", "receive_stderr", "wait"])
@pytest.mark.parametrize("who", ["the same end", "the other end"])
async def test_closing_wakes_all_that_wait(what: str, who: str) -> None:
    app, cli = ends()
    closed = app if who == "the same end" else cli
    got = await meanwhile(getattr(app, what), closed.aclose)
    assert got == (None if what == "wait" else b"")


async def test_after_closing_nothing_can_be_sent_and_nothing_is_read() -> None:
    app, cli = ends()
    with anyio.fail_after(SOON):
        await cli.send(b"unread")
        await app.send(b"still to be read")
        await app.aclose()
        await app.aclose()
        assert await app.receive() == await app.receive_stderr() == b""
        assert [await cli.receive(), await cli.receive()] == [b"still to be read", b""]
        for send in (app.send, cli.send):
            with pytest.raises(TransportClosed):
                await send(b"x")
        with pytest.raises(TransportClosed):
            cli.send_stderr(b"x")
        await app.send_eof()


async def test_a_status_that_comes_after_closing_is_told_all_the_same() -> None:
    app, cli = ends()
    with anyio.fail_after(SOON):
        await app.aclose()
        assert await app.wait() is None
        cli.exit(1)
        assert await app.wait() == 1


async def test_what_is_cancelled_neither_sends_nor_loses_anything() -> None:
    app, cli = ends()
    with anyio.fail_after(SOON):
        await cli.send(b"kept")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await app.receive()
        assert scope.cancelled_caught
        with anyio.CancelScope() as scope:
            scope.cancel()
            await app.send(b"never")
        assert scope.cancelled_caught
        assert await app.receive() == b"kept"
        await app.send(b"sent")
        assert await cli.receive() == b"sent"


async def test_every_call_lets_others_run() -> None:
    app, cli = ends()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async def once(call: Callable[[], Awaitable[object]]) -> None:
        before = turns
        for _ in range(10):  # a scheduler may run a task twice before another one
            await call()
        assert turns > before

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(count)
            await once(lambda: app.send(b"x"))
            await once(app.send_eof)
            cli.exit(0)
            for call in (app.receive, app.receive_stderr, app.wait, app.aclose):
                await once(call)
            tasks.cancel_scope.cancel()


def test_that_it_is_closed_is_an_error_of_this_library() -> None:
    assert issubclass(TransportClosed, Error)
