"""The watchdog knows which event a session waits for and since when, and acts on a stall.

Time is simulated and jumps ahead whenever nobody has anything to do, so that patience may be long
and times are exact. Only where threads take part, patience is short: for tools alone, which only a
turn that is to stall uses, so that a slow machine stalls no other.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio.testing
from msgspec.structs import replace
from tests.helpers import messages as saying
from tests.helpers.clock import options as clock_options
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import SOME_CLI, echo, opened, options, soon

from claudewire.approvals import PermissionRequest, PermissionResult
from claudewire.errors import TurnStalled
from claudewire.options import StallTimeouts, Timeouts, WaitingFor
from claudewire.session import Session, Stall, Subscription, Waiting
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import Answer, Cancel, CanUseTool, GetSettings

FOREVER = 10_000.0
LIMITS = StallTimeouts(first_token=100, next_token=200, tool=300, approver=None, answer=400)
SHORT = StallTimeouts(first_token=SOON, next_token=SOON, tool=0.05, approver=None, answer=SOON)


class Clock:
    """A way to run a test, and the patience that goes with it."""

    def __init__(self, backend: str, *, is_real: bool = False) -> None:
        self.backend = backend
        self.is_exact = not is_real
        self.patience = LIMITS if self.is_exact else SHORT

    def run(self, test: Callable[[], Awaitable[None]]) -> None:
        async def bounded() -> None:
            with anyio.fail_after(FOREVER if self.is_exact else SOON):
                await test()

        options = clock_options(self.backend) if self.is_exact else {}
        anyio.run(bounded, backend=self.backend, backend_options=options)


@pytest.fixture(params=["asyncio", "trio"])
def clock(request: pytest.FixtureRequest) -> Clock:
    return Clock(request.param)


@pytest.fixture(params=["asyncio", "trio"])
def real_clock(request: pytest.FixtureRequest) -> Clock:
    """For what is done in threads, which simulated time does not wait for."""
    return Clock(request.param, is_real=True)


def timeouts(clock: Clock) -> Timeouts:
    long = FOREVER if clock.is_exact else SOON
    return Timeouts(start=long, request=long, interrupt=0.05, exit=0.02, drain=0.02)


async def watched(peer: Peer, clock: Clock, **changes: Any) -> Session:
    session = await opened(
        peer, **{"patience": clock.patience, "timeouts": timeouts(clock), **changes}
    )
    return session


def stalls(events: Subscription) -> list[Stall]:
    return [it for it in events.take() if isinstance(it, Stall)]


async def next_stall(events: Subscription, what: WaitingFor | None = None) -> Stall:
    """Wait for a stall."""
    async for event in events:
        if isinstance(event, Stall) and what in (None, event.waiting_for):
            return event
    raise AssertionError("there was none")


# --- what it knows --------------------------------------------------------------------------------


def test_waiting_has_the_event_and_since_when() -> None:
    """Seconds pass between all that happens; each kind of waiting begins when it begins."""
    clock = Clock("trio")
    decided = False

    async def decide(request: PermissionRequest) -> PermissionResult:
        nonlocal decided
        await anyio.sleep(7)
        decided = True
        return request.allow()

    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock, on_permission=decide)
        began = anyio.current_time()
        seen: list[tuple[WaitingFor, float]] = []

        async def see() -> None:
            await trio.testing.wait_all_tasks_blocked()
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

    clock.run(test)


def test_session_without_patience_has_no_watchdog(clock: Clock) -> None:
    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock, patience=None)
        events = session.events()
        session.send("hello")
        await peer.hear_prompt()
        await anyio.sleep(FOREVER / 2)
        assert session.waiting is None
        assert not stalls(events)
        await session.close()

    clock.run(test)


# --- what it says ---------------------------------------------------------------------------------


def test_stall_is_logged_in_the_context_of_the_session(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    sender: ContextVar[str] = ContextVar("sender", default="nobody")
    seen: list[tuple[str, str]] = []

    def note(record: logging.LogRecord) -> bool:
        if "Nothing happened" in record.getMessage():
            seen.append((vars(record).get("session", "no session"), sender.get()))
        return True

    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock, name="reviewer")
        events = session.events()
        sender.set("somebody")
        turn = session.send("hello")
        await peer.hear_prompt()
        await next_stall(events)
        await peer.say(saying.result())
        assert (await turn).ok
        await session.close()

    caplog.handler.addFilter(note)
    clock.run(test)
    assert seen == [("reviewer", "nobody")]


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
def test_silence_is_reported_once(
    clock: Clock, said: list[Any], what: WaitingFor, seconds: float
) -> None:
    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock)
        events = session.events()
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.say(*said, saying.status()) if said else None
        stall = await next_stall(events, what)
        assert stall.action == "warn"
        assert stall.evidence.sent
        assert stall.seconds == seconds
        await anyio.sleep(5000)
        assert not stalls(events)
        # It only told of it: the turn goes on, and a sign of life starts the clock again.
        await peer.say(saying.status())
        await next_stall(events, what)
        await peer.say(saying.result())
        assert (await turn).ok
        await session.close()

    clock.run(test)


def test_next_prompt_begins_a_new_wait(clock: Clock) -> None:
    async def decide(request: PermissionRequest) -> PermissionResult:
        await anyio.sleep(1)
        return request.allow()

    async def test() -> None:
        peer = Peer()
        patience = replace(LIMITS, action="interrupt", grace=1)
        session = await watched(peer, clock, on_permission=decide, patience=patience)
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
        await session.close()

    clock.run(test)


def test_pending_permission_is_no_stall_but_the_tool_may_be(clock: Clock) -> None:
    decided = anyio.Event()

    async def decide(request: PermissionRequest) -> PermissionResult:
        await decided.wait()
        return request.allow()

    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock, on_permission=decide)
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
        await session.close()

    clock.run(test)


def test_pending_permission_may_have_a_limit(clock: Clock) -> None:
    async def decide(request: PermissionRequest) -> PermissionResult:
        await anyio.sleep_forever()
        raise AssertionError

    async def test() -> None:
        peer = Peer()
        patience = replace(clock.patience, approver=clock.patience.tool)
        session = await watched(peer, clock, on_permission=decide, patience=patience)
        events = session.events()
        session.send("hello")
        await peer.say(saying.tool_use("toolu_1"))
        id = await peer.ask(CanUseTool("Bash", {}, tool_use_id="toolu_1"))
        await next_stall(events, WaitingFor.APPROVER)
        await peer.say(Cancel(id=id))
        await next_stall(events, WaitingFor.TOOL)
        await session.close()

    clock.run(test)


# --- what it does ---------------------------------------------------------------------------------


async def stuck(chat: Chat) -> None:
    if chat.text == "stuck":
        await chat.say("I begin.")
        await chat.sleep(math.inf)
    if chat.text == "stuck in a tool":
        await chat.use("Read", {"file_path": "a.txt"}, seconds=math.inf)
    await echo(chat)


def test_action_interrupt_stops_the_turn(clock: Clock) -> None:
    async def test() -> None:
        patience = replace(clock.patience, action="interrupt", grace=300)
        session = Session(
            options(patience=patience, timeouts=timeouts(clock)), transport=SimulatedCLI(stuck)
        )
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

    clock.run(test)


@pytest.mark.parametrize(
    ("limit", "interrupt", "seconds"), [(0.3, 30.0, 5.3), (20.0, 30.0, 40.0), (0.3, 2.0, 2.3)]
)
def test_cli_that_does_not_stop_is_ended_in_time(
    clock: Clock, limit: float, interrupt: float, seconds: float
) -> None:
    async def test() -> None:
        peer = Peer()
        patience = StallTimeouts(first_token=limit, action="interrupt")
        limits = replace(timeouts(clock), interrupt=interrupt)
        session = await watched(peer, clock, patience=patience, timeouts=limits)
        began = anyio.current_time()
        with pytest.raises(TurnStalled, match="did not stop") as caught:
            await session.send("hello")
        assert anyio.current_time() - began == pytest.approx(seconds, abs=0.1)
        assert f"for {seconds:.1f} s" in caught.value.message
        await session.close()

    clock.run(test)


def test_action_interrupt_without_a_turn_does_nothing(clock: Clock) -> None:
    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock, patience=replace(clock.patience, action="interrupt"))
        events = session.events()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.request, GetSettings())
            request = await peer.hear_request(GetSettings)
            await next_stall(events)
            await next_stall(events)
            await peer.answer(request)
        assert session.state == "ready"
        await session.close()

    clock.run(test)


def test_action_restart_starts_another_cli(real_clock: Clock) -> None:
    clis: list[Transport] = []

    async def connect(launch: Launch) -> Transport:
        clis.append(SimulatedCLI(stuck))
        return clis[-1]

    async def test() -> None:
        patience = replace(real_clock.patience, action="restart")
        session = Session(
            options(cli=SOME_CLI, patience=patience, timeouts=timeouts(real_clock)),
            transport=connect,
        )
        async with session:
            for _ in range(2):  # the new one is watched as well
                turn, after = session.send("stuck in a tool"), session.send("fine")
                with pytest.raises(TurnStalled):
                    await turn
                assert (await after).text == "You said fine."
        assert len(clis) == 3

    real_clock.run(test)
