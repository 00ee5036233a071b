"""Sessions with the simulated CLI as a program, and all that passes between the two."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests.helpers.processes import PATIENCE

import claudewire
from claudewire import Session, Timeouts
from claudewire.testing import SimulatedProgramFactory
from claudewire.transport import Launch, ProcessTransport, Transport, spawn

UNHURRIED = Timeouts(start=PATIENCE, request=PATIENCE, exit=PATIENCE, drain=PATIENCE)
"""For programs that do what they are asked, on a busy machine."""


class Start:
    """Starts a CLI as a session does, and keeps what passes.

    Args:
        without: leave out the words that begin so, to see what they are good for.
    """

    def __init__(self, without: str = "") -> None:
        self.without = without
        self.sent = b""
        self.received = b""

    async def __call__(self, launch: Launch) -> Transport:
        words = [it for it in launch.argv if not (self.without and it.startswith(self.without))]
        self.launch = replace(launch, argv=tuple(words))
        self.process: ProcessTransport = await spawn(self.launch)
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """The command line without the program."""
        return self.launch.argv[1:]

    @property
    def wrote(self) -> list[dict[str, Any]]:
        """The lines that the host has written."""
        return [json.loads(line) for line in self.sent.splitlines()]

    # --- the transport ---------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        return self.process.pid

    async def send(self, data: bytes) -> None:
        self.sent += data
        await self.process.send(data)

    async def send_eof(self) -> None:
        await self.process.send_eof()

    async def receive(self) -> bytes:
        data = await self.process.receive()
        self.received += data
        return data

    async def receive_stderr(self) -> bytes:
        return await self.process.receive_stderr()

    async def wait(self) -> int | None:
        return await self.process.wait()

    async def aclose(self) -> None:
        await self.process.aclose()


class Stage:
    """Opens sessions with simulated CLIs, each a program.

    Args:
        executables: makes the programs.
        folder: where scenarios are written.
    """

    def __init__(self, executables: SimulatedProgramFactory, folder: Path) -> None:
        self._executables = executables
        self._folder = folder
        self._count = 0

    def program(self, scenario: str = "", dialect: str = "modern", **options: Any) -> Path:
        """Make a program. The scenario is the body of `async def play(chat)`."""
        if not scenario:
            return self._executables(dialect=dialect, **options)
        body = dedent(scenario).strip().replace("\n", "\n    ")
        self._count += 1
        file = self._folder / f"scenario_{self._count}.py"
        file.write_text(f"async def play(chat):\n    {body}\n", encoding="utf-8")
        return self._executables(f"{file}:play", dialect=dialect, **options)

    def open(
        self, scenario: str = "", dialect: str = "modern", *, start: Start, **options: Any
    ) -> Session:
        """Make a session with such a program."""
        program = self.program(scenario, dialect)
        changes = {"timeouts": UNHURRIED, "dialect": dialect, **options}
        return claudewire.open(cli=program, transport=start, **changes)
