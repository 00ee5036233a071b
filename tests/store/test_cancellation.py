"""Long calls that are cancelled: they end at the next piece, and leave nothing behind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest

from claudewire.store import BlockingSessions, Sessions, SqliteStore, files
from claudewire.store import index as index_module

from .made import MAIN, PLAIN, Writer

pytestmark = pytest.mark.anyio

PIECES = 5
"""Pieces that are read before the call is cancelled."""

Call = Callable[[Sessions, Path], Awaitable[object]]


async def findings(sessions: Sessions, folder: Path) -> object:
    return await (await sessions.open(MAIN)).findings()


async def conversation(sessions: Sessions, folder: Path) -> object:
    transcript = await sessions.open(MAIN)
    async with aclosing(transcript.conversation()) as entries:
        return [entry async for entry in entries]


async def tail(sessions: Sessions, folder: Path) -> object:
    transcript = await sessions.open(MAIN)
    async with aclosing(transcript.tail(from_start=True)) as entries:
        async for entry in entries:
            if entry.uuid == f"u{LINES}":
                return entry
    return None


async def push(sessions: Sessions, folder: Path) -> object:
    store = SqliteStore(folder / "store.db")
    try:
        return await sessions.push(MAIN, store)
    finally:
        store.close()


LINES = 60
CALLS: dict[str, Call] = {
    "list": lambda sessions, folder: sessions.list(),
    "search": lambda sessions, folder: sessions.search("retries"),
    "html": lambda sessions, folder: sessions.export(MAIN, folder / "out.html"),
    "zip": lambda sessions, folder: sessions.export(MAIN, folder / "out.zip"),
    "jsonl": lambda sessions, folder: sessions.export(MAIN, folder / "out.jsonl"),
    "import": lambda sessions, folder: sessions.import_(folder / "in.zip"),
    "fork": lambda sessions, folder: sessions.fork(MAIN),
    "move": lambda sessions, folder: sessions.resume(MAIN, cwd=folder),
    "findings": findings,
    "conversation": conversation,
    "tail": tail,
    "push": push,
}


def long_session(config: Path, id: str) -> Writer:
    writer = Writer(config, id)
    for _ in range(LINES):
        writer.user("How do retries work?" + " x" * 200)
    return writer


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    long_session(tmp_path / "config", MAIN)
    long_session(tmp_path / "other", PLAIN)
    with BlockingSessions(tmp_path / "other") as other:
        other.export(PLAIN, tmp_path / "in.zip", redact=False)
    monkeypatch.setattr(files, "CHUNK", 1000)
    return tmp_path / "config"


def shown(folder: Path) -> dict[str, int]:
    """All files but those of the databases, and the one in which conversations are locked."""
    found = (it for it in folder.rglob("*") if it.is_file() and ".db" not in it.name)
    return {str(it): it.stat().st_size for it in found if it.parent.name != "locks"}


@pytest.mark.parametrize("call", CALLS)
async def test_a_call_that_is_cancelled_ends_at_the_next_piece_and_leaves_nothing(
    config: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = config.parent / "index.db"
    async with Sessions(config, index=index) as sessions:
        if call != "list":
            await sessions.list()
        before, read = shown(config.parent), 0
        with anyio.fail_after(60), anyio.CancelScope() as scope:
            look = files.check_cancelled

            def counted() -> None:
                nonlocal read
                read += 1
                if read == PIECES:
                    anyio.from_thread.run_sync(scope.cancel)
                look()

            with monkeypatch.context() as patch:
                patch.setattr(files, "check_cancelled", counted)
                await CALLS[call](sessions, config.parent)
        assert scope.cancelled_caught
        assert read == PIECES
        assert shown(config.parent) == before
        with anyio.fail_after(60):
            assert await CALLS[call](sessions, config.parent) is not None


async def test_a_search_is_cancelled_inside_the_database_and_the_index_is_kept(
    config: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(index_module, "OPERATIONS", 10)
    async with Sessions(config, index=config.parent / "index.db") as sessions:
        await sessions.search("retries")
        with anyio.fail_after(60), anyio.CancelScope() as scope:
            asked = sessions._blocking._index._rows

            def cancelled(*args: Any) -> Any:
                anyio.from_thread.run_sync(scope.cancel)
                return asked(*args)

            with monkeypatch.context() as patch:
                patch.setattr(sessions._blocking._index, "_rows", cancelled)
                await sessions.search("retries")
        assert scope.cancelled_caught
        assert len(await sessions.search("retries", limit=100)) == LINES
    assert "made anew" not in caplog.text


async def test_a_mirror_that_is_cancelled_has_copied_what_was_there(config: Path) -> None:
    async with Sessions(config, index=config.parent / "index.db") as sessions:
        store = SqliteStore(config.parent / "store.db")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await sessions.mirror(MAIN, store)
        assert len(await store.load({"project_key": "-project", "session_id": MAIN}) or []) == LINES
        store.close()


def test_a_transcript_is_followed_without_async_piece_by_piece(config: Path) -> None:
    with BlockingSessions(config, index=config.parent / "index.db") as sessions:
        entries = sessions.open(MAIN).tail(from_start=True, poll=0)
        assert [it.uuid for it in islice(entries, LINES)][-1] == f"u{LINES}"
        writer = Writer(config)
        writer.user("More", uuid="more")
        assert next(entries).uuid == "more"
