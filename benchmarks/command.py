"""The command `claudewire`: its version, and the time to its first text.

python -m benchmarks.command CLI WORK…
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from .driving import Figures, Work, main

OURS = [sys.executable, "-m", "claudewire.cli"]
SIMULATOR = [sys.executable, "-m", "claudewire.simulator"]
IMPORT = [sys.executable, "-c", "import anyio, claudewire; claudewire.open, claudewire.Options"]
PROMPT = "Look around"


def version(cli: str) -> Figures:
    """The processor's time in user mode for `claudewire --version`."""
    return {"user": _user([*OURS, "--version"])}


def nothing(cli: str) -> Figures:
    """The same for a Python that does nothing."""
    return {"user": _user([sys.executable, "-c", "pass"])}


def demanded(cli: str, milliseconds: int) -> Figures:
    """What is demanded."""
    return {"user": milliseconds / 1000}


def _user(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def run(cli: str) -> Figures:
    """From the start of `claudewire run` to its first text."""
    return {"first": _until([*OURS, "run", "--cli", "simulated", PROMPT], b"(")}


def floor(cli: str) -> Figures:
    """The simulated CLI to its first text, and after it our import."""
    flags = ["-p", "--output-format=stream-json", "--include-partial-messages", "--verbose"]
    simulator = _until([*SIMULATOR, *flags, PROMPT], b"text_delta")
    started = time.perf_counter()
    subprocess.run(IMPORT, check=True)
    return {"first": simulator + time.perf_counter() - started}


def _until(command: Sequence[str], words: bytes) -> float:
    """Start a program; return how long it takes until it has written the words."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        with subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout is not None
            seen = b""
            while words not in seen:
                data = os.read(process.stdout.fileno(), 65536)
                assert data, "it ended without a word"
                seen += data
            took = time.perf_counter() - started
            process.stdout.read()
    return took


WORKS: dict[str, Work] = {
    "version": version,
    "nothing": nothing,
    "demanded": demanded,
    "run": run,
    "floor": floor,
}

if __name__ == "__main__":
    main(WORKS)
