"""Hooks of the SDK and of settings, and their effect on the turn."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.clock import simulated_time
from tests.helpers.talk import (
    Talk,
    allow,
    bodies,
    hook_inputs,
    hooks_say,
    kinds,
    only,
    said,
    told,
)
from tests.helpers.text_mode import run_text

from claudewire import wire
from claudewire.simulator import Chat, SimulatedCLI

pytestmark = pytest.mark.anyio

Scene = Callable[[Chat], Awaitable[Any]]


async def use_make(chat: Chat) -> None:
    given = {"command": "make"}
    outcome = await chat.use("Bash", given, run=lambda input: f"ran {input['command']}")
    await chat.say(f"{outcome.allowed}: {outcome.text}")


def matchers(event: str, **fields: Any) -> dict[str, list[wire.HookMatcher]]:
    return {event: [wire.HookMatcher(["hook_0"], **fields)]}


def pre(**fields: Any) -> wire.HookOutput:
    return wire.HookOutput(hook_specific_output=wire.PreToolUseHookSpecificOutput(**fields))


async def hooked(
    play: Scene, hooks: dict[str, list[wire.HookMatcher]], output: Any = None, *argv: str
) -> Talk:
    serve = {**hooks_say(hook_0=output or wire.HookOutput()), wire.CanUseTool: allow}
    talk = Talk(SimulatedCLI(play, argv=argv), serve)
    await talk.initialize(hooks=hooks)
    return talk


# --- before and after tools -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "output",
    [
        wire.HookOutput(decision="block", reason="too late"),
        pre(permission_decision="deny", permission_decision_reason="too late"),
    ],
    ids=["old", "new"],
)
async def test_pre_tool_hook_denies_the_tool(output: wire.HookOutput) -> None:
    turn = await (await hooked(use_make, matchers("PreToolUse"), output)).turn("go")
    assert [it.tool_name for it in hook_inputs(turn)] == ["Bash"]
    assert bodies(turn, wire.CanUseTool) == []
    assert "too late" in told(turn)[0]
    assert [it.tool_name for it in turn[-1].permission_denials] == ["Bash"]


async def test_pre_tool_hook_allows_without_asking() -> None:
    talk = await hooked(use_make, matchers("PreToolUse"), pre(permission_decision="allow"))
    turn = await talk.turn("go")
    assert bodies(turn, wire.CanUseTool) == []
    assert told(turn) == ["ran make"]


async def test_pre_tool_hook_asks_against_an_allow_rule() -> None:
    output = pre(permission_decision="ask")
    talk = await hooked(use_make, matchers("PreToolUse"), output, "--allowedTools=Bash")
    assert len(bodies(await talk.turn("go"), wire.CanUseTool)) == 1


async def test_pre_tool_hook_changes_the_input() -> None:
    output = pre(updated_input={"command": "make -n"})
    turn = await (await hooked(use_make, matchers("PreToolUse"), output)).turn("go")
    assert [it.input for it in bodies(turn, wire.CanUseTool)] == [{"command": "make -n"}]
    assert told(turn) == ["ran make -n"]


async def test_post_tool_hook_sees_the_result_and_adds_context() -> None:
    added = wire.PostToolUseHookSpecificOutput(additional_context="It took long.")
    output = wire.HookOutput(hook_specific_output=added)
    turn = await (await hooked(use_make, matchers("PostToolUse"), output)).turn("go")
    assert "ran make" in str(hook_inputs(turn)[0].tool_response)
    assert said(turn) == ["True: ran make\nIt took long."]


async def test_failure_of_a_tool_has_its_own_hook() -> None:
    async def play(chat: Chat) -> None:
        await chat.use("TodoWrite", {}, run=lambda _: 1 / 0)

    talk = await hooked(play, matchers("PostToolUseFailure"))
    (input,) = hook_inputs(await talk.turn("go"))
    assert "division by zero" in input.error


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
async def test_hook_ends_the_turn_after_the_tool(event: str) -> None:
    talk = await hooked(use_make, matchers(event), wire.HookOutput(continue_=False))
    turn = await talk.turn("go")
    assert (told(turn), said(turn)) == (["ran make"], [])
    assert turn[-1].terminal_reason == "hook_stopped"


# --- prompts and ends -----------------------------------------------------------------------------


async def test_prompt_hook_refuses_the_prompt() -> None:
    async def play(chat: Chat) -> None:
        await chat.say(f"Hello {len(chat.session.history)}")

    output = wire.HookOutput(decision="block", reason="no politics")
    talk = await hooked(play, matchers("UserPromptSubmit"), output)
    turn = await talk.turn("who will win?")
    assert [it.prompt for it in hook_inputs(turn)] == ["who will win?"]
    assert said(turn) == []
    assert "no politics" in turn[-1].result
    assert only(turn, wire.InformationalMessage)[0].level == "warning"
    talk.serve |= hooks_say(hook_0=wire.HookOutput())
    assert said(await talk.turn("hello")) == ["Hello 1"]


async def test_stop_hook_keeps_the_agent_going() -> None:
    async def play(chat: Chat) -> None:
        await chat.say(f"Done: {chat.text}")

    talk = await hooked(play, matchers("Stop"))
    outputs = [wire.HookOutput(decision="block", reason="not yet"), wire.HookOutput()]
    talk.serve[wire.HookCallback] = lambda body: outputs.pop(0)
    turn = await talk.turn("go")
    assert [it.stop_hook_active for it in hook_inputs(turn)] == [False, True]
    first, second = said(turn)
    assert first == "Done: go"
    assert "not yet" in second
    assert len(only(turn, wire.ResultMessage)) == 1


async def test_scenario_fires_any_hook() -> None:
    async def play(chat: Chat) -> None:
        await chat.hook("Notification", message="look here", notification_type="idle")

    talk = await hooked(play, matchers("Notification"))
    assert [it.message for it in hook_inputs(await talk.turn("go"))] == ["look here"]


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("on_failure", "runs"), [(None, True), ("block", False)])
async def test_failing_hook_warns_or_blocks(on_failure: str | None, runs: bool) -> None:
    hooks = matchers("PreToolUse", on_failure=on_failure)
    turn = await (await hooked(use_make, hooks, ValueError("broken"))).turn("go")
    assert "broken" in (only(turn, wire.InformationalMessage)[0].content or "")
    assert (told(turn) == ["ran make"]) is runs


@simulated_time
@pytest.mark.parametrize(("timeout", "seconds"), [(5, 5), (None, 60)])
async def test_slow_hook_is_withdrawn_and_its_tool_denied(
    timeout: int | None, seconds: int
) -> None:
    talk = Talk(SimulatedCLI(use_make), patience=3600)
    await talk.initialize(hooks=matchers("PreToolUse", timeout=timeout))
    turn = await talk.turn("go")
    (call,) = [it for it in turn if kinds([it]) == ["control_request"]]
    assert [it.id for it in only(turn, wire.Cancel)] == [call.id]
    assert "did not respond before its timeout" in told(turn)[0]
    assert turn[-1].duration_ms == pytest.approx(seconds * 1000, abs=1)


async def test_end_of_input_passes_over_a_pending_hook() -> None:
    talk = Talk(SimulatedCLI(use_make, argv=["--allowed-tools", "Bash"]))
    await talk.initialize(hooks=matchers("PreToolUse"))
    await talk.say(wire.UserMessage.of("go"))
    await talk.request(wire.HookCallback)
    assert await talk.end() == 0
    assert told(talk.heard) == ["ran make"]


# --- hooks that decide on permissions -------------------------------------------------------------


def decided(decision: Any) -> wire.HookOutput:
    return wire.HookOutput(hook_specific_output=wire.PermissionRequestHookSpecificOutput(decision))


async def permission_and_hook() -> tuple[Talk, str, str]:
    talk = Talk(SimulatedCLI(use_make))
    await talk.initialize(hooks=matchers("PermissionRequest"))
    await talk.say(wire.UserMessage.of("go"))
    asked, _ = await talk.request(wire.CanUseTool)
    hook, _ = await talk.request(wire.HookCallback, 0)
    return talk, asked, hook


async def test_permission_hook_decides_before_the_person() -> None:
    talk, asked, hook = await permission_and_hook()
    await talk.say(wire.Answer(hook, decided(wire.PermissionResultAllow({"command": "make it"}))))
    turn = await talk.until_result()
    assert [it.id for it in only(turn, wire.Cancel)] == [asked]
    assert told(turn) == ["ran make it"]


async def test_person_decides_before_the_permission_hook() -> None:
    talk, asked, hook = await permission_and_hook()
    await talk.say(wire.Answer(asked, wire.PermissionResultDeny("no")))
    turn = await talk.until_result()
    assert [it.id for it in only(turn, wire.Cancel)] == [hook]
    assert told(turn) == ["no"]
    assert await talk.end() == 0


async def test_end_of_input_denies_a_pending_permission() -> None:
    talk, _, _ = await permission_and_hook()
    assert await talk.end() == 0
    assert told(talk.heard) == ["Tool permission stream closed before response received"]


# --- commands -------------------------------------------------------------------------------------


def run_with_hook(event: str, command: str, folder: Path, **hook: Any) -> str:
    """Return the words of an agent that uses a tool, with a command that is a hook."""
    given = {"type": "command", "command": command, **hook}
    settings = {"hooks": {event: [{"hooks": [given]}]}, "env": {"FROM_SETTINGS": "1"}}
    argv = ["-p", "go", "--allowedTools=Bash", "--settings", json.dumps(settings)]

    async def play(chat: Chat) -> None:
        outcome = await chat.use("Bash", {"command": "make"}, result="made")
        await chat.say(f"{chat.text}: {outcome.text}")

    return run_text(play, *argv, cwd=folder, env={"PATH": "/usr/bin:/bin"}).stdout


@pytest.mark.parametrize(
    ("event", "command", "words"),
    [
        ("PreToolUse", "echo not now >&2; exit 2", "not now"),
        ("PreToolUse", """echo '{"decision": "block", "reason": "by json"}'""", "by json"),
        ("PreToolUse", "exit 1", "go: made"),
        ("PreToolUse", "echo no json", "go: made"),
        ("UserPromptSubmit", "echo remember; pwd >/dev/null", "go\n\nremember: made"),
        ("PreToolUse", 'grep -q Bash && [ "$FROM_SETTINGS" = 1 ] && exit 2', "No stderr output"),
    ],
)
def test_command_hook_decides_by_status_and_output(
    event: str, command: str, words: str, tmp_path: Path
) -> None:
    assert words in run_with_hook(event, command, tmp_path)


def test_slow_command_hook_blocks_nothing(tmp_path: Path) -> None:
    assert run_with_hook("PreToolUse", "sleep 60", tmp_path, timeout=0.1) == "go: made\n"
