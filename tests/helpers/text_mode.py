"""Runs the simulated CLI in text mode, without a process and without waiting."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from claudewire.simulator import Scenario, Simulation
from claudewire.simulator.actions import Exit, Write, WriteError
from claudewire.simulator.faults import Fault
from claudewire.simulator.flags import EarlyExit


class Outcome(NamedTuple):
    """The output of a program and its exit status."""

    status: int
    stdout: str = ""
    stderr: str = ""


def run_text(
    scenario: Scenario | None,
    *argv: str,
    stdin: bytes | None = b"",
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] = ".",
    faults: Sequence[Fault] = (),
) -> Outcome:
    """Run it to its end.

    Args:
        scenario: what the agent does.
        argv: the words after the program's name.
        stdin: what comes on stdin before its end; None if nothing comes and it stays open.
        env: its environment.
        cwd: its working directory.
        faults: what goes wrong.
    """
    now = 0.0
    simulation = Simulation(scenario, faults=faults)
    try:
        engine = simulation.engine(argv, cwd=os.fspath(cwd), env=env or {}, clock=lambda: now)
    except EarlyExit as exit:
        return Outcome(exit.status, exit.stdout, exit.stderr)
    ended = threading.Semaphore(0)
    engine.thread_waker = lambda: ended.release
    engine.start()
    if stdin is not None:
        for data in filter(None, (stdin[:3], stdin[3:])):
            engine.feed(data)
        engine.feed(b"")
    written, warned = b"", b""
    while True:
        taken = engine.take()
        for action in taken:
            if isinstance(action, Exit):
                return Outcome(action.status, written.decode(), warned.decode())
            written += action.data if isinstance(action, Write) else b""
            warned += action.data if isinstance(action, WriteError) else b""
        if engine.due_in is None and not taken:
            assert ended.acquire(timeout=60), "It waits for something that never comes"
        now += engine.due_in or 0
        engine.wake()
