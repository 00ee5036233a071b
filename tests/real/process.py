"""A program as a transport: the least that is needed to talk to a real CLI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import anyio.abc

from claudewire.transport import TransportClosed


class ProcessTransport:
    """The pipes of a process. Whoever has started it waits for its end."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr

    async def send(self, data: bytes) -> None:
        try:
            await self._stdin.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise TransportClosed("The process does not read any more") from error

    async def send_eof(self) -> None:
        await self._stdin.aclose()

    async def receive(self) -> bytes:
        return await _next(self._stdout)

    async def receive_stderr(self) -> bytes:
        return await _next(self._stderr)

    async def wait(self) -> int | None:
        return await self._process.wait()

    async def aclose(self) -> None:
        await self._process.aclose()


async def _next(stream: anyio.abc.ByteReceiveStream) -> bytes:
    try:
        return await stream.receive()
    except anyio.EndOfStream:
        return b""


@asynccontextmanager
async def started(command: Sequence[str]) -> AsyncIterator[ProcessTransport]:
    """Start a program and end it, if it has not ended, when the context does."""
    async with await anyio.open_process(command) as process:
        yield ProcessTransport(process)
