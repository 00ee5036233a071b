"""Simulated time: it passes when every task waits, or by hand."""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio.testing

Ready = list[tuple[selectors.SelectorKey, int]]


class _Selector(selectors.DefaultSelector):
    """Lets time pass instead of waiting for it."""

    def __init__(self, let_pass: Callable[[float], None] | None) -> None:
        super().__init__()
        self._let_pass = let_pass

    def select(self, timeout: float | None = None) -> Ready:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        if self._let_pass is None:
            return super().select(None)
        ready = super().select(0)
        if not ready:
            self._let_pass(timeout)
        return ready


class SimulatedTimeLoop(asyncio.SelectorEventLoop):
    """An event loop with simulated time, which does not wait for threads and processes."""

    def __init__(self, *, by_hand: bool = False) -> None:
        self._seconds = 0.0
        super().__init__(_Selector(None if by_hand else self.let_pass))

    def time(self) -> float:
        return self._seconds

    def let_pass(self, seconds: float) -> None:
        self._seconds += seconds


def options(backend: str, *, by_hand: bool = False) -> dict[str, Any]:
    """Return the options of a backend of anyio that simulate time."""
    if backend == "trio":
        return {"clock": trio.testing.MockClock(autojump_threshold=math.inf if by_hand else 0)}
    return {"loop_factory": partial(SimulatedTimeLoop, by_hand=by_hand)}


def _backends(*, by_hand: bool) -> pytest.MarkDecorator:
    cases = [(name, options(name, by_hand=by_hand)) for name in ("asyncio", "trio")]
    return pytest.mark.parametrize("anyio_backend", cases, ids=["asyncio", "trio"])


simulated_time = _backends(by_hand=False)
"""Run a test in simulated time."""

time_by_hand = _backends(by_hand=True)
"""Run a test with threads or processes in time that passes only by `let_pass`."""


def let_pass(seconds: float) -> None:
    """Let time pass in a test with `time_by_hand`."""
    if trio.lowlevel.in_trio_task():
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, trio.testing.MockClock)
        clock.jump(seconds)
    else:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedTimeLoop)
        loop.let_pass(seconds)
