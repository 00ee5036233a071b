"""One scenario and one application, through all four dialects: the same events at the end."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.helpers.clock import simulated_time
from tests.helpers.processes import PATIENCE
from tests.helpers.talk import Talk, bodies, calculator, hooks_say, only, program, said, told

import claudewire
from claudewire import sync
from claudewire.simulator import ARGV, Chat, Scenario, SimulatedCLI
from claudewire.testing import SimulatedProgramFactory
from claudewire.wire import (
    Answer,
    AssistantMessage,
    CanUseTool,
    ErrorMessage,
    HookMatcher,
    HookOutput,
    InitMessage,
    McpMessage,
    PermissionResultAllow,
    PermissionResultDeny,
    Request,
    ResultMessage,
    SessionCreatedMessage,
    SetModel,
    SetPermissionMode,
    StreamEvent,
    SystemMessage,
    ThinkingBlock,
    ToolUseBlock,
    UserMessage,
)

pytestmark = pytest.mark.anyio

DIALECTS = ["modern", "session", "legacy", "envelope"]
AN_HOUR = 3600.0

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


async def run(client: str, cli: str, **more: Any) -> Talk:
    """The application."""
    serve: dict[type, Any] = {
        CanUseTool: decide,
        McpMessage: calculator,
        **hooks_say(hook_0=HookOutput()),
    }
    simulated = SimulatedCLI(play, argv=["--include-partial-messages"], dialect=cli, **more)
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
    """What happened, without what not every dialect has: notices, echoes, all parts of a stream."""
    return [
        (type(event).__name__, essence(event))
        for event in talk.heard
        if not isinstance(event, SystemMessage | SessionCreatedMessage)
        and not (isinstance(event, UserMessage) and not told([event]))
        and not (isinstance(event, StreamEvent) and not event.text)
    ]


def types(lines: list[dict[str, Any]]) -> set[str]:
    return {line["type"] for line in lines if "type" in line}


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_application_cannot_tell_which_dialect_is_spoken(dialect: str) -> None:
    talk = await run(dialect, dialect)
    assert all(event.problems == () for event in talk.heard)
    expected = story(await run("modern", "modern"))
    if dialect == "envelope":  # which has no results
        expected = [it for it in expected if it[0] != "ResultMessage"]
    assert story(talk) == expected
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


# --- what a CLI of another dialect does differently -----------------------------------------------


async def alone(dialect: str, scenario: Scenario, *argv: str) -> Talk:
    """One turn with a CLI that nobody has initialized."""
    allow: dict[type, Any] = {CanUseTool: lambda body: PermissionResultAllow(body.input)}
    talk = Talk(SimulatedCLI(scenario, argv=argv, dialect=dialect), allow, dialect=dialect)
    await talk.turn("hello")
    return talk


async def use_a_tool(chat: Chat) -> None:
    await chat.use("Bash", {"command": "ls"}, result="a file")
    await chat.use("Edit", {"file_path": "a"}, result="changed")
    await chat.think("What now?")
    await chat.say("That is all of it, in many small pieces.")


async def test_the_session_dialect_describes_the_session_once_before_the_first_prompt() -> None:
    async def answer(chat: Chat) -> None:
        await chat.say("Yes.")

    talk = Talk(SimulatedCLI(answer, dialect="session"), {}, dialect="session")
    await talk.initialize()
    await talk.until(lambda it: isinstance(it, InitMessage), since=0)
    (init,) = only(talk.heard, InitMessage)
    assert {"name": "Bash", "description": "Simulates Bash"} in init.raw["tools"]
    await talk.turn("one")
    await talk.turn("two")
    assert only(talk.heard, InitMessage) == [init]


async def test_the_session_dialect_has_no_other_notices_and_short_suggestions() -> None:
    talk = await alone("session", use_a_tool)
    assert [type(it) for it in only(talk.heard, SystemMessage)] == [InitMessage]
    suggested = [it.raw["request"]["permission_suggestions"] for it in only(talk.heard, Request)]
    assert suggested == [
        [{"type": "bash", "action": "allow", "pattern": "ls", "scope": "session"}],
        [{"type": "edit", "action": "allow", "pattern": "a", "scope": "session"}],
    ]


async def test_the_legacy_dialect_streams_deltas_and_tools_unasked() -> None:
    talk = await alone("legacy", use_a_tool)
    events = {it.raw["event"] for it in only(talk.heard, StreamEvent)}
    assert events == {"delta", "tool_use_start"}


async def test_the_envelope_dialect_echoes_streams_text_hints_and_says_when_it_stops() -> None:
    talk = await alone("envelope", use_a_tool)
    assert only(talk.heard, SystemMessage) == []
    assert only(talk.heard, UserMessage)[0].text == "hello"
    assert {it.raw["delta"]["delta"]["type"] for it in only(talk.heard, StreamEvent)} == {
        "text_delta"
    }
    hints = [
        it.raw["message"]["request"]["permission_suggestions"] for it in only(talk.heard, Request)
    ]
    assert hints[0] == [{"behavior": "allow", "message": "Let Bash run"}]
    stops = [it.raw["message"].get("stop_reason") for it in only(talk.heard, AssistantMessage)]
    assert stops[:-1] == [None] * (len(stops) - 1)
    assert stops[-1] == "end_turn"
    assert await talk.end() == 0
    assert isinstance(talk.heard[-2], AssistantMessage)  # and no result
    assert only(talk.heard, ResultMessage) == []


@pytest.mark.parametrize("dialect", ["envelope", "auto"])
async def test_a_session_has_turns_and_interrupts_with_a_cli_that_sends_no_results(
    dialect: str,
) -> None:
    async def play(chat: Chat) -> None:
        if chat.text == "wait":
            await chat.say("I wait.")
            await chat.sleep(AN_HOUR)
        await use_a_tool(chat)

    cli = SimulatedCLI(play, dialect="envelope")
    options: dict[str, Any] = {"dialect": dialect, "on_permission": lambda it: it.allow()}
    with anyio.fail_after(PATIENCE):
        async with claudewire.open(transport=cli, **options) as session:
            for _ in range(2):
                reply = await session.send("hello")
                assert (reply.ok, reply.result.line) == (True, b"")  # made by the session
                assert reply.text == "That is all of it, in many small pieces."
            turn = session.send("wait")
            await turn.started.wait()
            await session.interrupt()
            assert not (await turn).ok
            assert (await session.send("hello")).ok


@pytest.mark.parametrize("cli", ["simulated", "program"])
def test_a_synchronous_session_has_turns_with_a_cli_that_sends_no_results(
    cli: str, claudewire_sim: SimulatedProgramFactory
) -> None:
    program = cli if cli == "simulated" else claudewire_sim(dialect="envelope")
    with sync.open(cli=program, dialect="envelope") as session:
        for _ in range(2):
            reply = session.send("hello").reply(timeout=PATIENCE)
            assert (reply.ok, reply.result.line) == (True, b"")


@simulated_time
async def test_a_turn_whose_last_words_are_said_long_before_its_end_ends_without_words() -> None:
    async def slow(chat: Chat) -> None:
        await chat.say("working")
        await chat.sleep(0.01)

    talk = await alone("envelope", slow)
    last = only(talk.heard, AssistantMessage)[-1]
    assert (last.content, last.stop_reason) == ([], "end_turn")


async def fail(chat: Chat) -> None:
    await chat.fail("it broke", status=500)


@pytest.mark.parametrize(
    ("dialect", "told"),
    [
        ("session", {"type": "result", "subtype": "error_during_execution"}),
        ("legacy", {"type": "system", "subtype": "error"}),
        ("envelope", {"type": "error"}),
    ],
)
async def test_a_failed_turn_is_told_in_the_way_of_the_dialect(
    dialect: str, told: dict[str, str]
) -> None:
    talk = Talk(SimulatedCLI(fail, dialect=dialect), dialect=dialect)
    await talk.say(UserMessage.of("hello"))
    assert await talk.end() == 1
    lines = [it.raw for it in talk.heard]
    (line,) = [line for line in lines if told.items() <= line.items()]
    assert "API Error: 500 it broke" in str(line)


@pytest.mark.parametrize(
    "dialect", ["session", pytest.param("envelope", marks=pytest.mark.shows("004-45"))]
)
async def test_a_line_that_is_not_json_is_answered_by_an_error(dialect: str) -> None:
    cli = SimulatedCLI(use_a_tool, dialect=dialect)
    await cli.send(b"not json\n")
    talk = Talk(cli, {CanUseTool: lambda body: PermissionResultAllow(body.input)}, dialect=dialect)
    await talk.turn("hello")
    (error,) = only(talk.heard, ErrorMessage)
    assert error.error.kind == "invalid_request"
