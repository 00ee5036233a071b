"""Stores elsewhere: ours, and any that follows the protocol of the official SDK."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.helpers.clock import simulated_time

from claudewire import sync
from claudewire.store import (
    BlockingSessions,
    DirectoryStore,
    SessionInfo,
    Sessions,
    SessionStore,
    SqliteStore,
    StoreError,
    StoreKey,
    fetch_session,
    mirroring,
    project_folder,
    push_session,
    store_mirrored,
    stores,
)
from claudewire.wire import TranscriptMirrorMessage

from .made import MAIN, Writer, conversation

pytestmark = pytest.mark.anyio

KEY: StoreKey = {"project_key": "-project", "session_id": MAIN}


class Plain:
    """A store as an application may write it: nothing but the two methods that are needed."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Any]] = {}
        self.fails = 0

    async def append(self, key: Any, entries: list[Any]) -> None:
        if self.fails:
            self.fails -= 1
            raise ConnectionError("The store is away")
        self.kept.setdefault("/".join(key.values()), []).extend(entries)

    async def load(self, key: Any) -> list[Any] | None:
        return self.kept.get("/".join(key.values()))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(params=["sqlite", "directory"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> SqliteStore | DirectoryStore:
    if request.param == "sqlite":
        return SqliteStore(tmp_path / "deep" / "store.db")
    return DirectoryStore(tmp_path / "store")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


def with_agent(config: Path, cwd: str = "/project") -> Writer:
    writer = conversation(config, cwd=cwd)
    side = Writer(config, "agent-a", cwd)
    side.user("Look", sessionId=MAIN, isSidechain=True)
    folder = writer.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    side.path.rename(folder / "agent-a.jsonl")
    return writer


def lines_in(info: SessionInfo) -> list[Any]:
    return [json.loads(line) for line in Path(info.path).read_bytes().splitlines()]


def transcripts(config: Path) -> dict[str, int]:
    return {it.name: it.stat().st_size for it in config.rglob("*.jsonl")}


def replaced(info: SessionInfo, content: bytes) -> None:
    Path(info.path).write_bytes(content)


async def test_a_store_keeps_what_it_is_given_once_and_in_order(store: SessionStore) -> None:
    first = [{"type": "user", "uuid": "b"}, {"type": "mode"}, {"type": "user", "uuid": "a"}]
    await store.append(KEY, first)
    await store.append(KEY, [{"type": "user", "uuid": "b", "again": 1}, {"type": "mode"}])
    await store.append(KEY, [])
    assert await store.load(KEY) == [*first, {"type": "mode"}]
    odd = [{"uuid": 5}, {"uuid": 5}, {"uuid": None}, {"uuid": None}]
    await store.append(KEY, [*odd, {"uuid": "c"}, {"uuid": "c", "again": 1}])
    assert await store.load(KEY) == [*first, {"type": "mode"}, *odd, {"uuid": "c"}]
    assert await store.load({**KEY, "session_id": "other"}) is None


async def test_a_session_to_which_nothing_was_added_is_not_there(
    store: SqliteStore | DirectoryStore,
) -> None:
    await store.append(KEY, [])
    assert await store.list_sessions("-project") == []


async def test_sessions_in_a_store_are_listed_the_last_changed_first(
    store: SqliteStore | DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["b", "a", "d", "c", "b"]
    for number, name in enumerate(names):
        now = 1_700_000_000.123_456 + number
        monkeypatch.setattr(stores, "time", SimpleNamespace(time=lambda now=now: now))
        await store.append({"project_key": "p/q", "session_id": name}, [{"type": "x"}])
        if isinstance(store, DirectoryStore):
            os.utime(tmp_path / "store" / "p%2Fq" / f"{name}.jsonl", (now, now))
    part: StoreKey = {"project_key": "p/q", "session_id": "a", "subpath": "s"}
    await store.append(part, [{"type": "x"}])
    assert await store.list_sessions("p/q") == [
        {"session_id": name, "mtime": 1_700_000_000_123 + 1000 * number}
        for name, number in (("b", 4), ("c", 3), ("d", 2), ("a", 1))
    ]
    assert await store.list_sessions("p") == []


async def test_an_empty_subpath_is_that_of_the_session(
    tmp_path: Path,
) -> None:
    for kind in (SqliteStore, DirectoryStore):
        place = tmp_path / kind.__name__
        store: Any = kind(place, fold=fold)
        key: StoreKey = {**KEY, "subpath": ""}
        await store.append(key, [{"type": "x"}])
        await store.append({**KEY, "subpath": "a"}, [{"type": "y"}])
        assert await store.load(KEY) == [{"type": "x"}]
        assert len(await store.list_session_summaries("-project")) == 1
        await store.delete(key)
        assert await store.list_subkeys(KEY) == []
        assert await store.list_session_summaries("-project") == []
    # Nothing is left of it, but the folder of the project.
    assert [it.name for it in (tmp_path / "DirectoryStore").rglob("*")] == ["-project"]


async def test_keys_of_any_form_stay_apart(store: SqliteStore | DirectoryStore) -> None:
    odd: list[StoreKey] = [
        {"project_key": "../a", "session_id": ".."},
        {"project_key": "..", "session_id": "a/.."},
        {"project_key": "ä b", "session_id": "x.jsonl", "subpath": "../../y"},
    ]
    for number, key in enumerate(odd):
        await store.append(key, [{"type": "x", "n": number}])
    assert [await store.load(key) for key in odd] == [[{"type": "x", "n": n}] for n in range(3)]
    listed = [await store.list_sessions(it) for it in ("../a", "..", "ä b")]
    assert [[it["session_id"] for it in found] for found in listed] == [[".."], ["a/.."], []]
    assert await store.list_subkeys({"project_key": "ä b", "session_id": "x.jsonl"}) == ["../../y"]
    for key in odd:
        await store.delete(key)
        assert await store.load(key) is None


async def test_a_key_without_a_session_is_refused(store: SessionStore) -> None:
    for key in (("p", ""), ("", "s")):
        with pytest.raises(StoreError, match="needs a project_key and a session_id"):
            await store.append({"project_key": key[0], "session_id": key[1]}, [{"type": "x"}])


async def test_a_part_of_a_session_is_deleted_alone(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    whole: Any = {"project_key": "p", "session_id": "s"}
    parts: list[Any] = [{**whole, "subpath": it} for it in ("a", "a/b", "c")]
    for key in (whole, *parts):
        await store.append(key, [{"type": "user", "uuid": "u"}])
    await store.delete(parts[0])
    assert await store.list_subkeys(whole) == ["a/b", "c"]
    await store.delete(whole)
    assert await store.list_subkeys(whole) == []
    assert await store.load(whole) in (None, [])


async def test_a_store_survives_the_process(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "s.db")
    await first.append(KEY, [{"type": "x"}])
    first.close()
    with pytest.raises(StoreError, match=r"cannot be read or written to: .*closed"):
        await first.load(KEY)
    assert await SqliteStore(tmp_path / "s.db").load(KEY) == [{"type": "x"}]


async def test_a_store_is_in_the_directory_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name in ("~/deep/s.db", "relative.db"):
        store = SqliteStore(name)
        await store.append(KEY, [{"type": "x"}])
        store.close()
    assert (tmp_path / "home" / "deep" / "s.db").exists()
    assert (tmp_path / "relative.db").exists()
    store = SqliteStore(":memory:")
    await store.append(KEY, [{"type": "x"}])
    store.close()
    assert not (tmp_path / ":memory:").exists()


async def test_a_store_is_read_while_another_process_writes_and_written_to_after_a_while(
    tmp_path: Path,
) -> None:
    store = SqliteStore(tmp_path / "s.db")
    await store.append(KEY, [{"type": "x"}])
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert await store.load(KEY) == [{"type": "x"}]
    other.close()
    waits = store._database.execute("PRAGMA busy_timeout").fetchone()
    assert waits == (stores.BUSY * 1000,) == (10_000,)


async def test_half_a_line_in_a_directory_is_ended_only_to_add_another(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    await store.append(KEY, [{"uuid": "a"}])
    path = tmp_path / "-project" / f"{MAIN}.jsonl"
    with path.open("ab") as file:
        file.write(b'{"uuid":')
    await store.append(KEY, [{"uuid": "a"}])
    assert path.read_bytes() == b'{"uuid":"a"}\n{"uuid":'
    await store.append(KEY, [{"uuid": "b"}])
    assert path.read_bytes() == b'{"uuid":"a"}\n{"uuid":\n{"uuid":"b"}\n'
    assert await store.load(KEY) == [{"uuid": "a"}, {"uuid": "b"}]


async def test_entries_that_cannot_be_written_leave_the_store_as_it_was() -> None:
    store = SqliteStore(":memory:", fold=lambda before, key, entries: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await store.append(KEY, [{"type": "x"}])
    assert await store.load(KEY) is None


def fold(before: Any, key: Any, entries: Any) -> dict[str, Any]:
    """As the official SDK's: what a summary is, only it knows."""
    count = len(entries) + (0 if before is None else before["data"]["count"])
    return {"session_id": key["session_id"], "mtime": 0, "data": {"count": count}}


@pytest.mark.parametrize("kind", ["sqlite", "directory"])
async def test_summaries_are_kept_for_the_official_sdk_if_it_gives_its_function(
    tmp_path: Path, kind: str
) -> None:
    is_sqlite = kind == "sqlite"
    place = tmp_path / "place"
    store: Any = SqliteStore(place, fold=fold) if is_sqlite else DirectoryStore(place, fold=fold)
    for number in range(3):
        await store.append(KEY, [{"type": "x", "n": number}])
    await store.append({**KEY, "subpath": "subagents/agent-a"}, [{"type": "x"}])
    (summary,) = await store.list_session_summaries("-project")
    (listed,) = await store.list_sessions("-project")
    assert summary["data"] == {"count": 3}
    assert summary["mtime"] >= listed["mtime"] > 1e12
    await store.delete({**KEY, "subpath": "subagents/agent-a"})
    assert await store.list_subkeys(KEY) == []
    assert len(await store.load(KEY)) == 3
    await store.delete(KEY)
    assert await store.list_session_summaries("-project") == []
    assert await store.list_sessions("-project") == []


async def test_a_store_without_the_function_has_no_summaries(store: SessionStore) -> None:
    assert not hasattr(store, "list_session_summaries")


async def test_a_session_is_pushed_to_a_store_and_only_what_is_new_the_next_time(
    config: Path, store: SqliteStore | DirectoryStore
) -> None:
    writer = with_agent(config)
    writer.raw(b"broken\n")
    async with Sessions(config) as sessions:
        assert await sessions.push(MAIN, store) == 7
        assert await sessions.push(MAIN, store) == 0
        writer.user("More")
        assert await sessions.push(MAIN, store) == 1
        loaded = await store.load(KEY)
        assert loaded is not None
        assert [it["uuid"] for it in loaded] == [f"u{number}" for number in range(1, 8)]
        assert await store.list_subkeys(KEY) == ["subagents/agent-a"]
        await store.append({**KEY, "project_key": "p"}, [{"type": "other"}])
        with pytest.raises(StoreError, match="has another session"):
            await sessions.push(MAIN, store, project_key="p")


async def test_a_long_session_is_pushed_in_pieces_and_lines_that_repeat_are_kept_once(
    config: Path, store: SqliteStore | DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "AT_ONCE", 4)
    writer = conversation(config)
    writer.user("Again", uuid="u2")
    writer.raw({"type": "mode"})
    writer.raw(b'{"type": "half"}')
    async with Sessions(config) as sessions:
        await sessions.push(MAIN, store)
        for _ in range(2):
            assert await sessions.push(MAIN, store) == 0
        writer.raw(b"\n")
        assert await sessions.push(MAIN, store) == 1
    kept = await store.load(KEY)
    assert kept is not None
    assert [it.get("uuid", it["type"]) for it in kept] == [
        *[f"u{number}" for number in range(1, 7)],
        "mode",
        "half",
    ]


async def test_a_session_in_a_store_is_resumed_on_another_machine(
    config: Path, tmp_path: Path, store: SqliteStore | DirectoryStore
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    writer = with_agent(config, str(here))
    key = project_folder(here)
    async with Sessions(config) as sessions:
        await sessions.push(MAIN, store)
        writer.user("One more")
    async with Sessions(tmp_path / "there") as there:
        info = await there.pull(MAIN, store, cwd=here)
        assert (info.prompts, info.agents) == (2, 1)
        assert (await there.resume(MAIN)).resume == MAIN
        assert lines_in(info) == await store.load({"project_key": key, "session_id": MAIN})
        async with Sessions(config) as sessions:
            await sessions.push(MAIN, store)
        for _ in range(2):
            assert (await there.pull(MAIN, store, cwd=here)).prompts == 3
        assert len(lines_in(info)) == 7
        replaced(info, b'{"type":"user","uuid":"other"}\n')
        with pytest.raises(StoreError, match="has gone another way"):
            await there.pull(MAIN, store, cwd=here)
        with pytest.raises(StoreError, match="has no session x"):
            await there.pull("x", store, cwd=here)
        with pytest.raises(StoreError, match="cannot be the id"):
            await there.pull("../x", store, cwd=here)


async def test_a_store_without_subkeys_gives_the_main_conversation(
    config: Path, tmp_path: Path
) -> None:
    with_agent(config)
    store = Plain()
    async with Sessions(config) as sessions:
        await sessions.push(MAIN, store)
    async with Sessions(tmp_path / "there") as there:
        info = await there.pull(MAIN, store, cwd="/project")
        assert (info.prompts, info.agents) == (2, 0)


async def test_a_session_is_mirrored_while_it_runs(
    config: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Plain()
    store.fails = 1
    place = f"-project/{MAIN}"

    def kept() -> int:
        return len(store.kept.get(place, ()))

    async def until(test: Callable[[], bool]) -> None:
        with anyio.fail_after(30):
            while not test():  # noqa: ASYNC110 - a store knows no events
                await anyio.sleep(0.01)

    async with Sessions(config) as sessions, anyio.create_task_group() as tasks:

        async def mirror() -> None:
            await sessions.mirror(MAIN, store, poll=0.01)

        tasks.start_soon(mirror)
        writer = conversation(config)
        await until(lambda: kept() == 6)
        writer.raw(b'{"type": "user", ')
        writer.raw(b'"uuid": "late"}\n')
        await until(lambda: kept() == 7)
        writer.user("The end")
        tasks.cancel_scope.cancel()
    assert kept() == 8
    assert caplog.messages == [
        f"The session {MAIN} could not be copied to the store: The store is away"
    ]


async def test_a_mirror_of_no_session_is_refused(config: Path) -> None:
    async with Sessions(config) as sessions:
        with pytest.raises(StoreError, match="cannot be the id of a session"):
            await sessions.mirror("../*", Plain())


async def test_what_a_cli_reports_is_stored() -> None:
    store = Plain()
    path = f"/cage/config/projects/-project/{MAIN}"
    entries = [{"type": "user", "uuid": "a"}]
    for name in (f"{path}.jsonl", f"{path}/subagents/deep/agent-1.jsonl"):
        await store_mirrored(TranscriptMirrorMessage(file_path=name, entries=entries), store)
    assert list(store.kept) == [
        f"-project/{MAIN}",
        f"-project/{MAIN}/subagents/deep/agent-1",
    ]
    await store_mirrored(TranscriptMirrorMessage(file_path="/x"), store)
    with pytest.raises(StoreError, match="is no transcript"):
        await store_mirrored(TranscriptMirrorMessage(file_path="/x", entries=entries), store)
    with pytest.raises(StoreError, match="is no transcript"):
        mirroring.key_of(Path("/elsewhere/x.jsonl"), Path("/projects"))


def test_the_blocking_face_pushes_and_pulls(config: Path, tmp_path: Path) -> None:
    conversation(config)
    store = SqliteStore(":memory:")
    with sync.Sessions(config) as here, sync.Sessions(tmp_path / "there") as there:
        assert here.push(MAIN, store) == 6
        assert there.pull(MAIN, store, cwd="/project").prompts == 2
        assert there.open(MAIN).id == MAIN


def test_several_processes_can_add_to_a_directory(tmp_path: Path) -> None:
    async def add(name: str) -> None:
        store = DirectoryStore(tmp_path)
        for number in range(20):
            await store.append(KEY, [{"type": "x", "uuid": f"{name}{number}"}])

    threads = [threading.Thread(target=anyio.run, args=(add, name)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = anyio.run(DirectoryStore(tmp_path).load, KEY)
    assert kept is not None
    assert len({it["uuid"] for it in kept}) == len(kept) == 40


async def test_a_store_whose_disk_cannot_be_written_to_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = DirectoryStore(tmp_path / "file")
    key: StoreKey = {"project_key": "p", "session_id": "s"}
    with pytest.raises(StoreError, match="cannot be read or written to"):
        await store.append(key, [{"uuid": "u1"}])


async def test_a_mirror_copies_each_line_once_in_pieces_and_what_follows_later(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "AT_ONCE", 2)
    given: list[list[str]] = []

    class Noting(Plain):
        async def append(self, key: Any, entries: list[Any]) -> None:
            await super().append(key, entries)
            given.append([it["uuid"] for it in entries])

    writer, store = Writer(config), Noting()
    for _ in range(3):
        writer.user("Hi")
    mirror = mirroring.Mirror(BlockingSessions(config), MAIN, store, project_key="p")
    assert [await mirror.copy() for _ in range(2)] == [3, 0]
    assert given == [["u1", "u2"], ["u3"]]
    writer.raw(b'\n{"type":"user","uuid":"half"')
    assert await mirror.copy() == 0
    writer.raw(b"}\n")
    for _ in range(3):
        writer.user("More")
    store.fails = 1
    with pytest.raises(ConnectionError):
        await mirror.copy()
    assert await mirror.copy() == 4
    assert given[2:] == [["half", "u4"], ["u5", "u6"]]
    assert list(store.kept) == [f"p/{MAIN}"]
    writer.user("Last")
    agent = Writer(config, f"{MAIN}/subagents/deep/agent-a")
    agent.user("Look", uuid="a1")
    assert await mirror.copy() == 2
    assert given[4:] == [["u7"], ["a1"]]
    assert list(store.kept) == [f"p/{MAIN}", f"p/{MAIN}/subagents/deep/agent-a"]


async def test_a_mirror_that_fails_in_the_middle_of_what_is_new_goes_on_there(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "AT_ONCE", 2)
    writer, store = Writer(config), Plain()
    writer.user("First")
    mirror = mirroring.Mirror(BlockingSessions(config), MAIN, store)
    await mirror.copy()
    for _ in range(4):
        writer.user("Hi")
    append, calls = store.append, 0

    async def refuse_the_second(key: Any, entries: list[Any]) -> None:
        nonlocal calls
        calls += 1
        store.fails = calls == 2
        await append(key, entries)

    monkeypatch.setattr(store, "append", refuse_the_second)
    with pytest.raises(ConnectionError):
        await mirror.copy()
    assert await mirror.copy() == 2
    assert [it["uuid"] for it in store.kept[f"-project/{MAIN}"]] == [f"u{n}" for n in range(1, 6)]


async def test_a_store_may_have_what_the_disk_has_and_nothing_else(config: Path) -> None:
    writer = Writer(config)
    lines = [{"type": "user", "uuid": uuid} for uuid in ("a", "b", "a", "c")]
    for line in lines:
        writer.raw(line)
    a, b, _, c = lines
    outcomes: list[object] = []
    for there in ([], [a], [a, b], [a, b, c], [b], [a, c], [a, b, c, a], [a, b, a]):
        store = Plain()
        store.kept[f"-project/{MAIN}"] = [*there]
        try:
            outcomes.append(await push_session(BlockingSessions(config), MAIN[:-1], store))
        except StoreError:
            outcomes.append("other")
    # What a store has more than the disk was written elsewhere, after what is here.
    assert outcomes == [4, 2, 1, 0, "other", "other", 0, "other"]


async def test_a_session_that_is_here_is_completed_from_a_store(
    config: Path, tmp_path: Path
) -> None:
    a, b, c = ({"type": "user", "uuid": uuid} for uuid in "abc")
    store = Plain()
    folder = project_folder(tmp_path)
    outcomes: dict[str, object] = {}
    path = config / "projects" / folder / f"{MAIN}.jsonl"
    path.parent.mkdir(parents=True)
    for here, there in (
        ([], [a, b]),
        ([a], [a, b, c]),
        ([a, a, b], [a, b, c]),
        ([a, b, c], [a, b]),
        ([b], [a, b]),
        ([a, c], [a, b]),
    ):
        lines = b"".join(json.dumps(it).encode() + b"\n" for it in here)
        path.write_bytes(lines + b"half")
        store.kept[f"p/{MAIN}"] = [*there]
        name = f"{[it['uuid'] for it in here]} {[it['uuid'] for it in there]}"
        try:
            await fetch_session(
                BlockingSessions(config), store, MAIN, cwd=tmp_path, project_key="p"
            )
            outcomes[name] = path.read_bytes().removeprefix(lines)
        except StoreError:
            outcomes[name] = "another way"
    added = {it["uuid"]: json.dumps(it, separators=(",", ":")).encode() + b"\n" for it in (a, b, c)}
    assert outcomes == {
        "[] ['a', 'b']": b"half\n" + added["a"] + added["b"],
        "['a'] ['a', 'b', 'c']": b"half\n" + added["b"] + added["c"],
        "['a', 'a', 'b'] ['a', 'b', 'c']": b"half\n" + added["c"],
        "['a', 'b', 'c'] ['a', 'b']": b"half",
        "['b'] ['a', 'b']": "another way",
        "['a', 'c'] ['a', 'b']": "another way",
    }


async def test_what_is_fetched_stays_in_its_folder(config: Path, tmp_path: Path) -> None:
    class Odd(Plain):
        async def list_subkeys(self, key: Any) -> list[str]:
            return ["subagents/agent-a", "subagents/agent-none", "../../../out"]

    store = Odd()
    key = f"{project_folder(tmp_path)}/{MAIN}"
    store.kept[key] = [{"type": "user", "uuid": "u"}]
    store.kept[f"{key}/subagents/agent-a"] = [{"type": "user", "uuid": "v"}]
    with pytest.raises(StoreError, match="leads out of"):
        await fetch_session(BlockingSessions(config), store, MAIN, cwd=tmp_path)
    assert transcripts(config) == {"agent-a.jsonl": 27, "agent-none.jsonl": 0}


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/p/f/s.jsonl", {"project_key": "f", "session_id": "s"}),
        (
            "/p/f/s/subagents/agent-a.jsonl",
            {"project_key": "f", "session_id": "s", "subpath": "subagents/agent-a"},
        ),
        ("/p/f/s/a.jsonl", {"project_key": "f", "session_id": "s", "subpath": "a"}),
        ("/p/s.jsonl", None),
        ("/p/f/s.json", None),
        ("/q/f/s.jsonl", None),
        ("/p", None),
    ],
)
def test_a_key_follows_from_the_place_of_a_transcript(path: str, key: StoreKey | None) -> None:
    if key is None:
        with pytest.raises(StoreError, match="is no transcript in /p"):
            mirroring.key_of(Path(path), Path("/p"))
        return
    assert mirroring.key_of(Path(path), Path("/p")) == key
    named: StoreKey = {**key, "project_key": "mine"}
    assert mirroring.key_of(Path(path), Path("/p"), "mine") == named


@simulated_time
async def test_a_mirror_that_ends_waits_ten_seconds_for_its_store(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hanging(Plain):
        async def load(self, key: Any) -> list[Any] | None:
            await anyio.sleep_forever()
            return None

    async def at_once(function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)  # simulated time would not wait for a thread

    monkeypatch.setattr(anyio.to_thread, "run_sync", at_once)
    conversation(config)
    mirror = mirroring.Mirror(BlockingSessions(config), MAIN, Hanging())
    start = anyio.current_time()
    with anyio.move_on_after(5):
        await mirror.run()
    assert anyio.current_time() - start == pytest.approx(5 + 10)
