"""What the tests of the command share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.cli.running import Runner
from tests.cli.scenes import SCENES


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Runner:
    """Run the command without a terminal, in a folder of its own."""
    return Runner(monkeypatch, tmp_path)


@pytest.fixture
def sim(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the simulated CLI as a program, which plays the scenes."""
    monkeypatch.setenv("CLAUDEWIRE_SIM_SCENARIO", SCENES)
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    return str(Path(sys.executable).with_name("claudewire-sim"))


@pytest.fixture(autouse=True)
def _state(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what a person typed out of the user's own folders; no colours are forced or taken."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
