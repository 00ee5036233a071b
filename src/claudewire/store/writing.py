"""Changing what is on disk, so that no line is ever lost.

A line is added in one write, at the end, under the lock that sessions of this library hold while
they run, and is looked for afterwards. A file appears under its name only when it is complete.
Nothing is rewritten in place, and nothing is deleted that was not moved to the trash before.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from ..errors import CLIError
from ..launch import SessionLock
from .files import StoreError, check_inside, chunks_of, open_inside
from .running import running_sessions

__all__ = ["Steps", "add_line", "draft_of", "encode_line", "exclusive", "new_file", "steps"]

WAIT = 5.0
"""Seconds to wait for another process that changes the same session: that takes milliseconds."""

PAUSE = 0.01
"""Seconds between two attempts to get the lock."""


@contextmanager
def exclusive(session_id: str, config: Path, *, wait: float = WAIT) -> Iterator[None]:
    """Hold the lock of a session.

    Raises:
        CLIError: a session that runs has it; the cause is `SESSION_IN_USE`.
        StoreError: the lock cannot be made.
    """
    try:
        lock = _locked(session_id, os.path.realpath(config), time.monotonic() + wait)
    except (OSError, RuntimeError) as error:
        raise StoreError(
            f"The session {session_id} cannot be locked: {error}",
            advice="Make the cache folder writable, or set XDG_CACHE_HOME to one that is.",
        ) from error
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
    written = 0
    try:
        written = os.write(file, data)
        if written == len(data):
            os.fsync(file)
    except OSError as error:
        _take_back(file, size, written)
        raise StoreError(f"{path} cannot be written to: {error.strerror}") from error
    if written != len(data):
        _take_back(file, size, written)
        raise StoreError(
            f"{path} could not be written to: there is room for {written} of {len(data)} bytes",
            advice="Make room on the disk. The transcript is as it was before.",
        )
    if data not in os.pread(file, os.fstat(file).st_size - size, size):
        raise StoreError(f"A line that was added to {path} is not there")


def _take_back(file: int, size: int, written: int) -> None:
    """Remove what was written, unless somebody else has written after it."""
    if os.fstat(file).st_size == size + written:
        os.ftruncate(file, size)


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
    """Make sure that the names in a folder survive a crash of the machine, if possible."""
    file = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # not every file system can do it
            os.fsync(file)
    finally:
        os.close(file)


# --- several files -------------------------------------------------------------------------------


class Steps:
    """Changes on disk that belong together; `steps` makes them."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def folder(self, path: Path) -> None:
        """Make a folder, and those that it is in."""
        missing = [it for it in (path, *path.parents) if not it.exists()]
        for it in reversed(missing):
            it.mkdir(mode=0o700, exist_ok=True)
            self._undo.append(it.rmdir)

    def make(self, path: Path, lines: Iterable[bytes]) -> None:
        """Make a file."""
        self.folder(path.parent)
        new_file(path, lines)
        self._undo.append(path.unlink)

    def copy(self, source: Path, path: Path, root: Path) -> None:
        """Copy a file that is inside a folder."""
        with open_inside(source, root) as file:
            self.make(path, chunks_of(file))

    def keep(self, source: Path, path: Path, root: Path) -> None:
        """Link a file, or copy it where that is not possible."""
        self.folder(path.parent)
        try:
            os.link(source, path)
        except FileExistsError:
            raise
        except OSError:
            self.copy(source, path, root)
        else:
            self._undo.append(path.unlink)

    def renew(self, source: Path, path: Path, root: Path) -> None:
        """Link or copy a file to where a shorter version of it may be, which is then replaced."""
        if not path.exists():
            self.keep(source, path, root)
            return
        draft = path.with_name(f".{uuid.uuid4().hex}.draft")
        self.keep(source, draft, root)
        os.replace(draft, path)

    def move(self, source: Path, path: Path) -> None:
        """Move a file or a folder."""
        self.folder(path.parent)
        _move(source, path)
        self._undo.append(lambda: _move(path, source))

    def undo(self) -> None:
        """Undo all of it, the last first."""
        for step in reversed(self._undo):
            with suppress(OSError):  # a folder that another process has put something into
                step()


def _move(source: Path, path: Path) -> None:
    try:
        os.rename(source, path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.move(source, path)  # to another disk


@contextmanager
def steps(failed: str) -> Iterator[Steps]:
    """Change several files; if one of the steps fails, undo those before.

    Args:
        failed: what to say then, such as "The session … cannot be deleted".

    Raises:
        StoreError: a step failed.
    """
    taken = Steps()
    try:
        yield taken
    except OSError as error:
        taken.undo()
        where = f": {error.filename}" if error.filename is not None else ""
        raise StoreError(
            f"{failed}: {error.strerror or error}{where}",
            advice="Nothing was changed. Make the folder writable, make room on the disk, or remove"
            " what is in the way.",
        ) from error
    except BaseException:
        taken.undo()
        raise
