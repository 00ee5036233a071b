"""The files of transcripts: where the CLI keeps them, and how they are read.

    <config>/projects/<folder>/<session>.jsonl                       the main conversation
    <config>/projects/<folder>/<session>/subagents/**/agent-*.jsonl  its subagents, at any depth
    <config>/sessions/<pid>.json                                     running processes, newer CLIs

The CLI's own index files are not read: they are often out of date.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import anyio.from_thread
import msgspec
from msgspec import Struct

from ..errors import Cause, Error
from ..launch import lock_holders
from ..wire import Lines, Oversize
from .entries import Entry, read_entry
from .facts import SessionStatus

log: logging.Logger = logging.getLogger("claudewire.transcripts")

CHUNK = 1 << 20
"""Bytes that are read at once: a file is never in memory as a whole."""

LONGEST_FOLDER = 200
"""Characters of a folder's name before it is cut and gets a checksum, as the CLI does."""

SUFFIX = ".jsonl"
_NOT_SAFE = re.compile("[^a-zA-Z0-9]")
_ID = re.compile(r"(?!agent-)[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class StoreError(Error):
    """A session on disk does not exist, is ambiguous, or cannot be read or changed."""


class SessionNotFound(StoreError):
    """No session on disk has this id, or several ids begin like it."""

    cause: Cause = Cause.SESSION_NOT_FOUND


def find_id(id: str, ids: Iterable[str], where: str, advice: str) -> str:
    """Return this id, or the only one that begins with it."""
    found = {it for it in ids if id and it.startswith(id)}
    if id in found:
        return id
    if len(found) > 1:
        shown = ", ".join(sorted(found)[:5])
        raise SessionNotFound(
            f"Several sessions begin with {id!r} {where}: {shown}", advice="Say more of it."
        )
    if not found:
        raise SessionNotFound(f"There is no session {id!r} {where}", advice=advice)
    return found.pop()


def config_folder() -> Path:
    """Return the folder in which the CLI keeps everything."""
    found = os.path.expanduser(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude")
    if found.startswith("~"):
        raise StoreError(
            "It is not known where the CLI keeps its sessions: this user has no home directory",
            advice="Set CLAUDE_CONFIG_DIR or HOME, or give config_dir.",
        )
    return Path(found).absolute()


def project_folder(cwd: str | os.PathLike[str]) -> str:
    """Return the name of the folder in which the CLI keeps the sessions of a directory."""
    path = os.path.realpath(os.path.expanduser(cwd))
    # The CLI counts in UTF-16, where a character beyond the first 65,536 is two.
    name = _NOT_SAFE.sub(lambda found: "--" if found[0] > "\uffff" else "-", path)
    if len(name) <= LONGEST_FOLDER:
        return name
    return f"{name[:LONGEST_FOLDER]}-{_checksum(path)}"


def _checksum(text: str) -> str:
    """The CLI's own checksum of a path: 32 bits over UTF-16 units, to the base 36."""
    units = text.encode("utf-16-le", "surrogatepass")
    value = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + low + (high << 8)) & 0xFFFFFFFF
    value = min(value, (1 << 32) - value)  # the absolute value of a signed number
    digits = ""
    while value or not digits:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
    return digits


def is_session_id(text: str) -> bool:
    """Whether this can be the id of a session, and so the name of a file."""
    return _ID.fullmatch(text) is not None


# --- finding -------------------------------------------------------------------------------------


class Stamp(NamedTuple):
    """The facts that tell whether a file has changed."""

    path: str
    inode: int
    size: int
    mtime_ns: int


class Found(NamedTuple):
    """A session on disk: its file, and those of its subagents."""

    id: str
    folder: str
    main: Stamp
    agents: tuple[Stamp, ...] = ()

    @property
    def stamps(self) -> tuple[Stamp, ...]:
        """All its files."""
        return (self.main, *self.agents)


def find_sessions(root: Path) -> list[Found]:
    """Find all sessions below the folder of the projects."""
    try:
        folders = sorted(os.listdir(root))
    except FileNotFoundError:  # no CLI has been here yet
        return []
    except OSError as error:
        raise _unreadable(root, error) from error
    return [found for name in folders for found in _sessions_in(root / name)]


def _sessions_in(folder: Path) -> Iterator[Found]:
    try:
        names = set(os.listdir(folder))
    except NotADirectoryError:
        return
    except OSError as error:
        log.warning("The sessions in %s are left out: %s", folder, error.strerror)
        return
    for name in sorted(names):
        id = name.removesuffix(SUFFIX)
        stamp = _stamp(folder / name) if id != name and is_session_id(id) else None
        if stamp is not None:
            agents = map(_stamp, agent_files(folder / id) if id in names else ())
            yield Found(id, folder.name, stamp, tuple(it for it in agents if it is not None))


def _stamp(path: Path) -> Stamp | None:
    """Return the stamp of a regular file; None for anything else."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return Stamp(str(path), found.st_ino, found.st_size, found.st_mtime_ns)


def agent_files(folder: Path) -> list[Path]:
    """Find the files of the subagents of a session, at any depth."""
    return sorted(it for it in folder.glob(f"subagents/**/agent-*{SUFFIX}") if it.is_file())


def session_files(main: Path) -> dict[Path, Path]:
    """Find all files of a session by their places in the project, the transcript itself last."""
    beside = sorted(it for it in main.with_suffix("").rglob("*") if it.is_file())
    return {it.relative_to(main.parent): it for it in (*beside, main)}


# --- reading -------------------------------------------------------------------------------------


class Line(NamedTuple):
    """A line, and where it is in its file."""

    offset: int
    line: bytes | Oversize
    is_complete: bool = True
    """False for the last line of a file if it has no newline, as while it is being written."""

    @property
    def length(self) -> int:
        """Its length in bytes, without the newline."""
        return self.line.length if isinstance(self.line, Oversize) else len(self.line)

    @property
    def end(self) -> int:
        """The offset of the next line."""
        return self.offset + self.length + self.is_complete

    def read(self) -> Entry:
        """Return its entry."""
        return read_entry(self.line)


def check_cancelled() -> None:
    """End the work in this thread if its caller was cancelled."""
    with suppress(RuntimeError):  # not in a worker thread: there is no caller to cancel
        anyio.from_thread.check_cancelled()


def open_file(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a transcript for reading."""
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: object, error: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be read: {error.strerror}",
        advice="It may have been moved or deleted, or belong to another user.",
    )


def chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the rest of a file, in pieces that fit into memory."""
    while True:
        check_cancelled()
        try:
            chunk = file.read(CHUNK)
        except OSError as error:  # the disk is damaged, or a network drive is gone
            raise _unreadable(file.name, error) from error
        if not chunk:
            return
        yield chunk


def contents(path: Path) -> Iterator[bytes]:
    """Yield the content of a file, to copy it."""
    with open_file(path) as file:
        yield from chunks_of(file)


def lines_of(file: IO[bytes], start: int = 0) -> Iterator[Line]:
    """Yield the lines of a file, in pieces that fit into memory. Empty ones are left out."""
    file.seek(start)
    framing, offset = Lines(), start
    for chunk in chunks_of(file):
        for line in framing.feed(chunk):
            length = len(line) if isinstance(line, bytes) else line.length
            if length:
                yield Line(offset, line)
            offset += length + 1
    for line in framing.end():
        yield Line(offset, line, is_complete=False)


def entries_of(path: str | os.PathLike[str]) -> Iterator[Entry]:
    """Yield the entries of a file."""
    with open_file(path) as file:
        yield from (line.read() for line in lines_of(file))


# --- running sessions ----------------------------------------------------------------------------
# Newer CLIs keep a file for each of their processes, and sessions of this library hold a lock. Both
# are checked against the running processes. An older CLI that another program started is not seen.


class Running(Struct, frozen=True):
    """A process that has a session open."""

    pid: int
    status: SessionStatus = "running"


class _Process(Struct, rename="camel"):
    """The file in which a CLI describes its own process."""

    pid: int
    session_id: str
    status: str | None = None
    waiting_for: str | None = None
    proc_start: str | None = None


_read_process = msgspec.json.Decoder(_Process, strict=False).decode


def running_sessions(config: Path) -> dict[str, Running]:
    """Return the sessions that running CLIs have open."""
    found: dict[str, Running] = {}
    for path in sorted((config / "sessions").glob("*.json")):
        try:
            it = _read_process(path.read_bytes())
        except (OSError, msgspec.MsgspecError):
            continue
        if _is_same_process(it.pid, it.proc_start):
            waits = it.status == "waiting" or it.waiting_for is not None
            found[it.session_id] = Running(it.pid, "waiting" if waits else "running")
    return found


def who_runs(session_ids: Iterable[str], config: Path) -> dict[str, Running]:
    """Return which of some sessions a process has open: a CLI, or a session of this library."""
    locked = lock_holders(session_ids, os.path.realpath(config))
    return {id: Running(pid) for id, pid in locked.items()} | running_sessions(config)


def _is_same_process(pid: int, started: str | None) -> bool:
    """Whether a process exists, and is not another one with the same number."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (OSError, OverflowError):
        return False
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    # The name of the program is in brackets, and may itself have brackets and spaces.
    return started is None or text.rpartition(")")[2].split()[19] == started
