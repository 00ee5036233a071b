"""Tasks that wait for one file descriptor."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterator

import anyio
import anyio.lowlevel
import pytest
import sniffio

from claudewire.errors import TransportClosed
from claudewire.transport import pipes
from claudewire.transport.pipes import PipeReader, PipeWriter, Readiness

SOON = 10


class Pipe:
    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()

    def fileno(self) -> int:
        return self.reading


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    os.close(made.reading)
    os.close(made.writing)


@pytest.mark.anyio
async def test_an_error_in_what_is_called_reaches_the_one_that_watches(pipe: Pipe) -> None:
    os.write(pipe.writing, b"!")
    readiness = Readiness(pipe, anyio.wait_readable)

    def ready() -> bool:
        raise ZeroDivisionError("in what is called")

    with anyio.fail_after(SOON), pytest.raises(ZeroDivisionError, match="in what is called"):
        await readiness.watch(ready)


@pytest.mark.anyio
async def test_it_is_called_until_it_has_enough(pipe: Pipe) -> None:
    readiness = Readiness(pipe, anyio.wait_readable)
    left = [3]
    os.write(pipe.writing, b"!")

    def ready() -> bool:
        left[0] -= 1
        return left[0] > 0

    with anyio.fail_after(SOON):
        await readiness.watch(ready)
    assert left == [0]


@pytest.mark.anyio
async def test_one_that_watches_waits_for_one_that_waits(pipe: Pipe) -> None:
    readiness = Readiness(pipe, anyio.wait_readable)
    order: list[str] = []

    async def wait() -> None:
        await readiness.wait()
        order.append("waited")

    def ready() -> bool:
        if not order:
            return True
        order.append("called")
        return False

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(readiness.watch, ready)
            await anyio.wait_all_tasks_blocked()
            os.write(pipe.writing, b"!")
    assert order == ["waited", "called"]


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_those_that_wait_while_it_is_watched_are_woken_at_the_end_of_that(
    pipe: Pipe,
) -> None:
    readiness = Readiness(pipe, anyio.wait_readable)
    order: list[object] = []

    async def wait() -> None:
        await readiness.wait()
        order.append("waited")

    readiness.watch_without_task(lambda: False, order.append)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert not order
            os.write(pipe.writing, b"!")
    assert order == [None, "waited", "waited"]
    with anyio.fail_after(SOON):
        await readiness.wait()  # it can be waited for again


@pytest.mark.anyio
async def test_closing_wakes_one_that_waits_alone(pipe: Pipe) -> None:
    readiness = Readiness(pipe, anyio.wait_readable)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(readiness.wait)
            await anyio.wait_all_tasks_blocked()
            readiness.close()
    readiness.close()  # now nobody waits, and nothing happens


# --- reading --------------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few bytes are read at once."""
    monkeypatch.setattr(pipes, "CHUNK", 2)
    monkeypatch.setattr(pipes, "IN_ONE_GO", 6)


def reading_from(data: bytes) -> tuple[PipeReader, int]:
    """A reader, and the other end of its pipe, in which there is something already."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.write(writing, data)
    return PipeReader(os.fdopen(reading, "rb", buffering=0)), writing


async def rest(reader: PipeReader) -> bytes:
    received = b""
    while data := await reader.receive():
        received += data
    return received


@pytest.mark.anyio
@pytest.mark.parametrize(("most", "kept"), [(0, 0), (1, 2), (2, 2), (3, 4), (8, 8), (50, 12)])
async def test_only_so_much_is_kept_of_what_is_drained(
    small: None, monkeypatch: pytest.MonkeyPatch, most: int, kept: int
) -> None:
    monkeypatch.setattr(pipes, "MOST_KEPT", most)
    reader, writing = reading_from(b"0123456789ab")
    if kept == 12:
        os.close(writing)
    with anyio.fail_after(SOON):
        await reader.drain()
        if kept < 12:
            os.close(writing)
        reader.close()
        assert await rest(reader) == b"0123456789ab"[:kept]


@pytest.mark.anyio
async def test_closing_keeps_what_a_pipe_can_hold(small: None) -> None:
    reader, writing = reading_from(b"0123456789ab")
    reader.close()
    os.close(writing)
    with anyio.fail_after(SOON):
        assert await rest(reader) == b"012345"


@pytest.mark.anyio
async def test_what_drains_lets_others_run(small: None) -> None:
    reader, writing = reading_from(b"0123456789ab")
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader.drain)
            tasks.start_soon(count)
            while turns < 100:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        os.close(writing)
        reader.close()
        assert await rest(reader) == b"0123456789ab"


Take = Callable[[bytes], None]


class Failing:
    """What is handed data, and fails each time."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []

    def __call__(self, data: bytes) -> None:
        self.taken.append(data)
        raise ZeroDivisionError(f"failure {len(self.taken)}")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_without_a_task_an_error_ends_the_handing_over(small: None) -> None:
    reader, writing = reading_from(b"0123")
    failing, ends = Failing(), list[BaseException | None]()
    reader.pump_without_task(failing, ends.append)
    with anyio.fail_after(SOON):
        while not ends:
            await anyio.lowlevel.checkpoint()
        assert failing.taken == [b"01"]
        assert [str(error) for error in ends] == ["failure 1"]
        os.close(writing)
        assert await rest(reader) == b"23"
    reader.close()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_without_a_task_what_was_left_is_handed_over_when_it_is_closed(small: None) -> None:
    reader, writing = reading_from(b"0123")
    taken, ends = list[bytes](), list[BaseException | None]()
    reader.pump_without_task(taken.append, ends.append)
    reader.close()
    assert [b"".join(taken), ends] == [b"0123", [None]]
    os.close(writing)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_error_about_what_was_left_is_told_at_the_end(small: None) -> None:
    reader, writing = reading_from(b"0123")
    failing, ends = Failing(), list[BaseException | None]()
    reader.pump_without_task(failing, ends.append)
    reader.close()
    assert failing.taken == [b"01"]
    assert [str(error) for error in ends] == ["failure 1"]
    os.close(writing)


