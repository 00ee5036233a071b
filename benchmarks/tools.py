"""How fast a Python function is called as a tool, beside the official SDK in the same run.

Both SDKs serve the same fake CLI, `tool_cli.py`, and both do it in a cage. The official one is
where `scripts/peers` has put it. Compare ratios: seconds differ with the machine and its load.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from claudewire.testing.cage import Cage

HERE = Path(__file__).parent
PEER = HERE.parent / ".tools" / "peers" / "python"
PEER_PYTHON = PEER / "bin" / "python"

CALLS = 500
ROUNDS = 3
TURNS = 4
"""In each round; the first is for warming up."""
GOAL = 5.0

OURS = [sys.executable, HERE / "tools_ours.py"]
THEIRS = [PEER_PYTHON, HERE / "tools_sdk.py"]

IMPORT_OURS = """
import claudewire

@claudewire.tool
async def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b
"""
IMPORT_THEIRS = """
from claude_agent_sdk import tool

@tool("add", "Add two numbers", {"a": int, "b": int})
async def add(arguments):
    return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}
"""
COUNT = """
import sys, time
started = time.perf_counter()
{code}
took = time.perf_counter() - started
print(took, len(sys.modules), *({{"mcp", "pydantic"}} & {{*sys.modules}}))
"""


class Taken:
    """Microseconds for a call, by the clock and by the processor's."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.processor: list[float] = []

    def note(self, turns: list[tuple[float, float]]) -> None:
        for wall, processor in turns[1:]:
            self.wall.append(wall / CALLS * 1e6)
            self.processor.append(processor / CALLS * 1e6)


def cli(folder: Path, at_once: int) -> Path:
    """Make an executable that is the fake CLI."""
    path = folder / f"cli-{at_once}"
    command = f"{sys.executable} -S -P {HERE / 'tool_cli.py'} {CALLS} {at_once}"
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return path


def drive(cage: Cage, driver: list[Any], at_once: int, *more: str) -> list[tuple[float, float]]:
    words = [*driver, cli(cage.folder, at_once), str(TURNS), *more]
    done = subprocess.run(cage.command(words), stdout=subprocess.PIPE, encoding="utf-8", check=True)
    turns: list[tuple[float, float]] = json.loads(done.stdout)
    return turns


def compare(cage: Cage, at_once: int, *more: str) -> float:
    """Print one line; give the ratio by the clock."""
    ours, theirs = Taken(), Taken()
    for _ in range(ROUNDS):
        ours.note(drive(cage, OURS, at_once, *more))
        theirs.note(drive(cage, THEIRS, at_once))
    wall = median(theirs.wall) / median(ours.wall)
    processor = median(theirs.processor) / median(ours.processor)
    what = f"{at_once} at once{', '.join(['', *more])}"
    print(
        f"{what:<22}{median(ours.wall):8.0f} µs{median(theirs.wall):8.0f} µs{wall:8.1f} x", end=""
    )
    print(f"{median(ours.processor):9.0f} µs{median(theirs.processor):8.0f} µs{processor:8.1f} x")
    return wall


def imported(python: object, code: str) -> tuple[float, int, list[str]]:
    """Import an SDK and define a tool: seconds, modules, and which of the heavy ones."""
    script = COUNT.format(code=code)
    command = [str(python), "-c", script]
    outputs = [
        subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout.split()
        for _ in range(2 * ROUNDS + 1)
    ]
    return median(float(words[0]) for words in outputs), int(outputs[0][1]), outputs[0][2:]


def compare_imports() -> None:
    print("\nimporting the SDK and defining a tool:")
    seconds = []
    for name, python, code in (
        ("claudewire", sys.executable, IMPORT_OURS),
        ("official SDK", PEER_PYTHON, IMPORT_THEIRS),
    ):
        took, modules, heavy = imported(python, code)
        seconds.append(took)
        others = f"with {' and '.join(sorted(heavy))}" if heavy else "neither mcp nor pydantic"
        print(f"{name:<14}{took * 1e3:8.0f} ms{modules:6} modules, {others}")
    print(f"{'ratio':<14}{seconds[1] / seconds[0]:8.1f} x")


def why_not() -> str | None:
    if not (PEER / ".installed").exists():
        return "the official SDK is not installed; scripts/peers does it"
    return Cage.unavailable()


def main() -> None:
    if (reason := why_not()) is not None:
        print(f"tools: nothing to compare with: {reason}")
        return
    columns = f"{'ours':>11}{'official':>11}{'ratio':>10}"
    print(f"{'one call of a tool':<22}{'by the clock':>32}{'by the processor':>33}")
    print(f"{'':<22}{columns} {columns}")
    with Cage() as cage:
        ratios = [compare(cage, at_once) for at_once in (1, 10)]
        compare(cage, 10, "thread")
    compare_imports()
    verdict = "reached" if min(ratios) >= GOAL else "MISSED"
    print(f"\ngoal: a call at least {GOAL:g} times faster: {verdict}, {min(ratios):.1f} times")


if __name__ == "__main__":
    main()
