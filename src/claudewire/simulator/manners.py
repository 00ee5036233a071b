"""What a CLI of another dialect does differently, besides writing it: as its document says.

Hooks, in-process servers and settings are simulated in every dialect, also where its document does
not have them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ..wire import (
    APIEvent,
    CompactBoundaryMessage,
    ContentBlockDelta,
    ContentBlockStart,
    Event,
    InitMessage,
    ResultMessage,
    SystemMessage,
    TextDelta,
    ToolUseBlock,
)

__all__ = ["MANNERS", "Manner"]


class Manner(NamedTuple):
    """How a CLI behaves, as far as that depends on its dialect."""

    init: Literal["turn", "opening"] = "turn"
    """When the session is described: with each turn, or once, after `initialize`."""
    echoes: bool = False
    """Whether prompts are repeated without a flag that asks for it."""
    streams: Literal["if asked", "deltas and tools", "text"] = "if asked"
    """What of a message is streamed: everything if a flag asks for it, or always a part."""
    system: tuple[type[SystemMessage], ...] = (SystemMessage,)
    """The system messages that the dialect has."""
    notes_interrupts: bool = True
    """Whether the conversation has a message that tells of an interrupt."""
    stops: bool = False
    """Whether the last message of a turn says that the model has stopped."""
    results: bool = True
    """Whether a turn ends with a result."""
    errors: Literal["result", "failed", "system", "error"] = "result"
    """How a failed turn is told: by a result, by one with the subtype of a failure, by a system
    message before it, or by an `error`."""

    def says(self, event: Event) -> bool:
        """Whether the dialect has such a message."""
        if isinstance(event, SystemMessage):
            return isinstance(event, self.system)
        return self.results or not isinstance(event, ResultMessage)

    def streams_event(self, event: APIEvent, asked: bool) -> bool:
        """Whether a part of a message is sent; `asked` if a flag asks for partial messages."""
        if self.streams == "if asked":
            return asked
        if isinstance(event, ContentBlockDelta):
            return self.streams != "text" or isinstance(event.delta, TextDelta)
        started = isinstance(event, ContentBlockStart) and event.content_block
        return self.streams != "text" and isinstance(started, ToolUseBlock)


MANNERS = {
    "modern": Manner(),
    "session": Manner(
        init="opening",
        system=(InitMessage, CompactBoundaryMessage),
        notes_interrupts=False,
        errors="failed",
    ),
    "legacy": Manner(streams="deltas and tools", errors="system"),
    "envelope": Manner(
        echoes=True,
        streams="text",
        system=(),
        notes_interrupts=False,
        stops=True,
        results=False,
        errors="error",
    ),
}
