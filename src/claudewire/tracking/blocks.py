"""A content block that stays the same object from its first piece to its last."""

from __future__ import annotations

import json
from collections.abc import Callable
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


class LiveBlock:
    """A block of a message: while it is being written, and once it is complete.

    Attributes:
        id: names the block within its turn, and never changes.
        kind: text, thinking, tool_use, …: the `type` of the block.
        agent: the tool call that started the subagent which says this; None in the main
            conversation.
        message_id: the API's id of the message; None as long as it is not known.
        index: the place of the block in its message.
        complete: whether all of it is there, or as much as there will ever be.
        aborted: it was cut off: by an interrupt, an error, or the end of the turn.
        confirmed: the CLI has written it as a whole, and that is what counts.
        block: the block as it stands on the wire; None until it is complete.
        name: the name of the tool, for a tool call.
        tool_use_id: the id of the call, for a tool call.
        result: what came of the call, as the model sees it; None until it is there.
        output: all that the tool returned, where the CLI tells; a string for an error.
        deltas: pieces of a kind that this version does not know.
        change: what happened last.
        added: the text, or the JSON, that the last change has added, if any.
    """

    __slots__ = (
        "_citations",
        "_encrypted",
        "_json",
        "_parts",
        "_signature",
        "_start",
        "aborted",
        "added",
        "agent",
        "block",
        "change",
        "complete",
        "confirmed",
        "deltas",
        "id",
        "index",
        "kind",
        "message_id",
        "name",
        "output",
        "result",
        "tool_use_id",
    )

    def __init__(
        self, id: str, kind: str, agent: str | None, message_id: str | None, index: int
    ) -> None:
        self.id: str = id
        self.kind: str = kind
        self.agent: str | None = agent
        self.message_id: str | None = message_id
        self.index: int = index
        self.complete: bool = False
        self.aborted: bool = False
        self.confirmed: bool = False
        self.block: Block | None = None
        self.name: str | None = None
        self.tool_use_id: str | None = None
        self.result: Block | None = None
        self.output: Any = None
        self.deltas: list[dict[str, Any]] = []
        self.change: BlockChange = "started"
        self.added: str = ""
        self._start: Block | None = None
        self._parts: list[str] = []
        self._json: list[str] = []
        self._signature = ""
        self._citations: list[Any] = []
        self._encrypted: str | None = None

    def __repr__(self) -> str:
        state = "aborted" if self.aborted else "complete" if self.complete else "growing"
        said = self.name or self.text
        return f"<LiveBlock {self.id} {self.kind} {state} {said[:60]!r}>"

    @property
    def text(self) -> str:
        """What is said, or thought, so far; empty for a block that has no text."""
        return _joined(self._parts)

    @property
    def input_json(self) -> str:
        """The JSON of a tool's input so far; empty if it did not come in pieces."""
        return _joined(self._json)

    @property
    def input(self) -> dict[str, Any] | None:
        """A tool's input, once it is complete; None before, and if this is no tool call."""
        return self.block.input if isinstance(self.block, _ToolUse) else None


def _joined(parts: list[str]) -> str:
    # Joined when somebody looks, so that many small pieces do not cost the square of their number.
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
    """Give the `type` of a block."""
    if isinstance(block, UnknownBlock):
        return str(block.raw.get("type"))
    return str(type(block).__struct_config__.tag)


def kind_of_delta(delta: Delta) -> str:
    """Say what kind of block a piece belongs to, as far as the piece tells."""
    return _DELTAS.get(type(delta), "unknown")


def may_be(live: LiveBlock, kind: str) -> bool:
    """Say whether a block can turn out to be of a kind; without its beginning that is a guess."""
    if live._start is None and live.kind in ("tool_use", "unknown"):
        return live.kind == "unknown" or kind.endswith("tool_use")
    return live.kind == kind


def tool_use_id_of(block: Block) -> str | None:
    """Give the id of a tool call; None if the block is something else."""
    return block.id if isinstance(block, _ToolUse) else None


