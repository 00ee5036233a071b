"""The parts of a conversation on a terminal by themselves: completion, history, keys."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from claudewire.cli.chat_screen import ChatCompleter, history_file

COMMANDS = [("/help", "list the commands"), ("/hooks", "list the hooks"), ("/model", "choose")]


def completed(typed: str, folder: Path) -> list[str]:
    completer = ChatCompleter(lambda: COMMANDS, str(folder))
    return [it.text for it in completer.get_completions(Document(typed), CompleteEvent())]


def test_commands_are_completed_at_the_beginning_alone(tmp_path: Path) -> None:
    assert completed("/h", tmp_path) == ["/help", "/hooks"]
    assert completed("/", tmp_path) == ["/help", "/hooks", "/model"]
    assert completed("/x", tmp_path) == []
    assert completed("say /h", tmp_path) == []


def test_files_are_completed_after_an_at_sign(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("docs/a.md", "docs/b.md", "dark.py", ".hidden", "d\x1b.py"):
        (tmp_path / name).touch()
    assert completed("look at @d", tmp_path) == ["@dark.py", "@docs/"]
    assert completed("look at @docs/", tmp_path) == ["@docs/a.md", "@docs/b.md"]
    assert completed("look at @", tmp_path) == ["@dark.py", "@docs/"]
    assert completed("look at @.h", tmp_path) == ["@.hidden"]
    assert completed("look at @missing/a", tmp_path) == []
    assert completed("look at @d ", tmp_path) == []
    assert completed("", tmp_path) == []


def test_prompts_are_remembered_where_only_the_user_can_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = history_file()
    assert path == tmp_path / "claudewire" / "history"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_prompts_are_not_remembered_where_there_is_no_place_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert history_file() is None
