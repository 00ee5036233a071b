"""What is written: whole lines, under the lock, nothing lost, whoever writes at the same time."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.processes import ended

from claudewire.errors import Cause, CLIError
from claudewire.launch import SessionLock
from claudewire.store import BlockingSessions, StoreError, writing

from .killed import ACTIONS
from .made import MAIN, PLAIN, Writer, conversation

pytestmark = pytest.mark.usefixtures("no_file_left_open")

SOON = 60

MANY = """
import sys
from claudewire.errors import CLIError
from claudewire.store import BlockingSessions

config, name, id = sys.argv[1:]
sessions = BlockingSessions(config)
for number in range(20):
    sessions.rename(id, f"{name} {number}")
    sessions.tag(id, f"{name}-{number}")
    try:
        sessions.resume(id)
    except CLIError:
        pass  # the other process holds it just now
"""

THIRD = f"{MAIN[:-1]}3"
FOURTH = f"{MAIN[:-1]}4"
CHANGES: dict[str, Callable[[BlockingSessions, Path], object]] = {
    **ACTIONS,
    "tag": lambda sessions, config: sessions.tag(MAIN, "tagged"),
    "restore": lambda sessions, config: sessions.restore(THIRD),
    "archive": lambda sessions, config: sessions.archive(older_than=timedelta(0)),
    "unarchive": lambda sessions, config: sessions.unarchive(FOURTH),
    "move": lambda sessions, config: sessions.resume(MAIN, cwd=config),
}


def fail_at(count: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let a write fail as on a disk that is read-only; which one it was comes back."""
    left, failed = iter(range(count)), list[str]()

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def replaced(*args: Any, **kwargs: Any) -> Any:
            writes = name != "open" or args[1] & (os.O_CREAT | os.O_RDWR | os.O_WRONLY)
            if writes and not failed and next(left, None) is None:
                failed.append(name)
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(args[0]))
            return call(*args, **kwargs)

        return replaced

    for name in ("open", "write", "link", "rename", "fsync", "mkdir"):
        monkeypatch.setattr(os, name, counted(name, getattr(os, name)))
    return failed


def everything(config: Path) -> dict[str, bytes | None]:
    """All files and folders of a configuration folder."""
    found = (path for path in config.rglob("*") if ".db" not in path.name)
    return {str(it): it.read_bytes() if it.is_file() else None for it in found}


def with_subagents(config: Path, id: str) -> Writer:
    """Write a session with all that one can have beside it."""
    writer = conversation(config, id)
    subagent = {"type": "user", "sessionId": id, "message": {"role": "user", "content": "x"}}
    files = {
        f"{id}/subagents/agent-a1.jsonl": json.dumps(subagent) + "\n",
        f"{id}/subagents/agent-a1.meta.json": "{}",
        f"{id}/tool-results/long.txt": "no newline",
        f"agent-{id[-1]}.jsonl": json.dumps(subagent) + "\n",
    }
    for name, text in files.items():
        path = writer.path.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return writer


def filled(config: Path, source: Path) -> BlockingSessions:
    """A folder in which everything can be tried: here, in the trash, and in the archive."""
    sessions = BlockingSessions(config, index=config / "index.db")
    with_subagents(config, FOURTH)
    sessions.archive(older_than=timedelta(0))
    sessions.delete(FOURTH)
    sessions.empty_trash()
    with_subagents(config, THIRD)
    sessions.delete(THIRD)
    with_subagents(config, MAIN)
    shutil.copy(source, config / "in.zip")
    sessions.list()
    return sessions


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


def test_two_processes_that_rename_tag_and_resume_at_once_lose_nothing(
    config: Path, tmp_path: Path
) -> None:
    writer = conversation(config, cwd=str(tmp_path))
    before = writer.path.read_bytes()
    script = [sys.executable, "-c", MANY, str(config)]
    with (
        ended(subprocess.Popen([*script, "one", MAIN])) as one,
        ended(subprocess.Popen([*script, "two", MAIN])) as two,
    ):
        assert (one.wait(SOON), two.wait(SOON)) == (0, 0)
    after = writer.path.read_bytes()
    assert after.startswith(before)
    added = [json.loads(line) for line in after[len(before) :].splitlines()]
    expected = {f"{name} {number}" for name in ("one", "two") for number in range(20)}
    assert {it["customTitle"] for it in added if it["type"] == "custom-title"} == expected
    assert len(added) == 80


