"""Sessions with a simulated CLI whose lines are noted."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from tests.helpers.peer import SOON, Through
from tests.helpers.sessions import options

from claudewire.session import Session
from claudewire.testing import Chat, SimulatedCLI
from claudewire.wire import ToolResultBlock, UserMessage


class Spy(Through):
    """A transport that notes the lines of the host."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.wrote: list[dict[str, Any]] = []

    async def send(self, data: bytes) -> None:
        self.wrote += map(json.loads, data.splitlines())
        await super().send(data)

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """The answers to requests of the CLI, without the frames."""
        return [line["response"]["response"] for line in self.wrote if "response" in line]


class Played:
    """One turn of a session with the simulated CLI.

    Attributes:
        told: the results of the model's tools.
        text: the text of the reply.
        spy: notes the lines.
        session: the session, closed.
    """

    def __init__(self, spy: Spy, session: Session, messages: list[Any], text: str) -> None:
        self.spy = spy
        self.session = session
        self.text = text
        self.told = [
            block.text
            for message in messages
            if isinstance(message, UserMessage)
            for block in message.content
            if isinstance(block, ToolResultBlock)
        ]


async def play(
    scenario: Callable[[Chat], Awaitable[None]], cli: dict[str, Any] | None = None, **changes: Any
) -> Played:
    """Take one turn with a simulated CLI. The changes are options of the session."""
    spy = Spy(SimulatedCLI(scenario, **(cli or {})))
    with anyio.fail_after(SOON):
        async with Session(options(**changes), transport=spy) as session:
            turn = session.send("Go on.")
            messages = [message async for message in turn]
            reply = await turn
    return Played(spy, session, messages, reply.text)


async def make(chat: Chat) -> None:
    """A model that wants to run a command, and reports the result."""
    outcome = await chat.use("Bash", {"command": "make"}, result="made")
    await chat.say(f"I was told: {outcome.text}")
