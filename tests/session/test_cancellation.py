"""Each operation can be cancelled at each await point, without leftovers."""

from __future__ import annotations

import math
import sys
import tempfile
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import clock
from tests.helpers.cancellation import WAYS, Operation, at_every_point, living_tasks, open_files
from tests.helpers.peer import SOON
from tests.helpers.processes import children
from tests.helpers.sessions import SOME_CLI, echo, options, simulated

from claudewire.errors import Error, SessionClosed
from claudewire.options import Timeouts
from claudewire.session import Escalation, Session, SessionState, Turn
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import GetSettings

Cancel = Callable[[Operation], Awaitable[bool]]

ways = pytest.mark.parametrize(("backend", "how"), WAYS)

PROGRAM = [sys.executable, "-m", "claudewire.simulator"]


async def agent(chat: Chat) -> None:
    if chat.text == "go on":
        await chat.say("I begin.")
        await chat.sleep(math.inf)
    await echo(chat)


async def works(session: Session) -> None:
    """A session that can be used: each turn gets its own reply."""
    assert (await session.send("one")).text == "You said one."
    assert (await session.send("two")).text == "You said two."
    assert (await session.request(GetSettings())) is not None


RESTARTED = "The CLI was restarted before it had answered this turn"
CUT_OFF = "The start of the session was cancelled"
KILLED = "The CLI did not stop when it was interrupted, and was killed"
CLOSED = "The session was closed"
TAKEN_BACK = "The turn was cancelled before it began"


async def outcome(turn: Turn[Any]) -> str:
    """Return the end of a turn: a word, or the message of its error."""
    try:
        return "answered" if (await turn).ok else "interrupted"
    except Error as error:
        return error.message


class Noting:
    """An operation that notes its begin: a task may be cancelled before its first step."""

    def __init__(self, operation: Operation) -> None:
        self.has_begun = False
        self._operation = operation

    async def __call__(self) -> None:
        self.has_begun = True
        await self._operation()


@pytest.fixture(autouse=True)
def nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Any:
    yield
    assert not [it for it in caplog.records if it.levelname == "ERROR"]


