"""Somebody to talk to a faulty CLI, in memory or as a process, who notes all that comes."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import anyio
import anyio.lowlevel
import msgspec
from anyio.abc import Process
from tests.helpers.processes import state_of

from claudewire.simulator import ARGV, Chat, Scenario, SimulatedCLI
from claudewire.simulator.faults import Fault
from claudewire.wire import (
    Answer,
    CanUseTool,
    Connection,
    EndOfStream,
    Event,
    Initialize,
    PermissionResultAllow,
    Request,
    ResultMessage,
    Role,
    UserMessage,
)

PATIENCE = 60
"""Seconds: far more than anything here takes, even on a machine that is busy."""

SCENARIO = """\
async def scenario(chat):
    if "tool" in chat.text:
        await chat.use("Bash", {"command": "true"}, result="done")
    await chat.say("Grüße ☃")
"""


async def greet(chat: Chat) -> None:
    """Use a tool if asked to, and say something that is not ASCII. `SCENARIO` is the same."""
    if "tool" in chat.text:
        await chat.use("Bash", {"command": "true"}, result="done")
    await chat.say("Grüße ☃")


class Carrier(Protocol):
    """What a peer needs of a transport."""

    async def send(self, data: bytes) -> None: ...

    async def send_eof(self) -> None: ...

    async def receive(self) -> bytes: ...


class Peer:
    """The SDK's end. It notes the pieces as they come, the lines and the events."""

    def __init__(self, carrier: Carrier, *, answers: bool = True) -> None:
        self.carrier = carrier
        self.answers = answers
        self.connection = Connection(Role.CLIENT)
        self.pieces: list[bytes] = []
        self.events: list[Event] = []

    @property
    def lines(self) -> list[bytes]:
        return b"".join(self.pieces).splitlines(keepends=True)

    @property
    def types(self) -> list[str]:
        """The type of each line, a subtype instead if it has one, "?" if it is not JSON."""
        return [kind(line) for line in self.lines]

    async def initialize(self) -> None:
        await self.send(self.connection.new_request(Initialize()))

    async def prompt(self, text: str = "hello") -> None:
        await self.send(UserMessage.of(text))

    async def send(self, event: Event) -> None:
        await self.carrier.send(self.connection.send(event))

    async def read(self) -> list[Event]:
        """Take one piece."""
        piece = await self.carrier.receive()
        self.pieces.append(piece)
        events = self.connection.receive_data(piece)
        self.events += events
        return events

    async def until(self, wanted: type[Event]) -> None:
        """Read until something has come; permission is given to whatever asks for it."""
        events: list[Event] = []
        while not any(isinstance(event, wanted) for event in events):
            assert self.pieces[-1:] != [b""], f"{wanted.__name__} does not come any more"
            events = await self.read()
            for event in events:
                if self.answers and isinstance(event, Request):
                    assert isinstance(event.body, CanUseTool)
                    allow = PermissionResultAllow(updated_input=event.body.input)
                    await self.send(Answer(event.id, allow))

    async def to_the_end(self) -> None:
        """Say no more, and read all."""
        await self.carrier.send_eof()
        await self.until(EndOfStream)

    def of(self, wanted: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, wanted)]

    @property
    def result(self) -> ResultMessage:
        (result,) = self.of(ResultMessage)
        assert isinstance(result, ResultMessage)
        return result


def kind(line: bytes) -> str:
    try:
        obj = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return "?"
    return str(obj.get("subtype", obj["type"]))


def in_memory(cwd: Path, *faults: Fault, scenario: Scenario = greet, **more: Any) -> SimulatedCLI:
    return SimulatedCLI(scenario, faults=faults, cwd=cwd, **more)


async def conversation(
    cwd: Path, *faults: Fault, scenario: Scenario = greet, text: str = "hello"
) -> tuple[Peer, int | None]:
    """One prompt and its answer, in memory, from the start to the exit."""
    cli = in_memory(cwd, *faults, scenario=scenario)
    peer = Peer(cli, answers=False)
    with anyio.fail_after(PATIENCE):
        await peer.prompt(text)
        await peer.to_the_end()
        return peer, await cli.wait()


async def has_to_wait(task: Callable[[], Any]) -> bool:
    """Whether something is still waiting when nobody can do anything any more."""
    finished = False

    async def run() -> None:
        nonlocal finished
        await task()
        finished = True

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    return not finished


async def falls_asleep(pid: int) -> bool:
    """Whether a process ends up waiting for something, instead of ending.

    What could wake it has done so before: it waits again when it has dealt with that.
    """
    while (state := state_of(pid)) not in "SZ":
        await anyio.lowlevel.checkpoint()
    return state == "S"


def bytes_read(pid: int) -> int:
    """How much a process has read so far."""
    name, count = Path(f"/proc/{pid}/io").read_text("ascii").splitlines()[0].split()
    assert name == "rchar:"
    return int(count)


class ProcessCarrier:
    """A process as a transport."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._errors = b""

    async def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send(data)

    async def send_eof(self) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    async def receive(self) -> bytes:
        assert self.process.stdout is not None
        try:
            return await self.process.stdout.receive()
        except anyio.EndOfStream:
            return b""

    async def error_line(self) -> bytes:
        assert self.process.stderr is not None
        while b"\n" not in self._errors:
            self._errors += await self.process.stderr.receive()
        line, _, self._errors = self._errors.partition(b"\n")
        return line


@asynccontextmanager
async def as_process(
    cwd: Path, faults: str, *, answers: bool = True
) -> AsyncIterator[tuple[Peer, ProcessCarrier]]:
    """The executable with faults; whatever happens, it is gone afterwards."""
    script = cwd / "scenario.py"
    script.write_text(SCENARIO, encoding="utf-8")
    env = {
        **os.environ,
        "HOME": str(cwd),
        "CLAUDEWIRE_SIM_SCENARIO": f"{script}:scenario",
        "CLAUDEWIRE_SIM_FAULTS": faults,
    }
    argv = [sys.executable, "-m", "claudewire.simulator", *ARGV]
    with anyio.fail_after(PATIENCE):
        process = await anyio.open_process(argv, cwd=cwd, env=env)
        try:
            carrier = ProcessCarrier(process)
            yield Peer(carrier, answers=answers), carrier
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.kill()
                await process.aclose()
