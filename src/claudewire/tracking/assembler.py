"""Assembling a turn's messages into blocks.

With partial messages the CLI first streams a block in pieces and then sends it as a whole, usually
before it says that the block has ended; without them there is only the whole. Either way each block
is one `LiveBlock`, which stays the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..wire import (
    AssistantMessage,
    Block,
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    Message,
    MessageStart,
    ModelRefusalFallbackMessage,
    ResultMessage,
    StreamEvent,
    UserMessage,
)
from .blocks import (
    LiveBlock,
    begin,
    confirm,
    finish,
    grow,
    kind_of,
    kind_of_delta,
    may_be,
    text_in,
    tool_use_id_of,
)
from .totals import SYNTHETIC

__all__ = ["Assembler"]

Changed = Sequence[LiveBlock]


class _MessageBlocks:
    """The blocks of one message of the model, as far as they are known."""

    __slots__ = ("blocks", "id")

    def __init__(self, id: str | None) -> None:
        self.id = id
        self.blocks: list[LiveBlock] = []

    def at(self, index: int) -> LiveBlock | None:
        return next((live for live in self.blocks if live.index == index), None)

    def find(self, block: Block) -> LiveBlock | None:
        """Find the block in pieces that the CLI now gives as a whole."""
        kind, tool, text = kind_of(block), tool_use_id_of(block), text_in(block)
        known = next((live for live in self.blocks if tool and live.tool_use_id == tool), None)
        if known is not None:
            return known
        waiting = [
            live
            for live in self.blocks
            if may_be(live, kind) and not live.confirmed and live.tool_use_id is None
        ]
        same = next((live for live in waiting if live.text == text), None)
        # The CLI leaves out empty blocks, so the first that waits is not always the one.
        growing = [live for live in waiting if not live.complete]
        return same or next(iter(growing[-1:] or waiting), None)

    @property
    def waits(self) -> bool:
        """Whether a block of it has not come as a whole."""
        return any(not live.confirmed for live in self.blocks)

    @property
    def abandoned(self) -> list[LiveBlock]:
        """What of it does not count, if another message now begins.

        A message that was torn in the middle of a block is asked for again, as a whole; one whose
        tool has already run is not.
        """
        torn = [live for live in self.blocks if not (live.complete or live.aborted)]
        empty = [live for live in torn if not (live.text or live.input_json)]
        if len(torn) > len(empty) and not any(live.result for live in self.blocks):
            return self.blocks
        return empty


class _Stream:
    """What the model says in one conversation: the main one, or a subagent's."""

    __slots__ = ("current", "messages", "open")

    def __init__(self) -> None:
        self.messages: dict[str | None, _MessageBlocks] = {}
        self.current: _MessageBlocks | None = None
        """The message that is being streamed."""
        self.open: dict[int, LiveBlock] = {}
        """Its blocks, by index."""

    def begin(self, id: str | None) -> _MessageBlocks:
        self.current = self.know(id)
        self.open = {}
        return self.current

    def know(self, id: str | None) -> _MessageBlocks:
        """Find a message, or make it."""
        message = _MessageBlocks(id)
        return message if id is None else self.messages.setdefault(id, message)

    def name(self, spoken: _MessageBlocks, id: str | None) -> None:
        """Learn the id of a message whose beginning was never seen."""
        if id is not None:
            self.messages[id] = spoken
            spoken.id = id
            for live in spoken.blocks:
                live.message_id = id

    def forget(self, gone: list[LiveBlock]) -> None:
        """Forget blocks that were removed."""
        self.open = {index: live for index, live in self.open.items() if live not in gone}
        named = {live.message_id for live in gone}
        for spoken in (self.current, *map(self.messages.get, named)):
            if spoken is not None:
                spoken.blocks = [live for live in spoken.blocks if live not in gone]


