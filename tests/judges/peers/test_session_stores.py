"""The official SDK judges our stores: all 14 contracts of its test kit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import claudewire
from claudewire.testing.cage import Cage

HERE = Path(__file__).parent
PEER = HERE.parents[2] / ".tools" / "peers" / "python"
PATIENCE = 120


def test_our_store_keeps_the_contracts_of_the_official_sdk() -> None:
    if (reason := Cage.unavailable()) is not None:
        pytest.skip(f"No cage: {reason}")
    if not (PEER / ".installed").exists():
        pytest.skip("the official SDK (python) is not installed; scripts/peers does it")
    with Cage(env={"PYTHONPATH": str(Path(claudewire.__file__).parents[1])}) as cage:
        done = subprocess.run(
            cage.command([PEER / "bin" / "python", HERE / "check_stores.py", cage.work]),
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
    assert done.stderr == ""
    assert done.stdout == "kept\n"
