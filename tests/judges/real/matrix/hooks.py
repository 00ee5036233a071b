"""Hooks: functions of the application that the CLI calls."""

from __future__ import annotations

from typing import Any

import anyio

from claudewire.hooks import Hook, HookResult, Hooks
from claudewire.hooks.hooks import FAILED
from claudewire.options import Agent
from claudewire.testing.api import APIToolUse

from .behaviour import alone, shared
from .common import bash, called, touch
from .stage import Stage
from .tools import add

EVENTS = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop")
TWO = {"command": "touch by-hook"}


def options(stage: Stage) -> dict[str, Any]:
    """The options of the session that these behaviours share."""
    hooks = {event: lambda event: stage.on_hook(event) for event in EVENTS}
    return {**stage.handlers, "hooks": hooks, "tools": [add]}


def on(name: str, answer: Any) -> Any:
    """A function for all hooks that answers one of them."""
    return lambda event: answer(event) if type(event).__name__ == f"{name}HookInput" else None


def told(stage: Stage, turn: int = -1) -> str:
    return str(stage.turns[turn].messages)


# --- before a tool -------------------------------------------------------------------------------


@shared(
    "A hook denies a tool, and the model is told why",
    [touch("hook-denied"), "Then not."],
    shows=("002-26",),
)
async def hook_denies(stage: Stage) -> None:
    asked = stage.note_permissions()
    seen: list[Any] = []

    def refuse(event: Any) -> Any:
        seen.append(event)
        return HookResult("deny", "Not on a Friday.")

    stage.on_hook = on("PreToolUse", refuse)
    assert (await stage.ask()).text == "Then not."
    assert [it.tool_input["command"] for it in seen] == ["touch hook-denied"]
    assert "Not on a Friday." in stage.told[0]
    assert not stage.has("hook-denied")
    assert asked == []


@shared("What a hook allows is not asked about", [touch("hook-allowed"), "Done."])
async def hook_allows(stage: Stage) -> None:
    asked = stage.note_permissions()
    stage.on_hook = on("PreToolUse", lambda _: HookResult("allow", "It is safe."))
    await stage.ask()
    assert stage.has("hook-allowed")
    assert asked == []


@shared(
    "A hook changes the input of a tool, which is still asked about",
    [touch("by-model"), "Done."],
)
async def hook_changes_input(stage: Stage) -> None:
    stage.on_hook = on("PreToolUse", lambda _: HookResult(updated_input=TWO))
    await stage.ask()
    assert not stage.has("by-model")
    assert stage.has("by-hook")


@shared("A hook allows a tool with another input", [touch("by-model-2"), "Done."])
async def hook_allows_changed(stage: Stage) -> None:
    asked = stage.note_permissions()
    stage.on_hook = on(
        "PreToolUse", lambda _: HookResult("allow", updated_input={"command": "touch by-hook-2"})
    )
    await stage.ask()
    assert not stage.has("by-model-2")
    assert stage.has("by-hook-2")
    assert asked == []


@shared("A hook stops the turn before a tool", [touch("hook-stopped"), "Never."])
async def hook_stops(stage: Stage) -> None:
    asked = stage.note_permissions()
    stage.on_hook = on("PreToolUse", lambda _: HookResult(stop="Enough."))
    await stage.ask()
    assert not stage.has("hook-stopped")
    assert asked == []


@shared("A hook that has no opinion changes nothing", [touch("as-usual"), "Done."])
async def hook_is_silent(stage: Stage) -> None:
    asked = stage.note_permissions()
    await stage.ask()
    assert asked == ["Bash"]
    assert stage.has("as-usual")


@shared("A hook that fails and is to continue changes nothing", [touch("hook-failed"), "Done."])
async def hook_fails(stage: Stage) -> None:
    asked = stage.note_permissions()

    def fail(event: Any) -> None:
        raise RuntimeError("the password is hunter2")

    stage.on_hook = on("PreToolUse", fail)
    await stage.ask()
    assert asked == ["Bash"]
    assert "hunter2" not in told(stage)


@alone("Of two hooks, the one that denies wins", [touch("two-hooks"), "Then not."])
async def denying_wins(stage: Stage) -> None:
    hooks = Hooks.of(
        {
            "PreToolUse": [
                Hook(lambda _: HookResult("allow"), "Bash"),
                Hook(lambda _: HookResult("deny", "No."), "Bash"),
            ]
        }
    )
    async with stage.open(hooks=hooks):
        await stage.ask()
        assert not stage.has("two-hooks")


@alone("A matcher chooses tools by name or pattern", [touch("matched"), "Done."])
async def matcher(stage: Stage) -> None:
    seen: list[str] = []

    def note(name: str) -> Hook:
        return Hook(lambda _: seen.append(name), name)

    names = ["Bash", "Edit | Bash", "Bash,Edit", "^Ba", "as.$", "Bas", "bash", "Edit"]
    async with stage.open(
        hooks={"PreToolUse": [note(name) for name in names]}, allowed_tools=["Bash"]
    ):
        await stage.ask()
    assert sorted(seen) == sorted(["Bash", "Edit | Bash", "Bash,Edit", "^Ba", "as.$"])


@alone(
    "A tool is denied when its hook takes too long or raises",
    {"a": [touch("hung"), "Not."], "b": [touch("raises"), "Not."]},
)
async def failing_hook_blocks(stage: Stage) -> None:
    async def guard(event: Any) -> None:
        if "hung" in event.tool_input["command"]:
            await anyio.sleep_forever()
        raise RuntimeError("the password is hunter2")

    hook = Hook(guard, "Bash", timeout=0.3, on_failure="block_here")
    async with stage.open(hooks={"PreToolUse": hook}, allowed_tools=["Bash"]):
        await stage.ask("a")
        await stage.ask("b")
        assert not stage.has("hung")
        assert not stage.has("raises")
        assert all(FAILED in it for it in stage.told)
        assert "hunter2" not in told(stage)


