"""What is raised when something goes wrong in a session, whole: see tests/helpers/kept.py.

Each error says what happened and why, and carries what is known about the CLI.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from tests.helpers import messages as saying
from tests.helpers.clock import simulated_time
from tests.helpers.kept import Kept
from tests.helpers.peer import Peer, Through
from tests.helpers.sessions import SOME_CLI, echo, opened, options, session_with

from claudewire.errors import Error, Evidence, TransportClosed
from claudewire.options import Patience, Timeouts
from claudewire.session import Pool, Session
from claudewire.simulator.faults import EOFWithoutExit, ExitWith, Silence
from claudewire.testing import SimulatedCLI
from claudewire.tools import ToolServer
from claudewire.tracking import Budget, Price, SharedBudget
from claudewire.transport import Launch, Transport
from claudewire.wire import (
    ErrorInfo,
    ErrorMessage,
    GetSettings,
    Initialize,
    InitializeResult,
    McpSetServers,
    McpSetServersResult,
    SetModel,
    SystemErrorMessage,
)

pytestmark = pytest.mark.anyio

HASTY = Timeouts(start=2, request=3, exit=0.1, drain=0.1, interrupt=4)


def of(error: BaseException) -> Iterator[str]:
    """Write an error with all that it carries."""
    yield f"  {type(error).__name__}: {getattr(error, 'message', error)}"
    for name in ("cause", "code", "request", "retryable", "advice"):
        value = getattr(error, name, None)
        if value:
            yield f"    {name}: {value}"
    if isinstance(evidence := getattr(error, "evidence", None), Evidence):
        known = [name for name in ("sent", "received", "stderr") if getattr(evidence, name)]
        yield f"    evidence: {evidence.session!r} {evidence.exit_code} {', '.join(known)}"
    if error.__cause__ is not None:
        yield f"    because of {error.__cause__!r}"


class Cases:
    """Collects what is raised."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, case: str) -> None:
        self.lines.append(case.replace("_", " "))

    async def fails(self, made: Awaitable[object]) -> None:
        with pytest.raises(Exception) as caught:
            await made
        self.lines += of(caught.value)

    def refuses(self, call: Callable[[], object]) -> None:
        with pytest.raises(Exception) as caught:
            call()
        self.lines += of(caught.value)


@asynccontextmanager
async def meeting(peer: Peer, **changes: Any) -> AsyncIterator[Session]:
    session = await opened(peer, **{"timeouts": HASTY, "name": "mine", **changes})
    try:
        yield session
    finally:
        await session.close(now=True)


def simulated(*faults: Any, version: str = "2.1.325", **changes: Any) -> Session:
    cli = SimulatedCLI(echo, faults=faults, version=version)
    return Session(options(timeouts=HASTY, **changes), transport=cli)


# --- requests ------------------------------------------------------------------------------------


async def requests_that_are_not_answered(cases: Cases) -> None:
    async with meeting(Peer()) as session:
        await cases.fails(session.set_model("opus"))
        await cases.fails(session.request(GetSettings(), timeout=0.5))


async def requests_that_an_old_cli_does_not_answer(cases: Cases) -> None:
    peer = Peer()
    session = session_with(peer, timeouts=HASTY)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.start)
        asked = await peer.hear_request(Initialize)
        await peer.answer(asked, InitializeResult(claude_code_version="2.0.76"))
    await cases.fails(session.set_model("opus"))
    await session.close(now=True)


async def requests_that_are_refused(cases: Cases) -> None:
    peer = Peer()

    async def refuse(error: str, code: str | None = None) -> None:
        await peer.refuse(await peer.hear_request(SetModel), error, code)

    async with meeting(peer) as session, anyio.create_task_group() as tasks:
        for error in (("No such model",), ("No", "odd"), ("What?", "unsupported_request")):
            tasks.start_soon(refuse, *error)
            await cases.fails(session.set_model("opus"))
        tasks.start_soon(refuse, "Unsupported control request: set_model")
        await cases.fails(session.set_model("opus"))


