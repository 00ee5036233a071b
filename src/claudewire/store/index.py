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
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from ..tracking import Price
from .facts import FactsReader, FileFacts, Noted, SessionInfo, checksum, combine
from .files import (
    Found,
    Stamp,
    StoreError,
    check_cancelled,
    find_sessions,
    lines_of,
    open_inside,
)
from .query import Query, fts_expression, matcher
from .texts import Texts, texts_of, well_formed
from .usage import INDEX, TABLE, Used, add_calls, forget_calls, used_in_file, used_in_files

__all__ = ["Index", "Place", "default_index"]

log: logging.Logger = logging.getLogger("claudewire.store")

T = TypeVar("T")

VERSION = 6
"""Of the tables below; an index with another one is made anew."""

BUSY = 30.0
"""Seconds to wait for another process that writes to the index."""

PIECE = 4_096
"""Lines of which something is in memory while a file is read."""

AT_ONCE = 64
"""Files that are indexed in one transaction: what is lost if the work is cancelled."""

FRESH = 2.0
"""Seconds for which a search does not look again what has changed: someone types, perhaps."""

OPERATIONS = 1_000_000
"""Of SQLite, between two looks whether the caller was cancelled: some milliseconds."""

MARK = 64
"""Bytes before the place where reading ended; if they are others, the file was rewritten."""

WEIGHTS = "3.0, 2.0, 1.0, 1.0, 0.0"
"""What a word counts that a user said, the model, or that was given to a tool."""

_TABLES = f"""
CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, inode INTEGER, size INTEGER, mtime INTEGER,
    offset INTEGER NOT NULL DEFAULT 0, mark BLOB, facts BLOB,
    searched INTEGER NOT NULL DEFAULT 0, session TEXT);
CREATE INDEX IF NOT EXISTS files_of_session ON files (session);
CREATE INDEX IF NOT EXISTS files_to_search ON files (mtime) WHERE searched < offset;
CREATE TABLE IF NOT EXISTS sessions (path TEXT PRIMARY KEY, stamps BLOB, info BLOB, begin TEXT);
{TABLE}
CREATE TABLE IF NOT EXISTS boundaries (
    line INTEGER, file INTEGER, PRIMARY KEY (line, file)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ends (
    line INTEGER, file INTEGER, PRIMARY KEY (line, file)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS titles (line INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE IF NOT EXISTS places (
    id INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER NOT NULL, offset INTEGER, length INTEGER,
    role INTEGER, time TEXT);
CREATE INDEX IF NOT EXISTS places_of_file ON places (file);
PRAGMA user_version = {VERSION};
"""
_TEXTS = """
CREATE VIRTUAL TABLE IF NOT EXISTS texts
    USING fts5 (
        user, model, tool, called, folder, content='', tokenize="unicode61 remove_diacritics 2");
"""

CANDIDATES = 5_000
"""Lines that are ranked, the newest: ranking takes longest, and says little of a common word."""

_VALUES = "SELECT value FROM json_each(?)"

_NEWEST = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"

_PARENT = """
SELECT sessions.path FROM files JOIN sessions USING (path)
WHERE files.id IN (
    SELECT file FROM calls WHERE id = ? UNION ALL SELECT file FROM boundaries WHERE line = ?)
AND sessions.path != ? AND begin < ? ORDER BY begin DESC LIMIT 1
"""
"""The last session before a time with a message or compaction: a fork of it begins with that."""

_facts = msgspec.msgpack.Decoder(FileFacts).decode
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


def default_index(config: Path) -> Path | None:
    """Return where the index of a configuration folder is kept; None for a user without a home."""
    cache = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    if cache.startswith("~"):
        return None
    name = hashlib.sha256(os.fsencode(os.path.realpath(config))).hexdigest()[:16]
    return Path(cache) / "claudewire" / f"sessions-{name}.db"


