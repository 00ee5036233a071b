"""What the simulated CLI takes: its start until the answer to `initialize`, and many at once."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import time
from contextlib import ExitStack

from .driving import Figures, main

PROGRAM = [sys.executable, "-m", "claudewire.simulator"]
ARGV = ["-p", "--output-format=stream-json", "--input-format=stream-json", "--verbose"]
INITIALIZE = b'{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}\n'
PROMPT = b'{"type":"user","message":{"role":"user","content":"hi"}}\n'
AT_MOST = 12e6
"""Bytes of its own that each of many may have."""

Process = subprocess.Popen[bytes]


def bare(cli: str) -> Figures:
    """A Python that does nothing."""
    before, started = _children(), time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return {"first": time.perf_counter() - started, "cpu": _children() - before}


def start(cli: str) -> Figures:
    """The simulated CLI from its start to its answer to `initialize`."""
    before, started = _children(), time.perf_counter()
    with _started() as process:
        _ask(process, INITIALIZE, b"control_response")
        took = time.perf_counter() - started
        process.kill()
    return {"first": took, "cpu": _children() - before}


def version(cli: str) -> Figures:
    """Its version."""
    before = _children()
    subprocess.run([*PROGRAM, "--version"], stdout=subprocess.DEVNULL, check=True)
    return {"cpu": _children() - before}


def many(cli: str, count: int) -> Figures:
    """So many at once: all answer, and then the memory of the largest is looked at."""
    with ExitStack() as stack:
        processes = [stack.enter_context(_started()) for _ in range(count)]
        for process in processes:
            _ask(process, INITIALIZE, b"control_response")
        for process in processes:
            _ask(process, PROMPT, b'"type":"result"')
        figures = {"memory": max(map(_memory, processes)), "at most": AT_MOST}
        for process in processes:
            process.kill()
    return figures


def _started() -> Process:
    return subprocess.Popen([*PROGRAM, *ARGV], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _ask(process: Process, line: bytes, until: bytes) -> None:
    """Write a line, and read up to the answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line)
    process.stdin.flush()
    for answer in process.stdout:
        if until in answer:
            return
    raise AssertionError("a simulated CLI has ended without an answer")


def _children() -> float:
    """The processor's time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _memory(process: Process) -> float:
    """Its memory, with its share of what it has in common with others: PSS."""
    with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as file:
        found = re.search(r"^Pss: +(\d+) kB", file.read(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


if __name__ == "__main__":
    main({"bare": bare, "start": start, "version": version, "many": many})
