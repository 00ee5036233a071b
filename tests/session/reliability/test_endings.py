"""The error of a session names its first cause, not the steps that ended the CLI."""

from __future__ import annotations

import sys
from textwrap import dedent

import anyio
import pytest
from tests.helpers.clock import simulated_time

from claudewire.errors import Cause, CLIError, SessionClosed
from claudewire.options import Options, StallTimeouts, Timeouts
from claudewire.session import Session, SessionState, Stall
from claudewire.simulator.faults import Silence
from claudewire.testing import Chat, SimulatedCLI

pytestmark = pytest.mark.anyio

PATIENCE = 60.0
HASTY = Timeouts(exit=0.2, terminate=PATIENCE, kill=PATIENCE, drain=0.2)


def opened_by(code: str) -> Session:
    """Make a session with a CLI of a few lines of Python."""
    command = (sys.executable, "-I", "-S", "-c", dedent(code))
    return Session(Options(cli=command, timeouts=HASTY))


async def failure_of(session: Session) -> CLIError:
    with anyio.fail_after(PATIENCE), pytest.raises(CLIError) as raised:
        await session.start()
    return raised.value


DEAF = """
    import json, os, time
    asked = json.loads(os.read(0, 65536))
    os.close(0)
    answer = {"subtype": "success", "request_id": asked["request_id"], "response": {}}
    print(json.dumps({"type": "control_response", "response": answer}), flush=True)
    time.sleep(60)
"""


async def test_cli_that_reads_no_more_has_stopped_listening() -> None:
    with anyio.fail_after(PATIENCE):
        session = await opened_by(DEAF)
        with pytest.raises(CLIError) as raised:
            await session.send("Hello")
    assert raised.value.cause is Cause.STOPPED_LISTENING
    assert session.state is SessionState.FAILED


async def test_cli_that_writes_no_more_has_stopped_talking() -> None:
    error = await failure_of(opened_by("import os, time; os.close(1); time.sleep(60)"))
    assert error.cause is Cause.STOPPED_TALKING
    assert str(error).startswith("The CLI has stopped talking, but did not exit")


@simulated_time
async def test_closing_session_does_not_stall() -> None:
    """The timeouts of the end apply, not those of the watchdog."""
    patience = StallTimeouts(0.4, 0.4, 0.4, action="interrupt")
    cli = SimulatedCLI(work, faults=[Silence(at=7)])
    options = Options(timeouts=Timeouts(exit=1.0, drain=0.2), patience=patience)
    session = Session(options, transport=cli)
    with anyio.fail_after(PATIENCE), session.events() as events:
        await session.start()
        turn = session.send("Work")
        await turn.started.wait()
        await session.close()
        with pytest.raises(SessionClosed):
            await turn
    assert [it for it in events.take() if isinstance(it, Stall)] == []
    assert session.state is SessionState.CLOSED


async def work(chat: Chat) -> None:
    await chat.say("I will.")
    await chat.sleep(600)
