"""A session from start to end: states, opening and closing, failures, events."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.peer import SOON, Peer, Through
from tests.helpers.programs import ASKS
from tests.helpers.sessions import (
    SOME_CLI,
    allow,
    bounded,
    connected,
    echo,
    meanwhile,
    opened,
    options,
    refused_by,
    session_with,
    simulated,
    soon,
)

from claudewire.approvals import PermissionRequest
from claudewire.errors import Cause, CLIError, Error, OptionsError, SessionClosed
from claudewire.options import Timeouts, UnreadLimit
from claudewire.policy import Policy
from claudewire.session import Session, StateChanged, StderrOutput, TurnStarted, UnreadLimitReached
from claudewire.simulator.faults import ExitWith, KilledBy, MissingAnswers
from claudewire.testing import SimulatedCLI
from claudewire.transport import Transport
from claudewire.wire import (
    Answer,
    AssistantMessage,
    CanUseTool,
    EndOfStream,
    GetSettings,
    Initialize,
    Interrupt,
    PermissionResult,
    PermissionResultAllow,
    Request,
    SetModel,
)

pytestmark = pytest.mark.anyio


# --- beginning and end ----------------------------------------------------------------------------


async def test_session_reports_each_of_its_states() -> None:
    session = simulated(echo)
    assert session.state == "new"
    with session.events() as events, anyio.fail_after(SOON):
        async with session:
            assert session.state == "ready"
            turn = session.send("hello")
            assert session.state == "busy"
            await turn
            assert session.state == "ready"
        states = [it.new for it in events.take() if isinstance(it, StateChanged)]
    assert states == ["starting", "ready", "busy", "ready", "closing", "closed"]
    assert session.state == "closed"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio needs tasks that are freed later
async def test_closed_session_is_freed_without_garbage_collection() -> None:
    async def parts() -> list[weakref.ref[Any]]:
        async with Session(options(cli=ASKS, on_permission=allow)) as session:
            assert (await session.send("hello")).text == "allow"
            core = session._core
            each = (session, core, core.link, core.watchdog, core.conversation, core.handlers)
            return [weakref.ref(part) for part in each]

    await parts()  # what is loaded with the first one leaves something behind
    gc.collect()
    gc.disable()
    try:
        left = await parts()
        await anyio.lowlevel.checkpoint()  # the task of the link has ended, but not its last round
        await anyio.lowlevel.checkpoint()
        assert [part() for part in left] == [None] * len(left)
    finally:
        gc.enable()


@pytest.mark.parametrize("how", ["handler", "plain", "policy"])
def test_session_works_in_a_loop_not_started_by_anyio(how: str) -> None:
    async def handler(request: PermissionRequest) -> PermissionResult:
        assert asyncio.current_task() is not None
        return request.allow()

    who: dict[str, Any] = {
        "handler": {"on_permission": handler},
        "plain": {"on_permission": lambda request: request.allow()},
        "policy": {"policy": Policy(allow=["Bash"])},
    }

    async def main() -> None:
        async with Session(options(cli=ASKS, **who[how])) as session:
            assert (await session.send("may you?")).text == "allow"

    asyncio.run(asyncio.wait_for(main(), SOON))


async def test_session_has_the_description_of_its_cli() -> None:
    async with bounded(simulated(echo)) as session:
        assert session.cli_info is not None
        assert session.cli_info.models
        assert (session.init_message, session.session_id, session.pid) == (None, None, None)
        assert repr(session) == f"<Session without an id ready pid={session.pid}>"
        reply = await session.send("hello")
        assert session.init_message is not None
        assert session.session_id == reply.session_id
        assert str(session.session_id) in repr(session)


async def start_refused(session: Session, why: str | None = None) -> None:
    with pytest.raises(SessionClosed, match=why):
        await session.start()


async def test_close_ends_the_start_of_the_cli() -> None:
    began = anyio.Event()

    async def connect(launch: object) -> Transport:
        began.set()
        await anyio.sleep_forever()
        raise AssertionError

    session = Session(options(cli=SOME_CLI), transport=connect)
    with anyio.fail_after(SOON):
        async with meanwhile(lambda: start_refused(session, "while the CLI was being started")):
            await began.wait()
            await session.close()
    assert session.state == "closed"


async def test_cli_that_starts_after_the_close_is_ended() -> None:
    peer = Peer()
    began, door = anyio.Event(), anyio.Event()

    async def connect(launch: object) -> Transport:
        with anyio.CancelScope(shield=True):
            began.set()
            await door.wait()
        return peer.transport

    session = Session(options(cli=SOME_CLI), transport=connect)
    with anyio.fail_after(SOON):
        async with meanwhile(lambda: start_refused(session)):
            await began.wait()
            async with meanwhile(session.close):
                await soon(lambda: session.state == "closing")
                door.set()
    assert session.state == "closed"
    await peer.hear_end()


async def test_session_without_handshake_sends_no_initialize() -> None:
    peer = Peer()
    session = session_with(peer, handshake=False)
    async with bounded(session):
        assert session.cli_info is None
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.say(saying.text(), saying.result("hi"))
        assert (await turn).text == "hi"
    assert not any(isinstance(it, Request) for it in peer.heard)


async def test_cli_without_initialize_can_be_used() -> None:
    peer = Peer()
    session = session_with(peer)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(refused_by, peer, "Unsupported control request subtype: initialize")
            await session.start()
        assert session.cli_info is None
        assert session.state == "ready"
        await session.close()


# --- what can go wrong at the beginning -----------------------------------------------------------


async def test_refused_initialize_fails_the_start() -> None:
    peer = Peer()
    session = session_with(peer)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(refused_by, peer, "not today")
            with pytest.raises(CLIError, match="not today") as caught:
                await session.start()
    assert caught.value.cause is Cause.REFUSED
    assert session.state == "failed"
    assert session.failure is caught.value


@simulated_time
async def test_silent_cli_fails_the_start_in_time() -> None:
    timeouts = Timeouts(start=0.02, exit=0.02, drain=0.02)
    session = Session(
        options(timeouts=timeouts), transport=SimulatedCLI(echo, faults=[MissingAnswers()])
    )
    with anyio.fail_after(SOON), pytest.raises(CLIError, match=r"within 0\.02 s") as caught:
        await session.start()
    assert caught.value.cause is Cause.NO_ANSWER
    assert caught.value.evidence.sent
    assert session.state == "failed"


async def test_exit_at_the_start_has_status_and_stderr() -> None:
    peer = Peer()
    session = session_with(peer)
    peer.end.send_stderr(b"something is wrong")
    peer.exit(7)
    with anyio.fail_after(SOON), pytest.raises(CLIError) as caught:
        await session.start()
    assert caught.value.evidence.exit_code == 7
    assert caught.value.evidence.stderr == "something is wrong"
    assert session.failure is caught.value


@pytest.mark.parametrize("error", [OptionsError("nonsense"), CLIError("none"), OSError("no fork")])
async def test_error_of_a_transport_function_fails_the_start(error: Exception) -> None:
    async def connect(launch: object) -> Transport:
        raise error

    session = Session(options(cli=SOME_CLI), transport=connect)
    with anyio.fail_after(SOON), pytest.raises(type(error)) as caught:
        await session.start()
    assert caught.value is error
    assert session.state == "failed"
    with pytest.raises(Error, match=str(error)):
        session.send("hello")


async def test_requests_are_served_during_the_start() -> None:
    peer = Peer()
    session = session_with(peer, on_permission=allow)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start)
            opening = await peer.hear_request(Initialize)
            await peer.ask(CanUseTool("Bash", {}, tool_use_id="toolu_1"))
            assert isinstance((await peer.hear(Answer)).body, PermissionResultAllow)
            await peer.answer(opening)
        await session.close()


# --- what can go wrong later ----------------------------------------------------------------------


def calls(session: Session) -> list[Callable[[], Awaitable[Any]]]:
    async def send() -> None:
        await session.send("hello")

    return [
        send,
        lambda: session.request(GetSettings()),
        session.interrupt,
        session.wait_idle,
        lambda: session.request(SetModel("opus")),
        lambda: session.ask("hello"),
    ]


@pytest.mark.parametrize("fault", [KilledBy(9, at=3), ExitWith(3, at=3)])
async def test_calls_on_a_failed_session_raise_the_original_error(
    fault: KilledBy | ExitWith,
) -> None:
    session = simulated(echo, faults=[fault])
    with anyio.fail_after(SOON):
        await session.start()
        with pytest.raises(CLIError) as caught:
            await session.send("hello")
        assert session.state == "failed"
        assert session.failure is caught.value
        for call in calls(session):
            with pytest.raises(CLIError) as again:
                await call()
            assert again.value is caught.value
        await session.close()
    assert session.state == "failed"


async def test_calls_during_a_failure_wait_for_its_cause() -> None:
    """The cause is known only after the exit of the process."""
    peer = Peer()
    session = await opened(peer, timeouts=Timeouts(exit=SOON, drain=SOON))
    turn = session.send("hello")
    await peer.hear_prompt()
    await peer.end.send_eof()
    await soon(lambda: not session.turns or session._core.link._output_ended)  # type: ignore[union-attr]
    failures: list[Error] = []

    async def fail(call: Callable[[], Awaitable[Any]]) -> None:
        try:
            await call()
        except Error as error:
            failures.append(error)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for call in calls(session):
                tasks.start_soon(fail, call)
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            peer.exit(9)
        with pytest.raises(CLIError) as caught:
            await turn
    assert failures == [caught.value] * 6
    assert caught.value.evidence.exit_code == 9


async def test_exit_of_an_idle_cli_closes_the_session() -> None:
    peer = Peer()
    session = await opened(peer)
    peer.exit(0)
    await soon(lambda: session.state == "closed")
    with pytest.raises(SessionClosed, match="by itself"):
        session.send("hello")


async def test_close_fails_everything_that_waits() -> None:
    peer = Peer()
    session = await opened(peer)
    turns = [session.send("one"), session.send("two")]
    told: list[str] = []

    async def wait(name: str, what: Awaitable[Any]) -> None:
        with pytest.raises(SessionClosed, match="closed"):
            await what
        told.append(name)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait, "sent", turns[0].reply())
            tasks.start_soon(wait, "held", turns[1].reply())
            tasks.start_soon(wait, "request", session.request(GetSettings()))
            tasks.start_soon(wait, "interrupt", session.interrupt())
            tasks.start_soon(wait, "idle", session.wait_idle())
            await peer.hear_prompt()
            await session.close()
    assert sorted(told) == ["held", "idle", "interrupt", "request", "sent"]
    with pytest.raises(SessionClosed):
        session.send("three")


@pytest.mark.parametrize("is_busy", [True, False])
async def test_close_interrupts_the_running_turn(is_busy: bool) -> None:
    """A CLI whose input ends would finish its turn before it exits."""
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        if is_busy:
            session.send("go")
            await peer.hear_prompt()
        await session.close()
        await peer.hear_end()
    asked = [it.body for it in peer.heard if isinstance(it, Request)]
    assert (Interrupt() in asked) is is_busy


class Killable(Through):
    """Notes that it was killed, and closed to the end."""

    was_killed = was_closed = False

    def kill_now(self) -> None:
        self.was_killed = True

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        await super().aclose()
        self.was_closed = True


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_unclosed_session_warns_and_kills_its_cli() -> None:
    transport = Killable(SimulatedCLI(echo))

    async def forget() -> None:
        await Session(options(), transport=transport).start()
        gc.collect()
        assert transport.was_killed  # and not when the event loop ends

    with pytest.warns(ResourceWarning, match="never closed"):
        anyio.run(forget)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_end_of_the_event_loop_kills_the_cli(backend: str) -> None:
    transport = Killable(SimulatedCLI(echo))
    session: Session = Session(options(), transport=transport)

    async def start() -> None:
        await session.start()

    anyio.run(start, backend=backend)
    assert transport.was_killed
    assert transport.was_closed
    assert session.state == "closed"
    assert session.failure is not None
    assert session.failure.message == "The event loop has ended, and the session with it"


# --- everything else that happens -----------------------------------------------------------------


async def test_last_thousand_notices_are_kept() -> None:
    async with connected() as (session, peer):
        await peer.write(b"".join(b"%d\n" % number for number in range(1003)))
        await soon(lambda: session.notices and session.notices[-1].line == b"1002")
        assert [it.line for it in session.notices] == [b"%d" % number for number in range(3, 1003)]


async def test_subscription_yields_all_events() -> None:
    peer = Peer()
    session = await opened(peer, unread=UnreadLimit(high_water=2))
    events = session.events()
    peer.end.send_stderr(b"a warning")
    await peer.say(saying.text(), saying.wake_up_result())
    await soon(lambda: session.unread == 2)
    with anyio.fail_after(SOON):
        await session.close()
        got = [it async for it in events]
    kinds = {TurnStarted, AssistantMessage, UnreadLimitReached, EndOfStream, StateChanged}
    assert kinds <= {type(it) for it in got}
    assert [it.text for it in got if isinstance(it, StderrOutput)] == ["a warning"]


async def test_subscription_drops_old_events_and_can_be_closed() -> None:
    async with connected() as (session, peer):
        with session.events(limit=2) as few, session.events() as gone:
            gone.close()
            for number in range(5):
                await peer.say(saying.status(str(number)))
            await soon(lambda: len(session.notices) == 5)
            assert [it.status for it in few.take()] == ["3", "4"]  # type: ignore[union-attr]
            assert few.dropped == 3
            assert gone.take() == []
            assert [it async for it in gone] == []
    assert [it async for it in session.events()] == []


async def test_repeated_error_keeps_a_short_traceback() -> None:
    peer = Peer()
    session = await opened(peer)
    peer.exit(3)
    await soon(lambda: session.state == "failed")
    lengths = set()
    for _ in range(5):
        with pytest.raises(CLIError):
            session.send("hello")
        with pytest.raises(CLIError) as caught:
            await session.request(GetSettings())
        lengths.add(len(caught.traceback))
    assert len(lengths) == 1
    await session.close()


async def test_on_stderr_gets_whole_characters() -> None:
    heard: list[str] = []
    async with connected(on_stderr=heard.append) as (_, peer):
        peer.end.send_stderr(b"caf\xc3")
        peer.end.send_stderr(b"\xa9\n")
        await soon(lambda: "".join(heard) == "café\n")
