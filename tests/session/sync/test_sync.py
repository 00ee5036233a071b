"""Sessions without async: in any thread, inside event loops, and with Ctrl-C."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import dedent
from types import FrameType
from typing import Any

import anyio
import pytest
import trio
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import echo, options

import claudewire
from claudewire import sync
from claudewire.approvals import PermissionRequest, PermissionResult
from claudewire.errors import OptionsError, SessionClosed
from claudewire.session import SessionState, StateChanged, TurnStarted, TurnState
from claudewire.session import pool as async_pool
from claudewire.session import session as async_session
from claudewire.session import turn as async_turn
from claudewire.simulator.faults import Silence
from claudewire.sync.portal import Portal, portal
from claudewire.testing import LATEST, Chat, SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import (
    AssistantMessage,
    GetBinaryVersion,
    GetSettings,
    Initialize,
    ResultMessage,
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


def test_prompt_has_a_reply() -> None:
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


def test_turn_is_read_as_messages_text_or_blocks() -> None:
    async def two(chat: Chat) -> None:
        await chat.say("One.")
        await chat.say("Two.")

    with opened(two) as claude:
        assert isinstance(list(claude.send("go"))[-1], ResultMessage)
        assert list(claude.send("go").iter_text(timeout=SOON)) == ["One.", "\n\nTwo."]
        blocks = list(claude.send("go").iter_blocks(timeout=SOON))
        assert [block.text for block in blocks if block.complete] == ["One.", "Two."]
        turn = claude.send("go")
        assert list(turn.read(timeout=SOON)) == [*turn.messages]
        assert [type(it) for it in turn.messages].count(AssistantMessage) == 2
        assert turn.unread == 0
        assert list(turn) == []


def test_servers_are_added_toggled_and_removed() -> None:
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


def test_interrupt_returns_a_receipt() -> None:
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


def test_events_and_unsolicited_turns_are_read_in_loops() -> None:
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
        assert [it.turn for it in seen if isinstance(it, TurnStarted)] == [turn]
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


@dataclass
class Answer:
    number: int


def test_run_returns_a_typed_reply_or_times_out() -> None:
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
ATTRIBUTES = {"is_over", "merged", "options", "state"}
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
def test_blocking_classes_have_the_methods_of_the_async_ones(
    blocking: type, asynchronous: type
) -> None:
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


def test_open_and_run_take_the_arguments_of_the_async_ones() -> None:
    for name in ("open", "run"):
        mine = inspect.signature(getattr(sync, name)).parameters
        other = inspect.signature(getattr(async_session, name)).parameters
        assert [it for it in mine.values() if it.name != "timeout"] == list(other.values())


# --- one turn -------------------------------------------------------------------------------------


def test_turn_interrupt_stops_one_turn_and_no_other() -> None:
    with opened(waits_or_not) as claude:
        first, second, third = (claude.send(text) for text in ("wait", "wait", "hello"))
        assert next(first.iter_text()) == "I begin."
        assert second.interrupt().outcome == "withdrawn"
        receipt = first.interrupt(timeout=SOON)
        assert (receipt.outcome, receipt.turn) == ("stopped", first)
        assert receipt.still_queued == (third,)
        assert third.reply(timeout=SOON).ok
        assert first.interrupt().outcome == "was_over"


def test_turn_is_interrupted_at_the_end_of_its_block() -> None:
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


def test_block_can_be_left_after_the_end_of_the_event_loop() -> None:
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


def test_blocking_session_works_inside_an_event_loop() -> None:
    async def cell() -> str:
        with sync.open(options(cli="simulated")) as claude:
            turn = claude.send("hello")
            said = "".join(turn.iter_text(timeout=SOON))
            assert turn.reply(SOON).text == said
            return claude.ask("hello", timeout=SOON).text

    assert "simulation" in asyncio.run(cell())
    assert "simulation" in trio.run(cell)


def test_plain_handler_may_use_the_session() -> None:
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


def test_plain_handler_may_close_the_session() -> None:
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


def test_async_handler_that_would_wait_for_itself_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def decide(request: PermissionRequest) -> PermissionResult:
        claude.request(GetSettings())
        return request.allow()

    with opened(asks, on_permission=decide) as claude:
        assert claude.ask("go", timeout=SOON).text == "denied"
    assert "would wait for itself" in caplog.text


# --- bounds ---------------------------------------------------------------------------------------


def test_every_wait_has_a_timeout() -> None:
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


def test_ctrl_c_ends_a_wait_and_the_session_goes_on() -> None:
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


def test_ctrl_c_during_the_start_leaves_nothing() -> None:
    peer = Peer()  # which never answers

    def has_begun() -> None:
        portal().call_within(SOON, peer.hear_request, Initialize)

    with pytest.raises(KeyboardInterrupt), ctrl_c(has_begun):
        sync.open(options(), transport=peer.transport)
    portal().call_within(SOON, peer.hear_end)


# --- the thread behind it -------------------------------------------------------------------------


def test_all_sessions_share_one_thread() -> None:
    with opened() as one, opened() as other:
        one.ask("hello", timeout=SOON)
        other.ask("hello", timeout=SOON)
        assert [it.name for it in threading.enumerate()].count("claudewire") == 1
    assert portal() is portal()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_system_exit_in_a_call_ends_no_event_loop(kind: type[BaseException]) -> None:
    async def connect(launch: Launch) -> Transport:
        raise kind("enough")

    before = portal()
    with pytest.raises(kind, match="enough"):
        sync.open(options(cli=SIMULATED), transport=connect)
    assert portal() is before


def test_end_of_the_portal_closes_open_sessions() -> None:
    own = Portal()
    session = async_session.Session(options(), transport=SimulatedCLI(echo))
    claude = sync.Session(session, own)
    own.call(session.start)
    with ThreadPoolExecutor() as threads:
        read = threads.submit(lambda: list(claude.unsolicited))
        deadline = time.monotonic() + SOON
        while session.unsolicited._arrived is None:  # type: ignore[attr-defined]
            assert not read.done()  # it has not begun to wait
            assert time.monotonic() < deadline
        own.end()
        assert read.result(SOON) == []
    assert not own.is_running
    assert claude.state is SessionState.CLOSED
    with pytest.raises(SessionClosed):
        own.do(lambda: None)


def test_ctrl_c_at_exit_prints_nothing() -> None:
    program = """
