"""Files, names and searches that nobody should have written."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import warnings
import zipfile
from datetime import datetime
from pathlib import Path

import pytest

from claudewire.store import (
    AssistantEntry,
    BlockingSessions,
    SessionInfo,
    StoreError,
    UserEntry,
)
from claudewire.store import files as files_module
from claudewire.store import index as index_module
from claudewire.store.files import config_folder, find_sessions
from claudewire.store.follow import Follower
from claudewire.store.index import default_index
from claudewire.store.trash import Trash

from .made import MAIN, PLAIN, Writer, conversation

FORMATS = ("html", "md", "jsonl", "zip")
HALF = b"\\ud800"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    conversation(tmp_path / "config")
    return tmp_path / "config"


def opened(config: Path) -> BlockingSessions:
    return BlockingSessions(config, index=config.parent / "index.db")


def use(config: Path) -> None:
    """Do with a session what can be done with it."""
    with opened(config) as sessions:
        assert MAIN in [info.id for info in sessions.list()]
        sessions.totals()
        sessions.search("anything")
        transcript = sessions.open(MAIN)
        assert transcript.agents() is not None
        list(transcript.findings())
        for format in FORMATS:
            sessions.export(MAIN, config.parent / f"out.{format}")


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"user","uuid":"x","message":{"role":"user","content":"anything ' + HALF + b'"}}',
        b'{"type":"user","timestamp":"' + HALF + b'","message":{"role":"user","content":"x"}}',
        b'{"type":"summary","leafUuid":"' + HALF + b'","summary":"' + HALF + b'"}',
        b'{"type":"assistant","message":{"id":"' + HALF + b'","model":"m","role":"assistant",'
        b'"content":[],"usage":{"input_tokens":1}}}',
        b'{"type":"assistant","message":{"id":"m","model":"m","role":"assistant","content":[],'
        b'"usage":{"input_tokens":' + b"9" * 40 + b',"output_tokens":18446744073709551615}}}',
        b'{"type":"assistant","uuid":"x","message":{"id":"m","model":"m","role":"assistant",'
        b'"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"a":'
        + b"[" * 900
        + b'"anything"'
        + b"]" * 900
        + b"}}]}}",
    ],
    ids=["text", "time", "summary", "id", "number", "depth"],
)
def test_no_line_keeps_the_index_from_being_made(config: Path, line: bytes) -> None:
    Writer(config).raw(line + b"\n")
    use(config)


def test_files_whose_names_are_not_utf_8_are_left_out(config: Path) -> None:
    folder = next((config / "projects").iterdir())
    other = os.fsencode(config / "projects") + b"/\xff"
    agents = os.fsencode(folder / MAIN / "subagents")
    for place in (other, agents):
        os.makedirs(place, exist_ok=True)
    content = (folder / f"{MAIN}.jsonl").read_bytes()
    for path in (
        other + b"/x.jsonl",
        agents + b"/agent-\xff.jsonl",
        os.fsencode(folder) + b"/agent-\xff.jsonl",
    ):
        with open(path, "wb") as file:
            file.write(content)
    use(config)


def test_subagents_that_are_links_pipes_or_folders_are_left_out(config: Path) -> None:
    folder = next((config / "projects").iterdir())
    inside = folder / MAIN / "subagents"
    inside.mkdir(parents=True)
    secret = config.parent / "secret.jsonl"
    secret.write_bytes((folder / f"{MAIN}.jsonl").read_bytes().replace(b"user", b"SECRET"))
    for place in (folder, inside):
        (place / "agent-out.jsonl").symlink_to(secret)
        (place / "agent-gone.jsonl").symlink_to(place / "nowhere.jsonl")
        (place / "agent-folder.jsonl").mkdir()
        os.mkfifo(place / "agent-pipe.jsonl")
    (inside / "agent-good.jsonl").write_bytes(b"{}\n")
    (inside / "agent-good.meta.json").symlink_to(secret)
    (inside / "one").symlink_to(inside)  # around in circles, twice at each turn
    (inside / "two").symlink_to(inside)
    use(config)
    assert [it.id for it in opened(config).open(MAIN).agents()] == ["good"]
    with zipfile.ZipFile(config.parent / "out.zip") as archive:
        assert not [name for name in archive.namelist() if b"SECRET" in archive.read(name)]


def test_a_subagent_beside_its_session_that_vanishes_is_left_out(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loose = next((config / "projects").iterdir()) / "agent-x.jsonl"
    loose.write_bytes(b"{}\n")
    find = find_sessions

    def find_and_remove(root: Path) -> object:
        found = find(root)
        loose.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(index_module, "find_sessions", find_and_remove)
    assert [info.id for info in opened(config).list()] == [MAIN]


@pytest.mark.parametrize("query", ["a\0b", '"a\0b" c', 'tool:"\0"', "c \ud800", "project:x c"])
def test_no_search_damages_the_index(config: Path, query: str) -> None:
    with opened(config) as sessions:
        sessions.list()
        before = os.stat(config.parent / "index.db").st_ino
        sessions.search(query)
        assert sessions.search("c", limit=-1) == []
        sessions.search("c", limit=10**30)
        assert os.stat(config.parent / "index.db").st_ino == before


def test_of_a_very_common_word_the_newest_lines_are_ranked_and_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "CANDIDATES", 2)
    writer = Writer(tmp_path / "config")
    lines = [writer.user("common " + "word " * count) for count in range(6)]
    with opened(tmp_path / "config") as sessions:
        found = {
            limit: {hit.uuid for hit in sessions.search("common", limit=limit)} for limit in (2, 6)
        }
    assert found[2] < set(lines[3:])
    assert found[6] == set(lines)


@pytest.mark.parametrize("time", ["99999999999d", "0001-01-01T00:00+14:00"])
def test_a_time_that_no_clock_shows_is_an_error(config: Path, time: str) -> None:
    with pytest.raises(StoreError, match="is not a time"):
        opened(config).search(f"word since:{time}")


def test_sessions_are_listed_by_times_without_a_zone(config: Path) -> None:
    sessions = opened(config)
    assert sessions.list(since=datetime(2000, 1, 1), until=datetime(2100, 1, 1))
    assert not sessions.list(since=datetime(2100, 1, 1))


def test_an_index_whose_values_are_damaged_is_made_anew(config: Path) -> None:
    opened(config).list()
    with sqlite3.connect(config.parent / "index.db") as database:
        database.execute("UPDATE sessions SET info = x'c1'")
    database.close()
    assert [info.id for info in opened(config).list()] == [MAIN]


def test_a_damaged_index_that_cannot_be_removed_is_kept_in_memory(
    config: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = config.parent / "index.db"
    path.write_bytes(b"nothing of the kind" * 100)

    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert [info.id for info in opened(config).list()] == [MAIN]
    assert path.read_bytes().startswith(b"nothing of the kind")
    assert caplog.messages == [
        f"The index {path} is made anew: file is not a database",
        f"The index {path} cannot be kept: [Errno 13] Read-only file system",
    ]


def test_an_index_in_memory_has_no_file_that_could_be_removed(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "None").touch()
    index = index_module.Index(None, config / "projects")
    index.sessions()
    index._connection().execute("UPDATE sessions SET info = x'c1'")
    conversation(config, PLAIN)
    assert {info.id for info in index.sessions()} == {MAIN, PLAIN}
    index.close()
    assert (tmp_path / "None").exists()


def test_a_user_without_a_home_has_an_index_in_memory_and_must_say_where_sessions_are(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "expanduser", str)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_index(config) is None
    with pytest.raises(StoreError, match="no home directory"):
        config_folder({})


def test_the_trash_is_emptied_where_it_is_and_not_where_it_says(config: Path) -> None:
    sessions = opened(config)
    victim = config.parent / "victim"
    victim.mkdir()
    trashed = sessions.delete(MAIN)
    note = Path(trashed.path, "session.json")
    note.write_bytes(json.dumps({**json.loads(note.read_bytes()), "path": str(victim)}).encode())
    assert sessions.trash()[0].path == trashed.path
    assert sessions.empty_trash() == 1
    assert victim.exists()
    assert not Path(trashed.path).exists()


@pytest.mark.parametrize("format", FORMATS)
def test_exports_to_the_same_file_at_once_leave_one_whole_file(config: Path, format: str) -> None:
    sessions = opened(config)
    sessions.list()
    target = config.parent / "new" / f"{'n' * 240}.{format}"
    outcomes: list[str] = []
    start = threading.Barrier(4, timeout=30)

    def export() -> None:
        start.wait()
        try:
            sessions.export(MAIN, target)
            outcomes.append("made")
        except StoreError as error:
            outcomes.append("exists" if "exists already" in str(error) else str(error))

    threads = [threading.Thread(target=export) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outcomes) == ["exists", "exists", "exists", "made"]
    assert os.listdir(target.parent) == [target.name]
    assert target.stat().st_mode & 0o077 == 0


def test_an_export_that_cannot_be_written_is_an_error(config: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        opened(config).export(MAIN, config.parent / f"{'n' * 300}.zip")
    with pytest.raises(StoreError, match="not a format"):
        opened(config).export(MAIN, config.parent / "x", format="pdf")  # type: ignore[arg-type]


def bundle(path: Path, *files: tuple[str, bytes], **manifest: object) -> Path:
    with zipfile.ZipFile(path / "in.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        whole = {"id": PLAIN, "folder": "f", "cwd": None, **manifest}
        archive.writestr("claudewire.json", json.dumps(whole))
        for name, data in (("session.jsonl", b"{}\n"), *files):
            archive.writestr(name, data)
    return path / "in.zip"


@pytest.mark.parametrize(
    "manifest",
    [
        {"folder": ".."},
        {"folder": ""},
        {"folder": "a/b"},
        {"folder": "n" * 300},
        {"cwd": "/a\0b"},
        {"id": "agent-x"},
    ],
)
def test_a_zip_that_names_an_impossible_place_is_refused(
    tmp_path: Path, manifest: dict[str, str]
) -> None:
    with pytest.raises(StoreError):
        opened(tmp_path / "config").import_(bundle(tmp_path, **manifest))
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_that_is_damaged_or_would_fill_the_disk_leaves_nothing(tmp_path: Path) -> None:
    sessions = opened(tmp_path / "config")
    twice = ("subagents/agent-x.jsonl", b"{}\n")
    below = ("subagents/agent-x.jsonl/agent-y.jsonl", b"{}\n")
    for files in ((twice, twice), (twice, below), (("subagents/agent-b.jsonl", bytes(70 << 20)),)):
        with pytest.raises(StoreError, match="cannot be imported"):
            sessions.import_(bundle(tmp_path, *files))
    path = bundle(tmp_path, twice)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"PK\x01\x02\x14\x03\x14\0\0\0", b"PK\x01\x02\x14\x03\x14\0\1\0"))
    with pytest.raises(StoreError, match="encrypted"):
        sessions.import_(path)
    assert not [it for it in tmp_path.rglob("*") if it.suffix in (".jsonl", ".draft")]


def test_following_begins_with_the_line_that_is_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claudewire.store.follow.CHUNK", 16)
    writer = Writer(tmp_path)
    writer.user("before")
    line = json.dumps({"type": "assistant", "message": {"role": "assistant", "content": []}})
    writer.raw(line[:40].encode())
    follower = Follower(writer.path)
    writer.raw(line[40:].encode() + b"\n")
    writer.user("after")
    assert [type(it) for it in follower.read()] == [AssistantEntry, UserEntry]
    follower.close()


def test_following_a_file_without_a_newline_begins_at_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"type":')
    follower = Follower(path)
    path.write_bytes(b'{"type":"user","message":{"role":"user","content":"x"}}\n')
    assert [type(it) for it in follower.read()] == [UserEntry]
    follower.close()


def test_a_pipe_is_not_followed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert Follower(tmp_path / "pipe", from_start=True).read() == []


def bundled(path: Path, *names: str, **manifest: object) -> Path:
    """Make a zip as an export makes it, but for what is given."""
    line = json.dumps(
        {"type": "user", "sessionId": PLAIN, "message": {"role": "user", "content": "x"}}
    )
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(path, "w") as archive:
        fields = {"id": PLAIN, "folder": "imported", **manifest}
        archive.writestr("claudewire.json", json.dumps(fields))
        for name in ("session.jsonl", *names):
            archive.writestr(name, line + "\n")
    return path


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("C:\\Users\\me\\shop", "C--Users-me-shop"),
        ("\\\\server\\share\\shop", "--server-share-shop"),
        ("/srv/shop", "-srv-shop"),
        ("../shop", "imported"),
        ("", "imported"),
    ],
)
def test_a_session_of_another_system_is_imported_into_the_folder_of_its_directory(
    config: Path, tmp_path: Path, cwd: str, folder: str
) -> None:
    info = opened(config).import_(bundled(tmp_path / "in.zip", cwd=cwd))
    assert info.folder == folder


def test_the_folder_of_the_cli_and_what_is_in_it_may_be_links(config: Path, tmp_path: Path) -> None:
    link = tmp_path / "linked"
    link.symlink_to(config)
    project = config / "projects" / "-project"
    (project / f"{PLAIN}.jsonl").symlink_to(project / f"{MAIN}.jsonl")
    (config / "projects" / "-other").symlink_to(project)
    with BlockingSessions(link, index=":memory:") as sessions:
        found = sorted((info.folder, info.id, info.prompts) for info in sessions.list())
        assert found == [
            (folder, id, 2) for folder in ("-other", "-project") for id in (MAIN, PLAIN)
        ]
        assert len([*sessions.open(MAIN).entries()]) == 6
        sessions.rename(MAIN, "Linked")
        assert sessions.info(MAIN).title == "Linked"


def test_nothing_is_written_through_a_project_that_leads_elsewhere(
    config: Path, tmp_path: Path
) -> None:
    sessions = opened(config)
    trashed = sessions.delete(MAIN)
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("-srv-shop", "-project"):
        folder = config / "projects" / name
        if folder.exists():
            folder.rmdir()
        folder.symlink_to(outside)
    with pytest.raises(StoreError, match="-srv-shop leads out of"):
        sessions.import_(bundled(tmp_path / "in.zip", cwd="/srv/shop"))
    with pytest.raises(StoreError, match="-project leads out of"):
        sessions.restore(MAIN)
    (outside / f"{MAIN}.jsonl").write_bytes(b"")
    info = SessionInfo(MAIN, "-project", str(config / "projects" / "-project" / f"{MAIN}.jsonl"))
    with pytest.raises(StoreError, match=f"{MAIN}.jsonl leads out of"):
        Trash(config / "trash", config / "projects").put(info)
    assert os.listdir(outside) == [f"{MAIN}.jsonl"]
    assert os.listdir(trashed.path)


@pytest.mark.parametrize(
    "names",
    [
        ["session.jsonl"],
        ["subagents/agent-a.jsonl", "subagents/agent-a.jsonl"],
        ["tool-results/a", "tool-results/a/b"],
        ["tool-results/../../settings.json"],
        ["tool-results/" + "a" * 300],
        ["settings.json"],
    ],
)
def test_a_zip_with_files_that_no_session_has_leaves_nothing(
    config: Path, tmp_path: Path, names: list[str]
) -> None:
    sessions = opened(config)
    before = sorted(config.rglob("*"))
    with pytest.raises(StoreError):
        sessions.import_(bundled(tmp_path / "in.zip", *names))
    assert sorted(config.rglob("*")) == before


def test_a_directory_that_cannot_exist_is_no_project(config: Path, tmp_path: Path) -> None:
    Writer(config, PLAIN).user("x", cwd="/a\0b")
    sessions = opened(config)
    assert len(sessions.list()) == 2
    assert sessions.list(project=tmp_path) == []
    with pytest.raises(StoreError, match="is not a path"):
        sessions.list(project="a\0b")
    with pytest.raises(StoreError, match="cannot be written"):
        sessions.export(PLAIN, f"{tmp_path}/a\0b.html")


def test_a_disk_that_fails_while_a_session_is_read_is_an_error_of_ours() -> None:
    class Failing:
        name = "a.jsonl"

        def seek(self, place: int) -> int:
            return place

        def read(self, size: int) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(StoreError, match="cannot be read: Input/output error"):
        list(files_module.lines_of(Failing()))  # type: ignore[arg-type]  # it is a double
