"""Texts for the model besides the prompts of the user."""

from __future__ import annotations

import json
from typing import Any

from claudewire.testing.api import APIRequest

from .behaviour import alone, shared
from .stage import Stage


def options(stage: Stage) -> dict[str, Any]:
    """The options of the session that these behaviours share."""
    (stage.cage.folder / "more").mkdir(exist_ok=True)
    return {
        "system_prompt": "Be a bot. MARK-SYSTEM",
        "append_system_prompt": "Be brief. MARK-APPENDED",
        "model": "claude-3-5-haiku-20241022",
        "builtin_tools": ["Read", "Write", "Bash"],
        "settings": {"permissions": {"deny": ["Write"]}},
        "agents": {"poet": {"description": "MARK-AGENT", "prompt": "Write poems."}},
        "add_dirs": [stage.cage.folder / "more"],
        "env": {"MATRIX_MARK": "MARK-ENV"},
    }


def system_of(request: APIRequest) -> str:
    """The system prompt, in which each block is a paragraph."""
    system = request.body["system"]
    return system if isinstance(system, str) else "\n\n".join(it["text"] for it in system)


@shared("`system_prompt` replaces the CLI's own")
async def system_prompt(stage: Stage) -> None:
    await stage.ask()
    assert "MARK-SYSTEM" in system_of(stage.turns[0])
    assert "interactive" not in system_of(stage.turns[0])


@shared("`append_system_prompt` is added to it")
async def append_system_prompt(stage: Stage) -> None:
    await stage.ask()
    assert "MARK-APPENDED" in system_of(stage.turns[0])


@shared("`model` is the model that is asked")
async def model(stage: Stage) -> None:
    await stage.ask()
    assert "haiku" in stage.turns[0].model


@shared("`builtin_tools` are the only built-in tools")
async def builtin_tools(stage: Stage) -> None:
    await stage.ask()
    tools = {*stage.turns[0].tools}
    assert {"Read", "Bash"} <= tools
    assert tools.isdisjoint({"Edit", "Glob", "Grep", "WebFetch", "WebSearch", "Task", "TodoWrite"})


@shared("`settings` are in force")
async def settings_given(stage: Stage) -> None:
    await stage.ask()
    assert "Write" not in stage.turns[0].tools


@alone("`agents` are described to the model")
async def agents_described(stage: Stage) -> None:
    agents = {"poet": {"description": "MARK-AGENT", "prompt": "Write poems."}}
    async with stage.open(agents=agents):
        await stage.ask()
        assert "MARK-AGENT" in json.dumps(stage.turns[0].body)


@alone("Without a system prompt the CLI keeps its own, and an empty one is empty")
async def own_system_prompt(stage: Stage) -> None:
    async with stage.open():
        await stage.ask()
    async with stage.open(system_prompt=""):
        await stage.ask()
    own, empty = map(system_of, stage.turns[-2:])
    assert len(own) > 3000
    assert len(empty) < 300


@alone("`builtin_tools=[]` leaves no built-in tools")
async def no_builtin_tools(stage: Stage) -> None:
    async with stage.open(builtin_tools=[]):
        assert (await stage.ask()).ok
        # Without tools, a request of the CLI looks like one for its own purposes.
        asked = [it for it in stage.cage.api_requests() if stage.prompt() in str(it.body)]
        assert asked
        assert not [name for it in asked for name in it.tools if not name.startswith("mcp__")]


@alone("A system prompt in several blocks reaches the model", since="2.1.197")
async def prompt_blocks(stage: Stage) -> None:
    async with stage.open(system_prompt=["MARK-ONE", "MARK-TWO"]):
        await stage.ask()
        system = system_of(stage.turns[0])
        if "MARK-ONE" not in system:
            stage.lacks("it ignores the blocks and keeps its own prompt")
        assert "MARK-TWO" in system


@alone("Prompts reach a CLI that does not see our files (`remote`)")
async def remote(stage: Stage) -> None:
    given = {"system_prompt": "MARK-SYSTEM", "append_system_prompt": "MARK-APPENDED"}
    async with stage.open(remote=True, **given):
        await stage.ask()
        system = system_of(stage.turns[0])
        assert "MARK-SYSTEM" in system
        assert "MARK-APPENDED" in system
