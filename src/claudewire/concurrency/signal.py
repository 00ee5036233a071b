"""What tasks can wait for: a signal, any number of times, and a flag, which is set once."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from .detached import in_trio

if TYPE_CHECKING:
    from asyncio import Future

__all__ = ["Flag", "Signal"]


class _Waking:
    """Wakes all tasks that wait. Free while no task waits."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event: Any = None

    def notify(self) -> None:
        """Wake all tasks that wait now."""
        event, self._event = self._event, None
        if event is None:
            return
        if type(event) is not list:
            event.set()
            return
        for future in event:
            if not future.done():
                future.set_result(None)

    async def _wait(self) -> None:
        if in_trio():
            if self._event is None:
                self._event = sys.modules["trio"].Event()
            await self._event.wait()
            return
        # Not with an event of asyncio or anyio, which takes several times as long, and the memory.
        future: Future[None] = sys.modules["asyncio"].get_running_loop().create_future()
        if self._event is None:
            self._event = []
        waiting = self._event
        waiting.append(future)
        try:
            await future
        finally:
            waiting.remove(future)

    async def until(self, condition: Callable[[], bool], within: float | None = None) -> bool:
        """Wait until a condition is true; whatever changes it has to notify.

        Args:
            condition: what is waited for.
            within: how many seconds to wait at most; None to wait for as long as it takes.

        Returns:
            whether it is true.
        """
        if within is not None and within < math.inf and not condition():
            await self._until(condition, within)
            return condition()
        while not condition():
            await self._wait()
        return True

    async def _until(self, condition: Callable[[], bool], within: float) -> None:
        if in_trio():
            with anyio.move_on_after(within):
                await self.until(condition)
            return
        # Not with a cancel scope, which takes six times as long.
        over: list[bool] = []

        def end() -> None:
            over.append(True)
            self.notify()

        timer = sys.modules["asyncio"].get_running_loop().call_later(within, end)
        try:
            await self.until(lambda: bool(over) or condition())
        finally:
            timer.cancel()


class Signal(_Waking):
    """Wakes all tasks that wait, and can then be waited for again."""

    __slots__ = ()

    async def wait(self) -> None:
        """Wait for the next notification."""
        await self._wait()


class Flag(_Waking):
    """Is set once, and tasks can wait for that. An event of anyio takes a kilobyte at once."""

    __slots__ = ("_is_set",)

    def __init__(self) -> None:
        super().__init__()
        self._is_set = False

    def set(self) -> None:
        """Set it, and wake all tasks that wait."""
        self._is_set = True
        self.notify()

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._is_set

    async def wait(self, within: float | None = None) -> bool:
        """Wait until it is set, for so many seconds at most; return whether it is."""
        return await self.until(self.is_set, within)
