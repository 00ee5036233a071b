"""What differs between real CLIs is the same for an application: with the oldest and the newest."""

from __future__ import annotations

import os
import signal

import anyio
import anyio.lowlevel
import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS

from claudewire.errors import CLIError, UnsupportedRequest
from claudewire.options import Agent
from claudewire.session import Session
from claudewire.testing.api import APIScript, APIToolUse
from claudewire.tools import ToolServer
from claudewire.transport.platforms.process_table import descendants, process_table
from claudewire.wire import SideQuestion

from .sessions import LONG, caged, open_cage, real_session

pytestmark = [pytest.mark.anyio, pytest.mark.real]

OLDEST = VERSIONS[0]


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
async def test_a_prompt_after_what_was_told_has_its_own_reply(version: str) -> None:
    script = APIScript(default="Something else.").on("Two?", "Second.").on("One?", "First.")
    async with real_session(version, script) as (session, cage):
        for told, asked, reply in (("It rains", "One?", "First."), ("It snows", "Two?", "Second.")):
            session.tell(told)
            assert (await session.send(asked)).text == reply
            assert told in str(cage.turns[-1].body["messages"])
        assert len(cage.turns) == 2
        assert len(session._core.unsolicited) == 0


async def test_the_oldest_is_not_asked_what_it_would_never_answer() -> None:
    async with real_session(OLDEST) as (session, _):
        for _ in range(2):  # before its first turn and after it
            with pytest.raises(UnsupportedRequest):
                await session.get_context_usage()
            with pytest.raises(UnsupportedRequest):
                await session.add_server(ToolServer("calc"))
            with pytest.raises(UnsupportedRequest):
                await session.request(SideQuestion("Why?"))
            assert (await session.send("Hello")).ok


async def test_a_prompt_that_is_taken_into_the_running_turn_ends_with_it() -> None:
    wait = APIToolUse("Bash", {"command": "cat pipe && true", "description": "Wait"})
    replies = APIScript("Hello!", wait, default="Done.")
    async with real_session(NEWEST, replies, allowed_tools=["Bash"]) as (session, cage):
        os.mkfifo(cage.work / "pipe")
        await session.send("Hello")
        first = session.send("one")
        while not session.pid or not shells(session.pid):
            await anyio.lowlevel.checkpoint()
        second = session.send("two", priority="next")
        link = session._core.link
        assert link is not None
        await link.flush()
        await anyio.to_thread.run_sync((cage.work / "pipe").write_text, "go\n", "utf-8")
        assert (await first).ok
        assert (await second).ok
        assert (await session.send("three")).ok


@pytest.mark.parametrize(("version", "how"), [(OLDEST, "close"), (NEWEST, "kill")])
async def test_the_shell_of_a_tool_does_not_outlive_the_session(version: str, how: str) -> None:
    command = APIToolUse("Bash", {"command": "tail -f /dev/null", "description": "Wait"})
    with open_cage(version, [command]) as cage, anyio.fail_after(LONG):
        session = await Session(caged(cage, version, allowed_tools=["Bash"]))
        turn = session.send("Go")
        pid = session.pid
        assert pid is not None
        while not (left := shells(pid)):
            await anyio.lowlevel.checkpoint()
        wardens = [int(file.name) for file in (cage.folder / "wardens").iterdir()]
        for warden in wardens:  # they would end what is left, too
            os.kill(warden, signal.SIGSTOP)
        try:
            if how == "kill":
                os.kill(pid, signal.SIGKILL)
                with pytest.raises(CLIError):
                    await turn
            await session.close()
            assert [it for it in left if runs(it)] == []
        finally:
            for warden in wardens:
                os.kill(warden, signal.SIGCONT)


def shells(pid: int) -> list[int]:
    """The processes that lead a group of their own, and have started something."""
    table = process_table()
    family = descendants(pid, table)
    return [it.pid for it in family if it.group == it.pid and descendants(it.pid, table)]


def runs(pid: int) -> bool:
    found = process_table().get(pid)
    return found is not None and not found.is_dead


async def test_agents_reach_the_oldest() -> None:
    agents = {"reviewer": Agent(description="Reviews.", prompt="You are the reviewer.")}
    hand_over = APIToolUse(
        "Task", {"description": "Review", "prompt": "Review this.", "subagent_type": "reviewer"}
    )
    script = APIScript(default="Done.").on("Review this", "Fine.").on("Go on", hand_over, "Done.")
    async with real_session(OLDEST, script, agents=agents, allowed_tools=["Task"]) as (it, cage):
        assert (await it.send("Go on")).ok
        assert any("You are the reviewer." in str(turn.body["system"]) for turn in cage.turns)
