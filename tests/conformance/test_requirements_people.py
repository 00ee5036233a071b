"""What the documents demand where a person decides, as sessions show it."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from tests.helpers.peer import SOON, Through
from tests.helpers.sessions import options, soon
from tests.people.asking import COLOUR, SIZES

import claudewire
from claudewire import (
    Event,
    PermissionRequest,
    PermissionResult,
    Policy,
    QuestionRequest,
    Session,
)
from claudewire.session import SessionEvent, Subscription
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Transport
from claudewire.wire import Request

pytestmark = pytest.mark.anyio

MAKE = {"command": "make"}


class Tap(Through):
    """A transport that keeps what the host says."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self._sent = b""

    async def send(self, data: bytes) -> None:
        self._sent += data
        await self.inner.send(data)

    @property
    def answers(self) -> list[dict[str, Any]]:
        """The answers to the CLI's requests."""
        lines = [json.loads(line) for line in self._sent.splitlines()]
        return [it for it in lines if "response" in it]


def talking(tap: Tap, dialect: str = "modern", **changes: Any) -> Session:
    return claudewire.open(options(dialect=dialect, **changes), transport=tap)


def inner(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer itself, without the frames around it."""
    found: dict[str, Any] = answer["response"]["response"]
    return found


@pytest.mark.shows("000-36", "001-57")
@pytest.mark.parametrize("approves", [True, False])
@pytest.mark.parametrize("dialect", ["modern", "session"])
async def test_a_person_is_shown_the_permission_and_approves_or_denies_it(
    dialect: str, approves: bool
) -> None:
    async def agent(chat: Chat) -> None:
        outcome = await chat.use("Bash", MAKE, result="made")
        await chat.say(outcome.text)

    tap = Tap(SimulatedCLI(agent, dialect=dialect))
    with anyio.fail_after(SOON):
        async with talking(tap, dialect, person="inbox") as session:
            turn = session.send("go")
            await soon(lambda: session.inbox.pending)
            (shown,) = session.inbox.pending
            assert isinstance(shown, PermissionRequest)
            assert (shown.tool_name, shown.input, shown.title) == ("Bash", MAKE, "Bash: make")
            assert tap.answers == []
            if approves:
                shown.allow()
            else:
                shown.deny("not today")
            assert (await turn).text == ("made" if approves else "not today")
            assert not session.inbox.pending
    assert len(tap.answers) == 1


@pytest.mark.shows("000-82", "002-36")
@pytest.mark.parametrize("dialect", ["modern", "legacy"])
async def test_every_permission_request_is_answered_with_the_users_decision(dialect: str) -> None:
    async def agent(chat: Chat) -> None:
        for number in range(6):
            await chat.use("Bash", {"command": f"step {number}"})

    async def decide(request: PermissionRequest) -> PermissionResult:
        if int(request.input["command"][-1]) % 2:
            return request.deny("only even steps")
        return request.allow()

    tap = Tap(SimulatedCLI(agent, dialect=dialect))
    with anyio.fail_after(SOON):
        async with talking(tap, dialect, on_permission=decide) as session:
            events = session.events()
            reply = await session.send("go")
    decisions = [inner(answer)["behavior"] for answer in tap.answers]
    assert decisions == ["allow", "deny"] * 3
    assert len(reply.denials) == 3
    assert asked(events) == [answer["response"]["request_id"] for answer in tap.answers]


def asked(events: Subscription[Event | SessionEvent]) -> list[str]:
    """The ids of the CLI's requests."""
    return [it.id for it in events.take() if isinstance(it, Request)]


@pytest.mark.shows("002-36")
async def test_a_permission_request_that_nobody_decides_is_denied() -> None:
    async def agent(chat: Chat) -> None:
        await chat.use("Bash", MAKE)

    tap = Tap(SimulatedCLI(agent, dialect="legacy"))
    with anyio.fail_after(SOON):
        async with talking(tap, "legacy") as session:
            assert (await session.send("go")).denials
    assert [inner(answer)["behavior"] for answer in tap.answers] == ["deny"]


def by_hand(request: PermissionRequest) -> PermissionResult:
    return request.allow() if request.input == MAKE else request.deny("no")


@pytest.mark.shows("002-10")
@pytest.mark.parametrize(
    "way",
    [
        {"on_permission": by_hand},
        {"person": by_hand},
        {"policy": Policy(allow=["Bash(make)"], deny=["Bash(rm)"])},
    ],
    ids=["a handler", "a person", "a policy"],
)
async def test_the_host_decides_in_its_own_way(way: dict[str, Any]) -> None:
    async def agent(chat: Chat) -> None:
        outcomes = [await chat.use("Bash", it) for it in (MAKE, {"command": "rm"})]
        await chat.say(" ".join(str(outcome.allowed) for outcome in outcomes))

    tap = Tap(SimulatedCLI(agent, dialect="legacy"))
    with anyio.fail_after(SOON):
        async with talking(tap, "legacy", **way) as session:
            events = session.events()
            assert (await session.send("go")).text == "True False"
    assert len(asked(events)) == len(tap.answers) == 2


@pytest.mark.shows("000-53", "000-83")
async def test_the_answers_are_collected_while_the_permission_is_open_and_sent_with_it() -> None:
    async def agent(chat: Chat) -> None:
        outcome = await chat.ask([COLOUR, SIZES])
        await chat.say(outcome.text)

    tap = Tap(SimulatedCLI(agent))
    with anyio.fail_after(SOON):
        async with talking(tap, person="inbox") as session:
            turn = session.send("go")
            await soon(lambda: session.inbox.pending)
            (question,) = session.inbox.pending
            assert isinstance(question, QuestionRequest)
            assert tap.answers == []
            assert not turn.is_over
            question.answer({"Colour": "Green", "Sizes": ["S", "L"]})
            reply = await turn
    (answer,) = tap.answers
    assert inner(answer)["updatedInput"]["answers"] == {
        COLOUR["question"]: "Green",
        SIZES["question"]: "S, L",
    }
    assert "Green" in reply.text
