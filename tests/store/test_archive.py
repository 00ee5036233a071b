"""What the CLI deletes after a while, and what is kept of it."""

from __future__ import annotations

import logging
import os
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from claudewire.store import BlockingSessions, SessionInfo, StoreError, blocking
from claudewire.tracking import Price

from .made import MAIN, PLAIN, Writer, conversation

NOW = 2_000_000_000
DAY = 86_400
THIRD = f"{MAIN[:-1]}3"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(blocking, "time", SimpleNamespace(time=lambda: float(NOW)))
    return tmp_path / "config"


@pytest.fixture
def sessions(config: Path) -> BlockingSessions:
    return BlockingSessions(config)


def ids(infos: list[SessionInfo]) -> list[str]:
    return sorted(info.id for info in infos)


def changed(path: Path, days: float, seconds: float = 0) -> None:
    """Let a file have been changed so long ago."""
    then = NOW - days * DAY - seconds
    os.utime(path, (then, then))


def add_agent(writer: Writer, text: str = "Look") -> Path:
    path = writer.path.with_suffix("") / "subagents" / "agent-a.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{{"type":"user","message":{{"role":"user","content":"{text}"}}}}\n', "utf-8")
    return path


def without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the archive have copies, as on another disk."""
    link = os.link

    def refuse(source: Path, target: Path) -> None:
        if source.suffix == ".jsonl":
            raise OSError(18, "Invalid cross-device link")
        link(source, target)

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        (None, 30),
        ('{"cleanupPeriodDays": 90}', 90),
        ('{"cleanupPeriodDays": 0.5}', 0.5),
        ('{"cleanupPeriodDays": "7"}', 7),
        ('{"cleanupPeriodDays": "soon"}', 30),
        ('{"cleanupPeriodDays": null}', 30),
        ('{"cleanupPeriodDays": 1e300}', 30),
        ("{}", 30),
        ("[]", 30),
        ("{", 30),
    ],
)
def test_the_settings_say_when_the_cli_deletes(
    config: Path, sessions: BlockingSessions, settings: str | None, days: float
) -> None:
    config.mkdir()
    if settings is not None:
        (config / "settings.json").write_text(settings, encoding="utf-8")
    assert sessions.swept_after == timedelta(days=days)


def test_sessions_expire_that_will_be_deleted_within_a_week_and_have_something_in_them(
    config: Path, sessions: BlockingSessions
) -> None:
    for id, seconds in ((MAIN, 0), (PLAIN, 1)):
        writer = Writer(config, id)
        writer.user("Hi")
        changed(writer.path, 23, seconds)
    only_replies = Writer(config, THIRD)
    only_replies.model("Hello")
    changed(only_replies.path, 23, 2)
    nothing = Writer(config, f"{MAIN[:-1]}4")
    nothing.raw({"type": "mode"})
    changed(nothing.path, 29)
    assert ids(sessions.expiring()) == [PLAIN, THIRD]
    assert sessions.expiring(timedelta(days=6)) == []
    assert ids(sessions.expiring(timedelta(days=8))) == [MAIN, PLAIN, THIRD]
    sessions.archive(older_than=timedelta(days=23, seconds=1))
    assert ids(sessions.expiring()) == [PLAIN]


def test_a_warning_says_once_how_many_sessions_will_be_deleted_soon(
    config: Path, sessions: BlockingSessions, caplog: pytest.LogCaptureFixture
) -> None:
    config.mkdir()
    (config / "settings.json").write_text('{"cleanupPeriodDays": 20}', encoding="utf-8")
    caplog.set_level(logging.WARNING, "claudewire.store")
    for id, seconds in ((MAIN, 1), (PLAIN, 1), (THIRD, 0)):
        writer = conversation(config, id)
        changed(writer.path, 13, seconds)
    for _ in range(2):
        sessions.list(limit=1)
    assert caplog.messages == [
        "The CLI deletes transcripts that have not changed for 20 days, and 2 of them will"
        " be that old within 7 days; archive() keeps them, expiring() lists them"
    ]
    caplog.clear()
    sessions.archive(older_than=timedelta(days=13))
    BlockingSessions(config).list()
    assert caplog.messages == []


def test_sessions_that_have_not_changed_for_20_days_are_archived(
    config: Path, sessions: BlockingSessions
) -> None:
    for id, seconds in ((MAIN, 0), (PLAIN, 1)):
        changed(conversation(config, id).path, 20, seconds)
    assert [info.id for info in sessions.archive()] == [PLAIN]
    assert [info.id for info in sessions.archive(older_than=timedelta(days=19))] == [MAIN]
    assert [info.id for info in sessions.archived()] == [MAIN, PLAIN]  # the last changed first


def test_the_sessions_in_the_archive_have_the_prices_that_were_given(config: Path) -> None:
    writer = Writer(config)
    writer.model("Done", usage={"input_tokens": 1_000_000})
    changed(writer.path, 20, 1)
    sessions = BlockingSessions(config, prices={"claude": Price(4, 20, 0.4, 5)})
    sessions.archive()
    assert [info.cost_usd for info in sessions.archived()] == [4]


def test_only_files_that_have_grown_are_archived_again(
    config: Path, sessions: BlockingSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_links(monkeypatch)
    writer = conversation(config)
    agent = add_agent(writer)
    for path in (writer.path, agent):
        changed(path, 21)
    assert len(sessions.archive()) == 1
    kept = config / "claudewire" / "archive" / "projects" / "-project" / MAIN
    copy = kept / "subagents" / agent.name
    before = copy.stat()
    writer.user("More")
    changed(writer.path, 21)
    assert len(sessions.archive()) == 1
    assert kept.with_suffix(".jsonl").read_bytes() == writer.path.read_bytes()
    assert copy.stat() == before
    add_agent(writer, "Look around")
    changed(agent, 21)
    assert len(sessions.archive()) == 1
    assert copy.read_bytes() == agent.read_bytes()
    agent.write_bytes(b"")  # whatever has happened to it, what is in the archive stays
    changed(agent, 21)
    assert sessions.archive() == []
    assert copy.stat().st_size > 0


def test_of_several_archived_copies_the_newest_is_brought_back_as_if_it_was_new(
    config: Path, sessions: BlockingSessions
) -> None:
    places = ["/one", "/two", "/three"]
    for cwd, days in zip(places, (30, 40, 50), strict=True):
        writer = conversation(config, cwd=cwd)
        agent = add_agent(writer)
        for path in (writer.path, agent):
            changed(path, days)
    sessions.archive()
    sessions.delete(MAIN)
    assert [info.folder for info in sessions.archived()] == ["-one", "-two", "-three"]
    back = sessions.unarchive(MAIN[:-1])
    assert (back.folder, back.agents, back.prompts) == ("-one", 1, 2)
    files = sorted((config / "projects" / "-one").rglob("*.jsonl"))
    assert len(files) == 2
    assert NOW - 30 * DAY not in [path.stat().st_mtime for path in files]
    with pytest.raises(StoreError) as caught:
        sessions.unarchive(MAIN)
    assert str(caught.value).startswith(f"There is a session {MAIN} already, in -one")
    assert caught.value.advice == "Delete that one first."
