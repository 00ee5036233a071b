"""A conversation as readers see it: prompts, and below each what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from ..wire import (
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from .entries import AssistantEntry, AttachmentEntry, Entry, SystemEntry, UserEntry

__all__ = ["Item", "Note", "Picture", "Said", "Section", "Thought", "ToolCall", "sections_of"]


class Said(Struct, frozen=True):
    """What the model said."""

    text: str
    model: str | None = None


class Thought(Struct, frozen=True):
    """What the model thought."""

    text: str


class Picture(Struct, frozen=True):
    """An image."""

    media_type: str
    data: str


class Note(Struct, frozen=True):
    """What the CLI noted: an interruption, a compaction, an error."""

    text: str
    detail: str = ""


class ToolCall(Struct, frozen=True):
    """A call of a tool, with what came of it."""

    name: str
    input: dict[str, Any]
    output: str | None = None
    is_error: bool = False
    pictures: tuple[Picture, ...] = ()
    sections: tuple[Section, ...] = ()
    """What the subagent did that the call started."""


Item = Said | Thought | Note | ToolCall


class Section(Struct, frozen=True):
    """A prompt, and what came of it."""

    prompt: str
    time: str | None
    items: tuple[Item, ...] = ()
    uuid: str | None = None
    pictures: tuple[Picture, ...] = ()


Agents = Callable[[str], tuple[Section, ...]]
"""Gives what the subagent did that a call started."""


def sections_of(entries: Iterable[Entry], agents: Agents = lambda call: ()) -> Iterator[Section]:
    """Put a conversation into sections; only one of them is in memory at a time."""
    first: UserEntry | None = None
    rest: list[Entry] = []
    for entry in entries:
        if isinstance(entry, UserEntry) and entry.is_prompt:
            if first is not None or any(_items(rest, agents)):
                yield _section(first, rest, agents)
            first, rest = entry, []
        else:
            rest.append(entry)
    if first is not None or any(_items(rest, agents)):
        yield _section(first, rest, agents)


def _section(prompt: UserEntry | None, rest: list[Entry], agents: Agents) -> Section:
    items = tuple(_items(rest, agents))
    if prompt is None:
        return Section("", next((it.timestamp for it in rest if it.timestamp), None), items)
    pictures = tuple(_pictures(prompt.blocks))
    return Section(prompt.text, prompt.timestamp, items, prompt.uuid, pictures)


def _items(entries: list[Entry], agents: Agents) -> Iterator[Item]:
    results = {
        block.tool_use_id: block
        for entry in entries
        if isinstance(entry, UserEntry)
        for block in entry.blocks
        if isinstance(block, ToolResultBlock)
    }
    for entry in entries:
        if isinstance(entry, AssistantEntry):
            for block in entry.blocks:
                yield from _model_item(block, entry, results, agents)
        else:
            yield from _other_items(entry)


def _model_item(
    block: Block, entry: AssistantEntry, results: dict[str, ToolResultBlock], agents: Agents
) -> Iterator[Item]:
    if isinstance(block, TextBlock) and block.text.strip():
        yield Said(block.text, entry.message.model)
    elif isinstance(block, ThinkingBlock) and block.thinking.strip():
        yield Thought(block.thinking)
    elif isinstance(block, ToolUseBlock):
        result = results.get(block.id)
        blocks = result.content if result is not None and isinstance(result.content, list) else []
        yield ToolCall(
            block.name,
            block.input,
            None if result is None else result.text,
            result is not None and result.is_error is True,
            tuple(_pictures(blocks)),
            agents(block.id),
        )


def _other_items(entry: Entry) -> Iterator[Item]:
    if isinstance(entry, SystemEntry):
        if entry.is_compaction:
            yield Note("The conversation was compacted here")
        elif entry.level in ("error", "warning") and isinstance(entry.content, str):
            yield Note(entry.content)
    elif isinstance(entry, AttachmentEntry):
        if entry.kind == "queued_command" and isinstance(entry.attachment.get("prompt"), str):
            yield Note("Queued meanwhile", entry.attachment["prompt"])
    elif isinstance(entry, UserEntry):
        if entry.is_compact_summary:
            yield Note("Summary of what came before", entry.text)
        elif entry.text.startswith("[Request interrupted"):
            yield Note("Interrupted by the user")
        elif entry.text.startswith("<task-notification>"):
            yield Note("A background task reported", entry.text)


def _pictures(blocks: Iterable[Block]) -> Iterator[Picture]:
    for block in blocks:
        if isinstance(block, ImageBlock | DocumentBlock) and isinstance(block.source, Base64Source):
            yield Picture(block.source.media_type, block.source.data)
