"""What the suite looks for after each test."""

from __future__ import annotations

import signal
import subprocess

import pytest
from tests.helpers import processes
from tests.helpers.processes import PATIENCE, children, end_running, ended


def test_a_process_that_is_left_running_is_ended_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LAST_MOMENTS", 0)
    before = children()
    with ended(subprocess.Popen(["sleep", "1000"])) as sleeper:
        assert children() - before == {sleeper.pid}
        assert end_running({sleeper.pid}) == ["sleep 1000"]
        assert sleeper.wait(PATIENCE) == -signal.SIGKILL
        assert end_running({sleeper.pid}) == []
        assert children() == before


def test_a_process_that_is_ending_is_waited_for() -> None:
    with ended(subprocess.Popen(["cat"], stdin=subprocess.PIPE)) as reader:
        assert reader.stdin is not None
        reader.stdin.close()
        assert end_running({reader.pid}) == []
        assert reader.wait(PATIENCE) == 0
