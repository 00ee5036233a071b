"""Agents: what they may be given, how the CLI reads it, and whether it took them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import msgspec
import pytest

from claudewire.errors import Cause, CLIError, OptionsError
from claudewire.options import Agent, check_agents
from claudewire.options.agents import define_agents
from claudewire.wire import (
    AgentDefinition,
    AgentInfo,
    InitializeResult,
    McpHttpServerConfig,
    McpStdioServerConfig,
)


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
        {"files": McpStdioServerConfig("server", ["-v"]), "web": McpHttpServerConfig("http://x/")},
        {"other": {"type": "sse", "url": "http://y/"}},
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
    critical_reminder="Never push.",
    observer="watcher",
    observer_message="Look.",
)


def test_every_field_is_written_as_the_cli_reads_it() -> None:
    written = msgspec.to_builtins(WHOLE.definition())
    assert written == {
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
                "web": {"type": "http", "url": "http://x/"},
            },
            {"other": {"type": "sse", "url": "http://y/"}},
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
    assert len(written) == len(fields(Agent)) == len(AgentDefinition.__struct_fields__)
    assert msgspec.convert(written, AgentDefinition) == WHOLE.definition()


def test_what_is_not_given_is_not_written() -> None:
    written = msgspec.to_builtins(Agent(description="d", prompt="p").definition())
    assert written == {"description": "d", "prompt": "p"}


def test_an_effort_may_be_a_number() -> None:
    assert Agent(description="d", prompt="p", effort=3).definition().effort == 3


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"description": ""}, "The description of an agent is a text, and not ''"),
        ({"description": None}, "The description of an agent is a text, and not None"),
        ({"prompt": "  "}, "The prompt of an agent is a text"),
        ({"tools": "Read"}, "The tools of an agent are a list of texts, not 'Read'"),
        ({"tools": 5}, "The tools of an agent are a list of texts"),
        ({"tools": ["Read", ""]}, "The tools of an agent are texts; '' is none"),
        ({"disallowed_tools": [5]}, "The disallowed tools of an agent are texts; 5 is none"),
        (
            {"tools": ["Read", "Bash"], "disallowed_tools": ["Bash"]},
            "cannot have Bash both allowed and disallowed",
        ),
        ({"model": 5}, "The model of an agent is a text"),
        ({"skills": [None]}, "The skills of an agent are texts"),
        ({"max_turns": 0}, "The max turns of an agent is a number from 1 on, not 0"),
        ({"max_turns": True}, "The max turns of an agent is a number"),
        ({"max_turns": 1.5}, "The max turns of an agent is a number"),
        ({"background": "yes"}, "The background of an agent is True or False, and not 'yes'"),
        ({"memory": "here"}, "is one of user, project, local, and not 'here'"),
        ({"effort": "huge"}, "is one of low, medium, high, xhigh, max, and not 'huge'"),
        ({"effort": True}, "is one of low"),
        ({"effort": 0}, "The effort of an agent is a number from 1 on"),
        ({"permission_mode": "yolo"}, "The permission mode of an agent is one of default"),
        ({"mcp_servers": "calc"}, "The MCP servers of an agent are a list"),
        ({"mcp_servers": {"calc": {}}}, "The MCP servers of an agent are a list"),
        ({"mcp_servers": [""]}, "The MCP server of an agent is a text"),
        ({"mcp_servers": [5]}, "The MCP server of an agent is a text"),
        ({"mcp_servers": [{"": {"command": "x"}}]}, "The MCP server of an agent is a text"),
        ({"mcp_servers": [{"calc": {}}]}, "calc of an agent has no configuration: {}"),
        ({"mcp_servers": [{"calc": "x"}]}, "calc of an agent has no configuration: 'x'"),
    ],
)
def test_what_the_cli_would_not_take_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionsError) as caught:
        Agent(**{"description": "d", "prompt": "p", **given})
    assert problem in str(caught.value)


def test_agents_are_defined_by_name() -> None:
    raw = AgentDefinition(description="d", prompt="p", memory="somewhere new")
    defined = define_agents({"reviewer": WHOLE, "raw one": raw}, servers=["calc", "other"])
    assert defined == {"reviewer": WHOLE.definition(), "raw one": raw}
    assert define_agents({}) == {}


@pytest.mark.parametrize(
    ("agents", "problem"),
    [
        ({"": WHOLE}, "The name of an agent is a text, and not ''"),
        ({5: WHOLE}, "The name of an agent is a text, and not 5"),
        ({"a": {"prompt": "p"}}, "The agent a is an Agent, and not {'prompt': 'p'}"),
        ({"a": WHOLE}, "The agent a needs the server calc; give it to the session too"),
    ],
)
def test_agents_that_cannot_be_are_refused(agents: Any, problem: str) -> None:
    with pytest.raises(OptionsError) as caught:
        define_agents(agents, servers=["tickets"])
    assert problem in str(caught.value)


def test_a_server_that_is_misspelt_is_told_from_one_that_is_elsewhere() -> None:
    agent = Agent(description="d", prompt="p", mcp_servers=["ticket"])
    assert define_agents({"a": agent}, servers=["calc"])["a"].mcp_servers == ["ticket"]
    with pytest.raises(OptionsError, match="needs the server ticket; did you mean tickets"):
        define_agents({"a": agent}, servers=["calc", "tickets"])


def test_an_agent_tells_which_servers_the_session_has_to_have() -> None:
    assert WHOLE.servers == (Server("calc"),)
    assert Agent(description="d", prompt="p").servers == ()


def test_agents_that_the_cli_has_dropped_are_told_of() -> None:
    taken = InitializeResult(agents=[AgentInfo("a"), AgentInfo("Explore")])
    check_agents(["a"], taken)
    with pytest.raises(CLIError, match="has not taken the agents b, c") as caught:
        check_agents(["a", "b", "c"], taken)
    assert caught.value.cause is Cause.REFUSED


@pytest.mark.parametrize("info", [None, InitializeResult()])
def test_an_old_cli_does_not_say_which_agents_it_has(info: InitializeResult | None) -> None:
    check_agents(["a"], info)
