"""Changes on disk: no line is lost, and a failure changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.processes import ended

from claudewire.errors import Cause, CLIError, OptionsError
from claudewire.launch import ConversationLock
from claudewire.transcripts import StoreError, Transcripts, project_folder, writing
from claudewire.transcripts.files import SessionNotFound

from .made import MAIN, PLAIN, Writer, conversation

OLD = timedelta(days=25)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def transcripts(config: Path) -> Iterator[Transcripts]:
    with Transcripts(config) as transcripts:
        yield transcripts


def with_agent(config: Path, id: str = MAIN) -> Writer:
    writer = conversation(config, id)
    Writer(config, f"{id}/subagents/agent-a").user("Look", sessionId=id)
    return writer


def contents(config: Path) -> dict[str, bytes]:
    return {str(it): it.read_bytes() for it in (config / "projects").rglob("*") if it.is_file()}


# --- lines ---------------------------------------------------------------------------------------


def test_title_and_tag_are_one_line_each(config: Path, transcripts: Transcripts) -> None:
    writer = conversation(config)
    writer.raw(b'{"type": "user", "me')  # a killed CLI
    before = writer.path.read_bytes()
    transcripts.rename(MAIN, "A new\x00\nname ")
    transcripts.tag(MAIN, "good")
    info = transcripts.info(MAIN)
    assert (info.title, info.tag) == ("A new name", "good")
    transcripts.tag(MAIN, None)
    assert transcripts.info(MAIN).tag is None
    after = writer.path.read_bytes()
    assert after.startswith(before + b"\n")
    assert len(after[len(before) :].split()) > 3
    with pytest.raises(StoreError, match="must not be empty"):
        transcripts.rename(MAIN, " \n")


MANY = """
import sys
from claudewire.transcripts import Transcripts
config, name, id = sys.argv[1:]
for number in range(20):
    with Transcripts(config) as transcripts:
        transcripts.rename(id, f"{name} {number}")
"""


def test_processes_that_write_at_once_lose_nothing(config: Path) -> None:
    writer = conversation(config)
    before = writer.path.read_bytes()
    script = [sys.executable, "-c", MANY, str(config)]
    with (
        ended(subprocess.Popen([*script, "one", MAIN])) as one,
        ended(subprocess.Popen([*script, "two", MAIN])) as two,
    ):
        assert (one.wait(60), two.wait(60)) == (0, 0)
    after = writer.path.read_bytes()
    assert after.startswith(before)
    titles = {json.loads(line)["customTitle"] for line in after[len(before) :].splitlines()}
    assert titles == {f"{name} {number}" for name in ("one", "two") for number in range(20)}


def test_full_disk_leaves_the_transcript_unchanged(
    config: Path, transcripts: Transcripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = conversation(config)
    transcripts.list()
    before, write = writer.path.read_bytes(), os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, data: write(file, data[:5]))
        with pytest.raises(StoreError, match="there is room for 5 of"):
            writing.add_line(writer.path, b'{"type":"tag"}\n')
    assert writer.path.read_bytes() == before


def test_session_that_runs_is_not_changed(
    config: Path, transcripts: Transcripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config)
    monkeypatch.setattr(writing, "WAIT", 0.02)
    lock = ConversationLock(os.path.realpath(config))
    lock.take(MAIN)
    with pytest.raises(CLIError, match="is open already") as caught:
        transcripts.rename(MAIN, "x")
    assert caught.value.cause is Cause.SESSION_IN_USE
    with pytest.raises(CLIError, match="is open already"):
        transcripts.delete(MAIN)
    lock.release()
    (config / "sessions").mkdir()
    process = {"pid": os.getpid(), "sessionId": MAIN}
    (config / "sessions" / "1.json").write_text(json.dumps(process), encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be deleted: process") as error:
        transcripts.delete(MAIN)
    assert error.value.advice == "End that process first, or work with a fork."


# --- forks ---------------------------------------------------------------------------------------


def test_fork_has_the_conversation_up_to_a_line(config: Path, transcripts: Transcripts) -> None:
    conversation(config)
    fork = transcripts.fork(MAIN, at="u2", title=" My  fork ")
    assert (fork.parent, fork.title, fork.prompts) == (MAIN, "My fork", 1)
    title, *lines = map(json.loads, Path(fork.path).read_bytes().splitlines())
    assert title == {"type": "custom-title", "customTitle": "My fork", "sessionId": fork.id}
    assert [(it["uuid"], it["sessionId"], it["forkedFrom"]) for it in lines] == [
        (f"u{n}", fork.id, {"sessionId": MAIN, "messageUuid": f"u{n}"}) for n in (1, 2)
    ]
    assert transcripts.fork(MAIN).prompts == 2
    with pytest.raises(StoreError, match="has no line zz"):
        transcripts.fork(MAIN, at="zz")
    assert len(transcripts.list()) == 3


def test_failed_fork_leaves_nothing(
    config: Path, transcripts: Transcripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_agent(config)
    transcripts.list()
    before, link = contents(config), os.link
    calls: list[object] = []

    def full(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        link(source, target)

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(StoreError, match="cannot be forked: No space left on device"):
        transcripts.fork(MAIN)
    assert contents(config) == before
    assert len(list((config / "projects").rglob("*"))) == 5


KILLED = """
import os, sys
from claudewire.transcripts import Transcripts
config, id, call = sys.argv[1:]
os.link = lambda source, target: os.kill(os.getpid(), 9)
with Transcripts(config) as transcripts:
    transcripts.fork(id) if call == "fork" else transcripts.export(id, f"{config}/out.md")
