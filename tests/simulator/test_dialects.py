"""One scenario and one application, through all four dialects: the same events at the end."""

from __future__ import annotations

from typing import Any

import pytest
from tests.helpers.talk import Talk, bodies, calculator, hooks_say, only, program, said, told

from claudewire.simulator import ARGV, Chat, SimulatedCLI
from claudewire.wire import (
    Answer,
    AssistantMessage,
    CanUseTool,
    HookMatcher,
    HookOutput,
    McpMessage,
    PermissionResultAllow,
    PermissionResultDeny,
    Request,
    ResultMessage,
    SessionCreatedMessage,
    SetModel,
    SetPermissionMode,
    StreamEvent,
    ThinkingBlock,
    ToolUseBlock,
    UserMessage,
)

pytestmark = pytest.mark.anyio

DIALECTS = ["modern", "session", "legacy", "envelope"]

QUESTIONS = [
    {
        "question": "Which colour?",
        "header": "Colour",
        "options": [{"label": "Red", "description": ""}, {"label": "Green", "description": ""}],
        "multiSelect": False,
    },
    {
        "question": "Which sizes?",
        "header": "Sizes",
        "options": [{"label": "S", "description": ""}, {"label": "L", "description": ""}],
        "multiSelect": True,
    },
]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def play(chat: Chat) -> None:
    """The scenario."""
    if chat.text == "again":
        await chat.say("As you like.")
        return
    await chat.think("What do they want?")
    await chat.say("I'll see what I can do about it.")
    await chat.use("Bash", {"command": "make"}, run=lambda input: f"ran {input['command']}")
    await chat.use("Bash", {"command": "rm"}, result="gone")
    await chat.ask(QUESTIONS)
    outcome = await chat.call("calc", "add", {"a": 2, "b": 3})
    await chat.say(f"It is {outcome.text}.")


def decide(body: CanUseTool) -> PermissionResultAllow | PermissionResultDeny:
    if body.input.get("command") == "rm":
        return PermissionResultDeny("not that one")
    if body.tool_name == "AskUserQuestion":
        answers = {"Which colour?": "Green", "Which sizes?": "S, L"}
        return PermissionResultAllow({**body.input, "answers": answers})
    if body.input.get("command") == "make":
        return PermissionResultAllow({"command": "make test"})
    return PermissionResultAllow(body.input)


async def run(client: str, cli: str) -> Talk:
    """The application."""
    serve: dict[type, Any] = {
        CanUseTool: decide,
        McpMessage: calculator,
        **hooks_say(hook_0=HookOutput()),
    }
    simulated = SimulatedCLI(play, argv=["--include-partial-messages"], dialect=cli)
    talk = Talk(simulated, serve, dialect=client)
    hooks = {"PreToolUse": [HookMatcher(["hook_0"], matcher="Bash")]}
    await talk.initialize(hooks=hooks, sdk_mcp_servers=["calc"])
    await talk.turn("hello")
    for body in (SetModel("opus"), SetPermissionMode("plan")):
        assert isinstance(await talk.ask(body), Answer)
    await talk.turn("again")
    assert await talk.end() == 0
    return talk


def essence(event: Any) -> Any:
    """What an event says, without what is different each time."""
    if isinstance(event, AssistantMessage):
        return [(it.name, it.input) if isinstance(it, ToolUseBlock) else it for it in event.content]
    if isinstance(event, UserMessage):
        # A list of choices, which one dialect has, is joined without a space.
        return [text.replace("S, L", "S,L") for text in told([event])]
    if isinstance(event, StreamEvent):
        return type(event.event).__name__, event.text
    if isinstance(event, ResultMessage):
        denied = [it.tool_name for it in event.permission_denials or ()]
        return event.subtype, event.is_error, event.result, event.num_turns, event.usage, denied
    if isinstance(event, Request):
        input = event.body.input if isinstance(event.body, CanUseTool) else None
        return type(event.body).__name__, input
    if isinstance(event, Answer):
        return event.body
    return None


def story(talk: Talk) -> list[Any]:
    return [
        (type(event).__name__, essence(event))
        for event in talk.heard
        if not isinstance(event, SessionCreatedMessage)
    ]


