"""Conversations kept elsewhere: the protocol of the official SDK, and two stores that follow it.

A store written for the official SDK, with Redis, S3 or Postgres behind it, works here as it is, and
those below work there. Entries are opaque JSON objects; one with a `uuid` is kept once, however
often it is given.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NotRequired, ParamSpec, Protocol, TypedDict, TypeVar
from urllib.parse import quote, unquote

import anyio.to_thread
import msgspec

from .entries import BadLine
from .files import SUFFIX, StoreError, entries_of, open_inside
from .writing import add_line, encode_line

__all__ = [
    "DirectoryStore",
    "FoldSummary",
    "SessionStore",
    "SqliteStore",
    "StoreKey",
    "StoredEntry",
    "StoredSession",
    "Summary",
]

P = ParamSpec("P")
T = TypeVar("T")

BUSY = 10.0
"""Seconds to wait for another process that writes to the same file."""

StoredEntry = dict[str, Any]
"""A line of a transcript, as a JSON object."""

Summary = dict[str, Any]
"""What a store keeps about a session for the official SDK, which alone understands it."""


class StoreKey(TypedDict):
    """Names a transcript in a store: that of a session, or with a `subpath` that of a subagent."""

    project_key: str
    session_id: str
    subpath: NotRequired[str]


class StoredSession(TypedDict):
    """A session in a store, and when it was last changed, in milliseconds since 1970."""

    session_id: str
    mtime: int


class SessionStore(Protocol):
    """A place where transcripts are kept. More methods can be there; these are needed."""

    async def append(self, key: Any, entries: Any) -> None:
        """Add entries to a transcript."""

    async def load(self, key: Any) -> Any:
        """Return all entries of a transcript; None if there is none."""


FoldSummary = Callable[[Any, Any, Any], Any]
"""The official SDK's `fold_session_summary`: puts new entries into a summary."""


class _ThreadedStore(ABC):
    """What both stores have in common: their work is done in threads, one call at a time."""

    def __init__(self, fold: FoldSummary | None) -> None:
        self._fold = fold
        self._mutex = threading.Lock()
        if fold is not None:
            # It is there only if it works: the official SDK looks whether a store has it.
            self.list_session_summaries: Callable[[str], Awaitable[list[Summary]]]
            self.list_session_summaries = self._list_session_summaries

    async def append(self, key: StoreKey, entries: list[StoredEntry]) -> None:
        """Add entries to a transcript. One with a uuid that it has already is left out."""
        if entries:
            await self._do(self._append, key, entries)

    async def load(self, key: StoreKey) -> list[StoredEntry] | None:
        """Return all entries of a transcript; None if there is none."""
        return await self._do(self._load, key) or None

    async def list_sessions(self, project_key: str) -> list[StoredSession]:
        """Return the sessions of a project, the one that was last changed first."""
        return await self._do(self._list_sessions, project_key)

    async def list_subkeys(self, key: StoreKey) -> list[str]:
        """Return the subpaths of a session."""
        return await self._do(self._list_subkeys, key)

    async def delete(self, key: StoreKey) -> None:
        """Delete a session with all its subpaths, or one of them."""
        await self._do(self._delete, key)

    async def _list_session_summaries(self, project_key: str) -> list[Summary]:
        return await self._do(self._summaries, project_key)

    async def _do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        def locked() -> T:
            with self._mutex:
                try:
                    return function(*args, **kwargs)
                except (OSError, sqlite3.Error) as error:
                    raise StoreError(
                        f"The store cannot be read or written to: {error}",
                        advice="See whether the disk is full, read-only, or in use.",
                    ) from error

        return await anyio.to_thread.run_sync(locked)

    @abstractmethod
    def _append(self, key: StoreKey, entries: list[StoredEntry]) -> None: ...

    @abstractmethod
    def _load(self, key: StoreKey) -> list[StoredEntry]: ...

    @abstractmethod
    def _list_sessions(self, project_key: str) -> list[StoredSession]: ...

    @abstractmethod
    def _list_subkeys(self, key: StoreKey) -> list[str]: ...

    @abstractmethod
    def _delete(self, key: StoreKey) -> None: ...

    @abstractmethod
    def _summaries(self, project_key: str) -> list[Summary]: ...


# --- SQLite --------------------------------------------------------------------------------------

