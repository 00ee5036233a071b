"""The index: facts and texts of transcripts in SQLite, so that only new lines have to be read.

The index is a cache: it can be deleted at any time, and is rebuilt if it is damaged or was made by
another version. A file is known by its path, inode, size and time of change; if it only grew,
reading continues at its former end. Words of deleted and rewritten files leave the disk.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TypeVar

import msgspec
from msgspec.structs import replace

from ..tracking import Price
from .entries import Entry
from .facts import Calls, FileFacts, SessionInfo, add_calls, packed, session_info, well_formed
from .files import Found, Stamp, StoreError, check_cancelled, find_sessions, lines_of, open_file
from .search import Hit, Query, snippet, texts_of
from .writing import connected

log: logging.Logger = logging.getLogger("claudewire.transcripts")

T = TypeVar("T")

VERSION = 10
"""Of the tables below; an index of another version is rebuilt."""

MARK = 64
"""Bytes before the end of the last reading; if they are others, the file was rewritten."""

_TABLES = """
CREATE TABLE IF NOT EXISTS sessions (
    path TEXT PRIMARY KEY, info BLOB, begin TEXT, first_message BLOB);
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, session TEXT NOT NULL,
    stamp BLOB, offset INTEGER NOT NULL DEFAULT 0, mark BLOB, facts BLOB);
CREATE INDEX IF NOT EXISTS files_of_session ON files (session);
CREATE TABLE IF NOT EXISTS places (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, uuid TEXT, role TEXT, time TEXT, agent TEXT);
CREATE INDEX IF NOT EXISTS places_of_file ON places (file);
CREATE VIRTUAL TABLE IF NOT EXISTS texts
    USING fts5 (user, model, tool, called, tokenize="unicode61 remove_diacritics 2");
"""
_PARENT = """
SELECT sessions.path FROM sessions JOIN files ON files.path = sessions.path
WHERE sessions.path != ? AND begin < ? AND instr(facts, ?) ORDER BY begin DESC LIMIT 1
"""
"""The last session before a time with a message: a fork of that session begins with it."""

# The weights favour words of the user, then of the model. CROSS JOIN keeps SQLite from beginning
# with the places, which takes seconds, and texts are read for the best matches alone.
_SEARCH = """
WITH best AS (
    SELECT texts.rowid AS id, files.session, bm25(texts, 3.0, 2.0, 1.0, 1.0) AS score
    FROM texts CROSS JOIN places ON places.id = texts.rowid
        CROSS JOIN files ON files.id = places.file
    WHERE texts MATCH ? AND coalesce(places.time, '') >= ? AND coalesce(places.time, '') < ?
        AND files.session IN (SELECT value FROM json_each(?))
    ORDER BY score LIMIT ?)
SELECT sessions.info, uuid, role, time, agent, score, user || ' ' || model || ' ' || tool
FROM best CROSS JOIN places ON places.id = best.id CROSS JOIN texts ON texts.rowid = best.id
    CROSS JOIN sessions ON sessions.path = best.session
