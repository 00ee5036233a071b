"""A coroutine that runs at once, and a task that goes on with it if it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

import anyio
import pytest

from claudewire.concurrency import detached
from claudewire.concurrency.spare import SpareTask

pytestmark = pytest.mark.anyio

T = TypeVar("T")

SOON = 10
"""Seconds; only a hang takes as long."""

word: ContextVar[str] = ContextVar("word", default="nothing")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def outside_of_tasks(function: Callable[[], T]) -> T:
    """Call a function in the event loop, but in none of its tasks, as the reader of a pipe is."""
    loop = asyncio.get_running_loop()
    called: asyncio.Future[T] = loop.create_future()
    loop.call_soon(lambda: called.set_result(function()))
    return await called


async def spare_task() -> SpareTask:
    spare = SpareTask("spare")
    await asyncio.sleep(0)  # it has started then
    return spare


async def begun(spare: SpareTask, coroutine: Coroutine[Any, Any, None]) -> bool:
    def begin() -> bool:
        assert spare.is_free
        return spare.begin(coroutine)

    return await outside_of_tasks(begin)


async def ended(spare: SpareTask) -> None:
    with anyio.fail_after(SOON):
        await asyncio.wait([spare.task])


async def test_what_does_not_wait_has_ended_at_once_and_the_task_serves_again() -> None:
    spare, tasks = await spare_task(), []

    async def note() -> None:
        tasks.append(asyncio.current_task())

    assert await begun(spare, note())
    assert await begun(spare, note())
    assert tasks == [spare.task, spare.task]
    spare.end()
    await ended(spare)
    assert spare.task.done()


async def test_what_waits_goes_on_in_the_task() -> None:
    spare, answer, seen = await spare_task(), anyio.Event(), []

    async def wait() -> None:
        seen.append(asyncio.current_task())
        await asyncio.sleep(0)
        await answer.wait()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.sleep(SOON)
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 0)
        seen.append(asyncio.current_task())

    assert not await begun(spare, wait())
    assert not await outside_of_tasks(lambda: spare.is_free)
    answer.set()
    await ended(spare)
    assert seen == [spare.task, spare.task]


@pytest.mark.parametrize("rounds", [0, 1, 5])
async def test_cancelling_the_scope_cancels_it(rounds: int) -> None:
    """Also before the task could go on with it."""
    spare, seen = await spare_task(), []

    async def wait() -> None:
        try:
            await asyncio.sleep(SOON)
        except asyncio.CancelledError:
            seen.append("cancelled")
            with anyio.CancelScope(shield=True):
                await asyncio.sleep(0)
            seen.append("cleaned up")
            raise

    assert not await begun(spare, wait())
    for _ in range(rounds):
        await asyncio.sleep(0)
    spare.scope.cancel()
    await ended(spare)
    assert seen == ["cancelled", "cleaned up"]
    assert not spare.task.cancelled()


async def test_a_shield_holds_the_cancellation_back() -> None:
    spare, go_on, seen = await spare_task(), anyio.Event(), []

    async def wait() -> None:
        with anyio.CancelScope(shield=True):
            await go_on.wait()
            seen.append("done")
        await asyncio.sleep(SOON)

    assert not await begun(spare, wait())
    spare.scope.cancel()
    await anyio.wait_all_tasks_blocked()
    assert seen == []
    go_on.set()
    await ended(spare)
    assert seen == ["done"]


@pytest.mark.parametrize("waits", [False, True])
async def test_it_may_cancel_its_own_task(waits: bool) -> None:
    spare, seen = await spare_task(), []

    async def cancel() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if waits:
            try:
                await asyncio.sleep(SOON)
            finally:
                seen.append("ended")

    assert not await begun(spare, cancel())
    assert not await outside_of_tasks(lambda: spare.is_free)
    await ended(spare)
    assert seen == (["ended"] if waits else [])


async def test_context_variables_are_its_own() -> None:
    spare, seen = await spare_task(), []
    word.set("outside")

    async def say(new: str, *, waits: bool) -> None:
        seen.append(word.get())
        token = word.set(new)
        if waits:
            await asyncio.sleep(0)
        seen.append(word.get())
        word.reset(token)

    assert await begun(spare, say("first", waits=False))
    assert not await begun(spare, say("second", waits=True))
    await ended(spare)
    assert seen == ["outside", "first", "outside", "second"]
    assert word.get() == "outside"


async def test_it_cannot_begin_in_another_task_or_before_the_task_has_started() -> None:
    def started() -> SpareTask:
        spare = SpareTask("spare")
        assert not spare.is_free
        return spare

    spare = await outside_of_tasks(started)
    await asyncio.sleep(0)
    assert not spare.is_free  # this is a task
    assert await outside_of_tasks(lambda: spare.is_free)
    spare.end()
    assert not await outside_of_tasks(lambda: spare.is_free)
    await ended(spare)


async def test_one_that_was_started_for_a_coroutine_serves_others_after_its_end() -> None:
    seen = []

    async def note(text: str) -> None:
        seen.append((text, word.get(), asyncio.current_task()))
        word.set(text)

    word.set("outside")
    spare = SpareTask("spare", note("first"))
    assert not seen  # not at once
    waiting = [spare.is_waiting]
    await asyncio.sleep(0)
    waiting.append(spare.is_waiting)
    assert waiting == [False, True]
    assert await begun(spare, note("second"))
    assert seen == [("first", "outside", spare.task), ("second", "outside", spare.task)]
    spare.end()
    await ended(spare)
    assert not spare.is_waiting


async def test_one_that_is_no_longer_wanted_ends_with_its_first_coroutine() -> None:
    go_on = anyio.Event()
    spare = SpareTask("spare", go_on.wait())
    await asyncio.sleep(0)
    spare.end()
    await asyncio.sleep(0)
    assert not spare.task.done()
    go_on.set()
    await ended(spare)


@pytest.mark.parametrize("how", ["scope", "task"])
@pytest.mark.parametrize("goes_on", [False, True])
async def test_one_that_was_cancelled_serves_no_others(how: str, goes_on: bool) -> None:
    async def first() -> None:
        try:
            await asyncio.sleep(SOON)
        except asyncio.CancelledError:
            if not goes_on:
                raise

    scope = anyio.CancelScope()
    spare = SpareTask("spare", first(), scope)
    assert spare.scope is scope
    await asyncio.sleep(0)
    if how == "scope":
        scope.cancel()
    else:
        spare.task.cancel()
    await ended(spare)
    assert not spare.is_waiting
    assert spare.task.cancelled() is (how == "task" and not goes_on)


def test_it_is_closed_with_an_event_loop_that_ends_in_the_middle() -> None:
    loop, seen = asyncio.new_event_loop(), []

    async def wait() -> None:
        try:
            await asyncio.sleep(SOON)
        except GeneratorExit:
            seen.append("closed")
            raise

    async def start() -> SpareTask:
        spare = await spare_task()
        assert not await begun(spare, wait())
        await asyncio.sleep(0)
        return spare

    spare = loop.run_until_complete(start())
    coroutine = spare.task.get_coro()
    assert coroutine is not None
    with pytest.raises(RuntimeError, match="no running event loop"):  # says the scope
        coroutine.close()
    assert seen == ["closed"]
    spare.task.cancel()
    loop.run_until_complete(asyncio.wait([spare.task]))
    assert spare.task.exception()  # it cannot go on
    loop.close()


@pytest.mark.parametrize(("backend", "kind"), [("asyncio", SpareTask), ("trio", type(None))])
def test_there_are_such_tasks_with_asyncio_alone(backend: str, kind: type) -> None:
    async def start() -> type:
        spare = detached.spare_task("spare")
        if spare is not None:
            spare.task.cancel()
        return type(spare)

    assert anyio.run(start, backend=backend) is kind


async def test_a_task_whose_first_coroutine_has_waited_serves_no_other() -> None:
    """What that has left behind, such as a timer that cancels its task, would meet the next one."""
    may_go_on = asyncio.Event()

    async def wait() -> None:
        await may_go_on.wait()

    spare = SpareTask("spare", wait())
    await asyncio.sleep(0)
    may_go_on.set()
    await ended(spare)
    assert not spare.is_waiting


async def test_an_eager_task_serves_others_after_its_first_coroutine() -> None:
    eager = getattr(asyncio, "eager_task_factory", None)  # from Python 3.12 on
    asyncio.get_running_loop().set_task_factory(eager)

    async def decide() -> None:
        pass

    spare = SpareTask("spare", decide())
    await asyncio.sleep(0)
    assert await begun(spare, decide())
    spare.end()
    await ended(spare)
    assert spare.task.exception() is None
