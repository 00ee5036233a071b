"""What was read from transcripts, kept in SQLite, so that only what is new has to be read.

The index is a cache: it can be deleted at any time, and is rebuilt if it is damaged or was made by
another version. A file is known by its path, inode, size and time of change; if it only grew,
reading goes on where it ended. Facts are kept for each file, and put together for each session.

Texts are in a table of FTS5 without their content, which would nearly double the size of what is on
disk: a hit is shown by reading its line again. SQLite before 3.43 cannot delete from such a table,
so rows of changed files stay in it, without a place, and are found no more. The number of a place
is never used again.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anyio.from_thread
import msgspec
from msgspec.structs import replace

from ..tracking import Price
from .facts import Call, FactsReader, FileFacts, SessionInfo, checksum, combine, counted_once
from .files import Found, Stamp, StoreError, find_sessions, lines_of, open_inside
from .query import Query, fts_expression, matcher
from .texts import Texts, texts_of, well_formed

__all__ = ["Index", "Place", "check_cancelled", "default_index"]

log: logging.Logger = logging.getLogger("claudewire.store")

T = TypeVar("T")

VERSION = 3
"""Of the tables below; an index with another one is made anew."""

BUSY = 10.0
"""Seconds to wait for another process that writes to the index."""

AT_ONCE = 64
"""Files that are indexed in one transaction: what is lost if the work is cancelled."""

FRESH = 2.0
"""Seconds for which a search does not look again what has changed: someone types, perhaps."""

MARK = 64
"""Bytes before the place where reading ended; if they are others, the file was rewritten."""

WEIGHTS = "3.0, 2.0, 1.0, 1.0"
"""What a word counts that a user said, the model, or that was given to a tool."""

_TABLES = f"""
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, inode INTEGER, size INTEGER, mtime INTEGER,
    offset INTEGER NOT NULL, mark BLOB, facts BLOB, calls BLOB,
    searched INTEGER NOT NULL DEFAULT 0, session TEXT);
