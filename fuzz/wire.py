"""Throw broken lines at both ends of the wire; each batch must leave them able to read on.

scripts/fuzz
scripts/fuzz --lines 5000 --seed 1 --seconds 60
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from random import Random

from claudewire.wire import (
    Answer,
    Connection,
    Event,
    Failure,
    KeepAlive,
    LocalProtocolError,
    Message,
    Role,
    UnexpectedMessage,
    load,
)
from claudewire.wire.dialects import DIALECTS
from fuzz.corpus import corpus, listener
from fuzz.mutate import mutated

BATCH = 100
"""Lines that one connection hears before the sentinel: enough to bring it into any state."""

SAY_AGAIN = 4
"""Of this many batches, one is sent back in another dialect."""


def hear(role: Role, data: bytes) -> list[Event]:
    """Let one end read bytes and then a good line; return the events of the bytes.

    Raises:
        AssertionError: a line was lost, or an event does not know its line.
    """
    connection = listener(role)
    events = connection.receive_data(data + b"\n")
    (last,) = connection.receive_data(b'{"type":"keep_alive","uuid":"sentinel"}\n')
    assert last == KeepAlive(uuid="sentinel"), "the line after it did not arrive"
    # Open requests of the CLI come inside another line, and have none of their own.
    heard = [event.line for event in events if event.line]
    assert heard == [line for line in data.split(b"\n") if line.strip()], "lines got lost"
    for event in events:
        assert isinstance(event.raw, dict), "no raw object"
        if isinstance(event, Message) and event.line:
            assert event.raw == load(event.line), "another raw object"
    return events


def say_again(role: Role, events: list[Event], dialect: str) -> None:
    """Send events as their first sender would. They may be refused, and nothing else."""
    connection = listener(role.other, dialect=dialect)
    for event in events:
        said = event.event if isinstance(event, UnexpectedMessage) else event
        if isinstance(said, Answer | Failure) and said.request is not None:
            connection = Connection(role.other, dialect=dialect)
            connection.receive_data(Connection(role).send(said.request))
        try:
            connection.send(said)
        except LocalProtocolError:
            continue


def _try(role: Role, lines: list[bytes], dialect: str | None) -> list[Event]:
    events = hear(role, b"\n".join(lines))
    if dialect is not None:
        say_again(role, events, dialect)
    return events


def fuzz(lines: int, seed: int, seconds: float) -> Counter[str]:
    """Throw that many lines, or as many as fit into the time; return the kinds of events."""
    random, start = Random(seed), time.monotonic()
    by_reader = {role: [line for line in corpus() if line.reader is role] for role in Role}
    outcomes: Counter[str] = Counter()
    dialects = list(DIALECTS)
    for number in range(0, lines, BATCH):
        role = list(Role)[number // BATCH % 2]
        batch = [mutated(random, by_reader[role]) for _ in range(min(BATCH, lines - number))]
        again = dialects[number // BATCH // SAY_AGAIN % len(dialects)]
        dialect = again if number // BATCH % SAY_AGAIN == 0 else None
        try:
            events = _try(role, batch, dialect)
        except Exception:
            for line in batch:  # mostly one of them is enough
                print(f"The {role.value} failed; trying {line!r}")
                _try(role, [line], dialect)
            raise
        outcomes.update(type(event).__name__ for event in events)
        if time.monotonic() - start > seconds:
            break
    return outcomes


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=20_250_101)
    parser.add_argument("--seconds", type=float, default=600.0, help="stop after so long")
    options = parser.parse_args(arguments)
    print(f"{len(corpus())} good lines to break, seed {options.seed}")
    outcomes = fuzz(options.lines, options.seed, options.seconds)
    for name, count in outcomes.most_common():
        print(f"{count:>11,} {name}")
    print(f"{outcomes.total():,} events of mutated lines, no exception, all sentinels arrived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