import signal
from claudewire import sync
from claudewire.testing import SimulatedCLI

class Slow(SimulatedCLI):
    async def send_eof(self):
        signal.raise_signal(signal.SIGINT)
        await super().send_eof()

sync.open(transport=Slow())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=SOON)
    assert ended.stderr == b""


def test_end_of_the_event_loop_fails_waiting_calls() -> None:
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


def test_open_session_ends_with_the_interpreter() -> None:
    printed = run_script(
        f"""
import atexit
atexit.register(lambda: thread.join())  # runs after the library's own, which came later
{OPEN}
def waits():
    print("let go with", list(claude.unsolicited), flush=True)

thread = threading.Thread(target=waits, daemon=True)
thread.start()
while claude._session.unsolicited._arrived is None:
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
def test_fork_has_its_own_sessions() -> None:
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


def test_pool_has_sessions_ready() -> None:
    with sync.Pool(options(cli="simulated"), size=1) as pool:
        pool.ready(timeout=SOON)
        assert pool.options.cli == "simulated"
        with pool.open(timeout=SOON) as claude:
            assert claude.ask("hello", timeout=SOON).ok
            assert pool.stats.hits == 1
        with pool.open(name="chat-7", timeout=SOON) as claude:
            assert claude.name == "chat-7"
    with pytest.raises(SessionClosed):
        pool.open()
