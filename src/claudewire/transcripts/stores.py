"""Conversations kept elsewhere: the protocol of the official SDK, and a store in SQLite.

A store written for the official SDK, with Redis, S3 or Postgres behind it, works here unchanged,
and `SqliteStore` works there. Entries are opaque JSON objects; one with a `uuid` is kept once.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import suppress
from typing import Any, NotRequired, Protocol, TypedDict

import anyio.to_thread
import msgspec

from .files import StoreError

BUSY = 10.0
"""Seconds to wait for another process that writes to the same file."""

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
_OF_KEY = "WHERE project = ?1 AND session = ?2 AND subpath = ?3"


class SqliteStore:
    """Keeps transcripts in one SQLite file, which several processes can use.

    Args:
        path: the file; `:memory:` to keep nothing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = os.fspath(path)
        if name != ":memory:":
            name = os.path.expanduser(name)
            os.makedirs(os.path.dirname(os.path.abspath(name)), mode=0o700, exist_ok=True)
        self._mutex = threading.Lock()
        self._database = sqlite3.connect(name, timeout=BUSY, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.executescript(_TABLES)

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
        rows = [(*place, _uuid(entry), msgspec.json.encode(entry), now) for entry in entries]
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
        try:
            with self._mutex, self._database:
                found: list[Any] = []
                for row in rows:
                    found += self._database.execute(statement, row).fetchall()
                return found
        except sqlite3.Error as error:
            raise StoreError(
                f"The store cannot be read or written to: {error}",
                advice="Check whether the disk is full, read-only, or in use.",
            ) from error


def _place(key: StoreKey) -> tuple[str, str, str]:
    if not key["project_key"] or not key["session_id"]:
        raise StoreError("A key needs a project_key and a session_id", advice=f"This was {key!r}.")
    return key["project_key"], key["session_id"], key.get("subpath", "")


def _uuid(entry: StoredEntry) -> str | None:
    uuid = entry.get("uuid")
    return uuid if isinstance(uuid, str) else None
