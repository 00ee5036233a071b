"""Where transcripts are: the CLI's folders, and the files of each session.

    <config>/projects/<folder>/<session>.jsonl                      the main conversation
    <config>/projects/<folder>/<session>/subagents/**/agent-*.jsonl  its subagents, at any depth
    <config>/projects/<folder>/agent-*.jsonl                         the same, CLIs up to 2.0
    <config>/sessions/<pid>.json                                     what runs, newer CLIs

The CLI's own index files are not read: they are often out of date. Files are only opened if they
are regular, and inside the folder of the projects once all links are followed.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PureWindowsPath
from typing import IO, NamedTuple

import anyio.from_thread

from ..errors import Cause, Error
from ..wire import Lines, Oversize
from .entries import BadLine, Entry, read_entry

__all__ = [
    "Found",
    "Line",
    "SessionNotFound",
    "StoreError",
    "agent_files",
    "check_cancelled",
    "check_inside",
    "chunks_of",
    "config_folder",
    "entries_of",
    "find_id",
    "find_sessions",
    "is_place",
    "is_text",
    "lines_of",
    "loose_agents",
    "open_inside",
    "project_folder",
    "session_files",
]

log: logging.Logger = logging.getLogger("claudewire.store")

CHUNK = 1 << 20
"""Bytes that are read at once: a file is never in memory as a whole."""

LONGEST_FOLDER = 200
"""Characters of a folder's name before it is cut and gets a checksum, as the CLI does."""

SUFFIX = ".jsonl"
_NOT_SAFE = re.compile("[^a-zA-Z0-9]")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class StoreError(Error):
    """A session on disk that does not exist, is ambiguous, or cannot be read or changed."""


class SessionNotFound(StoreError):
    """No session on disk has this id, or several ids begin like it."""

    cause: Cause = Cause.SESSION_NOT_FOUND


def find_id(id: str, ids: Iterable[str], where: str, advice: str) -> str:
    """Return the id that is this one, or the only one that begins like it.

    Args:
        id: an id, or the beginning of one.
        ids: those that there are.
        where: where they are, such as "in the trash".
        advice: what to do if there is none.

    Raises:
        SessionNotFound: there is none, or several begin like this.
    """
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


def config_folder(env: Mapping[str, str | None] | None = None) -> Path:
    """Return the folder in which a CLI with this environment keeps everything."""
    variables: Mapping[str, str | None] = os.environ if env is None else env
    config = variables.get("CLAUDE_CONFIG_DIR")
    home = variables.get("HOME") or "~"
    found = os.path.expanduser(config or os.path.join(home, ".claude"))
    if found.startswith("~"):
        raise StoreError(
            "It is not known where the CLI keeps its sessions: this user has no home directory",
            advice="Set CLAUDE_CONFIG_DIR or HOME, or give config_dir.",
        )
    return Path(found).absolute()


def project_folder(cwd: str | os.PathLike[str]) -> str:
    """Return the name of the folder in which the CLI keeps the sessions of a directory."""
    path = os.fspath(cwd)
    if not _is_of_windows(path):
        path = os.path.realpath(os.path.expanduser(path))
    # The CLI counts in UTF-16, where a character beyond the first 65,536 is two.
    name = _NOT_SAFE.sub(lambda found: "--" if found[0] > "\uffff" else "-", path)
    if len(name) <= LONGEST_FOLDER:
        return name
    return f"{name[:LONGEST_FOLDER]}-{_checksum(path)}"


def is_place(cwd: str) -> bool:
    """Whether this names a directory wherever it is read."""
    return cwd.startswith(("/", "~")) or _is_of_windows(cwd)


def _is_of_windows(path: str) -> bool:
    """Whether a session comes from Windows: here, its directory is no path at all."""
    return os.sep == "/" and PureWindowsPath(path).drive != ""


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
    """What tells whether a file has changed."""

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


def find_sessions(root: Path) -> tuple[list[Found], list[Stamp]]:
    """Find all sessions below the folder of the projects, and files of subagents beside them.

    Those are of CLIs up to 2.0; only their content says which session they belong to.
    """
    sessions: list[Found] = []
    loose: list[Stamp] = []
    for folder in _folders(root):
        files, folders = _listed(folder, str(root))
        project = os.path.basename(folder)
        for name, stamp in files.items():
            id = name.removesuffix(SUFFIX)
            if id.startswith("agent-"):
                loose.append(stamp)
            elif _ID.fullmatch(id):
                agents = tuple(agent_files(folders[id], str(root))) if id in folders else ()
                sessions.append(Found(id, project, stamp, agents))
    return sessions, loose


def _folders(root: Path) -> Iterator[str]:
    try:
        with os.scandir(root) as found:
            yield from sorted(item.path for item in found if _is_folder(item, str(root)))
    except FileNotFoundError:  # no CLI has been here yet
        return
    except OSError as error:
        raise _unreadable(root, error) from error


def _is_folder(item: os.DirEntry[str], root: str) -> bool:
    return (
        is_text(item.name)
        and item.is_dir()
        and (not item.is_symlink() or _leads_inside(item.path, root))
    )


