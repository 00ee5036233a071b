"""An alarm: a function that is called at some time, which may change until then."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import anyio

from .detached import in_trio
from .signal import Signal

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle

__all__ = ["Alarm"]


class Alarm:
    """Calls a function when it is time. Only with trio that needs a task.

    Args:
        ring: is called in the event loop, once for each time that is set. It must neither wait nor
            raise.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._at = math.inf
        self._changed: Signal | None = None
        self._timer: TimerHandle | None = None
        self._loop: AbstractEventLoop | None = None
        if in_trio():
            self._changed = Signal()
        else:
            self._loop = sys.modules["asyncio"].get_running_loop()

    @property
    def needs_task(self) -> bool:
        """Whether a task has to call `run`."""
        return self._loop is None

    def set(self, at: float) -> None:
        """Ring at this time, by the clock of the event loop, instead of the one that was set."""
        self._at = at
        if self._changed is not None:
            self._changed.notify()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._loop is not None and at < math.inf:
            self._timer = self._loop.call_at(at, self._ring_in_asyncio)

    def _ring_in_asyncio(self) -> None:
        library: Any = getattr(sys.modules.get("sniffio"), "thread_local", SimpleNamespace())
        before = getattr(library, "name", None)
        library.name = "asyncio"  # anyio finds it out by itself only in a task
        try:
            self._ring()
        finally:
            library.name = before

    def stop(self) -> None:
        """Do not ring, unless another time is set."""
        self.set(math.inf)

    async def run(self) -> None:
        """Wait for the time, again and again, until it is cancelled."""
        assert self._changed is not None
        while True:
            with anyio.CancelScope(deadline=self._at):
                await self._changed.wait()
                continue
            self._at = math.inf
            self._ring()