async def requests_that_a_cli_is_too_old_for(cases: Cases) -> None:
    for version in ("1.0.128", "2.0.14"):
        async with simulated(version=version) as session:
            await cases.fails(session.request(GetSettings()))
            await cases.fails(session.set_permission_mode("auto"))


async def servers_that_cannot_be_added(cases: Cases) -> None:
    peer = Peer()
    server = ToolServer("mine", [])

    async def answer(errors: dict[str, str]) -> None:
        for _ in range(2):
            asked = await peer.hear_request(McpSetServers)
            await peer.answer(asked, McpSetServersResult([], [], errors))

    async with meeting(peer) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(answer, {"mine": "It is broken"})
        await cases.fails(session.add_server(server))
        tasks.start_soon(answer, {})
        await cases.fails(session.add_server(server))
        for made in (
            session.add_server({"command": "x"}),
            session.add_server({"command": 7}, "x"),
            session.remove_server("absent"),
        ):
            await cases.fails(made)
        tasks.cancel_scope.cancel()


# --- the start -----------------------------------------------------------------------------------


async def a_cli_that_does_not_answer_at_the_start(cases: Cases) -> None:
    await cases.fails(session_with(Peer(), timeouts=HASTY, name="mine").start())


async def a_cli_that_refuses_to_start(cases: Cases) -> None:
    peer = Peer()
    async with anyio.create_task_group() as tasks:

        async def refuse() -> None:
            await peer.refuse(await peer.hear_request(Initialize), "Not today")

        tasks.start_soon(refuse)
        await cases.fails(session_with(peer, timeouts=HASTY).start())


async def a_cli_that_exits_at_the_start(cases: Cases) -> None:
    for status in (0, 3):
        await cases.fails(simulated(ExitWith(status, at=0)).start())


async def a_transport_that_cannot_be_had(cases: Cases) -> None:
    async def connect(launch: Launch) -> Transport:
        raise ZeroDivisionError("no transport")

    session = Session(options(cli=SOME_CLI), transport=connect)
    for _ in range(2):
        await cases.fails(session.start())
    cases.refuses(lambda: session.send("hello"))


async def a_cli_that_is_too_old(cases: Cases) -> None:
    await cases.fails(simulated(version="2.0.14", json_schema={"type": "object"}).start())


async def a_start_that_is_cancelled(cases: Cases) -> None:
    peer = Peer()
    session = session_with(peer, timeouts=HASTY)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.start)
        await peer.hear_request(Initialize)
        tasks.cancel_scope.cancel()
    cases.refuses(lambda: session.send("hello"))


async def a_start_that_is_closed(cases: Cases) -> None:
    peer = Peer()
    session = session_with(peer, timeouts=HASTY)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cases.fails, session.start())
        await peer.hear_request(Initialize)
        await session.close(now=True)
    cases.refuses(lambda: session.send("hello"))


async def calls_at_the_wrong_time(cases: Cases) -> None:
    session = simulated()
    cases.refuses(lambda: session.send("hello"))
    async with session:
        cases.refuses(lambda: session.send("hello", priority="soon"))  # type: ignore[arg-type]
        cases.refuses(lambda: session.send("hello", should_query=False))
        await cases.fails(session.start())
        await cases.fails(session.wait_idle(tasks="odd"))  # type: ignore[arg-type]
        await cases.fails(session.interrupt(queued="odd"))  # type: ignore[arg-type]
        await cases.fails(session.request("odd"))  # type: ignore[arg-type]
    cases.refuses(lambda: session.send("hello"))
    await cases.fails(session.set_model("opus"))
    await cases.fails(session.start())


async def pools_at_the_wrong_time(cases: Cases) -> None:
    pool = Pool(options(cli=SOME_CLI), transport=lambda launch: SimulatedCLI(echo))
    await cases.fails(pool.ready())
    async with pool:
        await cases.fails(pool.start())
        await cases.fails(pool.ready(resume="00000000-0000-4000-8000-000000000000"))
    await cases.fails(pool.ready())


