"""A thousand requests that wait at once, and all the ways in which they stop waiting."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.helpers import messages as saying
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import opened, options, soon
from tests.people.application import DIALECTS
from tests.people.spying import hang, make

from claudewire.errors import Error
from claudewire.people import Inbox, PermissionRequest, PermissionResultAllow, PermissionResultDeny
from claudewire.people.pending import Pending, PendingState
from claudewire.policy import DecisionRecord, Policy
from claudewire.session import Session, TurnState
from claudewire.testing import SimulatedCLI
from claudewire.wire import Answer, Cancel, CanUseTool

pytestmark = pytest.mark.anyio

MANY = 1000


# --- a thousand ----------------------------------------------------------------------------------


def answer_all(inbox: Inbox, count: int, answer: Callable[[Pending[Any]], object]) -> None:
    """Wait in a thread until so many wait, and answer them in random order."""
    waiting: list[Pending[Any]] = []
    with inbox.changes() as changes:
        while len(waiting) < count:
            change = changes.get(timeout=SOON)
            assert change.what == "added"
            waiting.append(change.request)
    assert len(inbox.pending) == count
    random.Random(1).shuffle(waiting)
    for request in waiting:
        answer(request)


def echo(request: Pending[Any]) -> None:
    """Give an answer that can be that of no other request."""
    assert isinstance(request, PermissionRequest)
    number = int(request.input["command"].split()[1])
    own = f"{request.session} {number}"
    if number % 3 == 0:
        request.deny(own)
    else:
        request.allow(input={"command": own})


async def ask_many(peer: Peer, numbers: range) -> dict[str, int]:
    """Put all at once; give the number that belongs to each id."""
    requests = [
        peer.connection.new_request(
            CanUseTool("Bash", {"command": f"echo {number}"}, tool_use_id=f"toolu_{number}")
        )
        for number in numbers
    ]
    await peer.say(*requests)
    return {request.id: number for request, number in zip(requests, numbers, strict=True)}


def own_answer(session: Session, number: int) -> PermissionResultAllow | PermissionResultDeny:
    """What `echo` answers."""
    own, use = f"{session.name} {number}", f"toolu_{number}"
    if number % 3 == 0:
        return PermissionResultDeny(own, tool_use_id=use)
    return PermissionResultAllow({"command": own}, tool_use_id=use)


@pytest.mark.parametrize("sessions", [1, 4])
async def test_a_thousand_wait_and_each_gets_its_own_answer(sessions: int) -> None:
    """They are answered from another thread in random order; the sessions share an inbox."""
    inbox = Inbox()
    each = MANY // sessions
    records: list[DecisionRecord] = []
    with anyio.fail_after(SOON):
        peers = [Peer() for _ in range(sessions)]
        opened_ = [
            await opened(peer, person="inbox", inbox=inbox, audit=records.append) for peer in peers
        ]
        asked = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, answer_all, inbox, MANY, echo)
            for index, peer in enumerate(peers):
                asked.append(await ask_many(peer, range(index * each, (index + 1) * each)))
        for peer, session, numbers in zip(peers, opened_, asked, strict=True):
            answers = [await peer.hear(Answer) for _ in numbers]
            expected = {id: own_answer(session, number) for id, number in numbers.items()}
            assert {it.id: it.body for it in answers} == expected
            await session.close()
    assert inbox.pending == ()
    assert len({it.request_id for it in records}) == MANY


async def test_a_thousand_functions_may_wait_in_few_threads() -> None:
    together, most, lock = 0, 0, threading.Lock()

    def decide(request: PermissionRequest) -> None:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        echo(request)
        with lock:
            together -= 1

    peer = Peer()
    with anyio.fail_after(SOON):
        session = await opened(peer, on_permission=decide)
        numbers = await ask_many(peer, range(MANY))
        answers = [await peer.hear(Answer) for _ in numbers]
        await session.close()
    assert {it.id: it.body for it in answers} == {
        id: own_answer(session, number) for id, number in numbers.items()
    }
    assert most <= 64


# --- how waiting ends ----------------------------------------------------------------------------


class Waiting:
    """A session in the middle of a turn, in which something waits for a person."""

    def __init__(self, peer: Peer, session: Session, id: str) -> None:
        self.peer = peer
        self.session = session
        self.id = id
        (self.request,) = session.inbox.pending
        self.changes: list[str] = []
        session.inbox.on_change(lambda change: self.changes.append(change.what))

    def check_withdrawn(self, why: str) -> None:
        request = self.request
        assert isinstance(request, PermissionRequest)
        assert (request.state, request.ending) == (PendingState.WITHDRAWN, why)
        assert self.changes == ["added", "withdrawn"]
        assert self.session.inbox.pending == ()
        assert not request.resolve(request._denial("too late"))
        assert not self.session.inbox.act(request.id, "allow", {})
        assert request.state is PendingState.WITHDRAWN


async def waiting(**changes: Any) -> Waiting:
    peer = Peer()
    session = await opened(peer, **{"person": "inbox", **changes})
    session.send("Go on.")
    await peer.hear_prompt()
    await peer.say(saying.init(session_id="a-conversation"))
    id = await peer.ask(CanUseTool("Bash", {"command": "make"}, tool_use_id="toolu_1"))
    await soon(lambda: session.inbox.pending)
    return Waiting(peer, session, id)


async def test_the_cli_withdraws_it() -> None:
    with anyio.fail_after(SOON):
        it = await waiting()
        await it.peer.say(Cancel(id=it.id))
        await soon(lambda: not it.request.is_waiting)
        it.check_withdrawn("the request was withdrawn before it was decided")
        await it.session.close()
    assert not [event for event in it.peer.heard if isinstance(event, Answer)]


@pytest.mark.parametrize("handlers", [{}, {"person": None, "on_permission": hang}])
async def test_the_end_of_the_turn_withdraws_it(
    handlers: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    why = "the turn was over before a decision was made"
    records: list[DecisionRecord] = []
    with anyio.fail_after(SOON):
        it = await waiting(audit=records.append, **handlers)
        (turn,) = it.session.turns
        await it.peer.say(saying.result("I did it in another way."))
        assert (await turn).text == "I did it in another way."
        it.check_withdrawn(why)
        answer = await it.peer.hear(Answer)
        await it.session.close()
    assert answer.body == PermissionResultDeny(why, tool_use_id="toolu_1")
    assert f"{it.request.id}: {why}, so the answer is no" in caplog.text
    assert [(record.reason, record.session_id) for record in records] == [(why, "a-conversation")]


async def test_what_an_agent_in_the_background_asks_outlives_the_turn() -> None:
    with anyio.fail_after(SOON):
        it = await waiting()
        body = CanUseTool("Bash", {"command": "make"}, agent_id="agent-1")
        id = await it.peer.ask(body)
        await soon(lambda: len(it.session.inbox.pending) == 2)
        await it.peer.say(saying.result())
        await soon(lambda: len(it.session.inbox.pending) == 1)
        (request,) = it.session.inbox.pending
        assert request.agent_id == "agent-1"
        assert it.session.inbox.act(request.id, "allow", {}, by="person: Ada")
        answer = await it.peer.hear(Answer, where=lambda answer: answer.id == id)
        assert isinstance(answer.body, PermissionResultAllow)
        await it.session.close()


async def test_the_end_of_the_session_withdraws_it() -> None:
    with anyio.fail_after(SOON):
        it = await waiting()
        await it.session.close()
    it.check_withdrawn("the session with the CLI ended before a decision was made")


async def test_the_death_of_the_cli_withdraws_it() -> None:
    with anyio.fail_after(SOON):
        it = await waiting()
        (turn,) = it.session.turns
        it.peer.exit(1)
        with pytest.raises(Error):
            await turn
        it.check_withdrawn("the request was withdrawn before it was decided")


async def test_a_session_takes_only_its_own_requests_along() -> None:
    inbox = Inbox()
    with anyio.fail_after(SOON):
        one, other = await waiting(inbox=inbox), None
        peer = Peer()
        other = await opened(peer, inbox=inbox, person="inbox")
        id = await peer.ask(CanUseTool("Bash", {"command": "make"}))
        await soon(lambda: len(inbox.pending) == 2)
        await one.session.close()
        (request,) = inbox.pending
        assert request.session == other.name != one.session.name
        inbox.act(request.id, "deny", {"reason": "No."})
        answer = await peer.hear(Answer, where=lambda answer: answer.id == id)
        assert answer.body == PermissionResultDeny("No.")
        await other.close()


async def test_what_is_over_before_it_began_is_decided_by_nobody() -> None:
    """The CLI asks and ends the turn in one breath."""
    records: list[DecisionRecord] = []
    peer = Peer()
    with anyio.fail_after(SOON):
        policy = Policy(allow=["Bash(make)"])
        session = await opened(peer, policy=policy, audit=records.append)
        turn = session.send("Go on.")
        await peer.hear_prompt()
        request = peer.connection.new_request(CanUseTool("Bash", {"command": "make"}))
        await peer.say(saying.init(), request, saying.result())
        answer = await peer.hear(Answer)
        assert isinstance(answer.body, PermissionResultDeny)
        await turn
        await session.close()
    assert records == []


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_interrupt_withdraws_it_and_gives_a_receipt(dialect: str) -> None:
    cli = SimulatedCLI(make, dialect=dialect)
    with anyio.fail_after(SOON):
        async with Session(options(person="inbox"), transport=cli) as session:
            turn = session.send("Go on.")
            await soon(lambda: session.inbox.pending)
            (request,) = session.inbox.pending
            receipt = await session.interrupt()
            assert receipt.acknowledged
            assert receipt.turn is turn
            assert turn.state is TurnState.DONE
            assert not (await turn).ok
            assert request.state is PendingState.WITHDRAWN
            assert session.inbox.pending == ()


async def test_a_window_that_comes_back_finds_what_still_waits() -> None:
    with anyio.fail_after(SOON):
        it = await waiting()
        for _ in range(2):  # each is gone before anything is decided
            with it.session.inbox.changes() as changes:
                assert (await anext(changes)).request is it.request
        with it.session.inbox.changes() as changes:
            change = await anext(changes)
            assert change.what == "added"
            it.session.inbox.act(change.request.id, "allow", {})
            assert (await anext(changes)).what == "answered"
        assert isinstance((await it.peer.hear(Answer)).body, PermissionResultAllow)
        await it.session.close()
