"""How fast conversations on disk are listed, searched and read, beside `json.loads`."""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from claudewire.store import BlockingSessions

from .driving import Figures, main

LINE = 3_400
"""Bytes of a line, on average; most of them are the output of tools, as in real conversations."""

QUERIES = (
    "word17",
    "word230 word17",
    '"word4 word9"',
    "word2000",
    "word55 role:user",
    "word3 project:p7",
    "word40 -word41",
    "word11 tool:Bash",
    "word300*",
    "needle",
    "word0",
    "word0 word1",
    "word0 project:p7",
    "word0 since:2026-11-03",
)
"""The words have the frequencies of a language: `word0` is in nearly every line."""


class Maker:
    """Makes conversations that look like real ones, always the same."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        self._weights = [1 / (rank + 1) for rank in range(3000)]
        self._words = [f"word{rank}" for rank in range(3000)]
        self._outputs = [self.text(1_200) for _ in range(50)]

    def text(self, words: int) -> str:
        return " ".join(self._random.choices(self._words, self._weights, k=words))

    def lines(self, number: int, size: int) -> Iterator[bytes]:
        """The lines of a conversation of about so many bytes."""
        id = f"{number:08}-0000-4000-8000-000000000000"
        same = {"sessionId": id, "cwd": f"/work/p{number % 40}", "isSidechain": False}
        same |= {"version": "2.1.325", "gitBranch": "main"}
        parent = None
        for place in range(max(12, size // LINE)):
            uuid = f"{number:08x}-{place:08x}"
            stamp = f"2026-11-{1 + number % 17:02}T10:{place // 60 % 60:02}:{place % 60:02}.000Z"
            entry = {"parentUuid": parent, "uuid": uuid, "timestamp": stamp, **same}
            parent = uuid
            yield json.dumps(entry | self._said(number, place)).encode() + b"\n"

    def _said(self, number: int, place: int) -> dict[str, object]:
        if place % 3 == 2:
            text = self._random.choice(self._outputs)
            result = {"type": "tool_result", "tool_use_id": f"t{place}", "content": text}
            return {"type": "user", "message": {"role": "user", "content": [result]}}
        if place % 12 == 0:
            needle = " needle" if number % 1000 == 3 else ""
            return {"type": "user", "message": {"role": "user", "content": self.text(30) + needle}}
        block: dict[str, object] = {"type": "text", "text": self.text(40)}
        if place % 3 == 1:
            given = {"command": self.text(6), "description": self.text(4)}
            block = {"type": "tool_use", "id": f"t{place + 1}", "name": "Bash", "input": given}
        usage = {"input_tokens": 900, "output_tokens": 80, "cache_read_input_tokens": 20_000}
        message = {
            "id": f"msg_{number}_{place // 2}",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [block],
            "stop_reason": "end_turn",
            "usage": usage,
        }
        return {"type": "assistant", "message": message}


@contextmanager
def conversations(count: int, size: int) -> Iterator[Path]:
    """So many conversations, each of about so many bytes, and then gone again."""
    config = Path(tempfile.mkdtemp(prefix="claudewire-bench-"))
    maker = Maker()
    try:
        for number in range(count):
            path = (
                config
                / "projects"
                / f"-work-p{number % 40}"
                / f"{number:08}-0000-4000-8000-0.jsonl"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.writelines(maker.lines(number, size))
        yield config
    finally:
        shutil.rmtree(config)


def seconds(work: Callable[..., object], *args: object) -> float:
    began = time.perf_counter()
    work(*args)
    return time.perf_counter() - began


def sessions(cli: str, count: int, size: int) -> Figures:
    """List and search many conversations, and read them all with `json.loads`."""
    with conversations(count, size) as config:
        bare = seconds(_read_all, config)
        first = BlockingSessions(config, index=config / "index.db")
        cold = seconds(first.list)
        warm = [seconds(opened.list) for opened in _opened(config, 5)]
        second = BlockingSessions(config, index=config / "index.db")
        indexing = seconds(second.search, QUERIES[0])
        times = [
            statistics.median(seconds(second.search, query) for _ in range(3)) for query in QUERIES
        ]
        assert second.search("needle")
        kept = (config / "index.db").stat().st_size
        whole = sum(path.stat().st_size for path in config.rglob("*.jsonl"))
    return {
        "json": bare,
        "cold": cold,
        "warm": statistics.median(warm),
        "indexing": indexing,
        "search": statistics.median(times),
        "slowest search": max(times),
        "index per byte": kept / whole,
    }


def _opened(config: Path, times: int) -> Iterator[BlockingSessions]:
    """As often as this, with nothing in memory but an index on disk."""
    for _ in range(times):
        with BlockingSessions(config, index=config / "index.db") as opened:
            yield opened


def _read_all(config: Path) -> None:
    for line in _all_lines(config):
        json.loads(line)


def _all_lines(config: Path) -> Iterator[bytes]:
    for path in config.rglob("*.jsonl"):
        with path.open("rb") as file:
            yield from file


def reading(cli: str, megabytes: int) -> Figures:
    """The most memory that reading one long file takes, in processes of its own."""
    with conversations(1, megabytes * 1_000_000) as config:
        return {way: _peak(way, config) for way in ("index", "ours", "json")}


def _peak(way: str, config: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.store", "read", way, str(config)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def read(way: str, config: Path) -> float:
    """Index or read the only session; return the most memory that was in use."""
    count = 0
    if way == "json":
        for line in _all_lines(config):
            count += bool(json.loads(line))
    else:
        opened = BlockingSessions(config, index=config / "index.db")
        (info,) = opened.list()
        count = info.replies
    if way == "ours":
        for entry in opened.open(info.id).entries():
            count += entry.uuid is not None
    assert count
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(status.partition("VmHWM:")[2].split()[0]) * 1024


if __name__ == "__main__":
    if sys.argv[1] == "read":
        print(read(sys.argv[2], Path(sys.argv[3])))
    else:
        main({"sessions": sessions, "reading": reading})
