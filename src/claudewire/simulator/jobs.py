"""Work outside of the engine: a function that blocks, which the host runs in a thread.

The engine does no I/O and waits for nothing. It gives its host a `Run`, and goes on when the host
brings the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..wire import Answer
from .actions import Run
from .engine import JOB, Engine, Wait
from .session import new_uuid

__all__ = ["run_blocking"]


async def run_blocking(engine: Engine, work: Callable[[], Any]) -> Any:
    """Have a function called in a thread, and wait for what it returns.

    Raises:
        Exception: what it has raised.
    """
    key = JOB + new_uuid()
    engine.act(Run(key, work))
    answer = await Wait(key)
    assert isinstance(answer, Answer)
    if isinstance(answer.body, Exception):
        raise answer.body
    return answer.body
