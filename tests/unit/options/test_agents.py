"""Agents: their values, their form on the wire, and the CLI's answer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import msgspec
import pytest

from claudewire.errors import Cause, CLIError, OptionsError
from claudewire.options import Agent, Options, check_agents
from claudewire.tools import ToolServer
from claudewire.wire import AgentDefinition, AgentInfo, InitializeResult, McpStdioServerConfig


@dataclass(frozen=True)
class Server:
    """A server inside this process, as far as an agent knows it."""

    name: str


WHOLE = Agent(
    description="Reviews",
    prompt="You review.",
    tools=("Read", "mcp__calc__add"),
    disallowed_tools=["Bash"],
    model="haiku",
    mcp_servers=[
        "tickets",
        Server("calc"),
        {
            "files": McpStdioServerConfig("server", ["-v"]),
            "web": {"type": "sse", "url": "http://x"},
        },
    ],
    skills=["pdf"],
    initial_prompt="Begin.",
    max_turns=3,
    background=True,
    memory="project",
    effort="xhigh",
    permission_mode="acceptEdits",
    omit_claude_md=False,
    auto_compact_window=100_000,
    critical_system_reminder="Never push.",
    observer="watcher",
    observer_message="Look.",
)

WRITTEN = {
    "description": "Reviews",
    "prompt": "You review.",
    "tools": ["Read", "mcp__calc__add"],
    "disallowedTools": ["Bash"],
    "model": "haiku",
    "mcpServers": [
        "tickets",
        "calc",
        {
            "files": {"command": "server", "args": ["-v"]},
            "web": {"type": "sse", "url": "http://x"},
        },
    ],
    "skills": ["pdf"],
    "initialPrompt": "Begin.",
    "maxTurns": 3,
    "background": True,
    "memory": "project",
    "effort": "xhigh",
    "permissionMode": "acceptEdits",
    "omitClaudeMd": False,
    "autoCompactWindow": 100_000,
    "criticalSystemReminder_EXPERIMENTAL": "Never push.",
    "observer": "watcher",
    "observerMessage": "Look.",
}


def test_every_field_is_written_for_the_cli() -> None:
    assert msgspec.to_builtins(WHOLE.definition()) == WRITTEN
    assert len(WRITTEN) == len(fields(Agent)) == len(AgentDefinition.__struct_fields__)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"description": ""}, "Agent.description is empty"),
        ({"tools": "Read"}, "Agent.tools must be a list, got 'Read'; did you mean ['Read']?"),
        (
            {"tools": ["Read", "Bash"], "disallowed_tools": ["Bash"]},
            "cannot have Bash both allowed and disallowed",
        ),
        ({"max_turns": 0}, "Agent.max_turns must be 1 or more, got 0"),
        ({"effort": "huge"}, "must be one of 'low', 'medium', 'high', 'xhigh', 'max'"),
        ({"mcp_servers": [5]}, "Agent.mcp_servers[0] must be a string or a mapping or Named"),
        ({"mcp_servers": [{"calc": {}}]}, "Agent.mcp_servers['calc'] needs a command"),
    ],
)
def test_invalid_agent_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionsError) as caught:
        Agent(**{"description": "d", "prompt": "p", **given})
    assert problem in str(caught.value)


def test_agents_have_several_forms() -> None:
    newer = AgentDefinition(description="d", prompt="p", memory="somewhere new")
    python = {"description": "d", "prompt": "p", "max_turns": 3}
    wire = {"description": "d", "prompt": "p", "maxTurns": 3}
    given: Any = {"own": WHOLE, "newer": newer, "python": python, "wire": wire}
    agents = Options(agents=given, mcp_servers={"calc": ToolServer("calc")}).agents
    assert agents == {
        "own": WHOLE.definition(),
        "newer": newer,
        "python": AgentDefinition("d", "p", max_turns=3),
        "wire": AgentDefinition("d", "p", max_turns=3),
    }


@pytest.mark.parametrize(
    ("agents", "problem"),
    [
        ({"": WHOLE}, "the name '' in agents is empty"),
        ({"a": "poet"}, "agents['a'] must be an Agent or a mapping"),
        ({"a": {"prompt": "p"}}, "agents['a'] needs a description"),
        ({"a": {"prompt": "p", "description": "d", "colour": "red"}}, "has no 'colour'; it may"),
        ({"a": {"prompt": "p", "description": "d", "tools": 5}}, "agents['a']: Agent.tools must"),
        ({"a": WHOLE}, "The agent a needs the server calc; give it to the session too"),
    ],
)
def test_invalid_agents_are_refused(agents: Any, problem: str) -> None:
    with pytest.raises(OptionsError) as caught:
        Options(agents=agents)
    assert problem in str(caught.value)


def test_agent_uses_servers_of_the_session() -> None:
    server = ToolServer("sums", [len])
    agent = Agent(description="d", prompt="p", mcp_servers=[server, "claudewire"])
    for given in ({"tools": [server, max]}, {"mcp_servers": [server]}):
        (kept,) = Options(agents={"a": agent}, **given).agents.values()
        assert kept.mcp_servers == ["sums", "claudewire"]  # type: ignore[union-attr]


def test_dropped_agents_are_an_error() -> None:
    taken = InitializeResult(agents=[AgentInfo("a"), AgentInfo("Explore")])
    for info in (taken, None, InitializeResult()):
        check_agents(["a"], info)
    with pytest.raises(CLIError, match="has not taken the agents b, c") as caught:
        check_agents(["a", "b", "c"], taken)
    assert caught.value.cause is Cause.REFUSED
    assert "It drops all agents" in caught.value.advice
