"""Tasks that wait for one file descriptor."""

from __future__ import annotations

import os
from collections.abc import Iterator

import anyio
import pytest

from claudewire.transport.pipes import PipeReader, Readiness

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


@pytest.mark.anyio
async def test_what_is_handed_over_is_not_kept_from_it_by_what_drains() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    reader = PipeReader(os.fdopen(reading, "rb", buffering=0))
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
