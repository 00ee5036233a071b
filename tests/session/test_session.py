"""A session from its beginning to its end: states, who may open and close it, how it fails."""

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
    echo,
    opened,
    options,
    session_with,
    simulated,
    soon,
)

from claudewire.errors import Cause, CLIError, Error, OptionsError, SessionClosed
from claudewire.options import Timeouts, Unread
from claudewire.people import PermissionRequest
from claudewire.policy import Policy
from claudewire.session import (
    UNREAD_EVENTS,
    Session,
    SessionState,
    StateChanged,
    StderrOutput,
    TurnStarted,
    UnreadLimitReached,
)
from claudewire.session.events import Subscriptions
from claudewire.simulator.faults import EOFWithoutExit, ExitWith, KilledBy, MissingAnswers
from claudewire.testing import SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import (
    Answer,
    AssistantMessage,
    CanUseTool,
    EndOfStream,
    GetSettings,
    Initialize,
    InitializeResult,
    Interrupt,
    Noise,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    Request,
    SetModel,
    UnknownMessage,
)

pytestmark = pytest.mark.anyio

State = SessionState


# --- beginning and end ----------------------------------------------------------------------------


async def test_every_state_is_seen() -> None:
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
async def test_what_was_closed_is_freed_without_the_garbage_collector() -> None:
    async def parts() -> list[weakref.ref[Any]]:
        async with Session(options(cli=ASKS, on_permission=allow)) as session:
            assert (await session.send("hello")).text == "allow"
            core = session._core
            each = (session, core, core.link, core.watchdog, core.conversation, session._handlers)
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


async def test_a_session_can_be_awaited() -> None:
    with anyio.fail_after(SOON):
        session = await simulated(echo)
        assert (await session.send("hello")).text == "You said hello."
        await session.close()
    assert session.state == "closed"


@pytest.mark.parametrize("how", ["handler", "plain", "policy"])
def test_a_process_asks_in_a_loop_that_anyio_did_not_start(how: str) -> None:
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


async def test_a_session_that_is_closed_while_its_cli_is_being_started_says_so() -> None:
    async def connect(launch: Launch) -> Transport:
        await anyio.sleep_forever()
        raise AssertionError

    session = Session(options(cli=SOME_CLI), transport=connect)

    async def start() -> None:
        with pytest.raises(SessionClosed, match="closed while the CLI was being started"):
            await session.start()

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(start)
            await soon(lambda: session._core.opening is not None)
            await session.close()
    assert session.failure is not None
    assert session.failure.message == "The session was closed while the CLI was being started"
    assert session.state == "closed"


async def test_the_cli_says_what_it_is() -> None:
    with anyio.fail_after(SOON):
        async with simulated(echo) as session:
            assert session.cli_info is not None
            assert session.cli_info.models
            assert (session.init_message, session.session_id, session.pid) == (None, None, None)
            assert repr(session) == f"<Session without an id ready pid={session.pid}>"
            reply = await session.send("hello")
            assert session.init_message is not None
            assert session.session_id == reply.session_id
            assert str(session.session_id) in repr(session)


async def test_a_session_is_opened_in_one_task_and_closed_in_another() -> None:
    session = simulated(echo)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: session.send("hello").reply())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.close)
    assert session.state == "closed"


async def test_it_can_be_closed_twice_and_by_several_at_once() -> None:
    session = simulated(echo)
    with anyio.fail_after(SOON):
        await session.start()
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(session.close)
        await session.close()
        await session.close(now=True)
    assert session.state == "closed"


async def test_it_can_be_closed_before_it_was_started() -> None:
    session = simulated(echo)
    with anyio.fail_after(SOON):
        await session.close()
    assert session.state == "closed"
    with pytest.raises(SessionClosed):
        await session.start()


async def test_it_is_started_once() -> None:
    with anyio.fail_after(SOON):
        async with simulated(echo) as session:
            with pytest.raises(SessionClosed, match="cannot be started again"):
                await session.start()
            assert (await session.send("hello")).ok


async def test_it_can_be_closed_while_the_cli_has_not_answered() -> None:
    peer = Peer()
    session = session_with(peer)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:

            async def start() -> None:
                with pytest.raises(SessionClosed, match="was closed"):
                    await session.start()

            tasks.start_soon(start)
            await peer.hear_request(Initialize)
            assert session.state == "starting"
            await session.close()
    assert session.state == "closed"
    await peer.hear_end()


