"""What a scenario can do, step by step, as it is seen from the other end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.helpers.talk import (
    Talk,
    allow,
    bodies,
    calculator,
    hook_inputs,
    hooks_say,
    kinds,
    only,
    said,
    told,
    tool_results,
)
from trio.testing import MockClock

from claudewire.simulator import Chat, SimulatedCLI
from claudewire.wire import (
    AddDirectories,
    AddRules,
    Answer,
    APIRetryMessage,
    AssistantMessage,
    BackgroundTasksChangedMessage,
    Cancel,
    CanUseTool,
    CompactBoundaryMessage,
    ContentBlockDelta,
    Elicitation,
    ElicitationResult,
    HookCallback,
    HookMatcher,
    HookOutput,
    InformationalMessage,
    InitMessage,
    InputJsonDelta,
    Interrupt,
    McpMessage,
    McpResponse,
    MessageDelta,
    MessageStart,
    MessageStop,
    PermissionRequestHookInput,
    PermissionRequestHookSpecificOutput,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRule,
    PermissionUpdate,
    PostToolUseHookSpecificOutput,
    PreToolUseHookSpecificOutput,
    ResultMessage,
    SetMode,
    StatusMessage,
    StopTask,
    StreamEvent,
    SystemMessage,
    TaskNotificationMessage,
    TaskNotificationOrigin,
    TaskProgressMessage,
    TaskStartedMessage,
    TextBlock,
    ThinkingBlock,
    ThinkingDelta,
    ToolUseBlock,
    UnknownMessage,
    UserMessage,
)

pytestmark = pytest.mark.anyio

Scene = Callable[[Chat], Awaitable[Any]]

MAKE = {"command": "make"}

on_a_clock_that_jumps = pytest.mark.parametrize(
    "anyio_backend", [("trio", {"clock": MockClock(autojump_threshold=0)})], ids=["jumping"]
)
AN_HOUR = 3600.0


def scene(step: Callable[[Chat], Any]) -> Scene:
    """A scenario of one step, which then says what came of it."""

    async def play(chat: Chat) -> None:
        outcome = await step(chat)
        await chat.say(f"outcome: {outcome}")

    return play


async def use_make(chat: Chat) -> None:
    outcome = await chat.use("Bash", MAKE, run=lambda input: f"ran {input['command']}")
    await chat.say(f"{outcome.allowed}: {outcome.text}")


# --- speaking -------------------------------------------------------------------------------------


async def test_say_is_one_message_and_the_result() -> None:
    async def play(chat: Chat) -> None:
        await chat.say("One.")
        await chat.say("Two.")

    talk = Talk(SimulatedCLI(play))
    turn = await talk.turn("go")
    messages = only(turn, AssistantMessage)
    assert [it.content for it in messages] == [[TextBlock("One.")], [TextBlock("Two.")]]
    assert len({it.message_id for it in messages}) == 1
    assert turn[-1].result == "Two."


async def test_what_is_said_is_streamed_when_partial_messages_are_wanted() -> None:
    text = "A sentence that is longer than one piece, with an ü and a \U0001f600 in it."

    async def play(chat: Chat) -> None:
        await chat.say(text)

    talk = Talk(SimulatedCLI(play, argv=["--include-partial-messages"]))
    turn = await talk.turn("go", uuid="11111111-1111-4111-8111-111111111111")
    events = only(turn, StreamEvent)
    assert "".join(it.text for it in events) == text
    assert len([it for it in events if it.text]) > 3
    names = [type(it.event).__name__ for it in events if not it.text]
    assert names == [
        "MessageStart",
        "ContentBlockStart",
        "ContentBlockStop",
        "MessageDelta",
        "MessageStop",
    ]
    (whole,) = only(turn, AssistantMessage)
    assert whole.text == text
    deltas = [at for at, it in enumerate(turn) if isinstance(it, StreamEvent) and it.text]
    assert turn.index(whole) > deltas[-1]
    start = events[0].event
    assert isinstance(start, MessageStart)
    assert start.message.id == whole.message_id


async def test_thinking_is_a_block_of_its_own() -> None:
    async def play(chat: Chat) -> None:
        await chat.think("Where is the user? It is hard to tell.")
        await chat.say("Hello.")

    talk = Talk(SimulatedCLI(play, argv=["--include-partial-messages"]))
    turn = await talk.turn("go")
    thought, spoken = only(turn, AssistantMessage)
    (block,) = thought.content
    assert isinstance(block, ThinkingBlock)
    assert block.thinking == "Where is the user? It is hard to tell."
    assert block.signature
    assert spoken.message_id == thought.message_id
    deltas = [it.event for it in only(turn, StreamEvent) if isinstance(it.event, ContentBlockDelta)]
    thoughts = [it.delta.thinking for it in deltas if isinstance(it.delta, ThinkingDelta)]
    assert "".join(thoughts) == block.thinking
    assert {it.index for it in deltas} == {0, 1}


async def test_a_tool_call_is_streamed_as_json_and_ends_the_message() -> None:
    talk = Talk(SimulatedCLI(use_make, argv=["--include-partial-messages"]), {CanUseTool: allow})
    turn = await talk.turn("go")
    events = [it.event for it in only(turn, StreamEvent)]
    deltas = [it.delta for it in events if isinstance(it, ContentBlockDelta)]
    written = "".join(it.partial_json for it in deltas if isinstance(it, InputJsonDelta))
    assert written == '{"command":"make"}'
    reasons = [it.delta.stop_reason for it in events if isinstance(it, MessageDelta)]
    assert reasons == ["tool_use", "end_turn"]
    assert len(only(events, MessageStop)) == 2


async def test_any_message_can_be_emitted() -> None:
    async def play(chat: Chat) -> None:
        chat.emit(UnknownMessage(data={"type": "brand_new", "n": 1}))

    turn = await Talk(SimulatedCLI(play)).turn("go")
    (message,) = only(turn, UnknownMessage)
    assert message.data == {"type": "brand_new", "n": 1}


async def test_a_scenario_knows_who_asks_what() -> None:
    seen: list[Any] = []

    async def play(chat: Chat) -> None:
        seen.append((chat.text, chat.session.mode, chat.session.cwd))

    talk = Talk(SimulatedCLI(play, cwd="/"))
    turn = await talk.turn("go")
    assert seen == [("go", "default", "/")]
    assert turn[-1].result == ""


# --- tools ----------------------------------------------------------------------------------------


async def test_a_tool_that_is_allowed_runs() -> None:
    talk = Talk(SimulatedCLI(use_make), {CanUseTool: allow})
    turn = await talk.turn("go")
    (asked,) = bodies(turn, CanUseTool)
    (call,) = [it for it in only(turn, AssistantMessage) if not it.text]
    assert call.content == [ToolUseBlock(asked.tool_use_id or "", "Bash", MAKE)]
    assert (asked.tool_name, asked.input) == ("Bash", MAKE)
    (result,) = tool_results(turn)
    assert (result.tool_use_id, result.content) == (asked.tool_use_id, "ran make")
    assert not result.is_error
    assert said(turn) == ["True: ran make"]
    assert (turn[-1].num_turns, turn[-1].permission_denials) == (2, [])


async def test_a_tool_runs_with_the_input_that_was_allowed() -> None:
    def change(body: CanUseTool) -> PermissionResultAllow:
        return PermissionResultAllow({"command": "make test"})

    turn = await Talk(SimulatedCLI(use_make), {CanUseTool: change}).turn("go")
    assert told(turn) == ["ran make test"]


async def test_a_tool_that_is_denied_does_not_run_and_the_model_is_told_why() -> None:
    def deny(body: CanUseTool) -> PermissionResultDeny:
        return PermissionResultDeny("not on a Sunday")

    turn = await Talk(SimulatedCLI(use_make), {CanUseTool: deny}).turn("go")
    (result,) = tool_results(turn)
    assert (result.content, result.is_error) == ("not on a Sunday", True)
    assert said(turn) == ["False: not on a Sunday"]
    (denial,) = turn[-1].permission_denials
    assert (denial.tool_name, denial.tool_input) == ("Bash", MAKE)
    assert turn[-1].ok


async def test_a_denial_that_interrupts_ends_the_turn_and_its_message_is_lost() -> None:
    def deny(body: CanUseTool) -> PermissionResultDeny:
        return PermissionResultDeny("secret reason", interrupt=True)

    talk = Talk(SimulatedCLI(use_make), {CanUseTool: deny})
    turn = await talk.turn("go")
    assert said(turn) == []
    assert "doesn't want to proceed" in told(turn)[0]
    assert not any(b"secret reason" in it.line for it in turn)
    assert turn[-1].subtype == "error_during_execution"
    assert turn[-1].terminal_reason == "aborted_tools"


@pytest.mark.parametrize(
    ("answer", "told_to_model"),
    [
        (ValueError("the callback crashed"), "the callback crashed"),
        ({"behavior": "maybe"}, "invalid permission result"),
        (None, "invalid permission result"),
    ],
)
async def test_an_answer_that_is_none_denies(answer: Any, told_to_model: str) -> None:
    def serve(body: CanUseTool) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    turn = await Talk(SimulatedCLI(use_make), {CanUseTool: serve}).turn("go")
    (result,) = tool_results(turn)
    assert result.is_error
    assert told_to_model in told(turn)[0]


async def test_what_a_tool_raises_is_its_error() -> None:
    def fail(input: dict[str, Any]) -> None:
        raise ValueError("no such target")

    async def play(chat: Chat) -> None:
        outcome = await chat.use("Bash", MAKE, run=fail)
        await chat.say(f"{outcome.allowed} {outcome.is_error} {outcome.text}")

    turn = await Talk(SimulatedCLI(play), {CanUseTool: allow}).turn("go")
    assert said(turn) == ["True True Error: no such target"]
    assert tool_results(turn)[0].is_error


async def test_a_tool_may_take_steps_of_its_own_and_give_anything() -> None:
    async def run(input: dict[str, Any]) -> Any:
        return {"lines": [1, 2]}

    async def play(chat: Chat) -> None:
        await chat.use("Bash", MAKE, run=run)
        await chat.use("Bash", MAKE, result=[{"type": "text", "text": "a"}])

    turn = await Talk(SimulatedCLI(play), {CanUseTool: allow}).turn("go")
    assert told(turn) == ['{"lines":[1,2]}', "a"]
    results = [it.tool_use_result for it in only(turn, UserMessage)]
    assert results[0] == {"lines": [1, 2]}


async def test_a_rule_that_is_remembered_saves_the_next_question() -> None:
    def remember(body: CanUseTool) -> PermissionResultAllow:
        updates: list[PermissionUpdate] = [
            AddRules([PermissionRule("Bash", "make:*")], "allow", "session")
        ]
        return PermissionResultAllow(body.input, updates)

    async def play(chat: Chat) -> None:
        for command in ("make", "make test", "makefile"):
            await chat.use("Bash", {"command": command}, result=command)

    turn = await Talk(SimulatedCLI(play), {CanUseTool: remember}).turn("go")
    assert [it.input["command"] for it in bodies(turn, CanUseTool)] == ["make", "makefile"]
    assert told(turn) == ["make", "make test", "makefile"]


async def test_what_the_cli_suggests_is_a_rule_for_just_this() -> None:
    def as_suggested(body: CanUseTool) -> PermissionResultAllow:
        return PermissionResultAllow(body.input, body.permission_suggestions)

    async def play(chat: Chat) -> None:
        for name, input in (("Bash", MAKE), ("WebFetch", {}), ("Write", {"file_path": "a"})):
            await chat.use(name, input)
            await chat.use(name, input)

    turn = await Talk(SimulatedCLI(play), {CanUseTool: as_suggested}).turn("go")
    assert [it.tool_name for it in bodies(turn, CanUseTool)] == ["Bash", "WebFetch", "Write"]


async def test_a_mode_that_is_set_with_an_answer_is_announced() -> None:
    def accept(body: CanUseTool) -> PermissionResultAllow:
        updates: list[PermissionUpdate] = [
            AddDirectories(["/tmp"], "session"),
            SetMode("acceptEdits", "session"),
        ]
        return PermissionResultAllow(body.input, updates)

    async def play(chat: Chat) -> None:
        await chat.use("Write", {"file_path": "a"})
        await chat.use("Edit", {"file_path": "a"})

    turn = await Talk(SimulatedCLI(play), {CanUseTool: accept}).turn("go")
    assert [it.tool_name for it in bodies(turn, CanUseTool)] == ["Write"]
    assert [it.permission_mode for it in only(turn, StatusMessage)] == ["acceptEdits"]


@on_a_clock_that_jumps
async def test_a_tool_takes_as_long_as_it_is_said_to() -> None:
    async def play(chat: Chat) -> None:
        await chat.use("Read", {"file_path": "a"}, seconds=90)

    turn = await Talk(SimulatedCLI(play), patience=AN_HOUR).turn("go")
    assert turn[-1].duration_ms == pytest.approx(90_000, abs=1)


# --- questions and plans --------------------------------------------------------------------------

QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": ""}, {"label": "Green", "description": ""}],
    "multiSelect": False,
}


async def test_a_question_is_a_permission_that_wants_a_person() -> None:
    def answer(body: CanUseTool) -> PermissionResultAllow:
        return PermissionResultAllow({**body.input, "answers": {"Which colour?": "Green"}})

    play = scene(lambda chat: chat.ask([QUESTION]))
    talk = Talk(SimulatedCLI(play, argv=["--permission-mode", "bypassPermissions"]))
    talk.serve[CanUseTool] = answer
    turn = await talk.turn("go")
    (asked,) = bodies(turn, CanUseTool)
    assert (asked.tool_name, asked.input) == ("AskUserQuestion", {"questions": [QUESTION]})
    assert asked.requires_user_interaction
    assert '"Which colour?"="Green"' in told(turn)[0]


async def test_a_plan_is_approved_or_not() -> None:
    play = scene(lambda chat: chat.plan("First this, then that."))
    talk = Talk(SimulatedCLI(play, argv=["--permission-mode", "plan"]), {CanUseTool: allow})
    turn = await talk.turn("go")
    (asked,) = bodies(turn, CanUseTool)
    assert asked.tool_name == "ExitPlanMode"
    assert asked.input["plan"] == "First this, then that."
    assert "approved your plan" in told(turn)[0]
    talk.serve[CanUseTool] = lambda body: PermissionResultDeny("too long")
    assert told(await talk.turn("go")) == ["too long"]


# --- servers in the host --------------------------------------------------------------------------


async def test_a_server_is_greeted_before_initialize_is_answered_and_known_by_the_turn() -> None:
    talk = Talk(SimulatedCLI(), {McpMessage: calculator})
    await talk.initialize(sdk_mcp_servers=["calc"])
    greeting = next(it for it in talk.heard if kinds([it]) == ["control_request"])
    assert greeting.body.message["method"] == "initialize"
    assert greeting.body.message["params"]["protocolVersion"] == "2025-11-25"
    await talk.turn("hello")
    requests = bodies(talk.heard, McpMessage)
    assert {it.server_name for it in requests} == {"calc"}
    assert [it.message["method"] for it in requests] == [
        "initialize",
        "notifications/initialized",
        "tools/list",
    ]
    assert "id" not in requests[1].message


async def test_a_tool_of_a_server_is_asked_for_and_called() -> None:
    play = scene(lambda chat: chat.call("calc", "add", {"a": 2, "b": 3}))
    talk = Talk(SimulatedCLI(play), {McpMessage: calculator, CanUseTool: allow})
    await talk.initialize(sdk_mcp_servers=["calc"])
    turn = await talk.turn("go")
    init = only(turn, InitMessage)[0]
    assert "mcp__calc__add" in (init.tools or ())
    assert [(it.name, it.status) for it in init.mcp_servers or ()] == [("calc", "connected")]
    (asked,) = bodies(turn, CanUseTool)
    assert asked.tool_name == "mcp__calc__add"
    call = bodies(turn, McpMessage)[-1]
    params = call.message["params"]
    assert (call.message["method"], params["name"]) == ("tools/call", "add")
    assert params["_meta"]["claudecode/toolUseId"] == asked.tool_use_id
    assert "progressToken" in params["_meta"]
    assert told(turn) == ["5"]


async def test_a_server_that_fails_is_not_connected_and_its_calls_are_errors() -> None:
    def broken(body: McpMessage) -> McpResponse:
        error = {"code": -32603, "message": "out of order"}
        return McpResponse({"jsonrpc": "2.0", "id": body.message.get("id"), "error": error})

    play = scene(lambda chat: chat.call("calc", "add", {}))
    cli = SimulatedCLI(play, argv=["--permission-mode", "bypassPermissions"])
    talk = Talk(cli, {McpMessage: broken})
    await talk.initialize(sdk_mcp_servers=["calc"])
    turn = await talk.turn("go")
    (server,) = only(turn, InitMessage)[0].mcp_servers or []
    assert (server.name, server.status) == ("calc", "failed")
    assert tool_results(turn)[0].is_error
    assert "No such tool available: mcp__calc__add" in told(turn)[0]
    await talk.end()
    assert "MCP server calc: out of order" in await talk.stderr()


async def test_a_server_that_raises_or_is_gone_is_an_error_of_the_tool() -> None:
    play = scene(lambda chat: chat.call("calc", "add", {}))
    talk = Talk(SimulatedCLI(play, argv=["--allowed-tools", "mcp__calc"]))
    await talk.say(UserMessage.of("go"))
    await talk.request(McpMessage)
    assert await talk.end() == 0
    assert tool_results(talk.heard)[0].is_error


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        (["--allowed-tools", "mcp__calc"], True),
        (["--allowed-tools", "mcp__calc__*"], True),
        (["--allowed-tools", "mcp__calc__a*"], True),
        (["--allowed-tools", "mcp__calc__b*"], False),
        (["--allowed-tools", "mcp__other__*"], False),
        # To allow, a pattern must name the server.
        (["--allowed-tools", "mcp__*"], False),
        (["--allowed-tools", "*"], False),
        (["--allowed-tools", "mcp__calc", "--disallowed-tools", "mcp__calc__*"], False),
        (["--allowed-tools", "mcp__calc", "--disallowed-tools", "mcp__*"], False),
        (["--allowed-tools", "mcp__calc", "--disallowed-tools", "*"], False),
        (["--allowed-tools", "mcp__calc", "--disallowed-tools", "mcp__other__*"], True),
    ],
)
async def test_a_rule_may_be_about_all_tools_of_a_server(rules: list[str], allowed: bool) -> None:
    outcomes: list[bool] = []

    async def play(chat: Chat) -> None:
        outcomes.append((await chat.use("mcp__calc__add", {}, run=lambda _: "3")).allowed)

    no = PermissionResultDeny("no")
    await Talk(SimulatedCLI(play, argv=rules), {CanUseTool: lambda _: no}).turn("go")
    assert outcomes == [allowed]


@pytest.mark.parametrize("name", ["command", "file_path", "path"])
async def test_a_rule_may_be_about_what_a_tool_is_used_on(name: str) -> None:
    outcomes: list[bool] = []

    async def play(chat: Chat) -> None:
        for subject in ("src", "other"):
            outcomes.append((await chat.use("Write", {name: subject}, result="")).allowed)

    no = PermissionResultDeny("no")
    cli = SimulatedCLI(play, argv=["--allowed-tools", "Write(src)"])
    await Talk(cli, {CanUseTool: lambda _: no}).turn("go")
    assert outcomes == [True, False]


async def test_a_server_is_told_when_its_answer_is_not_wanted_any_more() -> None:
    play = scene(lambda chat: chat.call("calc", "add", {}))
    talk = Talk(SimulatedCLI(play, argv=["--allowed-tools", "mcp__calc"]))
    await talk.say(UserMessage.of("go"))
    _, call = await talk.request(McpMessage)
    since = len(talk.heard)
    await talk.ask(Interrupt())
    _, notice = await talk.request(McpMessage, since)
    assert notice.message["method"] == "notifications/cancelled"
    assert notice.message["params"]["requestId"] == call.message["id"]
    assert (await talk.until_result(since))[-1].terminal_reason == "aborted_tools"


@on_a_clock_that_jumps
async def test_an_answer_without_its_wrapper_is_waited_for_in_vain() -> None:
    play = scene(lambda chat: chat.call("calc", "add", {}))
    cli = SimulatedCLI(play, argv=["--permission-mode", "bypassPermissions"])
    talk = Talk(cli, {McpMessage: lambda body: McpResponse()}, patience=AN_HOUR)
    turn = await talk.turn("go")
    assert turn[-1].duration_ms == pytest.approx(60_000, abs=1)
    assert tool_results(turn)[0].is_error


# --- hooks ----------------------------------------------------------------------------------------


def matchers(event: str, **fields: Any) -> dict[str, list[HookMatcher]]:
    return {event: [HookMatcher(["hook_0"], **fields)]}


def pre(**fields: Any) -> HookOutput:
    return HookOutput(hook_specific_output=PreToolUseHookSpecificOutput(**fields))


async def hooked(play: Scene, hooks: dict[str, list[HookMatcher]], output: Any) -> Talk:
    talk = Talk(SimulatedCLI(play), {**hooks_say(hook_0=output), CanUseTool: allow})
    await talk.initialize(hooks=hooks)
    return talk


async def test_a_hook_before_a_tool_may_deny_it() -> None:
    output = pre(permission_decision="deny", permission_decision_reason="too late in the day")
    talk = await hooked(use_make, matchers("PreToolUse"), output)
    turn = await talk.turn("go")
    (call,) = bodies(turn, HookCallback)
    assert call.callback_id == "hook_0"
    (input,) = hook_inputs(turn)
    assert input.tool_name == "Bash"
    assert bodies(turn, CanUseTool) == []
    assert "too late in the day" in told(turn)[0]
    assert [it.tool_name for it in turn[-1].permission_denials] == ["Bash"]


@pytest.mark.parametrize(
    "output", [HookOutput(decision="block"), pre(permission_decision="deny")], ids=["old", "new"]
)
async def test_a_hook_need_not_say_why(output: HookOutput) -> None:
    talk = await hooked(use_make, matchers("PreToolUse"), output)
    assert tool_results(await talk.turn("go"))[0].is_error


async def test_a_hook_before_a_tool_may_allow_it_so_that_nobody_is_asked() -> None:
    talk = await hooked(use_make, matchers("PreToolUse"), pre(permission_decision="allow"))
    turn = await talk.turn("go")
    assert bodies(turn, CanUseTool) == []
    assert told(turn) == ["ran make"]


async def test_a_hook_before_a_tool_may_change_its_input() -> None:
    output = pre(updated_input={"command": "make -n"})
    talk = await hooked(use_make, matchers("PreToolUse"), output)
    turn = await talk.turn("go")
    assert [it.input for it in bodies(turn, CanUseTool)] == [{"command": "make -n"}]
    assert told(turn) == ["ran make -n"]


@pytest.mark.parametrize("output", [HookOutput(), "nonsense"], ids=["empty", "nonsense"])
async def test_a_hook_with_nothing_to_say_changes_nothing(output: Any) -> None:
    talk = await hooked(use_make, matchers("PreToolUse"), output)
    assert told(await talk.turn("go")) == ["ran make"]


@pytest.mark.parametrize(
    ("matcher", "called"),
    [(None, True), ("*", True), ("Bash", True), ("Ba.*|Edit", True), ("Edit", False)],
)
async def test_a_hook_is_called_for_what_it_matches(matcher: str | None, called: bool) -> None:
    talk = await hooked(use_make, matchers("PreToolUse", matcher=matcher), HookOutput())
    assert bool(bodies(await talk.turn("go"), HookCallback)) is called


async def test_a_hook_after_a_tool_adds_to_what_the_model_reads() -> None:
    added = PostToolUseHookSpecificOutput(additional_context="It took long.")
    output = HookOutput(hook_specific_output=added)
    talk = await hooked(use_make, matchers("PostToolUse"), output)
    turn = await talk.turn("go")
    (input,) = hook_inputs(turn)
    assert "ran make" in str(input.tool_response)
    assert said(turn) == ["True: ran make\nIt took long."]


async def test_a_tool_that_fails_has_a_hook_of_its_own() -> None:
    def fail(input: dict[str, Any]) -> None:
        raise ValueError("broken")

    play = scene(lambda chat: chat.use("Bash", MAKE, run=fail))
    talk = await hooked(play, matchers("PostToolUseFailure"), HookOutput())
    (input,) = hook_inputs(await talk.turn("go"))
    assert "broken" in input.error


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
async def test_a_hook_may_end_the_turn_after_the_tool(event: str) -> None:
    talk = await hooked(use_make, matchers(event), HookOutput(continue_=False))
    turn = await talk.turn("go")
    assert told(turn) == ["ran make"]
    assert said(turn) == []
    assert turn[-1].terminal_reason == "hook_stopped"


async def test_a_hook_sees_the_prompt_and_may_refuse_it() -> None:
    async def play(chat: Chat) -> None:
        await chat.say(f"Hello {len(chat.session.history)}")

    output = HookOutput(decision="block", reason="no politics")
    talk = await hooked(play, matchers("UserPromptSubmit"), output)
    turn = await talk.turn("who will win?")
    (input,) = hook_inputs(turn)
    assert input.prompt == "who will win?"
    assert said(turn) == []
    assert "no politics" in turn[-1].result
    (warning,) = only(turn, InformationalMessage)
    outcome = {"kind": "blocked_by_hook", "prompt_kept": False, "reason": "no politics"}
    assert warning.prompt_submit_outcome == outcome
    talk.serve |= hooks_say(hook_0=HookOutput())
    assert said(await talk.turn("hello")) == ["Hello 1"]


async def test_a_hook_at_the_end_may_keep_the_agent_going() -> None:
    async def play(chat: Chat) -> None:
        await chat.say(f"Done: {chat.text}")

    talk = await hooked(play, matchers("Stop"), HookOutput(decision="block", reason="not yet"))
    outputs = [HookOutput(decision="block", reason="not yet"), HookOutput()]
    talk.serve[HookCallback] = lambda body: outputs.pop(0)
    turn = await talk.turn("go")
    calls = hook_inputs(turn)
    assert [it.stop_hook_active for it in calls] == [False, True]
    assert calls[0].last_assistant_message == "Done: go"
    first, second = said(turn)
    assert first == "Done: go"
    assert "not yet" in second
    assert len(only(turn, ResultMessage)) == 1


@pytest.mark.parametrize(
    ("on_failure", "runs"), [(None, True), ("continue", True), ("block", False)]
)
async def test_a_hook_that_fails_is_passed_over_or_blocks(on_failure: str, runs: bool) -> None:
    hooks = matchers("PreToolUse", on_failure=on_failure)
    talk = await hooked(use_make, hooks, ValueError("my hook is broken"))
    turn = await talk.turn("go")
    (warning,) = only(turn, InformationalMessage)
    assert "my hook is broken" in (warning.content or "")
    assert (told(turn) == ["ran make"]) is runs
    assert bool(tool_results(turn)[0].is_error) is not runs


@on_a_clock_that_jumps
async def test_a_hook_that_takes_too_long_is_withdrawn_and_the_tool_denied() -> None:
    talk = Talk(SimulatedCLI(use_make), patience=AN_HOUR)
    await talk.initialize(hooks=matchers("PreToolUse", timeout=5))
    turn = await talk.turn("go")
    (call,) = [it for it in turn if kinds([it]) == ["control_request"]]
    (cancel,) = only(turn, Cancel)
    assert cancel.id == call.id
    assert "did not respond before its timeout" in told(turn)[0]
    assert turn[-1].duration_ms == pytest.approx(5_000, abs=1)
    assert talk.connection.owed == {}


@on_a_clock_that_jumps
async def test_a_hook_has_a_minute_if_nothing_else_is_said() -> None:
    talk = Talk(SimulatedCLI(use_make), patience=AN_HOUR)
    await talk.initialize(hooks=matchers("PreToolUse"))
    turn = await talk.turn("go")
    assert turn[-1].duration_ms == pytest.approx(60_000, abs=1)


async def test_a_hook_is_passed_over_when_nobody_can_answer_any_more() -> None:
    talk = Talk(SimulatedCLI(use_make, argv=["--allowed-tools", "Bash"]))
    await talk.initialize(hooks=matchers("PreToolUse"))
    await talk.say(UserMessage.of("go"))
    await talk.request(HookCallback)
    assert await talk.end() == 0
    assert told(talk.heard) == ["ran make"]


def decided(decision: Any) -> HookOutput:
    specific = PermissionRequestHookSpecificOutput(decision)
    return HookOutput(hook_specific_output=specific)


async def test_a_hook_may_decide_on_a_permission_while_it_is_asked_for() -> None:
    talk = Talk(SimulatedCLI(use_make))
    await talk.initialize(hooks=matchers("PermissionRequest"))
    await talk.say(UserMessage.of("go"))
    asked, _ = await talk.request(CanUseTool)
    hook, body = await talk.request(HookCallback)
    assert isinstance(body.input, PermissionRequestHookInput)
    assert body.input.tool_name == "Bash"
    await talk.say(Answer(hook, decided(PermissionResultAllow({"command": "make it"}))))
    turn = await talk.until_result()
    assert [it.id for it in only(turn, Cancel)] == [asked]
    assert told(turn) == ["ran make it"]


async def test_a_person_may_be_faster_than_the_hook() -> None:
    talk = Talk(SimulatedCLI(use_make))
    await talk.initialize(hooks=matchers("PermissionRequest"))
    await talk.say(UserMessage.of("go"))
    asked, _ = await talk.request(CanUseTool)
    hook, _ = await talk.request(HookCallback)
    await talk.say(Answer(asked, PermissionResultDeny("no")))
    turn = await talk.until_result()
    assert [it.id for it in only(turn, Cancel)] == [hook]
    assert told(turn) == ["no"]
    assert await talk.end() == 0


async def test_an_answer_without_its_id_is_none() -> None:
    talk = Talk(SimulatedCLI(use_make))
    await talk.say(UserMessage.of("go"))
    await talk.request(CanUseTool)
    await talk.write(b'{"type":"control_response","response":{"subtype":"success"}}')
    assert await talk.end() == 0
    assert told(talk.heard) == ["Tool permission stream closed before response received"]


async def test_when_nobody_can_answer_neither_hook_nor_person_decides() -> None:
    talk = Talk(SimulatedCLI(use_make))
    await talk.initialize(hooks=matchers("PermissionRequest"))
    await talk.say(UserMessage.of("go"))
    await talk.request(CanUseTool)
    await talk.request(HookCallback)
    assert await talk.end() == 0
    assert told(talk.heard) == ["Tool permission stream closed before response received"]


async def test_a_hook_without_a_decision_leaves_it_to_the_person() -> None:
    talk = await hooked(use_make, matchers("PermissionRequest"), HookOutput())
    del talk.serve[CanUseTool]
    await talk.say(UserMessage.of("go"))
    asked, _ = await talk.request(CanUseTool)
    await talk.request(HookCallback)
    await talk.say(Answer(asked, PermissionResultDeny("no")))
    turn = await talk.until_result()
    assert only(turn, Cancel) == []
    assert told(turn) == ["no"]


async def test_a_scenario_may_fire_any_hook() -> None:
    async def play(chat: Chat) -> None:
        await chat.hook("Notification", message="look here", notification_type="idle")

    talk = await hooked(play, matchers("Notification"), HookOutput())
    (input,) = hook_inputs(await talk.turn("go"))
    assert input.message == "look here"


# --- tasks and subagents --------------------------------------------------------------------------


async def test_work_in_the_background_ends_with_a_turn_that_nobody_asked_for() -> None:
    async def play(chat: Chat) -> None:
        if not chat.text:
            await chat.say("The build is through.")
            return
        task = chat.start_task("a long build")
        await chat.say("It is running.")
        task.finish("all green")
        task.finish("twice is once")

    talk = Talk(SimulatedCLI(play))
    turn = await talk.turn("go")
    (started,) = only(turn, TaskStartedMessage)
    assert started.description == "a long build"
    (ended,) = only(turn, TaskNotificationMessage)
    assert (ended.task_id, ended.status, ended.summary) == (
        started.task_id,
        "completed",
        "all green",
    )
    changes = [
        [it.task_id for it in change.tasks] for change in only(turn, BackgroundTasksChangedMessage)
    ]
    assert changes == [[started.task_id], []]
    assert turn[-1].origin is None
    unasked = await talk.until_result()
    assert said(unasked) == ["The build is through."]
    assert len(only(unasked, InitMessage)) == 1
    assert isinstance(unasked[-1].origin, TaskNotificationOrigin)
    assert await talk.end() == 0


async def test_a_task_that_is_stopped_says_so_and_wakes_nobody() -> None:
    async def play(chat: Chat) -> None:
        chat.start_task("a long build")

    talk = Talk(SimulatedCLI(play))
    (started,) = only(await talk.turn("go"), TaskStartedMessage)
    since = len(talk.heard)
    assert isinstance(await talk.ask(StopTask(started.task_id)), Answer)
    assert isinstance(await talk.ask(StopTask("unknown")), Answer)
    (ended,) = only(talk.heard[since:], TaskNotificationMessage)
    assert ended.status == "stopped"
    assert await talk.end() == 0
    assert len(only(talk.heard, ResultMessage)) == 1


async def test_a_subagent_speaks_under_the_call_that_started_it() -> None:
    async def work(chat: Chat) -> None:
        await chat.use("Bash", MAKE, result="made")
        await chat.say(f"I did {chat.text}.")

    play = scene(lambda chat: chat.subagent("Explore", "look around", work))
    talk = Talk(SimulatedCLI(play, argv=["--include-partial-messages"]))
    talk.serve |= {CanUseTool: allow, **hooks_say(a=HookOutput(), b=HookOutput())}
    hooks = {"SubagentStart": [HookMatcher(["a"])], "SubagentStop": [HookMatcher(["b"])]}
    await talk.initialize(hooks=hooks)
    turn = await talk.turn("go")
    call = only(turn, AssistantMessage)[0]
    (block,) = call.content
    assert isinstance(block, ToolUseBlock)
    assert block.name == "Agent"
    assert block.input["subagent_type"] == "Explore"
    inner = [it for it in turn if getattr(it, "parent_tool_use_id", None) == block.id]
    assert [it.agent_id for it in inner] == [only(turn, TaskStartedMessage)[0].task_id] * len(inner)
    assert said(inner) == []
    assert told(inner) == ["made"]
    outer = [it for it in turn if it not in inner]
    (handed_back,) = told(outer)
    assert "\n  I did look around.\n" in handed_back
    assert only(turn, TaskProgressMessage)[0].last_tool_name == "Bash"
    assert only(turn, TaskNotificationMessage)[0].summary == "I did look around."
    assert [it.callback_id for it in bodies(turn, HookCallback)] == ["a", "b"]
    assert only(inner, StreamEvent) == []


async def test_the_words_of_a_subagent_are_forwarded_if_a_flag_asks_for_it() -> None:
    async def work(chat: Chat) -> None:
        await chat.say(f"I did {chat.text}.")

    play = scene(lambda chat: chat.subagent("Explore", "look around", work))
    talk = Talk(SimulatedCLI(play, argv=["--forward-subagent-text"]))
    inner = [it for it in await talk.turn("go") if getattr(it, "parent_tool_use_id", None)]
    assert said(inner) == ["I did look around."]


async def look(chat: Chat) -> None:
    await chat.say("I saw it.")


async def look_in_the_background(chat: Chat) -> None:
    if chat.prompt is not None:
        await chat.subagent("Explore", "Look.", look, description="Look", background=True)
    await chat.say("Started." if chat.text else "I was told.")


async def test_a_subagent_in_the_background_reports_in_a_turn_of_its_own() -> None:
    talk = Talk(SimulatedCLI(look_in_the_background))
    await talk.turn("go")
    unasked = await talk.until_result()
    turn = talk.heard
    (launched,) = told(turn)
    assert launched.startswith("Async agent launched successfully.")
    assert sorted(said(turn)) == ["I saw it.", "I was told.", "Started."]
    tasks = only(turn, BackgroundTasksChangedMessage)
    assert [[it.description for it in each.tasks] for each in tasks[:1]] == [["Look"]]
    (started,) = only(turn, TaskStartedMessage)
    assert started.is_backgrounded
    assert said(unasked)[-1] == "I was told."
    assert unasked[-1].origin.run_id == started.run_id
    assert unasked[-1].subagent_stats["requested"]["background"] == 1
    assert await talk.end() == 0


async def test_a_subagent_in_the_background_that_is_stopped_is_silent() -> None:
    async def wait(chat: Chat) -> None:
        await chat.sleep(3600)
        await chat.say("Never.")

    async def play(chat: Chat) -> None:
        await chat.subagent("Explore", "Wait.", wait, background=True)

    talk = Talk(SimulatedCLI(play))
    (started,) = only(await talk.turn("go"), TaskStartedMessage)
    assert isinstance(await talk.ask(StopTask(started.task_id)), Answer)
    assert only(talk.heard, TaskNotificationMessage)[-1].status == "stopped"
    assert await talk.end() == 0
    assert said(talk.heard) == []


async def test_a_subagent_in_the_background_that_fails_says_so() -> None:
    async def fail(chat: Chat) -> None:
        raise RuntimeError("no")

    async def play(chat: Chat) -> None:
        if chat.prompt is not None:
            await chat.subagent("Explore", "Fail.", fail, background=True)

    cli = SimulatedCLI(play)
    talk = Talk(cli)
    await talk.turn("go")
    assert await talk.end() == 0
    assert only(talk.heard, TaskNotificationMessage)[-1].status == "failed"
    assert len(cli.failures) == 1


async def test_the_words_of_a_subagent_are_forwarded_if_initialize_asks_for_it() -> None:
    play = scene(lambda chat: chat.subagent("Explore", "Look.", look))
    talk = Talk(SimulatedCLI(play))
    await talk.initialize(forward_subagent_text=True)
    inner = [it for it in await talk.turn("go") if getattr(it, "parent_tool_use_id", None)]
    assert said(inner) == ["I saw it."]


async def test_an_old_version_has_no_news_of_a_subagent_but_its_words() -> None:
    async def work(chat: Chat) -> None:
        await chat.say("I did.")

    play = scene(lambda chat: chat.subagent("Explore", "look around", work))
    turn = await Talk(SimulatedCLI(play, version="2.1.17")).turn("go")
    assert only(turn, SystemMessage) == only(turn, InitMessage)
    (block,) = only(turn, AssistantMessage)[0].content
    assert isinstance(block, ToolUseBlock)
    assert block.name == "Task"
    inner = [it for it in turn if getattr(it, "parent_tool_use_id", None)]
    assert said(inner) == ["I did."]
    assert told([it for it in turn if it not in inner]) == ["I did."]


async def test_what_is_denied_to_a_subagent_is_in_the_result() -> None:
    play = scene(lambda chat: chat.subagent("Explore", "look", use_make))
    talk = Talk(SimulatedCLI(play), {CanUseTool: lambda body: PermissionResultDeny("no")})
    turn = await talk.turn("go")
    assert [it.tool_name for it in turn[-1].permission_denials] == ["Bash"]


async def test_an_interrupt_while_a_subagent_works_rejects_its_call_too() -> None:
    play = scene(lambda chat: chat.subagent("Explore", "look", use_make))
    deny = PermissionResultDeny(interrupt=True)
    talk = Talk(SimulatedCLI(play), {CanUseTool: lambda body: deny})
    turn = await talk.turn("go")
    (call,) = only(turn, AssistantMessage)[0].content
    assert isinstance(call, ToolUseBlock)
    assert call.id in [it.tool_use_id for it in tool_results(turn)]
    # The call that started it ran already: it was stopped, and not denied.
    assert turn[-1].permission_denials == []
    assert turn[-1].terminal_reason == "aborted_tools"


@pytest.mark.parametrize(
    "before",
    [
        lambda chat: chat.subagent("Explore", "look", lambda child: child.say("Nothing.")),
        lambda chat: chat.use("Read", {"file_path": "a.txt"}),
        lambda chat: chat.use("Read", {"file_path": "a.txt"}, run=lambda _: 1 / 0),
    ],
    ids=["subagent", "tool", "tool that fails"],
)
async def test_a_tool_that_was_refused_has_not_run_whatever_ran_before_it(
    before: Callable[[Chat], Awaitable[Any]],
) -> None:
    async def play(chat: Chat) -> None:
        await before(chat)
        await use_make(chat)

    talk = Talk(SimulatedCLI(play), {CanUseTool: lambda body: PermissionResultDeny(interrupt=True)})
    turn = await talk.turn("go")
    assert [it.tool_name for it in turn[-1].permission_denials] == ["Bash"]
    assert "stopped while running" not in str(tool_results(turn)[-1].content)


# --- what else happens ----------------------------------------------------------------------------


async def test_compacting_is_announced_and_leaves_a_boundary() -> None:
    async def play(chat: Chat) -> None:
        await chat.compact(trigger="manual", before=1234)

    talk = await hooked(play, matchers("PreCompact", matcher="manual"), HookOutput())
    turn = await talk.turn("go")
    assert len(bodies(turn, HookCallback)) == 1
    assert "compacting" in [it.status for it in only(turn, StatusMessage)]
    (boundary,) = only(turn, CompactBoundaryMessage)
    metadata = boundary.compact_metadata
    assert metadata is not None
    assert (metadata.trigger, metadata.pre_tokens) == ("manual", 1234)


@pytest.mark.parametrize(
    ("answer", "said_of_it"),
    [
        (ElicitationResult("accept", {"name": "Ann"}), "accept {'name': 'Ann'}"),
        (ElicitationResult("decline"), "decline None"),
        (ValueError("no dialog here"), "cancel None"),
        ("nonsense", "cancel None"),
    ],
)
async def test_a_server_may_ask_the_user(answer: Any, said_of_it: str) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}

    async def play(chat: Chat) -> None:
        outcome = await chat.elicit("forms", "Who are you?", schema)
        await chat.say(f"{outcome.action} {outcome.content}")

    def serve(body: Elicitation) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    turn = await Talk(SimulatedCLI(play), {Elicitation: serve}).turn("go")
    (asked,) = bodies(turn, Elicitation)
    assert (asked.mcp_server_name, asked.message) == ("forms", "Who are you?")
    assert asked.requested_schema == schema
    assert said(turn) == [said_of_it]


async def test_a_question_of_a_server_is_cancelled_when_nobody_can_answer() -> None:
    play = scene(lambda chat: chat.elicit("forms", "Who are you?", {}))
    talk = Talk(SimulatedCLI(play))
    await talk.say(UserMessage.of("go"))
    await talk.request(Elicitation)
    assert await talk.end() == 0
    assert "cancel" in said(talk.heard)[0]


@on_a_clock_that_jumps
async def test_the_api_may_have_to_be_asked_again() -> None:
    async def play(chat: Chat) -> None:
        await chat.retry(seconds=2)
        await chat.retry(attempt=2, status=429)
        await chat.say("Here I am.")

    turn = await Talk(SimulatedCLI(play), patience=AN_HOUR).turn("go")
    first, second = only(turn, APIRetryMessage)
    assert (first.attempt, first.error_status, first.retry_delay_ms) == (1, 529, 2000)
    assert (second.attempt, second.error_status, second.error) == (2, 429, "rate_limit")
    assert turn[-1].ok
    assert turn[-1].duration_ms == pytest.approx(2000, abs=1)


@pytest.mark.parametrize(
    ("end", "subtype", "reason"),
    [
        (Chat.reach_max_turns, "error_max_turns", "max_turns"),
        (Chat.exhaust_budget, "error_max_budget_usd", "budget_exhausted"),
    ],
)
async def test_a_turn_may_hit_a_limit(end: Any, subtype: str, reason: str) -> None:
    async def play(chat: Chat) -> None:
        await chat.say("I have hardly begun.")
        end(chat)

    result = (await Talk(SimulatedCLI(play)).turn("go"))[-1]
    assert (result.subtype, result.terminal_reason) == (subtype, reason)
    assert result.is_error
    assert result.result is None
    assert len(result.errors) == 1


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, "unknown", "invalid_request_error"),
        (401, "unknown", "authentication_error"),
        (403, "unknown", "permission_error"),
        (404, "unknown", "not_found_error"),
        (413, "unknown", "request_too_large"),
        (429, "rate_limit", "rate_limit_error"),
        (500, "server_error", "api_error"),
        (529, "overloaded", "overloaded_error"),
    ],
)
async def test_an_error_of_the_api_is_named(status: int, error: str, kind: str) -> None:
    play = scene(lambda chat: chat.fail("no", status=status))
    (message,) = only(await Talk(SimulatedCLI(play)).turn("go"), AssistantMessage)
    assert message.raw["error"] == error
    assert message.raw["api_error_type"] == kind


async def test_an_error_of_the_api_is_a_success_that_is_an_error() -> None:
    async def play(chat: Chat) -> None:
        await chat.fail("prompt is too long", status=400)

    talk = Talk(SimulatedCLI(play))
    turn = await talk.turn("go")
    result = turn[-1]
    assert (result.subtype, result.is_error, result.ok) == ("success", True, False)
    assert (result.api_error_status, result.terminal_reason) == (400, "api_error")
    assert "prompt is too long" in result.result
    assert said(turn) == [result.result]


async def test_structured_output_is_in_the_result() -> None:
    async def play(chat: Chat) -> None:
        chat.output({"colour": "green"})
        await chat.say("Green.")

    talk = Talk(SimulatedCLI(play))
    await talk.initialize(json_schema={"type": "object"})
    turn = await talk.turn("go")
    assert turn[-1].structured_output == {"colour": "green"}
    assert "Green." in said(turn)


# --- scenarios that are wrong ---------------------------------------------------------------------


async def test_a_scenario_that_raises_is_a_failed_turn_with_the_reason_on_stderr() -> None:
    async def play(chat: Chat) -> None:
        await chat.say("So far so good.")
        raise KeyError("typo")

    talk = Talk(SimulatedCLI(play))
    result = (await talk.turn("go"))[-1]
    assert (result.subtype, result.is_error) == ("error_during_execution", True)
    assert result.errors == ["KeyError: 'typo'"]
    assert (await talk.turn("go"))[-1].is_error
    assert await talk.end() == 1
    stderr = await talk.stderr()
    assert "The scenario failed." in stderr
    assert 'raise KeyError("typo")' in stderr


async def test_a_scenario_that_awaits_something_foreign_is_told_what_it_may_await() -> None:
    async def play(chat: Chat) -> None:
        await asyncio.sleep(0)

    talk = Talk(SimulatedCLI(play))
    result = (await talk.turn("go"))[-1]
    assert result.subtype == "error_during_execution"
    assert "such as chat.sleep()" in result.errors[0]
    assert await talk.end() == 1


async def test_an_interrupt_ends_the_message_that_is_being_said_and_it_is_paid_for() -> None:
    async def play(chat: Chat) -> None:
        await chat.say("Half of it")
        await chat.sleep(AN_HOUR)

    talk = Talk(SimulatedCLI(play, argv=["--include-partial-messages"]))
    await talk.say(UserMessage.of("go"))
    await talk.until(lambda it: isinstance(it, AssistantMessage))
    await talk.ask(Interrupt())
    turn = await talk.until_result(0)
    names = [type(it.event).__name__ for it in only(turn, StreamEvent)]
    assert names[-2:] == ["MessageDelta", "MessageStop"]
    assert turn[-1].terminal_reason == "aborted_streaming"
    assert turn[-1].total_cost_usd > 0


async def test_a_scenario_may_clean_up_but_not_go_on_after_an_interrupt() -> None:
    cleaned: list[bool] = []

    async def play(chat: Chat) -> None:
        try:
            await use_make(chat)
        finally:
            cleaned.append(True)

    talk = Talk(SimulatedCLI(play), {CanUseTool: lambda body: PermissionResultDeny(interrupt=True)})
    assert said(await talk.turn("go")) == []
    assert cleaned == [True]
