"""The official SDK works with `claudewire record` in place of its CLI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from claudewire.recordings import Timeline, read

from .test_official_sdks import DRIVER, PATIENCE, SIMULATED, by_case, needs, results, run

CASES = ("one_shot", "allow", "hooks", "mcp", "interrupt")


def test_sdk_works_while_it_is_recorded(tmp_path: Path) -> None:
    needs("python")
    script, talks = tmp_path / "claude-recorded", tmp_path / "talks"
    words = ["record", "-o", f"{talks}/", "--script", str(script), "--", str(SIMULATED)]
    subprocess.run([sys.executable, "-m", "claudewire", *words], check=True, timeout=PATIENCE)
    delivered = by_case(run(*DRIVER, script, *CASES))
    assert [bool(results(delivered[case])) for case in CASES] == [True] * len(CASES)
    names = {
        exchange.name
        for file in talks.iterdir()
        for exchange in Timeline.of(read(file)).exchanges
        if exchange.end is not None
    }
    assert {"initialize", "turn", "can_use_tool", "hook_callback", "mcp_message"} <= names
