"""Sessions that are taken elsewhere as one file, byte by byte."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from claudewire.store import BlockingSessions, SessionInfo, StoreError
from claudewire.wire import framing

from .made import MAIN, PLAIN, Writer, conversation

FILES = {
    "subagents/agent-a.jsonl": b'{"sessionId": "%b",  "x": 1}\n\nnothing\n{}' % MAIN.encode(),
    "subagents/agent-a.meta.json": b'{ "agentType": "Explore" }',
    "tool-results/deep/long.txt": b"one\n\n\xff two\r\nno newline",
}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "config"


def opened(config: Path) -> BlockingSessions:
    return BlockingSessions(config, index=":memory:")


def written(config: Path, main: bytes, files: dict[str, bytes] = FILES) -> Path:
    path = Writer(config).path
    path.write_bytes(main)
    for name, data in files.items():
        place = path.with_suffix("") / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return path


def files_of(info: SessionInfo) -> dict[str, bytes]:
    """All files of a session."""
    main = Path(info.path)
    beside = main.with_suffix("")
    found = {it.relative_to(beside).as_posix(): it for it in beside.rglob("*") if it.is_file()}
    return {"": main.read_bytes(), **{name: it.read_bytes() for name, it in found.items()}}


MAIN_LINES = b'{"type": "user",  "sessionId": "%b"}\nbroken \xff\n{"sessionId":"other"}' % (
    MAIN.encode()
)


def test_a_session_is_the_same_elsewhere(config: Path, tmp_path: Path) -> None:
    written(config, MAIN_LINES)
    path = opened(config).export(MAIN, tmp_path / "out.zip", redact=False)
    there = files_of(opened(tmp_path / "there").import_(path))
    ended = {name: data for name, data in FILES.items() if not name.endswith(".jsonl")}
    assert there == {
        "": MAIN_LINES + b"\n",
        **ended,
        "subagents/agent-a.jsonl": FILES["subagents/agent-a.jsonl"].replace(b"\n\n", b"\n") + b"\n",
    }


def test_under_a_new_id_only_the_lines_of_the_session_say_another(
    config: Path, tmp_path: Path
) -> None:
    written(config, MAIN_LINES)
    sessions = opened(config)
    path = sessions.export(MAIN, tmp_path / "out.zip", redact=False)
    info = sessions.import_(path, new_id=True)
    new = info.id.encode()
    assert files_of(info) == {
        **FILES,
        "": b'{"type":"user","sessionId":"%b"}\nbroken \xff\n{"sessionId":"other"}\n' % new,
        "subagents/agent-a.jsonl": b'{"sessionId":"%b","x":1}\nnothing\n{}\n' % new,
    }


def test_bytes_that_are_not_text_stay_in_what_is_redacted(config: Path, tmp_path: Path) -> None:
    secret = b"sk-ant-api03-abcdefghijklmnop"
    written(config, b"\xfe %b \xff\n" % secret, {"tool-results/x": b"\xfe %b" % secret})
    path = opened(config).export(MAIN, tmp_path / "out.zip")
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("claudewire.json"))
        assert manifest == {"id": MAIN, "folder": "imported", "cwd": None, "format": 1}
        assert archive.read("session.jsonl") == b"\xfe <key-1> \xff\n"
        assert archive.read("tool-results/x") == b"\xfe <key-1>"


def test_the_files_in_a_zip_have_an_order(config: Path, tmp_path: Path) -> None:
    names = [f"tool-results/{place}/{name}" for place in "hgfedcba" for name in "dcba"]
    written(config, MAIN_LINES, dict.fromkeys(names, b""))
    path = opened(config).export(MAIN, tmp_path / "out.zip")
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["claudewire.json", *sorted(names), "session.jsonl"]


def test_a_line_that_is_too_long_is_left_out(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, line = b"x" * 1001, b'{"sessionId":"%b"}' % MAIN.encode()
    written(config, line + b"\n" + long + b"\n" + line, {"tool-results/x": long})
    sessions = opened(config)
    whole = sessions.export(MAIN, tmp_path / "whole.zip")
    monkeypatch.setattr(framing.Lines.__init__, "__defaults__", (1000,))
    path = sessions.export(MAIN, tmp_path / "out.zip")
    with zipfile.ZipFile(path) as archive:
        assert archive.read("session.jsonl") == line + b"\n" + line + b"\n"
        assert archive.read("tool-results/x") == long
    info = sessions.import_(whole, new_id=True)
    assert len(files_of(info)[""].splitlines()) == 2


@pytest.mark.parametrize(
    ("lines", "id", "folder"),
    [
        ([{"type": "mode"}, {"sessionId": PLAIN}, {"sessionId": "b", "cwd": "/p"}], PLAIN, "-p"),
        ([{"sessionId": "../x", "cwd": "/p"}, {"sessionId": PLAIN, "cwd": "/q"}], PLAIN, "-p"),
        ([{"sessionId": PLAIN, "cwd": "here"}], PLAIN, "imported"),
        ([{"sessionId": PLAIN}], PLAIN, "imported"),
        ([{"sessionId": PLAIN, "cwd": ""}, {"cwd": "/p"}], PLAIN, "-p"),
    ],
)
def test_exported_lines_say_which_session_they_are(
    tmp_path: Path, lines: list[dict[str, Any]], id: str, folder: str
) -> None:
    data = "\n".join(json.dumps({"type": "user", **line}) for line in lines)
    (tmp_path / "in.jsonl").write_text(data, encoding="utf-8")
    info = opened(tmp_path / "config").import_(tmp_path / "in.jsonl")
    assert (info.id, info.folder) == (id, folder)
    assert Path(info.path).read_text(encoding="utf-8") == data


def test_lines_of_a_subagent_are_no_session(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"sessionId":"agent-x"}\n', encoding="utf-8")
    with pytest.raises(StoreError, match="does not say which session it is"):
        opened(tmp_path / "config").import_(tmp_path / "in.jsonl")


def claiming(path: Path, size: int, padding: int = 0) -> Path:
    """Make a zip that says how large it would be, after so many bytes that cannot be packed."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("claudewire.json", json.dumps({"id": PLAIN, "folder": "-p"}))
        archive.writestr("session.jsonl", b"{}\n")
        archive.writestr("tool-results/x", os.urandom(padding))
        others = sum(it.file_size for it in archive.filelist[:2])
        archive.filelist[2].file_size = size - others
    return path


