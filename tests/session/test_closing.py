"""A session that was closed stays closed, whatever was going on at that moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import anyio
import anyio.to_thread
import pytest
from tests.helpers.clock import let_pass, time_by_hand
from tests.helpers.peer import Peer
from tests.helpers.sessions import SOME_CLI, echo, never, options, soon, start_with

from claudewire.errors import Error, SessionClosed
from claudewire.options import StallTimeouts, Timeouts
from claudewire.session import Escalation, Session
from claudewire.testing import SimulatedCLI
from claudewire.transport import Launch, Transport
from claudewire.wire import CanUseTool

pytestmark = [pytest.mark.anyio, time_by_hand]

STEP = 0.25
"""Seconds of simulated time that pass at once."""
FIRST_TOKEN = 100.0
BOUND = 500.0
"""Seconds: more than all limits of an end, even if a thread is slow meanwhile."""
LONG = 100 * BOUND
TIMEOUTS = Timeouts(start=LONG, request=LONG, interrupt=LONG, exit=1, drain=1, terminate=1, kill=1)


class Case:
    """A session whose first CLI never stops by itself, and whose next ones take a while to start.

    Attributes:
        launches: how many CLIs were started.
    """

    def __init__(self) -> None:
        self.peer = Peer()
        self.launches = 0
        self.session = Session(
            options(
                cli=SOME_CLI,
                timeouts=TIMEOUTS,
                on_permission=never,
                patience=StallTimeouts(first_token=FIRST_TOKEN, action="restart", grace=0),
            ),
            transport=self.connect,
        )

    async def connect(self, _: Launch) -> Transport:
        self.launches += 1
        if self.launches == 1:
            return self.peer.transport
        await anyio.sleep(2)
        return SimulatedCLI(echo)

    async def start(self) -> None:
        await start_with(self.session, self.peer)

    async def prompt(self) -> None:
        await self.start()
        self.session.send("hello")
        await self.peer.hear_prompt()


Phase = Callable[[Case], Awaitable[None]]


async def new(_: Case) -> None: ...


async def initialize(case: Case) -> None:
    await case.session.start()


async def ready(case: Case) -> None:
    await case.start()


async def busy(case: Case) -> None:
    await case.prompt()


async def permission(case: Case) -> None:
    await case.prompt()
    await case.peer.ask(CanUseTool("Bash", {}, tool_use_id="toolu_1"))


async def escalation(case: Case) -> None:
    await case.prompt()
    await case.session.interrupt(escalate=Escalation(step_timeout=1, restart=True))


async def restart(case: Case) -> None:
    await case.prompt()
    await case.session.restart()


async def two_restarts(case: Case) -> None:
    await case.start()
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(failing, case.session.restart)


async def failure(case: Case) -> None:
    await case.start()
    case.peer.exit(1)


async def watchdog(case: Case) -> None:
    await case.prompt()
    await anyio.sleep(FIRST_TOKEN)


async def closing(case: Case) -> None:
    await case.prompt()
    await case.session.close()


async def failing(call: Callable[[], Awaitable[object]]) -> None:
    try:
        await call()
    except* Error:
        pass


PHASES = (
    *(new, initialize, ready, busy, permission, escalation),
    *(restart, two_restarts, failure, watchdog, closing),
)


async def time_passes() -> None:
    """Let time pass, by hand: a simulated clock does not wait for threads."""
    while True:
        await anyio.to_thread.run_sync(lambda: None)  # other threads get as far
        let_pass(STEP)


@pytest.mark.parametrize("is_cancelled", [False, True], ids=["", "cancelled"])
@pytest.mark.parametrize("moment", [0.0, 1.0, 2.5, 5.0])
@pytest.mark.parametrize("phase", PHASES, ids=lambda it: it.__name__)
async def test_closed_session_stays_closed(phase: Phase, moment: float, is_cancelled: bool) -> None:
    case = Case()
    session = case.session
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(time_passes)
        tasks.start_soon(failing, partial(phase, case))
        await soon(lambda: case.launches or phase is new)
        await anyio.sleep(moment + (FIRST_TOKEN if phase is watchdog else 0))
        with anyio.fail_after(BOUND, shield=True), anyio.CancelScope() as scope:
            if is_cancelled:
                scope.cancel()
            await session.close()
        await soon(lambda: session.state in ("closed", "failed"))
        launches = case.launches
        await anyio.sleep(50)
        assert session.state in ("closed", "failed")
        assert case.launches == launches
        for call in (session.start, session.restart):
            with pytest.raises(SessionClosed):
                await call()
        tasks.cancel_scope.cancel()