_TABLES = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, project TEXT NOT NULL, session TEXT NOT NULL, subpath TEXT NOT NULL,
    uuid TEXT, data BLOB NOT NULL, mtime INTEGER NOT NULL,
    UNIQUE (project, session, subpath, uuid));
CREATE TABLE IF NOT EXISTS summaries (
    project TEXT NOT NULL, session TEXT NOT NULL, data BLOB NOT NULL, mtime INTEGER NOT NULL,
    PRIMARY KEY (project, session)) WITHOUT ROWID;
"""


class SqliteStore(_ThreadedStore):
    """Keeps transcripts in one SQLite file, which several processes can use.

    Args:
        path: the file; `:memory:` to keep nothing.
        fold: the official SDK's `fold_session_summary`, if that SDK shall list the sessions fast.
    """

    def __init__(self, path: str | os.PathLike[str], *, fold: FoldSummary | None = None) -> None:
        super().__init__(fold)
        name = os.fspath(path)
        if name != ":memory:":
            name = os.path.expanduser(name)
            os.makedirs(os.path.dirname(os.path.abspath(name)), mode=0o700, exist_ok=True)
        self._database = sqlite3.connect(
            name, timeout=BUSY, isolation_level=None, check_same_thread=False
        )
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        with self._mutex:
            self._database.close()

    def __del__(self) -> None:
        with suppress(AttributeError):  # the file could not be opened
            self._database.close()

    def _append(self, key: StoreKey, entries: list[StoredEntry]) -> None:
        place, now = _place(key), int(time.time() * 1000)
        rows = [(*place, _uuid(entry), msgspec.json.encode(entry), now) for entry in entries]
        with self._transaction():
            self._database.executemany(
                "INSERT OR IGNORE INTO entries (project, session, subpath, uuid, data, mtime)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                rows,
            )
            if self._fold is not None and not place[2]:
                self._fold_in(self._fold, key, entries, now)

    def _fold_in(
        self, fold: FoldSummary, key: StoreKey, entries: list[StoredEntry], now: int
    ) -> None:
        place = _place(key)[:2]
        row = self._database.execute(
            "SELECT data FROM summaries WHERE project = ? AND session = ?", place
        ).fetchone()
        before = None if row is None else msgspec.json.decode(row[0])
        summary = {**fold(before, key, entries), "mtime": now}
        self._database.execute(
            "INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?)",
            (*place, msgspec.json.encode(summary), now),
        )

    def _load(self, key: StoreKey) -> list[StoredEntry]:
        rows = self._database.execute(
            "SELECT data FROM entries WHERE project = ? AND session = ? AND subpath = ?"
            " ORDER BY id",
            _place(key),
        )
        return [msgspec.json.decode(data) for (data,) in rows]

    def _list_sessions(self, project_key: str) -> list[StoredSession]:
        rows = self._database.execute(
            "SELECT session, max(mtime) FROM entries WHERE project = ? AND subpath = ''"
            " GROUP BY session ORDER BY max(id) DESC",
            (project_key,),
        )
        return [{"session_id": session, "mtime": mtime} for session, mtime in rows]

    def _list_subkeys(self, key: StoreKey) -> list[str]:
        rows = self._database.execute(
            "SELECT DISTINCT subpath FROM entries"
            " WHERE project = ? AND session = ? AND subpath != '' ORDER BY subpath",
            _place(key)[:2],
        )
        return [subpath for (subpath,) in rows]

    def _delete(self, key: StoreKey) -> None:
        project, session, subpath = _place(key)
        if subpath:
            self._database.execute(
                "DELETE FROM entries WHERE project = ? AND session = ? AND subpath = ?",
                (project, session, subpath),
            )
            return
        with self._transaction():
            for table in ("entries", "summaries"):
                self._database.execute(
                    f"DELETE FROM {table} WHERE project = ? AND session = ?", (project, session)
                )

    def _summaries(self, project_key: str) -> list[Summary]:
        rows = self._database.execute(
            "SELECT data FROM summaries WHERE project = ?", (project_key,)
        )
        return [msgspec.json.decode(data) for (data,) in rows]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


# --- a directory ---------------------------------------------------------------------------------


class DirectoryStore(_ThreadedStore):
    """Keeps transcripts as files, for a disk that several machines share, or a backup.

        <folder>/<project>/<session>.jsonl
        <folder>/<project>/<session>/subagents/agent-1.jsonl

    Args:
        folder: the directory.
        fold: the official SDK's `fold_session_summary`, if that SDK shall list the sessions fast.
    """

    def __init__(self, folder: str | os.PathLike[str], *, fold: FoldSummary | None = None) -> None:
        super().__init__(fold)
        self._folder = Path(folder).expanduser()

    def _append(self, key: StoreKey, entries: list[StoredEntry]) -> None:
        path = self._path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _file_lock(path.with_suffix(".lock")):
            seen = {_uuid(entry) for entry in self._read(path)}
            new = [entry for entry in entries if _is_new(entry, seen)]
            path.touch(mode=0o600)
            if new:
                add_line(path, self._folder, b"".join(map(encode_line, new)))
            if self._fold is not None and not _place(key)[2]:
                self._fold_in(self._fold, path, key, entries)

    def _fold_in(
        self, fold: FoldSummary, path: Path, key: StoreKey, entries: list[StoredEntry]
    ) -> None:
        place = path.with_suffix(".summary")
        before = msgspec.json.decode(place.read_bytes()) if place.exists() else None
        summary = {**fold(before, key, entries), "mtime": _mtime(path)}
        draft = place.with_suffix(".draft")
        draft.write_bytes(msgspec.json.encode(summary))
        os.replace(draft, place)

    def _load(self, key: StoreKey) -> list[StoredEntry]:
        return list(self._read(self._path(key)))

    def _read(self, path: Path) -> Iterator[StoredEntry]:
        if path.exists():
            with open_inside(path, self._folder) as file:
                yield from (it.raw for it in entries_of(file) if not isinstance(it, BadLine))

    def _list_sessions(self, project_key: str) -> list[StoredSession]:
        found = (self._folder / _named(project_key)).glob(f"*{SUFFIX}")
        last_first = sorted(found, key=lambda it: it.stat().st_mtime_ns, reverse=True)
        return [{"session_id": unquote(it.stem), "mtime": _mtime(it)} for it in last_first]

    def _list_subkeys(self, key: StoreKey) -> list[str]:
        folder = self._path(key).with_suffix("")
        found = (it.relative_to(folder).with_suffix("") for it in folder.rglob(f"*{SUFFIX}"))
        return sorted("/".join(map(unquote, it.parts)) for it in found)

    def _delete(self, key: StoreKey) -> None:
        path = self._path(key)
        for end in (SUFFIX, ".summary", ".lock"):
            path.with_suffix(end).unlink(missing_ok=True)
        if not _place(key)[2]:
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)

    def _summaries(self, project_key: str) -> list[Summary]:
        found = (self._folder / _named(project_key)).glob("*.summary")
        return [msgspec.json.decode(it.read_bytes()) for it in found]

    def _path(self, key: StoreKey) -> Path:
        project, session, subpath = _place(key)
        parts = [project, session, *(subpath.split("/") if subpath else ())]
        path = self._folder.joinpath(*map(_named, parts))
        return path.with_name(path.name + SUFFIX)


@contextmanager
def _file_lock(path: Path) -> Iterator[None]:
    """Keep other processes from adding to the same transcript at the same time."""
    import fcntl  # which Windows does not have; there, importing this module must not fail

    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _named(part: str) -> str:
    """Make the name of a file from any text, so that nothing leads elsewhere."""
    return quote(part, safe="").replace(".", "%2E")


def _mtime(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000


# --- both ----------------------------------------------------------------------------------------


def _place(key: StoreKey) -> tuple[str, str, str]:
    if not key["project_key"] or not key["session_id"]:
        raise StoreError("A key needs a project_key and a session_id", advice=f"This was {key!r}.")
    return key["project_key"], key["session_id"], key.get("subpath", "")


def _uuid(entry: StoredEntry) -> str | None:
    uuid = entry.get("uuid")
    return uuid if isinstance(uuid, str) else None


def _is_new(entry: StoredEntry, seen: set[str | None]) -> bool:
    """Whether an entry is not there yet; from then on it is."""
    uuid = _uuid(entry)
    is_new = uuid is None or uuid not in seen
    seen.add(uuid)
    return is_new
