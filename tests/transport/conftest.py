"""Settings of the tests with processes."""

from __future__ import annotations

import pytest
from tests.helpers.processes import PATIENCE

from claudewire.transport.platforms import child


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for killed processes as long as it takes: a busy machine may need more than a moment."""
    monkeypatch.setattr(child, "BRIEFLY", PATIENCE)
