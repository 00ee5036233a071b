"""A conversation as Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from typing import Any

from .facts import SessionInfo
from .sections import Item, Note, Picture, Said, Section, Thought, ToolCall

__all__ = ["markdown_pages"]

Change = Callable[[str], str]


def markdown_pages(
    info: SessionInfo, sections: Iterable[Section], change: Change, *, tool_output: bool
) -> Iterator[str]:
    """Yield the pieces of a Markdown file."""
    yield f"# {_line(change(info.title or 'A conversation'))}\n\n"
    facts = {
        "Session": info.id,
        "Project": change(info.cwd or ""),
        "Models": change(", ".join(info.models)),
        "Began": "" if info.begin is None else f"{info.begin.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
    }
    yield "".join(f"- **{name}**: {_line(value)}\n" for name, value in facts.items() if value)
    writer = _Writer(change, tool_output)
    for section in sections:
        yield writer.section(section)


class _Writer:
    def __init__(self, change: Change, tool_output: bool) -> None:
        self._change = change
        self._tool_output = tool_output

    def section(self, section: Section, level: int = 2) -> str:
        title = "User" if section.prompt or section.pictures else "Before the first prompt"
        parts = [f"\n{'#' * min(level, 6)} {title}\n"]
        if section.prompt:
            parts.append(f"\n{self._change(section.prompt)}\n")
        parts += [self._picture(it) for it in section.pictures]
        parts += [self._item(item, level) for item in section.items]
        return "".join(parts)

    def _item(self, item: Item, level: int) -> str:
        if isinstance(item, Said):
            return f"\n**Claude**\n\n{self._change(item.text)}\n"
        if isinstance(item, Thought):
            return "\n" + _quoted(f"*Thinking*\n\n{self._change(item.text)}")
        if isinstance(item, Note):
            detail = f"\n\n{self._change(item.detail)}" if item.detail else ""
            return "\n" + _quoted(f"*{_line(self._change(item.text))}*{detail}")
        return self._call(item, level)

    def _picture(self, picture: Picture) -> str:
        kind = _line(self._change(picture.media_type))
        return f"\n*[{kind}, {len(picture.data) * 3 // 4:,} bytes]*\n"

    def _call(self, call: ToolCall, level: int) -> str:
        given = self._change(json.dumps(call.input, ensure_ascii=False, indent=2))
        name = _line(self._change(call.name))
        parts = [f"\n**{name}**\n\n{_fenced(given, 'json')}"]
        parts += [self.section(section, level + 1) for section in call.sections]
        if call.output and self._tool_output:
            title = "Error" if call.is_error else "Result"
            parts.append(f"\n{title}:\n\n{_fenced(self._change(call.output))}")
        parts += [self._picture(it) for it in call.pictures]
        return "".join(parts)


def _line(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return "".join(f"> {line}".rstrip() + "\n" for line in text.split("\n"))


def _fenced(text: str, language: str = "") -> str:
    """Put a text between fences that do not occur in it."""
    runs: list[Any] = re.findall(r"`{3,}", text)
    fence = "`" * max([3, *(len(run) + 1 for run in runs)])
    return f"{fence}{language}\n{text}\n{fence}\n"
