"""The official SDKs with `claudewire record` in the place of their CLI: they notice nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from claudewire.recordings import Timeline, read
from claudewire.testing.cage import Cage

from .test_official_sdks import DRIVERS, HERE, PATIENCE, PEERS, SIMULATED, _by_case, results

CASES = ("one_shot", "allow", "hooks", "mcp", "interrupt")


@pytest.mark.parametrize("name", DRIVERS)
def test_an_sdk_works_through_the_tap_and_all_that_is_said_is_recorded(
    name: str, tmp_path: Path
) -> None:
    if (reason := Cage.unavailable()) is not None:
        pytest.skip(f"No cage: {reason}")
    if not (PEERS / name / ".installed").exists():
        pytest.skip(f"the official SDK ({name}) is not installed; scripts/peers does it")
    script, talks = tmp_path / "claude-recorded", tmp_path / "talks"
    words = ["record", "-o", f"{talks}/", "--script", str(script), "--", str(SIMULATED)]
    subprocess.run([sys.executable, "-m", "claudewire.cli", *words], check=True, timeout=PATIENCE)
    env = {"CLAUDEWIRE_SIM_SCENARIO": f"{HERE / 'scenario.py'}:script"}
    with Cage(env=env) as cage:
        done = subprocess.run(
            cage.command([*DRIVERS[name], script, *CASES]),
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
    assert done.returncode == 0, done.stderr
    delivered = _by_case(done.stdout)
    assert [bool(results(delivered[case])) for case in CASES] == [True] * len(CASES)
    names = {
        exchange.name
        for file in talks.iterdir()
        for exchange in Timeline.of(read(file)).exchanges
        if exchange.end is not None
    }
    assert {"initialize", "turn", "can_use_tool", "hook_callback", "mcp_message"} <= names