def _connected(name: str) -> sqlite3.Connection:
    return sqlite3.connect(name, timeout=BUSY, isolation_level=None, check_same_thread=False)


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
        self._stamps: dict[str, bytes] = {}
        self._infos: dict[str, SessionInfo] | None = None
        self._looked = -math.inf
        self.has_fts: bool = True
        """Whether SQLite was built with FTS5; if not, searching reads the transcripts."""

    def close(self) -> None:
        """Close the database."""
        with self._mutex:
            database, self._database = self._database, None
            if database is not None:
                database.close()

    def __del__(self) -> None:
        # Whoever reads some conversations need not close anything; Python 3.13 would warn.
        with contextlib.suppress(AttributeError):  # it was never made
            self.close()

    # --- the database ----------------------------------------------------------------------------

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something with the database; if it is damaged, make it anew and try once more."""
        with self._mutex:
            try:
                return work(self._connection())
            except (sqlite3.DatabaseError, msgspec.DecodeError) as error:
                check_cancelled()  # then it was interrupted, and is not damaged
                if "locked" in str(error):
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
            # A search for very many words takes long in SQLite itself.
            database.set_progress_handler(_is_cancelled, OPERATIONS)
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
            return _connected(name)
        except sqlite3.OperationalError as error:
            log.warning("The index %s cannot be kept: %s", self._path, error)
            return _connected(":memory:")

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
        self._stamps, self._infos, self._looked = {}, None, -math.inf
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
        return self._with(self._known)

    def _known(self, database: sqlite3.Connection) -> list[SessionInfo]:
        self._look(database, fresh=0.0)
        return list(self._all_infos(database).values())

    def _look(self, database: sqlite3.Connection, fresh: float = FRESH) -> None:
        """Read what is new on disk, unless the last look was so many seconds ago."""
        if time.monotonic() - self._looked >= fresh:
            self._update(database, *find_sessions(self._root))
            self._looked = time.monotonic()

    def _update(
        self, database: sqlite3.Connection, found: Sequence[Found], loose: Sequence[Stamp]
    ) -> None:
        if loose:
            found = self._with_loose(database, found, loose)
        if not self._stamps:
            self._load(database)
        stamps = {it.main.path: _encode(it.stamps) for it in found}
        changed = [it for it in found if self._stamps.get(it.main.path) != stamps[it.main.path]]
        gone = self._stamps.keys() - stamps.keys()
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

    def _load(self, database: sqlite3.Connection) -> None:
        """Take over what the database has; the rest is read when it is asked for."""
        self._stamps = dict(database.execute("SELECT path, stamps FROM sessions"))
        self._infos = None

    def _all_infos(self, database: sqlite3.Connection) -> dict[str, SessionInfo]:
        if self._infos is None:
            rows = database.execute("SELECT path, info FROM sessions")
            self._infos = {path: _info(info) for path, info in rows}
        return self._infos

    def _info_of(self, database: sqlite3.Connection, session: str) -> SessionInfo | None:
        """Read what is known about a session; of thousands, a search needs few."""
        if self._infos is not None:
            return self._infos.get(session)
        row = database.execute("SELECT info FROM sessions WHERE path = ?", (session,)).fetchone()
        return None if row is None else _info(row[0])

    def _with_loose(
        self, database: sqlite3.Connection, found: Sequence[Found], loose: Sequence[Stamp]
    ) -> list[Found]:
        """Give the files of subagents that are beside the sessions to their sessions."""
        agents: dict[tuple[str, str | None], list[Stamp]] = {}
        with _transaction(database):
            for stamp in loose:
                try:
                    with _savepoint(database):
                        _, facts = self._read_file(database, stamp)
                except StoreError as error:  # removed just now, or not readable
                    log.warning("%s", error)
                    continue
                key = (os.path.dirname(stamp.path), facts.session_id)
                agents.setdefault(key, []).append(stamp)
        return [
            it._replace(
                agents=(*it.agents, *agents.get((os.path.dirname(it.main.path), it.id), ()))
            )
            for it in found
        ]

    def _read_session(self, database: sqlite3.Connection, found: Found) -> None:
        try:
            with _savepoint(database):
                files = [self._read_file(database, it, found.main.path) for it in found.stamps]
        except StoreError as error:  # removed just now, or not readable
            log.warning("%s", error)
            return
        (_, main), *agents = files
        numbers = [id for id, _ in files]
        _forget_files(database, found.main.path, numbers)
        info = combine(
            found.id,
            found.folder,
            main,
            [facts for _, facts in agents],
            _used_by_session(database, numbers),
            self._prices,
        )
        info = replace(
            info,
            path=found.main.path,
            size=sum(stamp.size for stamp in found.stamps),
            modified=max(stamp.mtime_ns for stamp in found.stamps) / 1e9,
        )
        begin = None if main.begin is None else well_formed(main.begin)
        database.execute(
            "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)",
            (found.main.path, _encode(found.stamps), _encode(info), begin),
        )

    def _read_file(
        self, database: sqlite3.Connection, stamp: Stamp, session: str | None = None
    ) -> tuple[int, FileFacts]:
        """Read what is new in a file; its number, and what it says as a whole, come back."""
        row = database.execute(
            "SELECT id, inode, size, mtime, offset, mark, facts FROM files WHERE path = ?",
            (stamp.path,),
        ).fetchone()
        if row is not None and stamp[1:] == row[1:4]:
            database.execute(
                "UPDATE files SET session = coalesce(?, session) WHERE id = ?", (session, row[0])
            )
            return row[0], _facts(row[6])
        with open_inside(stamp.path, self._root) as file:
            if row is None:
                id, start, reader = _new_number(database, stamp.path), 0, FactsReader()
            elif stamp.inode == row[1] and _mark(file, row[4]) == row[5]:
                id, start, reader = row[0], row[4], FactsReader(_facts(row[6]))
            else:  # it was rewritten
                _forget_lines(database, row[0])
                id, start, reader = row[0], 0, FactsReader()
            for count, line in enumerate(lines_of(file, start)):
                if line.is_complete or _is_object(line.line):
                    reader.feed(line)
                    start = line.offset + line.length + line.is_complete
                if count % PIECE == PIECE - 1:
                    _add_noted(database, id, reader.take())
            mark = _mark(file, start)
        _add_noted(database, id, reader.take())
        facts = reader.facts
        database.execute(
            "UPDATE files SET inode = ?, size = ?, mtime = ?, offset = ?, mark = ?, facts = ?,"
            " session = coalesce(?, session) WHERE id = ?",
            (*stamp[1:], start, mark, _encode(facts), session, id),
        )
        return id, facts

    def _find_parents(self, database: sqlite3.Connection, changed: Iterable[Found]) -> None:
        """Find the sessions that others are forks of: older ones with the same messages."""
        database.execute(INDEX)
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
                key = checksum(facts.first_key)
                parent = database.execute(
                    _PARENT, (key, key, it.main.path, well_formed(facts.begin))
                ).fetchone()
                if parent is not None:
                    _save(database, replace(info, parent=Path(parent[0]).stem))

    def _give_titles(self, database: sqlite3.Connection) -> None:
        """Give sessions the titles that CLIs up to 2.0 have written into other files."""
        rows = database.execute(
            "SELECT sessions.info, title FROM titles JOIN ends USING (line)"
            " JOIN files ON files.id = ends.file JOIN sessions ON sessions.path = files.path"
        ).fetchall()
        for data, title in rows:
            info = _info(data)
            if info.title_source in (None, "prompt"):
                _save(database, replace(info, title=title, title_source="summary"))

    # --- all messages ----------------------------------------------------------------------------

    def used(self, paths: Iterable[str]) -> Used:
        """Add up what the messages of some sessions have used, each message once."""
        files = f"SELECT id FROM files WHERE session IN ({_VALUES})"
        wanted = _json(list(paths))
        return self._with(lambda database: used_in_files(database, files, wanted))

    # --- texts -----------------------------------------------------------------------------------

    def search(self, query: Query, limit: int) -> list[Place]:
        """Find the places that fit best, after reading what is new."""
        most = max(0, min(limit, LARGEST))
        return self._with(lambda database: self._search(database, query, most))

    def _search(self, database: sqlite3.Connection, query: Query, limit: int) -> list[Place]:
        self._look(database)
        files = None
        if query.project is not None:
            files = _in_project(self._all_infos(database).values(), query.project)
        if not self.has_fts:
            infos = self._all_infos(database).values() if files is None else files
            return self._scan(database, query, limit, infos)
        self._read_texts(database)
        conditions = ["texts MATCH ?"]
        values: list[Any] = [_expression(query, files, len(self._stamps))]
        if query.since is not None:
            conditions.append("places.time >= ?")
            values.append(_utc(query.since))
        if query.until is not None:
            conditions.append("places.time < ?")
            values.append(_utc(query.until))
        if files is not None:
            conditions.append(f"files.session IN ({_VALUES})")
            values.append(_json([info.path for info in files]))
        newest = database.execute(_NEWEST, (values[0], CANDIDATES)).fetchone()
        rows: list[tuple[Any, ...]] = []
        if newest is not None:
            rows = self._rows(
                database, [*conditions, "texts.rowid >= ?"], [*values, newest[0]], limit
            )
        if newest is None or len(rows) < limit:
            rows = self._rows(database, conditions, values, limit)
        return list(self._places(database, rows))

    def _rows(
        self, database: sqlite3.Connection, conditions: list[str], values: list[Any], limit: int
    ) -> list[tuple[Any, ...]]:
        # CROSS JOIN keeps this order: otherwise SQLite may begin with the places, in seconds.
        return database.execute(
            "SELECT files.path, files.session, places.offset, places.length,"
            f" bm25(texts, {WEIGHTS}) AS score"
            " FROM texts CROSS JOIN places ON places.id = texts.rowid"
            " CROSS JOIN files ON files.id = places.file"
            f" WHERE {' AND '.join(conditions)} ORDER BY score LIMIT ?",
            (*values, limit),
        ).fetchall()

    def _places(
        self, database: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]
    ) -> Iterator[Place]:
        for path, session, *place in rows:
            info = self._info_of(database, session)
            if info is not None:
                yield Place(path, info, *place)

    def _read_texts(self, database: sqlite3.Connection) -> None:
        # The oldest first: of common words, the last lines are ranked.
        files = database.execute(
            "SELECT id FROM files WHERE searched < offset AND session IS NOT NULL ORDER BY mtime"
        ).fetchall()
        for batch in _batches(files):
            check_cancelled()
            with _transaction(database):
                for (id,) in batch:
                    with contextlib.suppress(StoreError), _savepoint(database):
                        self._read_texts_of(database, id)

    def _read_texts_of(self, database: sqlite3.Connection, id: int) -> None:
        # Another process may have read it meanwhile.
        path, session, start, end = database.execute(
            "SELECT path, session, searched, offset FROM files WHERE id = ?", (id,)
        ).fetchone() or ("", "", 0, 0)
        if start >= end:
            return
        folder = _folder_word(session)
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
                        "INSERT INTO texts (rowid, user, model, tool, called, folder)"
                        " VALUES (?, ?, ?, ?, ?, ?)",
                        (row, texts.user, texts.model, texts.tool, texts.called, folder),
                    )
        database.execute("UPDATE files SET searched = ? WHERE id = ?", (end, id))

    def _scan(
        self,
        database: sqlite3.Connection,
        query: Query,
        limit: int,
        infos: Iterable[SessionInfo],
    ) -> list[Place]:
        """Search by reading: the newest first, until there are enough."""
        places: list[Place] = []
        matches = matcher(query)
        for info in sorted(infos, key=lambda info: info.modified, reverse=True):
            files = database.execute(
                "SELECT path FROM files WHERE session = ? ORDER BY id", (info.path,)
            )
            for (path,) in files.fetchall():
                places += self._scan_file(path, info, query, matches)
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


def _expression(query: Query, files: Sequence[SessionInfo] | None, sessions: int) -> str:
    words = fts_expression(query)
    if query.tool is not None:
        called = '{called} : "' + query.tool.replace('"', '""') + '"'
        words = f"{called} AND ({words})" if words else called
    # The words of few folders save more than they cost.
    if files and len(files) < sessions // 2:
        folders = " OR ".join({_folder_word(info.path) for info in files})
        words = f"({words}) AND {{folder}} : ({folders})"
    return words


def _folder_word(session: str) -> str:
    """Make a word that stands for the folder of a session, to find what is in it."""
    return f"f{checksum(os.path.dirname(session)):x}"


def _in_project(infos: Iterable[SessionInfo], project: str) -> list[SessionInfo]:
    wanted = project.casefold()
    return [info for info in infos if wanted in (info.cwd or info.folder).casefold()]


def _utc(time: datetime) -> str:
    """Write a time as transcripts have it, so that strings can be compared."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _save(database: sqlite3.Connection, info: SessionInfo) -> None:
    database.execute("UPDATE sessions SET info = ? WHERE path = ?", (_encode(info), info.path))


