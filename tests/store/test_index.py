"""The index: what it reads again, what it keeps if something fails, and what it searches."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from claudewire.store import BlockingSessions, StoreError
from claudewire.store import index as index_module
from claudewire.store.files import lines_of
from claudewire.wire import framing

from .made import MAIN, PLAIN, Writer, conversation
from .test_sessions import WITHOUT_FTS


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def sessions(config: Path) -> Iterator[BlockingSessions]:
    with BlockingSessions(config, index=config.parent / "index.db") as sessions:
        yield sessions


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands still until a test moves it."""
    clock = SimpleNamespace(now=1.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(index_module, "time", clock)
    return clock


def uuids(sessions: BlockingSessions, query: str) -> list[str]:
    return sorted(str(hit.uuid) for hit in sessions.search(query, limit=100))


def prompts(sessions: BlockingSessions, id: str = MAIN) -> int:
    return sessions.info(id).prompts


@pytest.mark.parametrize("tool_output", [False, True])
def test_the_database_is_shared_with_other_processes(config: Path, tool_output: bool) -> None:
    path = config.parent / "index.db"
    conversation(config)
    with BlockingSessions(config, index=path, tool_output=tool_output) as sessions:
        sessions.search("retries")
        database = sessions._index._connection()
        found = [
            database.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "busy_timeout", "user_version")
        ]
        assert found == ["wal", 1, 30_000, 13 if tool_output else 12]
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        # Where nothing is new, nothing is written.
        assert [info.id for info in sessions.list()] == [MAIN]
        assert uuids(sessions, "retries") == ["u1"]
        other.close()


def test_an_index_in_use_says_what_to_do(
    config: Path, sessions: BlockingSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "BUSY", 0.01)
    sessions.list()
    conversation(config)
    other = sqlite3.connect(config.parent / "index.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError) as caught:
        sessions.list()
    other.close()
    assert str(caught.value) == (
        f"The index {config.parent}/index.db is in use by another process"
        "\nTry again later, or give another index."
    )


def test_an_index_in_memory_is_used_by_several_threads(config: Path, tmp_path: Path) -> None:
    conversation(config)
    (tmp_path / "folder").mkdir()
    sessions = BlockingSessions(config, index=tmp_path / "folder")
    found: list[str] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: found.extend(uuids(sessions, "retries")))
        thread.start()
        thread.join(30)
    assert found == ["u1", "u1"]
    sessions.close()


