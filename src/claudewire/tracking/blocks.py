"""A content block that stays the same object from its first piece to its last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..wire import (
    Block,
    CitationsDelta,
    CompactionBlock,
    CompactionDelta,
    Delta,
    InputJsonDelta,
    McpToolUseBlock,
    ServerToolUseBlock,
    SignatureDelta,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    UnknownDelta,
)

BlockChange = Literal["started", "grew", "completed", "result", "cut", "removed"]

_ToolUse = ToolUseBlock | ServerToolUseBlock | McpToolUseBlock


@dataclass(slots=True, eq=False)
class LiveBlock:
    """A block of a message: while it is being written, and once it is complete.

    Attributes:
        id: the name of the block within its turn; it never changes.
        kind: text, thinking, tool_use, …: the `type` of the block.
        agent: the tool call that started the writing subagent; None in the main conversation.
        message_id: the API's id of the message; None as long as it is unknown.
        index: the place of the block in its message.
        complete: whether the CLI has sent it as a whole, which replaces the pieces.
        aborted: whether an interrupt, an error or the end of the turn cut it off.
        block: the block as it is on the wire; None until it is complete.
        name: the name of the tool, for a tool call.
        tool_use_id: the id of the call, for a tool call.
        result: the result of the call, as the model sees it; None until there is one.
        output: the whole output of the tool, if the CLI sends it; a string for an error.
        deltas: pieces of a kind that this version does not know.
        change: the last change.
        added: the text, or the JSON, that the last change has added, if any.
    """

    id: str
    kind: str
    agent: str | None
    message_id: str | None
    index: int
    complete: bool = False
    aborted: bool = False
    block: Block | None = None
    name: str | None = None
    tool_use_id: str | None = None
    result: Block | None = None
    output: Any = None
    deltas: list[dict[str, Any]] = field(default_factory=list)
    change: BlockChange = "started"
    added: str = ""
    _started: bool = False
    _parts: list[str] = field(default_factory=list)
    _json: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        state = "aborted" if self.aborted else "complete" if self.complete else "growing"
        said = self.name or self.text
        return f"<LiveBlock {self.id} {self.kind} {state} {said[:60]!r}>"

    @property
    def text(self) -> str:
        """The text or the thinking so far; empty for a block that has none."""
        return _joined(self._parts)

    @property
    def input_json(self) -> str:
        """The JSON of a tool's input so far; empty if it did not come in pieces."""
        return _joined(self._json)

    @property
    def input(self) -> dict[str, Any] | None:
        """A tool's input, once it is complete; None before, and if this is no tool call."""
        return self.block.input if isinstance(self.block, _ToolUse) else None

    @property
    def result_text(self) -> str:
        """The text of the tool's result; empty until there is one, and if it has no text."""
        return self.result.text if isinstance(self.result, ToolResultBlock) else ""

    # --- changes, by the assembler ---------------------------------------------------------------

    def _begin(self, block: Block) -> None:
        """Begin with the first form of the block, usually empty."""
        self._started = True
        self._describe(block)

    def _confirm(self, block: Block, *, aborted: bool = False) -> None:
        """Replace the pieces by the whole block that the CLI has sent."""
        before = self.text
        self._describe(block)
        text = self.text
        self.block, self.complete, self.aborted = block, True, aborted
        self.change = "completed"
        self.added = text[len(before) :] if text.startswith(before) else ""

    def _describe(self, block: Block) -> None:
        self.kind = kind_of(block)
        self._parts = [text_in(block)]
        if isinstance(block, _ToolUse):
            self.name, self.tool_use_id = block.name, block.id

    def _grow(self, delta: Delta) -> None:
        """Add a piece."""
        self.change, self.added = "grew", ""
        match delta:
            case TextDelta(text=piece) | ThinkingDelta(thinking=piece):
                self._parts.append(piece)
                self.added = piece
            case InputJsonDelta(partial_json=piece):
                self._json.append(piece)
                self.added = piece
            case CompactionDelta():  # this piece is the whole
                self.added = delta.content or ""
                self._parts = [self.added]
            case UnknownDelta():
                self.deltas.append(delta.raw)


def _joined(parts: list[str]) -> str:
    # Joined on access, so that many small pieces do not cost the square of their number.
    if len(parts) > 1:
        parts[:] = ["".join(parts)]
    return parts[0] if parts else ""


_DELTAS: dict[type[Delta], str] = {
    TextDelta: "text",
    CitationsDelta: "text",
    ThinkingDelta: "thinking",
    SignatureDelta: "thinking",
    InputJsonDelta: "tool_use",
    CompactionDelta: "compaction",
}


def kind_of(block: Block) -> str:
    """Return the `type` of a block."""
    if isinstance(block, UnknownBlock):
        return str(block.raw.get("type"))
    return str(type(block).__struct_config__.tag)


def kind_of_delta(delta: Delta) -> str:
    """Return the kind of block that a piece belongs to, if the piece shows it."""
    return _DELTAS.get(type(delta), "unknown")


def text_in(block: Block) -> str:
    """Return the text or the thinking of a block; empty if it has none."""
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ThinkingBlock):
        return block.thinking
    return block.content or "" if isinstance(block, CompactionBlock) else ""