async def test_it_can_be_closed_while_the_cli_is_being_started() -> None:
    began = anyio.Event()

    async def connect(launch: object) -> Transport:
        began.set()
        await anyio.sleep_forever()
        raise AssertionError

    session = Session(options(cli=SOME_CLI), transport=connect)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:

            async def start() -> None:
                with pytest.raises(SessionClosed):
                    await session.start()

            tasks.start_soon(start)
            await began.wait()
            await session.close()
    assert session.state == "closed"


async def test_a_cli_that_comes_when_it_is_closed_already_is_ended() -> None:
    peer = Peer()
    began, door = anyio.Event(), anyio.Event()

    async def connect(launch: object) -> Transport:
        with anyio.CancelScope(shield=True):
            began.set()
            await door.wait()
        return peer.transport

    session = Session(options(cli=SOME_CLI), transport=connect)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:

            async def start() -> None:
                with pytest.raises(SessionClosed):
                    await session.start()

            tasks.start_soon(start)
            await began.wait()
            tasks.start_soon(session.close)
            await soon(lambda: session.state == "closing")
            door.set()
    assert session.state == "closed"
    await peer.hear_end()


async def test_a_start_that_is_cancelled_leaves_nothing() -> None:
    peer = Peer()
    session = session_with(peer)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start)
            await peer.hear_request(Initialize)
            tasks.cancel_scope.cancel()
    assert session.state == "closed"
    await peer.hear_end()
    with pytest.raises(SessionClosed, match="cancelled"):
        session.send("hello")


async def test_a_close_that_is_cancelled_takes_its_course() -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await session.close()
    with anyio.fail_after(SOON):
        await session.close()
    assert session.state == "closed"
    await peer.hear_end()


async def test_the_handshake_may_be_left_out() -> None:
    peer = Peer()
    session = session_with(peer, handshake=False)
    with anyio.fail_after(SOON):
        async with session:
            assert session.cli_info is None
            turn = session.send("hello")
            await peer.hear_prompt()
            await peer.say(saying.text(), saying.result("hi"))
            assert (await turn).text == "hi"
    assert not any(isinstance(it, Request) for it in peer.heard)


async def test_the_simulated_cli_needs_no_path() -> None:
    with anyio.fail_after(SOON):
        async with Session(options(cli="simulated")) as session:
            assert (await session.send("hello")).ok
            assert session.ledger.session.calls
            assert not session.inbox.pending


async def test_a_cli_that_knows_no_initialize_will_do() -> None:
    peer = Peer()
    session = session_with(peer)

    async def refuse() -> None:
        request = await peer.hear_request(Initialize)
        await peer.refuse(request, "Unsupported control request subtype: initialize")

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(refuse)
            await session.start()
        assert session.cli_info is None
        assert session.state == "ready"
        await session.close()


# --- what can go wrong at the beginning -----------------------------------------------------------


async def test_a_cli_that_refuses_is_an_error() -> None:
    peer = Peer()
    session = session_with(peer)

    async def refuse() -> None:
        await peer.refuse(await peer.hear_request(Initialize), "not today")

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(refuse)
            with pytest.raises(CLIError, match="not today") as caught:
                await session.start()
    assert caught.value.cause is Cause.REFUSED
    assert session.state == "failed"
    assert session.failure is caught.value


@simulated_time
async def test_a_cli_that_does_not_answer_is_an_error() -> None:
    timeouts = Timeouts(start=0.02, exit=0.02, drain=0.02)
    session = Session(
        options(timeouts=timeouts), transport=SimulatedCLI(echo, faults=[MissingAnswers()])
    )
    with anyio.fail_after(SOON), pytest.raises(CLIError, match=r"within 0\.02 s") as caught:
        await session.start()
    assert caught.value.cause is Cause.NO_ANSWER
    assert caught.value.evidence.sent
    assert session.state == "failed"


async def test_a_cli_that_dies_at_once_says_why() -> None:
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
async def test_a_cli_that_cannot_be_started_is_an_error(error: Exception) -> None:
    async def connect(launch: object) -> Transport:
        raise error

    session = Session(options(cli=SOME_CLI), transport=connect)
    with anyio.fail_after(SOON), pytest.raises(type(error)) as caught:
        await session.start()
    assert caught.value is error
    assert session.state == "failed"
    with pytest.raises(Error, match=str(error)):
        session.send("hello")


async def test_requests_are_served_before_the_start_is_over() -> None:
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


