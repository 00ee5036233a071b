"""What the simulated CLI writes and keeps, whole lines of it: nothing changes unnoticed.

`whole_lines.json` has the lines. After a change on purpose, write it anew and read the difference:
    scripts/env python -m tests.simulator.test_whole_lines
"""

from __future__ import annotations

import inspect
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.helpers.talk import Handler, Talk, allow, calculator, hooks_say
from tests.simulator import test_dialects
from tests.simulator.test_requests import ANSWERED

from claudewire.simulator import PERSONAS, Chat, Scenario, SimulatedCLI
from claudewire.wire import (
    HOOK_EVENTS,
    CanUseTool,
    Elicitation,
    ElicitationResult,
    HookCallback,
    HookMatcher,
    HookOutput,
    Initialize,
    McpMessage,
    PermissionResultDeny,
    StopHookInput,
    UserPromptSubmitHookInput,
)

KEPT = Path(__file__).with_name("whole_lines.json")

VARYING = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\b(msg|req|toolu)_\w{10,}"), r"<\1>"),
    (re.compile(r"\ba[0-9a-f]{16}\b"), "<agent>"),
    (re.compile(r'("(?:run_id|runId|task_id)": ")[0-9a-f-]{8,18}"'), r'\1<id>"'),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), "<time>"),
    (re.compile(r'("\w*(?:_ms|Ms|pid|seconds|end_time)": )[\d.]+'), r"\1<number>"),
    (re.compile(r"(duration_ms(?:: |>))\d+"), r"\1<number>"),
    (re.compile(r'("(?:totalDuration|startTime)": )\d+'), r"\1<number>"),
    (re.compile(r"(Total duration \(\w+\): +)[^\\]+"), r"\1<time>"),
    (re.compile(r"/projects/[\w-]+/"), "/projects/<project>/"),
]


async def scene(chat: Chat) -> None:
    await chat.think("I look")
    await chat.use("Bash", {"command": "ls"}, result="a.txt")
    await chat.say("There is one file.")


async def everything(chat: Chat) -> None:
    """Do all that can happen in a turn."""
    await chat.use("Edit", {"file_path": "a.txt"})
    await chat.use("Bash", {"command": "false"}, run=fail)
    await chat.call("calc", "add", {"a": 1, "b": 2})
    await chat.ask([{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}])
    await chat.plan("First this.")
    await chat.elicit("calc", "Which one?", {"type": "object"})
    await chat.subagent("Explore", "Look around", scene)
    await chat.compact()
    await chat.retry()
    await chat.retry(attempt=2, status=429)
    chat.start_task("build").finish()
    chat.start_task("watch", kind="monitor").finish("gave up", status="failed")
    chat.output({"answer": 1})
    await chat.say("That was all.")


def fail(input: dict[str, Any]) -> None:
    raise RuntimeError("no")


ENDINGS: dict[str, Callable[[Chat], Any]] = {
    "max turns": lambda chat: chat.reach_max_turns(),
    "budget": lambda chat: chat.exhaust_budget(),
    "an error of the API": lambda chat: chat.fail("No credit"),
    "a denial": lambda chat: chat.use("Write", {"file_path": "b.txt"}),
}


async def turn_with_hooks(cwd: Path) -> list[Any]:
    serve: dict[type, Handler] = {
        CanUseTool: allow,
        McpMessage: calculator,
        **hooks_say(hook_0=HookOutput()),
    }
    talk = Talk(SimulatedCLI(everything, cwd=cwd), serve)
    hooks = {event: [HookMatcher(["hook_0"])] for event in HOOK_EVENTS}
    await talk.initialize(hooks=hooks, sdk_mcp_servers=["calc"])
    talk.serve[Elicitation] = lambda body: ElicitationResult("accept", {"which": 1})
    await talk.turn("Do all.")
    await talk.until_result()  # of the turn that the finished task begins
    return [event.raw for event in talk.heard[1:]]


def blocks_once(body: HookCallback) -> HookOutput:
    """Keep the agent from stopping the first time, and one prompt from the agent."""
    given = body.input
    if isinstance(given, StopHookInput) and not given.stop_hook_active:
        return HookOutput(decision="block", reason="Not yet.")
    if isinstance(given, UserPromptSubmitHookInput) and given.prompt == "Never mind.":
        return HookOutput(decision="block", reason="Not this.")
    return HookOutput()