def types(lines: list[dict[str, Any]]) -> set[str]:
    return {line["type"] for line in lines if "type" in line}


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_application_cannot_tell_which_dialect_is_spoken(dialect: str) -> None:
    talk = await run(dialect, dialect)
    assert all(event.problems == () for event in talk.heard)
    assert story(talk) == story(await run("modern", "modern"))
    assert said(talk.heard) == ["I'll see what I can do about it.", "It is 5.", "As you like."]
    rest = told(talk.heard)
    assert rest[0] == "ran make test"
    assert rest[1] == "not that one"
    assert '"Which colour?"="Green"' in rest[2]
    assert rest[3] == "5"


@pytest.mark.parametrize("dialect", ["modern", "session", "legacy"])
async def test_a_cli_that_may_choose_speaks_as_it_is_spoken_to(dialect: str) -> None:
    talk = await run(dialect, "auto")
    explicit = await run(dialect, dialect)
    assert story(talk) == story(explicit)
    assert types([it.raw for it in talk.heard]) == types([it.raw for it in explicit.heard])


async def test_the_modern_forms() -> None:
    talk = await run("modern", "modern")
    assert types(talk.wrote) == {"user", "control_request", "control_response"}
    asked = next(it for it in only(talk.heard, Request) if isinstance(it.body, CanUseTool))
    assert asked.raw["type"] == "control_request"
    assert asked.raw["request"]["subtype"] == "can_use_tool"
    assert asked.raw["request_id"] == asked.id
    thought = only(talk.heard, AssistantMessage)[0]
    assert isinstance(thought.content[0], ThinkingBlock)
    assert thought.raw["message"]["role"] == "assistant"


async def test_the_forms_of_the_session_dialect() -> None:
    talk = await run("session", "session")
    prompts = [it["type"] for it in talk.wrote if it["type"].startswith("session.")]
    assert prompts == ["session.create", "session.send"]
    assert len(only(talk.heard, SessionCreatedMessage)) == 1
    asked = next(it for it in only(talk.heard, Request) if isinstance(it.body, CanUseTool))
    assert asked.raw["type"] == "callback.request"
    answer = next(it for it in talk.wrote if it["type"] == "callback.response")
    assert answer["response"]["response"]["updated_input"] == {"command": "make test"}
    result = only(talk.heard, ResultMessage)[0]
    assert {"turn_count", "duration_seconds"} <= result.raw.keys()
    assert "role" not in only(talk.heard, AssistantMessage)[0].raw["message"]


async def test_the_forms_of_the_legacy_dialect() -> None:
    talk = await run("legacy", "legacy")
    opening = talk.wrote[0]
    assert "request_id" not in opening
    assert opening["request"]["hooks"]["PreToolUse"][0]["hook_callback_ids"] == ["hook_0"]
    asked = next(it for it in only(talk.heard, Request) if isinstance(it.body, CanUseTool))
    assert asked.raw["type"] == "sdk_control_request"
    assert asked.raw["request"]["subtype"] == "permission"
    assert asked.raw["request"]["tool_input"] == {"command": "make"}
    assert {it.raw["type"] for it in only(talk.heard, StreamEvent)} == {"stream"}
    assert {"delta", "tool_use_start"} <= {it.raw["event"] for it in only(talk.heard, StreamEvent)}
    result = only(talk.heard, ResultMessage)[0]
    assert "total_input_tokens" in result.raw
    assert "subtype" not in result.raw


async def test_the_forms_of_the_envelope_dialect() -> None:
    talk = await run("envelope", "envelope")
    asked = next(it for it in only(talk.heard, Request) if isinstance(it.body, CanUseTool))
    assert asked.raw["message"]["request"]["subtype"] == "can_use_tool"
    assert all("delta" in it.raw for it in only(talk.heard, StreamEvent))
    inputs = [
        it["response"]["response"]["updatedInput"]
        for it in talk.wrote
        if "answers" in it.get("response", {}).get("response", {}).get("updatedInput", ())
    ]
    assert inputs == [{"answers": {"0": "Green", "1": ["S", "L"]}}]
    assert len(bodies(talk.heard, CanUseTool)) == 4


async def test_in_the_program_the_environment_chooses_the_dialect() -> None:
    async with program(*ARGV, env={"CLAUDEWIRE_SIM_DIALECT": "session"}) as process:
        talk = Talk(process, dialect="session")
        await talk.turn("hello")
        assert len(only(talk.heard, SessionCreatedMessage)) == 1
        assert await talk.end() == 0
