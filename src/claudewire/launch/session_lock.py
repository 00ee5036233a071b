"""At most one session of this library at a time for each conversation.

Two CLIs that write the same transcript lose each other's turns, and neither notices. So a session
holds a lock on its conversation: on one byte of a file in the user's cache folder, which the system
unlocks when the process dies. Only claudewire looks at it; a CLI that another program started does
not.
"""

from __future__ import annotations

import logging
import os
import struct
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache

from ..errors import Cause, CLIError
from ..options import Options
from ..transport import Transport
from .connect import SIMULATED, Connect
from .environment import variable

__all__ = ["Claim", "SessionLock", "claim_for", "lock_holders", "place_of"]

log: logging.Logger = logging.getLogger("claudewire.session")

_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class SessionLock:
    """A lock on one conversation, held until it is released or the process ends.

    Args:
        session_id: which conversation.
        place: where the CLI keeps its conversations; equal ids in other places do not clash.

    Raises:
        CLIError: another session has it open; the cause is `SESSION_IN_USE`.
        OSError: the file cannot be made or locked.
    """

    def __init__(self, session_id: str, place: str) -> None:
        self.session_id = session_id
        self._process = os.getpid()
        self._file: _LockFile | None = None
        path, self._byte = _path(), _byte(session_id, place)
        self._key = (path, self._byte)
        with _opened(path, os.O_CREAT) as file:
            if self._key in _held:  # which is no conflict for the system
                raise _in_use(session_id, self._process)
            if not file.lock(self._byte):
                raise _in_use(session_id, file.holder(self._byte))
            self._file = file
            _held.add(self._key)

    @property
    def is_held(self) -> bool:
        """Whether it has not been released, and this is not a fork of the process that has it."""
        return self._file is not None and self._process == os.getpid()

    def release(self) -> None:
        """Release it, so that another session can have it."""
        with _mutex:
            self._unlock()
            _close_unused()

    def _unlock(self) -> None:
        file, self._file = self._file, None
        if file is not None and self._process == os.getpid():
            file.unlock(self._byte)
            _held.discard(self._key)

    def __del__(self) -> None:
        # Without the mutex: the garbage collector may call this in the middle of anything.
        with suppress(AttributeError, OSError):
            self._unlock()


def lock_holders(session_ids: Iterable[str], place: str) -> dict[str, int]:
    """Return which of some conversations are locked, and the processes that have locked them.

    The locks themselves are not touched: to try one would make a session fail that starts just now.
    """
    try:
        path = _path()
        with _opened(path) as file:
            # A copy, made in one step: a session that is dropped meanwhile removes its lock.
            ours, us = {byte for where, byte in tuple(_held) if where == path}, os.getpid()
            if not ours and file.holder() is None:
                return {}
            bytes_of = {id: _byte(id, place) for id in session_ids}
            found = {id: us if it in ours else file.holder(it) for id, it in bytes_of.items()}
    except OSError:  # there is no place for locks, so nothing is locked
        return {}
    return {id: holder for id, holder in found.items() if holder is not None}


def _byte(session_id: str, place: str) -> int:
    """Return the number of the byte that stands for a conversation."""
    import hashlib  # not before there is something to lock

    # A place may have bytes in its name that are not UTF-8.
    name = f"{place}\0{session_id}".encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(name).digest()
    return int.from_bytes(digest[:8], "big") >> 2  # the last one must be less than 2**63


def _in_use(session_id: str, owner: int | None) -> CLIError:
    return CLIError(
        f"The session {session_id} is open already, in process {owner or 'unknown'}",
        cause=Cause.SESSION_IN_USE,
        advice="Close it there, open a fork of it (fork_session=True), or, if you know what you "
        "are doing, say shared=True.",
    )


def _path() -> str:
    # By the variables that it depends on, so that it is worked out once for many sessions.
    return _path_in(os.environ.get("XDG_CACHE_HOME") or "~/.cache", os.environ.get("HOME"))


@lru_cache(maxsize=4)
def _path_in(folder: str, home: str | None) -> str:
    cache = os.path.expanduser(folder)
    if cache.startswith("~"):
        raise FileNotFoundError("There is no home directory, and so no place for locks")
    return os.path.join(cache, "claudewire", "locks", "conversations")


# --- the file -------------------------------------------------------------------------------------


class _LockFile:
    """An empty file in which a byte stands for each conversation.

    To make and delete a file for each lock would take a hundred times as long. The locks are those
    of POSIX, which belong to a process: a fork has none of them, and the system says who holds one.
    But all of them are released when the process closes the file, even if it has it open elsewhere.
    """

    def __init__(self, path: str, flags: int) -> None:
        self._fd = os.open(path, _FLAGS | flags, 0o600)
        self._stat = os.fstat(self._fd)

    def is_at(self, path: str) -> bool:
        """Whether a path still leads to this file, and nobody has deleted it."""
        try:
            return os.path.samestat(self._stat, os.stat(path))
        except OSError:
            return False

    def lock(self, byte: int) -> bool:
        """Lock a byte, or return False if another process has locked it."""
        import fcntl  # which Windows does not have; there, importing this module must not fail

        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def unlock(self, byte: int) -> None:
        """Unlock a byte that this process has locked."""
        import fcntl

        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, byte)

    def holder(self, byte: int | None = None) -> int | None:
        """Return the process that has locked a byte, or any; None if no other process has."""
        import fcntl

        start, length = (0, 0) if byte is None else (byte, 1)
        if sys.platform != "linux":  # pragma: no cover - the systems that descend from BSD
            asked = struct.pack("qqihh", start, length, 0, fcntl.F_WRLCK, os.SEEK_SET)
            told = fcntl.fcntl(self._fd, fcntl.F_GETLK, asked)
            _, _, pid, kind, _ = struct.unpack_from("qqihh", told)
            return None if kind == fcntl.F_UNLCK else pid
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
        kind, *_, pid = struct.unpack_from("hhqqi", fcntl.fcntl(self._fd, fcntl.F_GETLK, asked))
        return None if kind == fcntl.F_UNLCK else pid

    def close(self) -> None:
        """Close the file, and release all locks."""
        os.close(self._fd)


