"""claudewire's part."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio

import claudewire

from .driving import Figures, growing, main, per_call, resident, round_trips, time_of_many

# What a part of the library costs is not to be in other figures, so each work loads its own.

if TYPE_CHECKING:
    from claudewire.transport import MemoryTransport


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def allow(request: claudewire.PermissionRequest) -> claudewire.PermissionResult:
    return request.allow()


def allow_plainly(request: claudewire.PermissionRequest) -> claudewire.PermissionResult:
    return request.allow()


DECIDERS: dict[str, Callable[[], dict[str, Any]]] = {
    "async": lambda: {"on_permission": allow},
    "plain": lambda: {"on_permission": allow_plainly},
    "policy": lambda: {"policy": claudewire.Policy(allow=["Bash(git status:*)"])},
}


def permissions(cli: str, decider: str, count: int) -> Figures:
    async def session() -> str | None:
        async with claudewire.open(cli=cli, **DECIDERS[decider]()) as claude:
            await claude.send(f"permissions {count // 10 + 1}")
            return (await claude.send(f"permissions {count}")).result.result

    return round_trips(anyio.run(session))


# --- long turns ----------------------------------------------------------------------------------


async def read(items: AsyncIterator[object]) -> None:
    async for _ in items:
        pass


READERS: dict[str, Callable[[claudewire.Turn], Awaitable[object]]] = {
    "messages": read,
    "text": lambda turn: read(turn.iter_text()),
    "blocks": lambda turn: read(turn.iter_blocks()),
}


def stream(cli: str, way: str, backend: str, times: int) -> Figures:
    async def session() -> float:
        async with claudewire.open(cli=cli) as claude:
            await READERS[way](claude.send(f"stream {times}"))
            began = time.perf_counter()
            await READERS[way](claude.send(f"stream {times}"))
            return time.perf_counter() - began

    return {"turn": anyio.run(session, backend=backend)}


def stream_sync(cli: str, times: int) -> Figures:
    from claudewire import sync

    with sync.open(cli=cli) as claude:
        for _ in claude.send(f"stream {times}"):
            pass
        began = time.perf_counter()
        for _ in claude.send(f"stream {times}"):
            pass
        return {"turn": time.perf_counter() - began}


def long_lines(cli: str, *megabytes: int) -> Figures:
    """The time for each megabyte, by the length of the line."""

    async def session() -> Figures:
        async with claudewire.open(cli=cli) as claude:

            async def each(size: int) -> float:
                began = time.perf_counter()
                await claude.send(f"line {size}")
                return (time.perf_counter() - began) / size

            await each(megabytes[-1])
            return {
                str(size): statistics.median([await each(size) for _ in range(5)])
                for size in megabytes
            }

    return anyio.run(session)


def gigabyte(cli: str, times: int, every: int) -> Figures:
    """The memory early in a long turn, and the most of it afterwards."""

    async def session() -> list[int]:
        sizes = []
        async with claudewire.open(cli=cli) as claude:
            number = 0
            async for _ in claude.send(f"deltas {times}"):
                number += 1
                if number % every == 0:
                    sizes.append(resident())
        return sizes

    sizes = anyio.run(session)
    early = len(sizes) // 10
    return {"early": max(sizes[: early + 1]), "late": max(sizes[early:])}


# --- tools ---------------------------------------------------------------------------------------


def tools(cli: str, count: int, at_once: int) -> Figures:
    async def session() -> str | None:
        server = claudewire.ToolServer("calc", [claudewire.tool(add)])
        async with claudewire.open(cli=cli, mcp_servers=[server]) as claude:
            await claude.send(f"tools {count // 10 + 1} {at_once}")
            return (await claude.send(f"tools {count} {at_once}")).result.result

    return per_call(anyio.run(session), count)


# --- many sessions -------------------------------------------------------------------------------


def many(cli: str, sessions: int, times: int) -> Figures:
    """The processor's time of sessions that are all open at once, and ask for 20 permissions."""

    async def session() -> None:
        async with claudewire.open(cli=cli, on_permission=allow) as claude:
            await claude.send("permissions 20")

    return anyio.run(time_of_many, session, sessions, times)


def memory(cli: str, sessions: int) -> Figures:
    """The memory of sessions that are open and do nothing."""

    async def session() -> Figures:
        async with claudewire.open(cli=cli):
            pass
        before = resident()
        opened = [await claudewire.open(cli=cli) for _ in range(sessions)]
        figures = growing(before, resident(), sessions)
        async with anyio.create_task_group() as tasks:  # which takes much less time
            for claude in opened:
                tasks.start_soon(claude.close)
        return figures

    return anyio.run(session)


async def cli_in_memory(end: MemoryTransport, number: int) -> None:
    """Answer `initialize`, and every prompt with a short turn, like the fake CLI."""
    from . import fake_cli

    turn = fake_cli.INIT + fake_cli.RESULT
    turn = turn.replace(b"9a53-%012d" % os.getpid(), b"9a53-%012d" % number)
    numbers = count()
    while arrived := await end.receive():
        for line in arrived.splitlines():
            if b'"control_request"' in line:
                await end.send(fake_cli.ANSWER % fake_cli.text_after(b'"request_id"', line))
            else:
                await end.send(turn % (b"Done.", next(numbers)))
    end.exit(0)


def turns(cli: str, sessions: int, rounds: int) -> Figures:
    """The processor's time of a turn; all sessions are open, and each has turns."""
    from claudewire.transport import memory_pair

    async def session() -> float:
        async with AsyncExitStack() as stack:
            tasks = await stack.enter_async_context(anyio.create_task_group())
            opened = []
            for number in range(sessions):
                ours, theirs = memory_pair()
                tasks.start_soon(cli_in_memory, theirs, number)
                opened.append(await stack.enter_async_context(claudewire.open(transport=ours)))
            count = max(rounds // sessions, 1)
            used = time.process_time()
            for _ in range(count):
                for claude in opened:
                    await claude.send("nothing")
            return (time.process_time() - used) / count / sessions

    return {"turn": anyio.run(session)}


def warm(cli: str, times: int) -> Figures:
    """The time to take an open session from a pool, and that it works."""
    from claudewire.session import Pool

    async def session() -> list[float]:
        took = []
        async with Pool(claudewire.Options(cli=cli), size=1) as pool:
            for _ in range(times):
                await pool.ready()
                began = time.perf_counter()
                claude = await pool.open()
                took.append(time.perf_counter() - began)
                assert (await claude.send("nothing")).ok
                await claude.close()
        return took

    return {"open": statistics.median(anyio.run(session))}


if __name__ == "__main__":
    main(
        {
            "permissions": permissions,
            "stream": stream,
            "stream_sync": stream_sync,
            "long_lines": long_lines,
            "gigabyte": gigabyte,
            "tools": tools,
            "many": many,
            "memory": memory,
            "turns": turns,
            "warm": warm,
        }
    )