@alone(
    'The CLI itself denies when a hook gives no answer (`on_failure="block"`)',
    [touch("b"), "Not."],
    since="2.1.325",
)
async def on_failure_block(stage: Stage) -> None:
    def fail(event: Any) -> None:
        raise RuntimeError("no")

    async with stage.open(
        hooks={"PreToolUse": Hook(fail, on_failure="block")}, allowed_tools=["Bash"]
    ):
        await stage.ask()
        assert not stage.has("b")


# --- after a tool --------------------------------------------------------------------------------


@shared("A hook adds context after a tool", [touch("after"), "Done."], shows=("002-26",))
async def context_after(stage: Stage) -> None:
    stage.on_hook = on("PostToolUse", lambda _: HookResult(context="It is not in the index."))
    await stage.ask()
    assert "It is not in the index." in told(stage)


@shared("The model is told what a hook has against a tool use", [touch("against"), "Sorry."])
async def block_after(stage: Stage) -> None:
    stage.on_hook = on("PostToolUse", lambda _: HookResult("block", "That was a mistake."))
    await stage.ask()
    assert "That was a mistake." in told(stage)


@shared(
    "A hook changes the output of a command",
    [bash("python3 -c 'print(\"bare\")'"), "Done."],
    since="2.1.197",
)
async def output_changed(stage: Stage) -> None:
    stage.on_hook = on(
        "PostToolUse",
        lambda event: HookResult(updated_tool_output={**event.tool_response, "stdout": "hidden"}),
    )
    await stage.ask()
    if "bare" in stage.told[0]:
        stage.lacks("the model is told the tool's own output: `updatedToolOutput` is not read")
    assert "hidden" in stage.told[0]


@shared("A hook changes the output of an MCP tool", [called("add", a=2, b=3), "Done."])
async def mcp_output_changed(stage: Stage) -> None:
    stage.on_hook = on("PostToolUse", lambda event: HookResult(updated_tool_output="hidden"))
    await stage.ask()
    assert "hidden" in stage.told[0]


# --- prompts and ends ----------------------------------------------------------------------------


@shared("A hook adds context to a prompt", ["Hello."], shows=("002-26",))
async def prompt_context(stage: Stage) -> None:
    stage.on_hook = on(
        "UserPromptSubmit", lambda event: HookResult(context=f"It has {len(event.prompt)} letters")
    )
    await stage.ask()
    assert f"It has {len(stage.prompt()) + 7} letters" in told(stage)


@shared("A prompt that a hook blocks does not reach the model", ["Never."])
async def prompt_blocked(stage: Stage) -> None:
    stage.on_hook = on("UserPromptSubmit", lambda _: HookResult("block", "No secrets."))
    await stage.ask()
    assert stage.turns == []


@shared(
    "A hook has the model go on when it would stop",
    {"": ["Finished."], "not-yet": ["Now they pass."]},
    shows=("002-26",),
)
async def goes_on(stage: Stage) -> None:
    active: list[bool | None] = []

    def check(event: Any) -> Any:
        active.append(event.stop_hook_active)
        return (
            None
            if event.stop_hook_active
            else HookResult("block", f"{stage.prompt('not-yet')} They do not pass.")
        )

    stage.on_hook = on("Stop", check)
    assert (await stage.ask()).text == "Now they pass."
    assert active == [False, True]


@alone(
    "A hook sees the end of a subagent",
    {
        "": [
            APIToolUse(
                "Task",
                {
                    "description": "Look",
                    "prompt": "(subagent_ends.sub) Look.",
                    "subagent_type": "helper",
                },
            ),
            "Done.",
        ],
        "sub": ["It is fine."],
    },
)
async def subagent_ends(stage: Stage) -> None:
    ended: list[Any] = []
    agents = {"helper": Agent(description="Helps.", prompt="You help.")}
    async with stage.open(
        agents=agents, hooks={"SubagentStop": ended.append}, allowed_tools=["Task"]
    ) as session:
        assert (await stage.ask()).ok
        await session.wait_idle()
    assert ended


@alone("A hook decides a permission", [touch("hook-permits"), "Then not."], since="2.1.197")
async def permission_hook(stage: Stage) -> None:
    called_: list[Any] = []

    def decide(event: Any) -> Any:
        called_.append(event)
        return HookResult("deny", "The hook says no.")

    asked = anyio.Event()

    async def wait(request: Any) -> None:
        asked.set()
        with anyio.move_on_after(2):
            await anyio.sleep_forever()

    async with stage.open(hooks={"PermissionRequest": decide}, on_permission=wait):
        await stage.ask()
        if not called_:
            stage.lacks("it asks the person and never calls a `PermissionRequest` hook")
        assert "The hook says no." in stage.told[0]
        assert not stage.has("hook-permits")


@alone("A hook shows another text than the model's", ["Hello."], since="2.1.197")
async def shown(stage: Stage) -> None:
    async with stage.open(
        hooks={"MessageDisplay": lambda _: HookResult(display_content="Good day.")}
    ):
        reply = await stage.ask()
        if reply.text == "Hello.":
            stage.lacks("it never calls a `MessageDisplay` hook")
        assert reply.text == "Good day."
