"""Assembling a turn's messages into blocks.

With partial messages the CLI first streams a block in pieces and then sends it as a whole, which
counts; without them there is only the whole. Either way each block is one `LiveBlock`, which stays
the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from ..wire import (
    AssistantMessage,
    Block,
    CitationsDelta,
    CompactionBlock,
    CompactionDelta,
    ContentBlockDelta,
    ContentBlockStart,
    Delta,
    InputJsonDelta,
    McpToolUseBlock,
    Message,
    MessageStart,
    ModelRefusalFallbackMessage,
    ResultMessage,
    ServerToolUseBlock,
    SignatureDelta,
    StreamEvent,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    UnknownDelta,
    UserMessage,
)
from .totals import SYNTHETIC

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

    def _confirm(self, block: Block, *, aborted: bool = False) -> None:
        """Replace the pieces by the whole block that the CLI has sent."""
        before = self.text
        self._describe(block)
        text = self.text
        self.block, self.complete, self.aborted = block, True, aborted
        self.change = "completed"
        self.added = text[len(before) :] if text.startswith(before) else ""

    def _describe(self, block: Block) -> None:
        self.kind = _kind_of(block)
        self._parts = [_text_in(block)]
        if isinstance(block, _ToolUse):
            self.name, self.tool_use_id = block.name, block.id

    def _grow(self, delta: Delta) -> None:
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
    parts[:] = ["".join(parts)]
    return parts[0]


_DELTAS: dict[type[Delta], str] = {
    TextDelta: "text",
    CitationsDelta: "text",
    ThinkingDelta: "thinking",
    SignatureDelta: "thinking",
    InputJsonDelta: "tool_use",
    CompactionDelta: "compaction",
}


def _kind_of(block: Block) -> str:
    if isinstance(block, UnknownBlock):
        return str(block.raw.get("type"))
    return str(type(block).__struct_config__.tag)


def _text_in(block: Block) -> str:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ThinkingBlock):
        return block.thinking
    return block.content or "" if isinstance(block, CompactionBlock) else ""


Changed = list[LiveBlock]


class _Message:
    """The newest message of the main conversation, or of a subagent."""

    def __init__(self, id: str | None = None) -> None:
        self.id = id
        self.blocks: list[LiveBlock] = []

    def at(self, index: int) -> LiveBlock | None:
        return next((live for live in self.blocks if live.index == index), None)

    def find(self, block: Block) -> LiveBlock | None:
        """Find the pieces of a block that the CLI now sends as a whole."""
        tool = getattr(block, "id", None)
        known = next((live for live in self.blocks if tool and live.tool_use_id == tool), None)
        if known is not None:
            return known
        waiting = [
            live
            for live in self.blocks
            if live.kind == _kind_of(block) and not live.complete and live.tool_use_id is None
        ]
        same = next((live for live in waiting if live.text == _text_in(block)), None)
        # The CLI leaves out empty blocks, so the first incomplete one is not always the one.
        return same or next(iter(waiting[-1:]), None)

    def rename(self, id: str) -> None:
        self.id = id
        for live in self.blocks:
            live.message_id = id

    @property
    def torn(self) -> list[LiveBlock]:
        """The blocks that are neither complete nor cut off."""
        return [live for live in self.blocks if not (live.complete or live.aborted)]

    @property
    def abandoned(self) -> list[LiveBlock]:
        """The blocks that do not count if another message now begins.

        The CLI requests a message again that was torn in the middle of a block, unless its tool
        has already run.
        """
        torn = self.torn
        empty = [live for live in torn if not (live.text or live.input_json)]
        if len(torn) > len(empty) and not any(live.result for live in self.blocks):
            return list(self.blocks)
        return empty


class Assembler:
    """Assembles a turn's messages into blocks.

        assembler = Assembler()
        for message in messages:
            for block in assembler.note(message):
                print(block.change, block.kind, block.added)

    A block that an interrupt cuts off stays, `aborted`. A block whose message the CLI gave up and
    requested again, or retracted, is removed: its replacement comes as a new block.
    """

    def __init__(self) -> None:
        self._messages: dict[str | None, _Message] = {}
        """The newest message of each conversation."""
        self._blocks: dict[str, LiveBlock] = {}
        self._lines: dict[str, list[LiveBlock]] = {}
        self._tools: dict[str, LiveBlock] = {}
        self._count = 0

    @property
    def blocks(self) -> list[LiveBlock]:
        """All blocks, also those of subagents, in the order in which they began."""
        return list(self._blocks.values())

    @property
    def message_texts(self) -> list[str]:
        """The text of each message of the main conversation that has any."""
        spoken: dict[str, list[str]] = {}
        for live in self._blocks.values():
            if live.agent is None and live.kind == "text":
                spoken.setdefault(live.message_id or live.id, []).append(live.text)
        return [text for parts in spoken.values() if (text := "".join(parts))]

    def note(self, message: Message) -> Changed:
        """Take the next message; return the blocks that it has changed.

        Each shows how, in `change` and `added`, until it changes again.
        """
        handler = _HANDLERS.get(type(message))
        return [] if handler is None else handler(self, message)

    # --- blocks ----------------------------------------------------------------------------------

    def _new(self, message: _Message, kind: str, agent: str | None, index: int) -> LiveBlock:
        self._count += 1
        live = LiveBlock(f"block-{self._count}", kind, agent, message.id, index)
        message.blocks.append(live)
        self._blocks[live.id] = live
        return live

    def _remove(self, gone: Iterable[LiveBlock]) -> Changed:
        removed = list(gone)
        for live in removed:
            live.change, live.added = "removed", ""
            self._tools.pop(live.tool_use_id or "", None)
            self._blocks.pop(live.id, None)
            current = self._messages.get(live.agent)
            if current is not None and live in current.blocks:
                current.blocks.remove(live)
        return removed

    def _retract(self, lines: Iterable[str] | None) -> Changed:
        return self._remove([live for uuid in lines or () for live in self._lines.pop(uuid, ())])

    def _message(
        self, agent: str | None, id: str | None, *, starts: bool = False
    ) -> tuple[_Message, Changed]:
        """Return the message that an event belongs to, and the blocks that it replaces."""
        current = self._messages.get(agent)
        is_other = id is not None and current is not None and current.id not in (None, id)
        if current is not None and not (starts or is_other):
            if id is not None and current.id is None:
                current.rename(id)
            return current, []
        gone = [] if current is None else self._remove(current.abandoned)
        current = self._messages[agent] = _Message(id)
        return current, gone

    # --- pieces ----------------------------------------------------------------------------------

    def _streamed(self, message: StreamEvent) -> Changed:
        event, agent, id = message.event, message.parent_tool_use_id, message.api_message_id
        if isinstance(event, MessageStart):
            return self._message(agent, event.message.id, starts=True)[1]
        if not isinstance(event, ContentBlockDelta | ContentBlockStart):
            return []
        current, gone = self._message(agent, id)
        live = current.at(event.index)
        if isinstance(event, ContentBlockStart):
            return gone + self._start(current, live, event, agent)
        kind = _DELTAS.get(type(event.delta), "unknown")
        live = live or self._new(current, kind, agent, event.index)
        if live.complete:  # the whole has come before
            return gone
        live._grow(event.delta)
        return [*gone, live]

    def _start(
        self, current: _Message, live: LiveBlock | None, event: ContentBlockStart, agent: str | None
    ) -> Changed:
        gone: Changed = []
        if live is not None:  # another message, whose start was not seen
            current, gone = self._message(agent, None, starts=True)
        live = self._new(current, "", agent, event.index)
        live._describe(event.content_block)
        self._know_tool(live)
        return [*gone, live]

    # --- wholes ----------------------------------------------------------------------------------

    def _assistant(self, line: AssistantMessage) -> Changed:
        changed = self._retract(line.supersedes)
        agent, id = line.parent_tool_use_id, line.message_id
        if line.model == SYNTHETIC:
            message = _Message(id)
            changed += self._cut(self._messages.get(agent))
        else:
            message, gone = self._message(agent, id)
            changed += gone
        places = self._places(message, line)
        if line.uuid is not None:
            self._lines[line.uuid] = places
        for live, block in zip(places, line.content, strict=True):
            live._confirm(block, aborted=line.aborted is True)
            self._know_tool(live)
            changed += (live, *self._attach(live.block))
        return changed

    def _places(self, message: _Message, line: AssistantMessage) -> list[LiveBlock]:
        """Find or make the live block for each block of a line."""
        content = line.content
        places = self._lines.get(line.uuid or "", [])[: len(content)]
        for index in range(len(places), len(content)):
            live = message.find(content[index])
            if live is None or live in places:
                last = max((it.index for it in message.blocks), default=-1)
                kind = _kind_of(content[index])
                live = self._new(message, kind, line.parent_tool_use_id, last + 1)
            places.append(live)
        return places

    # --- results and ends ------------------------------------------------------------------------

    def _know_tool(self, live: LiveBlock) -> None:
        if live.tool_use_id is not None:
            self._tools[live.tool_use_id] = live

    def _attach(self, block: Block | None, output: Any = None) -> Changed:
        """Add a result to its call. Results of the API's own tools are in the same message."""
        live = self._tools.get(getattr(block, "tool_use_id", ""))
        if live is None:
            return []
        live.result, live.output = block, output
        live.change, live.added = "result", ""
        return [live]

    def _user(self, message: UserMessage) -> Changed:
        content = [] if isinstance(message.content, str) else message.content
        results = [block for block in content if hasattr(block, "tool_use_id")]
        # With several results in one line the owner of the output is unknown.
        output = message.tool_use_result if len(results) == 1 else None
        return [live for block in results for live in self._attach(block, output)]

    def _refused(self, message: ModelRefusalFallbackMessage) -> Changed:
        return self._retract(message.retracted_message_uuids)

    def _ended(self, message: ResultMessage) -> Changed:
        return [live for current in self._messages.values() for live in self._cut(current)]

    def _cut(self, message: _Message | None) -> Changed:
        cut = [] if message is None else message.torn
        for live in cut:
            live.aborted, live.change, live.added = True, "cut", ""
        return cut


_HANDLERS: dict[type[Message], Callable[[Assembler, Any], Changed]] = {
    StreamEvent: Assembler._streamed,
    AssistantMessage: Assembler._assistant,
    UserMessage: Assembler._user,
    ResultMessage: Assembler._ended,
    ModelRefusalFallbackMessage: Assembler._refused,
}
