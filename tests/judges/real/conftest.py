"""Tests with real CLIs: each in a cage, with a scripted API; skipped without a cage."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real: the test runs a real CLI, in a cage")


@pytest.fixture
def anyio_backend() -> str:
    # What is tested here is the CLI.
    return "asyncio"
