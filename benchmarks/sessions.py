"""How fast a session reads a long turn, beside the official SDK and a bare loop in the same run.

All read what the same fake CLI, `stream_cli.py`, writes, and all do it in a cage. The official SDK
is where `scripts/peers` has put it. Compare ratios: seconds differ with the machine and its load.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from claudewire.testing.cage import Cage

from .stream import turn
from .tools import HERE, PEER_PYTHON, why_not

DELTAS, CALLS = 20_000, 500
ROUNDS = 3
TURNS = 3
"""In each round; the first is for warming up."""

READERS: dict[str, list[Any]] = {
    "claudewire, asyncio": [sys.executable, HERE / "stream_ours.py", "asyncio"],
    "claudewire, trio": [sys.executable, HERE / "stream_ours.py", "trio"],
    "official SDK": [PEER_PYTHON, HERE / "stream_sdk.py"],
    "bare loop, json.loads": [sys.executable, HERE / "stream_bare.py"],
}


def make_cli(folder: Path) -> Path:
    """Make an executable that is the fake CLI."""
    lines, path = folder / "lines.jsonl", folder / "cli"
    lines.write_bytes(b"".join(line + b"\n" for line in turn(DELTAS, CALLS)))
    command = f"{sys.executable} -S -P {HERE / 'stream_cli.py'} {lines}"
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return path


def read(cage: Cage, cli: Path, reader: list[Any]) -> list[tuple[float, float]]:
    """Return the microseconds for a message, by the clock and by the processor's, of each turn."""
    python, script, *more = reader
    command = cage.command([python, script, cli, str(TURNS), *more])
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    turns = json.loads(done.stdout)[1:]
    return [(wall / count * 1e6, used / count * 1e6) for wall, used, count in turns]


def main() -> None:
    if (reason := why_not()) is not None:
        print(f"sessions: nothing to compare with: {reason}")
        return
    with Cage() as cage:
        cli = make_cli(cage.folder)
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in READERS}
        for _ in range(ROUNDS):
            for name, reader in READERS.items():
                taken[name] += read(cage, cli, reader)
    ours = [median(column) for column in zip(*taken["claudewire, asyncio"], strict=True)]
    print(f"{'one message of a turn':<24}{'by the clock':>18}{'by the processor':>20}   to ours")
    for name, turns in taken.items():
        wall, used = (median(column) for column in zip(*turns, strict=True))
        ratios = f"{wall / ours[0]:5.1f} x {used / ours[1]:5.1f} x"
        print(f"{name:<24}{wall:15.1f} µs{used:17.1f} µs   {ratios}")


if __name__ == "__main__":
    main()
