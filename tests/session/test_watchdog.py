"""The watchdog knows which event a session waits for and since when, and acts on a stall."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.sessions import connected, echo, never, options, soon

from claudewire.approvals import PermissionRequest, PermissionResult
from claudewire.errors import TurnError, TurnStalled
from claudewire.options import StallTimeouts, Timeouts, WaitingFor
from claudewire.session import Session, Stall, Subscription, Waiting
from claudewire.testing import Chat, SimulatedCLI
from claudewire.wire import (
    Answer,
    Cancel,
    CanUseTool,
    GetSettings,
    Message,
    SessionStateChangedMessage,
)

pytestmark = [pytest.mark.anyio, simulated_time]

FOREVER = 10_000.0
"""Seconds of simulated time."""

LIMITS = StallTimeouts(first_token=100, next_token=200, tool=300, approver=None, answer=400)
TIMEOUTS = Timeouts(start=FOREVER, request=FOREVER, interrupt=0.05, exit=0.02, drain=0.02)

watched = partial(connected, within=FOREVER, patience=LIMITS, timeouts=TIMEOUTS)


def stalls(events: Subscription) -> list[Stall]:
    return [it for it in events.take() if isinstance(it, Stall)]


async def next_stall(events: Subscription, what: WaitingFor | None = None) -> Stall:
    """Wait for a stall."""
    async for event in events:
        if isinstance(event, Stall) and what in (None, event.waiting_for):
            return event
    raise AssertionError("there was none")


# --- what it knows --------------------------------------------------------------------------------


async def test_waiting_has_the_event_and_since_when() -> None:
    decided = False

    async def decide(request: PermissionRequest) -> PermissionResult:
        nonlocal decided
        await anyio.sleep(7)
        decided = True
        return request.allow()

    async with watched(on_permission=decide) as (session, peer):
        began = anyio.current_time()
        seen: list[tuple[WaitingFor, float]] = []

        async def see() -> None:
            for _ in range(50):
                await anyio.lowlevel.checkpoint()
            waiting = session.waiting
            assert waiting is not None
            seen.append((waiting.what, waiting.since - began))
            await anyio.sleep(10)

        assert session.waiting is not None
        assert session.waiting.what is WaitingFor.NOTHING
        await anyio.sleep(5)
        turn = session.send("hello")
        await anyio.sleep(3)
        await see()
        await peer.say(saying.delta())
        await see()
        await peer.say(saying.tool_use("toolu_1"))
        await see()
        await peer.ask(CanUseTool("Bash", {}, tool_use_id="toolu_1"))
        await anyio.sleep(1)
        await see()
        assert decided
        await see()
        await peer.say(saying.tool_result("toolu_1"))
        await see()
        await peer.say(saying.text())
        await see()
        await peer.say(saying.result())
        await turn
        await see()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.request, GetSettings())
            request = await peer.hear_request(GetSettings)
            await see()
            await peer.answer(request)
        await session.close()
        assert session.waiting.what is WaitingFor.NOTHING
        assert seen == [
            (WaitingFor.FIRST_TOKEN, 5),
            (WaitingFor.NEXT_TOKEN, 18),
            (WaitingFor.TOOL, 28),
            (WaitingFor.APPROVER, 38),
            (WaitingFor.TOOL, 45),
            (WaitingFor.FIRST_TOKEN, 59),
            (WaitingFor.NEXT_TOKEN, 69),
            (WaitingFor.NOTHING, 79),
            (WaitingFor.ANSWER, 89),
        ]


async def test_session_without_patience_has_no_watchdog() -> None:
    async with watched(patience=None) as (session, peer):
        events = session.events()
        session.send("hello")
        await peer.hear_prompt()
        await anyio.sleep(FOREVER / 2)
        assert session.waiting is None
        assert not stalls(events)


# --- what it says ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "what", "seconds"),
    [
        ([], WaitingFor.FIRST_TOKEN, 100),
        ([saying.delta()], WaitingFor.NEXT_TOKEN, 200),
        ([saying.tool_use("toolu_1")], WaitingFor.TOOL, 300),
        ([saying.tool_use("t"), saying.tool_result("t")], WaitingFor.FIRST_TOKEN, 100),
        ([saying.tool_use("t"), saying.prompt("a remark")], WaitingFor.TOOL, 300),
    ],
)
async def test_silence_is_reported_once(said: list[Any], what: WaitingFor, seconds: float) -> None:
    async with watched() as (session, peer):
        events = session.events()
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.say(*said) if said else None
        stall = await next_stall(events, what)
        assert stall.action == "warn"
        assert stall.evidence.sent
        assert stall.seconds == seconds
        await anyio.sleep(5000)
        assert not stalls(events)
        # The turn goes on, and progress starts the clock again.
        await peer.say(saying.init())
        await next_stall(events, what)
        await peer.say(saying.result())
        assert (await turn).ok


SILENT = [
    saying.keep_alive(),
    saying.status(),
    SessionStateChangedMessage(state="running"),
    None,
]


@pytest.mark.parametrize("message", SILENT, ids=lambda it: type(it).__name__)
async def test_output_without_progress_does_not_hide_a_stall(message: Message | None) -> None:
    noise = b"[debug] still here\n"
    async with watched() as (session, peer), anyio.create_task_group() as tasks:
        events = session.events()
        session.send("hello")
        await peer.hear_prompt()

        async def chatter() -> None:
            while True:
                await anyio.sleep(30)
                await (peer.write(noise) if message is None else peer.say(message))

        tasks.start_soon(chatter)
        assert (await next_stall(events)).seconds == 100
        tasks.cancel_scope.cancel()


async def test_answers_to_the_application_do_not_hide_a_stall() -> None:
    async with watched() as (session, peer), anyio.create_task_group() as tasks:
        events = session.events()
        session.send("hello")

        async def poll() -> None:
            while True:
                await anyio.sleep(30)
                await session.request(GetSettings())

        async def answer() -> None:
            while True:
                await peer.answer(await peer.hear_request(GetSettings))

        tasks.start_soon(poll)
        tasks.start_soon(answer)
        assert (await next_stall(events)).seconds == 100
        tasks.cancel_scope.cancel()


async def test_next_prompt_begins_a_new_wait() -> None:
    async def decide(request: PermissionRequest) -> PermissionResult:
        await anyio.sleep(1)
        return request.allow()

    patience = replace(LIMITS, action="interrupt", grace=1)
    async with watched(on_permission=decide, patience=patience) as (session, peer):
        # A task in the background asks while there is no turn, and says nothing more.
        await peer.ask(CanUseTool("Bash", {}, tool_use_id="toolu_1"))
        await peer.hear(Answer)
        await anyio.sleep(1000)
        events, began = session.events(), anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.request, GetSettings())
            request = await peer.hear_request(GetSettings)
            await anyio.sleep(399)
            assert session.waiting == Waiting(WaitingFor.ANSWER, began)
            began = anyio.current_time()
            turn = session.send("hello")
            assert session.waiting == Waiting(WaitingFor.FIRST_TOKEN, began)
            await anyio.sleep(99)
            await peer.answer(request)
        await peer.say(saying.result())
        await turn
        assert not stalls(events)


async def test_pending_permission_is_no_stall_but_the_tool_may_be() -> None:
    decided = anyio.Event()

    async def decide(request: PermissionRequest) -> PermissionResult:
        await decided.wait()
        return request.allow()

    async with watched(on_permission=decide) as (session, peer):
        events = session.events()
        session.send("hello")
        await peer.say(saying.tool_use("toolu_1"))
        await peer.ask(CanUseTool("Bash", {}, tool_use_id="toolu_1"))
        await soon(lambda: session.inbox.pending)
        await anyio.sleep(5000)
        assert not stalls(events)
        decided.set()
        # Nothing comes from the CLI from now on, and still it is noticed.
        stall = await next_stall(events, WaitingFor.TOOL)
        assert stall.seconds == 300


async def test_pending_permission_may_have_a_limit() -> None:
    patience = replace(LIMITS, approver=LIMITS.tool)
    async with watched(on_permission=never, patience=patience) as (session, peer):
        events = session.events()
        session.send("hello")
        await peer.say(saying.tool_use("toolu_1"))
        id = await peer.ask(CanUseTool("Bash", {}, tool_use_id="toolu_1"))
        await next_stall(events, WaitingFor.APPROVER)
        await peer.say(Cancel(id=id))
        await next_stall(events, WaitingFor.TOOL)


# --- what it does ---------------------------------------------------------------------------------


async def stuck(chat: Chat) -> None:
    if chat.text == "stuck":
        await chat.say("I begin.")
        await chat.sleep(math.inf)
    await echo(chat)


async def test_action_interrupt_stops_the_turn() -> None:
    patience = replace(LIMITS, action="interrupt", grace=300)
    session = Session(options(patience=patience, timeouts=TIMEOUTS), transport=SimulatedCLI(stuck))
    events = session.events()
    async with session:
        began = anyio.current_time()
        turn, after = session.send("stuck"), session.send("fine")
        with pytest.raises(TurnStalled, match="the next token"):
            await turn
        assert anyio.current_time() - began == pytest.approx(500, abs=0.01)
        (stall,) = stalls(events)
        assert stall.action == "interrupt"
        assert turn.messages[-1].raw["type"] == "result"
        assert (await after).text == "You said fine."
        assert session.state == "ready"


@pytest.mark.parametrize(
    ("limit", "interrupt", "seconds"), [(0.3, 30.0, 5.3), (20.0, 30.0, 40.0), (0.3, 2.0, 2.3)]
)
async def test_cli_that_does_not_stop_is_ended_in_time(
    limit: float, interrupt: float, seconds: float
) -> None:
    patience = StallTimeouts(first_token=limit, action="interrupt")
    limits = replace(TIMEOUTS, interrupt=interrupt)
    async with watched(patience=patience, timeouts=limits) as (session, _):
        began = anyio.current_time()
        with pytest.raises(TurnStalled, match="did not stop") as caught:
            await session.send("hello")
        assert anyio.current_time() - began == pytest.approx(seconds, abs=0.1)
        assert f"for {seconds:.1f} s" in caught.value.message


async def test_action_interrupt_without_a_turn_does_nothing() -> None:
    async with watched(patience=replace(LIMITS, action="interrupt")) as (session, peer):
        events = session.events()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.request, GetSettings())
            request = await peer.hear_request(GetSettings)
            await next_stall(events)
            await next_stall(events)
            await peer.answer(request)
        assert session.state == "ready"


@pytest.mark.parametrize("at", ["running", "held"])
async def test_turn_beyond_its_timeout_is_interrupted(at: str) -> None:
    session = Session(options(timeouts=TIMEOUTS), transport=SimulatedCLI(stuck))
    async with session:
        if at == "held":
            before = session.send("stuck", timeout=20)
        turn = session.send("stuck", timeout=10)
        began = anyio.current_time()
        with pytest.raises(TurnError, match="took longer than 10 s"):
            await turn
        assert anyio.current_time() - began == pytest.approx(10, abs=0.01)
        if at == "held":
            with pytest.raises(TurnError, match="took longer than 20 s"):
                await before
        assert (await session.send("fine", timeout=10)).text == "You said fine."
        await anyio.sleep(20)
        assert session.state == "ready"
