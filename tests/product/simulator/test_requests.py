"""Requests of the SDK, and prompts that meet them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import Talk, bodies, kinds, only, said, told

from claudewire import wire
from claudewire.simulator import Chat, SimulatedCLI

pytestmark = pytest.mark.anyio

NAMED = "claudewire-sim: accepted, but not simulated: {}"

ONE = "00000000-0000-4000-8000-000000000001"


async def make(chat: Chat) -> None:
    await chat.use("Bash", {"command": "make"}, result="made", seconds=3600)


async def speak(chat: Chat) -> None:
    await chat.say(f"{chat.text}.")
    if chat.text == "wait":
        await chat.sleep(3600)


# --- interrupts -----------------------------------------------------------------------------------


async def test_interrupt_withdraws_a_pending_permission_first() -> None:
    talk = Talk(SimulatedCLI(make))
    await talk.say(wire.UserMessage.of("go"))
    asked, _ = await talk.request(wire.CanUseTool)
    since = len(talk.heard)
    await talk.ask(wire.Interrupt())
    too_late = {"subtype": "success", "request_id": asked, "response": {"behavior": "allow"}}
    await talk.write(json.dumps({"type": "control_response", "response": too_late}).encode())
    turn = await talk.until_result(since)
    assert kinds(turn) == [
        "control_cancel_request",
        "control_response",
        "user",
        "user",
        "result/error_during_execution",
    ]
    assert turn[3].text == "[Request interrupted by user for tool use]"
    assert [it.tool_name for it in turn[-1].permission_denials] == ["Bash"]


async def test_interrupt_of_a_running_tool_says_that_it_may_have_run() -> None:
    talk = Talk(SimulatedCLI(make, argv=["--allowedTools=Bash"]))
    await talk.say(wire.UserMessage.of("go"))
    await talk.until(lambda it: isinstance(it, wire.AssistantMessage))
    await talk.ask(wire.Interrupt())
    result = (await talk.until_result(0))[-1]
    assert "stopped while running" in told(talk.heard)[0]
    assert (result.terminal_reason, result.permission_denials) == ("aborted_tools", [])


async def test_interrupt_of_an_idle_session_succeeds() -> None:
    talk = Talk(SimulatedCLI(speak))
    answer: Any = await talk.ask(wire.Interrupt())
    assert answer.body.still_queued == []
    assert said(await talk.turn("hello")) == ["hello."]


@pytest.mark.parametrize("cancel", [False, True])
async def test_interrupt_keeps_or_cancels_queued_prompts(cancel: bool) -> None:
    talk = Talk(SimulatedCLI(speak))
    await talk.say(wire.UserMessage.of("wait"))
    await talk.until(lambda it: isinstance(it, wire.AssistantMessage))
    await talk.say(wire.UserMessage.of("queued", uuid=ONE))
    answer: Any = await talk.ask(wire.Interrupt(cancel_queued=cancel or None))
    kept, dropped = ([], [ONE]) if cancel else ([ONE], None)
    assert (answer.body.still_queued, answer.body.cancelled) == (kept, dropped)
    await talk.end()
    assert len(only(talk.heard, wire.ResultMessage)) == (1 if cancel else 2)


async def test_queued_prompt_can_be_cancelled_alone() -> None:
    talk = Talk(SimulatedCLI(speak))
    await talk.say(wire.UserMessage.of("wait"))
    await talk.until(lambda it: isinstance(it, wire.AssistantMessage))
    await talk.say(wire.UserMessage.of("queued", uuid=ONE))
    answers: list[Any] = [await talk.ask(wire.CancelAsyncMessage(ONE)) for _ in range(2)]
    assert [it.body.cancelled for it in answers] == [True, False]


async def test_prompt_during_a_tool_is_answered_in_the_same_turn() -> None:
    async def play(chat: Chat) -> None:
        if chat.text == "one":
            await chat.use("TodoWrite", {}, seconds=0.01)
        await chat.say(f"{chat.text}!")

    talk = Talk(SimulatedCLI(play))
    await talk.say(wire.UserMessage.of("one"))
    await talk.say(wire.UserMessage.of("two"))
    await talk.end()
    assert said(talk.heard) == ["one!", "two!"]
    assert len(only(talk.heard, wire.ResultMessage)) == 1


async def test_prompts_at_once_have_their_turns_in_order() -> None:
    talk = Talk(SimulatedCLI(speak))
    for prompt in ("one", "two", "three"):
        await talk.say(wire.UserMessage.of(prompt))
    await talk.end()
    assert [it.result for it in only(talk.heard, wire.ResultMessage)] == ["one.", "two.", "three."]


# --- settings of the session ----------------------------------------------------------------------


async def test_mode_is_set_announced_and_holds() -> None:
    async def write(chat: Chat) -> None:
        await chat.use("Write", {"file_path": "a"})

    talk = Talk(SimulatedCLI(write))
    answer: Any = await talk.ask(wire.SetPermissionMode("acceptEdits"))
    assert answer.body.mode == "acceptEdits"
    turn = await talk.turn("go")
    assert only(talk.heard, wire.StatusMessage)[0].permission_mode == "acceptEdits"
    assert only(turn, wire.InitMessage)[0].permission_mode == "acceptEdits"
    assert bodies(turn, wire.CanUseTool) == []


@pytest.mark.parametrize(
    ("argv", "answered"),
    [([], wire.Failure), (["--allow-dangerously-skip-permissions"], wire.Answer)],
)
async def test_bypass_mode_needs_a_flag_at_the_start(argv: list[str], answered: type) -> None:
    talk = Talk(SimulatedCLI(argv=argv))
    assert isinstance(await talk.ask(wire.SetPermissionMode("bypassPermissions")), answered)


async def test_model_is_set_by_its_short_name_and_reset() -> None:
    talk = Talk(SimulatedCLI(speak, argv=["--model", "sonnet"]))
    models = []
    for name in ("haiku", "claude-x", None):
        answer: Any = await talk.ask(wire.SetModel(name))
        (init,) = only(await talk.turn("hi"), wire.InitMessage)
        assert answer.body.model == init.model
        models.append(init.model)
    assert models == ["claude-haiku-5-5", "claude-x", "claude-sonnet-5-5"]


async def test_settings_are_reported_with_their_sources() -> None:
    settings = {"model": "haiku", "permissions": {"deny": ["Bash"]}}
    talk = Talk(SimulatedCLI(argv=["--settings", json.dumps(settings)]))
    answer: Any = await talk.ask(wire.GetSettings())
    assert answer.body.effective == settings
    assert [it.source for it in answer.body.sources] == ["flagSettings"]
    assert answer.body.applied["model"] == "claude-haiku-5-5"


async def test_title_is_announced() -> None:
    talk = Talk(SimulatedCLI())
    assert isinstance(await talk.ask(wire.RenameSession("My title")), wire.Answer)
    assert "system/session_title_changed" in kinds(talk.heard)


async def test_facts_about_the_cli_are_answered(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text", "utf-8")
    talk = Talk(SimulatedCLI(cwd=tmp_path))
    facts: list[tuple[Any, Callable[[Any], Any], Any]] = [
        (wire.GetBinaryVersion(), lambda body: body.version, "2.1.325"),
        (wire.ListModels(), lambda body: "haiku" in [it.value for it in body.models], True),
        (wire.GetContextUsage(), lambda body: body.total_tokens > 0, True),
        (wire.ReadFile("a.txt", 4), lambda body: (body.contents, body.truncated), ("some", True)),
        (wire.ReadFile("a.txt", None, "base64"), lambda body: body.contents, "c29tZSB0ZXh0"),
    ]
    for request, fact, expected in facts:
        answer: Any = await talk.ask(request)
        assert fact(answer.body) == expected


@pytest.mark.parametrize(
    "request_", [wire.ReadFile("none"), wire.McpReconnect("none"), wire.RewindFiles("x")]
)
async def test_request_for_something_missing_fails(request_: Any) -> None:
    assert isinstance(await Talk(SimulatedCLI()).ask(request_), wire.Failure)


async def test_unsimulated_request_is_accepted_and_named_once() -> None:
    talk = Talk(SimulatedCLI())
    for body in (wire.GetUsage(), wire.GetUsage(), wire.ApplyFlagSettings({"model": "x"})):
        assert isinstance(await talk.ask(body), wire.Answer)
    await talk.end()
    assert (await talk.stderr()).splitlines() == [
        NAMED.format("get_usage"),
        NAMED.format("apply_flag_settings"),
    ]
    strict = Talk(SimulatedCLI(strict=True))
    assert isinstance(await strict.ask(wire.GetUsage()), wire.Failure)


async def test_hooks_that_are_never_called_are_named() -> None:
    talk = Talk(SimulatedCLI())
    await talk.initialize(hooks={it: [wire.HookMatcher(["h"])] for it in ("Stop", "SessionEnd")})
    await talk.end()
    assert (await talk.stderr()).strip() == NAMED.format("hooks for SessionEnd")


async def test_end_session_drops_the_queue_and_exits() -> None:
    talk = Talk(SimulatedCLI(make))
    await talk.say(wire.UserMessage.of("go"))
    await talk.request(wire.CanUseTool)
    await talk.say(wire.UserMessage.of("queued"))
    assert isinstance(await talk.ask(wire.EndSession()), wire.Answer)
    assert await talk.rest() == 0
    assert len(only(talk.heard, wire.ResultMessage)) == 1
