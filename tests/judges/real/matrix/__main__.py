"""The command behind `scripts/matrix`."""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence

import anyio
from tests.helpers.real_clis import ROOT, why_not

from claudewire.wire import parse_version

from .behaviour import VERSIONS, Behaviour
from .document import DOCUMENT, Results, counts, render
from .runner import Outcome, Verdict, chosen, run
from .wire_changes import compare, nearest, record_all, undeclared

LANES = max(2, (os.cpu_count() or 1) + 1)
"""The number of CLIs at the same time: each is idle most of the time."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "scripts/matrix", description="Play every behaviour with real CLIs."
    )
    parser.add_argument(
        "--version",
        action="append",
        metavar="X.Y.Z",
        help="only this version, which is installed first; can be repeated. With one that is no "
        "column of the table, also print how its wire differs, and what to do",
    )
    parser.add_argument("--only", default="", help="names, subjects or tags, joined with commas")
    parser.add_argument("--repeat", type=int, default=1, help="play each so many times")
    parser.add_argument("--lanes", type=int, default=LANES, help="how many at the same time")
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name}")
    parser.add_argument(
        "--wire",
        nargs=2,
        metavar=("OLD", "NEW"),
        help="only print what changed on the wire between two recorded versions",
    )
    parser.add_argument("--record", action="store_true", help="make the recordings anew first")
    return parser.parse_args(arguments)


HOLDING = """\
Everything that {version} supports holds. CONTRIBUTING.md, "A new CLI was released", has the steps
that make it a column of the table."""

FAILING = """\
{count} cells fail with {version}. For each, see whether the CLI has changed (its changed wire
is above) or lacks what is asked for:
- What the library does should depend on what the CLI can do, not on its number. If only the number
  tells, it goes into src/claudewire/wire/versions.py, with the measurement.
- A fault of the CLI itself is recorded in `deviates` of the behaviour."""


class Progress:
    """Prints and counts the outcome of each cell."""

    def __init__(self, results: Results) -> None:
        self.cells = 0
        self.results = results
        self.failures: list[str] = []
        self._done = 0
        self._begun = time.monotonic()

    @property
    def seconds(self) -> float:
        """Return the elapsed time."""
        return time.monotonic() - self._begun

    def __call__(self, version: str, behaviour: Behaviour, outcome: Outcome) -> None:
        self._done += 1
        of_version = self.results[version]
        before = of_version.get(behaviour.name)
        if before is None or before.verdict is not Verdict.FAILS:
            of_version[behaviour.name] = outcome
        line = f"[{self._done}/{self.cells} {self.seconds:4.0f} s] {version:8} {behaviour.name}"
        if outcome.verdict is Verdict.FAILS:
            self.failures.append(f"{version} {behaviour.name}: {outcome.evidence}")
        print(f"{line}: {outcome.verdict} {outcome.evidence}".rstrip(), flush=True)


def install(versions: Sequence[str]) -> None:
    subprocess.run(["scripts/real-clis", *versions], cwd=ROOT, check=True)
    for version in versions:
        if (reason := why_not(version)) is not None:
            raise SystemExit(reason)


def main(arguments: Sequence[str]) -> int:
    given = parse(arguments)
    # Behaviours provoke warnings: failing handlers, killed CLIs.
    logging.disable(logging.CRITICAL)
    if given.wire:
        print(compare(*given.wire))
        return 0
    versions = sorted({*(given.version or VERSIONS)}, key=parse_version)
    install(versions)
    if given.record:
        anyio.run(record_all, versions)
    behaviours = chosen([it for it in given.only.split(",") if it])
    if not behaviours:
        raise SystemExit(f"No behaviour, subject or tag is called {given.only}")
    progress = Progress({it: {} for it in versions})
    cells = dict.fromkeys(versions, behaviours)
    progress.cells = sum(map(len, cells.values())) * given.repeat

    async def play() -> None:
        await run(cells, progress, lanes=given.lanes, repeat=given.repeat)

    anyio.run(play)
    return finish(given, behaviours, progress)


def finish(given: argparse.Namespace, behaviours: Sequence[Behaviour], progress: Progress) -> int:
    """Print and keep the outcomes, and write the page; return the exit status."""
    results = progress.results
    missing = [
        f"{version} {it.name}: it was not played"
        for version, outcomes in results.items()
        for it in behaviours
        if it.name not in outcomes
    ]
    failures = [*progress.failures, *missing]
    print("", *(f"{it:8} {counts(results[it])}" for it in results), sep="\n")
    print(f"{progress.seconds:.0f} s")
    for failure in failures:
        print(f"FAILS: {failure}")
    for version in results:
        if version not in VERSIONS:
            anyio.run(record_all, [version])
            advice = (FAILING if failures else HOLDING).format(version=version, count=len(failures))
            untyped = "\n".join(undeclared(version)) or "none"
            print(f"\n{compare(nearest(version), version)}\n\n## Fields without a type\n{untyped}")
            print(f"\n{advice}")
    if given.write and {*VERSIONS} == {*results} and not given.only and not failures:
        DOCUMENT.parent.mkdir(exist_ok=True)
        DOCUMENT.write_text(render(results), encoding="utf-8")
        print(f"Wrote {DOCUMENT}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
