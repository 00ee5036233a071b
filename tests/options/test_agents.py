"""Agents: what they may be given, how the CLI reads it, and whether it took them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import msgspec
import pytest

from claudewire.errors import Cause, CLIError, OptionsError
from claudewire.options import Agent, Options, check_agents, thaw
from claudewire.tools import ToolServer
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
        ({"description": ""}, "Agent.description is empty"),
        ({"description": None}, "Agent.description must be a string, not None"),
        ({"prompt": "  "}, "Agent.prompt is empty"),
        ({"tools": "Read"}, "Agent.tools must be a list; did you mean ['Read']?"),
        ({"tools": 5}, "Agent.tools must be a list, not 5"),
        ({"tools": ["Read", ""]}, "Agent.tools[1] is empty"),
        ({"disallowed_tools": [5]}, "Agent.disallowed_tools[0] must be a string, not 5"),
        (
            {"tools": ["Read", "Bash"], "disallowed_tools": ["Bash"]},
            "cannot have Bash both allowed and disallowed",
        ),
        ({"model": 5}, "Agent.model must be a string"),
        ({"skills": [None]}, "Agent.skills[0] must be a string"),
        ({"max_turns": 0}, "Agent.max_turns must be 1 or more, not 0"),
        ({"max_turns": True}, "Agent.max_turns must be a whole number"),
        ({"max_turns": 1.5}, "Agent.max_turns must be a whole number"),
        ({"background": "yes"}, "Agent.background must be True or False, not 'yes'"),
        ({"memory": "here"}, "must be one of 'user', 'project', 'local', not 'here'"),
        ({"effort": "huge"}, "must be one of 'low', 'medium', 'high', 'xhigh', 'max', not 'huge'"),
        ({"effort": True}, "Agent.effort must be a whole number"),
        ({"effort": 0}, "Agent.effort must be 1 or more"),
        ({"permission_mode": "yolo"}, "Agent.permission_mode must be one of 'default'"),
        ({"mcp_servers": "calc"}, "Agent.mcp_servers must be a list"),
        ({"mcp_servers": {"calc": {}}}, "Agent.mcp_servers must be a list"),
        ({"mcp_servers": [""]}, "a server in Agent.mcp_servers is empty"),
        ({"mcp_servers": [5]}, "a server in Agent.mcp_servers must be a string, not 5"),
        ({"mcp_servers": [{"": {"command": "x"}}]}, "the name '' in Agent.mcp_servers is empty"),
        ({"mcp_servers": [{"calc": {}}]}, "Agent.mcp_servers['calc'] needs a command"),
        ({"mcp_servers": [{"calc": "x"}]}, "Agent.mcp_servers['calc'] must be a mapping"),
    ],
)
def test_what_the_cli_would_not_take_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionsError) as caught:
        Agent(**{"description": "d", "prompt": "p", **given})
    assert problem in str(caught.value)


def options(agents: Any, *servers: str) -> Options:
    config: dict[str, Any] = {"command": "serve"}
    return Options(agents=agents, mcp_servers=dict.fromkeys(servers, config))


def test_agents_are_given_by_name() -> None:
    raw = AgentDefinition(description="d", prompt="p", memory="somewhere new")
    agents = options({"reviewer": WHOLE, "raw one": raw}, "calc", "other").agents
    assert {name: thaw(it) for name, it in agents.items()} == {
        "reviewer": WHOLE.definition(),
        "raw one": raw,
    }


@pytest.mark.parametrize(
    ("agents", "problem"),
    [
        ({"": WHOLE}, "the name '' in agents is empty"),
        ({5: WHOLE}, "the name 5 in agents must be a string"),
        ({"a": {"prompt": "p"}}, "agents['a'] needs a description"),
        ({"a": WHOLE}, "The agent a needs the server calc; give it to the session too"),
    ],
)
def test_agents_that_cannot_be_are_refused(agents: Any, problem: str) -> None:
    with pytest.raises(OptionsError) as caught:
        options(agents, "tickets")
    assert problem in str(caught.value)


def test_a_server_that_is_misspelled_is_told_from_one_that_is_elsewhere() -> None:
    agent = Agent(description="d", prompt="p", mcp_servers=["ticket"])
    assert thaw(options({"a": agent}, "calc").agents["a"]).mcp_servers == ["ticket"]
    with pytest.raises(OptionsError, match="needs the server ticket; did you mean tickets"):
        options({"a": agent}, "calc", "tickets")
    other = Agent(description="d", prompt="p", mcp_servers=["tick"])
    assert thaw(options({"a": other}, "tickets").agents["a"]).mcp_servers == ["tick"]


def test_an_agent_may_have_the_servers_of_the_session() -> None:
    server = ToolServer("sums", [len])
    agent = Agent(description="d", prompt="p", mcp_servers=[server, "claudewire"])
    for given in ({"tools": [server, max]}, {"mcp_servers": [server]}):
        (kept,) = Options(agents={"a": agent}, **given).agents.values()
        assert thaw(kept).mcp_servers == ["sums", "claudewire"]


def test_agents_that_the_cli_has_dropped_are_told_of() -> None:
    taken = InitializeResult(agents=[AgentInfo("a"), AgentInfo("Explore")])
    check_agents(["a"], taken)
    with pytest.raises(CLIError, match="has not taken the agents b, c") as caught:
        check_agents(["a", "b", "c"], taken)
    assert caught.value.cause is Cause.REFUSED
    assert "It drops all agents" in caught.value.advice


@pytest.mark.parametrize("info", [None, InitializeResult()])
def test_an_old_cli_does_not_say_which_agents_it_has(info: InitializeResult | None) -> None:
    check_agents(["a"], info)
