"""The faulty CLI, in memory or as a process, and the options of its session."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import anyio
from tests.session.reliability.cases import Case, Phase
from tests.session.reliability.scenario import scenario

from claudewire.approvals import ElicitationRequest, PermissionRequest, PermissionResult
from claudewire.hooks import HookResult, Hooks
from claudewire.options import Options
from claudewire.simulator.actions import Write, WriteError
from claudewire.simulator.faults import parse_faults
from claudewire.testing import SimulatedCLI
from claudewire.transport import Launch
from claudewire.wire import ElicitationResult, PreToolUseHookInput

CLI = (sys.executable, "-m", "claudewire.simulator")
SCENARIO = f"{Path(__file__).with_name('scenario.py')}:scenario"
LOOK = 0.005
"""Seconds between two polls."""


class Tapped(SimulatedCLI):
    """A CLI in memory that records its output."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.written = b""

    def _write(self, action: Write | WriteError) -> None:
        if isinstance(action, Write) and self._stdout_open:
            self.written += action.data
        super()._write(action)


def in_memory(launch: Launch) -> Tapped:
    """Start the CLI in memory instead of a process."""
    cli = Tapped(
        scenario,
        argv=launch.argv[len(CLI) :],
        faults=parse_faults(launch.env["CLAUDEWIRE_SIM_FAULTS"]),
        env=launch.env,
    )
    _ = cli.engine  # it reads its private files now
    for step in launch.cleanup:
        step()
    return cli


def noted(log: Path) -> bytes:
    """Return the lines that a simulated CLI in a process has written, by its log."""
    lines = (line.split() for line in log.read_text(encoding="ascii").splitlines())
    return b"".join(bytes.fromhex(data) for _, kind, data in lines if kind == "<")


class Gate:
    """Where a handler waits until the application lets it go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()

    async def wait(self) -> None:
        """Wait in a handler, in any thread."""
        self.reached.set()
        while not self.open.is_set():  # noqa: ASYNC110 (it is opened in another thread)
            await anyio.sleep(LOOK)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def options_for(case: Case, phase: Phase, faults: str, gate: Gate, log: Path | None) -> Options:
    """Return the options of a session.

    Args:
        case: has the bounds.
        phase: decides over the bounds and the hooks.
        faults: what goes wrong.
        gate: where a person, or a hook, waits.
        log: where the process notes what it does; None if there is no process.
    """

    async def decide(request: PermissionRequest) -> PermissionResult:
        await gate.wait()
        return request.allow()

    async def approve(event: PreToolUseHookInput) -> HookResult:
        await gate.wait()
        return HookResult("allow")

    async def decline(request: ElicitationRequest) -> ElicitationResult:
        return request.decline()

    hooks = Hooks()
    if phase is Phase.HOOK:
        hooks.on("PreToolUse", "Bash", timeout=600)(approve)
    env = {"HOME": None, "CLAUDEWIRE_SIM_SCENARIO": SCENARIO, "CLAUDEWIRE_SIM_FAULTS": faults}
    return Options(
        cli=CLI,
        clean_env=True,
        env=env if log is None else {**env, "CLAUDEWIRE_SIM_LOG": str(log)},
        include_partial_messages=True,
        tools=[add],
        on_permission=decide,
        on_elicitation=decline,
        hooks=hooks,
        timeouts=case.timeouts(phase),
        patience=case.patience(phase),
    )
