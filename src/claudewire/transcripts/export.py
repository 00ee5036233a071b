"""A session as one file: HTML or Markdown to read, its lines, or a bundle to take elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from ..errors import Redact, Redactor
from .bundle import redacted_line, write_bundle
from .entries import BadLine
from .files import StoreError
from .html import HtmlWriter
from .markdown import MarkdownWriter
from .pages import pages
from .transcript import Transcript
from .writing import new_file, store_errors

ExportFormat = Literal["html", "md", "jsonl", "zip"]


def export_session(
    transcript: Transcript,
    path: Path,
    format: ExportFormat | None,
    *,
    branch: str | None,
    redact: bool,
    tool_output: bool,
) -> None:
    """Write a session to a file.

    Raises:
        StoreError: the format is unknown, or the file exists or cannot be written.
    """
    redactor: Redact = Redactor() if redact else str
    chosen = format or {"htm": "html", "markdown": "md"}.get(path.suffix[1:], path.suffix[1:])
    if chosen not in get_args(ExportFormat):
        raise StoreError(
            f"The name {path.name} does not tell the format of the export",
            advice="End it with .html, .md, .jsonl or .zip, or give format=….",
        )
    if path.exists():
        raise StoreError(f"{path} exists already", advice="Give another name, or remove it first.")
    with store_errors(f"{path} cannot be written"):
        if chosen == "zip":
            write_bundle(transcript, path, redactor)
        elif chosen == "jsonl":
            new_file(path, _lines(transcript, branch, redactor))
        else:
            writer = HtmlWriter() if chosen == "html" else MarkdownWriter()
            pieces = pages(transcript, branch, writer, redactor, tool_output)
            # Half a surrogate pair can be in a transcript, and not in a file.
            new_file(path, (it.encode("utf-8", "replace") for it in pieces))


def _lines(transcript: Transcript, branch: str | None, redactor: Redact) -> Iterator[bytes]:
    entries = transcript.entries() if branch is None else transcript.conversation(branch)
    for entry in entries:
        if not isinstance(entry, BadLine):
            yield redacted_line(entry.line, redactor) + b"\n"
