"""`scripts/test` runs every step, and fails when one of them does.

The scripts run as they are, in a folder where all programs that they start only write down how they
were called.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOON = 60

NOTES = """\
#!/bin/sh
called="${0##*/} $*"
echo "$called" >>calls
echo "Type completeness score: 100%"  # a line that is looked for
case "$called" in "$FAILS"*) exit 1 ;; esac
"""
PROGRAMS = ("coverage", "lint-imports", "mypy", "pyright", "python", "ruff")
SCRIPTS = ("chromium", "conformance", "peers", "real-clis")

STEPS = {
    "chromium": "real CLIs and other SDKs, installed privately",
    "conformance --check": "conformance",
    "coverage combine": "tests",
    "coverage report --include=src/claudewire/wire/*": "coverage of the wire: every branch",
    "coverage report --omit=src/claudewire/wire/*": "coverage of the rest",
    "coverage run -m pytest": "tests",
    "lint-imports": "lint",
    "mypy": "lint",
    "peers": "real CLIs and other SDKs, installed privately",
    "pyright --verifytypes": "lint",
    "real-clis": "real CLIs and other SDKs, installed privately",
    "ruff check": "lint",
    "ruff format": "lint",
}
"""How the command begins, and the step that it belongs to."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for noted in (
        *(programs / it for it in PROGRAMS),
        *(tmp_path / "scripts" / it for it in SCRIPTS),
    ):
        noted.write_text(NOTES, encoding="utf-8")
        noted.chmod(0o755)
    settings = (tmp_path / "pyproject.toml").read_bytes()
    checksum = subprocess.run(["cksum"], input=settings, capture_output=True, check=True).stdout
    made_for = f"{tmp_path.resolve()} {checksum.decode().strip()}\n"
    (tmp_path / ".venv" / ".made-for").write_text(made_for, encoding="utf-8")
    return tmp_path


def run(project: Path, *arguments: str, fails: str = "nothing") -> tuple[int, str, list[str]]:
    """Run `scripts/test`; return its status, what it prints, and what it has called."""
    kept = {name: it for name, it in os.environ.items() if name not in ("PYTHON", "VENV")}
    done = subprocess.run(
        [project / "scripts" / "test", *arguments],
        env={**kept, "FAILS": fails},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=SOON,
    )
    calls = (project / "calls").read_text(encoding="utf-8").splitlines()
    return done.returncode, done.stdout, calls


def test_every_step_is_run(project: Path) -> None:
    status, printed, calls = run(project)
    assert status == 0, printed
    assert "scripts/test: everything passed" in printed
    assert [it for it in STEPS if not any(call.startswith(it) for call in calls)] == []
    assert [step for step in STEPS.values() if f"== {step}: ok, " not in printed] == []


@pytest.mark.parametrize("command", STEPS)
def test_it_fails_if_any_command_does_and_says_in_which_step(project: Path, command: str) -> None:
    status, printed, _ = run(project, fails=command)
    assert status == 1, printed
    assert printed.splitlines()[-1].endswith(f" s: [{STEPS[command]}]")


def test_the_fast_one_leaves_out_what_is_slow_and_says_so(project: Path) -> None:
    status, printed, calls = run(project, "--fast")
    assert status == 0, printed
    assert "Left out: " in printed
    assert [it for it in calls if "pytest" in it] == [
        "python -m pytest -q -n 2 --dist loadgroup -m not slow"
    ]
    assert not [it for it in calls if it.startswith(("coverage", "pyright", "real-clis"))]


def test_arguments_are_those_of_pytest(project: Path) -> None:
    status, _, calls = run(project, "-x", "-k", "framing", fails="python -m pytest")
    assert status == 1
    assert calls[-1] == "python -m pytest -x -k framing"
