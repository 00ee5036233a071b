"""A session as one file: HTML or Markdown to read, its lines, or a bundle to take elsewhere."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from ..errors import Redact, Redactor
from ..wire import Lines
from .entries import BadLine, read_entry
from .files import (
    SUFFIX,
    StoreError,
    chunks_of,
    contents,
    is_session_id,
    lines_of,
    open_file,
    session_files,
)
from .pages import HtmlWriter, MarkdownWriter, Pages
from .transcript import Transcript
from .writing import draft_of, new_file, store_errors

ExportFormat = Literal["html", "md", "jsonl", "zip"]


MANIFEST = "claudewire.json"
MAIN = "session.jsonl"

_SAFE = re.compile(
    r"session\.jsonl|subagents/(?:[A-Za-z0-9][\w.-]*/)*agent-[\w.-]+\.(?:jsonl|meta\.json)"
    r"|tool-results/(?:[A-Za-z0-9][\w.-]*/)*[A-Za-z0-9][\w.-]*"
)
"""The files of a session: its subagents, and output of tools that was too long for a line."""


def export_session(
    transcript: Transcript,
    path: Path,
    format: ExportFormat | None,
    *,
    branch: str | None,
    redact: bool,
    tool_output: bool,
) -> None:
    """Write a session to a file."""
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
            _write_bundle(transcript, path, redactor)
        elif chosen == "jsonl":
            new_file(path, _lines(transcript, branch, redactor))
        else:
            writer = HtmlWriter() if chosen == "html" else MarkdownWriter()
            pieces = Pages(transcript, writer, redactor, tool_output).pieces(branch)
            # Half a surrogate pair can be in a transcript, and not in a file.
            new_file(path, (it.encode("utf-8", "replace") for it in pieces))


def _lines(transcript: Transcript, branch: str | None, redactor: Redact) -> Iterator[bytes]:
    entries = transcript.entries() if branch is None else transcript.conversation(branch)
    for entry in entries:
        if not isinstance(entry, BadLine):
            yield _redacted_line(entry.line, redactor) + b"\n"


def _redacted_line(data: bytes, redactor: Redact) -> bytes:
    """Return a line without its secrets; the same JSON otherwise."""
    return redactor(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _write_bundle(transcript: Transcript, path: Path, redactor: Redact) -> None:
    """Write a session, with its subagents and other files, into a zip."""
    info, main = transcript.info, transcript.path
    manifest = {"id": info.id, "cwd": redactor(info.cwd) if info.cwd else None}
    with draft_of(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, msgspec.json.encode(manifest))
        for place, source in session_files(main).items():
            name = MAIN if source == main else place.relative_to(info.id).as_posix()
            if _SAFE.fullmatch(name):
                with archive.open(name, "w") as to:
                    to.writelines(_redacted(source, redactor))


def _redacted(path: Path, redactor: Redact) -> Iterator[bytes]:
    if path.suffix != SUFFIX:
        yield _redacted_line(b"".join(contents(path)), redactor)
        return
    with open_file(path) as file:
        for line in lines_of(file):
            if isinstance(line.line, bytes):
                yield _redacted_line(line.line, redactor) + b"\n"


# --- import --------------------------------------------------------------------------------------


class _Manifest(Struct):
    """The description of a session in a zip."""

    id: str
    cwd: str | None = None


_LONGEST_MANIFEST = 1 << 20


class Bundle:
    """An exported session, in an open zip."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        with archive.open(MANIFEST) as file:
            manifest = msgspec.json.decode(file.read(_LONGEST_MANIFEST), type=_Manifest)
        self.id: str = manifest.id
        self.cwd: str | None = manifest.cwd
        if not is_session_id(self.id):
            raise ValueError("it does not name its session")
        archive.getinfo(MAIN)
        names = [name for name in archive.namelist() if name not in (MANIFEST, MAIN)]
        for name in names:
            if _SAFE.fullmatch(name) is None:
                raise ValueError(f"it has a file {name!r}, which no session has")
        self._names = [*names, MAIN]

    def files(self, id: str) -> Iterator[tuple[Path, Iterable[bytes]]]:
        """Yield the files under a new id, with their places in the project; the transcript last."""
        for name in self._names:
            place = Path(f"{id}{SUFFIX}") if name == MAIN else Path(id, name)
            with self._archive.open(name) as member:
                chunks = chunks_of(member)
                is_renamed = id != self.id and place.suffix == SUFFIX
                yield place, self._renamed(chunks, id) if is_renamed else chunks

    def _renamed(self, chunks: Iterator[bytes], id: str) -> Iterator[bytes]:
        framing = Lines()
        for lines in (*map(framing.feed, chunks), framing.end()):
            for line in lines:
                if isinstance(line, bytes):
                    yield _renamed_line(line, self.id, id) + b"\n"


def _renamed_line(line: bytes, old: str, new: str) -> bytes:
    entry = read_entry(line)
    if entry.session_id != old or isinstance(entry, BadLine):
        return line
    return msgspec.json.encode({**entry.raw, "sessionId": new})


_DAMAGED = (
    *(OSError, EOFError, RuntimeError, ValueError, KeyError),
    *(zipfile.BadZipFile, zlib.error, msgspec.MsgspecError),
)


@contextmanager
def open_bundle(path: Path) -> Iterator[Bundle]:
    """Open an exported session. A damaged one is a StoreError, in the block as well."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield Bundle(archive)
    except StoreError:
        raise
    except _DAMAGED as error:
        raise StoreError(
            f"{path} cannot be imported: {error}",
            advice="Export a session as .zip, and import that.",
        ) from error
