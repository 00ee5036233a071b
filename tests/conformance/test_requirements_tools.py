"""What the documents demand of a host that has tools and hooks, as a whole session shows it."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from tests.helpers.peer import SOON, Through
from tests.helpers.sessions import options

from claudewire.hooks import Hook, Hooks
from claudewire.session import Session
from claudewire.testing import Chat, SimulatedCLI
from claudewire.tools import ToolError, ToolServer

pytestmark = pytest.mark.anyio

DIALECTS = ["legacy", "modern"]


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def divide(a: int, b: int) -> float:
    """Divide a number by another."""
    if b == 0:
        raise ToolError("Division by zero")
    return a / b


CALCULATOR = ToolServer("calculator", [add, divide], version="1.2.3")


class Tap(Through):
    """Notes the answers of the host to messages for its servers, as they are written."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.requests: dict[str, dict[str, Any]] = {}
        self.exchanges: list[tuple[dict[str, Any], dict[str, Any]]] = []

    async def receive(self) -> bytes:
        data = await super().receive()
        for line in map(json.loads, data.splitlines()):
            body = line.get("request", {})
            if body.get("subtype") == "mcp_message":
                id = line.get("request_id") or body["request_id"]
                self.requests[id] = body["message"]
        return data

    async def send(self, data: bytes) -> None:
        for line in map(json.loads, data.splitlines()):
            body = line.get("response", {})
            if (message := self.requests.get(body.get("request_id"))) is not None:
                assert body["subtype"] == "success"
                self.exchanges.append((message, body["response"]["mcp_response"]))
        await super().send(data)

    def answer(self, method: str) -> dict[str, Any]:
        """What the host has answered to the last message of this kind."""
        return [given for asked, given in self.exchanges if asked["method"] == method][-1]


async def played(scenario: Any, dialect: str, **given: Any) -> tuple[str, Tap]:
    """What the model says at the end of a turn, and what was answered."""
    tap = Tap(SimulatedCLI(scenario, dialect=dialect))
    session = Session(options(dialect=dialect, **given), transport=tap)
    with anyio.fail_after(SOON):
        async with session:
            reply = await session.send("Go on.")
    return reply.text, tap


def calling(tool: str, a: Any, b: Any) -> Any:
    async def call(chat: Chat) -> None:
        outcome = await chat.call("calculator", tool, {"a": a, "b": b})
        await chat.say(f"{'! ' if outcome.is_error else ''}{outcome.text}")

    return call


def allow(request: Any) -> Any:
    return request.allow()


GIVEN = {"mcp_servers": [CALCULATOR], "on_permission": allow}


@pytest.mark.shows("002-39")
async def test_the_tool_is_run_and_its_result_is_the_answer(dialect: str) -> None:
    words, tap = await played(calling("add", 3, 4), dialect, **GIVEN)
    assert words == "7"
    asked, _ = tap.exchanges[-1]
    assert asked["method"] == "tools/call"
    assert tap.answer("tools/call") == {
        "jsonrpc": "2.0",
        "id": asked["id"],
        "result": {"content": [{"type": "text", "text": "7"}], "isError": False},
    }


@pytest.mark.shows("002-47")
async def test_a_server_answers_the_handshake_by_itself(dialect: str) -> None:
    _, tap = await played(calling("add", 3, 4), dialect, **GIVEN)
    asked, answer = tap.exchanges[0]
    assert asked["method"] == "initialize"
    assert answer["id"] == asked["id"]
    assert answer["result"]["protocolVersion"] == asked["params"]["protocolVersion"]
    assert answer["result"]["serverInfo"] == {"name": "calculator", "version": "1.2.3"}
    assert "tools" in answer["result"]["capabilities"]


@pytest.mark.shows("002-50")
async def test_a_server_takes_note_and_lists_its_tools(dialect: str) -> None:
    _, tap = await played(calling("add", 3, 4), dialect, **GIVEN)
    methods = [asked["method"] for asked, _ in tap.exchanges]
    assert methods[:3] == ["initialize", "notifications/initialized", "tools/list"]
    assert "error" not in tap.answer("notifications/initialized")
    listed = tap.answer("tools/list")["result"]["tools"]
    assert [(tool["name"], tool["description"]) for tool in listed] == [
        ("add", "Add two numbers."),
        ("divide", "Divide a number by another."),
    ]
    assert all(tool["inputSchema"]["required"] == ["a", "b"] for tool in listed)


@pytest.mark.shows("002-58")
@pytest.mark.parametrize(
    ("b", "reason"), [(0, "Division by zero"), ("no", "Invalid arguments for divide")]
)
async def test_a_tool_that_fails_is_a_result_that_is_an_error(
    dialect: str, b: Any, reason: str
) -> None:
    words, tap = await played(calling("divide", 1, b), dialect, **GIVEN)
    answer = tap.answer("tools/call")
    assert answer["result"]["isError"] is True
    assert reason in answer["result"]["content"][0]["text"]
    assert "error" not in answer
    assert words.startswith(f"! {reason}")


@pytest.mark.shows("002-58")
async def test_an_exception_of_a_tool_is_a_result_that_is_an_error(dialect: str) -> None:
    def broken() -> None:
        raise RuntimeError("out of ink")

    given = {**GIVEN, "mcp_servers": [ToolServer("calculator", [broken])]}

    async def call(chat: Chat) -> None:
        await chat.call("calculator", "broken", {})

    _, tap = await played(call, dialect, **given)
    result = tap.answer("tools/call")["result"]
    assert result == {
        "content": [{"type": "text", "text": "The tool failed: out of ink"}],
        "isError": True,
    }


async def work(chat: Chat) -> None:
    await chat.use("Bash", {"command": "make"}, result="made")
    await chat.call("calculator", "add", {"a": 1, "b": 2})
    await chat.say("Done.")


@pytest.mark.shows("002-26")
async def test_hooks_are_called_at_their_events(dialect: str) -> None:
    called: list[str] = []

    def note(event: object) -> None:
        called.append(type(event).__name__.removesuffix("HookInput"))

    events = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
    await played(work, dialect, hooks=Hooks.of(dict.fromkeys(events, note)), **GIVEN)
    use = ["PreToolUse", "PostToolUse"]
    assert called == ["UserPromptSubmit", *use, *use, "Stop"]


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
async def test_a_matcher_says_for_which_tools_a_hook_is_called(
    dialect: str, matcher: str, tools: list[str]
) -> None:
    called: list[str] = []
    hook = Hook(lambda event: called.append(event.tool_name), matcher)
    await played(work, dialect, hooks=Hooks.of({"PreToolUse": hook}), **GIVEN)
    assert called == tools
