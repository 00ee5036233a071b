"""How the requests of a process are served: at once if that is possible, otherwise in a task."""

from __future__ import annotations

import asyncio
import gc
import os
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import messages as saying
from tests.helpers.links import Host, Serve

from claudewire.errors import EvidenceLog
from claudewire.session.link import Link
from claudewire.transport import Launch, ProcessTransport
from claudewire.transport.process import spawn
from claudewire.wire import (
    Answer,
    Cancel,
    CanUseTool,
    Connection,
    Event,
    Failure,
    PermissionResultAllow,
    Request,
    Role,
    Stray,
)

pytestmark = pytest.mark.anyio

SOON = 30
"""Seconds; only a hang takes as long."""

word: ContextVar[str] = ContextVar("word", default="nothing")


class Echoed(Host):
    """Its CLI is `cat`, which says what it is told: so are the answers."""

    def __init__(self, transport: ProcessTransport, serve: Serve) -> None:
        super().__init__(serve)
        self.link = Link(transport, Connection(Role.CLIENT), self, self)
        self.answers: list[str] = []
        self._transport = transport
        self._cli = Connection(Role.CLI)

    def line(self, event: Event) -> bytes:
        """What a CLI writes to say something."""
        return self._cli.send(event)

    async def ask(self, *ids: str) -> None:
        """Have the CLI ask for permissions, each for itself, and wait for the answers."""
        for id in ids:
            self.put(self.line(asking(id)))
            await self.until_answered(id)

    def put(self, data: bytes) -> None:
        assert self._transport.send_now(data) == len(data)

    async def until_answered(self, id: str) -> None:
        with anyio.fail_after(SOON):
            await self.changed.until(lambda: id in self.answers)

    def received(self, event: Event) -> None:
        if isinstance(event, Stray) and isinstance(event.event, Answer | Failure):
            self.answers.append(event.event.id)
        super().received(event)


@asynccontextmanager
async def hosting(serve: Serve) -> AsyncIterator[Echoed]:
    transport = await spawn(Launch(("/bin/cat",), dict(os.environ), Path.cwd()))
    host = Echoed(transport, serve)
    host.link.start()
    try:
        yield host
    finally:
        host.link.close(now=True)
        with anyio.fail_after(SOON):
            await host.link.finished.wait()
    assert host.failures == []
    assert host.link.serving == 0


def asking(id: str) -> Request:
    return Request(id=id, body=CanUseTool("Bash", {"command": "ls"}))


ALLOWED = PermissionResultAllow({"command": "ls"})


async def allow(request: Request) -> Any:
    return ALLOWED


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio needs tasks to read
async def test_with_asyncio_a_link_that_serves_nothing_has_one_task() -> None:
    before = asyncio.all_tasks()
    async with hosting(allow) as host:
        host.put(b"nothing\n")
        with anyio.fail_after(SOON):
            await host.changed.wait()
        names = [task.get_name() for task in asyncio.all_tasks() - before]
    assert names == ["claudewire link"]


async def test_after_very_much_at_once_the_rest_is_read_too() -> None:
    ids = [f"request-{number}" for number in range(50)]  # more than one round has time for
    async with hosting(allow) as host:
        host.put(b"".join(host.line(asking(id)) for id in ids))
        for id in ids:
            await host.until_answered(id)
        await host.ask("one", "more")


async def test_what_is_raised_while_something_is_read_ends_the_link(
    monkeypatch: pytest.MonkeyPatch, anyio_backend: str
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    transport = await spawn(Launch(("/bin/cat",), dict(os.environ), Path.cwd()))
    host = Echoed(transport, allow)
    monkeypatch.setattr(EvidenceLog, "note_received", fail)
    host.link.start()
    host.put(b"nothing\n")
    with anyio.fail_after(SOON):
        await host.link.finished.wait()
    failures = [host.link.failure] if anyio_backend == "trio" else host.failures
    assert {type(it) for it in failures} == {ZeroDivisionError}
    assert not transport.is_alive


async def test_handlers_that_wait_and_such_that_do_not_are_served_one_after_the_other() -> None:
    seen = []

    async def serve(request: Request) -> Any:
        seen.append(request.id)
        if request.id.startswith("slow"):
            await anyio.lowlevel.checkpoint()
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep, 0)
        return ALLOWED

    ids = ["a", "b", "slow-1", "c", "slow-2", "slow-3", "d", "e"]
    async with hosting(serve) as host:
        await host.ask(*ids)
    assert seen == ids


