"""What a link belongs to, in tests: remembers all that it is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
from tests.helpers.peer import SOON

from claudewire.concurrency import Signal
from claudewire.session.requests import refusal
from claudewire.wire import Answer, Event, Failure, Request

Serve = Callable[[Request], Awaitable[Any]]


class Host:
    """Whoever a link belongs to: remembers all, and serves as it is told."""

    def __init__(self, serve: Serve | None = None) -> None:
        self.got: list[Event] = []
        self.stderr = ""
        self.ends = 0
        self.failures: list[BaseException] = []
        self.withdrawals: list[str] = []
        self.changed = Signal()
        self._serve = serve

    def received(self, event: Event) -> None:
        self.got.append(event)
        self.changed.notify()

    def received_output(self, output: list[Any]) -> bool:
        return False

    def serve(self, request: Request) -> Any:
        assert self._serve is not None
        return partial(self._serve, request)

    def withdrawn(self, id: str) -> None:
        self.withdrawals.append(id)

    def refusal(self, request: Request, reason: str | None = None) -> Answer | Failure:
        return refusal(request)

    def asked(self) -> None:
        self.changed.notify()

    def answered(self) -> None:
        self.changed.notify()

    def heard(self, stderr: str) -> None:
        self.stderr += stderr

    def ended(self) -> None:
        self.ends += 1

    def failed(self, error: BaseException) -> None:
        self.failures.append(error)

    async def until(self, kind: type[Event]) -> None:
        with anyio.fail_after(SOON):
            await self.changed.until(lambda: any(isinstance(it, kind) for it in self.got))
