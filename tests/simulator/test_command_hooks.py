"""What a command that is a hook wants, by its exit status and what it has printed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claudewire.simulator.command_hooks import BLOCKS, Outcome, output_of, run_command


def test_a_command_that_blocks_says_why() -> None:
    for stderr, reason in (("not now\n", "not now"), ("", "No stderr output")):
        output = output_of("PreToolUse", Outcome(BLOCKS, "", stderr))
        assert output is not None
        assert (output.decision, output.reason) == ("block", reason)


@pytest.mark.parametrize(
    "outcome",
    [Outcome(1, "{}", ""), Outcome(0, " \n", ""), Outcome(0, "{ broken", ""), Outcome(0, "x", "")],
)
def test_a_command_that_fails_or_prints_no_json_wants_nothing(outcome: Outcome) -> None:
    assert output_of("PreToolUse", outcome) is None


def test_what_is_printed_before_a_prompt_is_for_the_model() -> None:
    output = output_of("UserPromptSubmit", Outcome(0, "It is late.\n", ""))
    assert output is not None
    assert "It is late." in str(output.hook_specific_output)


def test_a_command_has_its_input_its_variables_and_its_folder(tmp_path: Path) -> None:
    command = 'cat; echo "$COLOUR $PATH"; pwd; echo "\\377" >&2; exit 3'
    env = {"COLOUR": "red", "PATH": "/bin:/usr/bin"}
    outcome = run_command(command, b"given\n", env, str(tmp_path), 30)
    assert outcome == Outcome(3, f"given\nred /bin:/usr/bin\n{tmp_path}\n", "\ufffd\n")


def test_a_command_has_a_path_if_nobody_gives_it_one(tmp_path: Path) -> None:
    told = run_command("env", b"", {}, str(tmp_path), 30)
    assert f"PATH={os.defpath}" in told.stdout.splitlines()


def test_a_command_that_cannot_be_run_or_takes_too_long_says_so(tmp_path: Path) -> None:
    missing = str(tmp_path / "none")
    outcome = run_command("true", b"", {}, missing, 30)
    assert outcome[:2] == (1, "")
    assert missing in outcome.stderr
    impossible = run_command("a\0b", b"", {}, str(tmp_path), 30)
    assert impossible == Outcome(1, "", "embedded null byte")
    slow = run_command("exec sleep 60", b"", {}, str(tmp_path), 0.01)
    assert slow == Outcome(None, "", "The hook did not end within 0.01 s")