# --- the end -------------------------------------------------------------------------------------


async def a_cli_that_ends_in_a_turn(cases: Cases) -> None:
    async with meeting(Peer(), name=None) as session:
        session.send("hello")
    for fault in (ExitWith(3, at=3), ExitWith(0, at=3), EOFWithoutExit(at=3)):
        session = await simulated(fault)
        await cases.fails(session.send("hello"))
        await cases.fails(session.set_model("opus"))
        await session.close()


class Deaf(Through):
    """A CLI that has closed its stdin, after the first line."""

    has_heard = False

    async def send(self, data: bytes) -> None:
        if self.has_heard:
            raise TransportClosed("Broken pipe")
        self.has_heard = True
        await self.inner.send(data)


async def a_cli_that_reads_no_more(cases: Cases) -> None:
    session = await Session(options(timeouts=HASTY), transport=Deaf(SimulatedCLI(echo)))
    await cases.fails(session.send("hello"))
    await session.close()


async def a_cli_that_exits_by_itself(cases: Cases) -> None:
    cli = SimulatedCLI(echo)
    session = await Session(options(timeouts=HASTY), transport=cli)
    await session.send("hello")
    await cli.send_eof()
    await cases.fails(session.set_model("opus"))
    await session.close()


async def a_session_that_is_closed_in_a_turn(cases: Cases) -> None:
    peer = Peer()
    async with meeting(peer) as session:
        turn, held = session.send("hello"), session.send("more")
        await peer.hear_prompt()
    await cases.fails(turn)
    await cases.fails(held)


async def a_restart_in_a_turn(cases: Cases) -> None:
    peers = [Peer(), Peer()]
    session = Session(
        options(cli=SOME_CLI, timeouts=HASTY), transport=lambda launch: peers.pop(0).transport
    )
    first, second = peers
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first.welcome)
        await session.start()
        turn = session.send("hello")
        await first.hear_prompt()

        async def ask() -> None:
            await cases.fails(session.set_model("opus"))

        tasks.start_soon(ask)
        await first.hear_request(SetModel)
        tasks.start_soon(second.welcome)
        await session.restart()
    await cases.fails(turn)
    await session.close(now=True)


class Odd(dict[str, Price]):
    """Prices that cannot be looked up."""

    def __iter__(self) -> Iterator[str]:
        raise ZeroDivisionError("no prices")


async def something_of_the_application_that_fails(cases: Cases) -> None:
    session = await simulated()
    session._core.ledger._prices._given = Odd(opus=Price(1, 1, 1, 1))
    await session.send("hello")
    await cases.fails(session.set_model("opus"))
    await session.close()


# --- turns ---------------------------------------------------------------------------------------


async def turns_without_a_result(cases: Cases) -> None:
    for message in (
        ErrorMessage(error=ErrorInfo("overloaded_error", "Overloaded")),
        ErrorMessage(error=ErrorInfo("odd_error", "Odd")),
        SystemErrorMessage(error={"code": "rate_limit_error", "message": "Slowly"}),
        SystemErrorMessage(error={"type": "odd", "more": 1}),
        SystemErrorMessage(error="It broke"),
        SystemErrorMessage(content="It broke otherwise"),
        SystemErrorMessage(),
    ):
        peer = Peer()
        async with meeting(peer) as session:
            turn = session.send("hello")
            await peer.hear_prompt()
            await peer.say(saying.init(), message)
            await cases.fails(turn)


async def results_that_cannot_be_read(cases: Cases) -> None:
    long = b'{"type": "result", "result": "' + b"x" * 5000 + b'"}\n'
    for line in (b'{"type": "result", "subtype": 7}\n', b'{"type": "result"\n', long):
        peer = Peer()
        async with meeting(peer, max_line=4096) as session:
            turn = session.send("hello")
            await peer.hear_prompt()
            await peer.say(saying.init())
            await peer.write(line)
            await cases.fails(turn)


