"""Changing what is on disk, so that no line is ever lost.

A line is added in one write, at the end, under the lock that sessions of this library hold while
they run, and is looked for afterwards. A file appears under its name only when it is complete.
Nothing is rewritten in place, and nothing is deleted that was not moved to the trash before.
"""

from __future__ import annotations

import os
import stat
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from ..errors import CLIError
from ..launch import SessionLock
from .files import StoreError, check_inside
from .running import running_sessions

__all__ = ["add_line", "draft_of", "encode_line", "exclusive", "new_file"]

WAIT = 5.0
"""Seconds to wait for another process that changes the same session: that takes milliseconds."""

PAUSE = 0.01
"""Seconds between two attempts to get the lock."""


@contextmanager
def exclusive(session_id: str, config: Path, *, wait: float = WAIT) -> Iterator[None]:
    """Hold the lock of a session.

    Raises:
        CLIError: a session that runs has it; the cause is `SESSION_IN_USE`.
    """
    lock = _locked(session_id, os.path.realpath(config), time.monotonic() + wait)
    try:
        yield
    finally:
        lock.release()


def _locked(session_id: str, place: str, deadline: float) -> SessionLock:
    while True:
        try:
            return SessionLock(session_id, place)
        except CLIError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(PAUSE)


def check_idle(session_id: str, config: Path, what: str) -> None:
    """Check that no CLI has a session open.

    Raises:
        StoreError: one has.
    """
    holder = running_sessions(config).get(session_id)
    if holder is not None:
        raise StoreError(
            f"The session {session_id} cannot be {what}: process {holder.pid} has it open",
            advice="End that process first, or work with a fork.",
        )


def encode_line(entry: dict[str, Any]) -> bytes:
    """Write an entry as a line."""
    return msgspec.json.encode(entry) + b"\n"


def add_line(path: str | os.PathLike[str], root: Path, line: bytes) -> None:
    """Add a line to a transcript. The caller holds the lock.

    Raises:
        StoreError: the transcript leads out of its folder, or the line could not be written whole.
    """
    check_inside(path, root)
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise StoreError(f"{os.fspath(path)} cannot be written to: {error.strerror}") from error
    try:
        _add(file, os.fspath(path), line)
    finally:
        os.close(file)


def _add(file: int, path: str, line: bytes) -> None:
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is not a regular file")
    size = found.st_size
    # Whoever wrote last may have been killed in the middle of a line, which then ends here.
    data = line if size == 0 or os.pread(file, 1, size - 1) == b"\n" else b"\n" + line
    try:
        written = os.write(file, data)
        if written == len(data):
            os.fsync(file)
    except OSError as error:
        raise StoreError(f"{path} cannot be written to: {error.strerror}") from error
    if written != len(data):
        # Nobody else may have written meanwhile: then the half line stays, as a line of its own.
        if os.fstat(file).st_size == size + written:
            os.ftruncate(file, size)
        raise StoreError(
            f"{path} could not be written to: there is room for {written} of {len(data)} bytes",
            advice="Make room on the disk. The transcript is as it was before.",
        )
    if data not in os.pread(file, os.fstat(file).st_size - size, size):
        raise StoreError(f"A line that was added to {path} is not there")


def new_file(path: Path, lines: Iterable[bytes]) -> None:
    """Make a file that is complete from the moment on at which it exists.

    Raises:
        FileExistsError: there is one already.
    """
    with draft_of(path) as file:
        file.writelines(lines)


@contextmanager
def draft_of(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that gets its name once everything is written.

    Raises:
        FileExistsError: there is one with this name already.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Two threads may make the same file: each needs a draft of its own.
    draft = path.with_name(f".{uuid.uuid4().hex}.draft")
    try:
        with open(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike renaming, this never replaces a file
    finally:
        with suppress(OSError):
            draft.unlink()
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder survive a crash of the machine."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
