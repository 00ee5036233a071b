"""What the store writes is for this user alone, whatever the umask is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from claudewire.store import BlockingSessions, DirectoryStore, SqliteStore
from claudewire.store.sessions import AT_ONCE, iterated

from .made import MAIN, PLAIN, Writer, conversation

pytestmark = pytest.mark.anyio


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """Return the permissions of all that is below a folder."""
    found = [Path(place, name) for place, *names in os.walk(folder) for it in names for name in it]
    return {
        it.relative_to(folder).as_posix(): oct(stat.S_IMODE(it.lstat().st_mode)) for it in found
    }


@pytest.mark.usefixtures("umask")
async def test_stores_are_private(tmp_path: Path) -> None:
    key: Any = {"project_key": "p", "session_id": "s"}
    for store in (
        DirectoryStore(tmp_path / "folder", fold=lambda *_: {"x": 1}),
        SqliteStore(tmp_path / "deep" / "store.db"),
    ):
        await store.append(key, [{"type": "user", "uuid": "u"}])
        part: Any = {**key, "subpath": "subagents/agent-1"}
        await store.append(part, [{"type": "user", "uuid": "v"}])
    found = modes(tmp_path)
    assert found["deep"] == found["folder/p"] == found["folder/p/s/subagents"] == "0o700"
    files = [name for name in found if name.endswith((".jsonl", ".lock"))]
    assert len(files) == 4
    assert {found[name] for name in files} == {"0o600"}


@pytest.mark.usefixtures("umask")
def test_what_becomes_of_a_session_is_private(tmp_path: Path) -> None:
    config = tmp_path / "config"
    conversation(config)
    Writer(config, PLAIN).user("Other")
    with BlockingSessions(config, index=tmp_path / "cache" / "index.db") as sessions:
        fork = sessions.fork(MAIN)
        for name in ("out/a.md", "out/a.html", "out/a.jsonl", "out/a.zip"):
            sessions.export(MAIN, tmp_path / name)
        place = Path(sessions.delete(PLAIN).path)
    found = modes(tmp_path)
    assert found["cache"] == found["out"] == "0o700"
    assert {found[f"out/a.{end}"] for end in ("md", "html", "jsonl", "zip")} == {"0o600"}
    assert found[Path(fork.path).relative_to(tmp_path).as_posix()] == "0o600"
    trash = place.relative_to(tmp_path)
    folders = (trash, trash.parent, trash.parent.parent)
    assert {found[it.as_posix()] for it in folders} == {"0o700"}
    assert found[(trash / "session.json").as_posix()] == "0o600"


async def test_an_iterator_is_read_in_pieces_and_closed_at_the_end() -> None:
    taken: list[int] = []
    ends: list[str] = []

    def numbers() -> Iterator[int]:
        try:
            for number in range(3 * AT_ONCE):
                taken.append(number)
                yield number
        finally:
            ends.append("closed")

    iterator = numbers()
    async with aclosing(iterated(iterator)) as found:
        async for number in found:
            if number == AT_ONCE:
                break
    assert ends == ["closed"]
    assert len(taken) == 2 * AT_ONCE
    assert [it async for it in iterated(iter("abc"))] == ["a", "b", "c"]