async def conversation(cwd: Path) -> list[Any]:
    """Return what is said in a conversation with everything, and what is kept of it."""

    async def delegate(chat: Chat) -> None:
        await chat.subagent("Explore", "Look around", scene, background=True)

    scenarios: dict[str, Scenario] = {"Do all.": everything, "Delegate.": delegate}

    async def play(chat: Chat) -> None:
        await scenarios.get(chat.text, scene)(chat)

    env = {"CLAUDE_CONFIG_DIR": str(cwd / "config")}
    serve: dict[type, Handler] = {
        CanUseTool: allow,
        McpMessage: calculator,
        HookCallback: blocks_once,
        Elicitation: lambda body: ElicitationResult("accept", {"which": 1}),
    }
    talk = Talk(SimulatedCLI(play, cwd=cwd, env=env), serve)
    hooks = {event: [HookMatcher(["hook_0"])] for event in ("Stop", "UserPromptSubmit")}
    await talk.initialize(hooks=hooks, sdk_mcp_servers=["calc"])
    for prompt in scenarios:
        await talk.turn(prompt)
        await talk.until_result()  # of the turn that what has finished begins
    for prompt in ("/cost", "/help me", "/compact", "Never mind."):
        await talk.turn(prompt)
    heard = [event.raw for event in talk.heard[1:]]
    await talk.end()
    return [*heard, *kept_in(cwd / "config")]


def kept_in(config: Path) -> list[Any]:
    """Return the lines of all transcripts, and of subagents after the others."""
    found = (config / "projects").rglob("*.jsonl")
    files = sorted(found, key=lambda it: (len(it.parts), it.stat().st_mtime_ns))
    kept = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in kept]


async def turn_of(version: str, cwd: Path) -> list[Any]:
    """Return what a version says in a turn, and what it keeps."""
    config = cwd / version
    cli = SimulatedCLI(scene, cwd=cwd, version=version, env={"CLAUDE_CONFIG_DIR": str(config)})
    talk = Talk(cli, {CanUseTool: allow, McpMessage: calculator})
    await talk.initialize(sdk_mcp_servers=["calc"])
    await talk.turn("Go.")
    heard = [event.raw for event in talk.heard]
    await talk.end()
    return [*heard, *kept_in(config)]


async def ending(name: str, cwd: Path) -> Any:
    async def play(chat: Chat) -> None:
        ended = ENDINGS[name](chat)
        if inspect.isawaitable(ended):
            await ended

    deny: dict[type, Handler] = {CanUseTool: lambda body: PermissionResultDeny("Not this.")}
    config = cwd / name
    talk = Talk(SimulatedCLI(play, cwd=cwd, env={"CLAUDE_CONFIG_DIR": str(config)}), deny)
    await talk.ask(Initialize())
    said = [event.raw for event in await talk.turn("Go.")][1:]
    await talk.end()
    return [*said, *kept_in(config)]


async def lines(cwd: Path) -> dict[str, Any]:
    """Return what a CLI says in turns, what it answers to each request, and what it keeps."""
    written: dict[str, Any] = {}
    for body in ANSWERED:
        talk = Talk(SimulatedCLI(scene, cwd=cwd))
        written[type(body).__name__] = (await talk.ask(body)).raw
    argv = ["--include-partial-messages", "--replay-user-messages"]
    talk = Talk(SimulatedCLI(scene, cwd=cwd, argv=argv), {CanUseTool: allow})
    await talk.ask(Initialize())
    written["a turn"] = [event.raw for event in await talk.turn("What is there?")]
    written["a turn with everything"] = await turn_with_hooks(cwd)
    for name in ENDINGS:
        written[f"a turn that ends with {name}"] = await ending(name, cwd)
    written["a conversation"] = await conversation(cwd)
    for version in PERSONAS:
        written[f"a turn with {version}"] = await turn_of(version, cwd)
    for dialect in ("session", "legacy", "envelope"):
        talk = await test_dialects.run(dialect, dialect, cwd=cwd)
        heard = [json.loads(event.line) for event in talk.heard if event.line]
        written[f"both sides in the {dialect} dialect"] = [*talk.wrote, *heard]
    return written


def text_of(written: dict[str, Any], cwd: Path) -> str:
    """Return it as JSON, a line of the CLI on each line."""
    parts = []
    for name, said in written.items():
        each = [json.dumps(it) for it in (said if isinstance(said, list) else [said])]
        parts.append(f"{json.dumps(name)}: [\n " + ",\n ".join(each) + "\n]")
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    text = text.replace(str(cwd), "<cwd>")
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text


@pytest.mark.anyio
async def test_every_line_is_as_it_was(tmp_path: Path) -> None:
    now, before = text_of(await lines(tmp_path), tmp_path), KEPT.read_text(encoding="utf-8")
    assert now.splitlines() == before.splitlines()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        new = text_of(anyio.run(lines, Path(folder)), Path(folder))
    KEPT.write_text(new, encoding="utf-8")