async def calls(session: Session) -> list[Callable[[], Awaitable[Any]]]:
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
async def test_every_call_on_a_failed_session_raises_the_original_cause(
    fault: KilledBy | ExitWith,
) -> None:
    session = simulated(echo, faults=[fault])
    with anyio.fail_after(SOON):
        await session.start()
        with pytest.raises(CLIError) as caught:
            await session.send("hello")
        assert session.state == "failed"
        assert session.failure is caught.value
        for call in await calls(session):
            with pytest.raises(CLIError) as again:
                await call()
            assert again.value is caught.value
        await session.close()
    assert session.state == "failed"


async def test_while_it_is_failing_calls_wait_for_the_cause() -> None:
    """The output has ended, and why will be known only when the process has."""
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
            for call in await calls(session):
                tasks.start_soon(fail, call)
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            peer.exit(9)
        with pytest.raises(CLIError) as caught:
            await turn
    assert failures == [caught.value] * 6
    assert caught.value.evidence.exit_code == 9


async def test_a_cli_that_stops_talking_fails_what_waits() -> None:
    session = simulated(echo, faults=[EOFWithoutExit(at=4)])
    with anyio.fail_after(SOON):
        await session.start()
        first, second = session.send("hello"), session.send("again")
        for turn in (first, second):
            with pytest.raises(CLIError):
                await turn
        assert first.messages  # what had come is there
    assert session.state == "failed"


async def test_a_cli_that_leaves_with_nothing_to_do_has_closed_the_session() -> None:
    peer = Peer()
    session = await opened(peer)
    peer.exit(0)
    await soon(lambda: session.state == "closed")
    with pytest.raises(SessionClosed, match="by itself"):
        session.send("hello")


async def test_what_waits_when_it_is_closed_is_told() -> None:
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
async def test_closing_stops_the_turn_that_runs(is_busy: bool) -> None:
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


async def test_nothing_can_be_said_while_it_closes() -> None:
    peer = Peer()
    session = await opened(peer, timeouts=Timeouts(exit=SOON, drain=SOON))
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.close)
            await peer.hear_end()
            assert session.state == "closing"
            with pytest.raises(SessionClosed):
                session.send("hello")
            peer.exit(0)
    assert session.state == "closed"


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
def test_a_session_that_is_forgotten_is_warned_of_and_its_cli_killed() -> None:
    transport = Killable(SimulatedCLI(echo))

    async def forget() -> None:
        await Session(options(), transport=transport).start()
        gc.collect()
        assert transport.was_killed  # and not when the event loop ends

    with pytest.warns(ResourceWarning, match="never closed"):
        anyio.run(forget)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_end_of_the_event_loop_kills_the_cli_of_a_session_that_is_open(backend: str) -> None:
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


async def test_a_session_that_was_closed_is_forgotten_in_silence() -> None:
    transport = Killable(SimulatedCLI(echo))
    with anyio.fail_after(SOON):
        async with Session(options(), transport=transport) as session:
            assert (await session.send("hello")).ok
    del session
    gc.collect()
    assert not transport.was_killed


def test_a_session_that_could_not_be_made_is_no_trouble() -> None:
    with pytest.raises(OptionsError, match="must be a Transport"):
        Session(transport="nonsense")  # type: ignore[arg-type]
    gc.collect()


# --- everything else that happens -----------------------------------------------------------------


async def test_what_the_cli_has_said_of_itself_before_its_welcome_is_not_forgotten() -> None:
    peer = Peer()
    session = session_with(peer)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.start)
            asked = await peer.hear_request(Initialize)
            await peer.say(saying.init(claude_code_version="2.1.325"))
            await peer.answer(asked, InitializeResult())
        session.tell("It rains.")  # which old ones are not told before the next prompt
        assert (await peer.hear_prompt()).should_query is False
        await session.close()


async def test_the_last_notices_are_kept() -> None:
    peer = Peer()
    session = await opened(peer)
    await peer.write(b"".join(b"%d\n" % number for number in range(1003)))
    with anyio.fail_after(SOON):
        await soon(lambda: session.notices and session.notices[-1].line == b"1002")
        assert [it.line for it in session.notices] == [b"%d" % number for number in range(3, 1003)]
        await session.close()


async def test_what_belongs_to_no_turn_is_a_notice() -> None:
    peer = Peer()
    session = await opened(peer)
    await peer.write(b'this is not JSON\n{"type":"new_in_the_next_release","x":1}\n')
    await soon(lambda: len(session.notices) == 2)
    noise, unknown = session.notices
    assert isinstance(noise, Noise)
    assert isinstance(unknown, UnknownMessage)
    # and one bad line is not the end
    turn = session.send("hello")
    await peer.hear_prompt()
    await peer.say(saying.text(), saying.result())
    with anyio.fail_after(SOON):
        assert (await turn).ok
        await session.close()


