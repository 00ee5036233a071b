"""The index: facts and texts of transcripts in SQLite, so that only new lines have to be read.

The index is a cache: it can be deleted at any time, and is rebuilt if it is damaged or was made by
another version. A file is known by its path, inode, size and time of change; if it only grew,
reading continues at its former end.

Texts are in an FTS5 table without their content, which would nearly double the size on disk: a hit
is shown by reading its line again. SQLite before 3.43 cannot delete from such a table, so rows of
changed files stay in it, without a place, and are never found.
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
from typing import IO, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from ..tracking import Price
from .facts import Calls, FileFacts, SessionInfo, add_calls, packed, session_info, well_formed
from .files import Found, Stamp, StoreError, check_cancelled, find_sessions, lines_of, open_file
from .search import Query, texts_of
from .writing import make_folder

log: logging.Logger = logging.getLogger("claudewire.transcripts")

T = TypeVar("T")

VERSION = 9
"""Of the tables below; an index of another version is rebuilt."""

BUSY = 30.0
"""Seconds to wait for another process that writes to the index."""

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
    id INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, offset INTEGER, length INTEGER,
    time TEXT);
CREATE INDEX IF NOT EXISTS places_of_file ON places (file);
CREATE VIRTUAL TABLE IF NOT EXISTS texts
    USING fts5 (user, model, tool, called, content='', tokenize="unicode61 remove_diacritics 2");
"""
_PARENT = """
SELECT sessions.path FROM sessions JOIN files ON files.path = sessions.path
WHERE sessions.path != ? AND begin < ? AND instr(facts, ?) ORDER BY begin DESC LIMIT 1
"""
"""The last session before a time with a message: a fork of that session begins with it."""

# The weights favour words of the user, then of the model. CROSS JOIN keeps SQLite from beginning
# with the places, which takes seconds.
_SEARCH = """
SELECT files.path, sessions.info, places.offset, places.length,
    bm25(texts, 3.0, 2.0, 1.0, 1.0) AS score
FROM texts CROSS JOIN places ON places.id = texts.rowid
    CROSS JOIN files ON files.id = places.file CROSS JOIN sessions ON sessions.path = files.session
WHERE texts MATCH ? AND places.time >= ? AND places.time < ?
    AND files.session IN (SELECT value FROM json_each(?))
ORDER BY score LIMIT ?
"""

_facts = msgspec.msgpack.Decoder(FileFacts).decode
_info = msgspec.msgpack.Decoder(SessionInfo).decode
_stamp = msgspec.msgpack.Decoder(Stamp).decode


class Place(NamedTuple):
    """The place of a hit."""

    path: str
    session: SessionInfo
    offset: int
    length: int
    rank: float


def default_index(config: Path, *, tool_output: bool) -> Path | None:
    """Return the place of the index of a configuration folder; None without a home directory."""
    cache = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    if cache.startswith("~"):
        return None
    name = hashlib.sha256(os.fsencode(os.path.realpath(config))).hexdigest()[:16]
    return Path(cache) / "claudewire" / f"sessions-{name}{'-tools' if tool_output else ''}.db"


class Index:
    """The index of one folder of projects.

    Args:
        path: the database; None to keep it in memory.
        root: the folder of the projects.
        prices: the prices of tokens, by model, instead of the costs that the CLI recorded.
        tool_output: whether the output of tools is searched, too.
    """

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
            self._database = self._opened()
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, self._version):
                raise sqlite3.DatabaseError("another version made it")
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute("PRAGMA secure_delete = ON")
            self._database.executescript(f"{_TABLES}PRAGMA user_version = {self._version}")
        return self._database

    @property
    def _version(self) -> int:
        return VERSION * 2 + self._tool_output

    def _opened(self) -> sqlite3.Connection:
        try:
            if self._path is not None:
                make_folder(self._path.parent)
                os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))  # for this user alone
                return _connected(str(self._path))
        except (OSError, sqlite3.OperationalError) as error:
            log.warning("The index %s is kept in memory: %s", self._path, error)
            self._path = None
        return _connected(":memory:")

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

    def search(self, query: Query, limit: int) -> list[Place]:
        """Find the places that match best, after reading new lines."""
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
        return [Place(path, _info(info), *place) for path, info, *place in hits]

    # --- reading ---------------------------------------------------------------------------------

    def _update(self, database: sqlite3.Connection) -> None:
        """Read new lines, and forget files that are gone."""
        found = {it.main.path: it for it in find_sessions(self._root)}
        stamps = {stamp.path: packed(stamp) for it in found.values() for stamp in it.stamps}
        rows = database.execute("SELECT path, stamp, session FROM files").fetchall()
        known = {path: stamp for path, stamp, _ in rows}
        gone = {session for path, _, session in rows if path not in stamps}
        changed = [
            it
            for path, it in found.items()
            if path in gone or any(known.get(at.path) != stamps[at.path] for at in it.stamps)
        ]
        for session in changed:
            check_cancelled()
            try:
                with database:
                    self._read_session(database, session)
            except StoreError as error:  # removed just now, or not readable
                log.warning("%s", error)
        for path in gone - found.keys():
            with database:
                _forget_files(database, path)
                database.execute("DELETE FROM sessions WHERE path = ?", (path,))
        for session in changed:
            _find_parent(database, session.main.path)

    def _read_session(self, database: sqlite3.Connection, found: Found) -> None:
        path = found.main.path
        files = [self._read_file(database, stamp, path) for stamp in found.stamps]
        _forget_files(database, path, without={stamp.path for stamp in found.stamps})
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
        with open_file(stamp.path) as file:
            if known and _stamp(known).inode == stamp.inode and _mark(file, start) == mark:
                found = _facts(facts)
            else:  # a new file, or one that was rewritten
                database.execute("DELETE FROM places WHERE file = ?", (id,))
                start, found = 0, FileFacts()
            for line in lines_of(file, start):
                if line.is_complete:
                    entry = line.read()
                    found.read(entry)
                    texts = texts_of(entry, tool_output=self._tool_output)
                    if texts is not None:
                        row = database.execute(
                            "INSERT INTO places (file, offset, length, time) VALUES (?, ?, ?, ?)",
                            (id, line.offset, line.length, texts.time),
                        ).lastrowid
                        database.execute(
                            "INSERT INTO texts (rowid, user, model, tool, called)"
                            " VALUES (?, ?, ?, ?, ?)",
                            (row, texts.user, texts.model, texts.tool, texts.called),
                        )
                    start = line.end
            values = (packed(stamp), start, _mark(file, start), packed(found), id)
        database.execute(
            "UPDATE files SET stamp = ?, offset = ?, mark = ?, facts = ? WHERE id = ?", values
        )
        return found


def _connected(name: str) -> sqlite3.Connection:
    return sqlite3.connect(name, timeout=BUSY, isolation_level="IMMEDIATE", check_same_thread=False)


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


def _forget_files(database: sqlite3.Connection, session: str, without: Iterable[str] = ()) -> None:
    rows = database.execute("SELECT path, id FROM files WHERE session = ?", (session,)).fetchall()
    for path, file in rows:
        if path not in without:
            database.execute("DELETE FROM places WHERE file = ?", (file,))
            database.execute("DELETE FROM files WHERE id = ?", (file,))


def _utc(time: datetime) -> str:
    """Format a time as transcripts do, so that strings can be compared."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _mark(file: IO[bytes], offset: int) -> bytes:
    start = max(0, offset - MARK)
    file.seek(start)
    return file.read(offset - start)
