"""Measure, and print the ratios.

    scripts/bench                        everything
    scripts/bench permissions stream     some groups
    scripts/bench --quick                each thing once and small: only whether it runs
    scripts/bench --json FILE            all figures of all rounds, too

The runs of a group take turns, each in a process of its own (A B C A B C …), so that whatever else
the machine does hits all alike. A ratio is taken in each round; what is shown is the median, and in
brackets the 10th and 90th percentile of the rounds. Only ratios are judged.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from tests.helpers.real_clis import NEWEST, real_cli

from claudewire.testing.api import APIScript
from claudewire.testing.cage import Cage

from .busy_turn import busy_turn
from .results import Measured, table
from .table import GROUPS, Group, Run

ROOT = Path(__file__).resolve().parent.parent
LONG_ENOUGH = 45
"""Seconds after which a group gets no further round: a whole run is to take ten minutes."""
LONGEST_RUN = 900
"""Seconds after which a run is given up."""
PEER = ROOT / ".tools" / "peers" / "python" / "bin" / "python"


class Place(NamedTuple):
    """Where the runs happen: in a cage, or without one and without the official SDK."""

    cage: Cage | None
    folder: Path

    def cli(self, run: Run) -> Path:
        return real_cli(NEWEST) if "real CLI" in run.party else self.folder / "fake-cli"

    def why_not(self, run: Run) -> str | None:
        """Why a run is not possible here."""
        if self.cage is None and ("official" in run.party or "real" in run.party):
            return f"there is no cage: {Cage.unavailable()}"
        if "official" in run.party and not PEER.exists():
            return "the official SDK is not installed; scripts/peers does it"
        if not self.cli(run).exists():
            return f"CLI {NEWEST} is not installed; scripts/real-clis {NEWEST} does it"
        return None

    def run(self, run: Run, *works: str) -> list[dict[str, float]]:
        """Do some works in one process."""
        python = PEER if "official" in run.party else sys.executable
        party = run.party.split()[0]
        if party.startswith("start"):
            # The cage becomes the program it starts, and its time would count: hence a child.
            script = str(ROOT / "benchmarks" / f"{party}.py")
            words = ["sh", "-c", '"$@"; exit $?', "sh", str(python), script, str(self.cli(run))]
        else:
            words = [str(python), "-m", f"benchmarks.{party}", str(self.cli(run)), *works]
        command = self.cage.command(words) if self.cage else words
        with on_one_processor() if run.on_one_processor else nullcontext():
            done = subprocess.run(
                command,
                cwd=ROOT,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                timeout=LONGEST_RUN,
                check=True,
            )
        figures: list[dict[str, float]] = json.loads(done.stdout)
        return figures


@contextmanager
def on_one_processor() -> Iterator[None]:
    """Let all programs that are started meanwhile share one processor; only Linux can do that."""
    if sys.platform != "linux":
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})  # the first one serves most interrupts
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@contextmanager
def place(deltas: int, calls: int) -> Iterator[Place]:
    """Prepare the fake CLI, with turns of this length."""
    with Cage(APIScript(default="Done."), env={"PYTHONPATH": str(ROOT)}) as cage:
        lines = b"".join(line + b"\n" for line in busy_turn(deltas, calls))
        (cage.folder / "stream.jsonl").write_bytes(lines)
        path = cage.folder / "fake-cli"
        command = f"{sys.executable} -I -S {ROOT / 'benchmarks' / 'fake_cli.py'} {cage.folder}"
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        path.chmod(0o700)
        yield Place(None if Cage.unavailable() else cage, cage.folder)


def measure(place: Place, group: Group) -> Measured:
    """Let the runs of a group take turns, in fewer rounds if they take long."""
    measured, began = Measured(group), time.monotonic()
    possible = {}
    for name, run in group.runs.items():
        if (reason := place.why_not(run)) is None:
            possible[name] = run
        else:
            print(f"{group.name}: {name} is left out: {reason}", file=sys.stderr)
    for number in range(group.rounds):
        print(f"{group.name} {number + 1}/{group.rounds}", end="\r", file=sys.stderr)
        for name, run in list(possible.items()):
            try:
                (figures,) = place.run(run, run.work)
                measured.note(name, figures)
            except subprocess.SubprocessError as error:  # the others are worth something without it
                print(f"{group.name}: {name} is left out: {error}", file=sys.stderr)
                del possible[name]
                measured.forget(name)
        measured.group = group._replace(rounds=number + 1)
        if time.monotonic() - began > LONG_ENOUGH:
            break
    return measured


def try_out(place: Place, groups: list[Group]) -> None:
    """Do everything once, small, and with one process for each party."""
    runs = [run for group in groups for run in group.runs.values() if "real" not in run.party]
    for party in dict.fromkeys(run.party for run in runs):
        works = [*dict.fromkeys(run.quick for run in runs if run.party == party)]
        first = next(run for run in runs if run.party == party)
        if (reason := place.why_not(first)) is not None:
            print(f"{party} is left out: {reason}")
            continue
        assert len(place.run(first, *works)) == len(works)
        print(f"{party}: {len(works)} ran")


def main() -> int:
    """Do what the command line says; 1 if a demanded ratio does not hold."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.split("\n")[0])
    names = [group.name for group in GROUPS]
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"some of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="only look whether everything runs")
    parser.add_argument("--rounds", type=int, help="how many, instead of each group's own number")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    args = parser.parse_args()
    if unknown := {*args.groups} - {*names}:
        parser.error(f"there is no group {', '.join(unknown)}, only {', '.join(names)}")
    groups = [group for group in GROUPS if group.name in (args.groups or names)]
    if args.quick:
        with place(deltas=200, calls=10) as small:
            try_out(small, groups)
        return 0
    everything = []
    with place(deltas=80_000, calls=2_000) as whole:
        for group in groups:
            began = time.monotonic()
            measured = measure(whole, group._replace(rounds=args.rounds or group.rounds))
            everything.append(measured)
            print(table([measured]), flush=True)
            print(f"{group.name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    if args.json:
        args.json.write_text(json.dumps([each.data() for each in everything], indent=1), "utf-8")
    print(table(everything))
    return int(not all(each.holds for each in everything))


if __name__ == "__main__":
    sys.exit(main())
