"""The scripting API, step by step, as it is seen from the other end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.helpers.clock import simulated_time
from tests.helpers.talk import Talk, allow, bodies, only, said, told, tool_results

from claudewire import wire
from claudewire.simulator import Chat, SimulatedCLI, ToolCall

pytestmark = pytest.mark.anyio

MAKE = {"command": "make"}
STREAMED = ["--include-partial-messages"]
QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": ""}, {"label": "Green", "description": ""}],
    "multiSelect": False,
}


async def use_make(chat: Chat) -> None:
    outcome = await chat.use("Bash", MAKE, run=lambda input: f"ran {input['command']}")
    await chat.say(f"{outcome.allowed}: {outcome.text}")


def deny(message: str | None = None, *, interrupt: bool | None = None) -> dict[type, Any]:
    return {wire.CanUseTool: lambda body: wire.PermissionResultDeny(message, interrupt)}


# --- speaking -------------------------------------------------------------------------------------


async def test_words_of_one_model_call_are_one_message() -> None:
    async def play(chat: Chat) -> None:
        await chat.say("One.")
        await chat.say("Two.")

    turn = await Talk(SimulatedCLI(play)).turn("go")
    messages = only(turn, wire.AssistantMessage)
    assert [it.content for it in messages] == [[wire.TextBlock("One.")], [wire.TextBlock("Two.")]]
    assert len({it.message_id for it in messages}) == 1
    assert turn[-1].result == "Two."


async def test_partial_messages_stream_the_text_of_the_message() -> None:
    text = "A sentence that is longer than one piece, with an ü and a \U0001f600 in it."

    async def play(chat: Chat) -> None:
        await chat.say(text)

    turn = await Talk(SimulatedCLI(play, argv=STREAMED)).turn("go")
    events = only(turn, wire.StreamEvent)
    assert "".join(it.text for it in events) == text
    assert len([it for it in events if it.text]) > 3
    assert [type(it.event).__name__ for it in events if not it.text] == [
        "MessageStart",
        "ContentBlockStart",
        "ContentBlockStop",
        "MessageDelta",
        "MessageStop",
    ]
    assert said(turn) == [text]


async def test_tool_call_is_streamed_as_json_and_ends_its_message() -> None:
    turn = await Talk(SimulatedCLI(use_make, argv=STREAMED), {wire.CanUseTool: allow}).turn("go")
    events = [it.event for it in only(turn, wire.StreamEvent)]
    deltas = [it.delta for it in events if isinstance(it, wire.ContentBlockDelta)]
    written = "".join(it.partial_json for it in deltas if isinstance(it, wire.InputJsonDelta))
    assert written == '{"command":"make"}'
    reasons = [it.delta.stop_reason for it in events if isinstance(it, wire.MessageDelta)]
    assert reasons == ["tool_use", "end_turn"]


# --- tools ----------------------------------------------------------------------------------------


async def test_allowed_tool_runs_and_its_result_reaches_the_model() -> None:
    turn = await Talk(SimulatedCLI(use_make), {wire.CanUseTool: allow}).turn("go")
    (asked,) = bodies(turn, wire.CanUseTool)
    (call,) = [it for it in only(turn, wire.AssistantMessage) if not it.text]
    assert call.content == [wire.ToolUseBlock(asked.tool_use_id or "", "Bash", MAKE)]
    (result,) = tool_results(turn)
    assert (result.tool_use_id, result.content) == (asked.tool_use_id, "ran make")
    assert said(turn) == ["True: ran make"]
    assert (turn[-1].num_turns, turn[-1].permission_denials) == (2, [])


async def test_denied_tool_reaches_the_model_with_its_reason() -> None:
    turn = await Talk(SimulatedCLI(use_make), deny("not on a Sunday")).turn("go")
    (result,) = tool_results(turn)
    assert (result.content, result.is_error) == ("not on a Sunday", True)
    assert said(turn) == ["False: not on a Sunday"]
    assert [it.tool_name for it in turn[-1].permission_denials] == ["Bash"]
    assert turn[-1].ok


async def test_denial_with_interrupt_ends_the_turn_and_the_scenario() -> None:
    cleaned: list[bool] = []

    async def play(chat: Chat) -> None:
        try:
            await use_make(chat)
        finally:
            cleaned.append(True)

    turn = await Talk(SimulatedCLI(play), deny("secret", interrupt=True)).turn("go")
    assert (said(turn), cleaned) == ([], [True])
    assert "doesn't want to proceed" in told(turn)[0]
    assert not any(b"secret" in it.line for it in turn)
    assert turn[-1].terminal_reason == "aborted_tools"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ValueError("the callback crashed"), "the callback crashed"),
        ({"behavior": "maybe"}, "invalid permission result"),
        (None, "invalid permission result"),
    ],
)
async def test_invalid_answer_denies_the_tool(answer: Any, message: str) -> None:
    def serve(body: wire.CanUseTool) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    turn = await Talk(SimulatedCLI(use_make), {wire.CanUseTool: serve}).turn("go")
    assert tool_results(turn)[0].is_error
    assert message in told(turn)[0]


async def test_exception_of_a_tool_is_its_error() -> None:
    async def play(chat: Chat) -> None:
        outcome = await chat.use("TodoWrite", {}, run=lambda _: 1 / 0)
        await chat.say(f"{outcome.allowed} {outcome.is_error} {outcome.text}")

    turn = await Talk(SimulatedCLI(play)).turn("go")
    assert said(turn) == ["True True Error: division by zero"]
    assert tool_results(turn)[0].is_error


async def test_tool_may_be_async_and_return_anything() -> None:
    async def run(input: dict[str, Any]) -> Any:
        return {"lines": [1, 2]}

    async def play(chat: Chat) -> None:
        await chat.use("TodoWrite", {}, run=run)
        await chat.use("TodoWrite", {}, result=[{"type": "text", "text": "a"}])

    turn = await Talk(SimulatedCLI(play)).turn("go")
    assert told(turn) == ['{"lines":[1,2]}', "a"]
    assert only(turn, wire.UserMessage)[0].tool_use_result == {"lines": [1, 2]}


async def test_several_tools_of_one_message_run_in_order() -> None:
    async def play(chat: Chat) -> None:
        calls = (ToolCall("Bash", {"command": it}, result=it) for it in ("one", "two"))
        await chat.use_all(*calls)

    turn = await Talk(SimulatedCLI(play), {wire.CanUseTool: allow}).turn("go")
    assert len({it.message_id for it in only(turn, wire.AssistantMessage)}) == 1
    assert told(turn) == ["one", "two"]


@simulated_time
async def test_tool_takes_its_seconds() -> None:
    async def play(chat: Chat) -> None:
        await chat.use("TodoWrite", {}, seconds=90)

    turn = await Talk(SimulatedCLI(play), patience=3600).turn("go")
    assert turn[-1].duration_ms == pytest.approx(90_000, abs=1)


# --- questions and plans --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"answers": {"Which colour?": "Green"}}, '"Which colour?"="Green"'),
        ({"answers": {"Which colour?": ["Red", "Green"]}}, '"Which colour?"="Red,Green"'),
        ({"answers": {}}, "did not answer"),
        ({"response": "Blue!"}, "The user responded: Blue!"),
        ({"annotations": {"Which colour?": {"notes": "any"}}}, "(no option selected) notes: any"),
    ],
)
async def test_answer_to_a_question_reaches_the_model(given: Any, words: str) -> None:
    async def play(chat: Chat) -> None:
        await chat.ask([QUESTION])

    def answer(body: wire.CanUseTool) -> wire.PermissionResultAllow:
        return wire.PermissionResultAllow({**body.input, **given})

    talk = Talk(SimulatedCLI(play, argv=["--permission-mode", "bypassPermissions"]))
    talk.serve[wire.CanUseTool] = answer
    turn = await talk.turn("go")
    (asked,) = bodies(turn, wire.CanUseTool)
    assert (asked.tool_name, asked.input) == ("AskUserQuestion", {"questions": [QUESTION]})
    assert asked.requires_user_interaction
    assert words in told(turn)[0]


async def test_approved_plan_ends_the_plan_mode() -> None:
    async def play(chat: Chat) -> None:
        await chat.use("ExitPlanMode", {"plan": "First this, then that."}, result="Approved")
        await chat.say(chat.session.mode)

    talk = Talk(SimulatedCLI(play, argv=["--permission-mode", "plan"]), deny("too long"))
    turn = await talk.turn("go")
    assert bodies(turn, wire.CanUseTool)[0].input == {"plan": "First this, then that."}
    assert (told(turn), said(turn)) == (["too long"], ["plan"])
    talk.serve[wire.CanUseTool] = allow
    turn = await talk.turn("go")
    assert (told(turn), said(turn)) == (["Approved"], ["default"])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (wire.ElicitationResult("accept", {"name": "Ann"}), "accept {'name': 'Ann'}"),
        (wire.ElicitationResult("decline"), "decline None"),
        ("nonsense", "cancel None"),
    ],
)
async def test_server_asks_the_user(answer: Any, words: str) -> None:
    async def play(chat: Chat) -> None:
        outcome = await chat.elicit("forms", "Who are you?", {"type": "object"})
        await chat.say(f"{outcome.action} {outcome.content}")

    turn = await Talk(SimulatedCLI(play), {wire.Elicitation: lambda body: answer}).turn("go")
    (asked,) = bodies(turn, wire.Elicitation)
    assert (asked.mcp_server_name, asked.message) == ("forms", "Who are you?")
    assert said(turn) == [words]


# --- other events of a turn -----------------------------------------------------------------------


async def test_compaction_is_announced_and_leaves_a_boundary() -> None:
    async def play(chat: Chat) -> None:
        await chat.compact("manual", before=1234)

    turn = await Talk(SimulatedCLI(play)).turn("go")
    assert [it.status for it in only(turn, wire.StatusMessage)] == ["compacting", None]
    (boundary,) = only(turn, wire.CompactBoundaryMessage)
    assert boundary.compact_metadata is not None
    assert boundary.compact_metadata.trigger == "manual"
    assert boundary.compact_metadata.pre_tokens == 1234


@simulated_time
async def test_retry_reports_a_failure_of_the_api_and_waits() -> None:
    async def play(chat: Chat) -> None:
        await chat.retry(429, 2)
        await chat.say("Here I am.")

    turn = await Talk(SimulatedCLI(play), patience=3600).turn("go")
    (retry,) = only(turn, wire.APIRetryMessage)
    assert (retry.error_status, retry.error, retry.retry_delay_ms) == (429, "rate_limit", 2000)
    assert turn[-1].ok
    assert turn[-1].duration_ms == pytest.approx(2000, abs=1)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, "unknown", "invalid_request_error"),
        (401, "authentication_failed", "authentication_error"),
        (404, "model_not_found", "not_found_error"),
        (429, "rate_limit", "rate_limit_error"),
        (529, "server_error", "overloaded_error"),
    ],
)
async def test_error_of_the_api_ends_the_turn(status: int, error: str, kind: str) -> None:
    async def play(chat: Chat) -> None:
        await chat.fail("no way", status)

    turn = await Talk(SimulatedCLI(play)).turn("go")
    (message,) = only(turn, wire.AssistantMessage)
    assert (message.raw["error"], message.raw["api_error_type"]) == (error, kind)
    result = turn[-1]
    assert (result.subtype, result.is_error) == ("success", True)
    assert (result.api_error_status, result.terminal_reason) == (status, "api_error")
    assert said(turn) == [result.result] == [f"API Error: {status} no way"]


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("Your credit balance is too low", "billing_error", "api_error"),
        ("Prompt is too long", "invalid_request", "prompt_too_long"),
    ],
)
async def test_error_of_the_api_is_named_by_its_text(text: str, error: str, reason: str) -> None:
    async def play(chat: Chat) -> None:
        await chat.fail(text)

    turn = await Talk(SimulatedCLI(play)).turn("go")
    (message,) = only(turn, wire.AssistantMessage)
    assert (message.raw["error"], turn[-1].terminal_reason) == (error, reason)


@pytest.mark.parametrize(
    ("end", "subtype", "reason"),
    [
        (Chat.reach_max_turns, "error_max_turns", "max_turns"),
        (Chat.exhaust_budget, "error_max_budget_usd", "budget_exhausted"),
    ],
)
async def test_turn_ends_at_a_limit(end: Any, subtype: str, reason: str) -> None:
    async def play(chat: Chat) -> None:
        end(chat)

    result = (await Talk(SimulatedCLI(play)).turn("go"))[-1]
    assert (result.subtype, result.terminal_reason) == (subtype, reason)
    assert (result.is_error, result.result) == (True, None)


async def test_structured_output_is_in_the_result() -> None:
    async def play(chat: Chat) -> None:
        await chat.say("Green.")
        chat.output({"colour": "green"})

    turn = await Talk(SimulatedCLI(play)).turn("go")
    assert turn[-1].structured_output == {"colour": "green"}
    assert turn[-1].result == '{"colour":"green"}'


# --- wrong scenarios and interrupts ---------------------------------------------------------------


async def test_exception_of_a_scenario_fails_the_turn_with_traceback() -> None:
    async def play(chat: Chat) -> None:
        raise KeyError("typo")

    cli = SimulatedCLI(play)
    talk = Talk(cli)
    result = (await talk.turn("go"))[-1]
    assert (result.subtype, result.errors) == ("error_during_execution", ["KeyError: 'typo'"])
    assert await talk.end() == 1
    stderr = await talk.stderr()
    assert stderr.startswith("The scenario failed.\nTraceback")
    assert 'raise KeyError("typo")' in stderr
    assert [type(it) for it in cli.failures] == [KeyError]


async def test_assertion_in_a_tool_is_a_failure_of_the_scenario() -> None:
    def check(input: dict[str, Any]) -> None:
        raise AssertionError("another input")

    async def play(chat: Chat) -> None:
        await chat.use("TodoWrite", {}, run=check)

    cli = SimulatedCLI(play)
    await Talk(cli).turn("go")
    assert [str(it) for it in cli.failures] == ["another input"]


async def test_scenario_can_await_methods_of_its_chat_only() -> None:
    async def play(chat: Chat) -> None:
        await asyncio.sleep(0)

    result = (await Talk(SimulatedCLI(play)).turn("go"))[-1]
    assert "such as chat.sleep()" in result.errors[0]


async def test_interrupt_closes_the_open_message_and_its_costs_count() -> None:
    async def play(chat: Chat) -> None:
        await chat.say("Half of it")
        await chat.sleep(3600)

    talk = Talk(SimulatedCLI(play, argv=STREAMED))
    await talk.say(wire.UserMessage.of("go"))
    await talk.until(lambda it: isinstance(it, wire.AssistantMessage))
    await talk.ask(wire.Interrupt())
    turn = await talk.until_result(0)
    names = [type(it.event).__name__ for it in only(turn, wire.StreamEvent)]
    assert names[-2:] == ["MessageDelta", "MessageStop"]
    (result,) = only(turn, wire.ResultMessage)
    assert result.terminal_reason == "aborted_streaming"
    assert result.total_cost_usd is not None
    assert result.total_cost_usd > 0
