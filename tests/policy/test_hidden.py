"""Which commands are found behind others: what a rule denies is denied there, too."""

from __future__ import annotations

import pytest

from claudewire.policy import Policy

NO_REMOVING = Policy(["Bash"], deny=["Bash(rm:*)"])


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        (r"find . -exec zip {} \; -name x", "allow"),
        (r"find . -exec zip {} + -name rm", "allow"),
        (r"find . -exec zip {} \; -exec rm {} \;", "deny"),
        (r"find . -exec zip {} + -okdir rm {} \;", "deny"),
        (r"find . -exec nice -n 5 rm {} \;", "deny"),
        # A plus is the end only behind braces, and not of -ok. In busybox it is one anywhere.
        (r"find . -exec env -u + rm {} \;", "deny"),
        (r"find . -ok env -u {} + rm x \;", "deny"),
        (r"find . -exec zip {} + rm x \;", "allow"),
        (r"find . -exec env -u \; rm {} \;", "allow"),
        (r"find . -exec rm + -name x", "deny"),
        # No end, no program, or a program that is found.
        (r"find . -exec zip {}", "ask"),
        (r"find . -exec zip +", "ask"),
        (r"find . -ok zip {} +", "ask"),
        (r"find . -exec \;", "ask"),
        (r"find . -exec {} \;", "ask"),
        (r"find . -exec ./{} \;", "ask"),
        (r"find . -exec zip {} \; -exec {} \;", "ask"),
        # A word that is not known, and is one word, cannot be more than one of these.
        (r'find "$A" -name x', "allow"),
        (r'find "$A" -name rm', "ask"),
        (r'find "$A" "$B"', "ask"),
        (r"find $A -name x", "ask"),
    ],
)
def test_a_command_behind_find_is_looked_at(command: str, behavior: str) -> None:
    decision = NO_REMOVING.decide("Bash", {"command": command})
    assert decision.behavior == behavior, decision.reason


@pytest.mark.parametrize(
    ("command", "most"), [(r"-exec zip {} \; ", 64), ("-exec zip " + "+ " * 63 + r"\; ", 1)]
)
def test_only_so_many_commands_behind_find_are_looked_at(command: str, most: int) -> None:
    for count, behavior in ((most, "allow"), (most + 1, "ask")):
        decision = NO_REMOVING.decide("Bash", {"command": "find . " + command * count})
        assert decision.behavior == behavior, decision.reason


@pytest.mark.parametrize(
    ("command", "behavior"),
    [
        ("make <<X\nrm a\nX", "ask"),
        ("make <<< 'rm a'", "ask"),
        ("cat <<X\nrm a\nX", "allow"),
        ("cat <<X; make\nrm a\nX", "allow"),  # which is not given this to read
        ("cat <<X; make <<< b\nrm a\nX", "ask"),  # which of them reads it is not told apart
    ],
)
def test_a_program_may_do_what_it_is_given_to_read(command: str, behavior: str) -> None:
    decision = NO_REMOVING.decide("Bash", {"command": command})
    assert decision.behavior == behavior, decision.reason


@pytest.mark.parametrize(
    "command",
    ["make; rm a; (", "fi; rm a", "make ) rm a", "make `rm a", "echo 'x; rm a", "[[ a && rm a"],
)
def test_a_command_in_a_line_that_cannot_be_parsed_is_denied_nevertheless(command: str) -> None:
    decision = NO_REMOVING.decide("Bash", {"command": command})
    assert decision.behavior == "deny", decision.reason
