"""Subagents defined in Python: helpers that the model may hand work to.

    reviewer = Agent(
        description="Reviews a change. Use it after every edit.",
        prompt="You review code. Be brief.",
        tools=["Read", "Grep", "mcp__tickets__search"],
        model="haiku",
    )

The CLI silently drops all definitions when one is wrong. So they are checked here, before anything
is started, and the CLI's answer is checked afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from ..errors import Cause, CLIError, OptionsError
from ..wire import AgentDefinition, InitializeResult, PermissionMode
from .checks import check_fields, fields_of, mapping_of, mcp_servers, quoted
from .types import Effort, McpServer, NamedServer

AgentMemory = Literal["user", "project", "local"]

AgentServer = str | Mapping[str, McpServer] | NamedServer
"""A server of the session or of the CLI's settings, by name; or servers for the agent alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A subagent.

    Attributes:
        description: when the model should hand work to the agent.
        prompt: the system prompt.
        tools: the allowed tools, `Read` or `mcp__server__tool`; None for all of the session.
            Only new CLIs understand a whole server, `mcp__server`.
        disallowed_tools: the forbidden tools.
        model: sonnet, opus, haiku, a full name, or `inherit`; None for the CLI's choice.
        mcp_servers: the agent's servers, see `AgentServer`.
        skills: the skills that are loaded from the start.
        initial_prompt: the first prompt, if this is the main agent of a session.
        max_turns: the maximum number of model calls.
        background: always run in the background.
        memory: the place for memories between sessions.
        effort: how hard the agent thinks: a level, or a number.
        permission_mode: the CLI's decision about tools without a rule.
        omit_claude_md: leave out the instructions of the project.
        auto_compact_window: the number of tokens at which the context is summarised.
        critical_system_reminder: a reminder that is repeated. Experimental in the CLI.
        observer: the agent that watches over this one.
        observer_message: the message to the observer.

    Raises:
        OptionsError: the CLI would not accept the agent.
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
    permission_mode: PermissionMode | None = None
    omit_claude_md: bool | None = None
    auto_compact_window: int | None = None
    critical_system_reminder: str | None = None
    observer: str | None = None
    observer_message: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, "Agent", max_turns=1, effort=1, auto_compact_window=1)
        for server in self.mcp_servers or ():
            if isinstance(server, Mapping):
                mcp_servers("Agent.mcp_servers", server)
        both = {*(self.tools or ())} & {*(self.disallowed_tools or ())}
        if both:
            raise OptionsError(f"An agent cannot have {min(both)} both allowed and disallowed")

    def definition(self) -> AgentDefinition:
        """Return the agent as the CLI reads it."""
        given = {name: getattr(self, name) for name in AgentDefinition.__struct_fields__}
        if self.mcp_servers is not None:
            servers = [it if isinstance(it, str | Mapping) else it.name for it in self.mcp_servers]
            given["mcp_servers"] = servers
        return AgentDefinition(**msgspec.json.decode(msgspec.json.encode(given)))


def agent_definitions(name: str, value: Any) -> Mapping[str, AgentDefinition]:
    """Take subagents by name: agents, definitions, or mappings with the fields of one."""
    return mapping_of(name, value, _definition)


def _definition(name: str, value: Any) -> AgentDefinition:
    if isinstance(value, Mapping):
        fields = fields_of(name, value, AgentDefinition)
        if not {"description", "prompt"} <= fields.keys():
            raise OptionsError(f"{name} needs a description, for when to use it, and a prompt")
        try:
            value = Agent(**fields)
        except OptionsError as error:
            raise OptionsError(f"{name}: {error}") from None
    if isinstance(value, Agent):
        value = value.definition()
    if not isinstance(value, AgentDefinition):
        raise OptionsError(f"{name} must be an Agent or a mapping, got {quoted(value)}")
    return value


def check_servers(agents: Mapping[str, Any], servers: Collection[str]) -> None:
    """Check that a session has the MCP servers inside this process that its agents need."""
    for name, agent in agents.items():
        for server in (agent.mcp_servers or ()) if isinstance(agent, Agent) else ():
            if not isinstance(server, str | Mapping) and server.name not in servers:
                raise OptionsError(
                    f"The agent {name} needs the server {server.name}; give it to the session too"
                )


def check_agents(names: Iterable[str], info: InitializeResult | None) -> None:
    """Check that the CLI has accepted the agents, as far as it tells.

    Args:
        names: the names of the agents.
        info: the CLI's answer to `initialize`.

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
