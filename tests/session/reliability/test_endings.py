"""The error of a session names its first cause, not the steps that ended the CLI."""

from __future__ import annotations

import sys
from textwrap import dedent

import anyio
import pytest
from msgspec.structs import replace
from tests.helpers.clock import simulated_time

from claudewire.errors import Cause, CLIError, SessionClosed
from claudewire.options import Options, StallTimeouts, Timeouts
from claudewire.session import Session, SessionState, Stall
from claudewire.simulator.faults import ExitWith, Grandchild, Silence
from claudewire.testing import Chat, SimulatedCLI

pytestmark = pytest.mark.anyio

PATIENCE = 60.0
HASTY = Timeouts(exit=0.2, terminate=PATIENCE, kill=PATIENCE, drain=0.2)


PATIENT = replace(HASTY, exit=PATIENCE)


def opened_by(code: str, timeouts: Timeouts = HASTY) -> Session:
    """A session with a CLI that is a few lines of Python."""
    command = (sys.executable, "-I", "-S", "-c", dedent(code))
    return Session(Options(cli=command, timeouts=timeouts))


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


async def test_exit_before_the_first_answer_fails_the_start() -> None:
    error = await failure_of(opened_by("raise SystemExit(0)", PATIENT))
    assert error.cause is Cause.EXITED


@simulated_time
async def test_closing_session_does_not_stall() -> None:
    """The end has bounds of its own, and the reason is that it was closed."""
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


async def test_output_of_a_cli_is_read_to_its_end() -> None:
    """A child holds the output open, so that the bound for its end passes long before that."""
    faults = [Grandchild(60, at=1), ExitWith(1, at=5000)]
    timeouts = Timeouts(exit=PATIENCE, drain=0.01)
    cli = SimulatedCLI(chatter, faults=faults)
    with anyio.fail_after(PATIENCE):
        session = await Session(Options(timeouts=timeouts), transport=cli)
        turn = session.send("Talk")
        with pytest.raises(CLIError):
            await turn
        await session.close()
    assert len(turn.messages) == 4998  # all but the answer to `initialize`


async def chatter(chat: Chat) -> None:
    while True:
        await chat.say("Blah.")


async def work(chat: Chat) -> None:
    await chat.say("I will.")
    await chat.sleep(600)