async def test_a_listener_hears_everything() -> None:
    peer = Peer()
    session = await opened(peer, unread=Unread(high_water=2))
    events = session.events()
    peer.end.send_stderr(b"a warning")
    await peer.say(saying.text(), saying.wake_up_result())
    await soon(lambda: session.unread == 2)
    with anyio.fail_after(SOON):
        await session.close()
        got = [it async for it in events]
    kinds = [type(it) for it in got]
    for kind in (
        StderrOutput,
        TurnStarted,
        AssistantMessage,
        UnreadLimitReached,
        EndOfStream,
        StateChanged,
    ):
        assert kind in kinds
    assert [it.text for it in got if isinstance(it, StderrOutput)] == ["a warning"]


async def test_listeners_come_and_go() -> None:
    peer = Peer()
    session = await opened(peer)
    with session.events(limit=2) as few, session.events() as gone:
        gone.close()
        for number in range(5):
            await peer.say(saying.status(str(number)))
        await soon(lambda: len(session.notices) == 5)
        assert [it.status for it in few.take()] == ["3", "4"]  # type: ignore[union-attr]
        assert few.dropped == 3
        assert gone.take() == []
        with anyio.fail_after(SOON):
            assert [it async for it in gone] == []
    with anyio.fail_after(SOON):
        await session.close()
        assert [it async for it in session.events()] == []  # too late


async def test_a_subscription_that_is_forgotten_does_not_grow() -> None:
    peer = Peer()
    session = await opened(peer)
    session.events()  # which nothing refers to
    gc.collect()
    assert session._core.subscriptions._all == ()
    await session.close()


async def test_a_subscription_may_be_forgotten_while_the_others_are_told() -> None:
    subscriptions: Subscriptions[int] = Subscriptions()
    first, forgotten = subscriptions.add(), [subscriptions.add()]

    class Forgetting:
        def put(self, item: int) -> None:
            forgotten.clear()

    first._queue = Forgetting()  # type: ignore[assignment]
    subscriptions.tell(1)
    assert forgotten == []


async def test_a_subscription_that_is_not_read_keeps_so_many_events_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    session = await opened(Peer())
    unread, everything = session.events(), session.events(limit=None)
    for number in range(UNREAD_EVENTS + 5):
        session._core.subscriptions.tell(StderrOutput(str(number)))
    assert unread.dropped == 5
    assert len(unread.take()) == UNREAD_EVENTS
    assert len(everything.take()) == UNREAD_EVENTS + 5
    assert caplog.text.count("from now on the oldest are dropped") == 1
    await session.close()


async def test_an_error_that_is_raised_again_and_again_has_a_short_traceback() -> None:
    peer = Peer()
    session = await opened(peer)
    peer.exit(3)
    await soon(lambda: session.state == "failed")
    lengths = set()
    for _ in range(5):
        with pytest.raises(CLIError):
            session.send("hello")
        with pytest.raises(CLIError):
            await session.request(GetSettings())
        with pytest.raises(CLIError) as caught:
            await session._core.until_free()
        lengths.add(len(caught.traceback))
    assert len(lengths) == 1
    await session.close()


async def test_an_error_that_many_callers_wait_for_has_a_short_traceback() -> None:
    peer = Peer()
    session = await opened(peer)
    lengths: list[int] = []

    async def ask() -> None:
        with pytest.raises(CLIError) as caught:
            await session.request(GetSettings())
        lengths.append(len(caught.traceback))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(ask)
            for _ in range(5):
                await peer.hear_request(GetSettings)
            peer.exit(3)
    assert lengths == lengths[:1] * 5
    await session.close()


async def test_stderr_goes_to_whoever_wants_it() -> None:
    heard: list[str] = []
    peer = Peer()
    session = await opened(peer, on_stderr=heard.append)
    peer.end.send_stderr(b"caf\xc3")
    peer.end.send_stderr(b"\xa9\n")
    await soon(lambda: "".join(heard) == "café\n")
    with anyio.fail_after(SOON):
        await session.close()


async def test_a_request_that_nobody_serves_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer()
    session = await opened(peer)
    events = session.events()
    await peer.ask(CanUseTool("Bash", {}, tool_use_id="toolu_1"))
    answer = await peer.hear(Answer)
    assert isinstance(answer.body, PermissionResultDeny)
    assert [type(it) for it in events.take()] == [Request]
    with anyio.fail_after(SOON):
        await session.close()