CREATE TABLE IF NOT EXISTS sessions (path TEXT PRIMARY KEY, stamps BLOB, info BLOB);
CREATE TABLE IF NOT EXISTS seen (
    call INTEGER, begin TEXT, session TEXT, PRIMARY KEY (call, session)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ends (line INTEGER, path TEXT, PRIMARY KEY (line, path)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS titles (line INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE IF NOT EXISTS places (
    id INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, offset INTEGER, length INTEGER,
    role INTEGER, time TEXT);
CREATE INDEX IF NOT EXISTS places_of_file ON places (file);
PRAGMA user_version = {VERSION};
"""
_TEXTS = """
CREATE VIRTUAL TABLE IF NOT EXISTS texts
    USING fts5 (user, model, tool, called, content='', tokenize="unicode61 remove_diacritics 2");
"""

CANDIDATES = 5_000
"""Lines that are ranked, the newest: ranking takes longest, and says little of a common word."""

_NEWEST = """texts.rowid >= coalesce(
    (SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rowid DESC LIMIT 1 OFFSET {}),
    0)"""

_facts = msgspec.msgpack.Decoder(FileFacts).decode
_calls = msgspec.msgpack.Decoder(dict[str, Call]).decode
_info = msgspec.msgpack.Decoder(SessionInfo).decode
_packed = msgspec.msgpack.Encoder().encode

LARGEST = 2**63 - 1


def _encode(value: Any) -> bytes:
    try:
        return _packed(value)
    except (UnicodeEncodeError, OverflowError):  # a line can say anything
        return _packed(_storable(msgspec.to_builtins(value)))


def _storable(value: Any) -> Any:
    """Replace what cannot be stored: halves of surrogate pairs, and numbers beyond 64 bits."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-LARGEST, min(value, LARGEST))
    if isinstance(value, dict):
        return {_storable(key): _storable(it) for key, it in value.items()}
    return [_storable(it) for it in value] if isinstance(value, list | tuple) else value


def check_cancelled() -> None:
    """End the work in this thread if whoever waits for it was cancelled."""
    with contextlib.suppress(RuntimeError):  # called from no worker thread: nobody can cancel
        anyio.from_thread.check_cancelled()


def default_index(config: Path) -> Path | None:
    """Return where the index of a configuration folder is kept; None for a user without a home."""
    cache = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    if cache.startswith("~"):
        return None
    name = hashlib.sha256(os.fsencode(os.path.realpath(config))).hexdigest()[:16]
    return Path(cache) / "claudewire" / f"sessions-{name}.db"


class Place(NamedTuple):
    """Where a text was found."""

    path: str
    session: SessionInfo
    offset: int
    length: int
    rank: float


class Index:
    """The index of one folder of projects.

    Args:
        path: the database; None to keep it in memory.
        root: the folder of the projects.
        prices: what tokens cost, by model, instead of what the CLI wrote.
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
        self._known: dict[str, tuple[bytes, SessionInfo]] = {}
        self._looked = -FRESH
        self.has_fts: bool = True
        """Whether SQLite was built with FTS5; if not, searching reads the transcripts."""

    def close(self) -> None:
        """Close the database."""
        with self._mutex:
            database, self._database = self._database, None
            if database is not None:
                database.close()

    # --- the database ----------------------------------------------------------------------------

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something with the database; if it is damaged, make it anew and try once more."""
        with self._mutex:
            try:
                return work(self._connection())
            except (sqlite3.DatabaseError, msgspec.DecodeError) as error:
                if "locked" in str(error) or "busy" in str(error):
                    raise StoreError(
                        f"The index {self._path} is in use by another process",
                        advice="Try again later, or give another index.",
                    ) from error
                log.warning("The index %s is made anew: %s", self._path, error)
                self._remove()
                return work(self._connection())

    def _connection(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = self._opened()
        return self._database

    def _opened(self) -> sqlite3.Connection:
        database = self._connected()
        try:
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, self._version):
                database.close()
                self._remove()
                database = self._connected()
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            self._make_tables(database)
        except BaseException:
            database.close()
            raise
        return database

    @property
    def _version(self) -> int:
        return VERSION * 2 + self._tool_output

    def _connected(self) -> sqlite3.Connection:
        name = ":memory:"
        if self._path is not None:
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                name = str(self._path)
            except OSError as error:
                log.warning("The index %s cannot be kept: %s", self._path, error)
        try:
            return sqlite3.connect(
                name, timeout=BUSY, isolation_level=None, check_same_thread=False
            )
        except sqlite3.OperationalError as error:
            log.warning("The index %s cannot be kept: %s", self._path, error)
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)

    def _make_tables(self, database: sqlite3.Connection) -> None:
        database.executescript(_TABLES.replace(f"= {VERSION}", f"= {self._version}"))
        try:
            database.executescript(_TEXTS)
        except sqlite3.OperationalError as error:
            if "fts5" not in str(error):
                raise
            self.has_fts = False

    def _remove(self) -> None:
        self.close()
        self._known = {}
        if self._path is not None:
            try:
                for end in ("", "-wal", "-shm"):
                    Path(f"{self._path}{end}").unlink(missing_ok=True)
            except OSError as error:  # a disk that is read-only, say
                log.warning("The index %s cannot be kept: %s", self._path, error)
                self._path = None

    # --- facts -----------------------------------------------------------------------------------

    def sessions(self) -> list[SessionInfo]:
        """Return what is known about all sessions on disk, after reading what is new."""
        found, loose = find_sessions(self._root)
        self._with(lambda database: self._update(database, found, loose))
        self._looked = time.monotonic()
        return [info for _, info in self._known.values()]

    def _update(
        self, database: sqlite3.Connection, found: Sequence[Found], loose: Sequence[Stamp]
    ) -> None:
        if loose:
            found = self._with_loose(database, found, loose)
        if not self._known:
            self._load(database)
        stamps = {it.main.path: _encode(it.stamps) for it in found}
        changed = [it for it in found if self._stamps_of(it) != stamps[it.main.path]]
        gone = self._known.keys() - stamps.keys()
        for batch in _batches(changed):
            check_cancelled()
            with _transaction(database):
                for session in batch:
                    self._read_session(database, session)
        if gone:
            with _transaction(database):
                for path in gone:
                    _forget(database, path)
        if changed:
            with _transaction(database):
                self._find_parents(database, changed)
                self._give_titles(database)
        if changed or gone:
            self._load(database)

    def _stamps_of(self, found: Found) -> bytes | None:
        known = self._known.get(found.main.path)
        return None if known is None else known[0]

    def _load(self, database: sqlite3.Connection) -> None:
        """Take over what the database has."""
        rows = database.execute("SELECT path, stamps, info FROM sessions")
        self._known = {path: (stamps, _info(info)) for path, stamps, info in rows}

    def _with_loose(
        self, database: sqlite3.Connection, found: Sequence[Found], loose: Sequence[Stamp]
    ) -> list[Found]:
        """Give the files of subagents that are beside the sessions to their sessions."""
        agents: dict[tuple[str, str], list[Stamp]] = {}
        with _transaction(database):
            for stamp in loose:
                try:
                    facts, _ = self._read_file(database, stamp)
                except StoreError as error:  # removed just now, or not readable
                    log.warning("%s", error)
                    continue
                key = (os.path.dirname(stamp.path), facts.session_id or "")
                agents.setdefault(key, []).append(stamp)
        return [
            it._replace(
                agents=(*it.agents, *agents.get((os.path.dirname(it.main.path), it.id), ()))
            )
            for it in found
        ]

    def _read_session(self, database: sqlite3.Connection, found: Found) -> None:
        try:
            read = [self._read_file(database, stamp, found.main.path) for stamp in found.stamps]
        except StoreError as error:  # removed just now, or not readable
            log.warning("%s", error)
            return
        (main, _), *agents = read
        calls = counted_once(calls for _, calls in read)
        info = combine(found.id, found.folder, main, [it for it, _ in agents], calls, self._prices)
        info = replace(
            info,
            path=found.main.path,
            size=sum(stamp.size for stamp in found.stamps),
            modified=max(stamp.mtime_ns for stamp in found.stamps) / 1e9,
        )
        database.execute(
            "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)",
            (found.main.path, _encode(found.stamps), _encode(info)),
        )
        keys = (*calls, *main.boundaries)
        begin = None if main.begin is None else well_formed(main.begin)
        seen = ((checksum(key), begin, found.main.path) for key in keys)
        database.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?, ?)", seen)
        ends = ((line, found.main.path) for line in main.ends)
        database.executemany("INSERT OR IGNORE INTO ends VALUES (?, ?)", ends)
        titles = ((checksum(line), well_formed(it)) for line, it in main.summaries.items())
        database.executemany("INSERT OR REPLACE INTO titles VALUES (?, ?)", titles)

    def _read_file(
        self, database: sqlite3.Connection, stamp: Stamp, session: str | None = None
    ) -> tuple[FileFacts, dict[str, Call]]:
        """Read what is new in a file; what it says as a whole comes back."""
        row = database.execute(
            "SELECT inode, size, mtime, offset, mark, facts, calls FROM files WHERE path = ?",
            (stamp.path,),
        ).fetchone()
        if row is not None and stamp[1:] == row[:3]:
            return _facts(row[5]), _calls(row[6])
        with open_inside(stamp.path, self._root) as file:
            grown = row is not None and stamp.inode == row[0] and _mark(file, row[3]) == row[4]
            start = row[3] if grown else 0
            reader = FactsReader(_facts(row[5]), _calls(row[6])) if grown else FactsReader()
            for count, line in enumerate(lines_of(file, start)):
                if line.is_complete or _is_object(line.line):
                    reader.feed(line)
                    start = line.offset + line.length + line.is_complete
                if count % 4096 == 0:
                    check_cancelled()
            mark = _mark(file, start)
        if row is not None and not grown:
            _forget_texts(database, stamp.path)
        facts = reader.facts
        database.execute(
            "INSERT INTO files (path, inode, size, mtime, offset, mark, facts, calls, session)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET"
            " inode = excluded.inode, size = excluded.size, mtime = excluded.mtime,"
            " offset = excluded.offset, mark = excluded.mark, facts = excluded.facts,"
            " calls = excluded.calls, session = coalesce(excluded.session, session)",
            (*stamp, start, mark, _encode(facts), _encode(reader.calls), session),
        )
        return facts, reader.calls

    def _find_parents(self, database: sqlite3.Connection, changed: Iterable[Found]) -> None:
        """Find the sessions that others are forks of: older ones with the same messages."""
        for it in changed:
            row = database.execute(
                "SELECT sessions.info, files.facts FROM sessions JOIN files USING (path)"
                " WHERE path = ?",
                (it.main.path,),
            ).fetchone()
            if row is None:
                continue
            info, facts = _info(row[0]), _facts(row[1])
            if info.parent is None and facts.first_key is not None and facts.begin is not None:
                parent = database.execute(
                    "SELECT session FROM seen WHERE call = ? AND session != ? AND begin < ?"
                    " ORDER BY begin DESC LIMIT 1",
                    (checksum(facts.first_key), it.main.path, facts.begin),
                ).fetchone()
                if parent is not None:
                    _save(database, replace(info, parent=Path(parent[0]).stem))

    def _give_titles(self, database: sqlite3.Connection) -> None:
        """Give sessions the titles that CLIs up to 1.0 have written into other files."""
        rows = database.execute(
            "SELECT sessions.info, title FROM titles JOIN ends USING (line)"
            " JOIN sessions USING (path)"
        ).fetchall()
        for data, title in rows:
            info = _info(data)
            if info.title_source in (None, "prompt"):
                _save(database, replace(info, title=title, title_source="summary"))

    # --- all calls -------------------------------------------------------------------------------

    def calls(self, paths: Iterable[str]) -> dict[str, Call]:
        """Return what the messages of some sessions have used, each message once."""

        def read(database: sqlite3.Connection) -> dict[str, Call]:
            wanted = set(paths)
            rows = database.execute("SELECT session, calls FROM files WHERE session IS NOT NULL")
            return counted_once(_calls(calls) for session, calls in rows if session in wanted)

        return self._with(read)

    # --- texts -----------------------------------------------------------------------------------

    def search(self, query: Query, limit: int) -> list[Place]:
        """Find the places that fit best, after reading what is new."""
        if time.monotonic() - self._looked >= FRESH:
            self.sessions()
        infos = [info for _, info in self._known.values()]
        files = _projects(infos, query.project)
        if not self.has_fts:
            return self._scan(query, limit, infos if files is None else files)
        return self._with(lambda database: self._search(database, query, limit, files))

    def _search(
        self,
        database: sqlite3.Connection,
        query: Query,
        limit: int,
        files: Sequence[SessionInfo] | None,
    ) -> list[Place]:
        self._read_texts(database)
        conditions, values = ["texts MATCH ?1"], [_expression(query)]
        if query.since is not None:
            conditions.append("places.time >= ?")
            values.append(_utc(query.since))
        if query.until is not None:
            conditions.append("places.time < ?")
            values.append(_utc(query.until))
        if files is not None:
            # One value: SQLite allows 32,766 of them, and there may be more sessions.
            conditions.append("files.session IN (SELECT value FROM json_each(?))")
            values.append(msgspec.json.encode([info.path for info in files]).decode())
        if len(conditions) == 1:
            rows = self._rows(database, [*conditions, _NEWEST.format(CANDIDATES)], values, limit)
            if len(rows) >= limit:
                return self._places(rows)
        return self._places(self._rows(database, conditions, values, limit))

    def _rows(
        self, database: sqlite3.Connection, conditions: list[str], values: list[str], limit: int
    ) -> list[tuple[Any, ...]]:
        # CROSS JOIN keeps this order: otherwise SQLite may begin with the places, in seconds.
        return database.execute(
            "SELECT files.path, files.session, places.offset, places.length,"
            f" bm25(texts, {WEIGHTS}) AS score"
            " FROM texts CROSS JOIN places ON places.id = texts.rowid"
            " CROSS JOIN files ON files.id = places.file"
            f" WHERE {' AND '.join(conditions)} ORDER BY score LIMIT ?",
            (*values, max(0, min(limit, LARGEST))),
        ).fetchall()

    def _places(self, rows: Iterable[tuple[Any, ...]]) -> list[Place]:
        known = self._known
        return [
            Place(path, known[session][1], *place)
            for path, session, *place in rows
            if session in known
        ]

    def _read_texts(self, database: sqlite3.Connection) -> None:
        rows = database.execute(
            "SELECT id, path, searched, offset FROM files"
            " WHERE session IS NOT NULL AND searched < offset"
        ).fetchall()
        for batch in _batches(rows):
            check_cancelled()
            with _transaction(database):
                for id, path, start, end in batch:
                    with contextlib.suppress(StoreError):
                        self._read_texts_of(database, id, path, start, end)

    def _read_texts_of(
        self, database: sqlite3.Connection, id: int, path: str, start: int, end: int
    ) -> None:
        with open_inside(path, self._root) as file:
            for line in lines_of(file, start):
                if line.offset >= end:
                    break
                texts = texts_of(line.line, tool_output=self._tool_output)
                if texts is not None:
                    place = (id, line.offset, line.length, texts.role, texts.time)
                    row = database.execute(
                        "INSERT INTO places (file, offset, length, role, time)"
                        " VALUES (?, ?, ?, ?, ?)",
                        place,
                    ).lastrowid
                    database.execute(
                        "INSERT INTO texts (rowid, user, model, tool, called)"
                        " VALUES (?, ?, ?, ?, ?)",
                        (row, texts.user, texts.model, texts.tool, texts.called),
                    )
        database.execute("UPDATE files SET searched = ? WHERE id = ?", (end, id))

    def _scan(self, query: Query, limit: int, infos: Iterable[SessionInfo]) -> list[Place]:
        """Search by reading: the newest first, until there are enough."""
        places: list[Place] = []
        matches = matcher(query)
        found = {it.main.path: it for it in find_sessions(self._root)[0]}
        for info in sorted(infos, key=lambda info: info.modified, reverse=True):
            session = found.get(info.path)
            for stamp in session.stamps if session is not None else ():
                check_cancelled()
                places += self._scan_file(stamp.path, info, query, matches)
                if len(places) >= limit:
                    return places[:limit]
        return places

    def _scan_file(
        self, path: str, session: SessionInfo, query: Query, matches: Callable[[str], bool]
    ) -> Iterator[Place]:
        with contextlib.suppress(StoreError), open_inside(path, self._root) as file:
            for line in lines_of(file):
                texts = texts_of(line.line, tool_output=self._tool_output)
                if texts is not None and _fits(texts, query, matches):
                    yield Place(path, session, line.offset, line.length, 0.0)


def _fits(texts: Texts, query: Query, matches: Callable[[str], bool]) -> bool:
    columns = {"user": texts.user, "assistant": texts.model, "tool": texts.tool}
    if query.tool is not None and query.tool.casefold() not in texts.called.casefold().split():
        return False
    if query.since is not None and not texts.time >= _utc(query.since):
        return False
    if query.until is not None and not texts.time < _utc(query.until):
        return False
    return matches(columns[query.role] if query.role else "\n".join(columns.values()))


def _expression(query: Query) -> str:
    words = fts_expression(query)
    if query.tool is None:
        return words
    called = '{called} : "' + query.tool.replace('"', '""') + '"'
    return f"{called} AND ({words})" if words else called


def _projects(infos: Iterable[SessionInfo], project: str | None) -> list[SessionInfo] | None:
    if project is None:
        return None
    wanted = project.casefold()
    return [info for info in infos if wanted in (info.cwd or info.folder).casefold()]


def _utc(time: datetime) -> str:
    """Write a time as transcripts have it, so that strings can be compared."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _save(database: sqlite3.Connection, info: SessionInfo) -> None:
    database.execute("UPDATE sessions SET info = ? WHERE path = ?", (_encode(info), info.path))


def _forget(database: sqlite3.Connection, path: str) -> None:
    """Remove a session that is no longer on disk."""
    files = database.execute("SELECT path FROM files WHERE session = ?", (path,)).fetchall()
    for (file,) in files:
        _forget_texts(database, file)
        database.execute("DELETE FROM files WHERE path = ?", (file,))
    for table, column in (("sessions", "path"), ("seen", "session"), ("ends", "path")):
        database.execute(f"DELETE FROM {table} WHERE {column} = ?", (path,))


def _forget_texts(database: sqlite3.Connection, path: str) -> None:
    database.execute(
        "DELETE FROM places WHERE file = (SELECT id FROM files WHERE path = ?)", (path,)
    )
    database.execute("UPDATE files SET searched = 0 WHERE path = ?", (path,))


def _mark(file: Any, offset: int) -> bytes:
    start = max(0, offset - MARK)
    file.seek(start)
    return bytes(file.read(offset - start))


def _is_object(line: Any) -> bool:
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return False


@contextlib.contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]