LARGE = 400_000
"""Bytes of a zip that may become more than what is unpacked whatever it was."""


@pytest.mark.parametrize("padding", [0, LARGE])
def test_a_zip_may_become_64_mib_or_200_times_as_large(tmp_path: Path, padding: int) -> None:
    sessions = opened(tmp_path / "config")
    size = claiming(tmp_path / "in.zip", 2**26, padding).stat().st_size
    most = max(2**26, 200 * size)
    assert (most > 2**26) == (padding > 0)
    assert sessions.import_(claiming(tmp_path / "in.zip", most, padding)).id == PLAIN
    refused = f"it would become {most + 1} bytes, more than any session"
    with pytest.raises(StoreError, match=refused):
        sessions.import_(claiming(tmp_path / "in.zip", most + 1, padding), new_id=True)


def test_a_zip_whose_bytes_have_changed_leaves_nothing(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("claudewire.json", json.dumps({"id": PLAIN, "folder": "-p"}))
        archive.writestr("session.jsonl", b'{"type":"user"}\n')
    path.write_bytes(path.read_bytes().replace(b'"user"', b'"ruse"', 1))
    conversation(config)
    before = sorted(config.rglob("*"))
    with pytest.raises(StoreError, match=r"in\.zip cannot be imported: Bad CRC-32"):
        opened(config).import_(path)
    assert sorted(config.rglob("*")) == before