@pytest.mark.anyio
async def test_what_was_handed_over_before_is_drained_again() -> None:
    reader, writing = reading_from(b"")
    arrived: list[bytes] = []
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader.pump, arrived.append)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        os.write(writing, b"hello")
        os.close(writing)
        await reader.drain()
    reader.close()
    assert arrived == []
    assert await rest(reader) == b"hello"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("is_loaded", [True, False])
async def test_what_is_called_may_ask_which_event_loop_it_is_in(
    pipe: Pipe, is_loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in a task, it could not be told; anyio itself asks with some of its versions."""
    found: list[str] = []
    readiness = Readiness(pipe, anyio.wait_readable)

    def ready() -> bool:
        found.append(sniffio.current_async_library() if is_loaded else "not asked")
        return False

    if not is_loaded:
        monkeypatch.delitem(sys.modules, "sniffio")
    os.write(pipe.writing, b"!")
    before = sniffio.thread_local.name
    with anyio.fail_after(SOON):
        await readiness.watch(ready)
    assert found == ["asyncio" if is_loaded else "not asked"]
    assert (before, sniffio.thread_local.name) == (None, None)


# --- writing --------------------------------------------------------------------------------------


def writing_to() -> tuple[PipeWriter, int, int]:
    """A writer, the other end of its pipe, and how much the pipe holds."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    file = os.fdopen(writing, "wb", buffering=0)
    return PipeWriter(file), reading, fcntl.fcntl(reading, fcntl.F_GETPIPE_SZ)


async def everything_in(reading: int) -> bytes:
    """Read a pipe to its end."""
    os.set_blocking(reading, False)
    received, is_open = b"", True
    while is_open:
        try:
            data = os.read(reading, 2**20)
        except BlockingIOError:
            await anyio.lowlevel.checkpoint()
        else:
            received, is_open = received + data, data != b""
    return received


@pytest.mark.anyio
async def test_the_end_of_the_input_comes_after_all_that_is_being_sent() -> None:
    writer, reading, size = writing_to()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.send, b"x" * 2 * size)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(writer.send_eof)
            await anyio.wait_all_tasks_blocked()
            assert await everything_in(reading) == b"x" * 2 * size
        os.close(reading)
        with pytest.raises(TransportClosed, match="stdin of the process is closed"):
            writer.send_now(b"more")


@pytest.mark.anyio
async def test_the_end_of_the_input_comes_although_what_was_begun_is_not_read() -> None:
    writer, reading, size = writing_to()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.send, b"x" * 2 * size)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        os.close(reading)
        await writer.send_eof()
        with pytest.raises(TransportClosed, match="stdin of the process is closed"):
            await writer.send(b"more")


@pytest.mark.anyio
async def test_closing_it_twice_is_the_same_as_once() -> None:
    writer, reading, size = writing_to()
    failures: list[TransportClosed] = []

    async def send() -> None:
        try:
            await writer.send(b"x" * 2 * size)
        except TransportClosed as error:
            failures.append(error)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            await anyio.wait_all_tasks_blocked()
            writer.close()
            writer.close()  # before the sender has noticed
    assert [str(error) for error in failures] == ["The stdin of the process is closed"]
    os.close(reading)


@pytest.mark.anyio
async def test_what_is_handed_over_is_not_kept_from_it_by_what_drains() -> None:
    reader, writing = reading_from(b"")
    arrived: list[bytes] = []
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reader.drain)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(reader.pump, arrived.append)
            await anyio.wait_all_tasks_blocked()
            os.write(writing, b"hello")
            os.close(writing)
    reader.close()
    assert b"".join(arrived) == b"hello"
