"""What goes wrong in a way that nobody has thought of is not hidden."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from claudewire.content import Document, Image
from claudewire.recordings import compare, read
from claudewire.store import BlockingSessions
from claudewire.store.files import chunks_of, find_sessions, loose_agents, open_inside
from claudewire.store.follow import Follower
from claudewire.store.writing import add_line, steps
from claudewire.transport import Recording

from .made import MAIN, PLAIN, Writer, conversation

STORE = "claudewire.store"


class Broken(Exception):
    """None of the errors that a call may raise."""


def broken(*args: Any, **options: Any) -> Any:
    raise Broken


class Place:
    """A folder in which everything can be tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "config"
        self.root = self.config / "projects"
        self.main = conversation(self.config).path
        self.sessions = BlockingSessions(self.config, index=folder / "index.db")
        self.zip = self.sessions.export(MAIN, folder / "out.zip", redact=False)
        (self.main.parent / "link.jsonl").symlink_to(self.main)
        Writer(self.config, "agent-x").user("Look", sessionId=MAIN)
        Writer(self.config, f"{MAIN}/subagents/agent-y").user("Look")
        self.main.with_suffix("").joinpath("subagents/agent-y.meta.json").write_text("{}", "utf-8")
        conversation(self.config, PLAIN)
        self.sessions.delete(PLAIN)
        (self.config / "sessions").mkdir()
        running = {"pid": os.getpid(), "sessionId": MAIN, "procStart": "1"}
        (self.config / "sessions" / "1.json").write_text(json.dumps(running), encoding="utf-8")
        self.recording = folder / "recording.jsonl"
        self.recording.write_bytes(Recording().dump())
        self.sessions.list()
        self.sessions.search("retries")

    def odd(self) -> Any:
        """Add a line that fits no declared type."""
        Writer(self.config).user("Odd", gitBranch=5, timestamp=5)
        return self.sessions.open(MAIN)

    def move(self) -> None:
        with steps("It cannot be moved") as step:
            step.move(self.main, self.folder / "moved")

    def keep(self) -> None:
        with steps("It cannot be kept") as step:
            step.keep(self.main, self.folder / "kept", self.root)


def followed(place: Place) -> None:
    with closing(Follower(place.main)) as follower:
        follower.read()


def opened(place: Place) -> None:
    with open_inside(place.main, place.root):
        pass


LINE = b'{"claudewire": 1}\n{"t": 0, "dir": "<", "line": "{}"}\n'
CASES: dict[str, tuple[str, Callable[[Place], object]]] = {
    "hit": (f"{STORE}.blocking.open_inside", lambda it: it.sessions.search("retries")),
    "export": (f"{STORE}.blocking.new_file", lambda it: it.sessions.export(MAIN, "x.md")),
    "import": (f"{STORE}.blocking.project_folder", lambda it: it.sessions.import_(it.zip)),
    "bundle": ("zipfile.is_zipfile", lambda it: it.sessions.import_(it.zip)),
    "project": ("os.path.expanduser", lambda it: it.sessions.list(project="/x")),
    "inside": ("os.path.realpath", lambda it: it.sessions.list(project="/x")),
    "settings": (f"{STORE}.blocking.timedelta", lambda it: it.sessions.swept_after),
    "scandir": ("os.scandir", lambda it: find_sessions(it.root)),
    "stamp": (f"{STORE}.files._leads_inside", lambda it: find_sessions(it.root)),
    "listed": (f"{STORE}.files._stamp", lambda it: find_sessions(it.root)),
    "loose": (f"{STORE}.files.open_inside", lambda it: [*loose_agents(it.main, it.root)]),
    "open": ("os.open", opened),
    "follow": ("os.open", lambda it: Follower(it.main)),
    "replaced": ("os.stat", followed),
    "connect": (f"{STORE}.index._connected", lambda it: BlockingSessions(it.config).list()),
    "process": (f"{STORE}.running._read", lambda it: it.sessions.info(MAIN)),
    "processes": (f"{STORE}.running.Path.iterdir", lambda it: it.sessions.info(MAIN)),
    "stat": (f"{STORE}.running.Path.read_text", lambda it: it.sessions.info(MAIN)),
    "scan": (f"{STORE}.facts._scan", lambda it: it.odd() and it.sessions.list()),
    "place": (f"{STORE}.tree._place", lambda it: it.sessions.open(MAIN).branches()),
    "entry": (f"{STORE}.entries._decode", lambda it: [*it.sessions.open(MAIN).entries()]),
    "slowly": (f"{STORE}.entries.load", lambda it: [*it.odd().entries()]),
    "fit": (f"{STORE}.entries.fit", lambda it: [*it.odd().entries()]),
    "texts": (f"{STORE}.texts._decode", lambda it: it.sessions.search("retries")),
    "branch": (
        f"{STORE}.tree.Tree.branch",
        lambda it: [*it.sessions.open(MAIN).conversation("u1")],
    ),
    "meta": (f"{STORE}.transcript._read_meta", lambda it: it.sessions.open(MAIN).agents()),
    "trash": (f"{STORE}.trash._read", lambda it: it.sessions.trash()),
    "restore": (f"{STORE}.trash._remove", lambda it: it.sessions.restore(PLAIN)),
    "empty": ("shutil.rmtree", lambda it: it.sessions.empty_trash()),
    "lock": (f"{STORE}.writing.SessionLock", lambda it: it.sessions.rename(MAIN, "x")),
    "add": ("os.open", lambda it: add_line(it.main, it.root, b"{}\n")),
    "write": ("os.write", lambda it: add_line(it.main, it.root, b"{}\n")),
    "link": ("os.link", Place.keep),
    "rename": ("os.rename", Place.move),
    "archive": (f"{STORE}.blocking.session_files", lambda it: it.sessions.archive(
        older_than=timedelta(days=-1))),
    "data": ("base64.b64decode", lambda it: Image.of("data:image/png;base64,QUJD")),
    "document": (f"{STORE}.files.Path.read_bytes", lambda it: Document.of(it.main)),
    "recording": (f"{STORE}.files.Path.read_bytes", lambda it: read(it.recording)),
    "load": ("claudewire.transport.Recording.load", lambda it: read(it.recording)),
    "capture": ("claudewire.recordings.reading.load", lambda it: read(it.recording)),
    "compared": (
        "claudewire.recordings.comparison.load",
        lambda it: compare(*[Recording.load(LINE)] * 2),
    ),
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_an_error_that_nobody_expects_is_raised(
    place: Place, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, call = CASES[case]
    with monkeypatch.context() as patch:
        patch.setattr(target, broken)
        with pytest.raises(Broken):
            call(place)


def test_a_file_that_fails_in_an_unknown_way_is_no_damaged_disk() -> None:
    class Failing(io.BytesIO):
        read = broken

    with pytest.raises(Broken):
        list(chunks_of(Failing()))
