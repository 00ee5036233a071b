from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from claudewire.store import Sessions, Transcript
from claudewire.store.follow import Follower

from .made import MAIN, Writer, conversation

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_file_left_open")]

SOON = 30


def uuids(follower: Follower) -> list[str | None]:
    return [entry.uuid for entry in follower.read()]


def test_what_is_added_comes_when_its_line_is_complete(tmp_path: Path) -> None:
    writer = conversation(tmp_path)
    follower = Follower(writer.path)
    assert uuids(follower) == []
    writer.raw(b'{"type":"user",')
    assert uuids(follower) == []
    writer.raw(b'"uuid":"late"}\n\n')
    assert uuids(follower) == ["late"]
    follower.close()
    follower.close()


def test_it_can_begin_at_the_beginning(tmp_path: Path) -> None:
    follower = Follower(conversation(tmp_path).path, from_start=True)
    assert uuids(follower) == [f"u{number}" for number in range(1, 7)]
    follower.close()


def test_a_file_may_come_later_be_replaced_and_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-project" / f"{MAIN}.jsonl"
    follower = Follower(path)
    assert uuids(follower) == []
    writer = Writer(tmp_path)
    writer.user("Hello")
    assert uuids(follower) == ["u1"]
    path.rename(path.with_suffix(".old"))
    assert uuids(follower) == []
    writer.user("Again")
    assert uuids(follower) == ["u2"]
    path.write_bytes(b"")
    writer.raw(b'{"type":"user"}\n')
    assert uuids(follower) == [None]
    follower.close()


def test_a_file_that_is_away_for_a_while_is_not_read_again(tmp_path: Path) -> None:
    writer = conversation(tmp_path)
    follower = Follower(writer.path)
    away = writer.path.rename(writer.path.with_suffix(".away"))
    assert uuids(follower) == []
    with away.open("ab") as file:
        file.write(b'{"type":"user","uuid":"meanwhile"}\n{"type":')
    assert uuids(follower) == ["meanwhile"]
    assert uuids(follower) == []
    away.rename(writer.path)
    writer.raw(b'"user","uuid":"after"}\n')
    assert uuids(follower) == ["after"]
    follower.close()


def test_it_begins_after_the_last_newline_wherever_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.jsonl"
    contents = ["", "\n", "ab", "ab\n", "\nab", "\n\nab", "abcd\nefgh", "a\nbcdefgh", "abcdefgh\n"]
    for size in range(1, 10):
        monkeypatch.setattr("claudewire.store.follow.CHUNK", size)
        for content in contents:
            path.write_text(content, encoding="utf-8")
            follower = Follower(path)
            with path.open("a", encoding="utf-8") as file:
                file.write("z\n")
            assert [entry.line for entry in follower.read()] == [
                f"{content.rpartition(chr(10))[2]}z".encode()
            ]
            follower.close()


async def test_a_transcript_is_followed_until_the_reader_leaves(tmp_path: Path) -> None:
    writer = conversation(tmp_path)
    async with Sessions(tmp_path, index=tmp_path / "i.db") as sessions:
        transcript = await sessions.open(MAIN)
        seen: list[str | None] = []

        async def read(transcript: Transcript) -> None:
            async with aclosing(transcript.tail(from_start=True, poll=0.01)) as entries:
                async for entry in entries:
                    seen.append(entry.uuid)
                    if entry.uuid == "u7":
                        writer.user("And one more")
                    if entry.uuid == "u8":
                        return

        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read, transcript)
                writer.user("New")
    assert seen == [f"u{number}" for number in range(1, 9)]
