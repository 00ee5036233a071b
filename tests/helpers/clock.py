"""Simulated time: it passes at once when every task waits, and only then."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

import pytest
import trio.testing

Ready = list[tuple[selectors.SelectorKey, int]]


class _Selector(selectors.DefaultSelector):
    """Lets time pass instead of waiting for it."""

    def __init__(self, let_pass: Callable[[float], None]) -> None:
        super().__init__()
        self._let_pass = let_pass

    def select(self, timeout: float | None = None) -> Ready:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(0)
        if not ready:
            self._let_pass(timeout)
        return ready


class SimulatedTimeLoop(asyncio.SelectorEventLoop):
    """An event loop with simulated time, which does not wait for threads and processes."""

    def __init__(self) -> None:
        self._seconds = 0.0
        super().__init__(_Selector(self._let_pass))

    def time(self) -> float:
        return self._seconds

    def _let_pass(self, seconds: float) -> None:
        self._seconds += seconds


def options(backend: str) -> dict[str, Any]:
    """The options of a backend of anyio with which time is simulated."""
    if backend == "trio":
        return {"clock": trio.testing.MockClock(autojump_threshold=0)}
    return {"loop_factory": SimulatedTimeLoop}


simulated_time = pytest.mark.parametrize(
    "anyio_backend", [pytest.param((name, options(name)), id=name) for name in ("asyncio", "trio")]
)
"""A test in which nobody has to be fast."""
