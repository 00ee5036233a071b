"""Conversations kept elsewhere: the protocol of the official SDK, and a store in SQLite.

A store written for the official SDK, with Redis, S3 or Postgres behind it, works here unchanged,
and `SqliteStore` works there. Entries are opaque JSON objects; one with a `uuid` is kept once.

Copies between the disk and a store (push, mirror while a session runs, pull) can be repeated: no
entry is copied twice.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NotRequired, Protocol, TypedDict

import anyio
import anyio.to_thread
import msgspec

from ..wire import TranscriptMirrorMessage
from .entries import BadLine
from .files import SUFFIX, Line, StoreError, is_session_id, lines_of, open_file
from .writing import add_line, connected, encode_line, exclusive, new_file, store_errors

log: logging.Logger = logging.getLogger("claudewire.transcripts")

StoredEntry = dict[str, Any]
"""A line of a transcript, as a JSON object."""


class StoreKey(TypedDict):
    """Names a transcript in a store: that of a session, or with a `subpath` that of a subagent."""

    project_key: str
    session_id: str
    subpath: NotRequired[str]


class StoredSession(TypedDict):
    """A session in a store, and the time of its last change, in milliseconds since 1970."""

    session_id: str
    mtime: int


class SessionStore(Protocol):
    """A place where transcripts are kept. It may have more methods; these are needed."""

    async def append(self, key: Any, entries: Any) -> None:
        """Add entries to a transcript."""

    async def load(self, key: Any) -> Any:
        """Return all entries of a transcript; None if there is none."""


_TABLES = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, project TEXT NOT NULL, session TEXT NOT NULL, subpath TEXT NOT NULL,
    uuid TEXT, data BLOB NOT NULL, mtime INTEGER NOT NULL,
    UNIQUE (project, session, subpath, uuid));
"""
_FAILED = "The store cannot be read or written to"
_OF_KEY = "WHERE project = ?1 AND session = ?2 AND subpath = ?3"


