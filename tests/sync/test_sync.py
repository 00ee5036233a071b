"""Sessions without async: the same verbs, from any thread, inside of event loops, with Ctrl-C."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import dedent
from types import FrameType
from typing import Any, assert_type

import anyio
import pytest
import trio
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import echo, options

import claudewire
from claudewire import sync
from claudewire.errors import (
    CLIError,
    Error,
    OptionsError,
    RequestTimeout,
    SessionClosed,
    TurnError,
)
from claudewire.options import Timeouts
from claudewire.people import PermissionRequest, PermissionResult
from claudewire.session import DEFAULT, SessionState, StateChanged, TurnState
from claudewire.session import entry as async_running
from claudewire.session import pool as async_pool
from claudewire.session import session as async_session
from claudewire.session import turn as async_turn
from claudewire.simulator.faults import ExitWith, Silence
from claudewire.sync.portal import Portal, portal
from claudewire.testing import LATEST, Chat, SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import (
    AssistantMessage,
    GetBinaryVersion,
    GetSettings,
    Initialize,
    ResultMessage,
    SetModel,
)

SIMULATED = (sys.executable, "-m", "claudewire.simulator")
"""A CLI that is a process."""


def opened(
    scenario: Callable[[Chat], Awaitable[None]] | None = echo, **changes: Any
) -> sync.Session:
    return sync.open(options(**changes), transport=SimulatedCLI(scenario))


async def waits(chat: Chat) -> None:
    await chat.say("I begin.")
    await chat.sleep(1000)


async def asks(chat: Chat) -> None:
    outcome = await chat.use("Bash", {"command": "make"})
    await chat.say("allowed" if outcome.allowed else "denied")


# --- the same verbs -------------------------------------------------------------------------------


def test_a_prompt_has_a_reply() -> None:
    with opened() as claude:
        assert claude.state == "ready"
        assert claude.cli_info is not None
        turn = claude.send("hello")
        assert turn.reply(SOON).text == "You said hello."
        assert turn.state is TurnState.DONE
        assert turn.is_over
        assert turn.was_asked_for
        assert not turn.merged
        assert turn.prompt is not None
        assert turn.uuid == turn.key == turn.prompt.uuid
        assert isinstance(turn.messages[-1], ResultMessage)
        assert claude.session_id == turn.reply().session_id
        assert claude.unread == turn.unread > 0
        assert "unread" in repr(turn)
        assert claude.init_message is not None
        assert claude.ask("again", timeout=SOON).text == "You said again."
    assert claude.state == "closed"
    with pytest.raises(SessionClosed):
        claude.send("more")


def test_a_session_is_open_from_the_start_with_a_block_or_without() -> None:
    claude = opened()
    assert claude.state == "ready"
    assert claude.ask("hello", timeout=SOON).ok
    with claude as same:
        assert same is claude
        assert claude.ask("again", timeout=SOON).ok
    assert claude.state == "closed"


def test_a_turn_is_read_as_messages_text_or_blocks() -> None:
    async def two(chat: Chat) -> None:
        await chat.say("One.")
        await chat.say("Two.")

    with opened(two) as claude:
        assert isinstance(list(claude.send("go"))[-1], ResultMessage)
        assert list(claude.send("go").iter_text(timeout=SOON)) == ["One.", "Two."]
        blocks = list(claude.send("go").iter_blocks(timeout=SOON))
        assert [block.text for block in blocks if block.complete] == ["One.", "Two."]
        turn = claude.send("go")
        assert list(turn.read(timeout=SOON)) == [*turn.messages]
        assert [type(it) for it in turn.messages].count(AssistantMessage) == 2
        assert turn.unread == 0
        assert list(turn) == []


def test_a_loop_that_is_left_loses_nothing() -> None:
    with opened() as claude:
        turn = claude.send("hello")
        first = next(iter(turn))
        assert [first, *turn] == [*turn.messages]
        assert turn.reply(SOON).ok


def test_facts_about_a_session() -> None:
    with opened() as claude:
        claude.ask("hello", timeout=SOON)
        assert claude.options.timeouts.start == SOON
        assert claude.failure is None
        assert claude.pid is None
        assert claude.waiting is not None
        assert claude.waiting.what == "nothing"
        facts = ("inbox", "name", "tasks", "ledger", "unread", "notices", "state", "cli_info")
        for fact in facts:
            assert getattr(claude, fact) == getattr(claude._session, fact), fact
        assert claude.inbox.pending == ()
        assert len(claude.tasks) == 0
        assert claude.ledger.session.turns == 1
        assert claude.turns == ()
        assert isinstance(claude.notices, tuple)
        assert str(claude.session_id) in repr(claude)


def test_controls_have_answers() -> None:
    with opened() as claude:
        assert claude.request(GetBinaryVersion()).version == LATEST.version
        claude.set_model("opus")
        claude.request(SetModel("sonnet"))
        claude.wait_idle(timeout=SOON)
        claude.finish_tasks("ignore", SOON)


def test_what_is_told_is_in_the_conversation_of_the_next_prompt() -> None:
    heard: list[str] = []

    async def listens(chat: Chat) -> None:
        heard[:] = [str(entry["text"]) for entry in chat.session.history]
        await echo(chat)

    with opened(listens) as claude:
        claude.tell("The build is green.")
        assert claude.turns == ()
        assert claude.ask("What about the build?", timeout=SOON).ok
    assert heard == ["The build is green.", "What about the build?"]
    with pytest.raises(SessionClosed):
        claude.tell("Too late.")


def test_servers_come_and_go() -> None:
    def double(number: int) -> int:
        return 2 * number

    with sync.open(options(cli="simulated")) as claude:
        assert claude.add_server(claudewire.ToolServer("sums", [double])) == "sums"
        claude.toggle_server("sums", False)
        claude.remove_server("sums")
        with pytest.raises(ValueError, match="sums"):
            claude.remove_server("sums")
        assert claude.name.startswith("session-")
        assert "tool" in str(claude.explain_permissions()).lower()


def test_a_request_that_is_not_answered_times_out() -> None:
    peer = Peer()
    with sync.open(options(handshake=False), transport=peer.transport) as claude:
        with pytest.raises(RequestTimeout):
            claude.request(GetSettings(), timeout=0.01)
        portal().do(peer.exit)


def test_an_interrupt_gives_a_receipt() -> None:
    with opened(waits) as claude:
        turn, later = claude.send("go on"), claude.send("later")
        turn.wait_started(SOON)
        assert claude.turns == (turn, later)
        receipt = claude.interrupt(queued="cancel")
        assert receipt.acknowledged
        assert receipt.turn == turn
        assert receipt.turn != later
        assert hash(receipt.turn) == hash(turn)
        assert receipt.cancelled == (later,)
        assert receipt.still_queued == ()
        assert receipt.steps == ("interrupt",)
        assert receipt.result is not None
        assert claude.interrupt().turn is None


def test_a_prompt_can_be_taken_back() -> None:
    with opened(waits) as claude:
        claude.send("go on")
        later = claude.send("later")
        assert later.cancel()
        assert later.state is TurnState.CANCELLED
        with pytest.raises(TurnError):
            later.reply(SOON)
        with pytest.raises(TurnError):
            list(later)


def test_events_and_turns_that_the_cli_began_by_itself() -> None:
    async def naps(chat: Chat) -> None:
        if chat.prompt is not None:
            chat.start_task("a nap").finish()
        await chat.say("I am awake.")

    with opened(naps) as claude, claude.events(limit=100) as events:
        claude.ask("go", timeout=SOON)
        turn = claude.unsolicited.get(SOON)
        assert not turn.was_asked_for
        assert turn.reply(SOON).ok
        seen = events.take()
        assert [it.turn for it in seen if isinstance(it, sync.TurnStarted)] == [turn]
        assert any(isinstance(it, StateChanged) for it in seen)
        assert events.dropped == 0
        with pytest.raises(TimeoutError):
            events.get(0.01)
        claude.close()
        rest = list(events)
        assert rest[-1] == StateChanged(SessionState.CLOSING, SessionState.CLOSED)
        assert list(claude.unsolicited) == []
        with pytest.raises(StopIteration):
            events.get()


def test_a_session_can_be_restarted() -> None:
    with sync.open(options(cli="simulated")) as claude:
        claude.ask("hello", timeout=SOON)
        claude.restart(resume=False)
        assert claude.ask("hello", timeout=SOON).ok


def test_a_session_that_fails_says_why_in_every_call() -> None:
    with sync.open(options(), transport=SimulatedCLI(echo, faults=[ExitWith(3, at=3)])) as claude:
        with pytest.raises(CLIError) as first:
            claude.ask("hello", timeout=SOON)
        with pytest.raises(CLIError) as second:
            claude.request(GetSettings())
        assert first.value is second.value is claude.failure


def test_what_cannot_be_started_is_an_error_and_leaves_nothing() -> None:
    with pytest.raises(OptionsError):
        sync.open(model=3)  # type: ignore[call-overload]
    with pytest.raises(CLIError):
        sync.open(options(cli=["/nowhere/claude"]))
    claude = opened()
    assert claude.ask("hello", timeout=SOON).ok  # without a block too
    claude.close()
    claude.close()


@dataclass
class Answer:
    number: int


def test_a_single_answer() -> None:
    async def answers(chat: Chat) -> None:
        if chat.text == "wait":
            await chat.sleep(1000)
        chat.output({"number": 4})

    reply = sync.run("2+2", options(), output=Answer, transport=SimulatedCLI(answers))
    assert reply.output == Answer(4)
    with pytest.raises(OptionsError, match="tasks"):
        sync.run("2+2", tasks="forget")  # type: ignore[call-overload]  # nothing is started
    with pytest.raises(TimeoutError, match=r"longer than 0\.01 s"):
        sync.run("wait", options(), timeout=0.01, transport=SimulatedCLI(answers))


# --- as the other verbs ---------------------------------------------------------------------------


def public(cls: type) -> dict[str, Any]:
    return {
        name: it
        for base in reversed(cls.__mro__)
        for name, it in vars(base).items()
        if not name.startswith("_") and (callable(it) or isinstance(it, property | classmethod))
    }


MAY_DIFFER = {
    # An asynchronous caller has other means to limit a wait.
    (sync.Turn, "reply"): {"timeout"},
    (sync.Turn, "iter_text"): {"timeout"},
    (sync.Turn, "iter_blocks"): {"timeout"},
    (sync.Session, "ask"): {"timeout"},
    (sync.Pool, "open"): {"timeout"},
    (sync.Pool, "ready"): {"timeout"},
}
ATTRIBUTES = {"merged", "options", "state"}
"""What is a property here and an attribute there."""
ONLY_HERE = {"read", "wait_started"}
ONLY_ASYNC = {"start", "take"}


@pytest.mark.parametrize(
    ("blocking", "asynchronous"),
    [
        (sync.Session, async_session.Session),
        (sync.Turn, async_turn.Turn),
        (sync.Pool, async_pool.Pool),
    ],
)
def test_every_method_is_there_with_the_same_parameters(blocking: type, asynchronous: type) -> None:
    ours, theirs = public(blocking), public(asynchronous)
    assert ours.keys() - theirs.keys() <= ONLY_HERE | ATTRIBUTES
    assert theirs.keys() - ours.keys() <= ONLY_ASYNC
    for name in ours.keys() & theirs.keys():
        if isinstance(ours[name], property):
            assert ours[name].__doc__ == theirs[name].__doc__
            continue
        mine, other = inspect.signature(ours[name]), inspect.signature(theirs[name])
        extra = MAY_DIFFER.get((blocking, name), set())
        kept = [it for it in mine.parameters.values() if it.name not in extra]
        assert kept == list(other.parameters.values()), name
        assert first_sentence(ours[name]) == first_sentence(theirs[name]), name


def first_sentence(it: object) -> str:
    return (inspect.getdoc(it) or "").partition(".")[0]


def test_open_and_run_take_the_same() -> None:
    for name in ("open", "run"):
        mine = inspect.signature(getattr(sync, name)).parameters
        other = inspect.signature(getattr(async_running, name)).parameters
        assert [it for it in mine.values() if it.name != "timeout"] == list(other.values())


SAMPLES: dict[str, Any] = {"str": "x"}


class Recorder(async_session.Session):
    """Notes what is asked."""

    def __init__(self) -> None:
        self.asked: tuple[Any, Any] | None = None

    async def request(self, body: Any, *, timeout: Any = DEFAULT) -> Any:
        self.asked = (body, timeout)


@pytest.mark.parametrize(
    "name",
    [
        "get_context_usage",
        "mcp_status",
        "reconnect_server",
        "request",
        "rewind_files",
        "set_model",
        "set_permission_mode",
        "stop_task",
    ],
)
def test_every_request_method_asks_the_same(name: str) -> None:
    parameters = list(inspect.signature(getattr(sync.Session, name)).parameters.values())[1:]
    given = [
        SAMPLES.get(str(it.annotation).removesuffix(" | None"))
        for it in parameters
        if it.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    here, there = Recorder(), Recorder()
    getattr(sync.Session(here, portal()), name)(*given, timeout=3)

    async def ask() -> None:
        await getattr(there, name)(*given, timeout=3)

    asyncio.run(ask())
    assert here.asked is not None
    assert here.asked == there.asked == (here.asked[0], 3)


class Noting:
    """Stands for an async object and for the portal to it: notes what each call was given."""

    def __init__(self) -> None:
        self.given: list[object] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: object, **kwargs: object) -> Any:
        self.given += [*args, *kwargs.items()]
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class DirectPortal(Noting):
    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    do = call

    def call_within(
        self, seconds: Any, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        self.given.append(("timeout", seconds))
        return function(*args, **kwargs)


def methods_with_arguments() -> list[tuple[Any, str]]:
    return [
        (kind, name)
        for kind in (sync.Session, sync.Turn)
        for name, it in public(kind).items()
        if inspect.isfunction(it)
        and len(inspect.signature(it).parameters) > 1
        # These keep what they are given for those who read.
        and name not in ("read", "iter_text", "iter_blocks")
    ]


@pytest.mark.parametrize(("kind", "name"), methods_with_arguments())
def test_every_argument_is_passed_on(kind: Any, name: str) -> None:
    parameters = list(inspect.signature(getattr(kind, name)).parameters.values())[1:]
    positional = [it.name for it in parameters if it.kind is it.POSITIONAL_OR_KEYWORD]
    named = {it.name: object() for it in parameters if it.kind is it.KEYWORD_ONLY}
    if any(it.kind is it.VAR_KEYWORD for it in parameters):
        named["another"] = object()
    inside, portal = Noting(), DirectPortal()
    result = getattr(kind(inside, portal), name)(*positional, **named)
    if name == "turn":
        with result:
            pass
    given = [it for it in (*inside.given, *portal.given) if it is not inside]
    # Where the other function takes an argument by its name, or by its place.
    for argument in positional:
        assert argument in given or (argument, argument) in given
    for item in named.items():
        assert item in given


# --- one turn -------------------------------------------------------------------------------------


def test_one_turn_is_interrupted_and_no_other() -> None:
    with opened(waits_or_not) as claude:
        first, second, third = (claude.send(text) for text in ("wait", "wait", "hello"))
        assert next(first.iter_text()) == "I begin."
        assert second.interrupt().outcome == "withdrawn"
        receipt = first.interrupt(timeout=SOON)
        assert (receipt.outcome, receipt.turn) == ("stopped", first)
        assert receipt.still_queued == (third,)
        assert third.reply(timeout=SOON).ok
        assert first.interrupt().outcome == "was_over"


def test_a_turn_is_interrupted_when_its_block_is_left() -> None:
    with opened(waits_or_not) as claude:
        with claude.turn("wait") as early:
            for _ in early.iter_text():
                break
        with pytest.raises(KeyboardInterrupt), claude.turn("wait") as failed:
            raise KeyboardInterrupt
        with claude.turn("hello") as whole:
            assert whole.reply(timeout=SOON).ok
        assert early.is_over
        assert failed.is_over
        assert whole.state is TurnState.DONE


def test_a_block_can_be_left_when_the_event_loop_has_ended() -> None:
    own = Portal()
    inner = async_session.Session(options(), transport=SimulatedCLI(waits))
    claude = sync.Session(inner, own)
    claude._start()
    with claude.turn("wait") as turn:
        own.end()
    assert turn.is_over


async def waits_or_not(chat: Chat) -> None:
    await chat.say("I begin.")
    if chat.text == "wait":
        await chat.sleep(1000)


# --- threads and event loops ----------------------------------------------------------------------


def test_several_threads_use_one_session() -> None:
    with opened() as claude, ThreadPoolExecutor(8) as threads:
        replies = threads.map(lambda n: claude.ask(f"{n}", timeout=SOON).text, range(40))
        assert list(replies) == [f"You said {n}." for n in range(40)]


def test_several_threads_have_sessions_of_their_own() -> None:
    def talk(number: int) -> str:
        with opened() as claude:
            return claude.ask(f"{number}", timeout=SOON).text

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(talk, range(24))) == [f"You said {n}." for n in range(24)]


def test_two_threads_read_one_turn_and_each_message_once() -> None:
    async def many(chat: Chat) -> None:
        for number in range(500):
            await chat.say(f"{number}")

    with opened(many) as claude, ThreadPoolExecutor(2) as threads:
        turn = claude.send("go")
        halves = list(threads.map(lambda _: list(turn.read(timeout=SOON)), range(2)))
        read = [id(message) for half in halves for message in half]
        assert sorted(read) == sorted(id(message) for message in turn.messages)
        assert claude.unread == 0


def test_it_works_inside_a_running_event_loop() -> None:
    async def cell() -> str:
        with sync.open(options(cli="simulated")) as claude:
            turn = claude.send("hello")
            said = "".join(turn.iter_text(timeout=SOON))
            assert turn.reply(SOON).text == said
            return claude.ask("hello", timeout=SOON).text

    assert "simulation" in asyncio.run(cell())
    assert "simulation" in trio.run(cell)


def test_a_handler_in_a_thread_may_use_the_session() -> None:
    seen: list[Any] = []

    def decide(request: PermissionRequest) -> PermissionResult:
        seen.append(claude.request(GetBinaryVersion()).version)
        seen.append(claude.send("afterwards"))
        seen.append(claude.turns)
        return request.allow()

    async def scenario(chat: Chat) -> None:
        await (echo(chat) if chat.text == "afterwards" else asks(chat))

    with opened(scenario, on_permission=decide) as claude:
        assert claude.ask("go", timeout=SOON).text == "allowed"
        version, after, turns = seen
        assert version == LATEST.version
        assert after in turns
        assert after.reply(SOON).text == "You said afterwards."


def test_a_handler_in_a_thread_may_close_the_session() -> None:
    closed = threading.Event()

    def decide(request: PermissionRequest) -> PermissionResult:
        claude.close()
        closed.set()
        return request.allow()

    patient = Timeouts(start=SOON, exit=SOON, drain=SOON)
    with opened(asks, on_permission=decide, timeouts=patient) as claude:
        assert not claude.ask("go", timeout=SOON).ok  # it was interrupted, and says so
        assert closed.wait(SOON)
        assert claude.state is SessionState.CLOSED


def test_a_handler_in_a_thread_may_close_the_session_of_a_cli_that_says_no_more() -> None:
    closed = threading.Event()

    def decide(request: PermissionRequest) -> PermissionResult:
        claude.close()
        closed.set()
        return request.allow()

    cli = SimulatedCLI(asks, faults=[Silence(at=7)])  # 6 is the request
    with sync.open(options(on_permission=decide), transport=cli) as claude:
        with pytest.raises(SessionClosed):
            claude.ask("go", timeout=SOON)
        assert closed.wait(SOON)
        assert claude.state is SessionState.CLOSED


def test_a_coroutine_that_would_wait_for_itself_is_told_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def decide(request: PermissionRequest) -> PermissionResult:
        claude.request(GetSettings())
        return request.allow()

    with opened(asks, on_permission=decide) as claude:
        assert claude.ask("go", timeout=SOON).text == "denied"
    assert "would wait for itself" in caplog.text


def test_handlers_see_the_context_in_which_the_session_was_opened() -> None:
    user = contextvars.ContextVar("user", default="nobody")
    seen: list[str] = []

    def decide(request: PermissionRequest) -> PermissionResult:
        seen.append(user.get())
        return request.allow()

    user.set("me")
    with opened(asks, on_permission=decide) as claude:
        claude.ask("go", timeout=SOON)
    assert seen == ["me"]


# --- bounds ---------------------------------------------------------------------------------------


def test_every_wait_has_a_bound() -> None:
    with opened(waits) as claude:
        turn = claude.send("go on")
        turn.wait_started(SOON)
        later = claude.send("later")
        for wait in (
            lambda: turn.reply(0.01),
            lambda: list(turn.read(timeout=0.01)),
            lambda: list(turn.iter_text(timeout=0.01)),
            lambda: later.wait_started(0.01),
            lambda: claude.ask("more", timeout=0.01),
            lambda: claude.wait_idle(timeout=0.01),
            lambda: claude.unsolicited.get(0.01),
        ):
            with pytest.raises(TimeoutError):
                wait()
        assert turn.state is TurnState.RUNNING


class Expired(Exception):
    """What a signal handler may raise. Not TimeoutError: asyncio ignores any OSError in places."""


@contextmanager
def ctrl_c(
    when: Callable[[], object], raised: type[BaseException] = KeyboardInterrupt
) -> Iterator[None]:
    """Press Ctrl-C in this thread, once something has happened in another."""
    noticed = threading.Event()
    main = threading.main_thread().ident or 0

    def notice(number: int, frame: FrameType | None) -> None:
        noticed.set()
        raise raised

    def press() -> None:
        when()
        signal.pthread_kill(main, signal.SIGINT)
        # Python looks for signals before it begins to wait for a lock: one that comes just then is
        # noticed when the next one ends the wait.
        for _ in range(int(SOON)):
            if noticed.wait(1):
                return
            signal.pthread_kill(main, signal.SIGWINCH)

    thread = threading.Thread(target=press)
    before = signal.signal(signal.SIGINT, notice)
    resized = signal.signal(signal.SIGWINCH, lambda *_: None)
    thread.start()
    try:
        yield
    finally:
        thread.join(2 * SOON)
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGWINCH, resized)


def test_ctrl_c_breaks_a_wait_and_the_session_goes_on() -> None:
    with opened(waits) as claude:
        turn = claude.send("go on")
        for wait in (lambda: turn.reply(SOON), lambda: list(turn), claude.wait_idle):
            with pytest.raises(KeyboardInterrupt), ctrl_c(lambda: turn.wait_started(SOON)):
                wait()
        assert claude.interrupt().turn == turn


def test_ctrl_c_in_a_block_closes_its_session() -> None:
    started = threading.Event()
    claude = sync.open(options(cli=SIMULATED, env={"HOME": "/nowhere"}))
    pids: list[int | None] = []

    def wait() -> None:
        with claude:
            pids.append(claude.pid)
            started.set()
            claude.unsolicited.get(SOON)

    with pytest.raises(KeyboardInterrupt), ctrl_c(lambda: started.wait(SOON)):
        wait()
    assert claude.state is SessionState.CLOSED
    (pid,) = pids
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_ctrl_c_while_the_cli_starts_leaves_nothing() -> None:
    peer = Peer()  # which never answers

    def has_begun() -> None:
        portal().call_within(SOON, peer.hear_request, Initialize)

    with pytest.raises(KeyboardInterrupt), ctrl_c(has_begun):
        sync.open(options(), transport=peer.transport)
    portal().call_within(SOON, peer.hear_end)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, Expired])
def test_what_a_signal_raises_in_the_thread_that_waits_cancels_what_was_called(
    raised: type[BaseException],
) -> None:
    began, cancelled = threading.Event(), threading.Event()

    async def wait() -> None:
        began.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise

    with pytest.raises(raised), ctrl_c(lambda: began.wait(SOON), raised):
        portal().call(wait)
    assert cancelled.wait(SOON)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, Expired])
def test_what_a_signal_raises_cancels_what_was_called_although_the_call_does_not_wait_yet(
    raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    began, cancelled = threading.Event(), threading.Event()
    start = portal()._start

    def interrupted(function: Callable[[], Coroutine[Any, Any, object]]) -> object:
        monkeypatch.undo()
        start(function)
        assert began.wait(SOON)
        raise raised

    async def wait() -> None:
        began.set()
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.set()
            raise

    monkeypatch.setattr(portal(), "_start", interrupted)
    with pytest.raises(raised):
        portal().call(wait)
    assert cancelled.wait(SOON)


# --- the thread behind it -------------------------------------------------------------------------


def test_what_cannot_be_started_is_closed_at_once() -> None:
    closed: list[bool] = []

    class Broken(claudewire.Session):
        async def start(self) -> claudewire.Session:
            raise KeyError("no start")

        async def close(self, *, now: bool = False) -> None:
            closed.append(now)

    with pytest.raises(KeyError, match="no start"):
        sync.Session(Broken(), portal())._start()
    assert closed == [True]


def test_all_sessions_share_one_thread() -> None:
    with opened() as one, opened() as other:
        one.ask("hello", timeout=SOON)
        other.ask("hello", timeout=SOON)
        assert [it.name for it in threading.enumerate()].count("claudewire") == 1
    assert portal() is portal()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_what_ends_a_program_is_raised_in_the_thread_that_waits_and_ends_no_event_loop(
    kind: type[BaseException],
) -> None:
    async def connect(launch: Launch) -> Transport:
        raise kind("enough")

    before = portal()
    with pytest.raises(kind, match="enough"):
        sync.open(options(cli=SIMULATED), transport=connect)
    assert portal() is before


def test_when_the_event_loop_has_ended_the_next_session_gets_another(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def leave() -> None:
        sys.exit("enough")

    before = portal()
    assert before._inside is not None
    claude = opened(asks)
    before._inside.start_task_soon(leave)
    before._thread.join(SOON)
    assert not before.is_running
    with pytest.raises(Error):
        claude.request(GetSettings())
    with pytest.raises(Error):
        claude.send("more")
    claude.close()
    assert "The event loop of the blocking sessions failed" in caplog.text
    before.end()
    with opened() as another:
        assert another.ask("hello", timeout=SOON).ok
    assert portal() is not before


def test_an_end_closes_what_is_open() -> None:
    own = Portal()
    session = async_session.Session(options(), transport=SimulatedCLI(echo))
    claude = sync.Session(session, own)
    own.call(session.start)
    with ThreadPoolExecutor() as threads:
        read = threads.submit(lambda: list(claude.unsolicited))
        deadline = time.monotonic() + SOON
        while session.unsolicited._arrived._event is None:  # type: ignore[attr-defined]
            assert not read.done()  # it has not begun to wait
            assert time.monotonic() < deadline
        own.end()
        assert read.result(SOON) == []
    assert not own.is_running
    assert claude.state is SessionState.CLOSED
    with pytest.raises(SessionClosed):
        own.do(lambda: None)


def test_who_waits_when_the_event_loop_ends_is_told_so() -> None:
    own, waits = Portal(), threading.Event()

    async def wait() -> None:
        waits.set()
        await anyio.sleep_forever()

    with ThreadPoolExecutor() as threads:
        call = threads.submit(own.call, wait)
        assert waits.wait(SOON)
        own.end()
        with pytest.raises(SessionClosed, match="has ended"):
            call.result(SOON)


def test_an_event_loop_that_cannot_be_started_is_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Portal):
        async def _stay(self) -> None:
            raise OSError("too many open files")

    broken = Broken()
    with pytest.raises(SessionClosed):
        broken.do(lambda: None)
    broken.end()
    assert "too many open files" in caplog.text


NOT_SLOW = "import logging; logging.getLogger('asyncio').setLevel(logging.ERROR)\n"
"""Development mode warns of slow callbacks, but how slow they are is the machine's doing."""


