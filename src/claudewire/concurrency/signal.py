"""Something that tasks wait for to change, any number of times."""

from __future__ import annotations

from collections.abc import Callable

import anyio

__all__ = ["Signal"]


class Signal:
    """Wakes all who wait, and is then as new. Costs nothing while nobody waits."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event: anyio.Event | None = None

    def notify(self) -> None:
        """Wake everybody who waits now."""
        event, self._event = self._event, None
        if event is not None:
            event.set()

    async def wait(self) -> None:
        """Wait for the next notification."""
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something is true that can become so only before a notification."""
        while not true():
            await self.wait()
