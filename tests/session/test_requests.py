"""Who answers what the CLI asks, and how one says no when nobody does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import SOME_CLI, opened, options

from claudewire.errors import CLIError
from claudewire.options import Agent, Options
from claudewire.people import Inbox, PermissionRequest, PermissionResult
from claudewire.policy import Policy
from claudewire.session import Session
from claudewire.session.pending_request import name_of
from claudewire.session.requests import people_of, refusal
from claudewire.wire import (
    AgentInfo,
    Answer,
    CanUseTool,
    DialogCancelled,
    Elicitation,
    ElicitationResult,
    Failure,
    HookCallback,
    Initialize,
    InitializeResult,
    McpMessage,
    McpResponse,
    PermissionResultDeny,
    Request,
    StopHookInput,
    UnknownRequest,
)
from claudewire.wire import RequestUserDialog as Dialog

pytestmark = pytest.mark.anyio


HOOK = StopHookInput()
CALL = McpMessage("calc", {"jsonrpc": "2.0", "id": 7, "method": "tools/list"})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (CanUseTool("Bash", {}), PermissionResultDeny(message="no")),
        (Elicitation("server", "your name?"), ElicitationResult("decline")),
        (Dialog("a dialog", {}), DialogCancelled()),
        (
            CALL,
            McpResponse({"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": "no"}}),
        ),
    ],
)
async def test_no_is_said_in_the_way_that_suits_the_request(body: Any, said: Any) -> None:
    assert refusal(Request(id="1", body=body), "no") == Answer("1", said)


async def test_each_option_that_decides_reaches_those_who_decide() -> None:
    given: dict[str, Any] = {
        name: lambda *_: None
        for name in ("on_permission", "on_question", "on_plan", "on_elicitation", "on_dialog")
    }
    given |= {"decide_within": 7.0, "tell_errors": True, "audit_contents": True}
    given |= {"policy": Policy(allow=["Read"]), "audit": lambda entry: None}
    given["person"] = lambda request: None
    inbox = Inbox()
    people = people_of(Options(**given), inbox)
    assert people.inbox is inbox
    given["deadline"] = given.pop("decide_within")
    assert {name: getattr(people, name) for name in given} == given


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (UnknownRequest({"subtype": "from_the_future"}), "from_the_future"),
        (HookCallback("hook_0", HOOK), "hook_callback"),
        (McpMessage("calc", {"jsonrpc": "2.0", "method": "notifications/x"}), "mcp_message"),
    ],
)
async def test_what_cannot_be_answered_is_an_error(body: Any, name: str) -> None:
    answer = refusal(Request(id="1", body=body))
    assert isinstance(answer, Failure)
    assert name in answer.error


@pytest.mark.parametrize(
    "body", [UnknownRequest({"subtype": "from_the_future"}), CALL, HookCallback("hook_9", HOOK)]
)
async def test_every_request_gets_an_answer_although_nobody_serves_it(
    body: Any, caplog: pytest.LogCaptureFixture
) -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        id = await peer.ask(body)
        await peer.hear(Answer if body is CALL else Failure)
        assert id not in peer.connection.asked
        await session.close()
    assert f"No handler is registered for {name_of(body)}" in caplog.text


@pytest.mark.parametrize("taken", [["reviewer"], [], None])
async def test_agents_that_the_cli_has_not_taken_are_an_error_of_the_start(
    taken: list[str] | None,
) -> None:
    peer = Peer()
    agents = {"reviewer": Agent(description="Reviews.", prompt="You review.")}
    given = options(cli=SOME_CLI, agents=agents)
    session = Session(given, transport=lambda launch: peer.transport)

    async def start() -> None:
        if taken != []:
            await session.start()
            return
        with pytest.raises(CLIError, match="has not taken the agents reviewer"):
            await session.start()

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(start)
            asked = await peer.hear_request(Initialize)
            listed = None if taken is None else [AgentInfo(name, "Reviews.") for name in taken]
            info = InitializeResult(claude_code_version="2.1.325", agents=listed)
            await peer.answer(asked, info)
        assert session.state == ("failed" if taken == [] else "ready")
        await session.close()


@pytest.mark.parametrize("cwd", [None, Path("/tmp")])
async def test_who_decides_knows_where_the_cli_works(cwd: Path | None) -> None:
    asked: list[PermissionRequest] = []

    async def note(request: PermissionRequest) -> PermissionResult:
        asked.append(request)
        return request.allow()

    peer = Peer()
    given = options(cli=SOME_CLI, cwd=cwd, on_permission=note)
    session = Session(given, transport=lambda launch: peer.transport)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.welcome)
            await session.start()
        await peer.ask(CanUseTool("Bash", {"command": "ls"}, tool_use_id="toolu_1"))
        await peer.hear(Answer)
        await session.close()
    assert [request.cwd for request in asked] == [None if cwd is None else "/tmp"]
