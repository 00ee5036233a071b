"""`claudewire run` in a terminal: what a person sees and types."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.terminal import opened


@pytest.mark.unmeasured
def test_a_command_is_allowed_and_the_answer_follows(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "shell git push", cwd=tmp_path) as terminal:
        terminal.wait_for("May it use Bash? │ git push")
        terminal.wait_for("x no, and stop ❯")
        terminal.enter("y")
        assert terminal.wait_end() == 0
        assert "✓ Bash git push · ran git push" in terminal.text
        assert "Allowed: True. ran git push." in terminal.text
        assert "2 turns" in terminal.text


@pytest.mark.unmeasured
def test_a_command_is_changed_before_it_runs(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "shell git push", cwd=tmp_path) as terminal:
        terminal.wait_for("and stop ❯")
        terminal.enter("e")
        terminal.wait_for("press Esc and Enter")
        terminal.wait_for("leaves it as it is. git push")
        terminal.type(" --dry-run\x1b\r")
        assert terminal.wait_end() == 0
        assert "Allowed: True. ran git push --dry-run." in terminal.words


@pytest.mark.unmeasured
def test_a_command_is_denied_with_a_reason_that_the_model_is_told(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "shell git push", cwd=tmp_path) as terminal:
        terminal.wait_for("and stop ❯")
        terminal.enter("n not on a Friday")
        assert terminal.wait_end() == 3
        assert "✗ Bash git push · denied: not on a Friday" in terminal.text
        assert "Allowed: False. not on a Friday." in terminal.text
        assert "1 denied" in terminal.text


@pytest.mark.unmeasured
def test_a_command_that_is_remembered_is_not_asked_about_again(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "twice git push", cwd=tmp_path) as terminal:
        terminal.wait_for("a: Always allow")
        terminal.wait_for("and stop ❯")
        terminal.enter("a session")
        assert terminal.wait_end() == 0
        assert terminal.text.count("May it use Bash?") == 1
        assert terminal.text.count("✓ Bash git push") == 2


def test_an_edit_is_shown_as_a_diff(sim: str, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("old words\n", encoding="utf-8")
    with opened("run", "--cli", sim, "edit", cwd=tmp_path) as terminal:
        terminal.wait_for("│ -old words │ +new words")
        terminal.wait_for("and stop ❯")
        terminal.enter("maybe")
        terminal.wait_for("That is not one of the answers.")
        terminal.enter("y")
        assert terminal.wait_end() == 0


@pytest.mark.unmeasured
def test_several_answers_are_chosen_by_number(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "ask", cwd=tmp_path) as terminal:
        terminal.wait_for("│ 3 Large: fits a car")
        terminal.wait_for("s skip ❯")
        terminal.enter("1 3")
        assert terminal.wait_end() == 0
        assert "Answers: {'Which sizes?': 'Small, Large'}" in terminal.text


@pytest.mark.unmeasured
def test_a_plan_is_sent_back_with_what_to_change(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "plan", cwd=tmp_path) as terminal:
        terminal.wait_for("│ 2. Change it")
        terminal.wait_for("x reject ❯")
        terminal.enter("n only read")
        assert terminal.wait_end() == 3
        assert "only read" in terminal.text.split("Plan: False.")[1]


@pytest.mark.unmeasured
def test_a_form_is_filled_in_field_by_field(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "form", cwd=tmp_path) as terminal:
        terminal.wait_for("n decline ❯")
        terminal.enter("y")
        terminal.wait_for("text (required) ❯")
        terminal.enter("Ada")
        terminal.wait_for("a whole number Enter to leave it out ❯")
        terminal.enter("-3")
        terminal.wait_for("it must be at least 0")
        terminal.enter("36")
        terminal.wait_for("the number of one Enter to leave it out ❯")
        terminal.enter("2")
        assert terminal.wait_end() == 0
        assert "Form: accept {'name': 'Ada', 'age': 36, 'colour': 'green'}" in terminal.words


@pytest.mark.unmeasured
def test_an_interrupt_stops_the_turn_and_says_so(sim: str, tmp_path: Path) -> None:
    arguments = ("run", "--cli", sim, "--allow", "Read", "wait")
    with opened(*arguments, cwd=tmp_path) as terminal:
        terminal.wait_for("Read slow.txt · 0 s")
        terminal.type("\x03")
        assert terminal.wait_end() == 130
        assert "The turn was stopped." in terminal.text


def test_ctrl_c_at_a_question_interrupts(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "shell ls", cwd=tmp_path) as terminal:
        terminal.wait_for("and stop ❯")
        terminal.type("\x03")
        assert terminal.wait_end() == 130


def test_ctrl_d_at_a_question_is_a_no(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "shell ls", cwd=tmp_path) as terminal:
        terminal.wait_for("and stop ❯")
        terminal.type("\x04")
        assert terminal.wait_end() == 3


def test_subagents_are_indented(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "--allow", "Read", "agents", cwd=tmp_path) as terminal:
        assert terminal.wait_end() == 0
        lines = terminal.text.splitlines()
        assert lines[0] == "  ▸ Agent Look into it"
        assert lines[1].startswith("    ✓ Read inner.py · x = 1")
        assert lines[2].startswith("  ✓ Agent Look into it")


@pytest.mark.parametrize("columns", [24, 40, 100])
def test_markdown_fits_into_a_window_of_any_width(sim: str, tmp_path: Path, columns: int) -> None:
    arguments = ("run", "--cli", sim, "markdown")
    with opened(*arguments, cwd=tmp_path, columns=columns) as terminal:
        assert terminal.wait_end() == 0
        for words in ("A heading", "• another", "│ print('hello')", "a  b"):
            assert words in terminal.text
        assert "Some bold words and code, in a paragraph that is long" in terminal.words


@pytest.mark.unmeasured
def test_a_window_that_changes_its_size_is_drawn_again(sim: str, tmp_path: Path) -> None:
    arguments = ("run", "--cli", sim, "--allow", "Read", "wait")
    with opened(*arguments, cwd=tmp_path) as terminal:
        terminal.wait_for("Read slow.txt")
        terminal.resize(30)
        terminal.wait_for("slow.txt · 1 s")
        assert terminal.text.count("slow.txt") == 1
        terminal.type("\x03")
        assert terminal.wait_end() == 130


@pytest.mark.unmeasured
def test_without_colour_there_are_no_colours(
    sim: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with opened("run", "--cli", sim, "markdown", cwd=tmp_path) as terminal:
        assert terminal.wait_end() == 0
        coloured = [cell for row in terminal.screen.buffer.values() for cell in row.values()]
        assert {cell.fg for cell in coloured} == {"default"}
        assert any(cell.bold for cell in coloured)


@pytest.mark.unmeasured
def test_a_dumb_terminal_gets_plain_lines(sim: str, tmp_path: Path) -> None:
    with opened("run", "--cli", sim, "markdown", cwd=tmp_path, env={"TERM": "dumb"}) as terminal:
        assert terminal.wait_end() == 0
        assert b"\x1b" not in terminal.written
        assert "# A heading" in terminal.text


def test_an_answer_that_goes_elsewhere_is_not_drawn_over(sim: str, tmp_path: Path) -> None:
    line = f"echo 'shell ls' | {sys.executable} -m claudewire.cli run --cli {sim} - | cat"
    with opened("-c", line, cwd=tmp_path, argv=["bash"]) as terminal:
        terminal.wait_for("and stop")
        terminal.wait_for("❯")  # what `cat` writes may come between the two
        terminal.enter("y")
        assert terminal.wait_end() == 0
        assert "I'll run it." in terminal.text
        assert "Allowed: True. ran ls." in terminal.text
        assert "✓ Bash ls · ran ls" in terminal.text


@pytest.mark.unmeasured
def test_only_the_answer_is_in_a_file(sim: str, tmp_path: Path) -> None:
    line = f"{sys.executable} -m claudewire.cli run --cli {sim} --allow Bash shell ls > answer.txt"
    with opened("-c", line, cwd=tmp_path, argv=["bash"]) as terminal:
        assert terminal.wait_end() == 0
        assert "✓ Bash ls · ran ls" in terminal.text
        answer = (tmp_path / "answer.txt").read_text(encoding="utf-8")
        assert answer == "I'll run it.\n\nAllowed: True. ran ls.\n"


def test_progress_can_go_to_a_file(sim: str, tmp_path: Path) -> None:
    line = f"{sys.executable} -m claudewire.cli run --cli {sim} --allow Bash shell ls 2> log.txt"
    with opened("-c", line, cwd=tmp_path, argv=["bash"]) as terminal:
        assert terminal.wait_end() == 0
        assert "Allowed: True. ran ls." in terminal.text
        assert "✓" not in terminal.text
        log = (tmp_path / "log.txt").read_text(encoding="utf-8")
        assert log.startswith("+ Bash ls: ran ls")


def test_structured_output_is_shown_at_the_end(sim: str, tmp_path: Path) -> None:
    schema = '{"type": "object", "properties": {"total": {"type": "integer"}}}'
    arguments = ("run", "--cli", sim, "--output", schema, "output")
    with opened(*arguments, cwd=tmp_path) as terminal:
        assert terminal.wait_end() == 0
        assert '{ "total": 3 }' in terminal.words


@pytest.mark.unmeasured
def test_an_error_is_wrapped(tmp_path: Path) -> None:
    with opened("run", "--cli", "/no/such", "hello", cwd=tmp_path, columns=40) as terminal:
        assert terminal.wait_end() == 7
        assert all(len(line) <= 40 for line in terminal.text.splitlines())
