"""The answers of people, as real CLIs and their models get them."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from tests.helpers.real_clis import NEWEST

from claudewire.approvals import ElicitationRequest
from claudewire.testing.api import APIToolUse

from .sessions import real_session

pytestmark = [pytest.mark.anyio, pytest.mark.real]

SERVER = """
import json, sys

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        facts = {"capabilities": {"tools": {}}, "serverInfo": {"name": "crm", "version": "1"}}
        say(id=id, result={"protocolVersion": version, **facts})
    elif method == "tools/list":
        say(id=id, result={"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        called = id
        asked = {"message": "Who?", "requestedSchema": schema}
        say(id=99, method="elicitation/create", params=asked)
    elif id == 99:
        text = json.dumps(message.get("result") or message.get("error"))
        say(id=called, result={"content": [{"type": "text", "text": text}]})
    elif id is not None:
        say(id=id, result={})
"""


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda it: it.accept({"name": "Ada"}), {"action": "accept", "content": {"name": "Ada"}}),
        (lambda it: it.decline(), {"action": "decline"}),
        (lambda it: it.cancel(), {"action": "cancel"}),
    ],
    ids=["accept", "decline", "cancel"],
)
async def test_mcp_server_gets_the_answer_to_its_form(answer: Any, told: Any) -> None:
    asked: list[ElicitationRequest] = []

    def fill_in(request: ElicitationRequest) -> Any:
        asked.append(request)
        return answer(request)

    options = {
        "mcp_servers": {"crm": {"command": sys.executable, "args": ["-c", SERVER]}},
        "allowed_tools": ["mcp__crm__greet"],
        "on_elicitation": fill_in,
    }
    replies = [APIToolUse("mcp__crm__greet", {})]
    async with real_session(NEWEST, replies, **options) as (session, cage):
        await session.ask("Go on.")
    (request,) = asked
    assert (request.server, request.message) == ("crm", "Who?")
    assert [(field.name, field.required) for field in request.form.fields] == [("name", True)]
    (result,) = cage.turns[-1].tool_results
    assert json.loads(result["content"][0]["text"]) == told
