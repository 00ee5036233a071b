from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from claudewire.simulator.session import SessionStore

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(str(tmp_path), "/home/me/my project", True)


def entry(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "text": text, **more}


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_was_appended_is_loaded_by_another_store(tmp_path: Path, store: SessionStore) -> None:
    store.append(ONE, entry("a"))
    store.append(ONE, entry("b"))
    again = SessionStore(str(tmp_path), "/home/me/my project", True)
    assert again.load(ONE) == [entry("a"), entry("b")]


def test_the_layout_is_that_of_the_real_cli(tmp_path: Path, store: SessionStore) -> None:
    store.append(ONE, entry("a"))
    assert files(tmp_path) == [f"projects/-home-me-my-project/{ONE}.jsonl"]


@pytest.mark.parametrize(
    "text", ["", "two\nlines", "\u2028", "é\U0001f600", "lone \ud800", "\0", "x" * 300_000]
)
def test_any_text_comes_back_from_one_line(store: SessionStore, text: str) -> None:
    store.append(ONE, entry(text))
    store.append(ONE, entry("next"))
    assert store.load(ONE) == [entry(text), entry("next")]
    assert Path(store.folder, f"{ONE}.jsonl").read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("torn", [b'{"type":"us', b"\xff\xfe", b"[1]", b"", b"[" * 100_000])
def test_a_line_that_is_no_entry_is_left_out(store: SessionStore, torn: bytes) -> None:
    store.append(ONE, entry("a"))
    with Path(store.folder, f"{ONE}.jsonl").open("ab") as file:
        file.write(torn + b"\n")
    store.append(ONE, entry("b"))
    assert store.load(ONE) == [entry("a"), entry("b")]


def test_a_session_that_cannot_be_read_is_an_error(store: SessionStore) -> None:
    (Path(store.folder) / f"{ONE}.jsonl").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        store.load(ONE)


def test_a_session_that_is_not_there_is_none(store: SessionStore) -> None:
    assert store.load(ONE) is None
    store.append(TWO, entry("a"))
    assert store.load(ONE) is None


HOSTILE = [
    "",
    "-",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc/passwd",
    "a\\b",
    "a\0",
    "a\n",
    "x.jsonl",
    "é",
    "a" * 129,
]


@pytest.mark.parametrize("id", HOSTILE)
def test_an_id_that_is_no_file_name_is_refused(
    tmp_path: Path, store: SessionStore, id: str
) -> None:
    store.append(ONE, entry("a"))
    before = files(tmp_path)
    assert store.load(id) is None
    with pytest.raises(ValueError, match="cannot be the id"):
        store.append(id, entry("a"))
    for old, new in ((id, TWO), (ONE, id)):
        with pytest.raises(ValueError, match="cannot be the id"):
            store.fork(old, new)
    assert files(tmp_path) == before


def test_the_latest_session_is_the_one_last_written_to(store: SessionStore) -> None:
    assert store.latest() is None
    for id in (TWO, ONE, TWO, ONE, ONE, TWO):
        store.append(id, entry("a"))
        assert store.latest() == id
    store.fork(TWO, ONE.replace("1", "0"))
    assert store.latest() == ONE.replace("1", "0")


def test_only_sessions_count_as_the_latest(store: SessionStore) -> None:
    os.makedirs(store.folder)
    assert store.latest() is None
    Path(store.folder, "notes.txt").touch()
    assert store.latest() is None


def test_each_working_directory_has_its_own_sessions(tmp_path: Path) -> None:
    here, there = (SessionStore(str(tmp_path), cwd, True) for cwd in ("/here", "/there"))
    here.append(ONE, entry("a"))
    assert there.latest() is None
    assert there.load(ONE) is None


def test_long_working_directories_are_told_apart(tmp_path: Path) -> None:
    long = "/" + "x" * 300
    one, other = (SessionStore(str(tmp_path), long + end, True) for end in "ab")
    one.append(ONE, entry("a"))
    other.append(ONE, entry("b"))
    assert one.load(ONE) == [entry("a")]


@pytest.mark.parametrize("cwd", ["..", "../..", "/../..", "", "/é/\udcff"])
def test_no_working_directory_leads_out_of_the_folder(tmp_path: Path, cwd: str) -> None:
    config = tmp_path / "config"
    SessionStore(str(config), cwd, True).append(ONE, entry("a"))
    assert all(name.startswith("config/projects/") for name in files(tmp_path))
    assert SessionStore(str(config), cwd, True).load(ONE) == [entry("a")]


def test_a_fork_has_the_same_entries_under_its_own_id(store: SessionStore) -> None:
    store.append(ONE, entry("a", session_id=ONE))
    store.append(ONE, entry("b", sessionId=ONE, parent=ONE))
    store.append(ONE, entry("c", session_id="another"))
    store.fork(ONE, TWO)
    assert store.load(TWO) == [
        entry("a", session_id=TWO),
        entry("b", sessionId=TWO, parent=ONE),
        entry("c", session_id="another"),
    ]
    store.append(TWO, entry("d"))
    assert len(store.load(ONE) or ()) == 3


def test_a_fork_of_nothing_is_nothing(tmp_path: Path, store: SessionStore) -> None:
    store.fork(ONE, TWO)
    assert files(tmp_path) == []


def test_a_fork_does_not_replace_a_session(store: SessionStore) -> None:
    store.append(ONE, entry("a"))
    store.append(TWO, entry("b"))
    with pytest.raises(FileExistsError):
        store.fork(ONE, TWO)
    assert store.load(TWO) == [entry("b")]


def test_a_store_that_is_disabled_reads_and_does_not_write(
    tmp_path: Path, store: SessionStore
) -> None:
    store.append(ONE, entry("a"))
    disabled = SessionStore(str(tmp_path), "/home/me/my project", False)
    disabled.append(ONE, entry("b"))
    disabled.append(TWO, entry("b"))
    disabled.fork(ONE, TWO)
    assert disabled.load(ONE) == [entry("a")]
    assert disabled.latest() == ONE
    assert len(files(tmp_path)) == 1
