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
from typing import Any

import anyio
import anyio.to_thread

from ..concurrency import Mailbox, MailboxClosed
from ..errors import TransportClosed
from .base import Transport
from .pipes import CHUNK


async def relay(
    transport: Transport,
    pipes: tuple[int, int, int] = (0, 1, 2),
    signals: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> int | None:
    """Pass all bytes on, unchanged and at once, until the other end has exited.

    Args:
        transport: the other end. It is not closed.
        pipes: the file descriptors of stdin, stdout and stderr. They stay open.
        signals: runs meanwhile, and is cancelled at the end: to pass signals on, for example.

    Returns:
        the exit status of the other end.

    Raises:
        BrokenPipeError: the program that started this process no longer reads.
    """
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_send, transport, pipes[0])
            if signals is not None:
                tasks.start_soon(signals)
            async with anyio.create_task_group() as outputs:
                outputs.start_soon(_write, transport.receive, pipes[1])
                outputs.start_soon(_write, transport.receive_stderr, pipes[2])
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


def _read_all(fd: int, chunks: Mailbox[bytes]) -> None:
    with suppress(OSError):  # it was closed
        while data := os.read(fd, CHUNK):
            chunks.put(data)
    chunks.close()


async def _send(transport: Transport, fd: int) -> None:
    chunks: Mailbox[bytes] = Mailbox()
    # A daemon: nothing can wake a thread that reads from a terminal.
    threading.Thread(target=_read_all, args=(fd, chunks), daemon=True).start()
    with suppress(TransportClosed):  # an end that no longer reads may still write
        with suppress(MailboxClosed):
            while True:
                await transport.send(await chunks.get())
        await transport.send_eof()


async def _write(receive: Callable[[], Awaitable[bytes]], fd: int) -> None:
    while data := await receive():
        await anyio.to_thread.run_sync(partial(_write_all, fd, data), abandon_on_cancel=True)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
