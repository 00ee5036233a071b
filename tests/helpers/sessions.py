"""Sessions with short timeouts, over a pair in memory or with a simulated CLI."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
from tests.helpers import messages as saying
from tests.helpers.peer import SOON, Peer

from claudewire.approvals import PermissionHandler, PermissionRequest, PermissionResult
from claudewire.options import Options, Timeouts
from claudewire.session import Session, Turn
from claudewire.testing import Chat, SimulatedCLI
from claudewire.wire import Initialize, InitializeResult

T = TypeVar("T")

SOME_CLI = [sys.executable]
"""An existing program for sessions that start none."""

QUICK = Timeouts(start=SOON, request=SOON, exit=0.05, drain=0.05, interrupt=SOON)


def options(**changes: Any) -> Options:
    return Options(**{"timeouts": QUICK, **changes})


def session_with(peer: Peer, **changes: Any) -> Session:
    return Session(options(**changes), transport=peer.transport)


def simulated(
    scenario: Callable[[Chat], Awaitable[None]] | None = None,
    *,
    on_permission: PermissionHandler | None = None,
    **cli: Any,
) -> Session:
    changes = {} if on_permission is None else {"on_permission": on_permission}
    return Session(options(**changes), transport=SimulatedCLI(scenario, **cli))


async def opened(peer: Peer, **changes: Any) -> Session:
    """Open a session with a peer that welcomes it."""
    session = session_with(peer, **changes)
    await start_with(session, peer)
    return session


async def start_with(session: Session, peer: Peer, info: InitializeResult | None = None) -> None:
    """Start a session that a peer welcomes, perhaps with this answer."""
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.welcome, info)
            await session.start()


async def refused_by(peer: Peer, error: str) -> None:
    """Refuse `initialize`."""
    await peer.refuse(await peer.hear_request(Initialize), error)


async def begun(session: Session, peer: Peer, prompt: str = "hello") -> Turn:
    """Send a prompt, and let its turn begin."""
    turn = session.send(prompt)
    await peer.say(saying.text())
    await turn.started.wait()
    return turn


@asynccontextmanager
async def connected(
    peer: Peer | None = None, *, within: float = SOON, **changes: Any
) -> AsyncIterator[tuple[Session, Peer]]:
    """Open a session with a peer, and close it unless the test fails."""
    peer = peer or Peer()
    with anyio.fail_after(within):
        session = await opened(peer, **changes)
        yield session, peer
        await session.close()


@asynccontextmanager
async def bounded(block: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """Enter a block that must end in time."""
    with anyio.fail_after(SOON):
        async with block as entered:
            yield entered


@asynccontextmanager
async def meanwhile(call: Callable[[], Awaitable[T]]) -> AsyncIterator[list[T]]:
    """Make a call in another task during a block; the list gets its result."""
    results: list[T] = []

    async def work() -> None:
        results.append(await call())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        yield results


async def soon(true: Callable[[], object]) -> None:
    """Let others go on until something is true."""
    with anyio.fail_after(SOON):
        while not true():
            await anyio.lowlevel.checkpoint()


async def allow(request: PermissionRequest) -> PermissionResult:
    return request.allow()


async def never(request: PermissionRequest) -> PermissionResult:
    """Never decide."""
    await anyio.sleep_forever()
    raise AssertionError


async def echo(chat: Chat) -> None:
    await chat.say(f"You said {chat.text}.")
