"""Subagents defined in Python: what the model may hand work to, and what each of them gets.

    reviewer = Agent(
        description="Reviews a change. Use it after every edit.",
        prompt="You review code. Be brief.",
        tools=["Read", "Grep", "mcp__tickets__search"],
        model="haiku",
    )

The CLI checks definitions too, but when one is wrong it drops all of them without a word. So they
are checked here, before anything is started, and what the CLI took is looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import msgspec

from ..errors import Cause, CLIError, OptionsError
from ..wire import AgentDefinition, InitializeResult
from .checks import (
    Check,
    boolean,
    either,
    items,
    literal,
    mcp_servers,
    optional,
    quoted,
    string,
    strings,
    struct,
    whole_number,
)
from .frozen import freeze, thaw
from .types import Effort, McpServer, NamedServer

__all__ = [
    "Agent",
    "AgentMemory",
    "AgentMode",
    "AgentServer",
    "agent_definition",
    "check_agents",
    "check_servers",
]

AgentMemory = Literal["user", "project", "local"]
AgentMode = Literal["default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "auto"]

AgentServer = str | NamedServer | Mapping[str, McpServer]
"""A server of the session or of the CLI's settings, by name; or servers that only the agent has."""


def _mcp_servers(name: str, value: object) -> None:
    for item in items(name, value):
        if isinstance(item, Mapping):
            mcp_servers(name, item)
        else:
            string(f"a server in {name}", getattr(item, "name", item))


_CHECKS: dict[str, Check] = {
    "tools": strings,
    "disallowed_tools": strings,
    "model": string,
    "mcp_servers": _mcp_servers,
    "skills": strings,
    "initial_prompt": string,
    "max_turns": whole_number(1),
    "background": boolean,
    "memory": literal(AgentMemory),
    "effort": either(int, whole_number(1), literal(Effort)),
    "permission_mode": literal(AgentMode),
    "omit_claude_md": boolean,
    "auto_compact_window": whole_number(1),
    "critical_reminder": string,
    "observer": string,
    "observer_message": string,
}
"""What each field must be, if it is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A subagent.

    Attributes:
        description: when the model should hand work to it.
        prompt: its system prompt.
        tools: what it may use, `Read` or `mcp__server__tool`; None for all that the session has.
            A whole server, `mcp__server`, is understood by new CLIs only.
        disallowed_tools: what it must not use.
        model: sonnet, opus, haiku, a full name, or `inherit`; None for the CLI's choice.
        mcp_servers: which servers it gets, see `AgentServer`.
        skills: which skills it has loaded from the start.
        initial_prompt: what it is sent first if it is the main agent of a session.
        max_turns: after how many rounds with the model it has to end.
        background: whether it always runs in the background.
        memory: where it remembers things between sessions.
        effort: how hard it thinks: a level, or a number.
        permission_mode: how its tools are permitted.
        omit_claude_md: it does not get the instructions of the project.
        auto_compact_window: how many tokens its context may have before it is summarised.
        critical_reminder: what it is reminded of again and again. Experimental in the CLI.
        observer: the agent that watches over this one.
        observer_message: what the observer is told.

    Raises:
        OptionsError: the CLI would not take it.
    """

    description: str
    prompt: str
    tools: Sequence[str] | None = None
    disallowed_tools: Sequence[str] | None = None
    model: str | None = None
    mcp_servers: Sequence[AgentServer] | None = None
    skills: Sequence[str] | None = None
    initial_prompt: str | None = None
    max_turns: int | None = None
    background: bool | None = None
    memory: AgentMemory | None = None
    effort: Effort | int | None = None
    permission_mode: AgentMode | None = None
    omit_claude_md: bool | None = None
    auto_compact_window: int | None = None
    critical_reminder: str | None = None
    observer: str | None = None
    observer_message: str | None = None

    def __post_init__(self) -> None:
        string("Agent.description", self.description)
        string("Agent.prompt", self.prompt)
        for name, check in _CHECKS.items():
            optional(check)(f"Agent.{name}", getattr(self, name))
        both = {*(self.tools or ())} & {*(self.disallowed_tools or ())}
        if both:
            raise OptionsError(f"An agent cannot have {min(both)} both allowed and disallowed")

    def definition(self) -> AgentDefinition:
        """Write it as the CLI reads it."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("tools", "disallowed_tools", "skills"):
            given[name] = None if given[name] is None else list(given[name])
        if self.mcp_servers is not None:
            given["mcp_servers"] = [_server(it) for it in self.mcp_servers]
        given["critical_system_reminder"] = given.pop("critical_reminder")
        return AgentDefinition(**given)


def _server(server: AgentServer) -> str | dict[str, Any]:
    if isinstance(server, str):
        return server
    if isinstance(server, Mapping):
        return {name: msgspec.to_builtins(config) for name, config in server.items()}
    return server.name


def agent_definition(name: str, value: Any) -> AgentDefinition:
    """Take a subagent, in any of its forms."""
    if isinstance(value, Agent):
        value = value.definition()
    if isinstance(value, AgentDefinition):
        value = msgspec.to_builtins(thaw(freeze(value, name)))  # a struct may hold anything
    if not isinstance(value, Mapping):
        raise OptionsError(f"{name} must be an Agent or a mapping, not {quoted(value)}")
    definition: AgentDefinition = freeze(struct(name, value, AgentDefinition), name)
    if not definition.description or not definition.prompt:
        raise OptionsError(f"{name} needs a description, for when to use it, and a prompt")
    return definition


# --- for a session -------------------------------------------------------------------------------


def check_servers(agents: Mapping[str, Any], servers: Collection[str]) -> None:
    """Check that a session has the MCP servers that its agents need.

    Args:
        agents: the agents by name. Only an `Agent` tells which servers are objects of this process.
        servers: the names of the servers that the session has.

    Raises:
        OptionsError: one is missing, or misspelled.
    """
    for name, agent in agents.items():
        for needed in (agent.mcp_servers or ()) if isinstance(agent, Agent) else ():
            if not isinstance(needed, Mapping):
                _check_server(name, needed, servers)


def _check_server(agent: str, needed: str | NamedServer, servers: Collection[str]) -> None:
    name = needed if isinstance(needed, str) else needed.name
    if name in servers:
        return
    if not isinstance(needed, str):
        raise OptionsError(f"The agent {agent} needs the server {name}; give it to the session too")
    # It may be in the settings of the CLI; one that is merely misspelled is not.
    from difflib import get_close_matches  # in an error only: loading it takes a while

    close = get_close_matches(name, servers, n=1, cutoff=0.8)
    if close:
        raise OptionsError(f"The agent {agent} needs the server {name}; did you mean {close[0]}?")


def check_agents(names: Iterable[str], info: InitializeResult | None) -> None:
    """Check that the CLI has taken the agents, as far as it tells.

    Args:
        names: the names of the agents.
        info: what the CLI answered to `initialize`.

    Raises:
        CLIError: it has dropped some. It drops all of them if it does not understand one.
    """
    if info is None or info.agents is None:
        return
    taken = {agent.name for agent in info.agents}
    missing = [name for name in names if name not in taken]
    if missing:
        raise CLIError(
            f"The CLI has not taken the agents {', '.join(missing)}",
            cause=Cause.REFUSED,
            advice="It drops all agents when it does not understand one of them. Use a newer CLI, "
            "or leave out the setting that this one does not know.",
        )