ORDER BY score
"""

_facts = msgspec.msgpack.Decoder(FileFacts).decode
_info = msgspec.msgpack.Decoder(SessionInfo).decode


def default_index(config: Path, *, tool_output: bool) -> Path | None:
    """Return the place of the index of a configuration folder; None without a home directory."""
    cache = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    if cache.startswith("~"):
        return None
    name = hashlib.sha256(os.fsencode(os.path.realpath(config))).hexdigest()[:16]
    return Path(cache) / "claudewire" / f"sessions-{name}{'-tools' if tool_output else ''}.db"


class Index:
    """The index of one folder of projects, in a file, or in memory without a path."""

    def __init__(
        self,
        path: Path | None,
        root: Path,
        *,
        prices: Mapping[str, Price] | None = None,
        tool_output: bool = False,
    ) -> None:
        self._path = path
        self._root = root
        self._prices = prices
        self._tool_output = tool_output
        self._mutex = threading.RLock()
        self._database: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the database."""
        with self._mutex:
            database, self._database = self._database, None
            if database is not None:
                database.close()

    def __del__(self) -> None:
        # Programs that only read need not close anything; Python 3.13 would warn.
        with suppress(AttributeError):  # __init__ has failed
            self.close()

    # --- the database ----------------------------------------------------------------------------

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Work on the database; if it is damaged, rebuild it and try once more."""
        with self._mutex:
            try:
                return work(self._connection())
            except sqlite3.OperationalError as error:  # locked, a full disk, no FTS5
                raise StoreError(
                    f"The index {self._path or ''} cannot be used: {error}",
                    advice="End other programs that use it, make room on the disk, or give another"
                    " index. It needs an SQLite with FTS5.",
                ) from error
            except (sqlite3.DatabaseError, msgspec.DecodeError) as error:
                log.warning("Rebuilding the index %s: %s", self._path, error)
                self._remove()
                return work(self._connection())

    def _connection(self) -> sqlite3.Connection:
        if self._database is None:
            version = VERSION * 2 + self._tool_output
            try:
                self._database = connected(self._path or ":memory:", _TABLES, version)
            except (OSError, sqlite3.OperationalError) as error:
                log.warning("The index %s is kept in memory: %s", self._path, error)
                self._path = None
                self._database = connected(":memory:", _TABLES, version)
            self._database.execute("PRAGMA synchronous = NORMAL")  # it can be built anew
        return self._database

    def _remove(self) -> None:
        self.close()
        for end in ("", "-wal", "-shm") if self._path is not None else ():
            Path(f"{self._path}{end}").unlink(missing_ok=True)

    # --- queries ---------------------------------------------------------------------------------

    def sessions(self) -> list[SessionInfo]:
        """Return the facts about all sessions on disk, after reading new lines."""

        def work(database: sqlite3.Connection) -> list[SessionInfo]:
            self._update(database)
            return [_info(info) for (info,) in database.execute("SELECT info FROM sessions")]

        return self._with(work)

    def calls(self, paths: Iterable[str]) -> Calls:
        """Return the usage of the messages of some sessions, each message once."""

        def work(database: sqlite3.Connection) -> Calls:
            found: Calls = {}
            for path in paths:
                rows = database.execute("SELECT facts FROM files WHERE session = ?", (path,))
                for (facts,) in rows:
                    add_calls(found, _facts(facts).calls)
            return found

        return self._with(work)

    def search(self, query: Query, limit: int) -> list[Hit]:
        """Find the lines that match best, after reading new lines."""
        wanted = (query.project or "").casefold()
        found = [it for it in self.sessions() if wanted in (it.cwd or it.folder).casefold()]
        values = (
            query.expression,
            "" if query.since is None else _utc(query.since),
            "~" if query.until is None else _utc(query.until),
            # SQLite allows only 32,766 values.
            msgspec.json.encode([it.path for it in found]).decode(),
            max(0, min(limit, 2**31)),
        )
        hits = self._with(lambda database: database.execute(_SEARCH, values).fetchall())
        return [
            Hit(_info(info), uuid, role, time, *snippet(texts, query), rank, agent)
            for info, uuid, role, time, agent, rank, texts in hits
        ]

    # --- reading ---------------------------------------------------------------------------------

    def _update(self, database: sqlite3.Connection) -> None:
        """Read new lines, and forget files that are gone."""
        found = {it.main.path: it for it in find_sessions(self._root)}
        stamps = {stamp.path: packed(stamp) for it in found.values() for stamp in it.stamps}
        rows = database.execute("SELECT id, path, stamp, session, offset, mark FROM files")
        known, gone = {}, {}
        for id, path, stamp, session, offset, mark in rows.fetchall():
            known[path] = stamp
            if path not in stamps or (stamp != stamps[path] and not _has_grown(path, offset, mark)):
                gone[id] = session
        if gone:
            _forget(database, gone)
        affected = {*gone.values()}
        changed = [
            it
            for path, it in found.items()
            if path in affected or any(known.get(at.path) != stamps[at.path] for at in it.stamps)
        ]
        for session in changed:
            check_cancelled()
            try:
                with database:
                    self._read_session(database, session)
            except StoreError as error:  # removed just now, or not readable
                log.warning("%s", error)
        for session in changed:
            _find_parent(database, session.main.path)

    def _read_session(self, database: sqlite3.Connection, found: Found) -> None:
        path = found.main.path
        files = [self._read_file(database, stamp, path) for stamp in found.stamps]
        empty = SessionInfo(
            found.id,
            found.folder,
            path,
            size=sum(stamp.size for stamp in found.stamps),
            modified=max(stamp.mtime_ns for stamp in found.stamps) / 1e9,
        )
        first = next(iter(files[0].calls), None)
        values = (
            path,
            packed(session_info(empty, files, self._prices)),
            well_formed(files[0].begin or ""),
            None if first is None else packed(first),
        )
        database.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)", values)

    def _read_file(self, database: sqlite3.Connection, stamp: Stamp, session: str) -> FileFacts:
        """Read the new lines of a file; return the facts of the whole file."""
        # First, because this begins a transaction: another process may have read them meanwhile.
        database.execute(
            "INSERT INTO files (path, session) VALUES (?1, ?2)"
            " ON CONFLICT (path) DO UPDATE SET session = ?2",
            (stamp.path, session),
        )
        id, known, start, mark, facts = database.execute(
            "SELECT id, stamp, offset, mark, facts FROM files WHERE path = ?", (stamp.path,)
        ).fetchone()
        if known == packed(stamp):
            return _facts(facts)
        found = _facts(facts) if known else FileFacts()
        with open_file(stamp.path) as file:
            if known and _mark(file, start) != mark:
                raise StoreError(f"{stamp.path} was rewritten while it was read")
            for line in lines_of(file, start):
                if line.is_complete:
                    entry = line.read()
                    found.read(entry)
                    self._add_texts(database, id, entry)
                    start = line.end
            values = (packed(stamp), start, _mark(file, start), packed(found), id)
        database.execute(
            "UPDATE files SET stamp = ?, offset = ?, mark = ?, facts = ? WHERE id = ?", values
        )
        return found

    def _add_texts(self, database: sqlite3.Connection, file: int, entry: Entry) -> None:
        texts = texts_of(entry, tool_output=self._tool_output)
        if texts is not None:
            named = (entry.uuid, texts.role, entry.timestamp, entry.agent_id)
            row = database.execute(
                "INSERT INTO places (file, uuid, role, time, agent) VALUES (?, ?, ?, ?, ?)",
                (file, *(it and well_formed(it) for it in named)),
            ).lastrowid
            database.execute(
                "INSERT INTO texts (rowid, user, model, tool, called) VALUES (?, ?, ?, ?, ?)",
                (row, texts.user, texts.model, texts.tool, texts.called),
            )


def _find_parent(database: sqlite3.Connection, path: str) -> None:
    """Recognise a fork that does not name its parent: an older session has its first message."""
    info, first, begin = database.execute(
        "SELECT info, first_message, begin FROM sessions WHERE path = ?", (path,)
    ).fetchone() or (b"", None, "")
    if first is None or _info(info).parent is not None:
        return
    parent = database.execute(_PARENT, (path, begin, first)).fetchone()
    if parent is not None:
        named = replace(_info(info), parent=Path(parent[0]).stem)
        with database:
            database.execute("UPDATE sessions SET info = ? WHERE path = ?", (packed(named), path))


def _forget(database: sqlite3.Connection, files: Iterable[int]) -> None:
    """Delete all that was read from some files, so that none of their words stays on the disk."""
    with database:
        for file in files:
            of_file = "(SELECT id FROM places WHERE file = ?)"
            database.execute(f"DELETE FROM texts WHERE rowid IN {of_file}", (file,))
            database.execute("DELETE FROM places WHERE file = ?", (file,))
            database.execute("DELETE FROM files WHERE id = ?", (file,))
        database.execute("DELETE FROM sessions WHERE path NOT IN (SELECT path FROM files)")
        database.execute("INSERT INTO texts (texts) VALUES ('optimize')")  # removes unused words
    database.execute("PRAGMA wal_checkpoint (TRUNCATE)")


def _has_grown(path: str, offset: int, mark: bytes) -> bool:
    """Whether a changed file still begins with all that was read from it, as far as is known."""
    with suppress(StoreError, OSError), open_file(path) as file:
        return _mark(file, offset) == mark
    return True


def _utc(time: datetime) -> str:
    """Format a time as transcripts do, so that strings can be compared."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _mark(file: IO[bytes], offset: int) -> bytes:
    start = max(0, offset - MARK)
    file.seek(start)
    return file.read(offset - start)
