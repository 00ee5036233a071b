"""Small programs to be started by tests, and ways to look at processes from outside."""

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
"""Seconds that anything may take; a busy machine is slow."""
LAST_MOMENTS = 5
"""Seconds that a process may need to end after it was killed, or after its input has ended."""


def python(code: str, *arguments: str) -> tuple[str, ...]:
    """A program in Python that starts fast."""
    return (sys.executable, "-I", "-S", "-c", dedent(code), *arguments)


def shell(code: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", dedent(code))


@asynccontextmanager
async def running(argv: tuple[str, ...], **options: Any) -> AsyncIterator[ProcessTransport]:
    """Start a program, and close it in the end. All of it is bounded."""
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
    """Receive one line, when it is known that nothing comes after it."""
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
    """The letter for the state of a process: `S` if it waits, `Z` if it was not reaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return "X"
    return chr(stat[stat.rindex(b")") + 2])


def is_alive(pid: int) -> bool:
    """Say whether a process runs. A dead one that was not reaped does not."""
    return state_of(pid) not in "ZX"


def group_of(pid: int) -> set[int]:
    """The processes of a group that run."""
    found = set()
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError):
            if os.getpgid(int(name)) == pid and is_alive(int(name)):
                found.add(int(name))
    return found


def children() -> set[int]:
    """The processes that this one has started, those included that nobody has waited for."""
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        path = f"/proc/self/task/{task}/children"
        # Not if the thread has just ended.
        with suppress(FileNotFoundError, ProcessLookupError), open(path, "rb") as file:
            found.update(map(int, file.read().split()))
    return found


def end_running(pids: Iterable[int]) -> list[str]:
    """Kill those that do not end by themselves; return their commands."""
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
    """The words that started a process; its name as long as it shows none, just after that."""
    words = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").replace("\0", " ").strip()
    return words or Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()


def started_with(text: str) -> set[int]:
    """The processes that have a text in their environment, whatever group or parent they have."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if text.encode() in path.read_bytes():
                found.add(int(path.parent.name))
    return found


async def death(pid: int) -> None:
    """Wait until a process, whosever it is, has ended."""
    with suppress(ProcessLookupError):
        pidfd = os.pidfd_open(pid)
        try:
            await anyio.wait_readable(pidfd)
        finally:
            os.close(pidfd)


@contextmanager
def ended(popen: subprocess.Popen[AnyStr]) -> Iterator[subprocess.Popen[AnyStr]]:
    """Leave nothing of a process in the end: one that still runs is killed."""
    with popen:
        try:
            yield popen
        finally:
            popen.kill()


def descriptors() -> set[str]:
    """The open file descriptors of this process."""
    return set(os.listdir("/proc/self/fd"))


@contextmanager
def killed_in_the_end(pid: int) -> Iterator[None]:
    """For a process that is nobody's any more, with its group if it leads one."""
    try:
        yield
    finally:
        for member in {pid, *group_of(pid)}:
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
