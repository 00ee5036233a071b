"""A CLI that says that it is idle, and has not said what became of the turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ..errors import TurnError

if TYPE_CHECKING:
    from .core import Core
    from .turn import AnyTurn

__all__ = ["RESULT_FOLLOWS_WITHIN", "expect_result"]

RESULT_FOLLOWS_WITHIN: float = 5.0
"""Seconds. As a rule the result comes first."""


async def expect_result(core: Core, turn: AnyTurn) -> None:
    """Give a turn up if the CLI stays idle without a result of it."""
    with anyio.move_on_after(RESULT_FOLLOWS_WITHIN):
        await turn.finished.wait()
    if not turn.is_over and core.cli_state == "idle" and core.conversation.current is turn:
        error = TurnError("The CLI has become idle without a result of this turn")
        core.conversation.drop(turn, error)
        core.settle()
