"""Subagents defined in Python: what the model may hand work to, and what each of them gets.

    reviewer = Agent(
        description="Reviews a change. Use it after every edit.",
        prompt="You review code. Be brief.",
        tools=["Read", "Grep", "mcp__tickets__search"],
        model="haiku",
    )

The CLI checks definitions too, but when one is wrong it drops all of them and says nothing. So
they are checked here, before anything is started, and what it took is looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, get_args

import msgspec

from ..errors import Cause, CLIError, OptionsError
from ..wire import (
    AgentDefinition,
    InitializeResult,
    McpHttpServerConfig,
    McpSSEServerConfig,
    McpStdioServerConfig,
)
from .types import NamedServer

__all__ = ["Agent", "AgentServer", "check_agents", "define_agents"]

Effort = Literal["low", "medium", "high", "xhigh", "max"]
Memory = Literal["user", "project", "local"]
Mode = Literal["default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "auto"]

ServerConfig = McpStdioServerConfig | McpHttpServerConfig | McpSSEServerConfig | dict[str, Any]
"""How to reach an MCP server outside this process."""

AgentServer = str | NamedServer | Mapping[str, ServerConfig]
"""A server of the session or of the CLI's settings, by name; or servers of the agent's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A subagent.

    Attributes:
        description: when the model should hand work to it.
        prompt: what it is told to be, its system prompt.
        tools: what it may use, `Read` or `mcp__server__tool`; None for all that the session has.
            A whole server, `mcp__server`, is understood by new CLIs only.
        disallowed_tools: what it may not use.
        model: sonnet, opus, haiku, a full name, or `inherit`; None for the CLI's choice.
        mcp_servers: which servers it gets, see `AgentServer`.
        skills: which skills it has loaded from the beginning.
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
    memory: Memory | None = None
    effort: Effort | int | None = None
    permission_mode: Mode | None = None
    omit_claude_md: bool | None = None
    auto_compact_window: int | None = None
    critical_reminder: str | None = None
    observer: str | None = None
    observer_message: str | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None or item.name in _REQUIRED:
                _CHECKS[item.name](item.name, value)
        both = {*(self.tools or ())} & {*(self.disallowed_tools or ())}
        if both:
            raise OptionsError(f"An agent cannot have {min(both)} both allowed and disallowed")

    @property
    def servers(self) -> tuple[NamedServer, ...]:
        """The servers inside this process that it needs. The session has to have them."""
        given = self.mcp_servers or ()
        return tuple(it for it in given if not isinstance(it, str | Mapping))

    def definition(self) -> AgentDefinition:
        """Write it as the CLI reads it."""
        return AgentDefinition(
            description=self.description,
            prompt=self.prompt,
            tools=_list(self.tools),
            disallowed_tools=_list(self.disallowed_tools),
            model=self.model,
            mcp_servers=_servers(self.mcp_servers),
            critical_system_reminder=self.critical_reminder,
            skills=_list(self.skills),
            initial_prompt=self.initial_prompt,
            max_turns=self.max_turns,
            auto_compact_window=self.auto_compact_window,
            background=self.background,
            omit_claude_md=self.omit_claude_md,
            memory=self.memory,
            effort=self.effort,
            permission_mode=self.permission_mode,
            observer=self.observer,
            observer_message=self.observer_message,
        )


def _list(items: Sequence[str] | None) -> list[str] | None:
    return None if items is None else list(items)


def _servers(servers: Sequence[AgentServer] | None) -> list[str | dict[str, Any]] | None:
    return None if servers is None else [_server(it) for it in servers]


def _server(server: AgentServer) -> str | dict[str, Any]:
    if isinstance(server, str):
        return server
    if isinstance(server, Mapping):
        return {name: msgspec.to_builtins(config) for name, config in server.items()}
    return server.name


# --- checks --------------------------------------------------------------------------------------


