"""Connects a transport with the stdin, stdout and stderr of this process.

For the program that started this process, it then acts as the other end of the transport: a CLI
that is recorded on the way, or a recording that plays one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import anyio
import anyio.to_thread

from ..concurrency import Mailbox
from ..errors import TransportClosed
from .base import Transport

CHUNK = 64 * 1024
READ_AHEAD = 16
"""Chunks that are read from stdin before the other end has taken the first of them."""


class Pipes(NamedTuple):
    """The file descriptors to use. They stay open."""

    stdin: int = 0
    stdout: int = 1
    stderr: int = 2


async def relay(
    transport: Transport,
    pipes: Pipes = Pipes(),  # noqa: B008 (it does not change)
    signals: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> int | None:
    """Pass all bytes on, unchanged and at once, until the other end has exited.

    Args:
        transport: the other end. It is not closed.
        pipes: the file descriptors of this end.
        signals: runs meanwhile, and is cancelled at the end: to pass signals on, for example.

    Returns:
        the exit status of the other end.

    Raises:
        BrokenPipeError: the program that started this process no longer reads.
    """
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_send, transport, _Reader(pipes.stdin))
            if signals is not None:
                tasks.start_soon(signals)
            async with anyio.create_task_group() as outputs:
                outputs.start_soon(_write, transport.receive, pipes.stdout)
                outputs.start_soon(_write, transport.receive_stderr, pipes.stderr)
            status = await transport.wait()
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise _first(group) from None
    return status


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class _Reader:
    """Reads a file descriptor in a thread, because others may share it and it may be a terminal."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._chunks: Mailbox[bytes] = Mailbox()
        self._room = threading.Semaphore(READ_AHEAD)
        # A daemon: nothing can wake a thread that reads from a terminal.
        threading.Thread(target=self._read, name="claudewire relay", daemon=True).start()

    async def next(self) -> bytes:
        data = await self._chunks.get()
        self._room.release()
        return data

    def _read(self) -> None:
        is_open = True
        while is_open:
            self._room.acquire()
            try:
                data = os.read(self._fd, CHUNK)
            except OSError:  # it was closed
                data = b""
            self._chunks.put(data)
            is_open = bool(data)


async def _send(transport: Transport, reader: _Reader) -> None:
    # An end that no longer reads may still write.
    with suppress(TransportClosed):
        while data := await reader.next():
            await transport.send(data)
        await transport.send_eof()


async def _write(receive: Callable[[], Awaitable[bytes]], fd: int) -> None:
    while data := await receive():
        await anyio.to_thread.run_sync(partial(_write_all, fd, data), abandon_on_cancel=True)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
