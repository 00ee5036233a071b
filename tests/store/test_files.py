from __future__ import annotations

import errno
import io
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.store import BlockingSessions, StoreError, files, project_folder
from claudewire.store.entries import BadLine, Entry, read_entry
from claudewire.store.files import (
    Line,
    config_folder,
    find_sessions,
    is_session_id,
    lines_of,
    open_inside,
)
from claudewire.wire import Oversize

from .made import MAIN, PLAIN, conversation

TEXT = st.text(max_size=12)
BLOCK = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXT),
    st.builds(lambda id: {"type": "tool_use", "id": id, "name": "Bash", "input": {}}, TEXT),
    st.builds(lambda id: {"type": "tool_result", "tool_use_id": id, "content": "x"}, TEXT),
    st.just({"type": "hologram"}),
)
UUID = st.sampled_from([f"u{number}" for number in range(8)])
ENTRY: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "summary", "progress", "hologram"])},
    optional={
        "uuid": UUID,
        "parentUuid": st.none() | UUID,
        "logicalParentUuid": UUID,
        "sessionId": st.just(MAIN),
        "isSidechain": st.booleans(),
        "isMeta": st.booleans(),
        "timestamp": st.sampled_from(["2026-11-17T10:00:00Z", "never", 5]),
        "cwd": st.sampled_from(["/project", 7, None]),
        "subtype": st.just("compact_boundary"),
        "toolUseResult": st.sampled_from([{"agentId": "a"}, "x"]),
        "leafUuid": UUID,
        "summary": TEXT,
        "message": st.one_of(
            st.fixed_dictionaries(
                {"role": TEXT, "content": TEXT | st.lists(BLOCK, max_size=3)},
                optional={
                    "id": st.sampled_from(["m1", "m2"]),
                    "model": st.just("opus"),
                    "usage": st.fixed_dictionaries({"input_tokens": st.integers(0, 9) | st.none()}),
                },
            ),
            TEXT,
        ),
    },
)
LINES = st.lists(ENTRY, max_size=12).map(
    lambda entries: [json.dumps(entry).encode() for entry in entries]
)
GARBAGE = st.binary(max_size=12).filter(lambda data: b"\n" not in data)


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Nothing here has to survive a crash of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


def is_good(line: bytes) -> bool:
    return bool(line) and not isinstance(read_entry(line), BadLine)


def check(content: bytes) -> None:
    """Whatever is in a file: nothing raises, no good line is lost, and all come back."""
    good = [line for line in content.split(b"\n") if is_good(line)]
    with TemporaryDirectory() as name:
        config = Path(name)
        path = config / "projects" / "-project" / f"{MAIN}.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        with BlockingSessions(config, index=":memory:") as sessions:
            sessions.list()
            sessions.search("x* tool:Bash")
            transcript = sessions.open(MAIN)
            assert lines(transcript.entries()) == good
            read = sum(1 for _ in transcript.conversation())
            assert read <= len(good)
            list(transcript.findings())
            for format in ("html", "md", "jsonl", "zip"):
                sessions.export(MAIN, config / f"out.{format}", redact=False)
            ids = [it.session_id for it in transcript.entries()]
            check_again(config, good, any(is_session_id(it) for it in ids if it))


def check_again(config: Path, good: list[bytes], has_id: bool) -> None:
    """What was exported is imported with the same entries."""
    for format in ("jsonl", "zip") if has_id else ("zip",):
        with BlockingSessions(config / format, index=":memory:") as other:
            info = other.import_(config / f"out.{format}", cwd="/project")
            assert lines(other.open(info.id).entries()) == good


def lines(entries: Any) -> list[bytes]:
    return [entry.line for entry in entries if not isinstance(entry, BadLine)]


@given(LINES)
def test_random_trees_never_raise_and_come_back_whole(made: list[bytes]) -> None:
    check(b"".join(line + b"\n" for line in made))


@given(LINES, st.integers(0, 2000))
def test_a_truncated_file_loses_nothing_but_its_end(made: list[bytes], length: int) -> None:
    check(b"".join(line + b"\n" for line in made)[:length])


