"""Requests of the CLI: served side by side, withdrawn, in floods, and refused at the end."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import messages as saying
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import allow, connected, opened, soon

from claudewire.approvals import PermissionRequest
from claudewire.errors import SessionFailed
from claudewire.policy import Policy
from claudewire.wire import (
    Answer,
    AssistantMessage,
    Cancel,
    CanUseTool,
    Connection,
    EndOfStream,
    PermissionResult,
    PermissionResultDeny,
    Request,
    Role,
    UnexpectedMessage,
)

pytestmark = pytest.mark.anyio

word: ContextVar[str] = ContextVar("word", default="nothing")


def may_i(command: str = "ls") -> CanUseTool:
    return CanUseTool("Bash", {"command": command}, tool_use_id=f"toolu_{command}")


async def ask(peer: Peer, id: str, command: str = "ls") -> None:
    await peer.say(Request(id=id, body=may_i(command)))


class Handlers:
    """Waits in each handler until the test opens its door; remembers the cancelled ones."""

    def __init__(self) -> None:
        self.doors: dict[str, anyio.Event] = {}
        self.cancelled: list[str] = []

    async def __call__(self, request: PermissionRequest) -> PermissionResult:
        command = request.input["command"]
        self.doors[command] = door = anyio.Event()
        try:
            await door.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(command)
            raise
        return request.allow()


async def test_requests_are_served_side_by_side() -> None:
    handlers = Handlers()
    async with connected(on_permission=handlers) as (_, peer):
        for number in "123":
            await ask(peer, number, number)
        await soon(lambda: len(handlers.doors) == 3)
        for number in "231":
            handlers.doors[number].set()
            assert (await peer.hear(Answer)).id == number


async def test_withdrawn_request_cancels_its_handler_and_no_other() -> None:
    handlers = Handlers()
    async with connected(on_permission=handlers) as (_, peer):
        for number in "12":
            await ask(peer, number, number)
        await soon(lambda: len(handlers.doors) == 2)
        await peer.say(Cancel(id="1"))
        await soon(lambda: handlers.cancelled == ["1"])
        handlers.doors["2"].set()
        assert (await peer.hear(Answer)).id == "2"


async def test_request_may_come_again_with_the_same_id() -> None:
    handlers = Handlers()
    async with connected(on_permission=handlers) as (_, peer):
        await ask(peer, "1", "first")
        await soon(lambda: "first" in handlers.doors)
        await peer.say(Cancel(id="1"))
        await peer.write(Connection(Role.CLI).send(Request(id="1", body=may_i("second"))))
        await soon(lambda: "second" in handlers.doors)
        handlers.doors["second"].set()
        answer = (await peer.hear(UnexpectedMessage)).event  # the peer has forgotten the request
        assert isinstance(answer, Answer)
        assert handlers.cancelled == ["first"]


async def test_request_withdrawn_before_it_began_has_no_handler() -> None:
    handlers = Handlers()
    async with connected(on_permission=handlers) as (_, peer):
        await peer.say(Request(id="1", body=may_i("1")), Cancel(id="1"))
        await ask(peer, "2", "2")
        await soon(lambda: "2" in handlers.doors)
        assert "1" not in handlers.doors


async def test_withdrawal_of_an_unknown_request_is_a_notice() -> None:
    async with connected() as (session, peer):
        await peer.write(b'{"type":"control_cancel_request","request_id":"none"}\n')
        await soon(lambda: session.notices)
        assert session.state == "ready"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_handler_that_cancels_its_own_task_denies() -> None:
    async def handler(request: PermissionRequest) -> PermissionResult:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await anyio.sleep_forever()
        raise AssertionError

    async with connected(on_permission=handler) as (session, peer):
        for number in "12":
            await ask(peer, number)
            assert isinstance((await peer.hear(Answer)).body, PermissionResultDeny)
        assert session.state == "ready"


async def test_handlers_have_context_variables_of_their_own() -> None:
    seen = []

    async def handler(request: PermissionRequest) -> PermissionResult:
        seen.append(word.get())
        word.set(request.input["command"])
        await anyio.lowlevel.checkpoint()
        return request.allow()

    word.set("of the opener")
    async with connected(on_permission=handler) as (_, peer):
        word.set("later")
        for number in "123":
            await ask(peer, number)
            await peer.hear(Answer)
    assert seen == ["of the opener"] * 3


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the order of trio is random
async def test_message_is_read_before_a_later_request_is_handled() -> None:
    seen: list[str] = []

    async def handler(request: PermissionRequest) -> PermissionResult:
        seen.append("handler")
        return request.allow()

    async with connected(on_permission=handler) as (session, peer):
        turn = session.send("hello")
        await peer.hear_prompt()

        async def read() -> None:
            async for message in turn:
                if isinstance(message, AssistantMessage):
                    seen.append("message")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            await peer.say(saying.text(), Request(id="1", body=may_i()))
            await peer.hear(Answer)
            await peer.say(saying.result())
    assert seen == ["message", "handler"]


@pytest.mark.parametrize("who", ["handler", "policy"])
async def test_flood_of_requests_is_answered_in_order(who: str) -> None:
    ids = [str(number) for number in range(3000)]
    who_decides: dict[str, Any] = {"on_permission": allow}
    if who == "policy":
        who_decides = {"policy": Policy(allow=["Bash(ls)"])}
    async with connected(**who_decides) as (_, peer):
        await peer.say(*(Request(id=id, body=may_i()) for id in ids), saying.status())
        answered = [(await peer.hear(Answer)).id for _ in ids]
    if who == "policy":
        assert answered == ids
    assert sorted(answered) == sorted(ids)


async def test_too_many_open_requests_fail_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.session.link.MOST_OPEN", 10)
    peer = Peer()
    session = await opened(peer, on_permission=Handlers())
    with anyio.fail_after(SOON):
        await peer.say(*(Request(id=str(number), body=may_i()) for number in range(20)))
        await soon(lambda: session.state == "failed")
        assert isinstance(session.failure, SessionFailed)
        assert "more than 10 requests open" in str(session.failure)


async def test_open_requests_are_denied_at_the_close() -> None:
    peer, handlers = Peer(), Handlers()
    session = await opened(peer, on_permission=handlers)
    with anyio.fail_after(SOON):
        await ask(peer, "1", "1")
        await soon(lambda: handlers.doors)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.close)
            answer = await peer.hear(Answer)
            await peer.hear(EndOfStream)
            assert isinstance(answer.body, PermissionResultDeny)
            assert "ended before a decision" in str(answer.body.message)
            # Too late to be served.
            await peer.write(Connection(Role.CLI).send(Request(id="2", body=may_i("2"))))
            peer.exit()
    assert handlers.cancelled == ["1"]
    assert list(handlers.doors) == ["1"]


async def test_permissions_of_a_turn_are_denied_at_its_end() -> None:
    """Agents in the background go on after the turn."""
    handlers = Handlers()
    async with connected(on_permission=handlers) as (session, peer):
        turn = session.send("hello")
        await peer.hear_prompt()
        await ask(peer, "main", "main")
        background = CanUseTool("Bash", {"command": "agent"}, tool_use_id="t", agent_id="agent-1")
        await peer.say(Request(id="agent", body=background))
        await soon(lambda: len(handlers.doors) == 2)
        await peer.say(saying.result())
        assert (await turn).ok
        answer = await peer.hear(Answer)
        assert answer.id == "main"
        assert isinstance(answer.body, PermissionResultDeny)
        assert "turn was over" in str(answer.body.message)
        handlers.doors["agent"].set()
        assert (await peer.hear(Answer)).id == "agent"
