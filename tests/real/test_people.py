"""What a person decides, and what a real CLI and its model make of it."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.real_clis import NEWEST, real_cli, why_not
from tests.people.driving import Host

from claudewire.people import (
    ElicitationRequest,
    People,
    PlanRequest,
)
from claudewire.simulator import ARGV
from claudewire.testing.api import APIScript, APIToolUse
from claudewire.testing.cage import Cage

from .process import started

pytestmark = [pytest.mark.anyio, pytest.mark.real]

VERSIONS = ["2.1.17", NEWEST]


@asynccontextmanager
async def running(cage: Cage, version: str, people: People, *flags: str) -> AsyncIterator[Host]:
    async with started(cage.command([real_cli(version), *ARGV, *flags])) as process:
        host = Host(process, people)
        await host.open()
        yield host
        await host.end()


# --- permissions ---------------------------------------------------------------------------------


# --- questions -----------------------------------------------------------------------------------


# --- plans ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_plan_comes_with_its_text(version: str) -> None:
    """The CLI has it in a file of its own, which it tells the model of."""
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    seen: list[PlanRequest] = []

    def decide(request: PlanRequest) -> Any:
        seen.append(request)
        changed = "# Tidy up\nCarefully.\n" if request.file else None
        return request.approve(plan=changed)

    replies: list[str | APIToolUse] = ["I am thinking.", APIToolUse("ExitPlanMode", {}), "Done."]
    with Cage(APIScript.of(replies)) as cage:
        people = People(on_plan=decide)
        async with running(cage, version, people, "--permission-mode=plan") as host:
            await host.turn()
            name = json.dumps(cage.turns[0].body).partition("/plans/")[2].partition(".md")[0]
            folder = cage.config / "plans"
            folder.mkdir(exist_ok=True)
            (folder / f"{name}.md").write_text("# Tidy up\n", encoding="utf-8")
            await host.turn()
        (told,) = cage.turns[-1].tool_results
        assert ("Carefully." in str(told)) is (seen[0].file is not None)
    assert [request.plan for request in seen] == ["# Tidy up\n"]
    assert (seen[0].file is not None) is (version == NEWEST)


# --- elicitation ---------------------------------------------------------------------------------

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
)
async def test_an_mcp_server_is_answered(answer: Any, told: dict[str, Any], tmp_path: Path) -> None:
    asked: list[ElicitationRequest] = []

    def fill_in(request: ElicitationRequest) -> Any:
        asked.append(request)
        return answer(request)

    if (reason := why_not(NEWEST)) is not None:
        pytest.skip(reason)
    use = APIToolUse("mcp__crm__greet", {})
    with Cage(APIScript.of([use, "Done."])) as cage:
        script = cage.work / "server.py"
        script.write_text(SERVER, encoding="utf-8")
        config = {"mcpServers": {"crm": {"command": sys.executable, "args": [str(script)]}}}
        flags = (f"--mcp-config={json.dumps(config)}", "--allowedTools=mcp__crm__greet")
        async with running(cage, NEWEST, People(on_elicitation=fill_in), *flags) as host:
            await host.turn()
        (result,) = cage.turns[-1].tool_results
    (request,) = asked
    assert (request.server, request.message) == ("crm", "Who?")
    assert [(field.name, field.required) for field in request.form.fields] == [("name", True)]
    assert json.loads(result["content"][0]["text"]) == told
