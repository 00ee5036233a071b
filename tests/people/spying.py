"""Sessions whose lines are looked at, with a simulated CLI or one that a test plays."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from tests.helpers.peer import SOON, Peer, Through
from tests.helpers.sessions import opened, options

from claudewire.people import PermissionRequest
from claudewire.session import Session
from claudewire.testing import Chat, SimulatedCLI
from claudewire.wire import ToolResultBlock, UserMessage


class Spy(Through):
    """A transport that remembers what is written."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.wrote: list[dict[str, Any]] = []

    async def send(self, data: bytes) -> None:
        self.wrote += map(json.loads, data.splitlines())
        await super().send(data)

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """The answers that were written to requests of the CLI, without the frames."""
        return [line["response"]["response"] for line in self.wrote if "response" in line]


class Played:
    """What became of one turn of a session with the simulated CLI.

    Attributes:
        told: what the model was told of its tools.
        text: what it said in the end.
        spy: what was written.
        session: the session, which is closed.
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
    scenario: Callable[[Chat], Awaitable[None]],
    cli: dict[str, Any] | None = None,
    **changes: Any,
) -> Played:
    """Take one turn with a simulated CLI. The changes are options of the session."""
    spy = Spy(SimulatedCLI(scenario, **(cli or {})))
    with anyio.fail_after(SOON):
        async with Session(options(**changes), transport=spy) as session:
            turn = session.send("Go on.")
            messages = [message async for message in turn]
            reply = await turn
    return Played(spy, session, messages, reply.text)


async def answer_to(line: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Let a CLI write a line as it stands, and give the line that a session writes back."""
    peer = Peer()
    with anyio.fail_after(SOON):
        if changes.get("dialect") == "envelope":  # in which nothing opens a session
            session = await Session(options(**changes), transport=peer.transport)
        else:
            session = await opened(peer, **changes)
        await peer.write(json.dumps(line).encode() + b"\n")
        answer = json.loads(await peer.end.receive())
        await session.close()
    assert isinstance(answer, dict)
    return answer


async def make(chat: Chat) -> None:
    """An agent that wants to run a command, and says what it was told."""
    outcome = await chat.use("Bash", {"command": "make"}, result="made")
    await chat.say(f"I was told: {outcome.text}")


async def hang(request: PermissionRequest) -> Any:
    await anyio.sleep_forever()
