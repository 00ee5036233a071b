"""`claudewire chat` in a terminal: what a person sees and types."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.running import Runner
from tests.cli.terminal import opened

READY = "/help for help. ❯"


def test_a_conversation_in_one_terminal(sim: str, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("old words\n", encoding="utf-8")
    with opened("chat", "--cli", sim, cwd=tmp_path) as terminal:
        terminal.wait_for(READY)

        # Two lines, sent with Enter.
        terminal.type("hello\x1b\rthere")
        terminal.wait_for("❯ hello there")
        terminal.enter()
        terminal.wait_for("You said: hello there")

        # The history.
        terminal.wait_for("tokens", count=1)
        terminal.type("\x1b[A")
        terminal.wait_for("❯ hello there", count=2)
        terminal.type("\x15\x08\x15")
        terminal.wait_until(lambda: terminal.text.count("❯ hello") == 1, "an empty prompt")

        # Commands and files are completed.
        terminal.type("/con\t")
        terminal.wait_for("❯ /context")
        terminal.enter()
        terminal.wait_for("tokens are in use")
        terminal.type("Look at @not\t")
        terminal.wait_for("Look at @notes.md")
        terminal.enter()
        terminal.wait_for("You said: Look at @notes.md")

        # What is known of the session.
        for command, words in (
            ("/cost", "Together: "),
            ("/tasks", "Nothing has run in the background."),
            ("/model sonnet", "The model is now sonnet."),
            ("/mode plan", "The permission mode is now plan."),
            ("/mode", "Which mode?"),
            ("/mode fly", "fly"),
            ("/model", "The model is now sonnet."),
            ("/save", "Where to?"),
            ("/help", "writes the conversation to a Markdown file"),
            ("/fly", "There is no command /fly."),
            ("/save talk.md", "Written to talk.md."),
            ("/save talk.md", "talk.md was not written: File exists."),
        ):
            terminal.enter(command)
            terminal.wait_for(words)
        saved = (tmp_path / "talk.md").read_text(encoding="utf-8")
        assert "## you\n\nhello\nthere\n" in saved
        assert "## claude\n\nYou said: hello\nthere\n" in saved

        terminal.enter("/quit")
        assert terminal.wait_end() == 0


def test_a_permission_an_answer_and_a_plan_in_a_conversation(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, "shell git push", cwd=tmp_path) as terminal:
        terminal.wait_for("│ git push")
        terminal.wait_for("x no, and stop ❯")
        terminal.enter("n not today")
        terminal.wait_for("Allowed: False. not today.")
        terminal.enter("ask")
        terminal.wait_for("s skip ❯")
        terminal.enter("2 3")
        terminal.wait_for("Answers: {'Which sizes?': 'Medium, Large'}")
        terminal.enter("plan")
        terminal.wait_for("x reject ❯")
        terminal.enter("n only read")
        terminal.wait_for("Plan: False.")
        terminal.type("\x04")
        assert terminal.wait_end() == 0


def test_a_prompt_is_queued_and_an_interrupt_has_a_receipt(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, "--allow", "Read", "wait", cwd=tmp_path) as terminal:
        terminal.wait_for("Read slow.txt")
        terminal.enter("hello again")
        terminal.wait_for("queued, until this is done")
        terminal.wait_for("1 queued")
        terminal.type("\x03")
        terminal.wait_for("The turn was stopped. Still queued: 1.")
        terminal.wait_for("You said: hello again")
        assert "ede_diagnostic" not in terminal.text
        terminal.type("\x03")
        terminal.wait_for("Press Ctrl-C again to leave.")
        terminal.type("\x03")
        assert terminal.wait_end() == 0


def test_ctrl_c_twice_ends_a_session_that_works(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, "--allow", "Read", "wait", cwd=tmp_path) as terminal:
        terminal.wait_for("Read slow.txt")
        terminal.type("\x03\x03\x03")
        assert terminal.wait_end() == 130


@pytest.mark.unmeasured
def test_what_was_typed_is_kept_while_a_question_is_answered(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, cwd=tmp_path) as terminal:
        terminal.wait_for(READY)
        terminal.type("shell git push\rand then")
        terminal.wait_for("x no, and stop ❯")
        terminal.type("y")
        terminal.wait_for("❯ y")
        # The first may have been meant for what was typed before.
        terminal.press_until("\r", "Allowed: True.")
        terminal.wait_for("Allowed: True.")
        terminal.wait_until(lambda: "❯ and then" in terminal.text, "what was typed before")
        terminal.enter(" this")
        terminal.wait_for("You said: and then this")


@pytest.mark.unmeasured
def test_a_narrow_window_and_one_that_changes_its_size(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, cwd=tmp_path, columns=26) as terminal:
        terminal.wait_for("❯")
        terminal.enter("markdown")
        terminal.wait_for("• another")
        terminal.wait_for("tokens")
        terminal.resize(60)
        terminal.enter("markdown")
        terminal.wait_for("• another", count=2)
        assert "Some bold words and code, in a paragraph that is long" in terminal.text


def test_what_happens_in_the_background_is_told(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, "background", cwd=tmp_path) as terminal:
        terminal.wait_for("It is being built.")
        terminal.wait_for("The build is done.")
        terminal.enter("/tasks")
        terminal.wait_for("a long build (completed)")
        terminal.enter("fail")
        terminal.wait_for("The request is not valid")
        terminal.type("\x04")
        assert terminal.wait_end() == 0


def test_a_conversation_goes_on_in_a_copy(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, cwd=tmp_path) as terminal:
        terminal.wait_for(READY)
        terminal.enter("/fork")
        terminal.wait_for("There is nothing to fork yet.")
        terminal.enter("hello")
        terminal.wait_for("You said: hello")
        terminal.enter("/fork")
        terminal.wait_for("This goes on in a copy")
        terminal.wait_for("Talking to", count=2)
        terminal.enter("more")
        terminal.wait_for("You said: more")
        terminal.type("\x04")
        assert terminal.wait_end() == 0


@pytest.mark.unmeasured
def test_a_cli_that_ends_ends_the_conversation(
    sim: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDEWIRE_SIM_FAULTS", "die@turn")
    with opened("chat", "--cli", sim, "hello", cwd=tmp_path) as terminal:
        assert terminal.wait_end() == 7
        assert "error:" in terminal.text


def test_a_cli_that_is_missing_is_said_at_once(tmp_path: Path) -> None:
    with opened("chat", "--cli", "/no/such/claude", cwd=tmp_path) as terminal:
        assert terminal.wait_end() == 7
        assert "error:" in terminal.text


def test_a_conversation_needs_a_terminal(run: Runner) -> None:
    done = run("chat", "--cli", "simulated")
    assert done.status == 2
    assert "claudewire run" in done.err
