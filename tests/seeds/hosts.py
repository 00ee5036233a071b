"""Sessions with the CLIs of the documents, through the public API: asyncio, trio and blocking.

A flow is written once, as an async function. With asyncio and trio it runs in an event loop that
stays; over the blocking API it never waits for anything, so that it can be run to its end at once.
One process serves as many flows as it can, because starting it is most of the work.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import anyio
import anyio.from_thread
from tests.seeds.documents import Document

import claudewire
from claudewire import sync

__all__ = ["BACKENDS", "BOUND", "TIMEOUTS", "Host", "Hosts", "Json", "Plan", "command"]

BACKENDS = ("asyncio", "trio", "sync")

BOUND = 60.0
"""Seconds for anything: only what hangs takes so long."""

TIMEOUTS = claudewire.Timeouts(start=BOUND, request=BOUND, interrupt=BOUND, exit=BOUND)

Json = dict[str, Any]


def command(document: Document, program: str = "cli.py") -> list[str]:
    """Start a program of a document, without what only costs time."""
    return [sys.executable, "-E", "-s", "-S", str(document.folder / program)]


@dataclass
class Plan:
    """What the application does when it is asked, and what it was asked."""

    permission: Callable[[claudewire.PermissionRequest], claudewire.PermissionResult]
    question: Callable[[claudewire.QuestionRequest], claudewire.PermissionResult]
    together: int = 1
    """How many permissions must be open before the first is decided."""
    asked: list[Any] = field(default_factory=list)


def refuse(request: Any) -> claudewire.PermissionResult:
    raise AssertionError(f"nothing was to be decided: {request}")


class Host(Protocol):
    """One session with a CLI, for a flow."""

    plan: Plan
    session: Any
    document: Document
    log: Path

    async def open(self, **options: Any) -> None: ...
    async def close(self) -> None: ...
    async def run(self, prompt: Any, **options: Any) -> claudewire.Reply: ...
    async def send(self, prompt: Any) -> Any: ...
    async def reply(self, turn: Any) -> claudewire.Reply: ...
    async def texts(self, turn: Any) -> list[str]: ...
    async def wait_for(self, turn: Any, kind: type[claudewire.Message]) -> None: ...
    async def wait_until_asked(self) -> None: ...
    async def interrupt(self) -> Any: ...
    async def request(self, body: Any) -> Any: ...


class _Base:
    def __init__(self, document: Document, options: Json, log: Path) -> None:
        self.document = document
        self.options = options
        self.log = log
        self.plan = Plan(refuse, refuse)
        self.session: Any = None
        self._read = 0

    def arguments(self, more: Json) -> Json:
        env = {"PEER_LOG": str(self.log), **self.options.get("env", {}), **more.pop("env", {})}
        given = {"cli": command(self.document), "timeouts": TIMEOUTS, **self.options, **more}
        return {**given, "env": env}

    def heard(self) -> list[Json]:
        """What the CLI has logged since the last call."""
        text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        lines = text.splitlines()
        new, self._read = lines[self._read :], len(lines)
        return [json.loads(line) for line in new]


class AsyncHost(_Base):
    """A session in an event loop."""

    def __init__(self, document: Document, options: Json, log: Path) -> None:
        super().__init__(document, options, log)
        self.portal: anyio.from_thread.BlockingPortal | None = None
        self._asked, self._all_asked = anyio.Event(), anyio.Event()

    def finish(self, flow: Coroutine[Any, Any, None]) -> None:
        assert self.portal is not None

        async def bounded() -> None:
            with anyio.fail_after(BOUND):
                await flow

        self.portal.call(bounded)

    async def open(self, **options: Any) -> None:
        self.session = await claudewire.open(**self._with_handlers(options))

    def _with_handlers(self, more: Json) -> Json:
        return {"on_permission": self._decide, "on_question": self._answer, **self.arguments(more)}

    async def _decide(self, request: claudewire.PermissionRequest) -> claudewire.PermissionResult:
        self.plan.asked.append(request)
        self._asked.set()
        if len(self.plan.asked) >= self.plan.together:
            self._all_asked.set()
        await self._all_asked.wait()
        return self.plan.permission(request)

    async def _answer(self, request: claudewire.QuestionRequest) -> claudewire.PermissionResult:
        self.plan.asked.append(request)
        return self.plan.question(request)

    def prepare(self, plan: Plan) -> None:
        self.plan = plan
        self._asked, self._all_asked = anyio.Event(), anyio.Event()

    async def close(self) -> None:
        await self.session.close()

    async def run(self, prompt: Any, **options: Any) -> claudewire.Reply:
        return await claudewire.run(prompt, **self._with_handlers(options))

    async def send(self, prompt: Any) -> Any:
        return self.session.send(prompt)

    async def reply(self, turn: Any) -> claudewire.Reply:
        reply: claudewire.Reply = await turn
        return reply

    async def texts(self, turn: Any) -> list[str]:
        return [text async for text in turn.iter_text()]

    async def wait_for(self, turn: Any, kind: type[claudewire.Message]) -> None:
        async for message in turn:
            if isinstance(message, kind):
                return

    async def wait_until_asked(self) -> None:
        await self._asked.wait()

    async def interrupt(self) -> Any:
        return await self.session.interrupt()

    async def request(self, body: Any) -> Any:
        return await self.session.request(body)


class SyncHost(_Base):
    """A session of the blocking API; nothing here ever waits for an event loop."""

    def __init__(self, document: Document, options: Json, log: Path) -> None:
        super().__init__(document, options, log)
        self._asked, self._all_asked = threading.Event(), threading.Event()

    def finish(self, flow: Coroutine[Any, Any, None]) -> None:
        try:
            flow.send(None)
        except StopIteration:
            return
        raise AssertionError("a blocking call waited for an event loop")

    async def open(self, **options: Any) -> None:
        self.session = sync.open(**self._with_handlers(options))

    def _with_handlers(self, more: Json) -> Json:
        return {"on_permission": self._decide, "on_question": self._answer, **self.arguments(more)}

    def _decide(self, request: claudewire.PermissionRequest) -> claudewire.PermissionResult:
        self.plan.asked.append(request)
        self._asked.set()
        if len(self.plan.asked) >= self.plan.together:
            self._all_asked.set()
        assert self._all_asked.wait(BOUND)
        return self.plan.permission(request)

    def _answer(self, request: claudewire.QuestionRequest) -> claudewire.PermissionResult:
        self.plan.asked.append(request)
        return self.plan.question(request)

    def prepare(self, plan: Plan) -> None:
        self._all_asked.set()  # a thread may still wait for it
        self.plan = plan
        self._asked, self._all_asked = threading.Event(), threading.Event()

    async def close(self) -> None:
        self.session.close()

    async def run(self, prompt: Any, **options: Any) -> claudewire.Reply:
        return sync.run(prompt, **self._with_handlers(options))

    async def send(self, prompt: Any) -> Any:
        return self.session.send(prompt)

    async def reply(self, turn: Any) -> claudewire.Reply:
        reply: claudewire.Reply = turn.reply(timeout=BOUND)
        return reply

    async def texts(self, turn: Any) -> list[str]:
        return list(turn.iter_text(timeout=BOUND))

    async def wait_for(self, turn: Any, kind: type[claudewire.Message]) -> None:
        for message in turn.read(timeout=BOUND):
            if isinstance(message, kind):
                return

    async def wait_until_asked(self) -> None:
        assert self._asked.wait(BOUND)

    async def interrupt(self) -> Any:
        return self.session.interrupt()

    async def request(self, body: Any) -> Any:
        return self.session.request(body)


AnyHost = AsyncHost | SyncHost
Flow = Callable[[Host], Coroutine[Any, Any, None]]


class Hosts:
    """The sessions that are open, and the event loops that they are in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._loops: dict[str, anyio.from_thread.BlockingPortal] = {}
        self._open: dict[tuple[str, str, str], AnyHost] = {}
        self._numbers = iter(range(1_000_000))

    def new(self, document: Document, how: str, backend: str) -> AnyHost:
        """A host that has no session yet."""
        dialect = document.dialect if how == "named" else "auto"
        options = {**document.options, "dialect": dialect}
        log = self._folder / f"{next(self._numbers)}.jsonl"
        if backend == "sync":
            return SyncHost(document, options, log)
        host = AsyncHost(document, options, log)
        host.portal = self._loop(backend)
        return host

    def shared(self, document: Document, how: str, backend: str) -> AnyHost:
        """A host with a session that other flows have used, or will use."""
        key = document.number, how, backend
        if key not in self._open:
            host = self.new(document, how, backend)
            self._finish(host, host.open())
            host.heard()
            self._open[key] = host
        return self._open[key]

    def _loop(self, backend: str) -> anyio.from_thread.BlockingPortal:
        if backend not in self._loops:
            loop = anyio.from_thread.start_blocking_portal(backend)
            self._loops[backend] = self._stack.enter_context(loop)
        return self._loops[backend]

    def play(self, host: AnyHost, flow: Flow, plan: Plan) -> None:
        """Play a flow. A session in which one failed is not used again."""
        host.prepare(plan)
        try:
            self._finish(host, flow(host))
        except BaseException:
            self.discard(host)
            raise

    def _finish(self, host: AnyHost, flow: Coroutine[Any, Any, None]) -> None:
        host.finish(flow)

    def discard(self, host: AnyHost) -> None:
        """End a session at once."""
        self._open = {key: it for key, it in self._open.items() if it is not host}
        if host.session is not None:
            if isinstance(host, SyncHost):
                host.prepare(Plan(refuse, refuse))
                host.session.close(now=True)
            elif host.portal is not None:
                host.portal.call(lambda: host.session.close(now=True))

    def __enter__(self) -> Hosts:
        return self

    def __exit__(self, *_: object) -> None:
        for host in list(self._open.values()):
            self.discard(host)
        self._stack.close()


def hosts_in(folder: Path) -> Iterator[Hosts]:
    with Hosts(folder) as hosts:
        yield hosts
