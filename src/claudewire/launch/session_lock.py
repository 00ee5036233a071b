"""The lock of each conversation: at most one session of this library at a time.

Two CLIs that write the same transcript silently lose each other's turns. So a session locks a file
in the user's cache folder with `flock`, which the system unlocks when the process dies. The file
contains the process id. CLIs that other programs start do not look at the lock.
"""

from __future__ import annotations

import hashlib
import logging
import os
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress

from ..errors import Cause, CLIError
from ..options import Options
from ..transport import Transport
from .connect import SIMULATED, Connect
from .delivery import environment

with suppress(ImportError):  # Windows, where sessions do not work, but imports must
    import fcntl

log: logging.Logger = logging.getLogger("claudewire.session")


class ConversationLock:
    """The lock on the conversation of a session, and the check that the CLI opened that one.

    Args:
        place: the directory where the CLI keeps its conversations; None not to lock them. Equal
            ids in different places do not clash.
    """

    def __init__(self, place: str | None) -> None:
        self._place = place
        self._expected: str | None = None
        self._held: tuple[int, str, int] | None = None
        """The locked file, its path, and this process: a fork leaves the lock to its parent."""
        self.session_id: str | None = None

    def take(self, session_id: str) -> None:
        """Lock a conversation, in place of the one before.

        Raises:
            CLIError: another session has the conversation open; the cause is `SESSION_IN_USE`.
            OSError: the file cannot be made or locked.
        """
        if self._place is None or self.session_id == session_id:
            return
        path = _path(session_id, self._place)
        for folder in (os.path.dirname(os.path.dirname(path)), os.path.dirname(path)):
            os.makedirs(folder, mode=0o700, exist_ok=True)  # the mode is that of the last folder
        try:
            file = _locked(path)
        except BlockingIOError:
            raise CLIError(
                f"The session {session_id} is open already, in process "
                f"{_holder(path) or 'unknown'}",
                cause=Cause.SESSION_IN_USE,
                advice="Close it there, open a fork of it (fork_session=True), or, at your risk, "
                "say shared=True.",
            ) from None
        self.release()
        self._held, self.session_id = (file, path, os.getpid()), session_id

    def expect(self, options: Options) -> None:
        """Lock the conversation that a CLI with these options will open, if they name it.

        Raises:
            CLIError: another session has the conversation open.
        """
        self._expected = _named(options)
        if self._expected is None:
            self.release()
        else:
            self._try(self._expected)

    def confirm(self, session_id: str | None) -> None:
        """Lock the conversation that the CLI has opened.

        Raises:
            CLIError: it is not the expected one, or another session has it open.
        """
        if session_id is None:
            return
        expected, self._expected = self._expected, None
        if expected is not None and expected != session_id:
            raise CLIError(
                f"The CLI has opened the session {session_id} instead of {expected}",
                cause=Cause.OTHER_SESSION,
                advice="Nothing was added to the requested session. Say fork_session=True if you "
                "want a new one.",
            )
        self._try(session_id)

    def _try(self, session_id: str) -> None:
        try:
            self.take(session_id)
        except OSError as error:
            log.warning("The session %s cannot be locked: %s", session_id, error)

    def release(self) -> None:
        """Release the conversation, so that another session can have it."""
        held, self._held, self.session_id = self._held, None, None
        if held is None:
            return
        file, path, process = held
        if os.getpid() == process:
            with suppress(OSError):
                os.unlink(path)
            fcntl.flock(file, fcntl.LOCK_UN)  # a fork may have the file open too
        os.close(file)

    __del__ = release


def lock_holders(session_ids: Iterable[str], place: str) -> dict[str, int]:
    """Return the locked conversations among some, with the processes that have locked them."""
    holders = ((it, _holder(_path(it, place))) for it in session_ids)
    return {session_id: process for session_id, process in holders if process is not None}


def _path(session_id: str, place: str) -> str:
    cache = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    name = hashlib.sha256(os.fsencode(f"{place}\0{session_id}")).hexdigest()[:32]
    return os.path.join(cache, "claudewire", "locks", name)


def _locked(path: str) -> int:
    """Lock a file, and write the id of this process to it; BlockingIOError if it is locked."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):  # the session before has just deleted it
                if os.path.samestat(os.fstat(file), os.stat(path)):
                    os.truncate(file, 0)
                    os.pwrite(file, str(os.getpid()).encode(), 0)
                    return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _holder(path: str) -> int | None:
    """Return the process that has locked a file, if any."""
    with suppress(OSError, ValueError), open(path, encoding="ascii") as file:
        process = int(file.read())
        os.kill(process, 0)  # fails if it has died, or the next line would lock the file
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return process
    return None


# --- which conversation --------------------------------------------------------------------------


def conversation_lock(options: Options, transport: Transport | Connect | None) -> ConversationLock:
    """Make the lock of a session with these options and this transport."""
    is_unknown = transport is not None and not callable(transport)  # the CLI at the other end
    if options.shared or not options.persist_session or is_unknown:
        return ConversationLock(None)
    is_simulated = transport is None and options.cli == SIMULATED
    return ConversationLock(_place(options.env if is_simulated else environment(options)))


def _place(env: Mapping[str, str | None]) -> str | None:
    """Return the directory where a CLI with this environment keeps its conversations, or None."""
    if config := env.get("CLAUDE_CONFIG_DIR"):
        return os.path.realpath(config)
    home = env.get("HOME")
    return os.path.realpath(os.path.join(home, ".claude")) if home else None


def _named(options: Options) -> str | None:
    """Return the id of the conversation that the options name; they may also name a title."""
    if options.resume is None or options.fork_session:
        return options.session_id
    try:
        uuid.UUID(options.resume)
    except ValueError:
        return None
    return options.resume
