"""One scenario and one application, through all four dialects: the same events at the end."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.helpers.clock import simulated_time
from tests.helpers.processes import PATIENCE
from tests.helpers.talk import Talk, calculator, hooks_say, only, said, told

import claudewire
from claudewire import wire
from claudewire.simulator import Chat, Scenario, SimulatedCLI

pytestmark = pytest.mark.anyio

DIALECTS = ["modern", "session", "legacy"]
"""The dialects with `initialize`."""
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


def decide(body: wire.CanUseTool) -> wire.PermissionResultAllow | wire.PermissionResultDeny:
    if body.input.get("command") == "rm":
        return wire.PermissionResultDeny("not that one")
    if body.tool_name == "AskUserQuestion":
        answers = {"Which colour?": "Green", "Which sizes?": "S, L"}
        return wire.PermissionResultAllow({**body.input, "answers": answers})
    if body.input.get("command") == "make":
        return wire.PermissionResultAllow({"command": "make test"})
    return wire.PermissionResultAllow(body.input)


async def run(client: str, cli: str, **more: Any) -> Talk:
    """The application."""
    serve: dict[type, Any] = {
        wire.CanUseTool: decide,
        wire.McpMessage: calculator,
        **hooks_say(hook_0=wire.HookOutput()),
    }
    simulated = SimulatedCLI(play, argv=["--include-partial-messages"], dialect=cli, **more)
    talk = Talk(simulated, serve, dialect=client)
    hooks = {"PreToolUse": [wire.HookMatcher(["hook_0"], matcher="Bash")]}
    await talk.initialize(hooks=hooks, sdk_mcp_servers=["calc"])
    await talk.turn("hello")
    for body in (wire.SetModel("opus"), wire.SetPermissionMode("plan")):
        assert isinstance(await talk.ask(body), wire.Answer)
    await talk.turn("again")
    assert await talk.end() == 0
    return talk


def essence(event: Any) -> Any:
    """What an event says, without what is different each time."""
    if isinstance(event, wire.AssistantMessage):
        return [
            (it.name, it.input) if isinstance(it, wire.ToolUseBlock) else it for it in event.content
        ]
    if isinstance(event, wire.UserMessage):
        # A list of choices, which one dialect has, is joined without a space.
        return [text.replace("S, L", "S,L") for text in told([event])]
    if isinstance(event, wire.StreamEvent):
        return type(event.event).__name__, event.text
    if isinstance(event, wire.ResultMessage):
        denied = [it.tool_name for it in event.permission_denials or ()]
        return event.subtype, event.is_error, event.result, event.num_turns, event.usage, denied
    if isinstance(event, wire.Request):
        input = event.body.input if isinstance(event.body, wire.CanUseTool) else None
        return type(event.body).__name__, input
    if isinstance(event, wire.Answer):
        return event.body
    return None


def story(talk: Talk) -> list[Any]:
    """What happened, without what not every dialect has: notices, echoes, all parts of a stream."""
    return [
        (type(event).__name__, essence(event))
        for event in talk.heard
        if not isinstance(event, wire.SystemMessage | wire.SessionCreatedMessage)
        and not (isinstance(event, wire.UserMessage) and not told([event]))
        and not (isinstance(event, wire.StreamEvent) and not event.text)
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_application_sees_the_same_story_in_every_dialect(dialect: str) -> None:
    talk = await run(dialect, dialect)
    assert all(event.problems == () for event in talk.heard)
    expected = story(await run("modern", "modern"))
    assert story(talk) == expected
    assert said(talk.heard) == ["I'll see what I can do about it.", "It is 5.", "As you like."]
    rest = told(talk.heard)
    assert rest[0] == "ran make test"
    assert rest[1] == "not that one"
    assert '"Which colour?"="Green"' in rest[2]
    assert rest[3] == "5"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_cli_that_may_choose_speaks_the_dialect_of_the_sdk(dialect: str) -> None:
    talk, explicit = await run(dialect, "auto"), await run(dialect, dialect)
    assert story(talk) == story(explicit)
    assert {it.raw.get("type") for it in talk.heard} == {
        it.raw.get("type") for it in explicit.heard
    }


# --- the behaviour of each dialect ----------------------------------------------------------------


async def alone(dialect: str, scenario: Scenario, *argv: str) -> Talk:
    """One turn with a CLI that nobody has initialized."""
    allow: dict[type, Any] = {wire.CanUseTool: lambda body: wire.PermissionResultAllow(body.input)}
    talk = Talk(SimulatedCLI(scenario, argv=argv, dialect=dialect), allow, dialect=dialect)
    await talk.turn("hello")
    return talk


async def use_a_tool(chat: Chat) -> None:
    await chat.use("Bash", {"command": "ls"}, result="a file")
    await chat.use("Edit", {"file_path": "a"}, result="changed")
    await chat.think("What now?")
    await chat.say("That is all of it, in many small pieces.")


async def test_session_dialect_describes_the_session_once() -> None:
    async def answer(chat: Chat) -> None:
        await chat.say("Yes.")

    talk = Talk(SimulatedCLI(answer, dialect="session"), {}, dialect="session")
    await talk.initialize()
    await talk.until(lambda it: isinstance(it, wire.InitMessage), since=0)
    (init,) = only(talk.heard, wire.InitMessage)
    assert {"name": "Bash", "description": "Simulates Bash"} in init.raw["tools"]
    await talk.turn("one")
    await talk.turn("two")
    assert only(talk.heard, wire.InitMessage) == [init]


async def test_session_dialect_suggests_patterns_without_notices() -> None:
    talk = await alone("session", use_a_tool)
    assert [type(it) for it in only(talk.heard, wire.SystemMessage)] == [wire.InitMessage]
    suggested = [
        it.raw["request"]["permission_suggestions"] for it in only(talk.heard, wire.Request)
    ]
    assert suggested == [
        [{"type": "bash", "action": "allow", "pattern": "ls", "scope": "session"}],
        [{"type": "edit", "action": "allow", "pattern": "a", "scope": "session"}],
    ]


async def test_legacy_dialect_streams_deltas_and_tools_unasked() -> None:
    talk = await alone("legacy", use_a_tool)
    events = {it.raw["event"] for it in only(talk.heard, wire.StreamEvent)}
    assert events == {"delta", "tool_use_start"}


async def test_envelope_dialect_echoes_and_says_when_it_stops() -> None:
    talk = await alone("envelope", use_a_tool)
    assert only(talk.heard, wire.SystemMessage) == []
    assert only(talk.heard, wire.UserMessage)[0].text == "hello"
    assert {it.raw["delta"]["delta"]["type"] for it in only(talk.heard, wire.StreamEvent)} == {
        "text_delta"
    }
    hints = [
        it.raw["message"]["request"]["permission_suggestions"]
        for it in only(talk.heard, wire.Request)
    ]
    assert hints[0] == [{"behavior": "allow", "message": "Let Bash run"}]
    stops = [it.raw["message"].get("stop_reason") for it in only(talk.heard, wire.AssistantMessage)]
    assert stops[:-1] == [None] * (len(stops) - 1)
    assert stops[-1] == "end_turn"
    assert await talk.end() == 0
    assert isinstance(talk.heard[-2], wire.AssistantMessage)  # and no result
    assert only(talk.heard, wire.ResultMessage) == []


@pytest.mark.parametrize("dialect", ["envelope", "auto"])
async def test_session_has_turns_with_a_cli_without_results(
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


@simulated_time
async def test_turn_with_a_late_end_ends_with_an_empty_message() -> None:
    async def slow(chat: Chat) -> None:
        await chat.say("working")
        await chat.sleep(0.01)

    talk = await alone("envelope", slow)
    last = only(talk.heard, wire.AssistantMessage)[-1]
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
async def test_failed_turn_is_reported_in_the_way_of_the_dialect(
    dialect: str, told: dict[str, str]
) -> None:
    talk = Talk(SimulatedCLI(fail, dialect=dialect), dialect=dialect)
    await talk.say(wire.UserMessage.of("hello"))
    assert await talk.end() == 1
    lines = [it.raw for it in talk.heard]
    (line,) = [line for line in lines if told.items() <= line.items()]
    assert "API Error: 500 it broke" in str(line)


@pytest.mark.parametrize(
    "dialect", ["session", pytest.param("envelope", marks=pytest.mark.shows("004-45"))]
)
async def test_invalid_line_is_answered_by_an_error(dialect: str) -> None:
    cli = SimulatedCLI(use_a_tool, dialect=dialect)
    await cli.send(b"not json\n")
    talk = Talk(
        cli, {wire.CanUseTool: lambda body: wire.PermissionResultAllow(body.input)}, dialect=dialect
    )
    await talk.turn("hello")
    (error,) = only(talk.heard, wire.ErrorMessage)
    assert error.error.kind == "invalid_request"
