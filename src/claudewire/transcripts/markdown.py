"""A conversation as Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from .pages import Call, one_line


class MarkdownWriter:
    """Writes Markdown. Texts stay as they are: a renderer must not run HTML in them."""

    def page(self, title: str, facts: dict[str, str], body: Iterator[str]) -> Iterator[str]:
        """Write the whole file."""
        yield f"# {one_line(title)}\n\n"
        yield from (f"- **{name}**: {one_line(value)}\n" for name, value in facts.items())
        yield from body

    def section(self, prompt: str, time: str | None, parts: str, depth: int) -> str:
        """Write a prompt, with the parts after it."""
        title = "Before the first prompt" if time is None and not prompt else "User"
        text = f"\n{prompt}\n" if prompt else ""
        return f"\n{'#' * min(depth + 2, 6)} {title}\n{text}{parts}"

    def said(self, text: str) -> str:
        """Write a text of the model."""
        return f"\n**Claude**\n\n{text}\n"

    def thought(self, text: str) -> str:
        """Write a thought of the model."""
        return "\n" + _quoted(f"*Thinking*\n\n{text}")

    def note(self, text: str, detail: str) -> str:
        """Write a note of the CLI."""
        return "\n" + _quoted(f"*{one_line(text)}*" + (f"\n\n{detail}" if detail else ""))

    def picture(self, media_type: str, data: str) -> str:
        """Name an image, and its size."""
        return f"\n*[{one_line(media_type)}, {len(data) * 3 // 4:,} bytes]*\n"

    def call(self, call: Call) -> str:
        """Write a call of a tool."""
        given = _fenced(json.dumps(call.input, ensure_ascii=False, indent=2), "json")
        title = "Error" if call.is_error else "Result"
        output = f"\n{title}:\n\n{_fenced(call.output)}" if call.output else ""
        return f"\n**{one_line(call.name)}**\n\n{given}{call.agent}{output}{call.pictures}"


def _quoted(text: str) -> str:
    return "".join(f"> {line}".rstrip() + "\n" for line in text.split("\n"))


def _fenced(text: str, language: str = "") -> str:
    """Put a text between fences that do not occur in it."""
    runs = re.findall(r"`{3,}", text)
    fence = "`" * max([3, *(len(run) + 1 for run in runs)])
    return f"{fence}{language}\n{text}\n{fence}\n"