"""


@pytest.mark.parametrize("call", ["fork", "export"])
def test_draft_of_a_killed_writer_is_removed_by_the_next(
    config: Path, transcripts: Transcripts, call: str
) -> None:
    with_agent(config)
    subprocess.run([sys.executable, "-c", KILLED, str(config), MAIN, call], timeout=60, check=False)
    (dead,) = config.rglob("*.draft")
    with writing.draft_of(dead.with_name("x")):
        (alive,) = config.rglob("*.draft")
        assert alive != dead
        transcripts.fork(MAIN)
        transcripts.export(MAIN, config / "out.md")
        assert alive.exists()
    assert [*config.rglob("*.draft")] == []


# --- resuming ------------------------------------------------------------------------------------


def test_resume_returns_options(config: Path, transcripts: Transcripts, tmp_path: Path) -> None:
    conversation(config, cwd=str(tmp_path))
    options = transcripts.resume(MAIN)
    assert (options.resume, options.cwd, options.fork_session) == (MAIN, str(tmp_path), False)
    assert options.env == {"CLAUDE_CONFIG_DIR": str(config)}
    lock = ConversationLock(os.path.realpath(config))
    lock.take(MAIN)
    with pytest.raises(CLIError, match="is open already, in process") as caught:
        transcripts.resume(MAIN)
    assert caught.value.cause is Cause.SESSION_IN_USE
    assert transcripts.resume(MAIN, fork=True).fork_session
    lock.release()


def test_moved_project_is_resumed_in_its_new_place(
    config: Path, tmp_path: Path, transcripts: Transcripts
) -> None:
    writer = conversation(config, cwd=str(tmp_path / "gone"))
    with pytest.raises(StoreError, match="is not there"):
        transcripts.resume(MAIN)
    now = tmp_path / "now"
    now.mkdir()
    for _ in range(2):
        assert transcripts.resume(MAIN, cwd=now).cwd == str(now)
    copy = config / "projects" / project_folder(now) / f"{MAIN}.jsonl"
    assert copy.read_bytes() == writer.path.read_bytes()
    transcripts.rename(MAIN, "The newest")
    assert (transcripts.info(MAIN).path, len(transcripts.list())) == (str(copy), 2)
    transcripts.delete(MAIN)
    assert transcripts.list() == []
    assert transcripts.unarchive(MAIN).title == "The newest"


# --- the archive ---------------------------------------------------------------------------------


def test_deleted_session_can_be_brought_back_or_purged(
    config: Path, transcripts: Transcripts
) -> None:
    with_agent(config)
    before = contents(config)
    transcripts.delete(MAIN)
    assert transcripts.list() == []
    assert contents(config) == {}
    assert [info.id for info in transcripts.archived()] == [MAIN]
    assert transcripts.unarchive(MAIN[:-1]).agents == 1
    assert contents(config) == before
    with pytest.raises(StoreError, match=f"There is a session {MAIN} already"):
        transcripts.unarchive(MAIN)
    transcripts.delete(MAIN)
    transcripts.purge(MAIN)
    assert transcripts.archived() == []
    for call in (transcripts.unarchive, transcripts.purge):
        with pytest.raises(SessionNotFound, match=f"no session '{MAIN}' in the archive"):
            call(MAIN)


def test_old_sessions_are_archived_before_the_cli_deletes_them(
    config: Path, transcripts: Transcripts
) -> None:
    old = conversation(config)
    conversation(config, PLAIN)
    then = time.time() - OLD.total_seconds()
    os.utime(old.path, (then, then))
    assert [info.id for info in transcripts.expiring()] == [MAIN]
    assert [info.id for info in transcripts.archive()] == [MAIN]
    assert transcripts.archive() == transcripts.expiring() == []
    side = Writer(config, f"{MAIN}/subagents/agent-x")
    side.user("Later")
    os.utime(side.path, (0, 0))
    assert [info.id for info in transcripts.archive()] == [MAIN]
    content = old.path.read_bytes()
    old.path.unlink()
    assert [info.agents for info in transcripts.archived()] == [1]
    assert transcripts.unarchive(MAIN).id == MAIN
    assert old.path.read_bytes() == content
    assert transcripts.expiring() == []  # the CLI would delete it at once


def test_age_of_another_type_is_refused(transcripts: Transcripts) -> None:
    age: Any = 0
    with pytest.raises(OptionsError, match="must be a timedelta, got 0"):
        transcripts.archive(older_than=age)
    with pytest.raises(OptionsError, match="must be a timedelta, got 0"):
        transcripts.expiring(age)
