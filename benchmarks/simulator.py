"""How fast the simulated CLI is: its start as a process, and turns in memory."""

from __future__ import annotations

import compileall
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio

import claudewire
from claudewire.testing import Chat, SimulatedCLI
from claudewire.wire import Connection, Role, UserMessage

ROUNDS = 15
TURNS = 1000
INITIALIZE = b'{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}\n'
ARGV = ["--output-format=stream-json", "--input-format=stream-json", "--verbose"]


def bare() -> None:
    """A Python that does nothing."""
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def simulated() -> None:
    """The simulated CLI from its start to its answer to `initialize`."""
    command = [sys.executable, "-m", "claudewire.simulator", *ARGV]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(INITIALIZE)
        process.stdin.flush()
        assert b"control_response" in process.stdout.readline()
        process.kill()


def seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


async def greet(chat: Chat) -> None:
    await chat.say("Hello")


async def turns() -> float:
    """Turns in memory, one after the other."""
    cli, claude = SimulatedCLI(greet), Connection(Role.CLIENT)
    started = time.perf_counter()
    for _ in range(TURNS):
        await cli.send(claude.send(UserMessage.of("hi")))
        while claude.unanswered_prompts:
            claude.receive_data(await cli.receive())
    return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    compileall.compile_dir(Path(claudewire.__file__).parent, quiet=1)  # as an installer does
    pairs = [(seconds(bare), seconds(simulated)) for _ in range(ROUNDS)]
    least, start = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    print(f"python -c pass                   {least * 1000:6.1f} ms")
    print(f"claudewire-sim to `initialize`   {start * 1000:6.1f} ms")
    print(f"ratio                            {start / least:6.1f}    (goal: at most 10)")
    took = min(anyio.run(turns) for _ in range(3))
    print(f"{TURNS} turns in memory            {took:6.2f} s    (goal: at most 1 on an idle core)")


if __name__ == "__main__":
    main()
