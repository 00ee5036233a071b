"""The watchdog knows what a session waits for and since when, and acts as it is told.

Time is simulated and jumps ahead whenever nobody has anything to do, so that patience may be long
and times are exact. Only where threads take part, patience is short: for tools alone, which only a
turn that is to stall uses, so that a slow machine stalls no other.
"""

from __future__ import annotations

import gc
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

from claudewire.errors import TurnStalled
from claudewire.options import Patience, Timeouts, WaitingFor
from claudewire.people import PermissionRequest, PermissionResult
from claudewire.session import Session, Stall, Subscription, Waiting
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import Answer, Cancel, CanUseTool, Connection, GetSettings, Interrupt, Role

FOREVER = 10_000.0
LIMITS = Patience(first_token=100, next_token=200, tool=300, person=None, answer=400)
SHORT = Patience(first_token=SOON, next_token=SOON, tool=0.05, person=None, answer=SOON)


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


def stalls(events: Subscription[Any]) -> list[Stall]:
    return [it for it in events.take() if isinstance(it, Stall)]


async def next_stall(events: Subscription[Any], what: WaitingFor | None = None) -> Stall:
    """Wait for a stall."""
    async for event in events:
        if isinstance(event, Stall) and what in (None, event.waiting_for):
            return event
    raise AssertionError("there was none")


# --- what it knows --------------------------------------------------------------------------------


def test_it_knows_what_is_waited_for_and_since_when() -> None:
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
            (WaitingFor.PERSON, 38),
            (WaitingFor.TOOL, 45),
            (WaitingFor.FIRST_TOKEN, 59),
            (WaitingFor.NEXT_TOKEN, 69),
            (WaitingFor.NOTHING, 79),
            (WaitingFor.ANSWER, 89),
        ]

    clock.run(test)


def test_a_turn_that_follows_at_once_waits_for_none_of_the_tools_before_it(clock: Clock) -> None:
    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock)
        first, second = session.send("one"), session.send("two")
        await peer.say(saying.tool_use("toolu_1"))
        await anyio.sleep(5)
        began = anyio.current_time()
        await peer.say(saying.result())
        await first
        assert session.waiting is not None
        assert session.waiting.what is WaitingFor.FIRST_TOKEN
        assert session.waiting.since >= began
        await peer.say(saying.text(), saying.result())
        await second
        await session.close()

    clock.run(test)


def test_the_start_is_waited_for() -> None:
    async def test() -> None:
        peer = Peer()
        session = Session(options(), transport=peer.transport)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start)
            await soon(lambda: session.waiting is not None)
            assert session.waiting is not None
            assert session.waiting.what is WaitingFor.START
            await peer.welcome()
        await session.close()

    Clock("asyncio").run(test)


def test_without_patience_nobody_watches(clock: Clock) -> None:
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


def test_what_the_watchdog_does_is_done_for_the_session_and_not_for_who_sent_the_prompt(
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
def test_too_long_a_silence_is_told_once(
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


def test_a_shorter_limit_counts_from_the_moment_that_it_applies(clock: Clock) -> None:
    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock, patience=replace(LIMITS, first_token=1000))
        events = session.events()
        turn = session.send("hello")
        await peer.say(saying.lifecycle(turn.uuid, "started"))
        await turn.started.wait()
        await anyio.sleep(10)
        await peer.say(saying.delta())
        stall = await next_stall(events)
        assert (stall.waiting_for, stall.seconds) == (WaitingFor.NEXT_TOKEN, 200)
        await session.close()

    clock.run(test)


def test_signs_of_life_are_no_silence() -> None:
    clock = Clock("trio")

    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock)
        events = session.events()
        turn = session.send("hello")
        for _ in range(10):
            await anyio.sleep(99)
            await peer.say(saying.keep_alive())
        await peer.say(saying.tool_use())
        for _ in range(10):
            await anyio.sleep(299)
            await peer.say(saying.status())
        await peer.say(saying.result())
        await turn
        await anyio.sleep(5000)  # nobody waits for anything
        assert not stalls(events)
        await session.close()

    clock.run(test)


def test_what_was_answered_long_ago_does_not_count_for_the_next_prompt(clock: Clock) -> None:
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


