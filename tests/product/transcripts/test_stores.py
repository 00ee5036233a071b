"""Stores elsewhere: ours, and any that follows the protocol of the official SDK."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from claudewire.transcripts import (
    SessionInfo,
    SessionStore,
    SqliteStore,
    StoreError,
    StoreKey,
    Transcripts,
    project_folder,
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


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "deep" / "store.db")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


def with_agent(config: Path, cwd: str = "/project") -> Writer:
    writer = conversation(config, cwd=cwd)
    side = Writer(config, f"{MAIN}/subagents/agent-a", cwd)
    side.user("Look", sessionId=MAIN, isSidechain=True)
    return writer


def lines_in(info: SessionInfo) -> list[Any]:
    return [json.loads(line) for line in Path(info.path).read_bytes().splitlines()]


def overwrite(info: SessionInfo, content: bytes) -> None:
    Path(info.path).write_bytes(content)


async def test_store_keeps_entries_once_and_in_order(store: SessionStore) -> None:
    first = [{"type": "user", "uuid": "b"}, {"type": "mode"}, {"type": "user", "uuid": "a"}]
    await store.append(KEY, first)
    await store.append(KEY, [{"type": "user", "uuid": "b", "again": 1}, {"type": "mode"}])
    await store.append(KEY, [])
    assert await store.load(KEY) == [*first, {"type": "mode"}]
    assert await store.load({**KEY, "session_id": "other"}) is None


async def test_stored_sessions_are_listed_the_last_changed_first(store: SqliteStore) -> None:
    for name in ("b", "a", "c", "b"):
        await store.append({"project_key": "p/q", "session_id": name}, [{"type": "x"}])
    part: StoreKey = {"project_key": "p/q", "session_id": "a", "subpath": "s"}
    await store.append(part, [{"type": "x"}])
    assert [it["session_id"] for it in await store.list_sessions("p/q")] == ["b", "c", "a"]
    assert await store.list_sessions("p") == []


async def test_store_outlives_the_process_and_is_private(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "deep" / "s.db")
    await first.append(KEY, [{"type": "x"}])
    with pytest.raises(StoreError, match="needs a project_key and a session_id"):
        await first.append({**KEY, "session_id": ""}, [{"type": "x"}])
    first.close()
    with pytest.raises(StoreError, match=r"cannot be read or written to: .*closed"):
        await first.load(KEY)
    assert await SqliteStore(tmp_path / "deep" / "s.db").load(KEY) == [{"type": "x"}]
    with pytest.raises(StoreError, match=r"cannot be read or written to: .*directory"):
        SqliteStore(tmp_path)
    modes = {it.stat().st_mode & 0o777 for it in (tmp_path / "deep").iterdir()}
    assert (modes, (tmp_path / "deep").stat().st_mode & 0o777) == ({0o600}, 0o700)


async def test_push_copies_only_new_lines(config: Path, store: SqliteStore) -> None:
    writer = with_agent(config)
    writer.raw(b"broken\n")
    with Transcripts(config) as sessions:
        assert await sessions.push(MAIN, store) == 7
        assert await sessions.push(MAIN, store) == 0
        writer.user("More")
        assert await sessions.push(MAIN, store) == 1
        loaded = await store.load(KEY)
        assert loaded is not None
        assert [it["uuid"] for it in loaded] == [f"u{number}" for number in range(1, 8)]
        assert await store.list_subkeys(KEY) == ["subagents/agent-a"]
        await store.append({**KEY, "project_key": "p"}, [{"type": "other"}])
        with pytest.raises(StoreError, match="has diverged"):
            await sessions.push(MAIN, store, project_key="p")


async def test_pulled_session_is_resumed_on_another_machine(
    config: Path, tmp_path: Path, store: SqliteStore
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    writer = with_agent(config, str(here))
    key = project_folder(here)
    with Transcripts(config) as sessions:
        await sessions.push(MAIN, store)
        writer.user("One more")
    with Transcripts(tmp_path / "there") as there:
        info = await there.pull(MAIN, store, cwd=here)
        assert (info.prompts, info.agents) == (2, 1)
        assert (there.resume(MAIN)).resume == MAIN
        assert lines_in(info) == await store.load({"project_key": key, "session_id": MAIN})
        with Transcripts(config) as sessions:
            await sessions.push(MAIN, store)
        for _ in range(2):
            assert (await there.pull(MAIN, store, cwd=here)).prompts == 3
        assert len(lines_in(info)) == 7
        overwrite(info, b'{"type":"user","uuid":"other"}\n')
        with pytest.raises(StoreError, match="has diverged"):
            await there.pull(MAIN, store, cwd=here)
        with pytest.raises(StoreError, match="has no session x"):
            await there.pull("x", store, cwd=here)
        with pytest.raises(StoreError, match="cannot be the id"):
            await there.pull("../x", store, cwd=here)


async def test_mirror_copies_lines_while_the_session_runs(
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

    with Transcripts(config) as sessions:
        async with anyio.create_task_group() as tasks:

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


async def test_lines_reported_by_a_cli_are_stored() -> None:
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


async def test_failed_copy_goes_on_where_it_ended(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "AT_ONCE", 2)
    writer, store = Writer(config), Plain()
    writer.user("First")
    mirror = stores.Mirror(config / "projects", MAIN, store)
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


async def test_pulled_files_stay_in_their_folder(config: Path, tmp_path: Path) -> None:
    class Odd(Plain):
        async def list_subkeys(self, key: Any) -> list[str]:
            return ["subagents/agent-a", "../../../out"]

    store = Odd()
    key = f"{project_folder(tmp_path)}/{MAIN}"
    store.kept[key] = [{"type": "user", "uuid": "u"}]
    store.kept[f"{key}/subagents/agent-a"] = [{"type": "user", "uuid": "v"}]
    with pytest.raises(StoreError, match="cannot be the subpath of a transcript"):
        await Transcripts(config).pull(MAIN, store, cwd=tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["cache", "config"]
    for call in (Transcripts(config).mirror, Transcripts(config).push):
        with pytest.raises(StoreError):
            await call("../*", store)
