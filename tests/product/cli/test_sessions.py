"""`claudewire sessions`: conversations on disk, listed, read, found, kept and continued."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from tests.helpers.snapshots import Snapshot
from tests.product.cli.conftest import Runner
from tests.product.cli.terminal import opened

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"
OLD = 86400 * 25


@pytest.fixture
def ids(run: Runner, sim: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Hold three conversations, and return their ids."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(run.folder / "config"))
    prompts = ("hello frogs", "shell ls -l", f"my key is {KEY}")
    done = [run("run", "--cli", sim, "--json", "--allow", "Bash", it) for it in prompts]
    return [str(json.loads(it.out)["session_id"]) for it in done]


def make_old(folder: Path, id: str) -> None:
    (file,) = folder.glob(f"config/projects/*/{id}.jsonl")
    os.utime(file, (time.time() - OLD, time.time() - OLD))


def test_list_shows_conversations_newest_first(run: Runner, ids: list[str]) -> None:
    lines = run("sessions", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == [id[:8] for id in reversed(ids)]
    assert "hello frogs" in lines[-1]
    assert re.search(r" \d{4}-\d\d-\d\d \d\d:\d\d ", lines[-1])
    assert len(run("sessions", "list", "frogs").out.splitlines()) == 1
    assert len(run("sessions", "list", "-n", "2", "--since", "1h", "--project", ".").out) > 100
    listed = json.loads(run("sessions", "list", "--json").out)["sessions"]
    assert [it["id"] for it in listed] == [*reversed(ids)]
    assert listed[-1]["title"] == "hello frogs"
    none = run("sessions", "list", "--running")
    assert (none.status, none.out, none.err) == (0, "", "No conversations found.\n")


def test_list_fits_into_the_window(run: Runner, ids: list[str]) -> None:
    with opened("sessions", "list", cwd=run.folder, columns=50) as terminal:
        assert terminal.wait_end() == 0
        assert len(terminal.text.splitlines()) == 3


def test_show_prints_prompts_answers_and_tools(
    run: Runner, ids: list[str], snapshot: Snapshot
) -> None:
    text = run("sessions", "show", ids[1][:8]).out.replace(str(run.folder), "FOLDER")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", text)
    snapshot("command-session.txt", re.sub(r"\$\d\.\d+", "$N", text))
    lines = json.loads(run("sessions", "show", ids[1], "--json").out)["lines"]
    assert {"user", "assistant"} <= {line["type"] for line in lines}
    missing = run("sessions", "show", "nothing")
    assert missing.status == 2
    assert "`claudewire sessions list` shows" in missing.err


def test_search_finds_words_phrases_and_roles(run: Runner, ids: list[str]) -> None:
    assert "    hello frogs" in run("sessions", "search", "frogs").out
    assert "You said" not in run("sessions", "search", "role:user", '"hello frogs"').out
    assert run("sessions", "search", "ran").out.count(ids[1][:8]) == 1
    assert "ran ls -l" in run("sessions", "search", "--tools", "role:tool", "ran").out
    hits = json.loads(run("sessions", "search", "--json", "frogs").out)["hits"]
    assert {hit["session"]["id"] for hit in hits} == {ids[0]}
    assert run("sessions", "search", "toads").err == "No matches.\n"


@pytest.mark.parametrize("name", ["talk.html", "talk.md", "talk.jsonl"])
def test_export_removes_secrets_unless_told_otherwise(
    run: Runner, ids: list[str], name: str
) -> None:
    done = run("sessions", "export", ids[2], name)
    assert done.err == f"Wrote {name}.\n"
    text = (run.folder / name).read_text(encoding="utf-8")
    assert "my key is" in text
    assert KEY not in text
    run("sessions", "export", "--keep-secrets", ids[2], f"all-{name}")
    assert KEY in (run.folder / f"all-{name}").read_text(encoding="utf-8")


def test_archive_keeps_old_conversations_and_restores_them(run: Runner, ids: list[str]) -> None:
    make_old(run.folder, ids[0])
    assert ids[0][:8] in run("sessions", "list", "--expiring").out
    assert run("sessions", "archive").err == "Archived 1 conversation.\n"
    assert run("sessions", "archive").err == "Archived 0 conversations.\n"
    (file,) = run.folder.glob(f"config/projects/*/{ids[0]}.jsonl")
    file.unlink()
    assert ids[0][:8] in run("sessions", "list", "--archived").out
    assert run("sessions", "archive", "--restore", ids[0]).err == f"Restored {ids[0]}.\n"
    assert file.exists()


def test_resume_continues_in_a_chat(run: Runner, ids: list[str], sim: str) -> None:
    with opened("sessions", "resume", ids[0][:8], "--cli", sim, cwd=run.folder) as terminal:
        terminal.wait_for("/help for help. ❯")
        terminal.enter("more")
        terminal.wait_for("You said: more")
        terminal.type("\x04")
        assert terminal.wait_end() == 0
    (file,) = run.folder.glob(f"config/projects/*/{ids[0]}.jsonl")
    assert "You said: more" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("list", "--since", "yesterday"), "'yesterday' is not a time; write 90m"),
        (("--config-dir", "none", "list"), "Directory 'none' does not exist"),
        (("search", "role:me"), "role:me is not a role"),
        (("search", '"frogs'), 'A quotation mark is missing in "frogs'),
        (("export", "ID", "none/x.html"), "There is no folder"),
        (("export", "ID", "x.pdf"), "x.pdf"),
        (("export", "ID", "notes.md"), "notes.md"),
    ],
)
def test_arguments_that_do_not_fit_are_usage_errors(
    run: Runner, ids: list[str], words: tuple[str, ...], problem: str
) -> None:
    done = run("sessions", *(ids[0] if word == "ID" else word for word in words))
    assert done.status == 2
    assert problem in done.err
