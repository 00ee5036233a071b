"""Plumbing for the programs of all documents: lines in, lines out, a log.

`python3 harness.py PROGRAM ARGS…` runs a program, which imports this module.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import IO, Any, NoReturn

Json = dict[str, Any]

WAIT = float(os.environ.get("PEER_WAIT", "60"))
"""Seconds to wait for the other side."""


class Lines:
    """The lines of a stream, read in a thread."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._stream:
            self._lines.put(line)
        self._lines.put(None)

    def next(self, timeout: float | None) -> bytes | None:
        """Return the next line with its newline, or None at the end; raise `queue.Empty`."""
        line = self._lines.get(timeout=timeout)
        if line is None:
            self._lines.put(None)
        return line

    def pending(self) -> list[bytes]:
        """Return the lines that have come and are not taken yet."""
        return [line for line in list(self._lines.queue) if line is not None]


# --- programs that act as the CLI ----------------------------------------------------------------


def log(kind: str, **fields: Any) -> None:
    """Add to the file that PEER_LOG names."""
    if path := os.environ.get("PEER_LOG"):
        with open(path, "a", encoding="ascii") as file:
            file.write(json.dumps({"kind": kind, **fields}) + "\n")


def deviation(what: str, rule: str, line: Any) -> bool:
    """Log a deviation from the document; return False."""
    log("deviation", what=what, rule=rule, line=line)
    return False


def stdin_lines() -> Lines:
    return Lines(open(0, "rb", closefd=False))


def write(line: Json) -> None:
    """Write one line to stdout; exit if the reader has gone."""
    try:
        data = json.dumps(line, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which the host sent
        data = json.dumps(line).encode()
    rest = memoryview(data + b"\n")
    try:
        while rest:
            rest = rest[os.write(1, rest) :]
    except OSError:
        leave(4)


def leave(code: int) -> NoReturn:
    """Exit at once: the reading thread may hold the lock of stdin."""
    sys.stderr.flush()
    os._exit(code)


def report(flow: str, fields: Json) -> str:
    """Return the last text of a flow: what the CLI has understood."""
    whole = {**fields, "flow": flow}
    return "report:" + json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# --- programs that act as the host ---------------------------------------------------------------


class Stop(Exception):
    """The flow cannot go on: a failed check says why."""


class Driven:
    """A CLI that is driven and judged."""

    def __init__(self, command: list[str], **env: str) -> None:
        self.checks: dict[str, Json] = {}
        self.lines: list[Any] = []
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env={**os.environ, **env}
        )
        assert self.process.stdout is not None
        self._output = Lines(self.process.stdout)

    def check(self, name: str, ok: bool, rule: str, seen: Any = None) -> bool:
        """Keep one entry for each name: the first failure."""
        if name not in self.checks or (self.checks[name]["ok"] and not ok):
            self.checks[name] = {"name": name, "ok": ok, "rule": rule, "seen": seen}
        return ok

    def demand(self, name: str, ok: bool, rule: str, seen: Any = None) -> None:
        if not self.check(name, ok, rule, seen):
            raise Stop

    def send(self, line: Json | str) -> None:
        assert self.process.stdin is not None
        text = line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)
        try:
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            self.demand("the CLI reads its input", False, "stdin", str(error))

    def receive(self, timeout: float = WAIT) -> Json | None:
        """Return the next line, judged; None at the end of output. Raises `queue.Empty`."""
        while (raw := self._output.next(timeout)) is not None:
            try:
                line = json.loads(raw.decode())
            except ValueError:
                line = raw.decode(errors="replace")
            self.lines.append(line)
            good = isinstance(line, dict) and raw.endswith(b"\n")
            if self.check("each line is one JSON object and a newline", good, "all lines", line):
                self.judge(line)
                return dict(line)
        return None

    def judge(self, line: Json) -> None:
        """Check one line against the document."""
        raise NotImplementedError

    def close(self) -> int | None:
        """End the input, read the rest of the output, and return the exit code."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        end = time.monotonic() + WAIT
        try:
            while self.receive(max(0.0, end - time.monotonic())) is not None:
                pass
            return self.process.wait(max(0.1, end - time.monotonic()))
        except (queue.Empty, subprocess.TimeoutExpired):
            self.process.kill()
            self.check("the CLI exits at the end of its input", False, "an ordinary end")
            return None


def drive(
    flows: Mapping[str, Callable[[Any], None]], make: Callable[[str, list[str]], Driven]
) -> None:
    """Drive one flow and print its checks: the arguments are `FLOW -- COMMAND…`."""
    flow, _, *command = sys.argv[1:]
    host = make(flow, command)
    with contextlib.suppress(Stop):
        flows[flow](host)
    code = host.process.returncode
    code = host.close() if code is None else code
    print(json.dumps({"checks": [*host.checks.values()], "lines": host.lines, "exit": code}))


if __name__ == "__main__":
    program = sys.argv.pop(1)
    sys.path.insert(0, os.path.dirname(program))
    runpy.run_path(program, run_name="__main__")
