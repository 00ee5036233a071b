"""Changing files on disk, so that no line is ever lost, and archiving them.

A line is added in one write, at the end, under the lock that sessions of this library hold while
they run. A file appears under its name only when it is complete. Nothing is rewritten in place.

The archive is outside of the CLI's sight: <config>/claudewire/archive/projects/<folder>/<session>…
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from ..errors import CLIError
from ..launch import ConversationLock
from .files import Found, StoreError, contents, find_id, find_sessions, session_files

with suppress(ImportError):  # Windows, where sessions do not work, but imports must
    import fcntl

WAIT = 5.0
"""Seconds to wait for another process that changes the same session: that takes milliseconds."""

BUSY = 30.0
"""Seconds to wait for another process that writes to the same database."""

PAUSE = 0.01
"""Seconds between two attempts to get the lock."""


@contextmanager
def exclusive(session_id: str, config: Path) -> Iterator[None]:
    """Hold the lock of a session, unless a running session has it."""
    lock, deadline = ConversationLock(os.path.realpath(config)), time.monotonic() + WAIT
    while True:
        try:
            lock.take(session_id)
            break
        except CLIError:
            if time.monotonic() >= deadline:
                raise
        except (OSError, RuntimeError) as error:
            raise StoreError(
                f"The session {session_id} cannot be locked: {error}",
                advice="Make the cache folder writable, or set XDG_CACHE_HOME to one that is.",
            ) from error
        time.sleep(PAUSE)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def store_errors(failed: str) -> Iterator[None]:
    """Raise a StoreError for an error of the system or a database: a full disk, for example."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        where = f": {error.filename}" if isinstance(error, OSError) and error.filename else ""
        raise StoreError(
            f"{failed}: {getattr(error, 'strerror', None) or error}{where}",
            advice="Nothing was changed. Make the folder writable, make room on the disk, or remove"
            " the file that is in the way.",
        ) from error


def encode_line(entry: dict[str, Any]) -> bytes:
    """Write an entry as a line."""
    return msgspec.json.encode(entry) + b"\n"


def add_line(path: str | os.PathLike[str], line: bytes) -> None:
    """Add a line to a transcript. The caller holds the lock."""
    with store_errors(f"{os.fspath(path)} cannot be written to"):
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        try:
            _add(file, line)
        finally:
            os.close(file)


def _add(file: int, line: bytes) -> None:
    size, written = os.fstat(file).st_size, 0
    # The last writer may have been killed in the middle of a line, which then ends here.
    data = line if size == 0 or os.pread(file, 1, size - 1) == b"\n" else b"\n" + line
    try:
        written = os.write(file, data)
        if written != len(data):
            raise OSError(f"there is room for {written} of {len(data)} bytes")
        os.fsync(file)
    except OSError:
        if os.fstat(file).st_size == size + written:  # no other process has written after it
            os.ftruncate(file, size)
        raise


# --- databases -----------------------------------------------------------------------------------


def connected(path: str | os.PathLike[str], tables: str, version: int = 0) -> sqlite3.Connection:
    """Open a database that only this user can read, and that keeps nothing that was deleted."""
    name = os.path.abspath(path) if os.fspath(path) != ":memory:" else ":memory:"
    if name != ":memory:":
        make_folder(Path(name).parent)
        os.close(os.open(name, os.O_CREAT | os.O_RDWR, 0o600))  # SQLite's other files follow it
    database = sqlite3.connect(
        name, timeout=BUSY, isolation_level="IMMEDIATE", check_same_thread=False
    )
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA secure_delete = ON")
        (found,) = database.execute("PRAGMA user_version").fetchone()
        if found not in (0, version):
            raise sqlite3.DatabaseError("another version made it")
        if found == 0:
            script = f"BEGIN IMMEDIATE; {tables} PRAGMA user_version = {version}; COMMIT"
            database.executescript(script)
    except BaseException:
        database.close()
        raise
    return database


# --- whole files ---------------------------------------------------------------------------------


@contextmanager
def draft_of(path: Path, folder: Path | None = None) -> Iterator[IO[bytes]]:
    """Open a file that gets its name once everything is written.

    A caller that gives the folder of the draft has removed other drafts from it.
    """
    make_folder(path.parent)
    if folder is None:
        remove_drafts(path.parent)
    fd, draft = _new_draft(folder or path.parent)
    try:
        with open(fd, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.link(draft, path)  # unlike renaming, this never replaces a file
    finally:
        with suppress(OSError):
            draft.unlink()


def _new_draft(folder: Path) -> tuple[int, Path]:
    """Make a draft that is locked as long as its writer lives."""
    while True:
        # Two threads may make the same file: each has a draft.
        draft = folder / f".{uuid.uuid4().hex}.draft"
        file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file).st_nlink:
            return file, draft
        os.close(file)  # another writer removed it before it was locked


def remove_drafts(folder: Path) -> None:
    """Remove the drafts that killed writers have left in a folder."""
    for draft in folder.glob(".*.draft"):
        with suppress(OSError), draft.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.unlink()


def new_file(path: Path, lines: Iterable[bytes], folder: Path | None = None) -> None:
    """Make a file that is complete from the moment on at which it exists."""
    with draft_of(path, folder) as file:
        file.writelines(lines)


def make_folder(path: Path) -> list[Path]:
    """Make a folder, and its missing parents, for this user alone; return the new ones."""
    if path.exists():
        return []
    made = make_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    return [*made, path]


def make_files(folder: Path, files: Iterable[tuple[Path, Iterable[bytes]]], failed: str) -> None:
    """Make several files, by their places in the folder of a project, or none of them."""
    made: list[Path] = []
    with store_errors(failed):
        try:
            made += make_folder(folder)
            remove_drafts(folder)
            for place, lines in files:
                path = folder / place
                made += make_folder(path.parent)
                new_file(path, lines, folder)
                made.append(path)
        except BaseException:
            for path in reversed(made):
                with suppress(OSError):  # another process has put something into a folder
                    path.rmdir() if path.is_dir() else path.unlink()
            raise


# --- the archive ---------------------------------------------------------------------------------


def keep(main: Path, target: Path, failed: str) -> None:
    """Link or copy the files of a session to another folder, unless they are there and as long."""
    with store_errors(failed):
        for place, path in session_files(main).items():
            if not _is_kept(path, target / place):
                make_folder((target / place).parent)
                (target / place).unlink(missing_ok=True)
                try:
                    os.link(path, target / place)
                except OSError:  # another disk, or a file system without links
                    new_file(target / place, contents(path))


def is_archived(main: Path, archive: Path) -> bool:
    """Whether all files of a session are in the archive, as they are now."""
    target = archive / main.parent.name
    return all(_is_kept(path, target / place) for place, path in session_files(main).items())


def _is_kept(path: Path, copy: Path) -> bool:
    """Whether a file has a copy that is as long: transcripts only grow."""
    try:
        return copy.stat().st_size >= path.stat().st_size
    except OSError:
        return False


def remove(main: Path, failed: str) -> None:
    """Delete the files of a session: its transcript first, without which the rest is not found."""
    with store_errors(failed):
        main.unlink()
        with suppress(FileNotFoundError):
            shutil.rmtree(main.with_suffix(""))


def find_archived(id: str, archive: Path) -> list[Found]:
    """Return the archived sessions with this id, one per project, the last changed first."""
    here = find_sessions(archive)
    advice = "archived() returns the existing ones."
    whole = find_id(id, (it.id for it in here), "in the archive", advice)
    found = [it for it in here if it.id == whole]
    return sorted(found, key=lambda it: it.main.mtime_ns, reverse=True)