def _listed(folder: str, root: str) -> tuple[dict[str, Stamp], dict[str, str]]:
    """Return the transcripts in a folder, and the folders in it."""
    files: dict[str, Stamp] = {}
    folders: dict[str, str] = {}
    try:
        with os.scandir(folder) as found:
            for item in found:
                if item.name.endswith(SUFFIX):
                    stamp = _stamp(item, root)
                    if stamp is not None:
                        files[item.name] = stamp
                elif _is_folder(item, root):
                    folders[item.name] = item.path
    except FileNotFoundError:  # it was removed just now
        pass
    except OSError as error:
        log.warning("The sessions in %s are left out: %s", folder, error.strerror)
    return files, folders


def is_text(name: str) -> bool:
    """Whether a name is UTF-8: the CLI makes no others, and a database cannot keep them."""
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


def _stamp(item: os.DirEntry[str], root: str) -> Stamp | None:
    path = item.path
    try:
        if not is_text(item.name) or (item.is_symlink() and not _leads_inside(path, root)):
            return None
        found = item.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return Stamp(path, found.st_ino, found.st_size, found.st_mtime_ns)


def agent_files(folder: str, root: str) -> Iterator[Stamp]:
    """Find the files of subagents, however deep."""
    waiting = [os.path.join(folder, "subagents")]
    while waiting:
        files, folders = _listed(waiting.pop(), root)
        yield from (files[name] for name in sorted(files))
        # A link can lead to a folder above, and so around for ever.
        waiting += (it for it in folders.values() if not os.path.islink(it))


def loose_agents(main: Path, root: Path) -> Iterator[Path]:
    """Find the subagents of CLIs up to 2.0, which are beside their session."""
    for path in sorted(main.parent.glob(f"agent-*{SUFFIX}")):
        try:
            with open_inside(path, root) as file:
                first = next(entries_of(file), None)
        except StoreError:  # whatever it is, it is not this session's
            continue
        if first is not None and first.session_id == main.stem and is_text(path.name):
            yield path


def session_files(main: Path, root: Path) -> dict[Path, Path]:
    """Find all files of a session, the transcript itself last.

    Their places, relative to the folder of the project, come with them.
    """
    found: dict[Path, Path] = {}
    for folder, folders, names in os.walk(main.with_suffix("")):
        folders.sort()
        for name in sorted(filter(is_text, names)):
            path = Path(folder, name)
            if stat.S_ISREG(path.lstat().st_mode):
                found[path.relative_to(main.parent)] = path
    for path in loose_agents(main, root):
        found[Path(path.name)] = path
    found[Path(main.name)] = main
    return found


# --- opening -------------------------------------------------------------------------------------


def _leads_inside(path: str | os.PathLike[str], root: str) -> bool:
    real, inside = os.path.realpath(path), os.path.realpath(root)
    return real == inside or real.startswith(inside.rstrip(os.sep) + os.sep)


def check_inside(path: str | os.PathLike[str], root: Path) -> None:
    """Check that a path is inside a folder once all links are followed.

    Raises:
        StoreError: it leads out.
    """
    if not _leads_inside(path, str(root)):
        raise StoreError(
            f"{os.fspath(path)} leads out of {root}",
            advice="A link that leads out of the folder of the transcripts is not followed. Replace"
            " the link with the file itself.",
        )


@contextmanager
def open_inside(path: str | os.PathLike[str], root: Path) -> Iterator[IO[bytes]]:
    """Open a transcript for reading.

    Raises:
        StoreError: it leads out of the folder, is no regular file, or cannot be read.
    """
    check_inside(path, root)
    try:
        # A named pipe must not block, and nothing that is no file; a file takes no notice.
        file = open(path, "rb", buffering=0, opener=_without_waiting)  # noqa: SIM115 - below
    except OSError as error:
        raise _unreadable(path, error) from error
    with file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise StoreError(f"{os.fspath(path)} is not a regular file")
        yield file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _unreadable(path: object, error: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be read: {error.strerror}",
        advice="It may have been moved or deleted, or belong to another user.",
    )


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

    def read(self) -> Entry:
        """Return the entry that it is."""
        if isinstance(self.line, Oversize):
            return BadLine(reason="longer than any line may be", length=self.line.length)
        return read_entry(self.line)


def check_cancelled() -> None:
    """End the work in this thread if whoever waits for it was cancelled."""
    with suppress(RuntimeError):  # called from no worker thread: nobody can cancel
        anyio.from_thread.check_cancelled()


def chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the rest of a file, in pieces that fit into memory.

    Raises:
        StoreError: it cannot be read any further.
    """
    while True:
        check_cancelled()
        try:
            chunk = file.read(CHUNK)
        except OSError as error:  # the disk is damaged, or a network drive is gone
            raise _unreadable(file.name, error) from error
        if not chunk:
            return
        yield chunk


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


def entries_of(file: IO[bytes], start: int = 0) -> Iterator[Entry]:
    """Yield the entries of a file."""
    return (found.read() for found in lines_of(file, start))