@pytest.mark.unmeasured  # every fork would write its own measurements
@pytest.mark.parametrize("action", ACTIONS)
def test_killed_at_every_write_the_files_are_whole(tmp_path: Path, action: str) -> None:
    content = conversation(tmp_path / "same").path.read_bytes()
    other = conversation(tmp_path / "other", PLAIN)
    killed = tmp_path / "killed"
    killed.mkdir()
    BlockingSessions(tmp_path / "other").export(PLAIN, killed / "in.zip", redact=False)
    program = [sys.executable, "-m", "tests.store.killed", action, str(killed)]
    subprocess.run(program, check=True, timeout=SOON)
    configs = [it for it in killed.iterdir() if it.is_dir()]
    assert 2 < len(configs) < 60
    for config in configs:
        for path in config.rglob("*.jsonl"):
            lines = path.read_bytes().splitlines(keepends=True)
            assert all(line.endswith(b"\n") and json.loads(line) for line in lines)
        (kept,) = config.rglob(f"{MAIN}.jsonl")  # it is either here or in the trash
        assert kept.read_bytes().startswith(content)
        for imported in config.rglob(f"{PLAIN}.jsonl"):
            assert imported.read_bytes() == other.path.read_bytes()


@pytest.mark.parametrize("action", CHANGES)
def test_a_write_that_fails_is_an_error_of_ours_and_leaves_everything_as_it_was(
    tmp_path: Path, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_subagents(tmp_path / "other", PLAIN)
    BlockingSessions(tmp_path / "other").export(PLAIN, tmp_path / "in.zip", redact=False)
    filled(tmp_path / "filled", tmp_path / "in.zip").close()
    errors: list[StoreError] = []
    for count in range(80):
        config = tmp_path / str(count)
        shutil.copytree(tmp_path / "filled", config)
        before, already = everything(config), len(errors)
        with monkeypatch.context() as patch, BlockingSessions(config, index=None) as sessions:
            sessions.list()
            failed = fail_at(count, patch)
            try:
                CHANGES[action](sessions, config)
            except StoreError as error:
                errors.append(error)
        assert (everything(config) == before) == (len(errors) > already), failed
        if not failed:
            break
    assert 1 < count < 79
    assert errors
    assert all("Read-only file system" in str(error) for error in errors)


def test_what_cannot_be_deleted_for_good_is_an_error(
    config: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    conversation(config)
    sessions = BlockingSessions(config)

    def refused(path: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    sessions.delete(MAIN)
    monkeypatch.setattr(shutil, "rmtree", refused)
    with pytest.raises(StoreError, match="cannot be deleted: Read-only file system"):
        sessions.empty_trash()
    assert sessions.restore(MAIN).prompts == 2  # only its place in the trash is still there
    assert "cannot be deleted" in caplog.text


def test_a_session_on_another_disk_than_the_trash_is_deleted_and_restored(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_subagents(config, MAIN)
    before = everything(config / "projects")
    rename = os.rename

    def elsewhere(source: Any, target: Any) -> None:
        if ("trash" in str(source)) != ("trash" in str(target)):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target)

    monkeypatch.setattr(os, "rename", elsewhere)
    sessions = BlockingSessions(config)
    sessions.delete(MAIN)
    assert [it for it in everything(config / "projects").values() if it is not None] == []
    sessions.restore(MAIN)
    assert everything(config / "projects") == before


def test_without_a_place_for_locks_sessions_are_listed_and_not_changed(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    sessions = BlockingSessions(config)
    assert [info.id for info in sessions.list()] == [MAIN]
    with pytest.raises(StoreError, match="cannot be locked"):
        sessions.rename(MAIN, "New")


def test_a_line_is_added_after_half_a_line(config: Path) -> None:
    writer = conversation(config)
    writer.raw(b'{"type": "user", "me')
    BlockingSessions(config).rename(MAIN, "Whole")
    last = writer.path.read_bytes().split(b"\n")
    assert last[-3:-1] == [
        b'{"type": "user", "me',
        b'{"type":"custom-title","customTitle":"Whole","sessionId":"%b"}' % MAIN.encode(),
    ]


def test_a_session_that_is_open_is_not_changed(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config)
    monkeypatch.setattr(writing, "WAIT", 0.0)
    sessions = BlockingSessions(config)
    lock = SessionLock(MAIN, os.path.realpath(config))
    with (
        pytest.raises(CLIError, match="is open already") as caught,
        writing.exclusive(MAIN, config, wait=0.02),
    ):
        pass
    assert caught.value.cause is Cause.SESSION_IN_USE
    lock.release()
    sessions.rename(MAIN, "Free")
    assert sessions.info(MAIN).title == "Free"


def test_a_full_disk_leaves_the_transcript_as_it_was(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = conversation(config)
    before = writer.path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:5]))
    with pytest.raises(StoreError, match="there is room for 5 of"):
        writing.add_line(writer.path, config, b'{"type":"tag"}\n')
    assert writer.path.read_bytes() == before

    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError, match="No space left on device"):
        writing.add_line(writer.path, config, b'{"type":"tag"}\n')
    assert writer.path.read_bytes() == before


def test_half_a_line_stays_if_someone_else_has_written_after_it(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = conversation(config)
    write = os.write

    def short(file: int, data: bytes) -> int:
        count = write(file, data[:5])
        write(file, b'\n{"type":"mode"}\n')
        return count

    monkeypatch.setattr(os, "write", short)
    with pytest.raises(StoreError):
        writing.add_line(writer.path, config, b'{"type":"tag"}\n')
    assert writer.path.read_bytes().endswith(b'{"typ\n{"type":"mode"}\n')


def test_a_line_that_is_not_there_afterwards_is_an_error(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = conversation(config)
    monkeypatch.setattr(os, "write", lambda file, data: len(data))
    with pytest.raises(StoreError, match="is not there"):
        writing.add_line(writer.path, config, b'{"type":"tag"}\n')


def test_links_that_lead_out_are_refused(config: Path, tmp_path: Path) -> None:
    outside = conversation(tmp_path / "outside", PLAIN)
    writer = conversation(config)
    sessions = BlockingSessions(config)
    link = writer.path.with_name(f"{PLAIN}.jsonl")
    link.symlink_to(outside.path)
    (config / "projects" / "-linked").symlink_to(outside.path.parent)
    assert [info.id for info in sessions.list()] == [MAIN]
    with pytest.raises(StoreError, match="leads out of"):
        writing.add_line(link, config / "projects", b"{}\n")
    inside = writer.path.with_name("inside.jsonl")
    inside.symlink_to(writer.path)
    with pytest.raises(StoreError, match="cannot be written to"):
        writing.add_line(inside, config / "projects", b"{}\n")
    assert "inside" in {info.id for info in sessions.list()}


def test_only_regular_files_are_read_and_written(config: Path) -> None:
    writer = conversation(config)
    pipe = writer.path.with_name("pipe.jsonl")
    os.mkfifo(pipe)
    sessions = BlockingSessions(config)
    assert [info.id for info in sessions.list()] == [MAIN]
    with pytest.raises(StoreError, match="is not a regular file"):
        writing.add_line(pipe, config, b"{}\n")


def test_a_new_file_never_replaces_another(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    writing.new_file(path, [b"a", b"b"])
    with pytest.raises(FileExistsError):
        writing.new_file(path, [b"c"])
    assert path.read_bytes() == b"ab"
    assert os.listdir(path.parent) == ["file"]
    assert path.stat().st_mode & 0o777 == 0o600
