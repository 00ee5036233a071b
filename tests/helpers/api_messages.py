"""Messages in the form of the CLI, for tests of tracking."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from claudewire.recordings import Recording
from claudewire.wire import (
    APIEvent,
    APIMessage,
    AssistantMessage,
    Block,
    Connection,
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    Delta,
    InputJsonDelta,
    Message,
    MessageChange,
    MessageDelta,
    MessageStart,
    MessageStop,
    ModelUsage,
    ResultMessage,
    Role,
    SignatureDelta,
    StreamEvent,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserMessage,
)

RECORDINGS = sorted(
    (Path(__file__).resolve().parents[1] / "product" / "recordings").glob("*.jsonl")
)


def recorded(path: Path) -> list[Message]:
    """All messages that a real CLI has sent in a recorded conversation."""
    client = Connection(Role.CLIENT)
    entries = [entry for entry in Recording.load(path) if entry.line is not None]
    said = [entry.data for entry in entries if entry.dir == "<"]
    events = [event for data in said for event in client.receive_data(data)]
    return [event for event in events if isinstance(event, Message)]


def event(of: APIEvent, agent: str | None = None, id: str | None = None) -> StreamEvent:
    return StreamEvent(event=of, parent_tool_use_id=agent, api_message_id=id)


def start(id: str | None = "m1", agent: str | None = None, **fields: Any) -> StreamEvent:
    return event(MessageStart(APIMessage("assistant", [], id=id, **fields)), agent)


def begin(index: int, block: Block, agent: str | None = None) -> StreamEvent:
    return event(ContentBlockStart(index, block), agent)


def delta(index: int, piece: Delta | str, agent: str | None = None) -> StreamEvent:
    return event(
        ContentBlockDelta(index, TextDelta(piece) if isinstance(piece, str) else piece), agent
    )


def stop(index: int, agent: str | None = None) -> StreamEvent:
    return event(ContentBlockStop(index), agent)


def ended(reason: str = "end_turn", usage: Usage | None = None) -> StreamEvent:
    return event(MessageDelta(MessageChange(stop_reason=reason), usage))


def whole(
    *blocks: Block | str,
    id: str | None = "m1",
    agent: str | None = None,
    model: str = "claude",
    usage: Usage | None = None,
    **fields: Any,
) -> AssistantMessage:
    content: list[Block] = [TextBlock(it) if isinstance(it, str) else it for it in blocks]
    said = APIMessage("assistant", content, id=id, model=model, usage=usage)
    return AssistantMessage(message=said, parent_tool_use_id=agent, **fields)


def tool_result(
    id: str, text: str = "done", agent: str | None = None, **fields: Any
) -> UserMessage:
    error = fields.pop("is_error", None)
    block = ToolResultBlock(id, text, error)
    return UserMessage.of([block], parent_tool_use_id=agent, **fields)


def result(models: dict[str, ModelUsage] | None = None, **fields: Any) -> ResultMessage:
    return ResultMessage(subtype=fields.pop("subtype", "success"), model_usage=models, **fields)


def empty(block: Block) -> Block:
    """The block as it begins."""
    match block:
        case TextBlock():
            return TextBlock("")
        case ThinkingBlock():
            return ThinkingBlock("", signature="")
        case ToolUseBlock(id=id, name=name):
            return ToolUseBlock(id, name, {})
    return block


def deltas(block: Block, cuts: Sequence[int] = ()) -> Iterator[Delta]:
    """The pieces that a block comes in, cut at some places."""
    match block:
        case TextBlock(text=text):
            yield from (TextDelta(piece) for piece in pieces(text, cuts))
        case ThinkingBlock(thinking=text, signature=signature):
            yield from (ThinkingDelta(piece) for piece in pieces(text, cuts))
            yield SignatureDelta(signature or "")
        case ToolUseBlock(input=value):
            text = json.dumps(value)
            yield from (InputJsonDelta(piece) for piece in pieces(text, cuts))


def pieces(text: str, cuts: Sequence[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[one:other] for one, other in pairwise(places)]


def streamed(
    blocks: Sequence[Block],
    *,
    id: str = "m1",
    agent: str | None = None,
    cuts: Sequence[int] = (),
    snapshot: str = "before",
    named: bool = False,
) -> list[Message]:
    """A message as it is streamed, with each block as a whole before or after it ends, or never."""
    name = id if named else None
    messages: list[Message] = [start(id, agent)]
    for index, block in enumerate(blocks):
        line = whole(block, id=id, agent=agent, uuid=f"{agent}/{id}/{index}")
        messages.append(event(ContentBlockStart(index, empty(block)), agent, name))
        messages += [
            event(ContentBlockDelta(index, piece), agent, name) for piece in deltas(block, cuts)
        ]
        messages += [line] if snapshot == "before" else []
        messages.append(event(ContentBlockStop(index), agent, name))
        messages += [line] if snapshot == "after" else []
    messages += [event(MessageDelta(MessageChange("end_turn")), agent), event(MessageStop(), agent)]
    return messages
