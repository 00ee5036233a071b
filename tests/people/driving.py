"""A host that has people: each request of the CLI is decided in a task of its own."""

from __future__ import annotations

import json
from typing import Any

import anyio
import anyio.abc

from claudewire.people import Decider, People, form_for
from claudewire.transport import Transport
from claudewire.wire import (
    Answer,
    Cancel,
    CanUseTool,
    Connection,
    EndOfStream,
    Event,
    Initialize,
    InitMessage,
    Interrupt,
    Message,
    Request,
    RequestBody,
    Role,
    UserMessage,
)

PATIENCE = 60.0
"""Seconds: longer than any of these conversations takes."""


class Host:
    """Drives a CLI, real or simulated, as a session does.

    Args:
        transport: leads to the CLI.
        people: who decides.
        dialect: how to write.
        bare: whether to answer questions in the bare form.
    """

    def __init__(
        self, transport: Transport, people: People, dialect: str = "auto", *, bare: bool = False
    ) -> None:
        self.transport = transport
        self.connection = Connection(Role.CLIENT, dialect=dialect)
        self.capabilities: list[str] = []
        form = form_for(dialect)
        self.decider = Decider(
            people,
            session="one",
            capabilities=lambda: self.capabilities,
            form=lambda: "bare" if bare else form,
        )
        self.events: list[Event] = []
        self.wrote: list[dict[str, Any]] = []
        self._scopes: dict[str, anyio.CancelScope] = {}

    async def say(self, event: Event) -> None:
        data = self.connection.send(event)
        self.wrote.append(json.loads(data))
        await self.transport.send(data)

    async def open(self) -> None:
        with anyio.fail_after(PATIENCE):
            await self.ask(Initialize())

    async def ask(self, body: RequestBody[Any]) -> None:
        request = self.connection.new_request(body)  # type: ignore[arg-type]
        await self.say(request)
        while not any(isinstance(it, Answer) and it.id == request.id for it in self.events):
            await self._read(None)

    async def turn(self, prompt: str = "Go on.", *, interrupt: bool = False) -> Any:
        """Take a turn, deciding what is asked; or interrupt it while something waits.

        Returns what has ended it: its result, or what the dialect has instead.
        """
        start, ends_turn = len(self.events), self.connection.dialect.rules.ends_turn
        with anyio.fail_after(PATIENCE):
            await self.say(UserMessage.of(prompt))
            async with anyio.create_task_group() as tasks:
                if interrupt:
                    tasks.start_soon(self._interrupt)
                while not (ends := [it for it in self._messages(start) if ends_turn(it)]):
                    await self._read(tasks)
        return ends[0]

    async def _interrupt(self) -> None:
        """Interrupt the turn as soon as something waits for a person."""
        with self.decider.inbox.changes() as changes:
            await anext(changes)
        await self.say(self.connection.new_request(Interrupt()))

    def _messages(self, start: int) -> list[Message]:
        return [event for event in self.events[start:] if isinstance(event, Message)]

    async def _read(self, tasks: anyio.abc.TaskGroup | None) -> None:
        events = self.connection.receive_data(await self.transport.receive())
        self.events += events
        for event in events:
            assert not isinstance(event, EndOfStream), self.events
            if isinstance(event, InitMessage):
                self.capabilities = event.capabilities or []
            elif isinstance(event, Cancel) and event.id in self._scopes:
                self._scopes[event.id].cancel()
            elif isinstance(event, Request) and tasks is not None:
                self._scopes[event.id] = anyio.CancelScope()
                tasks.start_soon(self._serve, event)

    async def _serve(self, request: Request) -> None:
        with self._scopes[request.id]:
            decide = (
                self.decider.decide if isinstance(request.body, CanUseTool) else self.decider.elicit
            )
            await self.say(Answer(request.id, await decide(request)))

    async def end(self) -> None:
        with anyio.fail_after(PATIENCE):
            await self.transport.send_eof()
            while await self.transport.receive():
                pass
            await self.transport.wait()
