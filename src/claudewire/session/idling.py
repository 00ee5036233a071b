"""Waiting for a session to have nothing to do, and the turns that it then begins by itself."""

from __future__ import annotations

import anyio

from .conversation import AnyTurn
from .core import Core

__all__ = ["TURN_FOLLOWS_WITHIN", "Unsolicited", "until_idle"]

TURN_FOLLOWS_WITHIN: float = 1.0
"""Seconds. The end of a task sets off a turn; measured, the CLI is idle for 0.1 s in between."""


async def until_idle(core: Core, *, with_tasks: bool) -> None:
    """Wait until there is no turn, asked for or not, and perhaps no task either.

    Raises:
        Error: the session fails meanwhile.
    """

    def is_idle() -> bool:
        waits = bool(core.conversation.held) or core.conversation.is_busy
        return core.is_dead or not (waits or (with_tasks and not core.tasks.idle))

    while True:
        await core.changed.until(is_idle)
        core.check()
        had_tasks = any(it.reported and it.background is not False for it in core.tasks)
        if not (with_tasks and had_tasks):
            return
        with anyio.move_on_after(TURN_FOLLOWS_WITHIN):
            await core.changed.until(lambda: core.is_dead or not is_idle())
            continue
        return


class Unsolicited:
    """Gives the turns that nobody asked for, each to one reader."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def __aiter__(self) -> Unsolicited:
        return self

    async def __anext__(self) -> AnyTurn:
        if not await self.readable():
            raise StopAsyncIteration
        return self.take_next()

    def take_next(self) -> AnyTurn:
        """Give the next turn that has begun already; see `Turn.take_next`."""
        return self._core.unsolicited.popleft()

    async def readable(self) -> bool:
        """Wait until there is one to be taken; False if none will come any more."""
        core = self._core
        await core.changed.until(lambda: bool(core.unsolicited) or core.is_dead)
        return bool(core.unsolicited)
