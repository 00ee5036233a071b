"""`claudewire run` in a terminal: questions, progress and widths."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.product.cli.terminal import opened

ASKED = "e = edit ❯"


def test_person_allows_a_command(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "shell git push", cwd=tmp_path) as terminal:
        terminal.wait_for("Allow Bash? * tool: Bash - command: git push")
        terminal.wait_for(ASKED)
        terminal.enter("maybe")
        terminal.wait_for("That is not one of the answers.")
        terminal.enter("y")
        assert terminal.wait_end() == 0
        assert "✓ Bash git push · ran git push" in terminal.text
        assert "Allowed: True. ran git push." in terminal.text
        assert "2 model calls" in terminal.text


def test_person_edits_a_command(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "shell git push", cwd=tmp_path) as terminal:
        terminal.wait_for(ASKED)
        terminal.enter("e")
        terminal.wait_for("An empty text keeps the input. git push")
        terminal.type(" --dry-run\x1b\r")
        assert terminal.wait_end() == 0
        assert "Allowed: True. ran git push --dry-run." in terminal.words


def test_person_denies_a_command_with_a_reason(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "shell git push", cwd=tmp_path) as terminal:
        terminal.wait_for(ASKED)
        terminal.enter("n not on a Friday")
        assert terminal.wait_end() == 3
        assert "✗ Bash git push · denied: not on a Friday" in terminal.text
        assert "Allowed: False. not on a Friday." in terminal.text
        assert "1 denied" in terminal.text


def test_remembered_command_is_not_asked_about_again(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "twice git push", cwd=tmp_path) as terminal:
        terminal.wait_for(ASKED)
        terminal.enter("a session")
        assert terminal.wait_end() == 0
        assert terminal.text.count("Allow Bash?") == 1
        assert terminal.text.count("✓ Bash git push") == 2


def test_edit_is_shown_as_a_diff(sim: str, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Frogs jump.\n", encoding="utf-8")
    with opened("run", "--cli", sim, "edit", cwd=tmp_path) as terminal:
        terminal.wait_for("| -Frogs jump. | +Toads walk.")
        terminal.wait_for(ASKED)
        terminal.enter("y")
        assert terminal.wait_end() == 0


def test_form_is_filled_in_field_by_field(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "form", cwd=tmp_path) as terminal:
        terminal.wait_for("n = decline ❯")
        terminal.enter("y")
        terminal.wait_for("Text (required) ❯")
        terminal.enter("Ada")
        terminal.wait_for("A whole number; Enter to leave it out ❯")
        terminal.enter("-3")
        terminal.wait_for("at least 0")
        terminal.enter("36")
        terminal.wait_for("The number of one option; Enter to leave it out ❯")
        terminal.enter("2")
        assert terminal.wait_end() == 0
        assert "Form: accept {'name': 'Ada', 'age': 36, 'colour': 'green'}" in terminal.words


@pytest.mark.parametrize(("key", "status"), [("\x03", 130), ("\x04", 3)])
def test_ctrl_c_interrupts_a_question_and_ctrl_d_denies(
    sim: str, tmp_path: Path, key: str, status: int
) -> None:
    with opened("run", "--cli", sim, "shell ls", cwd=tmp_path) as terminal:
        terminal.wait_for(ASKED)
        terminal.type(key)
        assert terminal.wait_end() == status


def test_no_input_asks_nobody(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "--no-input", "shell ls", cwd=tmp_path) as terminal:
        assert terminal.wait_end() == 3
        assert "Denied, because no person can be asked here: Bash." in terminal.words


def test_running_tool_is_shown_with_its_time(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "--allow", "Read", "wait", cwd=tmp_path) as terminal:
        terminal.wait_for("Read slow.txt · 0 s")
        terminal.wait_for("Read slow.txt · 1 s")
        assert terminal.text.count("slow.txt") == 1
        terminal.type("\x03")
        assert terminal.wait_end() == 130
        assert "Turn stopped." in terminal.text


def test_subagents_are_indented(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "--allow", "Read", "agents", cwd=tmp_path) as terminal:
        assert terminal.wait_end() == 0
        lines = terminal.text.splitlines()
        assert lines[0] == "  ▸ Agent Look into it"
        assert lines[1].startswith("    ✓ Read inner.py · x = 1")
        assert lines[2].startswith("  ✓ Agent Look into it")


@pytest.mark.parametrize("columns", [24, 100])
def test_markdown_fits_into_any_width(sim: str, tmp_path: Path, columns: int) -> None:
    with opened("run", "--cli", sim, "markdown", cwd=tmp_path, columns=columns) as terminal:
        assert terminal.wait_end() == 0
        for words in ("A heading", "• another", "print('hello')", "a  b"):
            assert words in terminal.text
        assert "Some bold words and code, in a paragraph that is long" in terminal.words


def test_no_color_leaves_bold_text(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "markdown", cwd=tmp_path, env={"NO_COLOR": "1"}) as terminal:
        assert terminal.wait_end() == 0
        cells = [cell for row in terminal.screen.buffer.values() for cell in row.values()]
        assert {cell.fg for cell in cells} == {"default"}
        assert any(cell.bold for cell in cells)


def test_dumb_terminal_gets_plain_lines(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "markdown", cwd=tmp_path, env={"TERM": "dumb"}) as terminal:
        assert terminal.wait_end() == 0
        assert b"\x1b" not in terminal.written
        assert "# A heading" in terminal.text


def test_escape_sequence_of_a_file_is_shown(tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_text("\x1b]0;title\x07❯ y\u202e\n", encoding="utf-8")
    with opened("run", "--cli", "simulated", "Read evil.txt", cwd=tmp_path) as terminal:
        assert terminal.wait_end() == 0
        assert "\\x1b]0;title\\x07\\u276f y\\u202e" in terminal.text


def test_question_comes_while_stdout_is_a_pipe(sim: str, tmp_path: Path) -> None:
    line = f"echo 'shell ls' | {sys.executable} -m claudewire run --cli {sim} - | cat"
    with opened("-c", line, cwd=tmp_path, argv=["bash"]) as terminal:
        terminal.wait_for("e = edit")
        terminal.wait_for("❯")  # the output of `cat` may come between the two
        terminal.enter("y")
        assert terminal.wait_end() == 0
        for words in ("I'll run it.", "Allowed: True. ran ls.", "✓ Bash ls · ran ls"):
            assert words in terminal.text


def test_file_gets_the_answer_or_the_progress_alone(sim: str, tmp_path: Path) -> None:
    command = f"{sys.executable} -m claudewire run --cli {sim} --allow Bash shell ls"
    with opened("-c", f"{command} > answer.txt", cwd=tmp_path, argv=["bash"]) as terminal:
        assert terminal.wait_end() == 0
        assert "✓ Bash ls · ran ls" in terminal.text
    answer = (tmp_path / "answer.txt").read_text(encoding="utf-8")
    assert answer == "I'll run it.\n\nAllowed: True. ran ls.\n"
    with opened("-c", f"{command} 2> log.txt", cwd=tmp_path, argv=["bash"]) as terminal:
        assert terminal.wait_end() == 0
        assert terminal.text == "I'll run it.\n\nAllowed: True. ran ls."
    assert "✓ Bash ls · ran ls" in (tmp_path / "log.txt").read_text(encoding="utf-8")