def test_what_cannot_be_opened_as_an_index_stays_where_it_is(
    config: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    conversation(config)
    (tmp_path / "folder").mkdir()
    with BlockingSessions(config, index=tmp_path / "folder") as sessions:
        assert prompts(sessions) == 2
    assert caplog.messages == [
        f"The index {tmp_path}/folder cannot be kept: unable to open database file"
    ]
    with pytest.raises(ValueError, match=r"null (byte|character)"):
        BlockingSessions(config, index="a\0b/index.db").list()


def test_a_damaged_index_is_removed_with_what_belongs_to_it(
    config: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    conversation(config)
    path = config.parent / "index.db"
    path.write_bytes(b"nothing of the kind" * 100)
    removed: list[str] = []
    unlink = Path.unlink

    def noting(self: Path, missing_ok: bool = False) -> None:
        removed.append(self.name)
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", noting)
    with BlockingSessions(config, index=path) as sessions:
        assert prompts(sessions) == 2
    assert removed == ["index.db", "index.db-wal", "index.db-shm"]
    assert caplog.messages == [f"The index {path} is made anew: file is not a database"]


@pytest.mark.parametrize("damage", ["version", "bytes"])
def test_what_is_not_used_any_more_is_closed(
    config: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    conversation(config)
    path = config.parent / "deep" / "deeper" / "index.db"
    with BlockingSessions(config, index=path) as before:
        before.list()
    if damage == "bytes":
        path.write_bytes(b"nothing of the kind" * 100)
    else:
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 11")
            database.execute("DELETE FROM calls")
        database.close()
    made: list[sqlite3.Connection] = []
    connected = index_module._connected

    def noting(name: str) -> sqlite3.Connection:
        made.append(connected(name))
        return made[-1]

    monkeypatch.setattr(index_module, "_connected", noting)
    with BlockingSessions(config, index=path) as sessions:
        assert sessions.totals()["claude-opus-5-5"].calls == 3
        assert len(made) == 2
        made[1].execute("SELECT 1")
        with pytest.raises(sqlite3.ProgrammingError):
            made[0].execute("SELECT 1")
    with pytest.raises(sqlite3.ProgrammingError):
        made[1].execute("SELECT 1")


def test_tables_that_cannot_be_made_for_another_reason_are_an_error(
    sessions: BlockingSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "_TEXTS", "CREATE nonsense")
    with pytest.raises(sqlite3.OperationalError, match="syntax error"):
        sessions.list()


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (MAIN, "combine"),
        (MAIN, "FactsReader"),
        (MAIN, "lines_of"),
        (MAIN, "texts_of"),
        ("agent-x", "FactsReader"),
        ("agent-x", "lines_of"),
    ],
)
def test_a_defect_is_not_hidden_and_leaves_the_index_as_it_was(
    config: Path,
    sessions: BlockingSessions,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    place: str,
) -> None:
    conversation(config, PLAIN)
    assert len(sessions.search("retries")) == 1
    Writer(config, place).user("retries", sessionId=MAIN)

    def defect(*args: object, **kwargs: object) -> object:
        raise ZeroDivisionError

    def ask() -> None:
        sessions.list()
        sessions.search("retries")

    with monkeypatch.context() as patch:
        patch.setattr(index_module, name, defect)
        with pytest.raises(ZeroDivisionError):
            ask()
    conversation(config)
    assert sorted(info.id for info in sessions.list()) == [MAIN, PLAIN]
    assert len(sessions.search("retries")) == 2 + 1
    assert caplog.messages == []


def test_what_cannot_be_read_to_its_end_is_read_again_from_its_beginning(
    config: Path,
    sessions: BlockingSessions,
    clock: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for id in (MAIN, PLAIN):
        conversation(config, id)
    sessions.list()

    def torn(file: Any, start: int = 0) -> Iterator[object]:
        for count, line in enumerate(lines_of(file, start)):
            if count == 3 and MAIN in file.name:
                raise StoreError("The disk is damaged")
            yield line

    with monkeypatch.context() as patch:
        patch.setattr(index_module, "lines_of", torn)
        assert [hit.session.id for hit in sessions.search("retries")] == [PLAIN]
    assert sorted(hit.session.id for hit in sessions.search("retries")) == [MAIN, PLAIN]
    writer = Writer(config, MAIN)
    writer.path.unlink()
    conversation(config)
    with monkeypatch.context() as patch:
        patch.setattr(index_module, "lines_of", torn)
        sessions.list()
    assert sessions.info(MAIN).replies == 3
    clock.now += 2
    assert sorted(hit.session.id for hit in sessions.search("retries")) == [MAIN, PLAIN]


def test_a_search_looks_for_new_lines_every_two_seconds(
    config: Path, sessions: BlockingSessions, clock: SimpleNamespace
) -> None:
    writer = conversation(config)
    assert uuids(sessions, "retries") == ["u1"]
    writer.user("retries again")
    clock.now += 1.9
    assert uuids(sessions, "retries") == ["u1"]
    clock.now += 0.2
    assert uuids(sessions, "retries") == ["u1", "u7"]
    writer.user("retries at last")
    sessions.list()  # which always looks
    assert uuids(sessions, "retries") == ["u1", "u7", "u8"]


def test_a_line_that_is_added_while_texts_are_read_is_found_once(
    config: Path,
    sessions: BlockingSessions,
    clock: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer = conversation(config)
    sessions.list()
    added = iter(["added"])

    def meanwhile() -> None:
        for uuid in added:
            writer.user("retries too", uuid=uuid)

    with monkeypatch.context() as patch:
        patch.setattr(index_module, "check_cancelled", meanwhile)
        assert uuids(sessions, "retries") == ["u1"]
    clock.now += 2
    assert uuids(sessions, "retries") == ["added", "u1"]


def test_a_session_that_another_process_has_just_forgotten_is_not_found(
    config: Path, sessions: BlockingSessions, clock: SimpleNamespace
) -> None:
    conversation(config)
    assert uuids(sessions, "retries") == ["u1"]
    with sqlite3.connect(config.parent / "index.db") as other:
        other.execute("DELETE FROM sessions")
    other.close()
    assert uuids(sessions, "retries") == []


def replaced_by_another(writer: Writer, content: bytes) -> None:
    """Put another file into the place of this one."""
    other = writer.path.with_suffix(".other")
    other.write_bytes(content)
    other.rename(writer.path)


def rewritten(writer: Writer, content: bytes) -> None:
    with writer.path.open("r+b") as file:
        file.write(content)
        file.truncate()


def new_beginning(content: bytes) -> bytes:
    return content.replace(b"First", b"Third")


def new_end(content: bytes) -> bytes:
    return content[:-9] + b"\n"


@pytest.mark.parametrize(
    ("change", "how", "known"),
    [
        (new_beginning, replaced_by_another, ("Third", 3)),
        (new_beginning, rewritten, ("First", 3)),  # only the end of what was read is compared
        (new_end, replaced_by_another, ("First", 2)),
        (new_end, rewritten, ("First", 2)),
        (bytes.upper, rewritten, ("One more", 1)),
    ],
)
def test_a_file_is_read_anew_if_it_is_another_or_does_not_end_as_it_did(
    config: Path,
    sessions: BlockingSessions,
    change: Callable[[bytes], bytes],
    how: Callable[[Writer, bytes], None],
    known: tuple[str, int],
) -> None:
    writer = Writer(config)
    writer.user("First")
    writer.user("Second")
    assert sessions.info(MAIN).title == "First"
    how(writer, change(writer.path.read_bytes()))
    writer.user("One more")
    info = sessions.info(MAIN)
    assert (info.title, info.prompts) == known


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"user"',
        b'{"a":"\xff',
        b'{"a":"\xff"}',
        b"[" * 5000,
        b"[]",
        b"7",
        b"x" * 2000,
    ],
)
def test_whatever_a_file_ends_with_is_read_once_it_is_a_line(
    config: Path, sessions: BlockingSessions, line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framing.Lines.__init__, "__defaults__", (1000,))
    writer = conversation(config)
    writer.raw(line)
    assert (prompts(sessions), sessions.info(MAIN).bad_lines) == (2, 0)
    assert uuids(sessions, "retries") == ["u1"]
    writer.raw(b"\n")
    writer.user("More")
    assert prompts(sessions) == 3
    is_bad = line != b'{"a":"\xff"}'
    assert sessions.info(MAIN).bad_lines == is_bad


def test_what_is_noted_of_a_long_file_is_kept_piece_by_piece(
    config: Path, sessions: BlockingSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(config)
    for _ in range(5):
        writer.model("Hello")
    pieces: list[int] = []
    add = index_module._add_noted

    def noting(database: Any, file: int, noted: Any) -> None:
        pieces.append(len(noted.calls))
        add(database, file, noted)

    monkeypatch.setattr(index_module, "PIECE", 2)
    monkeypatch.setattr(index_module, "_add_noted", noting)
    assert sessions.info(MAIN).replies == 5
    assert pieces == [2, 2, 1]


def test_what_was_removed_while_nobody_looked_is_forgotten(
    config: Path, sessions: BlockingSessions
) -> None:
    conversation(config)
    other = conversation(config, PLAIN)
    assert len(sessions.search("retries")) == 2
    sessions.close()
    other.path.unlink()
    with BlockingSessions(config, index=config.parent / "index.db") as again:
        assert [info.id for info in again.list()] == [MAIN]
        assert [hit.session.id for hit in again.search("retries")] == [MAIN]
        assert again.totals()["claude-opus-5-5"].calls == 3


def test_a_session_that_comes_back_is_as_it_was(
    config: Path, sessions: BlockingSessions, clock: SimpleNamespace
) -> None:
    writer = conversation(config)
    Writer(config, f"{MAIN}/subagents/agent-a").user("retries", uuid="a1")
    before = sessions.info(MAIN), sessions.totals(), uuids(sessions, "retries")
    for away in (writer.path, writer.path.with_suffix("")):
        away.rename(config / away.name)
    assert sessions.list() == []
    for name in (MAIN, f"{MAIN}.jsonl"):  # as it was: nothing tells that it was away
        (config / name).rename(writer.path.with_name(name))
    clock.now += 2
    assert (sessions.info(MAIN), sessions.totals(), uuids(sessions, "retries")) == before


def test_a_session_was_changed_when_the_last_of_its_files_was(
    config: Path, sessions: BlockingSessions
) -> None:
    writer = conversation(config)
    agent = Writer(config, f"{MAIN}/subagents/agent-a")
    agent.user("Look")
    for path, when in ((writer.path, 1000), (agent.path, 2000.5)):
        os.utime(path, (when, when))
    info = sessions.info(MAIN)
    assert info.modified == 2000.5
    assert info.size == writer.path.stat().st_size + agent.path.stat().st_size


@pytest.mark.parametrize("scanning", [False, True])
def test_all_files_of_a_session_are_searched_the_newest_session_first(
    config: Path, sessions: BlockingSessions, scanning: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scanning:
        monkeypatch.setattr(index_module, "_TEXTS", WITHOUT_FTS)
    for when, id in enumerate((MAIN, PLAIN, "abc")):
        for place, uuid in ((id, "main"), (f"{id}/subagents/agent-a", "inside")):
            writer = Writer(config, place)
            writer.user("A walrus", uuid=uuid)
            os.utime(writer.path, (when, when))
    Writer(config, "agent-x").user("A walrus", uuid="beside", sessionId=MAIN)
    os.utime(config / "projects" / "-project" / "agent-x.jsonl", (0, 0))
    hits = sessions.search("walrus")
    assert sorted((hit.session.id, hit.uuid) for hit in hits) == sorted(
        [
            *((id, uuid) for id in (MAIN, PLAIN, "abc") for uuid in ("main", "inside")),
            (MAIN, "beside"),
        ]
    )
    assert all(hit.rank == 0 if scanning else hit.rank < 0 for hit in hits)
    if scanning:
        assert [hit.session.id for hit in hits] == ["abc", "abc", PLAIN, PLAIN, MAIN, MAIN, MAIN]
    for limit, count in ((-1, 0), (0, 0), (1, 1), (3, 3), (7, 7), (8, 7)):
        assert len(sessions.search("walrus", limit=limit)) == count