def run_script(code: str) -> str:
    """Run a program; everything that it prints, warnings of any kind included, comes back."""
    script = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", NOT_SLOW + dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        encoding="utf-8",
        env={**os.environ, "HOME": "/nowhere"},
    )
    assert script.returncode == 0, script.stdout
    return script.stdout


OPEN = """
import os, sys, threading
from claudewire import sync, SessionClosed
from claudewire.testing import SimulatedCLI
claude = sync.open(cli=[sys.executable, "-m", "claudewire.simulator"])
"""


def test_a_session_that_is_left_open_ends_with_the_interpreter() -> None:
    printed = run_script(
        f"""
import atexit
atexit.register(lambda: thread.join())  # runs after the library's own, which came later
{OPEN}
def waits():
    print("let go with", list(claude.unsolicited), flush=True)

thread = threading.Thread(target=waits, daemon=True)
thread.start()
while claude._session.unsolicited._arrived._event is None:
    assert thread.is_alive()  # it has not begun to wait
claude.send("hello").wait_started()
print(claude.pid)
        """
    )
    pid, *rest = printed.split("\n")
    assert rest == ["let go with []", ""]
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


@pytest.mark.unmeasured
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_has_sessions_of_its_own() -> None:
    printed = run_script(
        f"""
import warnings
warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
{OPEN}
claude.ask("hello")
pid = os.fork()
if pid == 0:
    try:
        claude.ask("hello")
    except SessionClosed as error:
        print(error, flush=True)
    with sync.open(transport=SimulatedCLI()) as own:
        print(own.ask("hello").ok, flush=True)
    sys.exit(7)
print(os.waitpid(pid, 0)[1] >> 8, claude.ask("hello").ok)
claude.close()
        """
    )
    assert printed.splitlines() == [
        "The session belongs to another process, of which this is a fork",
        "Open a session in each process.",
        "True",
        "7 True",
    ]


# --- a pool ---------------------------------------------------------------------------------------


def test_a_pool_has_sessions_ready() -> None:
    with sync.Pool(options(cli="simulated"), size=1) as pool:
        pool.ready(timeout=SOON)
        assert pool.options.cli == "simulated"
        with pool.open(timeout=SOON) as claude:
            assert claude.ask("hello", timeout=SOON).ok
            assert pool.stats.hits == 1
        other = pool.open(timeout=SOON, model="opus")
        assert other.ask("hello", timeout=SOON).ok
        assert pool.stats.misses == 1
        other.close()
        with pool.open(timeout=SOON, output=Answer) as typed:
            assert_type(typed, sync.Session[Answer])
    with pytest.raises(SessionClosed):
        pool.open()


def test_the_package_has_it() -> None:
    assert claudewire.sync is sync