def test_what_arrives_at_the_last_moment_is_no_silence(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the end of the time and the task that tells it, something is read."""

    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock)
        events = session.events()
        turn = session.send("hello")
        link = session._core.link
        assert link is not None
        start_soon = link.start_soon

        def start_and_read(function: Any) -> None:
            start_soon(function)
            link._take_data(Connection(Role.CLI).send(saying.delta()))

        with monkeypatch.context() as patch:
            patch.setattr(link, "start_soon", start_and_read)
            await anyio.sleep(101)
        assert not stalls(events)
        assert session.waiting is not None
        assert session.waiting.what is WaitingFor.NEXT_TOKEN
        stall = await next_stall(events)
        assert (stall.waiting_for, stall.seconds) == (WaitingFor.NEXT_TOKEN, 200)
        await peer.say(saying.result())
        await turn
        await session.close()

    clock.run(test)


def test_a_session_that_is_closed_at_the_last_moment_has_not_stalled(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock)
        events = session.events()
        session.send("hello")
        link = session._core.link
        assert link is not None
        start_soon = link.start_soon

        def start_and_close(function: Any) -> None:
            start_soon(function)
            session._core.close(now=True)

        monkeypatch.setattr(link, "start_soon", start_and_close)
        await anyio.sleep(101)
        assert session.state == "closed"
        assert not stalls(events)

    clock.run(test)


def test_a_person_who_thinks_is_no_stall_but_what_follows_may_be(clock: Clock) -> None:
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
        await soon(lambda: session._core.link.serving)  # type: ignore[union-attr]
        await anyio.sleep(5000)
        assert not stalls(events)
        decided.set()
        # Nothing comes from the CLI from now on, and still it is noticed.
        stall = await next_stall(events, WaitingFor.TOOL)
        assert stall.seconds == 300
        await session.close()

    clock.run(test)


def test_what_the_cli_no_longer_asks_is_not_waited_for_though_its_handler_goes_on(
    clock: Clock,
) -> None:
    async def test() -> None:
        decided = anyio.Event()

        async def stubborn(request: PermissionRequest) -> PermissionResult:
            with anyio.CancelScope(shield=True):
                await decided.wait()
            return request.allow()

        peer = Peer()
        session = await watched(peer, clock, on_permission=stubborn)
        events = session.events()
        session.send("hello")
        await peer.say(saying.tool_use())
        id = await peer.ask(CanUseTool("Bash", {"command": "make"}, tool_use_id="toolu_1"))
        await anyio.sleep(1000)
        assert not stalls(events)
        await peer.say(Cancel(id=id))
        stall = await next_stall(events)
        assert (stall.waiting_for, stall.seconds) == (WaitingFor.TOOL, 300)
        decided.set()
        await session.close()

    clock.run(test)


def test_a_person_may_be_given_a_patience_too(clock: Clock) -> None:
    async def decide(request: PermissionRequest) -> PermissionResult:
        await anyio.sleep_forever()
        raise AssertionError

    async def test() -> None:
        peer = Peer()
        patience = replace(clock.patience, person=clock.patience.tool)
        session = await watched(peer, clock, on_permission=decide, patience=patience)
        events = session.events()
        session.send("hello")
        await peer.say(saying.tool_use("toolu_1"))
        id = await peer.ask(CanUseTool("Bash", {}, tool_use_id="toolu_1"))
        await next_stall(events, WaitingFor.PERSON)
        await peer.say(Cancel(id=id))
        await next_stall(events, WaitingFor.TOOL)
        await session.close()

    clock.run(test)


def test_an_answer_that_is_late_is_told(clock: Clock) -> None:
    async def test() -> None:
        peer = Peer()
        session = await watched(peer, clock)
        events = session.events()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.request, GetSettings())
            request = await peer.hear_request(GetSettings)
            stall = await next_stall(events, WaitingFor.ANSWER)
            assert stall.seconds == 400
            await peer.answer(request)
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


def test_it_interrupts_if_told_to(clock: Clock) -> None:
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


def test_a_cli_that_cannot_be_interrupted_is_given_up(clock: Clock) -> None:
    async def test() -> None:
        peer = Peer()
        patience = replace(clock.patience, action="interrupt")
        session = await watched(peer, clock, patience=patience)
        events = session.events()
        turn = session.send("hello")
        await next_stall(events)
        await peer.hear_request(Interrupt)
        with pytest.raises(TurnStalled, match="the first token") as caught:
            await turn
        await soon(lambda: session.state == "failed")
        assert session.failure is caught.value
        await session.close()

    clock.run(test)


@pytest.mark.parametrize(
    ("limit", "interrupt", "seconds"), [(0.3, 30.0, 5.3), (20.0, 30.0, 40.0), (0.3, 2.0, 2.3)]
)
def test_a_cli_that_does_not_stop_is_ended_soon_and_the_error_says_after_how_long(
    clock: Clock, limit: float, interrupt: float, seconds: float
) -> None:
    async def test() -> None:
        peer = Peer()
        patience = Patience(first_token=limit, action="interrupt")
        limits = replace(timeouts(clock), interrupt=interrupt)
        session = await watched(peer, clock, patience=patience, timeouts=limits)
        began = anyio.current_time()
        with pytest.raises(TurnStalled, match="did not stop") as caught:
            await session.send("hello")
        assert anyio.current_time() - began == pytest.approx(seconds, abs=0.1)
        assert f"for {seconds:.1f} s" in caught.value.message
        await session.close()

    clock.run(test)


def test_a_session_that_is_closed_while_it_is_restarted_logs_no_traceback(
    real_clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    clis: list[Transport] = []

    async def connect(launch: object) -> Transport:
        clis.append(SimulatedCLI(stuck))
        if len(clis) > 1:
            await anyio.sleep_forever()
        return clis[-1]

    async def test() -> None:
        patience = replace(real_clock.patience, action="restart")
        limits = timeouts(real_clock)
        session = Session(
            options(cli=SOME_CLI, patience=patience, timeouts=limits), transport=connect
        )
        await session.start()
        with pytest.raises(TurnStalled):
            await session.send("stuck in a tool")
        await soon(lambda: len(clis) == 2)
        await session.close()

    real_clock.run(test)
    assert not [it for it in caplog.records if it.exc_info]


def test_with_nothing_to_interrupt_it_does_nothing(clock: Clock) -> None:
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


def test_it_starts_another_cli_if_told_to(real_clock: Clock) -> None:
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


def test_a_cli_that_was_replaced_is_no_longer_watched(real_clock: Clock) -> None:
    async def connect(launch: Launch) -> Transport:
        return SimulatedCLI(echo)

    async def test() -> None:
        async with Session(options(cli=SOME_CLI, patience=LIMITS), transport=connect) as session:
            before = session._core.watchdog
            await session.restart()
            after = session._core.watchdog
            assert before is not None
            assert after is not None
            assert [before._is_stopped, after._is_stopped] == [True, False]
            assert before._alarm._at == math.inf
        assert after._is_stopped

    real_clock.run(test)


@pytest.mark.parametrize("kind", [OSError, SystemExit])
def test_a_restart_that_fails_is_logged(
    kind: type[BaseException], real_clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    clis: list[Transport] = []

    async def connect(launch: object) -> Transport:
        if clis:
            raise kind("no fork")
        clis.append(SimulatedCLI(stuck))
        return clis[-1]

    async def test() -> None:
        session = Session(
            options(
                cli=SOME_CLI,
                patience=replace(real_clock.patience, action="restart"),
                timeouts=timeouts(real_clock),
            ),
            transport=connect,
        )
        await session.start()
        with pytest.raises(TurnStalled):
            await session.send("stuck in a tool")
        await soon(lambda: session.state == "failed")
        await session.close()

    real_clock.run(test)
    assert "no fork" in caplog.text


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_event_loop_may_end_while_a_session_is_restarted(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    clis: list[Transport] = []

    async def test() -> None:
        is_hanging = anyio.Event()

        async def connect(launch: object) -> Transport:
            if clis:
                is_hanging.set()
                await anyio.sleep_forever()
            clis.append(Peer().transport)
            return clis[-1]

        patience = replace(clock.patience, action="restart")
        given = options(cli=SOME_CLI, patience=patience, timeouts=timeouts(clock), handshake=False)
        session = Session(given, transport=connect)
        await session.start()
        with pytest.raises(TurnStalled):
            await session.send("hello")
        await is_hanging.wait()

    clock.run(test)
    gc.collect()
    assert "could not be restarted" not in caplog.text


@pytest.mark.parametrize("what", list(WaitingFor))
def test_there_is_a_limit_for_each_kind(what: WaitingFor) -> None:
    limit = LIMITS.limit(what)
    endless = {WaitingFor.NOTHING, WaitingFor.START, WaitingFor.PERSON}
    assert math.isinf(limit) == (what in endless)
