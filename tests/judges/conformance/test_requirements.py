"""Requirements of the documents that no independent program can show."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from tests.helpers.peer import SOON
from tests.helpers.real_clis import NEWEST, real_cli
from tests.helpers.sessions import options
from tests.helpers.talk import Talk, calculator, told, tool_results
from tests.judges.conformance.talk import EXAMPLES
from tests.judges.real.sessions import LONG, caged, open_cage
from trio.testing import MockClock

import claudewire
from claudewire.hooks import Hook, Hooks
from claudewire.session import Session
from claudewire.simulator import Chat, SimulatedCLI
from claudewire.testing.cage.cage import FAKE_KEY
from claudewire.tools import ToolServer
from claudewire.wire import (
    Answer,
    APIMessage,
    AssistantMessage,
    CanUseTool,
    CompactBoundaryMessage,
    Connection,
    ErrorInfo,
    ErrorMessage,
    Initialize,
    InitializeResult,
    InitMessage,
    Interrupt,
    InterruptResult,
    McpMessage,
    Request,
    ResultMessage,
    Role,
    SessionCreatedMessage,
    TextBlock,
    ToolResultBlock,
    UnknownMessage,
    UserMessage,
)

pytestmark = pytest.mark.anyio

once = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@pytest.mark.shows("000-74")
def test_initialize_may_hold_only_its_subtype() -> None:
    client = Connection(Role.CLIENT, dialect="modern")
    written = client.send(Request(id="init-1", body=Initialize()))
    assert json.loads(written) == EXAMPLES["000-ex-13"]


@pytest.mark.shows("000-81")
def test_line_wrapped_in_sdk_message_is_unknown() -> None:
    wrapped = {"type": "sdk.message", "message": EXAMPLES["000-ex-10"]}
    client = Connection(Role.CLIENT, dialect="modern")
    (heard,) = client.receive_data(json.dumps(wrapped).encode() + b"\n")
    assert heard == UnknownMessage(data=wrapped)


@pytest.mark.shows("001-62")
def test_cli_of_001_writes_eight_types_of_lines() -> None:
    cli = Connection(Role.CLI, dialect="session")
    client = Connection(Role.CLIENT, dialect="session")
    for id, body in (("1", Initialize()), ("2", Interrupt())):
        cli.receive_data(client.send(Request(id=id, body=body)))
    events = [
        Answer("1", InitializeResult()),
        Answer("2", InterruptResult()),
        SessionCreatedMessage(session_id="session-uuid"),
        InitMessage(),
        CompactBoundaryMessage(),
        AssistantMessage(message=APIMessage("assistant", [TextBlock("Hello!")])),
        UserMessage.of([ToolResultBlock("t", "Command output...")]),
        ResultMessage(subtype="success"),
        Request(id="cb-1", body=CanUseTool("Bash", {"command": "ls"})),
        ErrorMessage(error=ErrorInfo("SESSION_NOT_FOUND", "Session not found")),
    ]
    assert {json.loads(cli.send(event))["type"] for event in events} == {
        "control_response",
        "session.created",
        "system",
        "assistant",
        "user",
        "result",
        "callback.request",
        "error",
    }


@pytest.mark.shows("002-11")
@pytest.mark.real_cli
@once
async def test_each_source_of_settings_has_its_own_file() -> None:
    files = {"user": "settings.json", "project": "settings.json", "local": "settings.local.json"}
    tools = {"user": "Write", "project": "Edit", "local": "Read"}  # denied by that file
    with anyio.fail_after(LONG), open_cage(NEWEST) as cage:
        for source, name in files.items():
            folder = cage.config if source == "user" else cage.work / ".claude"
            folder.mkdir(exist_ok=True)
            rules = {"permissions": {"deny": [tools[source]]}}
            (folder / name).write_text(json.dumps(rules), encoding="utf-8")
        for sources in ([], ["user"], ["project"], ["local"], ["user", "local"]):
            options = caged(cage, NEWEST, setting_sources=sources)
            async with claudewire.open(options) as session:
                assert (await session.send("hello")).ok
        missing = [{it for it in tools.values() if it not in turn.tools} for turn in cage.turns]
    assert missing == [set(), {"Write"}, {"Edit"}, {"Read"}, {"Write", "Read"}]


@pytest.mark.shows("002-51", "002-52")
@pytest.mark.real_cli
@once
async def test_cli_uses_a_key_or_a_token_and_needs_one() -> None:
    """All of them are made up, and nothing leaves the machine."""
    headers: list[dict[str, str]] = []
    failures: list[str] = []
    given: list[dict[str, str]] = [
        {"ANTHROPIC_API_KEY": FAKE_KEY},
        {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "made-up"},
        {"ANTHROPIC_API_KEY": ""},
    ]
    for env in given:
        with anyio.fail_after(LONG), open_cage(NEWEST) as cage:
            words = [f"{name}={value}" for name, value in env.items()]
            command = cage.command(["/usr/bin/env", *words, str(real_cli(NEWEST))])
            async with claudewire.open(cli=command) as session:
                reply = await session.send("hello")
            headers += [turn.headers for turn in cage.turns[:1]]
            failures += [] if reply.ok else [reply.text]
    with_key, with_token = headers
    assert ("x-api-key" in with_key, "authorization" in with_key) == (True, False)
    assert ("x-api-key" in with_token, "authorization" in with_token) == (False, True)
    assert len(failures) == 1
    assert "login" in failures[0]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def work(chat: Chat) -> None:
    await chat.use("Bash", {"command": "make"}, result="made")
    await chat.call("calculator", "add", {"a": 1, "b": 2})
    await chat.say("Done.")


@pytest.mark.shows("002-27")
@pytest.mark.parametrize(
    ("matcher", "tools"),
    [
        ("*", ["Bash", "mcp__calculator__add"]),
        ("Bash", ["Bash"]),
        ("mcp__calculator__*", ["mcp__calculator__add"]),
        ("Edit", []),
    ],
)
async def test_hook_is_called_for_the_tools_of_its_matcher(matcher: str, tools: list[str]) -> None:
    called: list[str] = []
    given: dict[str, Any] = {
        "mcp_servers": [ToolServer("calculator", [add])],
        "on_permission": lambda request: request.allow(),
        "hooks": Hooks.of({"PreToolUse": Hook(lambda it: called.append(it.tool_name), matcher)}),
    }
    cli = SimulatedCLI(work, dialect="legacy")
    with anyio.fail_after(SOON):
        async with Session(options(dialect="legacy", **given), transport=cli) as session:
            await session.send("Go on.")
    assert called == tools


@pytest.mark.shows("002-43")
@pytest.mark.parametrize(
    "anyio_backend", [("trio", {"clock": MockClock(autojump_threshold=0)})], ids=["jumping"]
)
@pytest.mark.parametrize("wrapped", [True, False])
async def test_answer_without_its_wrapper_times_out_after_60_seconds(wrapped: bool) -> None:
    async def play(chat: Chat) -> None:
        await chat.call("calc", "add", {"a": 2, "b": 3})

    cli = SimulatedCLI(play, argv=["--allowed-tools", "mcp__calc"], dialect="legacy")
    talk = Talk(cli, {McpMessage: calculator}, dialect="legacy", patience=3600.0)
    await talk.initialize(sdk_mcp_servers=["calc"])
    await talk.until(lambda it: it.raw.get("request", {}).get("message", {}).get("id") == 1, 0)
    del talk.serve[McpMessage]
    await talk.say(UserMessage.of("go"))
    id, call = await talk.request(McpMessage)
    response = calculator(call).mcp_response
    answer = {"mcp_response": response} if wrapped else response
    inner = {"subtype": "success", "request_id": id, "response": answer}
    asked_at = anyio.current_time()
    await talk.write(json.dumps({"type": "control_response", "response": inner}).encode())
    turn = await talk.until_result()
    waited = anyio.current_time() - asked_at
    (result,) = tool_results(turn)
    assert waited == pytest.approx(0 if wrapped else 60, abs=0.01)
    assert bool(result.is_error) is not wrapped
    assert (told(turn) == ["5"]) is wrapped
