"""A conversation as pages for readers: prompts, with the answers and tool calls after them.

This module walks through the conversation and cleans all texts; `writers` has the formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any

from ..errors import Redact, visible
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
from .facts import SessionInfo
from .transcript import Transcript
from .writers import Call, HtmlWriter, MarkdownWriter

Writer = HtmlWriter | MarkdownWriter

DEEPEST = 8
"""Levels of subagents that are shown."""

_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
"""The escape sequences in which programs write coloured output."""


class Pages:
    """Walks through a conversation.

    Args:
        transcript: the session.
        writer: writes the format.
        redact: removes secrets.
        tool_output: whether the output of tools is shown.
    """

    def __init__(
        self, transcript: Transcript, writer: Writer, redact: Redact, tool_output: bool
    ) -> None:
        self._transcript = transcript
        self._writer = writer
        self._redact = redact
        self._tool_output = tool_output
        self._agents = {it.tool_use_id: it.id for it in transcript.agents()}

    def pieces(self, branch: str | None) -> Iterator[str]:
        """Yield the pieces of the exported conversation."""
        info = self._transcript.info
        facts = {name: self._clean(it) for name, it in _facts(info).items() if it}
        body = self._sections(self._transcript.conversation(branch), 0)
        return self._writer.page(self._clean(info.title or "A conversation"), facts, body)

    def _clean(self, text: str) -> str:
        # Escapes control characters, and characters that reverse the direction of text.
        return visible(self._redact(_COLOUR.sub("", text)))

    def _clean_input(self, given: dict[str, Any]) -> Any:
        return _seen(json.loads(self._redact(json.dumps(given))))

    def _sections(self, entries: Iterable[Entry], depth: int) -> Iterator[str]:
        """Yield the sections; only one of them is in memory at a time."""
        prompt: UserEntry | None = None
        rest: list[Entry] = []
        for entry in entries:
            if isinstance(entry, UserEntry) and entry.is_prompt:
                yield from self._section(prompt, rest, depth)
                prompt, rest = entry, []
            else:
                rest.append(entry)
        yield from self._section(prompt, rest, depth)

    def _section(self, prompt: UserEntry | None, rest: list[Entry], depth: int) -> Iterator[str]:
        blocks = [it for entry in rest if isinstance(entry, UserEntry) for it in entry.blocks]
        results = {it.tool_use_id: it for it in blocks if isinstance(it, ToolResultBlock)}
        parts = "".join(part for entry in rest for part in self._parts(entry, results, depth))
        if prompt is not None:
            images = self._pictures(prompt.blocks)
            text = self._clean(prompt.text)
            yield self._writer.section(text, prompt.timestamp, images + parts, depth)
        elif parts:
            yield self._writer.section("", None, parts, depth)

    def _parts(
        self, entry: Entry, results: dict[str, ToolResultBlock], depth: int
    ) -> Iterator[str]:
        if not isinstance(entry, AssistantEntry):
            text, detail = _note(entry)
            if text:
                yield self._writer.note(self._clean(text), self._clean(detail))
            return
        for block in entry.blocks:
            if isinstance(block, TextBlock) and block.text.strip():
                yield self._writer.said(self._clean(block.text))
            elif isinstance(block, ThinkingBlock) and block.thinking.strip():
                yield self._writer.thought(self._clean(block.thinking))
            elif isinstance(block, ToolUseBlock):
                yield self._call(block, results.get(block.id), depth)

    def _call(self, block: ToolUseBlock, result: ToolResultBlock | None, depth: int) -> str:
        blocks = result.content if result is not None and isinstance(result.content, list) else []
        agent = self._agents.get(block.id) if depth < DEEPEST else None
        entries = () if agent is None else self._transcript.entries(agent=agent)
        is_shown = result is not None and self._tool_output
        return self._writer.call(
            Call(
                name=self._clean(block.name),
                input=self._clean_input(block.input),
                output=self._clean(result.text) if result and is_shown else None,
                is_error=result is not None and result.is_error is True,
                pictures=self._pictures(blocks),
                agent="".join(self._sections(entries, depth + 1)),
            )
        )

    def _pictures(self, blocks: Iterable[Block]) -> str:
        found = (it.source for it in blocks if isinstance(it, ImageBlock | DocumentBlock))
        images = (it for it in found if isinstance(it, Base64Source))
        return "".join(self._writer.picture(self._clean(it.media_type), it.data) for it in images)


def _facts(info: SessionInfo) -> dict[str, str]:
    totals = info.totals
    tokens = f"{totals.prompt_tokens:,} in, {totals.output_tokens:,} out"
    times = [it.astimezone(UTC) for it in (info.begin, info.end) if it is not None]
    return {
        "Project": info.cwd or "",
        "Branch": info.branch or "",
        "Model": ", ".join(info.models),
        "When": " to ".join(dict.fromkeys(f"{it:%Y-%m-%d %H:%M} UTC" for it in times)),
        "Tokens": "" if not totals.tokens else tokens + (" at least" if totals.estimated else ""),
        "Cost": "" if info.cost_usd is None else f"${info.cost_usd:.2f}",
        "Session": info.id,
    }


def _note(entry: Entry) -> tuple[str, str]:
    """Return a note of the CLI and its details; empty for other lines."""
    match entry:
        case SystemEntry() if entry.is_compaction:
            return "The conversation was compacted here", ""
        case SystemEntry(level="error" | "warning", content=str() as text):
            return text, ""
        case AttachmentEntry(attachment={"type": "queued_command", "prompt": str() as prompt}):
            return "Queued meanwhile", prompt
        case UserEntry(is_compact_summary=True):
            return "Summary of the conversation before", entry.text
        case UserEntry() if entry.text.startswith("[Request interrupted"):
            return "Interrupted by the user", ""
        case UserEntry() if entry.text.startswith("<task-notification>"):
            return "A background task reported", entry.text
    return "", ""


def _seen(value: Any) -> Any:
    """Escape invisible characters in all strings of a value."""
    if isinstance(value, dict):
        return {_seen(name): _seen(it) for name, it in value.items()}
    if isinstance(value, list):
        return [_seen(it) for it in value]
    return visible(_COLOUR.sub("", value)) if isinstance(value, str) else value
