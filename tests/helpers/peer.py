"""A CLI that a test plays line by line, at the other end of a pair in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import anyio

from claudewire.transport import Transport, memory_pair
from claudewire.wire import (
    Answer,
    Body,
    Connection,
    EndOfStream,
    Event,
    Failure,
    Initialize,
    InitializeResult,
    Interrupt,
    Request,
    Role,
    UserMessage,
)

SOON = 60.0
"""Seconds: only a hang takes so long, however slow the machine."""

E = TypeVar("E", bound=Event)


class Peer:
    """Plays the CLI.

    Attributes:
        transport: the end for the tested code.
        heard: all that it said.
    """

    def __init__(self) -> None:
        self.transport, self.end = memory_pair()
        self.connection = Connection(Role.CLI)
        self.heard: list[Event] = []
        self._seen = 0

    async def say(self, *events: Event) -> None:
        """Write all of it at once."""
        await self.write(b"".join(self.connection.send(event) for event in events))

    async def write(self, data: bytes) -> None:
        with anyio.fail_after(SOON):
            await self.end.send(data)

    async def ask(self, body: Body) -> str:
        """Put a request; give its id."""
        request = self.connection.new_request(body)
        await self.say(request)
        return request.id

    async def hear(self, kind: type[E], *, where: Callable[[E], bool] = lambda it: True) -> E:
        """Wait for the next event of a kind, and skip earlier ones."""
        with anyio.fail_after(SOON):
            while True:
                while self._seen < len(self.heard):
                    self._seen += 1
                    event = self.heard[self._seen - 1]
                    if isinstance(event, kind) and where(event):
                        return event
                self.heard += self.connection.receive_data(await self.end.receive())

    async def hear_request(self, kind: type[Any]) -> Request:
        return await self.hear(Request, where=lambda it: isinstance(it.body, kind))

    async def hear_end(self) -> None:
        await self.hear(EndOfStream)

    async def hear_prompt(self) -> UserMessage:
        return await self.hear(UserMessage)

    async def answer(self, request: Request, body: Any = None) -> None:
        await self.say(Answer(request.id, body))

    async def refuse(self, request: Request, error: str, code: str | None = None) -> None:
        await self.say(Failure(request.id, error, code))

    async def welcome(self, info: InitializeResult | None = None) -> None:
        """Answer `initialize`."""
        info = info or InitializeResult(claude_code_version="2.1.325")
        await self.answer(await self.hear_request(Initialize), info)

    async def acknowledge(self) -> Request:
        """Answer an interrupt."""
        request = await self.hear_request(Interrupt)
        await self.answer(request)
        return request

    def exit(self, status: int = 0) -> None:
        self.end.exit(status)


class Through:
    """A transport that passes everything to another one, until a test changes it."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner

    async def send(self, data: bytes) -> None:
        await self.inner.send(data)

    async def send_eof(self) -> None:
        await self.inner.send_eof()

    async def receive(self) -> bytes:
        return await self.inner.receive()

    async def receive_stderr(self) -> bytes:
        return await self.inner.receive_stderr()

    async def wait(self) -> int | None:
        return await self.inner.wait()

    async def aclose(self) -> None:
        await self.inner.aclose()
