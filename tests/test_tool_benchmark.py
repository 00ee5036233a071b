"""The benchmark of tools measures what it says: every call of its fake CLI is served."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
SOON = 60


@pytest.mark.parametrize("how", [[], ["thread"]])
def test_the_fake_cli_gets_all_its_answers(how: list[str], tmp_path: Path) -> None:
    cli = tmp_path / "cli"
    command = f"{sys.executable} -S -P {BENCHMARKS / 'tool_cli.py'} 25 10"
    cli.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    cli.chmod(0o700)
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "tools_ours.py", cli, "2", *how],
        capture_output=True,
        encoding="utf-8",
        timeout=SOON,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)) == 2
