"""A session as one file that can be taken elsewhere: a zip of all its transcripts, or its lines."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ..errors import Redactor
from .files import StoreError, is_session_id, lines_of, open_inside
from .transcript import BlockingTranscript

__all__ = ["Bundle", "read_bundle", "redacted_line", "write_bundle"]

MANIFEST = "claudewire.json"
MAIN = "session.jsonl"
CHUNK = 1 << 20

_SAFE = re.compile(r"subagents/(?:[A-Za-z0-9][\w.-]*/)*agent-[\w.-]+\.(?:jsonl|meta\.json)")


class _Manifest(Struct):
    """What a zip says about itself."""

    id: str
    folder: str
    cwd: str | None = None
    format: int = 1


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
    """Write a session with its subagents into a zip.

    Raises:
        FileExistsError: the file exists.
    """
    redactor = Redactor() if redact else None
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
            _write_all(archive, transcript, redactor)
        os.link(draft, path)
    finally:
        with suppress(OSError):
            draft.unlink()


def _write_all(
    archive: zipfile.ZipFile, transcript: BlockingTranscript, redactor: Redactor | None
) -> None:
    info = transcript.info
    cwd = info.cwd if redactor is None or info.cwd is None else redactor(info.cwd)
    folder = info.folder if redactor is None else "imported"
    manifest = msgspec.json.encode(_Manifest(info.id, folder, cwd))
    archive.writestr(MANIFEST, manifest)
    paths = {MAIN: info.path}
    beside = Path(info.path).with_suffix("")
    for agent in transcript.agents():
        if agent.path != info.path:
            path = Path(agent.path)
            inside = path.is_relative_to(beside)
            name = path.relative_to(beside) if inside else Path("subagents", path.name)
            paths[str(name)] = agent.path
    for place, source in paths.items():
        with open_inside(source, transcript.root) as file, archive.open(place, "w") as target:
            for line in lines_of(file):
                if isinstance(line.line, bytes):
                    target.write(redacted_line(line.line, redactor) + b"\n")
        meta = Path(source).with_suffix(".meta.json")
        if meta.is_file():
            text = redacted_line(meta.read_bytes(), redactor)
            archive.writestr(place.removesuffix(".jsonl") + ".meta.json", text)


# --- in ------------------------------------------------------------------------------------------


def read_bundle(path: Path) -> Bundle:
    """Read what was exported as zip or JSON Lines.

    Raises:
        StoreError: it is something else.
    """
    try:
        is_zip = zipfile.is_zipfile(path)
        return _read_zip(path) if is_zip else _read_lines(path)
    except (OSError, zipfile.BadZipFile, KeyError, msgspec.MsgspecError) as error:
        raise StoreError(
            f"{path} cannot be imported: {error}",
            advice="Export a session as .zip or .jsonl, and import that.",
        ) from error


def _read_zip(path: Path) -> Bundle:
    with zipfile.ZipFile(path) as archive:
        manifest = msgspec.json.decode(archive.read(MANIFEST), type=_Manifest)
        names = [name for name in archive.namelist() if name not in (MANIFEST, MAIN)]
        archive.getinfo(MAIN)
    _check(manifest.id, path)
    for name in names:
        if _SAFE.fullmatch(name) is None or ".." in name.split("/"):
            raise StoreError(f"{path} has a file {name!r} that no session has")

    def agents() -> Iterator[tuple[str, Iterator[bytes]]]:
        for name in names:
            yield name, _unzipped(path, name)

    return Bundle(manifest.id, manifest.folder, manifest.cwd, lambda: _unzipped(path, MAIN), agents)


def _unzipped(path: Path, name: str) -> Iterator[bytes]:
    with zipfile.ZipFile(path) as archive, archive.open(name) as file:
        yield from iter(lambda: file.read(CHUNK), b"")


def _read_lines(path: Path) -> Bundle:
    id, cwd = "", None
    with path.open("rb") as file:
        for line in lines_of(file):
            entry = line.read()
            if not id and entry.session_id is not None and is_session_id(entry.session_id):
                id = entry.session_id
            cwd = cwd or entry.cwd
            if id and cwd is not None:
                break
    _check(id, path)
    return Bundle(id, "imported", cwd, lambda: _copied(path), lambda: iter(()))


def _copied(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(CHUNK), b"")


def _check(id: str, path: Path) -> None:
    if not is_session_id(id):
        raise StoreError(f"{path} does not say which session it is", advice="Export it again.")