def text_in(block: Block) -> str:
    """Give what a block says or thinks; empty if it does neither."""
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ThinkingBlock):
        return block.thinking
    return block.content or "" if isinstance(block, CompactionBlock) else ""


# --- what happens to them ------------------------------------------------------------------------


def begin(live: LiveBlock, block: Block) -> None:
    """Let it begin, as a rule empty."""
    live._start = block
    _describe(live, block)


def confirm(live: LiveBlock, block: Block, *, aborted: bool = False) -> None:
    """Let it be what the CLI says that it is, whatever the pieces were."""
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
    live.change = "grew"
    live.added = _GROW[type(delta)](live, delta)


def _grow_text(live: LiveBlock, delta: TextDelta) -> str:
    live._parts.append(delta.text)
    return delta.text


def _grow_thinking(live: LiveBlock, delta: ThinkingDelta) -> str:
    live._parts.append(delta.thinking)
    return delta.thinking


def _grow_json(live: LiveBlock, delta: InputJsonDelta) -> str:
    live._json.append(delta.partial_json)
    return delta.partial_json


def _grow_signature(live: LiveBlock, delta: SignatureDelta) -> str:
    live._signature += delta.signature
    return ""


def _grow_citations(live: LiveBlock, delta: CitationsDelta) -> str:
    live._citations.append(delta.citation)
    return ""


def _grow_summary(live: LiveBlock, delta: CompactionDelta) -> str:
    # This piece is the whole.
    live._parts, live._encrypted = [delta.content or ""], delta.encrypted_content
    return delta.content or ""


def _grow_unknown(live: LiveBlock, delta: UnknownDelta) -> str:
    live.deltas.append(delta.raw)
    return ""


_GROW: dict[type[Delta], Callable[[LiveBlock, Any], str]] = {
    TextDelta: _grow_text,
    ThinkingDelta: _grow_thinking,
    InputJsonDelta: _grow_json,
    SignatureDelta: _grow_signature,
    CitationsDelta: _grow_citations,
    CompactionDelta: _grow_summary,
    UnknownDelta: _grow_unknown,
}


def finish(live: LiveBlock) -> bool:
    """Make the block of its pieces, after the last one; tell whether that can be done."""
    # Without its beginning a text is still a text, but a tool call has no name.
    start = live._start or _EMPTY.get(live.kind)
    made = None if start is None else _MAKE.get(type(start), _make_of_start)(live, start)
    if made is None:
        return False
    live.block, live.complete, live.change, live.added = made, True, "completed", ""
    return True


def _make_of_start(live: LiveBlock, start: Block) -> Block:
    return start


def _make_text(live: LiveBlock, start: TextBlock) -> Block:
    citations = [*(start.citations or ()), *live._citations]
    return replace(start, text=live.text, citations=citations or start.citations)


def _make_thinking(live: LiveBlock, start: ThinkingBlock) -> Block:
    return replace(start, thinking=live.text, signature=live._signature or start.signature)


def _make_summary(live: LiveBlock, start: CompactionBlock) -> Block:
    encrypted = live._encrypted or start.encrypted_content
    return replace(start, content=live.text or start.content, encrypted_content=encrypted)


def _make_tool_use(live: LiveBlock, start: _ToolUse) -> Block | None:
    if not live.input_json:
        return start
    try:
        value = json.loads(live.input_json, strict=False)
    except (ValueError, RecursionError):
        return None
    return replace(start, input=value) if isinstance(value, dict) else None


_EMPTY: dict[str, Block] = {
    "text": TextBlock(""),
    "thinking": ThinkingBlock(""),
    "compaction": CompactionBlock(),
}
_MAKE: dict[type[Block], Callable[[LiveBlock, Any], Block | None]] = {
    TextBlock: _make_text,
    ThinkingBlock: _make_thinking,
    CompactionBlock: _make_summary,
    ToolUseBlock: _make_tool_use,
    ServerToolUseBlock: _make_tool_use,
    McpToolUseBlock: _make_tool_use,
}