def _forget(database: sqlite3.Connection, path: str) -> None:
    """Remove a session that is no longer on disk."""
    _forget_files(database, path)
    database.execute("DELETE FROM sessions WHERE path = ?", (path,))


def _forget_files(database: sqlite3.Connection, session: str, without: Sequence[int] = ()) -> None:
    """Remove the files of a session, except some."""
    rows = database.execute("SELECT id FROM files WHERE session = ?", (session,)).fetchall()
    for file in {id for (id,) in rows}.difference(without):
        _forget_lines(database, file)
        database.execute("DELETE FROM files WHERE id = ?", (file,))


def _used_by_session(database: sqlite3.Connection, files: Sequence[int]) -> Used:
    if len(files) == 1:
        return used_in_file(database, files[0])
    return used_in_files(database, _VALUES, _json(files))


def _json(values: Sequence[object]) -> str:
    """Put many values into one: SQLite allows 32,766 of them, and there may be more sessions."""
    return msgspec.json.encode(values).decode()


def _new_number(database: sqlite3.Connection, path: str) -> int:
    row = database.execute("INSERT INTO files (path) VALUES (?)", (path,)).lastrowid
    assert row is not None  # what was inserted has a number
    return row


def _add_noted(database: sqlite3.Connection, file: int, noted: Noted) -> None:
    """Keep what was found in some lines of a file."""
    add_calls(database, file, noted.calls)
    for table, lines in (("boundaries", noted.boundaries), ("ends", noted.ends)):
        rows = ((line, file) for line in lines)
        database.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", rows)
    titles = ((line, well_formed(title)) for line, title in noted.titles)
    database.executemany("INSERT OR REPLACE INTO titles VALUES (?, ?)", titles)


def _forget_lines(database: sqlite3.Connection, file: int) -> None:
    """Remove what was found in the lines of a file that was rewritten, or is no longer there."""
    forget_calls(database, file)
    for table in ("boundaries", "ends", "places"):
        database.execute(f"DELETE FROM {table} WHERE file = ?", (file,))
    database.execute("UPDATE files SET searched = 0 WHERE id = ?", (file,))


def _mark(file: Any, offset: int) -> bytes:
    start = max(0, offset - MARK)
    file.seek(start)
    return bytes(file.read(offset - start))


def _is_cancelled() -> bool:
    try:
        check_cancelled()
    except BaseException:  # of whichever library; it is raised again once SQLite has ended
        return True
    return False


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


@contextlib.contextmanager
def _savepoint(database: sqlite3.Connection) -> Iterator[None]:
    """Do something inside a transaction completely, or not at all."""
    database.execute("SAVEPOINT one")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK TO one")
        raise
    finally:
        with contextlib.suppress(sqlite3.Error):
            database.execute("RELEASE one")


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]
