"""Who answers what the CLI asks, and how one says no when nobody does."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import opened

from claudewire.session.requests import refusal
from claudewire.wire import (
    Answer,
    CanUseTool,
    DialogCancelled,
    Elicitation,
    ElicitationResult,
    Failure,
    HookCallback,
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
    ("body", "kind"),
    [
        (CanUseTool("Bash", {}), PermissionResultDeny),
        (Elicitation("server", "your name?"), ElicitationResult),
        (Dialog("a dialog", {}), DialogCancelled),
        (CALL, McpResponse),
    ],
)
async def test_no_is_said_in_the_way_that_suits_the_request(body: Any, kind: type[Any]) -> None:
    answer = refusal(Request(id="1", body=body))
    assert isinstance(answer, Answer)
    assert isinstance(answer.body, kind)


async def test_a_call_of_an_mcp_server_is_refused_under_its_own_id() -> None:
    answer = refusal(Request(id="1", body=CALL))
    assert isinstance(answer, Answer)
    assert answer.body.mcp_response["id"] == 7
    assert "error" in answer.body.mcp_response


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
async def test_every_request_gets_an_answer_although_nobody_serves_it(body: Any) -> None:
    peer = Peer()
    session = await opened(peer)
    with anyio.fail_after(SOON):
        id = await peer.ask(body)
        await peer.hear(Answer if body is CALL else Failure)
        assert id not in peer.connection.asked
        await session.close()
