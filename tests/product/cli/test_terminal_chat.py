"""`claudewire chat` in a terminal: prompts, questions, commands and the end."""

from __future__ import annotations

from pathlib import Path

from tests.product.cli.conftest import Runner
from tests.product.cli.terminal import opened

READY = "/help for help. ❯"
ASKED = "e = edit ❯"


def test_conversation_has_history_completion_and_commands(sim: str, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Frogs jump.\n", encoding="utf-8")
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
        terminal.type("/mo\t")
        terminal.wait_for("❯ /mod")
        terminal.type("\x15")
        terminal.type("Look at @not\t")
        terminal.wait_for("Look at @notes.md")
        terminal.enter()
        terminal.wait_for("You said: Look at @notes.md")

        for command, words in (
            ("/model sonnet", "The model is now sonnet."),
            ("/model two words", "Usage: /model NAME"),
            ("/mode plan", "The permission mode is now plan."),
            ("/mode fly", "Usage: /mode MODE, one of default"),
            ("/help", "changes the permission mode"),
            ("/fly", "There is no command /fly."),
        ):
            terminal.enter(command)
            terminal.wait_for(words)

        terminal.enter("/quit")
        assert terminal.wait_end() == 0


def test_person_answers_a_permission_a_question_and_a_plan(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, "shell git push", cwd=tmp_path) as terminal:
        terminal.wait_for("- command: git push")
        terminal.wait_for(ASKED)
        terminal.enter("n not today")
        terminal.wait_for("Allowed: False. not today.")
        terminal.enter("ask")
        terminal.wait_for("s = skip ❯")
        terminal.enter("2 3")
        terminal.wait_for("Answers: {'Which sizes?': 'Medium, Large'}")
        terminal.enter("plan")
        terminal.wait_for("x = reject ❯")
        terminal.enter("n only read")
        terminal.wait_for("Plan: False.")
        terminal.type("\x04")
        assert terminal.wait_end() == 0


def test_prompt_is_queued_and_an_interrupt_has_a_receipt(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, "--allow", "Read", "wait", cwd=tmp_path) as terminal:
        terminal.wait_for("Read slow.txt")
        terminal.enter("hello again")
        terminal.wait_for("queued behind the running turn")
        terminal.wait_for("1 queued")
        terminal.type("\x03")
        terminal.wait_for("Turn stopped. Still queued: 1.")
        terminal.wait_for("You said: hello again")
        terminal.type("\x03")
        terminal.wait_for("Press Ctrl-C again to leave.")
        terminal.type("\x03")
        assert terminal.wait_end() == 0


def test_ctrl_c_thrice_ends_a_busy_session(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, "--allow", "Read", "wait", cwd=tmp_path) as terminal:
        terminal.wait_for("Read slow.txt")
        terminal.type("\x03\x03\x03")
        assert terminal.wait_end() == 130


def test_typed_text_outlives_a_question(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, cwd=tmp_path) as terminal:
        terminal.wait_for(READY)
        terminal.type("shell git push\rand then")
        terminal.wait_for(ASKED)
        terminal.type("y")
        terminal.wait_for("❯ y")
        # The first Enter may have been meant for the text before.
        terminal.press_until("\r", "Allowed: True.")
        terminal.wait_until(lambda: "❯ and then" in terminal.text, "the typed text")
        terminal.enter(" this")
        terminal.wait_for("You said: and then this")


def test_width_of_the_window_may_change(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, cwd=tmp_path, columns=26) as terminal:
        terminal.wait_for("❯")
        terminal.enter("markdown")
        terminal.wait_for("• another")
        terminal.wait_for("tokens")
        terminal.resize(60)
        terminal.enter("markdown")
        terminal.wait_for("• another", count=2)
        assert "Some bold words and code, in a paragraph that is long" in terminal.text


def test_background_task_and_failed_turn_are_reported(sim: str, tmp_path: Path) -> None:
    with opened("chat", "--cli", sim, "background", cwd=tmp_path) as terminal:
        terminal.wait_for("It is being built.")
        terminal.wait_for("The build is done.")
        terminal.enter("fail")
        terminal.wait_for("The request is not valid")
        terminal.type("\x04")
        assert terminal.wait_end() == 0


def test_cli_that_ends_ends_the_conversation(sim: str, tmp_path: Path) -> None:
    faults = {"CLAUDEWIRE_SIM_FAULTS": "exit(3)@4"}
    with opened("chat", "--cli", sim, "hello", cwd=tmp_path, env=faults) as terminal:
        assert terminal.wait_end() == 7
        assert "error:" in terminal.text
    with opened("chat", "--cli", "/no/such/claude", cwd=tmp_path) as terminal:
        assert terminal.wait_end() == 7
        assert "error: There is no file /no/such/claude" in terminal.text


def test_conversation_needs_a_terminal(run: Runner) -> None:
    done = run("chat", "--cli", "simulated")
    assert done.status == 2
    assert "For one task without a terminal there is `claudewire run`." in done.err
