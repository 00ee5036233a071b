"""Requests of the CLI without a handler are refused; handlers get the facts of the session."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import SOME_CLI, connected, options, start_with

from claudewire.approvals import Inbox, PermissionRequest, PermissionResult
from claudewire.errors import CLIError
from claudewire.options import Agent, Options
from claudewire.policy import Policy
from claudewire.session import Session
from claudewire.session.link import name_of
from claudewire.session.requests import approvers_of
from claudewire.wire import (
    AgentInfo,
    Answer,
    CanUseTool,
    Failure,
    HookCallback,
    InitializeResult,
    StopHookInput,
    UnknownRequest,
)

pytestmark = pytest.mark.anyio


HOOK = StopHookInput()


async def test_options_of_decisions_reach_the_approvers() -> None:
    given: dict[str, Any] = {
        name: lambda *_: None
        for name in ("on_permission", "on_question", "on_plan", "on_elicitation", "on_dialog")
    }
    given |= {"decide_within": 7.0, "tell_errors": True, "audit_contents": True}
    given |= {"policy": Policy(allow=["Read"]), "audit": lambda entry: None}
    given["approver"] = lambda request: None
    inbox = Inbox()
    people = approvers_of(Options(**given), inbox)
    assert people.inbox is inbox
    given["deadline"] = given.pop("decide_within")
    assert {name: getattr(people, name) for name in given} == given


@pytest.mark.parametrize(
    "body", [UnknownRequest({"subtype": "from_the_future"}), HookCallback("hook_9", HOOK)]
)
async def test_request_without_a_handler_is_refused(
    body: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected() as (_, peer):
        id = await peer.ask(body)
        await peer.hear(Failure)
        assert id not in peer.connection.asked
    assert f"No handler is registered for {name_of(body)}" in caplog.text


@pytest.mark.parametrize("taken", [["reviewer"], []])
async def test_agents_that_the_cli_dropped_fail_the_start(taken: list[str]) -> None:
    peer = Peer()
    refusal = pytest.raises(CLIError, match="has not taken the agents reviewer")
    agents = {"reviewer": Agent(description="Reviews.", prompt="You review.")}
    given = options(cli=SOME_CLI, agents=agents)
    session = Session(given, transport=lambda launch: peer.transport)

    listed = [AgentInfo(name, "Reviews.") for name in taken]
    info = InitializeResult(claude_code_version="2.1.325", agents=listed)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.welcome, info)
            with refusal if taken == [] else nullcontext():
                await session.start()
        assert session.state == ("failed" if taken == [] else "ready")
        await session.close()


@pytest.mark.parametrize("cwd", [None, Path("/tmp")])
async def test_permission_request_has_the_working_directory(cwd: Path | None) -> None:
    asked: list[PermissionRequest] = []

    async def note(request: PermissionRequest) -> PermissionResult:
        asked.append(request)
        return request.allow()

    peer = Peer()
    given = options(cli=SOME_CLI, cwd=cwd, on_permission=note)
    session = Session(given, transport=lambda launch: peer.transport)
    with anyio.fail_after(SOON):
        await start_with(session, peer)
        await peer.ask(CanUseTool("Bash", {"command": "ls"}, tool_use_id="toolu_1"))
        await peer.hear(Answer)
        await session.close()
    assert [request.cwd for request in asked] == [None if cwd is None else "/tmp"]
