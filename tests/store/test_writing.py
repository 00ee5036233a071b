"""What is written: whole lines, under the lock, nothing lost, whoever writes at the same time."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.helpers.kept import Kept, normal
from tests.helpers.processes import ended

from claudewire.errors import Cause, CLIError
from claudewire.launch import SessionLock
from claudewire.store import BlockingSessions, StoreError, project_folder, trash, writing

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

NEW = re.compile(r"\d{16}(?=-)|(?<=\.)[0-9a-f]{32}")
"""Names of places in the trash, and of drafts."""

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
                place = None if isinstance(args[0], int) else str(args[0])
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), place)
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
    tmp_path: Path, action: str, monkeypatch: pytest.MonkeyPatch, kept: Kept
) -> None:
    with_subagents(tmp_path / "other", PLAIN)
    BlockingSessions(tmp_path / "other").export(PLAIN, tmp_path / "in.zip", redact=False)
    filled(tmp_path / "filled", tmp_path / "in.zip").close()
    errors: list[StoreError] = []
    rows: list[str] = []
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
        said = str(errors[-1]).partition("\n")[0] if len(errors) > already else "done"
        places = {"config": config, "project": project_folder(config), "folder": tmp_path}
        rows.append(normal(f"{failed}: {said}\n", **places))
        assert (everything(config) == before) == (len(errors) > already), failed
        if not failed:
            break
    assert 1 < count < 79
    assert errors
    assert all("Read-only file system" in str(error) for error in errors)
    kept(f"writes-{action}.txt", NEW.sub("<new>", "".join(rows)))


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


def test_of_several_sessions_in_the_trash_each_is_restored_by_its_id(config: Path) -> None:
    for id in (MAIN, PLAIN, THIRD):
        with_subagents(config, id)
    sessions = BlockingSessions(config)
    before = everything(config / "projects")
    for id in (PLAIN, MAIN, THIRD):
        sessions.delete(id)
    unreadable = config / "claudewire" / "trash" / "odd" / "session.json"
    unreadable.mkdir(parents=True)
    assert [it.id for it in sessions.trash()] == [THIRD, MAIN, PLAIN]
    for id in (MAIN, PLAIN, THIRD):
        assert sessions.restore(id).id == id
    assert everything(config / "projects") == before
    assert os.listdir(unreadable.parents[1]) == ["odd"]


def test_a_folder_beside_a_session_that_is_a_link_stays_where_it_is(
    config: Path, tmp_path: Path
) -> None:
    writer = conversation(config)
    (tmp_path / "outside").mkdir()
    link = writer.path.with_suffix("")
    link.symlink_to(tmp_path / "outside")
    sessions = BlockingSessions(config)
    trashed = sessions.delete(MAIN)
    assert link.is_symlink()
    assert sorted(os.listdir(trashed.path)) == [f"{MAIN}.jsonl", "session.json"]
    link.unlink()
    link.write_text("", encoding="utf-8")
    sessions.restore(MAIN)
    trashed = sessions.delete(MAIN)
    assert link.exists()
    assert sorted(os.listdir(trashed.path)) == [f"{MAIN}.jsonl", "session.json"]


def test_what_is_in_the_way_of_a_restored_session_stays_as_it_is(config: Path) -> None:
    writer = with_subagents(config, MAIN)
    sessions = BlockingSessions(config)
    trashed = sessions.delete(MAIN)
    other = writer.path.with_suffix("") / "subagents" / "agent-new.jsonl"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"{}\n")
    sessions.restore(MAIN)
    assert os.listdir(other.parent) == ["agent-new.jsonl"]
    assert (writer.path.parent / f"agent-{MAIN[-1]}.jsonl").exists()
    assert not Path(trashed.path).exists()


def test_a_trash_is_emptied_of_what_has_been_there_for_so_long(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = BlockingSessions(config)
    for second, id in enumerate((MAIN, PLAIN, THIRD)):
        conversation(config, id)
        monkeypatch.setattr(trash, "time", SimpleNamespace(time=lambda now=second: 1000.0 + now))
        assert sessions.delete(id).deleted == 1000 + second
    assert [Path(it.path).name for it in sessions.trash()] == [
        f"1002000000-{THIRD}",
        f"1001000000-{PLAIN}",
        f"1000000000-{MAIN}",
    ]
    monkeypatch.setattr(trash, "time", SimpleNamespace(time=lambda: 1011.0))
    assert sessions.empty_trash(older_than=timedelta(seconds=10)) == 2
    assert [it.id for it in sessions.trash()] == [THIRD]
    assert sessions.empty_trash() == 1


def test_whoever_changes_a_session_waits_for_another_who_does(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config)
    lock = SessionLock(MAIN, os.path.realpath(config))
    now, pauses = 100.0, list[float]()

    def sleep(seconds: float) -> None:
        nonlocal now
        now += 1.0
        pauses.append(seconds)
        if len(pauses) == 3:
            lock.release()

    clock = SimpleNamespace(monotonic=lambda: now, sleep=sleep)
    monkeypatch.setattr(writing, "time", clock)
    sessions = BlockingSessions(config)
    sessions.rename(MAIN, "After a while")
    assert pauses == [writing.PAUSE] * 3
    assert sessions.info(MAIN).title == "After a while"
    again = SessionLock(MAIN, os.path.realpath(config))
    with pytest.raises(CLIError, match="is open already"):
        sessions.rename(MAIN, "Never")
    assert len(pauses) == 3 + 5
    again.release()


def test_everything_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[object] = []
    fsync, link = os.fsync, os.link

    def synced(file: int) -> None:
        found = os.fstat(file)
        done.append("folder" if stat.S_ISDIR(found.st_mode) else found.st_size)
        fsync(file)

    def linked(source: Any, target: Any) -> None:
        done.append("named")
        link(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "link", linked)
    writing.new_file(tmp_path / "deep" / "file", [b"some", b"thing"])
    assert done == [9, "named", "folder"]
    done.clear()
    writing.add_line(tmp_path / "deep" / "file", tmp_path, b"{}\n")
    assert done == [9 + 1 + 3]


def test_a_folder_that_another_process_makes_meanwhile_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "one" / "two"
    folder.mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "exists", lambda self: self == tmp_path)
        with writing.steps("It cannot be made") as step:
            step.make(folder / "file", [b"x"])
    assert (folder / "file").read_bytes() == b"x"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(30, "Read-only file system", "/a/b"), "Read-only file system: /a/b"),
        (OSError(30, "Read-only file system"), "Read-only file system"),
        (OSError("odd"), "odd"),
    ],
)
def test_a_step_that_fails_says_what_and_where(error: OSError, said: str) -> None:
    with pytest.raises(StoreError) as caught, writing.steps("The session cannot be moved"):
        raise error
    assert str(caught.value) == (
        f"The session cannot be moved: {said}\nNothing was changed. Make the folder writable,"
        " make room on the disk, or remove what is in the way."
    )


def test_steps_are_undone_whatever_has_ended_them(tmp_path: Path) -> None:
    (tmp_path / "here").write_bytes(b"x")

    def interrupted(step: writing.Steps) -> None:
        step.make(tmp_path / "deep" / "made", [b"y"])
        step.keep(tmp_path / "here", tmp_path / "linked", tmp_path)
        step.copy(tmp_path / "here", tmp_path / "copied", tmp_path)
        step.move(tmp_path / "here", tmp_path / "deep" / "moved")
        (tmp_path / "deep" / "other").mkdir()  # somebody else's: so the folder stays
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), writing.steps("No") as step:
        interrupted(step)
    assert everything(tmp_path) == {
        str(tmp_path / "here"): b"x",
        str(tmp_path / "deep"): None,
        str(tmp_path / "deep" / "other"): None,
    }


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
    monkeypatch.setenv("XDG_CACHE_HOME", "~nobody-has-this-name")
    with pytest.raises(StoreError, match="cannot be locked: There is no home directory"):
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
