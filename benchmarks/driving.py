"""Code that `ours.py`, `official.py` and `bare.py` share, without dependencies."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

Figures = dict[str, float]
"""The measured values, in seconds or bytes."""

Work = Callable[..., Figures]

WARM_UP = 50
"""Sessions that are open at once before anything is measured: what is done for the first time (the
interpreter specialises what runs often, buffers grow) is then done."""


def main(works: dict[str, Work]) -> None:
    """Do each of `NAME ARGUMENTS…` with the CLI in the first argument; print the figures."""
    cli, *wanted = sys.argv[1:]
    print(json.dumps([figures(works, cli, *words.split()) for words in wanted]))


def figures(works: dict[str, Work], cli: str, name: str, *arguments: str) -> Figures:
    return works[name](cli, *(int(word) if word.isdigit() else word for word in arguments))


def round_trips(result: str | None) -> Figures:
    """The median and the 99th percentile of what the fake CLI has measured."""
    *took, used = json.loads(result or "")
    took.sort()
    return {
        "p50": took[len(took) // 2] / 1e9,
        "p99": took[len(took) * 99 // 100] / 1e9,
        "cli": used / len(took) / 1e9,
    }


def per_call(result: str | None, count: int) -> Figures:
    *took, _used = json.loads(result or "")
    return {"each": sum(took) / count / 1e9}


def resident() -> int:
    """Return the memory of this process in bytes."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def growing(before: int, after: int, count: int) -> Figures:
    return {"each": (after - before) / count, "whole": after}


async def time_of_many(
    session: Callable[[], Coroutine[Any, Any, None]], sessions: int, times: int
) -> Figures:
    """The processor's time of each of so many sessions at once, that several times.

    All of it, and not the median: Python's garbage collector looks at everything once in several
    times only, and with some libraries that takes half as long as the sessions themselves.
    """

    async def all_at_once(count: int) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(count):
                tasks.create_task(session())

    await all_at_once(min(sessions, WARM_UP))
    before = time.process_time()
    for _ in range(times):
        await all_at_once(sessions)
    return {"each": (time.process_time() - before) / (sessions * times)}
