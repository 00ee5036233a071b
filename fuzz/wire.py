"""Throw broken lines at both ends of the wire; each batch must leave them able to read on.

scripts/fuzz
scripts/fuzz --lines 5000 --seed 1 --seconds 60
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from claudewire.wire import (
    Answer,
    Connection,
    Event,
    Failure,
    KeepAlive,
    LocalProtocolError,
    Message,
    Role,
    Stray,
    load,
)
from claudewire.wire.dialects import DIALECTS
from fuzz.corpus import corpus, listener
from fuzz.mutate import mutated

__all__ = ["Broken", "Report", "fuzz", "hear", "main", "say_again"]

BATCH = 100
"""Lines that one connection hears before the sentinel: enough to bring it into any state."""

SAY_AGAIN = 4
"""Of so many batches, one is sent back in another dialect."""


class Broken(Exception):
    """The wire failed: these lines, read by this role, show it."""

    def __init__(self, role: Role, lines: list[bytes], reason: str) -> None:
        super().__init__(reason)
        self.role = role
        self.lines = lines
        self.reason = reason


class Report(NamedTuple):
    """What came of a run."""

    lines: int
    sentinels: int
    seconds: float
    outcomes: Counter[str]


# --- one batch -----------------------------------------------------------------------------------


def hear(role: Role, data: bytes, sentinel: str = "sentinel") -> list[Event]:
    """Let one end read bytes and then a good line; give the events of the bytes.

    Raises:
        AssertionError: a line was lost, or an event cannot say where it came from.
    """
    connection = listener(role)
    events = connection.receive_data(data + b"\n")
    (last,) = connection.receive_data(b'{"type":"keep_alive","uuid":"%s"}\n' % sentinel.encode())
    assert last == KeepAlive(uuid=sentinel), "the line after it did not arrive"
    # What the CLI was asking before comes inside another line, and has none of its own.
    heard = [event.line for event in events if event.line]
    assert heard == [line for line in data.split(b"\n") if line.strip()], "lines got lost"
    for event in events:
        assert isinstance(event.raw, dict), "no raw object"
        if isinstance(event, Message) and event.line:
            assert event.raw == load(event.line), "another raw object"
    return events


def say_again(role: Role, events: list[Event], dialect: str) -> None:
    """Say what was heard, as whoever said it first. It may be refused, and nothing else."""
    connection = listener(role.other, dialect=dialect)
    for event in events:
        said = event.event if isinstance(event, Stray) else event
        if isinstance(said, Answer | Failure) and said.request is not None:
            connection = Connection(role.other, dialect=dialect)
            connection.receive_data(Connection(role).send(said.request))
        try:
            connection.send(said)
        except LocalProtocolError:
            continue


def _try(role: Role, lines: list[bytes], sentinel: str, dialect: str | None) -> list[Event]:
    try:
        events = hear(role, b"\n".join(lines), sentinel)
        if dialect is not None:
            say_again(role, events, dialect)
    except Exception as error:
        raise Broken(role, lines, f"{type(error).__name__}: {error}") from error
    return events


def batches(random: Random, lines: int) -> Iterator[tuple[Role, list[bytes]]]:
    """Broken lines, for either side in turn."""
    by_reader = {role: [line for line in corpus() if line.reader is role] for role in Role}
    left = lines
    while left:
        for role in Role:
            size = min(BATCH, left)
            left -= size
            if size:
                yield role, [mutated(random, by_reader[role]) for _ in range(size)]


def fuzz(
    lines: int, seed: int, seconds: float, progress: Callable[[Report], None] | None = None
) -> Report:
    """Throw that many lines, or as many as fit into the time.

    Raises:
        Broken: with as little as is needed to see it again.
    """
    random = Random(seed)
    start = time.monotonic()
    report = Report(0, 0, 0.0, Counter())
    dialects = list(DIALECTS)
    for number, (role, batch) in enumerate(batches(random, lines)):
        again = dialects[number // SAY_AGAIN % len(dialects)] if number % SAY_AGAIN == 0 else None
        try:
            events = _try(role, batch, f"sentinel-{number}", again)
        except Broken as broken:
            raise smallest(broken, again) from broken
        report.outcomes.update(type(event).__name__ for event in events)
        elapsed = time.monotonic() - start
        report = Report(report.lines + len(batch), number + 1, elapsed, report.outcomes)
        if progress is not None:
            progress(report)
        if elapsed > seconds:
            break
    return report


# --- when it fails -------------------------------------------------------------------------------


def smallest(broken: Broken, dialect: str | None) -> Broken:
    """Leave out lines, then bytes, as long as it still fails. Simple, and mostly enough."""
    for line in broken.lines:
        broken = _again(broken, [line], dialect) or broken
        if len(broken.lines) == 1:
            break
    step = max(map(len, broken.lines)) // 2
    while step:
        broken = _without(broken, step, dialect)
        step //= 2
    return broken


def _without(broken: Broken, step: int, dialect: str | None) -> Broken:
    for number in range(len(broken.lines)):
        start = 0
        while start < len(broken.lines[number]):
            lines = list(broken.lines)
            lines[number] = lines[number][:start] + lines[number][start + step :]
            smaller = _again(broken, lines, dialect)
            broken = smaller or broken
            start += 0 if smaller else step
    return broken


def _again(broken: Broken, lines: list[bytes], dialect: str | None) -> Broken | None:
    try:
        _try(broken.role, lines, "sentinel", dialect)
    except Broken as smaller:
        if type(smaller.__cause__) is type(broken.__cause__):
            return smaller
    return None


# --- the command ---------------------------------------------------------------------------------


class Progress:
    """A word now and then: every few seconds on a terminal, else every 100,000 lines."""

    def __init__(self) -> None:
        self.tty = sys.stdout.isatty()
        self.step = 3.0 if self.tty else 100_000
        self.next = self.step

    def __call__(self, report: Report) -> None:
        done = report.seconds if self.tty else report.lines
        if done >= self.next:
            self.next = done - done % self.step + self.step
            rate = report.lines / report.seconds
            end = "\r" if self.tty else "\n"
            print(f"{report.lines:>11,} lines, {rate:,.0f} per second", end=end, flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=20_250_101)
    parser.add_argument("--seconds", type=float, default=600.0, help="stop after so long")
    options = parser.parse_args(arguments)
    print(f"{len(corpus())} good lines to break, seed {options.seed}")
    try:
        report = fuzz(options.lines, options.seed, options.seconds, Progress())
    except Broken as broken:
        print(f"\nThe {broken.role.value} failed: {broken.reason}")
        for line in broken.lines:
            print(repr(line))
        return 1
    for name, count in report.outcomes.most_common():
        print(f"{count:>11,} {name}")
    print(
        f"{report.lines:,} mutated lines, no exception, {report.sentinels:,} sentinels all"
        f" arrived, in {report.seconds:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
