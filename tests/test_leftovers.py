"""What the suite looks for after each test."""

from __future__ import annotations

import os
import signal
import subprocess
from subprocess import PIPE

import pytest
from tests.helpers import processes
from tests.helpers.processes import PATIENCE, children, end_running, ended


def test_a_process_that_is_left_running_is_ended_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LAST_MOMENTS", 0)
    before = children()
    with ended(subprocess.Popen(["cat", "-u"], stdin=PIPE, stdout=PIPE)) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        # Once it answers, the kernel shows its words: `Popen` returns a moment earlier.
        os.write(reader.stdin.fileno(), b"\n")
        assert os.read(reader.stdout.fileno(), 1) == b"\n"
        assert children() - before == {reader.pid}
        assert end_running({reader.pid}) == ["cat -u"]
        assert reader.wait(PATIENCE) == -signal.SIGKILL
        assert end_running({reader.pid}) == []
        assert children() == before


def test_a_process_that_is_ending_is_waited_for() -> None:
    with ended(subprocess.Popen(["cat"], stdin=PIPE)) as reader:
        assert reader.stdin is not None
        reader.stdin.close()
        assert end_running({reader.pid}) == []
        assert reader.wait(PATIENCE) == 0