@given(st.lists(st.tuples(LINES.filter(bool), GARBAGE, st.booleans()), max_size=4))
def test_interleaved_and_corrupted_lines_are_put_aside_and_all_others_kept(
    parts: list[tuple[list[bytes], bytes, bool]],
) -> None:
    content = b""
    for made, garbage, is_torn in parts:
        first, *rest = made
        # Two processes that wrote at once: one line is in the middle of another.
        torn = first[: len(first) // 2] + garbage + first[len(first) // 2 :]
        content += (torn if is_torn else first) + b"\n" + garbage + b"\n"
        content += b"".join(line + b"\n" for line in rest)
    check(content)


@given(st.lists(st.binary(max_size=30).filter(lambda data: b"\n" not in data)), st.booleans())
def test_lines_are_found_where_they_are(made: list[bytes], ends: bool) -> None:
    content = b"\n".join(made) + (b"\n" if ends else b"")
    found = list(lines_of(io.BytesIO(content)))
    assert [line.line for line in found] == [line for line in content.split(b"\n") if line]
    for line in found:
        assert content[line.offset : line.offset + line.length] == line.line
    assert all(line.is_complete for line in found[:-1])


def test_a_file_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK", 3)
    found = list(lines_of(io.BytesIO(b"first\nsecond\n\nlast"), 6))
    assert found == [Line(6, b"second"), Line(14, b"last", is_complete=False)]


def test_a_line_that_is_too_long_is_a_bad_line() -> None:
    line = Line(0, Oversize(b"{", 500))
    entry = line.read()
    assert isinstance(entry, BadLine)
    assert (entry.length, line.length) == (500, 500)
    assert isinstance(entry, Entry)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/work/my_app.v2", "-work-my-app-v2"),
        ("C:\\Users\\me", "C--Users-me"),
        ("\\\\server\\share\\me", "--server-share-me"),
        ("/ä/😀", "-----"),
        ("/" + "x" * 199, "-" + "x" * 199),
        # The ends are from JavaScript, with the CLI's own function.
        ("/" + "x" * 200, "-" + "x" * 199 + "-d0i18x"),
        ("/" + "x" * 250, "-" + "x" * 199 + "-v734pd"),
        ("/" + "y" * 250, "-" + "y" * 199 + "-hj261b"),
        ("/€" + "x" * 200, "--" + "x" * 198 + "-gtyyzn"),
        ("/ä/😀/" + "z" * 200, "------" + "z" * 194 + "-it9s9a"),
        ("/" + "x" * 200 + "rmzb6ws", "-" + "x" * 199 + "-0"),
    ],
)
def test_folders_are_named_as_the_cli_names_them(path: str, name: str) -> None:
    assert project_folder(path) == project_folder(Path(path)) == name


def test_the_folder_of_a_directory_is_that_of_its_real_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for cwd in ("~/link/x", "link/x", tmp_path / "link" / "x", "~/real/../link/x"):
        assert project_folder(cwd) == project_folder(tmp_path.resolve() / "real" / "x")
    assert project_folder("~/link").endswith("-real")


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"CLAUDE_CONFIG_DIR": "/c", "HOME": "/h"}, "/c"),
        ({"CLAUDE_CONFIG_DIR": "~/c", "HOME": "/h"}, "/home/me/c"),
        ({"CLAUDE_CONFIG_DIR": "", "HOME": "/h"}, "/h/.claude"),
        ({"CLAUDE_CONFIG_DIR": None, "HOME": None}, "/home/me/.claude"),
        ({"CLAUDE_CONFIG_DIR": "c"}, "/c"),
        ({}, "/home/me/.claude"),
        (None, "/variable"),
    ],
)
def test_the_folder_of_a_cli_follows_from_its_environment(
    env: dict[str, str | None] | None, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/variable")
    monkeypatch.chdir("/")
    assert config_folder(env) == Path(folder)


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"), open_inside(tmp_path / "x", tmp_path):
        pass
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(StoreError, match="is not a regular file"),
        open_inside(tmp_path / "pipe", tmp_path),
    ):
        pass


def test_what_vanishes_while_it_is_looked_for_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    conversation(tmp_path)
    (tmp_path / "projects" / "file").write_text("", encoding="utf-8")
    scandir = os.scandir

    def vanishing(path: Any) -> Any:
        if str(path).endswith("-project"):
            raise FileNotFoundError
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert find_sessions(tmp_path / "projects") == ([], [])
    monkeypatch.undo()
    (found,), _ = find_sessions(tmp_path / "projects")
    assert found.id == MAIN
    broken = Path(found.main.path).with_name("broken.jsonl")
    broken.symlink_to(tmp_path / "projects" / "-project" / "nothing.jsonl")
    assert len(find_sessions(tmp_path / "projects")[0]) == 1
    assert caplog.messages == []


def test_a_session_that_vanishes_while_it_is_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    writer = conversation(tmp_path)
    sessions = BlockingSessions(tmp_path, index=tmp_path / "i.db")
    found = find_sessions(tmp_path / "projects")
    writer.path.unlink()
    monkeypatch.setattr("claudewire.store.index.find_sessions", lambda root: found)
    assert sessions.list() == []
    assert "cannot be read" in caplog.text


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of folders that nobody may read: permissions do not hold for the superuser."""
    names: set[str] = set()
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if os.path.basename(path) in names:
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    return names


def test_projects_that_cannot_be_read_are_an_error_and_stay_in_the_index(
    tmp_path: Path, unreadable: set[str]
) -> None:
    conversation(tmp_path)
    sessions = BlockingSessions(tmp_path, index=tmp_path / "i.db")
    assert len(sessions.list()) == 1
    unreadable.add("projects")
    for call in (sessions.list, lambda: sessions.open(MAIN), lambda: sessions.import_("x.zip")):
        with pytest.raises(StoreError):
            call()
    with pytest.raises(StoreError, match="projects cannot be read: Permission denied"):
        sessions.list()
    unreadable.clear()
    with sqlite3.connect(tmp_path / "i.db") as index:
        assert index.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
    index.close()
    assert len(sessions.list()) == 1


def test_a_project_that_cannot_be_read_is_left_out_with_a_warning(
    tmp_path: Path, unreadable: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    conversation(tmp_path)
    conversation(tmp_path, PLAIN, cwd="/other")
    unreadable.add("-other")
    sessions = BlockingSessions(tmp_path, index=tmp_path / "i.db")
    assert [info.id for info in sessions.list()] == [MAIN]
    assert "-other are left out: Permission denied" in caplog.text
