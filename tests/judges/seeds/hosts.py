"""Sessions with the CLIs of the documents, through the public API, on asyncio and trio.

One process serves as many flows as it can, because starting it is most of the work: the event loop
of a backend stays, and sessions stay open in it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
from tests.judges.seeds.documents import HERE, Document

import claudewire

BACKENDS = ("asyncio", "trio")

BOUND = 60.0
"""Seconds for anything: only what hangs takes so long."""

TIMEOUTS = claudewire.Timeouts(start=BOUND, request=BOUND, interrupt=BOUND, exit=BOUND)

Json = dict[str, Any]


def command(document: Document, program: str = "cli.py") -> list[str]:
    """Start a program of a document, without what only costs time."""
    harness = HERE / "shared" / "harness.py"
    return [sys.executable, "-E", "-s", "-S", str(harness), str(document.folder / program)]


@dataclass
class Plan:
    """The answers of the application, and the requests that it got."""

    permission: Callable[[claudewire.PermissionRequest], claudewire.PermissionResult]
    question: Callable[[claudewire.QuestionRequest], claudewire.PermissionResult]
    together: int = 1
    """The number of permissions that must be open before the first decision."""
    asked: list[Any] = field(default_factory=list)


def refuse(request: Any) -> claudewire.PermissionResult:
    raise AssertionError(f"nothing was to be decided: {request}")


class Host:
    """One session with a CLI, for flows one after the other."""

    def __init__(
        self, document: Document, options: Json, log: Path, portal: anyio.from_thread.BlockingPortal
    ) -> None:
        self.document = document
        self.options = options
        self.log = log
        self.portal = portal
        self.session: Any = None
        self._read = 0
        self.prepare(Plan(refuse, refuse))

    def prepare(self, plan: Plan) -> None:
        self.plan = plan
        self.was_asked, self._all_asked = anyio.Event(), anyio.Event()

    def play(self, flow: Coroutine[Any, Any, None]) -> None:
        async def bounded() -> None:
            with anyio.fail_after(BOUND):
                await flow

        self.portal.call(bounded)

    def heard(self) -> list[Json]:
        """Return the lines that the CLI has logged since the last call."""
        text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        lines = text.splitlines()
        new, self._read = lines[self._read :], len(lines)
        return [json.loads(line) for line in new]

    def _arguments(self, more: Json) -> Json:
        env = {"PEER_LOG": str(self.log), **self.options.get("env", {}), **more.pop("env", {})}
        handlers = {"on_permission": self._decide, "on_question": self._answer}
        given = {"cli": command(self.document), "timeouts": TIMEOUTS, **self.options, **more}
        return {**handlers, **given, "env": env}

    async def _decide(self, request: claudewire.PermissionRequest) -> claudewire.PermissionResult:
        self.plan.asked.append(request)
        self.was_asked.set()
        if len(self.plan.asked) >= self.plan.together:
            self._all_asked.set()
        await self._all_asked.wait()
        return self.plan.permission(request)

    async def _answer(self, request: claudewire.QuestionRequest) -> claudewire.PermissionResult:
        self.plan.asked.append(request)
        return self.plan.question(request)

    async def open(self, **options: Any) -> None:
        self.session = await claudewire.open(**self._arguments(options))

    async def close(self) -> None:
        await self.session.close()

    async def run(self, prompt: Any, **options: Any) -> claudewire.Reply:
        return await claudewire.run(prompt, **self._arguments(options))


Flow = Callable[[Host], Coroutine[Any, Any, None]]


class Hosts:
    """The open sessions, and their event loops."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._loops: dict[str, anyio.from_thread.BlockingPortal] = {}
        self._open: dict[tuple[str, str, str], Host] = {}
        self._numbers = iter(range(1_000_000))

    def new(self, document: Document, how: str, backend: str) -> Host:
        """Return a host that has no session yet."""
        dialect = document.dialect if how == "named" else "auto"
        log = self._folder / f"{next(self._numbers)}.jsonl"
        if backend not in self._loops:
            loop = anyio.from_thread.start_blocking_portal(backend)
            self._loops[backend] = self._stack.enter_context(loop)
        return Host(document, {**document.options, "dialect": dialect}, log, self._loops[backend])

    def shared(self, document: Document, how: str, backend: str) -> Host:
        """Return a host with a session that other flows have used, or will use."""
        key = document.number, how, backend
        if key not in self._open:
            host = self.new(document, how, backend)
            host.play(host.open())
            host.heard()
            self._open[key] = host
        return self._open[key]

    def play(self, host: Host, flow: Flow, plan: Plan) -> None:
        """Play a flow. A session in which one failed is not used again."""
        host.prepare(plan)
        try:
            host.play(flow(host))
        except BaseException:
            self.discard(host)
            raise

    def discard(self, host: Host) -> None:
        """End a session at once."""
        self._open = {key: it for key, it in self._open.items() if it is not host}
        if host.session is not None:
            host.portal.call(lambda: host.session.close(now=True))

    def __enter__(self) -> Hosts:
        return self

    def __exit__(self, *_: object) -> None:
        for host in list(self._open.values()):
            self.discard(host)
        self._stack.close()
