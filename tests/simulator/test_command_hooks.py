"""What a command that is a hook wants, by its exit status and what it has printed."""

from __future__ import annotations

import pytest

from claudewire.simulator.command_hooks import BLOCKS, Outcome, output_of


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
