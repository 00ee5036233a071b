"""A session as one file that can be taken elsewhere: a zip of all its transcripts, or its lines."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from ..errors import Redactor
from ..wire import Lines, Oversize
from .entries import BadLine, read_entry
from .files import (
    SUFFIX,
    StoreError,
    chunks_of,
    is_session_id,
    lines_of,
    open_inside,
    session_files,
)
from .transcript import BlockingTranscript
from .writing import draft_of

__all__ = [
    "DAMAGED",
    "Bundle",
    "not_imported",
    "read_bundle",
    "redacted_line",
    "renamed",
    "write_bundle",
]

MANIFEST = "claudewire.json"
MAIN = "session.jsonl"

RATIO = 200
"""How many times larger than its zip a session can be: usual are 5 to 20."""

HARMLESS = 64 << 20
"""Bytes that are unpacked whatever the ratio is."""

DAMAGED = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What reading a zip raises that is cut off, damaged, or encrypted."""

_SAFE = re.compile(
    r"subagents/(?:[A-Za-z0-9][\w.-]*/)*agent-[\w.-]+\.(?:jsonl|meta\.json)"
    r"|tool-results/(?:[A-Za-z0-9][\w.-]*/)*[A-Za-z0-9][\w.-]*"
)
"""The files that a session has: its subagents, and output of tools that was too long for a line."""


class _Manifest(Struct):
    """What a zip says about itself."""

    id: str
    folder: str
    cwd: str | None = None
    format: int = 1


_read = msgspec.json.Decoder(_Manifest).decode


class Bundle(Struct, frozen=True):
    """A session that was exported.

    Attributes:
        id: its id.
        folder: the name of the folder that it was in.
        cwd: the directory that it worked in.
        main: gives the bytes of its transcript.
        agents: gives the names of other files, and their bytes.
    """

    id: str
    folder: str
    cwd: str | None
    main: Callable[[], Iterator[bytes]]
    agents: Callable[[], Iterator[tuple[str, Iterator[bytes]]]]


def redacted_line(line: bytes, redactor: Callable[[str], str] | None) -> bytes:
    """Return a line without its secrets; the same JSON otherwise."""
    if redactor is None:
        return line
    return redactor(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


# --- out -----------------------------------------------------------------------------------------


def write_bundle(transcript: BlockingTranscript, path: Path, *, redact: bool) -> None:
    """Write a session, with its subagents and what belongs to it, into a zip.

    Raises:
        FileExistsError: the file exists.
    """
    redactor = Redactor() if redact else None
    with draft_of(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        _write_all(archive, transcript, redactor)


def _write_all(
    archive: zipfile.ZipFile, transcript: BlockingTranscript, redactor: Redactor | None
) -> None:
    info = transcript.info
    cwd = info.cwd if redactor is None or info.cwd is None else redactor(info.cwd)
    folder = info.folder if redactor is None else "imported"
    manifest = msgspec.json.encode(_Manifest(info.id, folder, cwd))
    archive.writestr(MANIFEST, manifest)
    main = Path(info.path)
    for place, source in session_files(main, transcript.root).items():
        name = MAIN if source == main else _name_of(place, info.id)
        if name == MAIN or _SAFE.fullmatch(name):
            with open_inside(source, transcript.root) as file, archive.open(name, "w") as target:
                _write(file, target, redactor, by_line=source.suffix == SUFFIX)


def _name_of(place: Path, id: str) -> str:
    inside = place.is_relative_to(id)
    return (place.relative_to(id) if inside else Path("subagents", place)).as_posix()


def _write(file: IO[bytes], target: IO[bytes], redactor: Redactor | None, *, by_line: bool) -> None:
    if by_line:
        for line in lines_of(file):
            if isinstance(line.line, bytes):
                target.write(redacted_line(line.line, redactor) + b"\n")
    else:
        target.write(redacted_line(b"".join(chunks_of(file)), redactor))


# --- in ------------------------------------------------------------------------------------------


def read_bundle(path: Path) -> Bundle:
    """Read what was exported as zip or JSON Lines.

    Raises:
        StoreError: it is something else.
    """
    try:
        is_zip = zipfile.is_zipfile(path)
        return _read_zip(path) if is_zip else _read_lines(path)
    except (*DAMAGED, KeyError, msgspec.MsgspecError) as error:
        raise not_imported(path, error) from error


def not_imported(path: Path, why: object) -> StoreError:
    """Say that a file cannot be imported."""
    return StoreError(
        f"{path} cannot be imported: {why}",
        advice="Export a session as .zip or .jsonl, and import that.",
    )


def _read_zip(path: Path) -> Bundle:
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(it.file_size for it in archive.infolist())
        if unpacked > max(HARMLESS, RATIO * path.stat().st_size):
            raise not_imported(path, f"it would become {unpacked} bytes, more than any session")
        manifest = _read(archive.read(MANIFEST))
        everything = archive.namelist()
        archive.getinfo(MAIN)
    _check(manifest.id, path)
    if not re.fullmatch(r"(?!\.)[\w.-]{1,255}", manifest.folder):
        raise not_imported(path, f"{manifest.folder!r} cannot be the name of a folder")
    if len(everything) != len(set(everything)):
        raise not_imported(path, "it has two files with the same name")
    names = [name for name in everything if name not in (MANIFEST, MAIN)]
    for name in names:
        if _SAFE.fullmatch(name) is None:
            raise StoreError(f"{path} has a file {name!r} that no session has")

    def agents() -> Iterator[tuple[str, Iterator[bytes]]]:
        for name in names:
            yield name, _unzipped(path, name)

    return Bundle(manifest.id, manifest.folder, manifest.cwd, lambda: _unzipped(path, MAIN), agents)


def _unzipped(path: Path, name: str) -> Iterator[bytes]:
    with zipfile.ZipFile(path) as archive, archive.open(name) as file:
        yield from chunks_of(file)


def renamed(chunks: Iterator[bytes], old: str, new: str) -> Iterator[bytes]:
    """Give a transcript the id of another session."""
    if new == old:
        yield from chunks
        return
    for line in _lines(chunks):
        if isinstance(line, bytes):
            yield _renamed(line, old, new) + b"\n"


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes | Oversize]:
    framing = Lines()
    for chunk in chunks:
        yield from framing.feed(chunk)
    yield from framing.end()


def _renamed(line: bytes, old: str, new: str) -> bytes:
    entry = read_entry(line)
    if entry.session_id != old or isinstance(entry, BadLine):
        return line
    return msgspec.json.encode({**entry.raw, "sessionId": new})


def _read_lines(path: Path) -> Bundle:
    id, cwd = "", None
    with path.open("rb") as file:
        for line in lines_of(file):
            entry = line.read()
            if not id and entry.session_id is not None and is_session_id(entry.session_id):
                id = entry.session_id
            cwd = cwd or entry.cwd
            if id and cwd:
                break
    _check(id, path)
    return Bundle(id, "imported", cwd, lambda: _copied(path), lambda: iter(()))


def _copied(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from chunks_of(file)


def _check(id: str, path: Path) -> None:
    if not is_session_id(id) or id.startswith("agent-"):
        raise StoreError(
            f"{path} does not say which session it is",
            advice="Give a .zip or .jsonl file that export() has made.",
        )
