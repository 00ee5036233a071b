"""Differences between the dialects besides the form of lines: one table, a row for each.

Hosts ask it how to start a CLI and when a turn ends, simulated CLIs how to behave.
The reasons are in docs/protocol.md, section 8.4.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ..types.base import Event, Message
from ..types.messages import (
    AssistantMessage,
    ErrorMessage,
    ResultMessage,
    SessionCreatedMessage,
    SystemMessage,
)
from ..types.system import CompactBoundaryMessage, InitMessage

_GOES_ON = frozenset({"tool_use", "pause_turn"})
"""Why a model stops in the middle of a turn: to use a tool, or to be called once more."""

Place = Literal["file", "argument", "initialize"]
"""A place for large settings: a file named by a flag, the flag, or the `initialize` request."""


class DialectBehavior(Struct, frozen=True):
    """How the two parties of a dialect behave. The defaults are those of released CLIs."""

    opens_with_initialize: bool = True
    """Whether the host sends `initialize` first; otherwise the first prompt opens the session."""
    has_results: bool = True
    """Whether a turn ends with a result; otherwise its last message says why the model stopped."""
    after_interrupt: Literal["result", "answer", "nothing"] = "result"
    """The sure consequence of an interrupt: the turn's result, an answer only, or nothing."""
    prompt_places: frozenset[Place] = frozenset({"file"})
    """Where the CLI looks for the system prompt."""
    server_places: frozenset[Place] = frozenset({"file"})
    """Where the CLI looks for MCP servers."""
    takes_folder: bool = False
    """Whether the CLI requires `--cwd`."""

    is_released: bool = True
    """Whether real CLIs speak it: they ignore lines of other dialects, exit on malformed ones and
    have a text mode."""
    describes: Literal["turn", "session"] = "turn"
    """The scope of an `init`: each turn, or the session, which describes its tools there."""
    first_prompt: str = ""
    """The type of a prompt that the CLI confirms with `session.created`."""
    echoes: bool = False
    """Whether prompts are repeated without a flag that asks for it."""
    streams: Literal["if asked", "deltas and tools", "text"] = "if asked"
    """Partial output: everything if a flag asks for it, or always a part."""
    system_messages: tuple[type[SystemMessage], ...] = (SystemMessage,)
    """The system messages that the dialect has."""
    suggests: Literal["updates", "patterns", "hints"] = "updates"
    """The form of permission suggestions."""
    notes_interrupts: bool = True
    """Whether the conversation has a message that tells of an interrupt."""
    errors: Literal["result", "system", "error"] = "result"
    """How a failed turn is reported: by a result, with a system message before it, or by an
    `error`."""
    has_error_lines: bool = False
    """Whether there are `error` lines: one answers a line that is not JSON."""
    answers_notifications: bool = False
    """Whether the host acknowledges MCP notifications, without a payload."""

    def has(self, event: Event) -> bool:
        """Return whether the dialect has such a message."""
        if isinstance(event, SystemMessage):
            return isinstance(event, self.system_messages)
        if isinstance(event, ErrorMessage):
            return self.has_error_lines
        if isinstance(event, SessionCreatedMessage):
            return bool(self.first_prompt)
        return self.has_results or not isinstance(event, ResultMessage)

    def ends_turn(self, message: Message) -> bool:
        """Return whether a message says that its turn is over."""
        if isinstance(message, AssistantMessage) and not self.has_results:
            reason = message.stop_reason
            is_main = message.parent_tool_use_id is None
            return is_main and reason is not None and reason not in _GOES_ON
        return isinstance(message, ResultMessage)


_EVERYWHERE: frozenset[Place] = frozenset({"file", "initialize"})

BEHAVIORS = {
    # Hosts that detect the dialect start a released CLI, which reads files.
    "auto": DialectBehavior(),
    "modern": DialectBehavior(prompt_places=_EVERYWHERE, server_places=_EVERYWHERE),
    "session": DialectBehavior(
        after_interrupt="answer",
        prompt_places=frozenset({"initialize"}),
        server_places=frozenset({"initialize"}),
        takes_folder=True,
        is_released=False,
        describes="session",
        first_prompt="session.create",
        system_messages=(InitMessage, CompactBoundaryMessage),
        suggests="patterns",
        notes_interrupts=False,
        has_error_lines=True,
    ),
    "legacy": DialectBehavior(
        prompt_places=frozenset({"argument"}),
        is_released=False,
        streams="deltas and tools",
        errors="system",
        answers_notifications=True,
    ),
    "envelope": DialectBehavior(
        opens_with_initialize=False,
        has_results=False,
        after_interrupt="nothing",
        is_released=False,
        echoes=True,
        streams="text",
        system_messages=(),
        suggests="hints",
        notes_interrupts=False,
        errors="error",
        has_error_lines=True,
    ),
}
