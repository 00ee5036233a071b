"""Servers of `mcp` 1.x work like those of 2.x.

`scripts/peers` installs it. It and the newer line exclude each other, so its tests are run apart.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ROOT / ".tools" / "peers" / "mcp1"
TESTS = "tests/session/tools/test_mcp_package.py"
PATIENCE = 120
"""Seconds for all of them; they take about three."""

SCRIPT = f"""
import sys
from importlib.metadata import version

import pytest

assert version("mcp").startswith("1."), version("mcp")
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "{TESTS}"]))
"""


def test_servers_of_the_older_line_are_mounted_too() -> None:
    if not (PACKAGES / ".installed").exists():
        pytest.skip("the older line of mcp is not installed; scripts/peers does it")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout
    assert " skipped" not in done.stdout
