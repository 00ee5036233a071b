"""Waiting for a session to have nothing to do."""

from __future__ import annotations

import anyio

from .core import Core

__all__ = ["TURN_FOLLOWS_WITHIN", "until_idle"]

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
