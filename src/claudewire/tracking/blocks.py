"""A content block that stays the same object from its first piece to its last."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec.structs import replace

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

__all__ = [
    "BlockChange",
    "LiveBlock",
    "begin",
    "confirm",
    "finish",
    "grow",
    "kind_of",
    "kind_of_delta",
    "may_be",
    "text_in",
    "tool_use_id_of",
]

BlockChange = Literal["started", "grew", "completed", "result", "cut", "removed"]
"""What happened to a block last."""

_ToolUse = ToolUseBlock | ServerToolUseBlock | McpToolUseBlock


@dataclass(slots=True, eq=False)
class LiveBlock:
    """A block of a message: while it is being written, and once it is complete.

    Attributes:
        id: names the block within its turn, and never changes.
        kind: text, thinking, tool_use, …: the `type` of the block.
        agent: the tool call that started the subagent which writes this; None in the main
            conversation.
        message_id: the API's id of the message; None as long as it is not known.
        index: the place of the block in its message.
        complete: whether all of it is there, or as much as there will ever be.
        aborted: it was cut off: by an interrupt, an error, or the end of the turn.
        confirmed: the CLI has sent it as a whole, which counts more than the pieces.
        block: the block as it is on the wire; None until it is complete.
        name: the name of the tool, for a tool call.
        tool_use_id: the id of the call, for a tool call.
        result: the result of the call, as the model sees it; None until there is one.
        output: all that the tool returned, if the CLI sends it; a string for an error.
        deltas: pieces of a kind that this version does not know.
        change: what happened last.
        added: the text, or the JSON, that the last change has added, if any.
    """

    id: str
    kind: str
    agent: str | None
    message_id: str | None
    index: int
    complete: bool = False
    aborted: bool = False
    confirmed: bool = False
    block: Block | None = None
    name: str | None = None
    tool_use_id: str | None = None
    result: Block | None = None
    output: Any = None
    deltas: list[dict[str, Any]] = field(default_factory=list)
    change: BlockChange = "started"
    added: str = ""
    _start: Block | None = None
    _parts: list[str] = field(default_factory=list)
    _json: list[str] = field(default_factory=list)
    _signature: str = ""
    _citations: list[Any] = field(default_factory=list)
    _encrypted: str | None = None

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
        """What the tool told the model; empty until there is a result, and if it has no text."""
        return self.result.text if isinstance(self.result, ToolResultBlock) else ""


def _joined(parts: list[str]) -> str:
    # Joined on access, so that many small pieces do not cost the square of their number.
    if len(parts) > 1:
        parts[:] = ["".join(parts)]
    return parts[0] if parts else ""


# --- what blocks are -----------------------------------------------------------------------------

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


def may_be(live: LiveBlock, kind: str) -> bool:
    """Whether a block can turn out to be of a kind; without its beginning that is a guess."""
    if live._start is None and live.kind in ("tool_use", "unknown"):
        return live.kind == "unknown" or kind.endswith("tool_use")
    return live.kind == kind


def tool_use_id_of(block: Block) -> str | None:
    """Return the id of a tool call; None if the block is something else."""
    return block.id if isinstance(block, _ToolUse) else None


def text_in(block: Block) -> str:
    """Return the text or the thinking of a block; empty if it has none."""
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ThinkingBlock):
        return block.thinking
    return block.content or "" if isinstance(block, CompactionBlock) else ""


# --- what happens to them ------------------------------------------------------------------------


def begin(live: LiveBlock, block: Block) -> None:
    """Begin it, usually empty."""
    live._start = block
    _describe(live, block)


def confirm(live: LiveBlock, block: Block, *, aborted: bool = False) -> None:
    """Replace it by the whole block that the CLI has sent, whatever the pieces were."""
    before = live.text
    _describe(live, block)
    text = live.text
    live.block, live.confirmed, live.complete, live.aborted = block, True, True, aborted
    live.change = "completed"
    live.added = text[len(before) :] if text.startswith(before) else ""


def _describe(live: LiveBlock, block: Block) -> None:
    live.kind = kind_of(block)
    live._parts = [text_in(block)]
    if isinstance(block, _ToolUse):
        live.name, live.tool_use_id = block.name, block.id


def grow(live: LiveBlock, delta: Delta) -> None:
    """Add a piece."""
    live.change, live.added = "grew", ""
    match delta:
        case TextDelta(text=piece) | ThinkingDelta(thinking=piece):
            live._parts.append(piece)
            live.added = piece
        case InputJsonDelta(partial_json=piece):
            live._json.append(piece)
            live.added = piece
        case CompactionDelta():  # this piece is the whole
            live.added = delta.content or ""
            live._parts, live._encrypted = [live.added], delta.encrypted_content
        case SignatureDelta():
            live._signature += delta.signature
        case CitationsDelta():
            live._citations.append(delta.citation)
        case UnknownDelta():
            live.deltas.append(delta.raw)


def finish(live: LiveBlock) -> bool:
    """Make the block from its pieces, after the last one; return whether that was possible."""
    # Without its beginning a text is still a text, but a tool call has no name.
    made = _made(live, live._start or _EMPTY.get(live.kind))
    if made is None:
        return False
    live.block, live.complete, live.change, live.added = made, True, "completed", ""
    return True


def _made(live: LiveBlock, start: Block | None) -> Block | None:
    """Add the pieces to the block as it began; None if they are no JSON of a tool's input."""
    if isinstance(start, TextBlock):
        citations = [*(start.citations or ()), *live._citations]
        return replace(start, text=live.text, citations=citations or start.citations)
    if isinstance(start, ThinkingBlock):
        return replace(start, thinking=live.text, signature=live._signature or start.signature)
    if isinstance(start, CompactionBlock):
        encrypted = live._encrypted or start.encrypted_content
        return replace(start, content=live.text or start.content, encrypted_content=encrypted)
    if isinstance(start, _ToolUse) and live.input_json:
        value = _parsed(live.input_json)
        return replace(start, input=value) if isinstance(value, dict) else None
    return start


def _parsed(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


_EMPTY: dict[str, Block] = {
    "text": TextBlock(""),
    "thinking": ThinkingBlock(""),
    "compaction": CompactionBlock(),
}
