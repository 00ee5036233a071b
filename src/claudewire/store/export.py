"""A session as a file to read: HTML, Markdown, or JSON Lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, get_args

from ..errors import Redactor, visible
from .bundle import redacted_line
from .entries import BadLine
from .files import StoreError
from .html import html_pages
from .markdown import markdown_pages
from .sections import Section, sections_of
from .transcript import BlockingTranscript

__all__ = ["ExportFormat", "export_transcript", "format_of"]

ExportFormat = Literal["html", "md", "jsonl", "zip"]

_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
"""What programs write to colour their output."""

DEEPEST = 8
"""Subagents of subagents that are shown: more than there ever were."""


def format_of(path: Path) -> ExportFormat:
    """Tell from the name of a file in which format to write it.

    Raises:
        StoreError: the name does not say it.
    """
    names: dict[str, ExportFormat] = {f".{name}": name for name in get_args(ExportFormat)}
    names |= {".htm": "html", ".markdown": "md"}
    found = names.get(path.suffix.lower())
    if found is None:
        raise StoreError(
            f"The name {path.name} does not say in which format to export",
            advice="End it with .html, .md, .jsonl or .zip, or give format=….",
        )
    return found


def export_transcript(
    transcript: BlockingTranscript,
    format: ExportFormat,
    *,
    branch: str | None,
    redact: bool,
    tool_output: bool,
) -> Iterator[bytes]:
    """Yield the pieces of the file."""
    if format not in get_args(ExportFormat):
        raise StoreError(
            f"{format!r} is not a format", advice="Say 'html', 'md', 'jsonl' or 'zip'."
        )
    redactor = Redactor() if redact else None
    if format == "jsonl":
        yield from _lines(transcript, branch, redactor)
        return
    redacted = redactor or str

    def change(text: str) -> str:
        # Escapes what a reader would not see: control characters, and those that turn text around.
        return visible(redacted(_COLOUR.sub("", text)))

    sections = _sections(transcript, branch)
    pages = html_pages if format == "html" else markdown_pages
    for page in pages(transcript.info, sections, change, tool_output=tool_output):
        # Half a surrogate pair can be in a transcript, and not in a file.
        yield page.encode("utf-8", "replace")


def _lines(
    transcript: BlockingTranscript, branch: str | None, redactor: Callable[[str], str] | None
) -> Iterator[bytes]:
    entries = transcript.entries() if branch is None else transcript.conversation(branch)
    for entry in entries:
        if not isinstance(entry, BadLine):
            yield redacted_line(entry.line, redactor) + b"\n"


def _sections(transcript: BlockingTranscript, branch: str | None) -> Iterator[Section]:
    agents = {it.tool_use_id: it.id for it in transcript.agents() if it.tool_use_id is not None}

    def of_agent(call: str, depth: int = 0) -> tuple[Section, ...]:
        if call not in agents or depth >= DEEPEST:
            return ()
        entries = transcript.entries(agent=agents[call])
        return tuple(sections_of(entries, lambda inner: of_agent(inner, depth + 1)))

    return sections_of(transcript.conversation(branch), of_agent)