async def test_a_request_that_is_withdrawn_cancels_its_handler_and_no_other() -> None:
    seen = []

    async def serve(request: Request) -> Any:
        if not request.id.startswith("slow"):
            return ALLOWED
        try:
            await anyio.sleep(SOON)
        except BaseException:
            seen.append(request.id)
            raise

    async with hosting(serve) as host:
        await host.ask("a", "b")
        host.put(host.line(asking("slow")))
        with anyio.fail_after(SOON):
            await host.changed.until(lambda: bool(host.link.serving))
        host.put(host.line(Cancel(id="slow")))
        with anyio.fail_after(SOON):
            await host.changed.until(lambda: not host.link.serving)
        await host.ask("c", "d")
    assert seen == ["slow"]
    assert "slow" not in host.answers
    assert host.withdrawals == ["slow"]


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
async def test_a_handler_that_raises_before_it_waits_is_answered_with_no(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    async def serve(request: Request) -> Any:
        if request.id == "bad":
            raise error
        return ALLOWED

    async with hosting(serve) as host:
        await host.ask("a", "b", "bad", "c")
    assert "The request bad of the CLI could not be answered" in caplog.text


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio has no such call
@pytest.mark.parametrize("waits", [False, True])
async def test_a_handler_whose_task_the_application_cancels_is_answered_with_no(
    waits: bool,
) -> None:
    async def serve(request: Request) -> Any:
        task = asyncio.current_task()
        assert task is not None
        if request.id.startswith("bad"):
            if waits:
                asyncio.get_running_loop().call_soon(task.cancel)
            else:
                task.cancel()
            await anyio.sleep(SOON)
        return ALLOWED

    async with hosting(serve) as host:
        await host.ask("bad-1", "a", "bad-2", "bad-3", "b")
    assert host.answers == ["bad-1", "a", "bad-2", "bad-3", "b"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("factory", [None, "eager_task_factory"])
async def test_tasks_that_have_ended_are_not_kept(factory: str | None) -> None:
    asyncio.get_running_loop().set_task_factory(getattr(asyncio, str(factory), None))  # from 3.12
    tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()

    async def serve(request: Request) -> Any:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        if request.id.startswith("early"):
            host.link.reply(request, ALLOWED)
        elif request.id.startswith("cancelled"):
            task.cancel()
        return ALLOWED

    ids = [f"{how}-{number}" for number in range(5) for how in ("early", "cancelled", "late")]
    async with hosting(serve) as host:
        host.put(b"".join(host.line(asking(id)) for id in ["a", "b", "c"]))
        await host.until_answered("c")
        await host.ask(*ids)
        await anyio.wait_all_tasks_blocked()
        gc.collect()
        assert len(tasks) <= 1  # it waits for the next one


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_many_that_waited_for_their_turn_may_end_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tasks of Python 3.12 can begin when they are made: then one must not begin the next."""
    eager = getattr(asyncio, "eager_task_factory", None)
    asyncio.get_running_loop().set_task_factory(eager)
    monkeypatch.setattr("claudewire.session.link.SERVED_AT_ONCE", 1)
    may_go_on = anyio.Event()

    async def serve(request: Request) -> Any:
        if request.id == "0":
            await may_go_on.wait()
        return ALLOWED

    async with hosting(serve) as host:
        host.put(b"".join(host.line(asking(str(number))) for number in range(300)))
        with anyio.fail_after(SOON):
            await host.changed.until(lambda: host.link.serving == 300)
        may_go_on.set()
        await host.until_answered("299")
    assert host.answers == [str(number) for number in range(300)]


@pytest.mark.parametrize("at_once", [1000, 1])
async def test_each_handler_has_context_variables_of_its_own(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claudewire.session.link.SERVED_AT_ONCE", at_once)
    seen = []

    async def serve(request: Request) -> Any:
        seen.append(word.get())
        word.set(request.id)
        if request.id.startswith("slow"):
            await anyio.lowlevel.checkpoint()
        return ALLOWED

    async with hosting(serve) as host:
        await host.ask("a", "b", "c")
        host.put(b"".join(host.line(asking(id)) for id in ("d", "slow-1", "slow-2", "e")))
        await host.until_answered("e")
    assert seen == ["nothing"] * 7


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio's order is random
async def test_the_application_sees_a_message_before_the_handler_of_a_request_behind_it() -> None:
    seen: list[str] = []

    async def serve(request: Request) -> Any:
        seen.append(request.id)
        return ALLOWED

    async with hosting(serve) as host, anyio.create_task_group() as group:

        async def watch() -> None:
            await host.changed.wait()
            seen.append("message")

        await host.ask("a", "b")
        group.start_soon(watch)
        await anyio.wait_all_tasks_blocked()
        host.put(host.line(saying.text("Hello")) + host.line(asking("c")))
        await host.until_answered("c")
    assert seen == ["a", "b", "message", "c"]
