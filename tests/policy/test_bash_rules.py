"""Rules for commands: a table of command lines, most of them evasions."""

from __future__ import annotations

import pytest

from .bash_cases import LINES, POLICY, Line


def test_there_are_many_lines_and_none_twice() -> None:
    assert len(LINES) >= 200
    assert len({line.command for line in LINES}) == len(LINES)
    assert all(line.why for line in LINES)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.behavior}-{line.command[:40]!r}")
def test_a_command_line_is(line: Line) -> None:
    decision = POLICY.decide("Bash", {"command": line.command})
    assert decision.behavior == line.behavior, decision.reason
    assert line.reason in decision.reason
