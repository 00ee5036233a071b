"""At most one session of this library at a time for each conversation.

Two CLIs that write the same transcript lose each other's turns, and neither notices. So a session
holds a lock on its conversation: a file in the user's cache folder, which the system unlocks when
the process dies. Only claudewire looks at it; a CLI that another program started does not.
"""

from __future__ import annotations

import logging
import os
import threading
import uuid
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from ..errors import Cause, CLIError
from ..options import Options
from ..transport import Transport
from .connect import SIMULATED, Connect
from .environment import environment

__all__ = ["Claim", "SessionLock", "claim_for", "lock_holders", "place_of"]

log: logging.Logger = logging.getLogger("claudewire.session")

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)

_held: weakref.WeakValueDictionary[str, SessionLock] = weakref.WeakValueDictionary()
"""The locks of this process. Some network file systems do not tell a process from itself."""
_mutex = threading.Lock()


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
        self._file = -1
        self._path = os.path.join(_folder_name(), _name(session_id, place))
        with _mutex:
            if self._path in _held:
                raise _in_use(session_id, str(os.getpid()))
            self._file = _lock(self._path, session_id)
            _held[self._path] = self

    @property
    def is_held(self) -> bool:
        """Whether it has not been released."""
        return self._file >= 0

    def release(self) -> None:
        """Release it, so that another session can have it."""
        if self._file >= 0:
            file, self._file = self._file, -1
            _held.pop(self._path, None)
            with suppress(OSError):
                os.unlink(self._path)
            os.close(file)

    def abandon(self) -> None:
        """Drop it in a forked child: it belongs to the parent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            self.release()


def _name(session_id: str, place: str) -> str:
    import hashlib  # not before there is something to lock

    return hashlib.sha256(f"{place}\0{session_id}".encode()).hexdigest()[:32] + ".lock"


def lock_holders(session_ids: Iterable[str], place: str) -> dict[str, int]:
    """Return which of some conversations are locked, and the processes that have locked them.

    The locks themselves are not touched: to try one would make a session fail that starts just now.
    """
    try:
        folder = _folder()
        there = set(os.listdir(folder))
    except (OSError, RuntimeError):  # there is no place for locks, so nothing is locked
        return {}
    if not there:
        return {}
    locked = _locked_files()
    names = ((id, _name(id, place)) for id in session_ids)
    owners = ((id, _owner(folder / name, locked)) for id, name in names if name in there)
    return {id: owner for id, owner in owners if owner is not None}


def _owner(path: Path, locked: set[int] | None) -> int | None:
    try:
        owner, inode = int(path.read_bytes()), path.stat().st_ino
    except (OSError, ValueError):
        return None
    return owner if (_is_alive(owner) if locked is None else inode in locked) else None


def _locked_files() -> set[int] | None:
    """Return the inodes of all locked files; None where the system does not list them."""
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    fields = (line.split() for line in lines)
    return {int(part[5].rpartition(":")[2]) for part in fields if part[1:2] == ["FLOCK"]}


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _lock(path: str, session_id: str) -> int:
    """Open and lock a file that others may delete at any moment."""
    while True:
        file = _open(path)
        try:
            if not _lock_exclusively(file):
                raise _in_use(session_id, _read(file))
            if _is_still(file, path):
                os.ftruncate(file, 0)
                os.write(file, str(os.getpid()).encode())
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _open(path: str) -> int:
    try:
        return os.open(path, _FLAGS, 0o600)
    except FileNotFoundError:  # it is the first
        _folder()
        return os.open(path, _FLAGS, 0o600)


def _lock_exclusively(file: int) -> bool:
    """Lock a file, or return False if another process has locked it. Closing it unlocks it."""
    import fcntl  # which Windows does not have; there, importing this module must not fail

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(file: int, path: str) -> bool:
    """Whether a path leads to this file, and its last holder has not deleted it just now."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _read(file: int) -> str:
    os.lseek(file, 0, os.SEEK_SET)
    return os.read(file, 32).decode("ascii", "replace").strip()


def _in_use(session_id: str, owner: str) -> CLIError:
    return CLIError(
        f"The session {session_id} is open already, in process {owner or 'unknown'}",
        cause=Cause.SESSION_IN_USE,
        advice="Close it there, open a fork of it (fork_session=True), or, if you know what you "
        "are doing, say shared=True.",
    )


def _folder() -> Path:
    """Return the folder of the locks, which exists from now on."""
    folder = Path(_folder_name())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _folder_name() -> str:
    cache = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    if cache.startswith("~"):
        raise RuntimeError("There is no home directory, and so no place for locks")
    return os.path.join(cache, "claudewire", "locks")


def _abandon_in_fork() -> None:
    # Otherwise they would also be held until the fork has ended.
    global _mutex
    _mutex = threading.Lock()
    for lock in list(_held.values()):
        lock.abandon()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_fork)


# --- which conversation ---------------------------------------------------------------------------


_OF_THE_PLACE = ("CLAUDE_CONFIG_DIR", "HOME")
"""The variables that say where a CLI keeps its conversations."""


def place_of(env: Mapping[str, str | None]) -> str | None:
    """Say where a CLI with this environment keeps its conversations; None if it is unknown."""
    config = env.get("CLAUDE_CONFIG_DIR")
    home = env.get("HOME")
    if not config and not home:
        return None
    return os.path.realpath(config or os.path.join(home or "", ".claude"))


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
    base = {name: os.environ[name] for name in _OF_THE_PLACE if name in os.environ}
    return Claim(place_of(environment(options, base)))