# Re-entrant: the garbage collector may end a session, which releases its lock, in the middle.
_mutex = threading.RLock()
_files: dict[str, _LockFile] = {}
"""The files that are open, by their paths. They stay open as long as anything is locked."""
_deleted: list[_LockFile] = []
"""Those that others have deleted while something was locked."""
_held: set[tuple[str, int]] = set()
"""The locks of this process: the paths of the files, and the bytes."""
_IN_USE = ("", -1)
"""Is among them while a file is used."""


@contextmanager
def _opened(path: str, flags: int = 0) -> Iterator[_LockFile]:
    """Have the file for the length of a block, in which no other thread has it."""
    with _mutex:
        _held.add(_IN_USE)
        try:
            file = _files.get(path)
            if file is not None and not file.is_at(path):
                _deleted.append(_files.pop(path))
                file = None
            if file is None:
                file = _files[path] = _open(path, flags)
            yield file
        finally:
            _held.discard(_IN_USE)
            _close_unused()


def _open(path: str, flags: int) -> _LockFile:
    try:
        return _LockFile(path, flags)
    except FileNotFoundError:
        if not flags:
            raise
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return _LockFile(path, flags)


def _close_unused() -> None:
    """Close all files if nothing is locked. The caller has the mutex."""
    if not _held:
        for file in (*_files.values(), *_deleted):
            file.close()
        _files.clear()
        _deleted.clear()


def _abandon_in_fork() -> None:
    """Forget the locks, which are the parent's."""
    global _mutex
    _mutex = threading.RLock()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_fork)


# --- which conversation ---------------------------------------------------------------------------


_OF_THE_PLACE = ("CLAUDE_CONFIG_DIR", "HOME")
"""The variables that say where a CLI keeps its conversations."""


def place_of(env: Mapping[str, str | None]) -> str | None:
    """Say where a CLI with this environment keeps its conversations; None if it is unknown."""
    if config := env.get("CLAUDE_CONFIG_DIR"):
        return os.path.realpath(config)
    home = env.get("HOME")
    return os.path.realpath(os.path.join(home, ".claude")) if home else None


class Claim:
    """The conversation of a session: which one it expects, and the lock on it.

    Args:
        place: where conversations are kept; None not to lock them.
    """

    def __init__(self, place: str | None) -> None:
        self._place = place
        self._lock: SessionLock | None = None
        self._expected: str | None = None

    @property
    def session_id(self) -> str | None:
        """The conversation that is locked."""
        return None if self._lock is None else self._lock.session_id

    def expect(self, options: Options) -> None:
        """Lock the conversation that a CLI with these options will have, if they name it.

        Raises:
            CLIError: another session has the conversation open.
        """
        self._expected = _named(options)
        if self._expected is None:
            self.release()
        else:
            self._take(self._expected)

    def confirm(self, session_id: str | None) -> None:
        """Check which conversation the CLI says that it has, and lock it.

        Raises:
            CLIError: it is not the expected one, or another session has it open.
        """
        if session_id is None:
            return  # it does not say
        expected, self._expected = self._expected, None
        if expected is not None and expected != session_id:
            raise CLIError(
                f"The CLI has opened the session {session_id} instead of {expected}",
                cause=Cause.OTHER_SESSION,
                advice="Nothing was added to the one that was asked for. Say fork_session=True if "
                "a new one is wanted.",
            )
        self._take(session_id)

    def release(self) -> None:
        """Release the conversation, so that another session can have it."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def _take(self, session_id: str) -> None:
        if self._place is None or self.session_id == session_id:
            return
        try:
            lock = SessionLock(session_id, self._place)
        except OSError as error:
            log.warning("The session %s cannot be locked: %s", session_id, error)
            return
        self.release()
        self._lock = lock


def _named(options: Options) -> str | None:
    """Return the conversation that the options name by its id; they may also name it by a title."""
    if options.resume is None or options.fork_session:
        return options.session_id
    try:
        uuid.UUID(options.resume)
    except ValueError:
        return None
    return options.resume


def claim_for(options: Options, transport: Transport | Connect | None) -> Claim:
    """Make the claim of a session with these options and this transport."""
    if options.shared or not options.persist_session:
        return Claim(None)
    if transport is not None and not callable(transport):
        return Claim(None)  # what is at its other end is unknown
    if transport is None and options.cli == SIMULATED:
        return Claim(place_of(options.env))
    return Claim(place_of({name: variable(options, name) for name in _OF_THE_PLACE}))
