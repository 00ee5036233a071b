"""The types of options: aliases, and the limits of a session."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from ..wire import McpHttpServerConfig, McpSSEServerConfig, McpStdioServerConfig, PluginConfig
from .checks import check_fields

StrPath = str | os.PathLike[str]
JSONObject = Mapping[str, Any]

CLI = StrPath | Sequence[str]
"""A program, a command that runs it (`["ssh", "host", "claude"]`), or `"simulated"`."""

Effort = Literal["low", "medium", "high", "xhigh", "max"]
Thinking = Literal["adaptive", "disabled"] | int
"""As much as the model likes, none, or a maximum of tokens."""
ThinkingDisplay = Literal["summarized", "omitted", "highlights"]
AutoCompact = Literal["auto"] | int
PermissionPrompts = Literal["host", "none"]
PreviewFormat = Literal["markdown", "html"]
SettingSource = Literal["user", "project", "local"]

McpServer = McpStdioServerConfig | McpHttpServerConfig | McpSSEServerConfig | JSONObject
"""The configuration of an MCP server that the CLI starts or connects to."""


@runtime_checkable
class NamedServer(Protocol):
    """An MCP server inside this process: a `ToolServer`, or a server of the `mcp` package."""

    @property
    def name(self) -> str:
        """The name of the server."""
        ...


McpServers = Mapping[str, McpServer | NamedServer] | Sequence[NamedServer]
"""MCP servers by name, or a list of servers inside this process, which know their names."""

Plugin = PluginConfig | StrPath | JSONObject


class Timeouts(Struct, frozen=True):
    """Limits on the steps of starting, stopping and asking the CLI, in seconds.

    Attributes:
        start: from the start of the CLI to its first answer.
        request: for the CLI to answer a request, unless the call has its own limit.
        interrupt: for a turn to stop.
        exit: for the CLI to exit after the end of its input or its output.
        terminate: to exit after SIGTERM, before it is killed.
        kill: for a killed process to disappear.
        drain: for the rest of the output of a CLI that has exited.

    Raises:
        OptionsError: a limit is not more than 0.
    """

    start: float = 60.0
    request: float = 60.0
    interrupt: float = 30.0
    exit: float = 5.0
    terminate: float = 5.0
    kill: float = 5.0
    drain: float = 2.0

    def __post_init__(self) -> None:
        check_fields(self, "timeouts")


class WaitingFor(StrEnum):
    """The event that a session waits for."""

    NOTHING = "nothing"
    START = "the start"
    FIRST_TOKEN = "the first token"
    NEXT_TOKEN = "the next token"
    TOOL = "a tool"
    APPROVER = "a person"
    ANSWER = "an answer"


class StallTimeouts(Struct, frozen=True):
    """The length of each kind of silence before it is a stall, in seconds; None for no limit.

    Attributes:
        first_token: from a prompt, or a tool's result, to the first output of the model.
        next_token: between two pieces of output.
        tool: from the call of a tool, or its last progress, to its result.
        approver: for a person to decide.
        answer: for the CLI to answer a request, which also has a timeout.
        action: `warn` only reports a stall. `interrupt` stops the turn, which then fails with
            `TurnStalled`. `restart` also starts another CLI that resumes the session.
        grace: from the warning to the action.

    Raises:
        OptionsError: the action does not exist, or a limit is not more than 0.
    """

    first_token: float | None = 120.0
    next_token: float | None = 120.0
    tool: float | None = 900.0
    approver: float | None = None
    answer: float | None = 120.0
    action: Literal["warn", "interrupt", "restart"] = "warn"
    grace: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self, "patience", grace=0)

    def limit(self, what: WaitingFor) -> float:
        """Return the limit for one kind of waiting, or infinity."""
        limit: float | None = getattr(self, what.name.lower(), None)
        return math.inf if limit is None else limit


class UnreadLimit(Struct, frozen=True):
    """The treatment of messages that the application does not read. The reader never waits.

    Attributes:
        high_water: the number of messages at which an `UnreadLimitReached` event reports them.

    Raises:
        OptionsError: the number is less than 1.
    """

    high_water: int = 10_000

    def __post_init__(self) -> None:
        check_fields(self, "unread", high_water=1)
