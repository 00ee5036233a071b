"""A CLI that writes very much at once: it is handled in pieces, and other tasks run in between.

Nothing is timed here: what counts is how much is done in one round of the event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import clock
from tests.helpers import messages as saying
from tests.helpers.peer import SOON
from tests.helpers.sessions import soon
from tests.session.test_link import Call

from claudewire.errors import CLIError
from claudewire.session import link as limits
from claudewire.wire import (
    Answer,
    Cancel,
    CanUseTool,
    EndOfStream,
    Event,
    Noise,
    PermissionResultAllow,
    PermissionResultDeny,
    Request,
)

pytestmark = pytest.mark.anyio

MANY = 400


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param, clock.options(request.param)


class Rounds:
    """Counts how often something happens in one round of the event loop."""

    def __init__(self) -> None:
        self.now = self.most = self.total = 0

    def note(self, event: Event | None = None) -> None:
        self.now += 1
        self.total += 1
        self.most = max(self.most, self.now)

    async def count(self) -> None:
        while True:
            self.now = 0
            await anyio.lowlevel.checkpoint()


def permissions(call: Call, count: int) -> list[Request]:
    bodies = (CanUseTool("Bash", {}, tool_use_id=str(number)) for number in range(count))
    return [call.peer.connection.new_request(body) for body in bodies]


async def allow(request: Request) -> Any:
    return PermissionResultAllow({})


class Door:
    """Serves requests when it is opened."""

    def __init__(self) -> None:
        self.opened = anyio.Event()
        self.waiting = self.most = 0
        self.served: list[str] = []

    async def serve(self, request: Request) -> Any:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            await self.opened.wait()
        finally:
            self.waiting -= 1
        self.served.append(request.id)
        return PermissionResultAllow({})


async def answers(call: Call, count: int) -> list[Answer]:
    return [await call.peer.hear(Answer) for _ in range(count)]


async def in_rounds(call: Call, count: int, say: Callable[[], Any]) -> Rounds:
    """Count what the owner of a link is told while the CLI says something."""
    rounds = Rounds()
    noted = call.host.received

    def received(event: Event) -> None:
        noted(event)
        rounds.note(event)

    call.host.received = received  # type: ignore[method-assign]
    async with anyio.create_task_group() as group:
        group.start_soon(rounds.count)
        await say()
        await soon(lambda: rounds.total >= count)
        group.cancel_scope.cancel()
    return rounds


async def test_requests_that_arrive_at_once_are_started_in_several_rounds() -> None:
    async with Call(allow) as call:
        asked = permissions(call, MANY)
        rounds = await in_rounds(call, MANY, lambda: call.peer.say(*asked))
        assert rounds.most <= 2 * limits.ROUND // limits.OF_A_REQUEST
        assert {it.id for it in await answers(call, MANY)} == {it.id for it in asked}


async def test_withdrawals_that_arrive_at_once_are_handled_in_several_rounds() -> None:
    door = Door()
    async with Call(door.serve) as call:
        asked = permissions(call, MANY)
        await call.peer.say(*asked)
        await soon(lambda: door.waiting == MANY)
        gone = [Cancel(id=it.id) for it in asked]
        rounds = await in_rounds(call, MANY, lambda: call.peer.say(*gone))
        assert rounds.most <= 2 * limits.ROUND // limits.OF_A_REQUEST
        await soon(lambda: call.link.serving == 0)


@pytest.mark.parametrize("line", [b"Debugger attached.\n", b'{"type":"new"}\n'])
async def test_lines_that_arrive_at_once_are_handled_in_several_rounds(line: bytes) -> None:
    async with Call() as call:
        count = 10 * limits.ROUND
        rounds = await in_rounds(call, count, lambda: call.peer.write(line * count))
        assert rounds.most <= 2 * limits.ROUND
        assert len(call.host.got) == count


async def test_pieces_of_text_are_handled_as_they_arrive() -> None:
    async with Call() as call:
        pieces = [saying.delta("word")] * limits.OUTPUT_AT_ONCE
        rounds = await in_rounds(call, len(pieces), lambda: call.peer.say(*pieces))
        assert rounds.most == len(pieces)


async def test_more_pieces_of_text_than_any_pipe_holds_are_handled_in_several_rounds() -> None:
    async with Call() as call:
        pieces = [saying.delta("word")] * (5 * limits.OUTPUT_AT_ONCE)
        rounds = await in_rounds(call, len(pieces), lambda: call.peer.say(*pieces))
        assert rounds.most <= 2 * limits.OUTPUT_AT_ONCE
        assert len(call.host.got) == len(pieces)


async def test_the_order_is_kept() -> None:
    async with Call(allow) as call:
        said: list[Event] = []
        for request in permissions(call, 100):
            said += [request, saying.text(request.id)]
        data = [call.peer.connection.send(event) for event in said]
        await call.peer.write(b"".join(line + b"noise\n" for line in data))
        await soon(lambda: len(call.host.got) == 400)
        kinds = [type(it) for event in said for it in (event, Noise(b"", 0, ""))]
        assert [type(it) for it in call.host.got] == kinds


async def test_what_is_not_handled_yet_when_the_output_ends_is_not_lost() -> None:
    async with Call(allow) as call:
        await call.peer.write(b"noise\n" * 10 * limits.ROUND)
        call.peer.exit()
        await call.host.until(EndOfStream)
        assert len(call.host.got) == 10 * limits.ROUND + 1


async def test_what_is_not_handled_yet_when_the_link_is_cancelled_is_not_lost() -> None:
    call = Call(allow)
    call.link.start()
    await call.peer.write(b"noise\n" * 100 * limits.ROUND)
    await soon(lambda: len(call.host.got) > 0)
    call.link.close(now=True)
    await call.finished()
    assert len([it for it in call.host.got if isinstance(it, Noise)]) == 100 * limits.ROUND


async def test_only_so_many_requests_are_served_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "SERVED_AT_ONCE", 50)
    door = Door()
    async with Call(door.serve) as call:
        asked = permissions(call, 200)
        await call.peer.say(*asked)
        await soon(lambda: call.link.serving == 200 and door.waiting == 50)
        door.opened.set()
        await answers(call, 200)
        assert door.most == 50
        assert sorted(door.served) == sorted(it.id for it in asked)


async def test_a_request_that_is_withdrawn_before_its_turn_is_not_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "SERVED_AT_ONCE", 1)
    door = Door()
    async with Call(door.serve) as call:
        first, second, third = permissions(call, 3)
        await call.peer.say(first, second, third)
        await soon(lambda: call.link.serving == 3)
        await call.peer.say(Cancel(id=second.id))
        await call.host.until(Cancel)
        door.opened.set()
        await answers(call, 2)
        assert {*door.served} == {first.id, third.id}


async def test_a_cli_that_has_too_many_requests_open_is_out_of_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MOST_OPEN", 20)
    door = Door()
    async with Call(door.serve) as call:
        await call.peer.say(*permissions(call, 21))
        await soon(lambda: bool(call.host.failures))
        (failure,) = call.host.failures
        assert isinstance(failure, CLIError)
        assert "more than 20 requests" in str(failure)


async def test_all_that_is_open_is_refused_when_the_link_is_closed() -> None:
    door = Door()
    call = Call(door.serve)
    call.link.start()
    await call.peer.say(*permissions(call, MANY))
    await soon(lambda: call.link.serving == MANY)
    call.link.close()
    refused = await answers(call, MANY)
    assert all(isinstance(it.body, PermissionResultDeny) for it in refused)
    with anyio.fail_after(SOON):
        await call.peer.hear_end()
    call.peer.exit()
    await call.finished()


async def test_all_that_a_turn_has_asked_can_be_refused() -> None:
    door = Door()
    async with Call(door.serve) as call:
        await call.peer.say(*permissions(call, MANY))
        await soon(lambda: door.waiting == MANY)
        rounds, post = Rounds(), call.link.post

        def counted(event: Event) -> None:
            rounds.note(event)
            post(event)

        call.link.post = counted  # type: ignore[method-assign]
        async with anyio.create_task_group() as group:
            group.start_soon(rounds.count)
            call.link.refuse(lambda request: True, "the turn is over")
            await answers(call, MANY)
            group.cancel_scope.cancel()
        assert rounds.most <= 3 * limits.ROUND // limits.OF_A_REQUEST
        await soon(lambda: call.link.serving == 0)
