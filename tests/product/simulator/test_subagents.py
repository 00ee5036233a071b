"""Subagents and tasks in the background."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import (
    Talk,
    allow,
    bodies,
    hooks_say,
    only,
    said,
    told,
    tool_results,
)

from claudewire import wire
from claudewire.simulator import Chat, SimulatedCLI

pytestmark = pytest.mark.anyio

Scene = Callable[[Chat], Awaitable[Any]]


async def look(chat: Chat) -> None:
    await chat.say("I saw it.")


async def work(chat: Chat) -> None:
    await chat.use("Bash", {"command": "make"}, result="made")
    await chat.say(f"I did {chat.text}.")


def delegate(scene: Scene, *, background: bool = False) -> Scene:
    async def play(chat: Chat) -> None:
        if chat.prompt is not None:
            await chat.subagent("Explore", "look around", scene, background=background)
        await chat.say("Done." if chat.text else "I was told.")

    return play


def of_subagents(turn: list[Any]) -> list[Any]:
    return [it for it in turn if getattr(it, "parent_tool_use_id", None)]


# --- subagents ------------------------------------------------------------------------------------


async def test_subagent_reports_to_the_call_that_started_it() -> None:
    talk = Talk(SimulatedCLI(delegate(work), argv=["--include-partial-messages"]))
    talk.serve |= {wire.CanUseTool: allow, **hooks_say(hook=wire.HookOutput())}
    events = ("PreToolUse", "SubagentStart", "SubagentStop", "PostToolUse")
    await talk.initialize(
        hooks={it: [wire.HookMatcher(["hook"], "Agent|Explore")] for it in events}
    )
    turn = await talk.turn("go")
    (block,) = only(turn, wire.AssistantMessage)[0].content
    assert isinstance(block, wire.ToolUseBlock)
    assert (block.name, block.input["subagent_type"]) == ("Agent", "Explore")
    inner = of_subagents(turn)
    (started,) = only(turn, wire.TaskStartedMessage)
    assert {it.parent_tool_use_id for it in inner} == {block.id}
    assert {it.agent_id for it in inner} == {started.task_id}
    assert (said(inner), told(inner), only(inner, wire.StreamEvent)) == ([], ["made"], [])
    (handed_back,) = told([it for it in turn if it not in inner])
    assert "\n  I did look around.\n" in handed_back
    assert only(turn, wire.TaskProgressMessage)[0].last_tool_name == "Bash"
    assert only(turn, wire.TaskNotificationMessage)[0].summary == "I did look around."
    called = [type(it.input).__name__ for it in bodies(turn, wire.HookCallback)]
    assert called == [f"{event}HookInput" for event in events]
    assert bodies(turn, wire.CanUseTool)[0].agent_id == started.task_id


async def test_subagent_of_an_unknown_type_is_an_error_of_the_tool() -> None:
    async def play(chat: Chat) -> None:
        await chat.subagent("nobody", "look around", look)

    turn = await Talk(SimulatedCLI(play, argv=["--allowedTools=Agent"])).turn("go")
    known = "general-purpose, Explore, Plan"
    assert told(turn) == [f"Agent type 'nobody' not found. Available agents: {known}"]


async def test_subagent_has_only_the_tools_of_its_type(tmp_path: Path) -> None:
    file = tmp_path / ".claude/agents/Explore.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\ntools: Read, Grep\n---\nLook.", "utf-8")
    cli = SimulatedCLI(delegate(work), argv=["--allowedTools=Agent,Bash"], cwd=tmp_path)
    turn = of_subagents(await Talk(cli).turn("go"))
    assert "No such tool available: Bash" in told(turn)[0]


async def test_rule_denies_a_subagent() -> None:
    turn = await Talk(SimulatedCLI(delegate(look), argv=["--disallowedTools=Agent"])).turn("go")
    assert "No such tool available: Agent" in told(turn)[0]
    assert only(turn, wire.TaskStartedMessage) == []


@pytest.mark.parametrize("by", ["flag", "initialize"])
async def test_words_of_a_subagent_are_forwarded_on_request(by: str) -> None:
    argv = ["--forward-subagent-text"] if by == "flag" else []
    talk = Talk(SimulatedCLI(delegate(look), argv=argv))
    await talk.initialize(forward_subagent_text=by == "initialize")
    assert said(of_subagents(await talk.turn("go"))) == ["I saw it."]


async def test_old_version_forwards_words_and_reports_no_progress() -> None:
    turn = await Talk(SimulatedCLI(delegate(look), version="2.1.17")).turn("go")
    assert only(turn, wire.SystemMessage) == only(turn, wire.InitMessage)
    (block,) = only(turn, wire.AssistantMessage)[0].content
    assert isinstance(block, wire.ToolUseBlock)
    assert block.name == "Task"
    inner = of_subagents(turn)
    assert said(inner) == ["I saw it."]
    assert told([it for it in turn if it not in inner]) == ["I saw it."]


async def test_denial_in_a_subagent_is_in_the_result() -> None:
    talk = Talk(
        SimulatedCLI(delegate(work)),
        {wire.CanUseTool: lambda body: wire.PermissionResultDeny("no")},
    )
    turn = await talk.turn("go")
    assert [it.tool_name for it in turn[-1].permission_denials] == ["Bash"]


async def test_interrupt_in_a_subagent_stops_its_call() -> None:
    deny = wire.PermissionResultDeny(interrupt=True)
    talk = Talk(SimulatedCLI(delegate(work)), {wire.CanUseTool: lambda body: deny})
    turn = await talk.turn("go")
    (call,) = only(turn, wire.AssistantMessage)[0].content
    assert isinstance(call, wire.ToolUseBlock)
    assert call.id in [it.tool_use_id for it in tool_results(turn)]
    # The call that started it ran already: it was stopped, and not denied.
    assert turn[-1].permission_denials == []
    assert turn[-1].terminal_reason == "aborted_tools"


async def test_api_error_of_a_subagent_is_the_error_of_its_call() -> None:
    async def fail(chat: Chat) -> None:
        await chat.fail("overloaded", 529)

    turn = await Talk(SimulatedCLI(delegate(fail))).turn("go")
    (result,) = tool_results(turn)
    assert result.is_error
    assert "API Error: 529 overloaded" in told(turn)[0]
    assert turn[-1].result == "Done."


# --- in the background ----------------------------------------------------------------------------


async def test_background_subagent_reports_in_a_separate_turn() -> None:
    talk = Talk(SimulatedCLI(delegate(look, background=True)))
    await talk.turn("go")
    unasked = await talk.until_result()
    (launched,) = told(talk.heard)
    assert launched.startswith("Async agent launched successfully.")
    assert sorted(said(talk.heard)) == ["Done.", "I saw it.", "I was told."]
    (started,) = only(talk.heard, wire.TaskStartedMessage)
    assert started.is_backgrounded
    changes = only(talk.heard, wire.BackgroundTasksChangedMessage)
    assert [[it.task_id for it in each.tasks] for each in changes] == [[started.task_id], []]
    assert unasked[-1].origin.run_id == started.run_id
    assert await talk.end() == 0


async def test_stopped_background_subagent_is_silent() -> None:
    async def wait(chat: Chat) -> None:
        await chat.sleep(3600)
        await chat.say("Never.")

    talk = Talk(SimulatedCLI(delegate(wait, background=True)))
    (started,) = only(await talk.turn("go"), wire.TaskStartedMessage)
    assert isinstance(await talk.ask(wire.StopTask(started.task_id)), wire.Answer)
    assert only(talk.heard, wire.TaskNotificationMessage)[-1].status == "stopped"
    assert await talk.end() == 0
    assert said(talk.heard) == ["Done."]


async def test_failed_background_subagent_says_so() -> None:
    async def fail(chat: Chat) -> None:
        raise RuntimeError("no")

    cli = SimulatedCLI(delegate(fail, background=True))
    talk = Talk(cli)
    await talk.turn("go")
    assert await talk.end() == 0
    assert only(talk.heard, wire.TaskNotificationMessage)[-1].status == "failed"
    assert len(cli.failures) == 1


async def test_end_of_a_task_starts_a_turn_without_a_prompt() -> None:
    async def play(chat: Chat) -> None:
        if chat.text:
            task = chat.start_task("a long build")
            await chat.say("It is running.")
            task.finish("all green")
            task.finish("a second time")
        else:
            await chat.say("The build is through.")

    talk = Talk(SimulatedCLI(play))
    turn = await talk.turn("go")
    (started,) = only(turn, wire.TaskStartedMessage)
    (ended,) = only(turn, wire.TaskNotificationMessage)
    assert (ended.task_id, ended.status, ended.summary) == (
        started.task_id,
        "completed",
        "all green",
    )
    unasked = await talk.until_result()
    assert said(unasked) == ["The build is through."]
    assert isinstance(unasked[-1].origin, wire.TaskNotificationOrigin)
    assert await talk.end() == 0


async def test_stopped_task_starts_no_turn() -> None:
    async def play(chat: Chat) -> None:
        chat.start_task("a long build")

    talk = Talk(SimulatedCLI(play))
    (started,) = only(await talk.turn("go"), wire.TaskStartedMessage)
    assert isinstance(await talk.ask(wire.StopTask(started.task_id)), wire.Answer)
    assert isinstance(await talk.ask(wire.StopTask("unknown")), wire.Answer)
    assert only(talk.heard, wire.TaskNotificationMessage)[0].status == "stopped"
    assert await talk.end() == 0
    assert len(only(talk.heard, wire.ResultMessage)) == 1
