"""Plays the whole matrix and prints it; see `scripts/faults`."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from typing import get_args

from tests.session.reliability.batches import Batch, run_batch
from tests.session.reliability.matrix import Carrier, Flavour, Outcome
from tests.session.reliability.table import DOCUMENT, replaced, table_of, written


def main() -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/faults", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write docs/{DOCUMENT.name}")
    given = parser.parse_args()
    batches = [_play(flavour, carrier) for flavour in get_args(Flavour) for carrier in _CARRIERS]
    table = table_of(outcome for batch in batches for outcome in batch.outcomes)
    print(written(table))
    broken = [problem for batch in batches for problem in _broken(batch)]
    print(*broken, sep="\n")
    count = sum(len(batch.outcomes) for batch in batches)
    print(f"{count} cells, {len(broken)} promises broken")
    if given.write and not broken:
        text = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(replaced(text, table), encoding="utf-8")
    return 1 if broken else 0


_CARRIERS: tuple[Carrier, ...] = get_args(Carrier)


def _play(flavour: Flavour, carrier: Carrier) -> Batch:
    started = time.monotonic()
    batch = run_batch(flavour, carrier)
    where = "in memory" if carrier == "memory" else "as a process"
    seconds = time.monotonic() - started
    left = "; ".join(batch.left) or "nothing left"
    print(
        f"{flavour:8}{where:14}{len(batch.outcomes):4} cells {seconds:5.1f} s  {left}", flush=True
    )
    return batch


def _broken(batch: Batch) -> list[str]:
    return [*batch.left, *(line for outcome in batch.outcomes for line in _lines(outcome))]


def _lines(outcome: Outcome) -> list[str]:
    return [f"{outcome.cell}: {problem}" for problem in outcome.problems]


if __name__ == "__main__":
    # The faults provoke warnings of the sessions.
    logging.getLogger("claudewire").setLevel(logging.CRITICAL)
    sys.exit(main())
