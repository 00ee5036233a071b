"""A program is tested as it is: only `claude` is another one, which plays a scenario."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples.code_review import main

from claudewire.testing import SimulatedProgramFactory

SCENARIO = """
default = "I do not understand."

[[turn]]
match = "review good.py"
steps = [{ output = { findings = [] } }]

[[turn]]
match = "review bad.py"
steps = [
    { use = "Read", input = { file_path = "bad.py" }, result = "eval(input())" },
    { output = { findings = [{ line = 1, severity = "problem", text = "{result}" }] } },
]

[[turn]]
match = "review sly.py"
steps = [
    { use = "Bash", input = { command = "rm sly.py" } },
    { output = { findings = [{ line = 1, severity = "note", text = "{result}" }] } },
]

[[turn]]
match = "review odd.py"
steps = [{ output = { findings = [{ line = "one", severity = "terrible", text = "?" }] } }]
"""


@pytest.fixture(autouse=True)
def claude(
    claudewire_sim: SimulatedProgramFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_PATH", str(claudewire_sim(SCENARIO)))
    monkeypatch.chdir(tmp_path)


def test_file_without_findings_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["good.py"]) == 0
    assert capsys.readouterr().out == ""


def test_problem_fails_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["good.py", "bad.py"]) == 1
    assert capsys.readouterr().out == "bad.py:1: problem: eval(input())\n"


def test_agent_cannot_delete_reviewed_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sly.py"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("sly.py:1: note: ")
    assert "No such tool available: Bash" in told


def test_unfitting_output_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["odd.py"]) == 2
    assert "odd.py: no review: " in capsys.readouterr().err


def test_dead_cli_is_an_error(
    claudewire_sim: SimulatedProgramFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_PATH", str(claudewire_sim(SCENARIO, faults="kill(9)@4")))
    assert main(["good.py"]) == 2
    assert "killed by SIGKILL" in capsys.readouterr().err