class SqliteStore:
    """Keeps transcripts in one SQLite file, which several processes can use.

    Args:
        path: the file; `:memory:` to keep nothing.

    Raises:
        StoreError: the file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._mutex = threading.Lock()
        with store_errors(_FAILED):
            self._database = connected(os.path.expanduser(path), _TABLES)

    def close(self) -> None:
        """Close the file."""
        with self._mutex:
            self._database.close()

    def __del__(self) -> None:
        with suppress(AttributeError):  # the file could not be opened
            self._database.close()

    async def append(self, key: StoreKey, entries: list[StoredEntry]) -> None:
        """Add entries to a transcript. One with a uuid that it has already is left out."""
        place, now = _place(key), int(time.time() * 1000)
        uuids = (it if isinstance(it := entry.get("uuid"), str) else None for entry in entries)
        encoded = map(msgspec.json.encode, entries)
        rows = [(*place, uuid, data, now) for uuid, data in zip(uuids, encoded, strict=True)]
        statement = (
            "INSERT OR IGNORE INTO entries (project, session, subpath, uuid, data, mtime)"
            " VALUES (?, ?, ?, ?, ?, ?)"
        )
        await anyio.to_thread.run_sync(self._do, statement, *rows)

    async def load(self, key: StoreKey) -> list[StoredEntry] | None:
        """Return all entries of a transcript; None if there is none."""
        rows = await self._ask(f"SELECT data FROM entries {_OF_KEY} ORDER BY id", *_place(key))
        return [msgspec.json.decode(data) for (data,) in rows] or None

    async def list_sessions(self, project_key: str) -> list[StoredSession]:
        """Return the sessions of a project, the last changed first."""
        rows = await self._ask(
            "SELECT session, max(mtime) FROM entries WHERE project = ? AND subpath = ''"
            " GROUP BY session ORDER BY max(id) DESC",
            project_key,
        )
        return [{"session_id": session, "mtime": mtime} for session, mtime in rows]

    async def list_subkeys(self, key: StoreKey) -> list[str]:
        """Return the subpaths of a session."""
        rows = await self._ask(
            "SELECT DISTINCT subpath FROM entries"
            " WHERE project = ? AND session = ? AND subpath != '' ORDER BY subpath",
            *_place(key)[:2],
        )
        return [subpath for (subpath,) in rows]

    async def delete(self, key: StoreKey) -> None:
        """Delete a session with all its subpaths, or one of them."""
        of_key = _OF_KEY if key.get("subpath") else _OF_KEY.replace("subpath = ?3", "?3 = ''")
        await self._ask(f"DELETE FROM entries {of_key}", *_place(key))

    async def _ask(self, statement: str, *values: str) -> list[Any]:
        return await anyio.to_thread.run_sync(self._do, statement, values)

    def _do(self, statement: str, *rows: tuple[Any, ...]) -> list[Any]:
        with store_errors(_FAILED), self._mutex, self._database:
            found: list[Any] = []
            for row in rows:
                found += self._database.execute(statement, row).fetchall()
            return found


def _place(key: StoreKey) -> tuple[str, str, str]:
    if not key["project_key"] or not key["session_id"]:
        raise StoreError("A key needs a project_key and a session_id", advice=f"This was {key!r}.")
    return key["project_key"], key["session_id"], key.get("subpath", "")


# --- copies --------------------------------------------------------------------------------------

AT_ONCE = 500
"""Entries that a store gets in one call, as from the official SDK."""

LAST = 10.0
"""Seconds for the last copy when a mirror ends."""

_PART = re.compile(r"[A-Za-z0-9][\w.-]*")
"""A part of a subpath, which becomes the name of a file or folder."""


def key_of(path: Path, root: Path, project_key: str | None = None) -> StoreKey:
    """Return the key of a transcript: the name of its folder, its session, its subpath."""
    parts = path.relative_to(root).parts if path.is_relative_to(root) else ()
    if len(parts) < 2 or path.suffix != SUFFIX:
        raise StoreError(f"{path} is no transcript in {root}")
    folder, *rest = parts
    key: StoreKey = {"project_key": project_key or folder, "session_id": path.stem}
    if len(rest) > 1:
        key["session_id"] = rest[0]
        key["subpath"] = "/".join([*rest[1:-1], path.stem])
    return key


class Mirror:
    """Copies new lines of a session, which need not exist yet, into a store."""

    def __init__(
        self, root: Path, id: str, store: SessionStore, project_key: str | None = None
    ) -> None:
        _check_id(id)
        self._root = root
        self._id = id
        self._store = store
        self._project_key = project_key
        self._copied: dict[Path, int] = {}

    async def copy(self) -> int:
        """Copy new entries; return their number."""
        return sum(
            [await self._copy_file(it) for it in await anyio.to_thread.run_sync(self._paths)]
        )

    async def run(self, poll: float) -> None:
        """Copy new entries every `poll` seconds until cancelled, and then once more.

        Failures of the store are logged and retried.
        """
        try:
            while True:
                await self._copy_or_log()
                await anyio.sleep(poll)
        finally:
            with anyio.move_on_after(LAST, shield=True):
                await self._copy_or_log()

    async def _copy_or_log(self) -> None:
        try:
            await self.copy()
        except Exception as error:  # of any kind: the store is the application's
            log.warning("The session %s could not be copied to the store: %s", self._id, error)

    async def _copy_file(self, path: Path) -> int:
        key = key_of(path, self._root, self._project_key)
        start = self._copied.pop(path, None)  # compared again after a failure
        lines = await anyio.to_thread.run_sync(self._read, path, start or 0)
        new = _entries(lines)
        if start is None:  # the first time, the store may have some of them
            new = _missing(new, await self._store.load(key) or [], "store", key["session_id"])
        for place in range(0, len(new), AT_ONCE):
            await self._store.append(key, new[place : place + AT_ONCE])
        self._copied[path] = lines[-1].end if lines else start or 0
        return len(new)

    def _paths(self) -> list[Path]:
        mains = sorted(self._root.glob(f"*/{self._id}{SUFFIX}"))
        return mains + sorted(self._root.glob(f"*/{self._id}/subagents/**/*{SUFFIX}"))

    def _read(self, path: Path, start: int) -> list[Line]:
        with open_file(path) as file:
            return [line for line in lines_of(file, start) if line.is_complete]


def _check_id(id: str) -> None:
    if not is_session_id(id):
        raise StoreError(f"{id!r} cannot be the id of a session")


def _entries(lines: Iterable[Line]) -> list[StoredEntry]:
    """Return the entries of lines; of several with one uuid the first, as in stores."""
    found: dict[object, StoredEntry] = {}
    for line in lines:
        entry = line.read()
        if not isinstance(entry, BadLine):
            found.setdefault(entry.uuid or line.offset, entry.raw)
    return [*found.values()]


def _missing(
    wanted: list[StoredEntry], there: list[StoredEntry], where: str, id: str
) -> list[StoredEntry]:
    """Return the entries that are missing at the end."""
    if there[: len(wanted)] != wanted[: len(there)]:
        raise StoreError(
            f"The session {id} in the {where} has diverged from this one",
            advice=f"Delete it in the {where}, or use another project_key.",
        )
    return wanted[len(there) :]


async def store_mirrored(
    message: TranscriptMirrorMessage, store: SessionStore, *, project_key: str | None = None
) -> None:
    """Copy the lines that a CLI reports with `session_mirror=True`.

    For a CLI whose disk cannot be reached from here, in a container for example.

    Raises:
        StoreError: the message names no transcript.
    """
    path = Path(message.file_path or "")
    root = next((it for it in path.parents if it.name == "projects"), path)
    if message.entries:
        await store.append(key_of(path, root, project_key), message.entries)


async def pull_session(
    config: Path, folder: str, id: str, store: SessionStore, project_key: str | None
) -> None:
    """Write a session from a store to the disk, or add its missing lines there."""
    _check_id(id)
    key: StoreKey = {"project_key": project_key or folder, "session_id": id}
    main = await store.load(key)
    if main is None:
        raise StoreError(f"The store has no session {id} in the project {key['project_key']}")
    project = config / "projects" / folder
    list_subkeys = getattr(store, "list_subkeys", None)
    for subpath in [] if list_subkeys is None else await list_subkeys(key):
        entries = await store.load({**key, "subpath": subpath}) or []
        parts = subpath.split("/")
        if not all(_PART.fullmatch(part) for part in parts):
            raise StoreError(f"{subpath!r} cannot be the subpath of a transcript")
        path = project.joinpath(id, *parts[:-1], f"{parts[-1]}{SUFFIX}")
        await anyio.to_thread.run_sync(_complete, config, path, id, entries)
    await anyio.to_thread.run_sync(_complete, config, project / f"{id}{SUFFIX}", id, main)


def _complete(config: Path, path: Path, id: str, entries: list[StoredEntry]) -> None:
    """Make a file with these entries, or add the missing ones."""
    with exclusive(id, config):
        if not path.exists():
            new_file(path, map(encode_line, entries))
            return
        with open_file(path) as file:
            here = _entries(lines_of(file))
        rest = _missing(entries, here, "folder of this machine", id)
        if rest:
            add_line(path, b"".join(map(encode_line, rest)))