@pytest.fixture(autouse=True)
def _no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run thread functions in the event loop: simulated time does not wait for threads."""

    async def run_sync(function: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return function(*arguments)

    monkeypatch.setattr("anyio.to_thread.run_sync", run_sync)


def run(backend: str, how: str, try_it: Callable[[Cancel], Awaitable[bool]], at_least: int) -> None:
    """Cancel at every point, of which there are some. Time is simulated."""

    async def main() -> int:
        return await at_every_point(try_it, how)

    points = anyio.run(main, backend=backend, backend_options=clock.options(backend))
    assert points >= at_least


# --- with a CLI in memory -------------------------------------------------------------------------


@ways
def test_cancelled_start(backend: str, how: str) -> None:
    async def try_it(cancel: Cancel) -> bool:
        session = simulated(agent)
        start = Noting(session.start)
        reached = await cancel(start)
        if not reached:
            await works(session)
        else:
            refusal = CUT_OFF if start.has_begun else "The session was not opened"
            with pytest.raises(SessionClosed, match=refusal):
                session.send("hello")
        await session.close()
        async with simulated(agent) as another:
            await works(another)
        return reached

    run(backend, how, try_it, 2)


@ways
def test_cancelled_block(backend: str, how: str) -> None:
    async def try_it(cancel: Cancel) -> bool:
        session = simulated(agent)

        async def block() -> None:
            async with session:
                async for _ in session.send("hello"):
                    pass

        reached = await cancel(block)
        await session.close()
        assert session.state == "closed"
        return reached

    run(backend, how, try_it, 6)


OPERATIONS: dict[str, Callable[[Session, Turn[Any]], Operation]] = {
    "reply": lambda session, turn: turn.reply,
    "request": lambda session, turn: lambda: session.request(GetSettings()),
    "withdrawal": lambda session, turn: turn.cancel,
    "wait_idle": lambda session, turn: session.wait_idle,
}
"""Operations that leave the running turn alone."""


@pytest.mark.parametrize("name", OPERATIONS)
@ways
def test_cancelled_operation_leaves_the_turn_alone(backend: str, how: str, name: str) -> None:
    async def try_it(cancel: Cancel) -> bool:
        async with simulated(agent) as session:
            turn = session.send("hello")
            reached = await cancel(OPERATIONS[name](session, turn))
            assert await outcome(turn) == "answered"
            assert not session._core.link.connection.asked  # type: ignore[union-attr]
            await works(session)
        return reached

    run(backend, how, try_it, 1)


@pytest.mark.unmeasured
@ways
def test_cancelled_loop_over_a_turn(backend: str, how: str) -> None:
    async def try_it(cancel: Cancel) -> bool:
        async with simulated(agent) as session:
            turn = session.send("hello")
            read: list[Any] = []

            async def iterate() -> None:
                async for message in turn:
                    read.append(message)

            reached = await cancel(iterate)
            await turn
            read += [message async for message in turn]
            assert tuple(read) == turn.messages  # none was lost
            await works(session)
        return reached

    run(backend, how, try_it, 2)


@ways
def test_cancelled_interrupt(backend: str, how: str) -> None:
    async def try_it(cancel: Cancel) -> bool:
        async with simulated(agent) as session:
            turn = session.send("go on")
            reached = await cancel(session.interrupt)
            running = None if turn.is_over else turn
            receipt = await session.interrupt()
            assert receipt.turn is running
            assert not (await turn).ok
            await works(session)
        return reached

    run(backend, how, try_it, 1)


@ways
def test_cancelled_withdrawal_of_a_held_turn(backend: str, how: str) -> None:
    async def try_it(cancel: Cancel) -> bool:
        async with simulated(agent) as session:
            running, waiting = session.send("go on"), session.send("later")
            withdrawal = Noting(waiting.cancel)
            reached = await cancel(withdrawal)
            await session.interrupt()
            assert await outcome(running) == "interrupted"
            assert await outcome(waiting) == (TAKEN_BACK if withdrawal.has_begun else "answered")
            await works(session)
        return reached

    run(backend, how, try_it, 1)


@pytest.mark.unmeasured
@ways
@pytest.mark.parametrize("busy", [False, True])
def test_cancelled_close(backend: str, how: str, busy: bool) -> None:
    async def try_it(cancel: Cancel) -> bool:
        session = await simulated(agent).start()
        turns = [session.send("go on"), session.send("later")] if busy else []
        before, close = session.state, Noting(session.close)
        reached = await cancel(close)
        if not close.has_begun:
            expected = before
        elif how == "scope" or not reached:  # a scope that is cancelled waits for the end
            expected = SessionState.CLOSED
        else:
            expected = SessionState.CLOSING
        assert session.state is expected
        await session.close()
        assert session.state is SessionState.CLOSED
        outcomes = [await outcome(turn) for turn in turns]
        assert outcomes == (["interrupted", CLOSED] if busy else [])
        async with simulated(agent) as another:
            await works(another)
        return reached

    run(backend, how, try_it, 1)


@ways
def test_cancelled_restart(backend: str, how: str) -> None:
    async def try_it(cancel: Cancel) -> bool:
        clis: list[Transport] = []

        async def connect(launch: Launch) -> Transport:
            clis.append(SimulatedCLI(agent))
            await anyio.lowlevel.checkpoint()
            return clis[-1]

        session = await Session(options(cli=SOME_CLI), transport=connect).start()
        turns = [session.send("go on"), session.send("later")]
        restart = Noting(session.restart)
        reached = await cancel(restart)
        has_restarted = await outcome(turns[0]) == RESTARTED if restart.has_begun else False
        if not restart.has_begun:
            await session.interrupt()
            expected = ["interrupted", "answered"]
        elif not reached:
            expected = [RESTARTED, "answered"]
        elif how == "scope" or has_restarted:  # a scope waits for the end of the old CLI
            expected = [RESTARTED, CUT_OFF]
        else:
            expected = [CUT_OFF, CUT_OFF]
        assert [await outcome(turn) for turn in turns] == expected
        if CUT_OFF in expected:
            assert session.state is SessionState.CLOSED
            await session.restart()
        await works(session)
        await session.close()
        return reached

    run(backend, how, try_it, 4)


@ways
def test_cancelled_escalation(backend: str, how: str) -> None:
    class Deaf(SimulatedCLI):
        """A CLI that ignores interrupts and `end_session`."""

        async def send(self, data: bytes) -> None:
            lines = data.splitlines(keepends=True)
            heard = [it for it in lines if b"interrupt" not in it and b"end_session" not in it]
            await super().send(b"".join(heard))

    async def connect_deaf(launch: Launch) -> Transport:
        return Deaf(agent)

    states_after_failure: set[tuple[str | None, SessionState]] = set()

    async def try_it(cancel: Cancel) -> bool:
        session = await Session(options(cli=SOME_CLI), transport=connect_deaf).start()
        turn, later = session.send("go on"), session.send("later")
        await turn.started.wait()
        escalation = Escalation(step_timeout=0.005, restart=True)
        reached = await cancel(lambda: session.interrupt(escalate=escalation))
        failure = None if session.failure is None else session.failure.message
        if failure is None:
            await session.interrupt(escalate=escalation)
        else:
            with pytest.raises(Error, match=failure):
                await session.interrupt(escalate=escalation)
        assert await outcome(turn) == KILLED
        assert await outcome(later) == (failure or "answered")
        states_after_failure.add((failure, session.state))
        if failure is not None:
            await session.restart()
        await works(session)
        await session.close()
        return reached

    run(backend, how, try_it, 4)
    assert states_after_failure == {
        (None, SessionState.READY),
        (KILLED, SessionState.FAILED),
        (CUT_OFF, SessionState.CLOSED),
    }


# --- with a process -------------------------------------------------------------------------------


def program(**changes: Any) -> Session:
    timeouts = Timeouts(start=SOON, request=SOON, exit=1, terminate=1, kill=1, drain=1)
    return Session(options(cli=PROGRAM, timeouts=timeouts, **changes))


@pytest.fixture
def own_tmp(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Use a private folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def private_files() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("claudewire*"))


@pytest.mark.parametrize(("backend", "how"), WAYS)
def test_cancelled_start_of_a_process(backend: str, how: str, own_tmp: None) -> None:
    """There is no orphan, no file left open and none lying about."""
    before: list[Any] = []

    async def try_it(cancel: Cancel) -> bool:
        session = program(settings={"outputStyle": "default"})
        reached = await cancel(session.start)
        await session.close()
        await settled(before)
        return reached

    async def main() -> None:
        async with program() as session:  # whatever is made once and for all
            assert session.pid in children()
            await session.send("hello")
        before.extend([children(), len(open_files()), private_files()])
        points = await at_every_point(try_it, how)
        assert points >= 4
        async with program() as session:
            await session.send("hello")

    anyio.run(main, backend=backend)


async def settled(before: list[Any]) -> None:
    """Wait until the work that a cancelled caller left behind is done."""
    with anyio.fail_after(SOON):
        while [children(), len(open_files()), private_files()] != before:
            await anyio.lowlevel.checkpoint()


@pytest.mark.unmeasured
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelled_use_of_a_process(backend: str, own_tmp: None) -> None:
    before: list[Any] = []

    async def try_it(cancel: Cancel) -> bool:
        session = await program().start()
        reached = [
            await cancel(session.send("hello").reply),
            await cancel(lambda: session.request(GetSettings())),
            await cancel(session.interrupt),
        ]
        assert (await session.send("hello")).ok
        reached.append(await cancel(session.close))
        await session.close()
        await settled(before)
        return any(reached)

    async def main() -> None:
        async with program() as session:
            await session.send("hello")
        before.extend([children(), len(open_files()), private_files()])
        await at_every_point(try_it, "scope")
        assert living_tasks() >= 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        anyio.run(main, backend=backend)
