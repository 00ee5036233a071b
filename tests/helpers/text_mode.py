"""Runs the simulated CLI in text mode, without a process and without waiting."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from claudewire.simulator import Fault, Scenario, Simulation
from claudewire.simulator.actions import Append, Exit, Run, Write, WriteError
from claudewire.simulator.flags import EarlyExit
from claudewire.simulator.stored import append_entries


class Outcome(NamedTuple):
    """What a program printed, and its exit status."""

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
    engine = simulation.engine(argv, cwd=os.fspath(cwd), env=env or {}, clock=lambda: now)
    if isinstance(engine, EarlyExit):
        return Outcome(engine.status, engine.stdout, engine.stderr)
    engine.start()
    if stdin is not None:
        for data in filter(None, (stdin[:3], stdin[3:])):
            engine.feed(data)
        engine.feed(b"")
    written, warned = b"", b""
    while True:
        taken = engine.take()
        assert taken or engine.due_in is not None, "It waits for something that never comes"
        for action in taken:
            if isinstance(action, Exit):
                return Outcome(action.status, written.decode(), warned.decode())
            if isinstance(action, Append):
                append_entries(action.path, action.entries)
            if isinstance(action, Run):
                engine.finish(action.key, action())
            written += action.data if isinstance(action, Write) else b""
            warned += action.data if isinstance(action, WriteError) else b""
        if engine.due_in is not None:
            now += engine.due_in
            engine.wake()
