"""Small programs for tests to start, and views of processes from outside."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from textwrap import dedent
from typing import Any, AnyStr

import anyio

from claudewire.transport import Launch, ProcessTransport, spawn

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
PATIENCE = 60
"""Seconds for anything: a busy machine is slow."""
LAST_MOMENTS = 5
"""Seconds for a process to end after a kill, or after the end of its input."""


def python(code: str, *arguments: str) -> tuple[str, ...]:
    """Return the command of a Python program that starts fast."""
    return (sys.executable, "-I", "-S", "-c", dedent(code), *arguments)


def shell(code: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", dedent(code))


@asynccontextmanager
async def running(argv: tuple[str, ...], **options: Any) -> AsyncIterator[ProcessTransport]:
    """Start a program, and close it at the end of the block, within a time limit."""
    with anyio.fail_after(PATIENCE):
        process = await spawn(Launch(argv, ENV), **options)
        try:
            yield process
        finally:
            await process.aclose()


async def everything(receive: Callable[[], Awaitable[bytes]]) -> bytes:
    """Receive until the end."""
    chunks = []
    while chunk := await receive():
        chunks.append(chunk)
    return b"".join(chunks)


async def line(process: ProcessTransport) -> bytes:
    """Receive one line, which must be the last so far."""
    received = b""
    while not received.endswith(b"\n"):
        chunk = await process.receive()
        assert chunk, f"ended after {received!r}"
        received += chunk
    return received[:-1]


async def numbers(process: ProcessTransport) -> list[int]:
    """Receive a line of numbers."""
    return [int(word) for word in (await line(process)).split()]


def state_of(pid: int) -> str:
    """Return the letter for the state of a process: `S` if it waits, `Z` if it was not reaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return "X"
    return chr(stat[stat.rindex(b")") + 2])


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a dead one that was not reaped does not."""
    return state_of(pid) not in "ZX"


def group_of(pid: int) -> set[int]:
    """Return the running processes of a group."""
    found = set()
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError):
            if os.getpgid(int(name)) == pid and is_alive(int(name)):
                found.add(int(name))
    return found


def children() -> set[int]:
    """Return the child processes, including zombies."""
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        path = f"/proc/self/task/{task}/children"
        # Not if the thread has just ended.
        with suppress(FileNotFoundError, ProcessLookupError), open(path, "rb") as file:
            found.update(map(int, file.read().split()))
    return found


def end_running(pids: Iterable[int]) -> list[str]:
    """Wait for processes; kill the remaining ones, and return their commands."""
    left = []
    for pid in pids:
        with suppress(ProcessLookupError):
            pidfd = os.pidfd_open(pid)
            try:
                if not select.select([pidfd], [], [], LAST_MOMENTS)[0]:
                    left.append(_command(pid))
                    os.kill(pid, signal.SIGKILL)
            finally:
                os.close(pidfd)
    return left


def _command(pid: int) -> str:
    """Return the command line of a process; just after its start, its name."""
    words = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").replace("\0", " ").strip()
    return words or Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()


def started_with(text: str) -> set[int]:
    """Return the processes with a text in their environment, of any group and parent."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if text.encode() in path.read_bytes():
                found.add(int(path.parent.name))
    return found


async def death(pid: int) -> None:
    """Wait until a process has ended; it need not be a child."""
    with suppress(ProcessLookupError):
        pidfd = os.pidfd_open(pid)
        try:
            await anyio.wait_readable(pidfd)
        finally:
            os.close(pidfd)


@contextmanager
def ended(popen: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """Kill a running process at the end of the block."""
    with popen:
        try:
            yield popen
        finally:
            popen.kill()


def descriptors() -> set[str]:
    """Return the open file descriptors of this process."""
    return set(os.listdir("/proc/self/fd"))


@contextmanager
def killed_in_the_end(pid: int) -> Iterator[None]:
    """Kill an orphan at the end of the block, and its group if it leads one."""
    try:
        yield
    finally:
        for member in {pid, *group_of(pid)}:
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
