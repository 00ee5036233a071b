"""`claudewire run`: what it prints where, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import Runner


def test_the_answer_goes_to_stdout_and_the_rest_to_stderr(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n", encoding="utf-8")
    done = run("run", "--cli", "simulated", "Read notes.md")
    assert done.status == 0
    assert (
        done.out
        == "(simulation) I'll read notes.md.\n\nnotes.md has 1 line. It begins:\n- # Notes\n"
    )
    assert "+ Read notes.md: # Notes" in done.err
    assert "2 turns" in done.err


def test_what_no_rule_allows_is_denied_without_a_terminal(run: Runner, tmp_path: Path) -> None:
    done = run("run", "--cli", "simulated", "Write a.txt: hello")
    assert done.status == 3
    assert "No person can be asked" in done.err
    assert not (tmp_path / "a.txt").exists()


def test_a_rule_allows_what_it_covers(run: Runner, tmp_path: Path) -> None:
    done = run("run", "--cli", "simulated", "--allow", "Write", "Write a.txt: hello")
    assert done.status == 0
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "hello\n"


def test_json_is_one_object(run: Runner) -> None:
    done = run("run", "--cli", "simulated", "--json", "Look around")
    report = json.loads(done.out)
    assert (report["outcome"], report["exit_code"]) == ("done", 0)
    assert done.err == ""
