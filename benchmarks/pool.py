"""What a pool saves: opening a session cold and warm, with a real CLI in a cage, in one run."""

from __future__ import annotations

import statistics
import sys
import time

import anyio
from tests.helpers.real_clis import NEWEST, real_cli, why_not

from claudewire.options import Options
from claudewire.session import Pool, Session
from claudewire.testing.api import APIScript
from claudewire.testing.cage import Cage

ROUNDS = 7
GOAL = 20


async def cold(options: Options) -> float:
    """Start a CLI for the purpose; then have a turn, to see that it works."""
    began = time.perf_counter()
    session = await Session(options).start()
    took = time.perf_counter() - began
    assert (await session.send("hello")).ok
    await session.close()
    return took


async def warm(pool: Pool) -> float:
    """Take one that is ready."""
    await pool.ready()
    began = time.perf_counter()
    session = await pool.open()
    took = time.perf_counter() - began
    assert (await session.send("hello")).ok
    await session.close()
    return took


async def measure(options: Options) -> tuple[list[float], list[float]]:
    """Take turns, so that whatever else the machine does hits both alike."""
    colds, warms = [], []
    async with Pool(options, size=1) as pool:
        for _ in range(ROUNDS):
            await pool.ready()  # and nothing is being started meanwhile
            colds.append(await cold(options))
            warms.append(await warm(pool))
        assert pool.stats.hits == ROUNDS
    return colds, warms


def main() -> int:
    """Measure and print; 1 if the goal is missed."""
    if (reason := why_not(NEWEST)) is not None:
        print(f"Not measured. {reason}")
        return 0
    with Cage(APIScript(default="Hello yourself.")) as cage:
        options = Options(cli=str(cage.wrapper(real_cli(NEWEST))), cwd=cage.work)
        colds, warms = anyio.run(measure, options)
    ratio = statistics.median(colds) / statistics.median(warms)
    print(f"Opening a session with CLI {NEWEST}, median of {ROUNDS}:")
    print(f"cold                  {statistics.median(colds) * 1000:8.2f} ms")
    print(f"from a warm pool      {statistics.median(warms) * 1000:8.2f} ms")
    print(f"slowest warm          {max(warms) * 1000:8.2f} ms")
    print(f"ratio                 {ratio:8.0f}       (goal: at least {GOAL})")
    return int(ratio < GOAL)


if __name__ == "__main__":
    sys.exit(main())