def _text(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise OptionsError(f"The {_words(name)} of an agent is a text, and not {value!r}")


def _texts(name: str, value: object) -> None:
    # A text is a sequence of texts, and hardly ever meant as one.
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise OptionsError(f"The {_words(name)} of an agent are a list of texts, not {value!r}")
    for item in value:
        if not isinstance(item, str) or not item.strip():
            raise OptionsError(f"The {_words(name)} of an agent are texts; {item!r} is none")


def _flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise OptionsError(f"The {_words(name)} of an agent is True or False, and not {value!r}")


def _count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptionsError(f"The {_words(name)} of an agent is a number from 1 on, not {value!r}")


def _effort(name: str, value: object) -> None:
    if isinstance(value, str | bool):
        _one_of(Effort)(name, value)
    else:
        _count(name, value)


def _one_of(kind: Any) -> Any:
    known = get_args(kind)

    def check(name: str, value: object) -> None:
        if value not in known:
            raise OptionsError(
                f"The {_words(name)} of an agent is one of {', '.join(known)}, and not {value!r}"
            )

    return check


def _mcp_servers(name: str, value: object) -> None:
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
        raise OptionsError(f"The {_words(name)} of an agent are a list, and not {value!r}")
    for item in value:
        if isinstance(item, Mapping):
            for key, config in item.items():
                _text("MCP server", key)
                _config(key, config)
        elif not isinstance(item, str):
            _text("MCP server", getattr(item, "name", None))
        else:
            _text("MCP server", item)


def _config(name: str, config: object) -> None:
    configs = McpStdioServerConfig | McpHttpServerConfig | McpSSEServerConfig
    if not isinstance(config, configs) and not (isinstance(config, dict) and config):
        raise OptionsError(f"The MCP server {name} of an agent has no configuration: {config!r}")


def _words(name: str) -> str:
    return name.replace("mcp_servers", "MCP servers").replace("_", " ")


_REQUIRED = ("description", "prompt")
_CHECKS: Mapping[str, Any] = {
    "description": _text,
    "prompt": _text,
    "tools": _texts,
    "disallowed_tools": _texts,
    "model": _text,
    "mcp_servers": _mcp_servers,
    "skills": _texts,
    "initial_prompt": _text,
    "max_turns": _count,
    "background": _flag,
    "memory": _one_of(Memory),
    "effort": _effort,
    "permission_mode": _one_of(Mode),
    "omit_claude_md": _flag,
    "auto_compact_window": _count,
    "critical_reminder": _text,
    "observer": _text,
    "observer_message": _text,
}


# --- for a session -------------------------------------------------------------------------------


def define_agents(
    agents: Mapping[str, Agent | AgentDefinition], *, servers: Collection[str] = ()
) -> dict[str, AgentDefinition]:
    """Give what the CLI is told about the agents of a session.

    Args:
        agents: the agents by name. A definition as the CLI reads it is taken as it is.
        servers: the names of the MCP servers that the session has.

    Raises:
        OptionsError: a name cannot be one, or an agent needs a server that is not there.
    """
    return {_name(name): _definition(name, agent, servers) for name, agent in agents.items()}


def _name(name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise OptionsError(f"The name of an agent is a text, and not {name!r}")
    return name


def _definition(name: str, agent: object, servers: Collection[str]) -> AgentDefinition:
    if isinstance(agent, AgentDefinition):
        return agent
    if not isinstance(agent, Agent):
        raise OptionsError(f"The agent {name} is an Agent, and not {agent!r}")
    for needed in agent.mcp_servers or ():
        if not isinstance(needed, Mapping):
            _check_server(name, needed, servers)
    return agent.definition()


def _check_server(agent: str, needed: str | NamedServer, servers: Collection[str]) -> None:
    name = needed if isinstance(needed, str) else needed.name
    if name in servers:
        return
    if needed is not name:
        raise OptionsError(f"The agent {agent} needs the server {name}; give it to the session too")
    # It may be in the settings of the CLI; one that is merely misspelt is not.
    close = get_close_matches(name, servers, n=1, cutoff=0.8)
    if close:
        raise OptionsError(f"The agent {agent} needs the server {name}; did you mean {close[0]}?")


def check_agents(names: Iterable[str], info: InitializeResult | None) -> None:
    """Check that the CLI has taken the agents, as far as it tells.

    Args:
        names: what the agents are called.
        info: what the CLI answered to `initialize`.

    Raises:
        CLIError: it has dropped some. It drops all of them when one does not please it.
    """
    if info is None or info.agents is None:
        return
    taken = {agent.name for agent in info.agents}
    missing = [name for name in names if name not in taken]
    if missing:
        raise CLIError(
            f"The CLI has not taken the agents {', '.join(missing)}",
            cause=Cause.REFUSED,
            advice="It drops all agents when it does not understand one of them. A newer CLI may, "
            "or a setting that this one does not know has to go.",
        )
