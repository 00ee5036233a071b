"""The benchmarks run: nothing is measured here, and nothing depends on speed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.results import Measured
from benchmarks.table import GROUPS, Figure, Group, Row

ROOT = Path(__file__).resolve().parents[3]
SOON = 240


def test_every_benchmark_runs() -> None:
    command = [sys.executable, "-m", "benchmarks", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=SOON)
    assert done.returncode == 0, done.stderr
    assert "ours: " in done.stdout


@pytest.mark.parametrize(("limit", "verdict"), [(0.5, "holds"), (0.4, "MISSED")])
def test_median_ratio_decides_the_verdict(limit: float, verdict: str) -> None:
    row = Row("a turn", Figure("ours", "turn"), Figure("theirs", "turn"), limit)
    found = Measured(Group("turns", "", 1, {}, [row]))
    found.note("ours", {"turn": 1})
    found.note("theirs", {"turn": 2})
    assert (found.verdict(row), found.holds) == (verdict, verdict != "MISSED")


def test_every_row_compares_figures_of_its_group() -> None:
    for group in GROUPS:
        for row in group.rows:
            assert {row.ours.run, row.against.run} <= {*group.runs}, (group.name, row.what)