async def a_cli_that_becomes_idle_without_a_result(cases: Cases) -> None:
    peer = Peer()
    async with meeting(peer) as session:
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.say(saying.state("running"), saying.init(), saying.state("idle"))
        await cases.fails(turn)


async def turns_that_fail(cases: Cases) -> None:
    peer = Peer()
    async with meeting(peer) as session:
        turn = session.send("hello", uuid="00000000-0000-4000-8000-000000000001")
        with pytest.raises(Exception) as caught:
            session.send("again", uuid="00000000-0000-4000-8000-000000000001")
        cases.lines += of(caught.value)
        await peer.hear_prompt()
        await peer.say(saying.init(), saying.result("", is_error=True, subtype="error_max_turns"))
        reply = await turn
        cases.refuses(reply.raise_for_error)


async def an_interrupt_that_is_not_acknowledged(cases: Cases) -> None:
    peer = Peer()
    async with meeting(peer) as session:
        session.send("hello")
        await peer.hear_prompt()
        await peer.say(saying.init())
        await cases.fails(session.interrupt())


async def an_interrupt_that_has_to_kill(cases: Cases) -> None:
    peer = Peer()
    async with meeting(peer) as session:
        turn = session.send("hello")
        await peer.hear_prompt()
        await peer.say(saying.init())
        receipt = await session.interrupt(escalate=True)
        cases.lines.append(f"  {receipt.steps} {receipt.outcome} {receipt.acknowledged}")
        await cases.fails(turn)


def silent(launch: Launch) -> Transport:
    return SimulatedCLI(echo, faults=[Silence(at=4)])


async def turns_that_stall(cases: Cases) -> None:
    for action in ("interrupt", "restart"):
        patience = Patience(0.5, 0.5, 0.5, action=action, grace=0.5)
        session = await Session(
            options(cli=SOME_CLI, timeouts=HASTY, patience=patience), transport=silent
        )
        await cases.fails(session.send("hello"))
        await session.close(now=True)


async def budgets_that_are_used_up(cases: Cases) -> None:
    shared = SharedBudget(turns=1)
    for budget in (Budget(turns=1), Budget(calls=1, per="turn"), shared):
        async with simulated(budgets=[budget]) as session:
            turn, held = session.send("one"), session.send("two")
            try:
                await turn
            except Error as error:
                cases.lines += of(error)
            try:
                await held
            except Error as error:
                cases.lines += of(error)
    await cases.fails(simulated(budgets=[shared]).start())


CASES = (
    requests_that_are_not_answered,
    requests_that_an_old_cli_does_not_answer,
    requests_that_are_refused,
    requests_that_a_cli_is_too_old_for,
    servers_that_cannot_be_added,
    a_cli_that_does_not_answer_at_the_start,
    a_cli_that_refuses_to_start,
    a_cli_that_exits_at_the_start,
    a_transport_that_cannot_be_had,
    a_cli_that_is_too_old,
    a_start_that_is_cancelled,
    a_start_that_is_closed,
    calls_at_the_wrong_time,
    pools_at_the_wrong_time,
    a_cli_that_ends_in_a_turn,
    a_cli_that_reads_no_more,
    a_cli_that_exits_by_itself,
    a_session_that_is_closed_in_a_turn,
    a_restart_in_a_turn,
    something_of_the_application_that_fails,
    turns_without_a_result,
    results_that_cannot_be_read,
    a_cli_that_becomes_idle_without_a_result,
    turns_that_fail,
    an_interrupt_that_is_not_acknowledged,
    an_interrupt_that_has_to_kill,
    turns_that_stall,
    budgets_that_are_used_up,
)


@simulated_time
async def test_what_goes_wrong_is_said_as_it_was(kept: Kept) -> None:
    cases = Cases()
    for case in CASES:
        cases.begin(case.__name__)
        with anyio.fail_after(10_000):
            await case(cases)
    kept("errors.txt", "\n".join(cases.lines) + "\n")
