"""How much the wire adds to the bare decoding of its messages.

    scripts/bench
    scripts/bench --rounds 9

All competitors read the same turn, in pieces of the size of a pipe, and drop what they made of a
piece before they take the next. The time is that of the processor; the best of several rounds
counts, and the rounds take turns, so that a busy machine is unfair to all alike.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec

from benchmarks.stream import chunked, turn
from claudewire.wire import Connection, Lines, Role, UserMessage, codec

CHUNK = 64 * 1024
"""What a pipe holds on Linux."""

GOAL = 1.5
"""How many times the bare decoding may be taken."""

Run = Callable[[], int]


# --- a mixed stream ------------------------------------------------------------------------------


def split(chunks: list[bytes]) -> list[list[bytes]]:
    """The lines of each chunk, found beforehand."""
    lines = Lines()
    return [[line for line in lines.feed(chunk) if isinstance(line, bytes)] for chunk in chunks]


def each_line(groups: list[list[bytes]], decode: Callable[[bytes], Any]) -> Run:
    def run() -> int:
        count = 0
        for group in groups:
            made = [decode(line) for line in group]
            count += len(made)
        return count

    return run


def busy_connection() -> Connection:
    connection = Connection(Role.CLIENT)
    connection.send(UserMessage.of("Do something that takes long"))
    return connection


def our_way(chunks: list[bytes]) -> Run:
    def run() -> int:
        connection = busy_connection()
        count = 0
        for chunk in chunks:
            made = connection.receive_data(chunk)
            count += len(made)
        return count

    return run


def best(runs: dict[str, Run], rounds: int, expected: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            count = run()
            times[name].append(time.process_time() - start)
            assert count == expected, f"{name}: {count} of {expected}"
    return {name: min(taken) for name, taken in times.items()}


def mixed_stream(rounds: int) -> float:
    lines = turn(deltas=80_000, calls=2_000)
    data = b"\n".join([*lines, b""])
    chunks = chunked(data, CHUNK)
    groups = split(chunks)
    bare, ours = "msgspec, the same structs, lines given", "claudewire, from bytes to events"
    runs = {
        bare: each_line(groups, codec.first_pass),
        ours: our_way(chunks),
        "json.loads, lines given": each_line(groups, json.loads),
        "msgspec to dicts, lines given": each_line(groups, msgspec.json.Decoder().decode),
    }
    taken = best(runs, rounds, len(lines))
    megabytes = len(data) / 1e6
    print(f"{len(lines):,} lines, {megabytes:.1f} MB, best of {rounds} rounds\n")
    print(f"{'':40} {'µs/line':>8} {'MB/s':>6} {'ratio':>6}")
    for name, seconds in taken.items():
        each = seconds / len(lines) * 1e6
        ratio = seconds / taken[bare]
        print(f"{name:40} {each:8.2f} {megabytes / seconds:6.0f} {ratio:6.2f}")
    ratio = taken[ours] / taken[bare]
    verdict = "within" if ratio <= GOAL else "MISSES"
    print(f"\nclaudewire takes {ratio:.2f} times the bare decoding: {verdict} the goal of {GOAL}.")
    return ratio


def retention() -> None:
    """What it costs that a message keeps its line, if somebody keeps the message."""
    lines = turn(deltas=8_000, calls=200)
    chunks = chunked(b"\n".join([*lines, b""]), CHUNK)
    groups = split(chunks)

    def without() -> list[Any]:
        return [codec.first_pass(line) for group in groups for line in group]

    def with_lines() -> list[Any]:
        connection = busy_connection()
        return [event for chunk in chunks for event in connection.receive_data(chunk)]

    small, large = (memory(make) / len(lines) for make in (without, with_lines))
    print(
        f"A message that is kept takes {large:.0f} bytes, of which {large - small:.0f} keep its"
        f" line for `raw`; a line has {sum(map(len, lines)) / len(lines):.0f} on average."
    )


def memory(make: Callable[[], list[Any]]) -> int:
    tracemalloc.start()
    kept = make()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return size


# --- one long line -------------------------------------------------------------------------------


def long_line(mebibytes: int) -> float:
    pieces = [b"x" * 4096] * (mebibytes * 256)
    start = time.process_time()
    lines = Lines()
    for piece in pieces:
        lines.feed(piece)
    (line,) = lines.feed(b"\n")
    taken = time.process_time() - start
    assert isinstance(line, bytes)
    assert len(line) == mebibytes * 2**20
    return taken


def long_lines(taken: dict[int, float]) -> None:
    print("\none line in pieces of 4 KiB")
    for size, seconds in taken.items():
        print(f"{size:>4} MiB {seconds * 1e3:8.1f} ms")
    print(f"Four times the bytes take {taken[64] / taken[16]:.1f} times as long.")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    print(f"Python {platform.python_version()}, msgspec {msgspec.__version__}")
    # First, and once: later the smaller one would find its memory ready, and the larger never.
    taken = {size: long_line(size) for size in (16, 64)}
    mixed_stream(rounds)
    retention()
    long_lines(taken)


if __name__ == "__main__":
    main()