class Assembler:
    """Assembles a turn's messages into blocks.

        assembler = Assembler()
        for message in messages:
            for block in assembler.note(message):
                print(block.change, block.kind, block.added)

    A block that an interrupt cuts off stays, `aborted`. A block whose message the CLI gave up and
    requested again, or retracted, is removed: what replaces it comes as a new block.
    """

    def __init__(self) -> None:
        self._streams: dict[str | None, _Stream] = {}
        self._blocks: dict[str, LiveBlock] = {}
        self._lines: dict[str | None, list[LiveBlock]] = {}
        self._tools: dict[str | None, LiveBlock] = {}
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

    # --- what happens ----------------------------------------------------------------------------

    def note(self, message: Message) -> Changed:
        """Take the next message; return the blocks that it has changed.

        Each shows how, in `change` and `added`, until it changes again.
        """
        handler = _HANDLERS.get(type(message))
        return () if handler is None else handler(self, message)

    def _ended(self, message: ResultMessage) -> Changed:
        """Leave what is not complete as it is, aborted: nothing more will come."""
        return [live for stream in self._streams.values() for live in _abort(stream)]

    def _stream_of(self, agent: str | None) -> _Stream:
        stream = self._streams.get(agent)
        if stream is None:
            stream = self._streams[agent] = _Stream()
        return stream

    def _new(self, spoken: _MessageBlocks, kind: str, agent: str | None, index: int) -> LiveBlock:
        self._count += 1
        live = LiveBlock(f"block-{self._count}", kind, agent, spoken.id, index)
        spoken.blocks.append(live)
        self._blocks[live.id] = live
        return live

    def _remove(self, blocks: Iterable[LiveBlock]) -> list[LiveBlock]:
        gone = list(blocks)
        for live in gone:
            live.change, live.added = "removed", ""
            self._tools.pop(live.tool_use_id, None)
            self._blocks.pop(live.id, None)
        for agent in {live.agent for live in gone}:
            self._stream_of(agent).forget(gone)
        return gone

    def _take_back(self, lines: Iterable[str] | None) -> list[LiveBlock]:
        """Forget what some earlier lines said."""
        return self._remove([live for uuid in lines or () for live in self._lines.pop(uuid, ())])

    def _give_up(self, stream: _Stream) -> list[LiveBlock]:
        """Forget the message that was being streamed, if another begins in the middle of it."""
        return [] if stream.current is None else self._remove(stream.current.abandoned)

    # --- pieces ----------------------------------------------------------------------------------

    def _streamed(self, message: StreamEvent) -> Changed:
        event = message.event
        if type(event) is ContentBlockDelta:
            return self._grow(message, event)
        handler = _EVENTS.get(type(event))
        return () if handler is None else handler(self, message, event)

    def _grow(self, message: StreamEvent, event: ContentBlockDelta) -> Changed:
        stream = self._streams.get(message.parent_tool_use_id)
        live = stream.open.get(event.index) if stream is not None else None
        id = message.api_message_id
        if live is None or (id is not None and id != live.message_id):
            live = self._start_late(message, event)
        # What came as a whole needs no pieces.
        if live.complete:
            return ()
        grow(live, event.delta)
        return (live,)

    def _start_late(self, message: StreamEvent, event: ContentBlockDelta) -> LiveBlock:
        """Begin a block whose beginning was never seen."""
        stream, spoken = self._streaming(message)
        live = spoken.at(event.index) or self._new(
            spoken, kind_of_delta(event.delta), message.parent_tool_use_id, event.index
        )
        stream.open[event.index] = live
        return live

    def _streaming(self, message: StreamEvent) -> tuple[_Stream, _MessageBlocks]:
        """Find the message that a piece belongs to; begin one whose beginning was never seen."""
        stream = self._stream_of(message.parent_tool_use_id)
        spoken, id = stream.current, message.api_message_id
        if spoken is None or (id is not None and spoken.id not in (None, id)):
            spoken = stream.begin(id)
        stream.name(spoken, id)
        return stream, spoken

    def _message_start(self, message: StreamEvent, event: MessageStart) -> Changed:
        stream = self._stream_of(message.parent_tool_use_id)
        gone = self._give_up(stream)
        # Content that is already there will come in pieces all the same.
        stream.begin(event.message.id)
        return gone

    def _start(self, message: StreamEvent, event: ContentBlockStart) -> Changed:
        stream, spoken = self._streaming(message)
        gone: Changed = ()
        if event.index in stream.open:
            gone = self._give_up(stream)
            spoken = stream.begin(message.api_message_id)
        live = spoken.at(event.index)
        if live is None:
            live = self._new(spoken, "", message.parent_tool_use_id, event.index)
            begin(live, event.content_block)
            self._know_tool(live)
        stream.open[event.index] = live
        return (*gone, *(() if live.complete else (live,)))

    def _stop(self, message: StreamEvent, event: ContentBlockStop) -> Changed:
        stream = self._streams.get(message.parent_tool_use_id)
        live = stream.open.get(event.index) if stream is not None else None
        if live is None or live.complete or not finish(live):
            return ()
        return (live, *self._attach(live.block))

    # --- wholes ----------------------------------------------------------------------------------

    def _assistant(self, message: AssistantMessage) -> Changed:
        changed = self._take_back(message.supersedes)
        spoken = self._message_of(message, changed)
        blocks = self._places(spoken, message)
        if message.uuid is not None:
            self._lines[message.uuid] = blocks
        for live, block in zip(blocks, message.content, strict=True):
            confirm(live, block, aborted=message.aborted is True)
            self._know_tool(live)
            changed += (live, *self._attach(live.block))
        return changed

    def _message_of(self, message: AssistantMessage, changed: list[LiveBlock]) -> _MessageBlocks:
        """Find the message that a line is a part of."""
        stream, id = self._stream_of(message.parent_tool_use_id), message.message_id
        current = stream.current
        if id in stream.messages:
            return stream.messages[id]
        if current is not None and (id is None or current.id is None) and current.waits:
            stream.name(current, id)
            return current
        if message.model == SYNTHETIC:
            changed += _abort(stream)
            return stream.know(id)
        changed += self._give_up(stream)
        # Pieces that come now are of this message, even if its beginning was never seen.
        return stream.begin(id)

    def _places(self, spoken: _MessageBlocks, message: AssistantMessage) -> list[LiveBlock]:
        """Find or make a block for each that a line holds."""
        content = message.content
        places = self._lines.get(message.uuid, [])[: len(content)]
        for index in range(len(places), len(content)):
            live = _repeated(spoken, index, content) or spoken.find(content[index])
            if live is None or live in places:
                kind, last = kind_of(content[index]), max([-1, *(it.index for it in spoken.blocks)])
                live = self._new(spoken, kind, message.parent_tool_use_id, last + 1)
            places.append(live)
        return places

    # --- results of tools ------------------------------------------------------------------------

    def _know_tool(self, live: LiveBlock) -> None:
        if live.tool_use_id is not None:
            self._tools[live.tool_use_id] = live

    def _attach(self, block: Block | None, output: Any = None) -> Changed:
        """Give a result to its call. Those of the API's own tools are in the same message."""
        live = self._tools.get(getattr(block, "tool_use_id", None))
        if live is None:
            return ()
        live.result, live.output = block, output
        live.change, live.added = "result", ""
        return (live,)

    def _user(self, message: UserMessage) -> Changed:
        content = message.content
        if isinstance(content, str):
            return ()
        results = [block for block in content if hasattr(block, "tool_use_id")]
        # With several results in one line it is not known whose the output is.
        output = message.tool_use_result if len(results) == 1 else None
        return [live for block in results for live in self._attach(block, output)]

    def _refused(self, message: ModelRefusalFallbackMessage) -> Changed:
        return self._take_back(message.retracted_message_uuids)


def _abort(stream: _Stream) -> list[LiveBlock]:
    cut = [live for live in stream.open.values() if not (live.complete or live.aborted)]
    for live in cut:
        live.aborted, live.change, live.added = True, "cut", ""
    return cut


def _repeated(spoken: _MessageBlocks, index: int, content: list[Block]) -> LiveBlock | None:
    """Find the block that a line repeats which has all blocks of its message so far."""
    live = spoken.blocks[index] if len(content) > 1 and index < len(spoken.blocks) else None
    return live if live is not None and live.block == content[index] else None


_HANDLERS: dict[type[Message], Callable[[Assembler, Any], Changed]] = {
    StreamEvent: Assembler._streamed,
    AssistantMessage: Assembler._assistant,
    UserMessage: Assembler._user,
    ResultMessage: Assembler._ended,
    ModelRefusalFallbackMessage: Assembler._refused,
}
_EVENTS: dict[type, Callable[[Assembler, StreamEvent, Any], Changed]] = {
    MessageStart: Assembler._message_start,
    ContentBlockStart: Assembler._start,
    ContentBlockStop: Assembler._stop,
}
