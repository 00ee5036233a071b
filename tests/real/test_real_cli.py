"""A real CLI talks to our wire and to our scripted API, in our cage."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS, real_cli, why_not

from claudewire.testing.api import (
    APIReply,
    APIScript,
    APIUsage,
)
from claudewire.testing.cage import Cage
from claudewire.wire import (
    Answer,
    AssistantMessage,
    CanUseTool,
    Connection,
    EndOfStream,
    Event,
    Initialize,
    InitMessage,
    Malformed,
    Noise,
    PermissionResultAllow,
    PermissionResultDeny,
    Request,
    ResultMessage,
    Role,
    Stray,
    UserMessage,
)

pytestmark = [pytest.mark.anyio, pytest.mark.real]

FLAGS = (
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--permission-prompt-tool=stdio",
)
Decide = Callable[[CanUseTool], PermissionResultAllow | PermissionResultDeny]


def allow(asked: CanUseTool) -> PermissionResultAllow:
    return PermissionResultAllow(updated_input=asked.input)


class Host:
    """The least that can drive a CLI: pipes, a connection, and somebody who decides."""

    def __init__(self, process: anyio.abc.Process, decide: Decide) -> None:
        self.process = process
        self.decide = decide
        # So `initialize` has nothing but its subtype.
        self.connection = Connection(Role.CLIENT, dialect="modern")
        self.events: list[Event] = []
        self.asked: list[CanUseTool] = []

    async def send(self, event: Event) -> None:
        assert self.process.stdin is not None
        data = self.connection.send(event)
        await (self.process.stdin.send(data) if data else self.process.stdin.aclose())

    async def until(self, kind: type[Event]) -> list[Event]:
        """Read, and answer what is asked, until such an event has come; give all of them."""
        assert self.process.stdout is not None
        first = len(self.events)
        while not any(isinstance(event, kind) for event in self.events[first:]):
            try:
                data = await self.process.stdout.receive()
            except anyio.EndOfStream:
                data = b""
            await self.take(self.connection.receive_data(data))
        return self.events[first:]

    async def take(self, events: list[Event]) -> None:
        for event in events:
            assert not isinstance(event, Malformed | Noise | Stray)
            assert event.problems == ()
            self.events.append(event)
            if isinstance(event, Request):
                assert isinstance(event.body, CanUseTool)
                self.asked.append(event.body)
                await self.send(Answer(event.id, self.decide(event.body)))

    async def turn(self, prompt: str) -> list[Event]:
        await self.send(UserMessage.of(prompt))
        return await self.until(ResultMessage)


@asynccontextmanager
async def running(
    cage: Cage, *flags: str, version: str = NEWEST, decide: Decide = allow
) -> AsyncIterator[Host]:
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    command = cage.command([real_cli(version), *FLAGS, *flags])
    with anyio.fail_after(60):
        async with await anyio.open_process(command, stderr=None) as process:
            host = Host(process, decide)
            await host.send(host.connection.new_request(Initialize()))
            await host.until(Answer)
            yield host
            await host.send(EndOfStream())
            await host.until(EndOfStream)
            await process.wait()


def open_cage(script: APIScript) -> Cage:
    if (reason := why_not(NEWEST)) is not None:
        pytest.skip(reason)
    return Cage(script)


def result(events: list[Event]) -> ResultMessage:
    found = events[-1]
    assert isinstance(found, ResultMessage)
    return found


def blocks(events: list[Event], kind: type) -> list[object]:
    messages = [event for event in events if isinstance(event, AssistantMessage | UserMessage)]
    return [
        block
        for message in messages
        if isinstance(message.message.content, list)
        for block in message.message.content
        if isinstance(block, kind)
    ]


@pytest.mark.shows("000-1", "000-27", "000-32", "000-70", "000-74")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_turn_with_text(version: str) -> None:
    script = APIScript().on(
        "hello", APIReply("Hello from the script.", usage=APIUsage(input_tokens=1234))
    )
    with open_cage(script) as cage:
        async with running(cage, version=version) as host:
            events = await host.turn("hello there")
        assert host.process.returncode == 0

    assert any(isinstance(event, InitMessage) for event in events)
    assert result(events).text == "Hello from the script."
    assert (usage := result(events).usage) is not None
    assert usage.input_tokens == 1234
    assert [request.prompt for request in cage.turns] == ["hello there"]
