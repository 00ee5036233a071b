"""claudewire's part."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import anyio

import claudewire

from .driving import Figures, growing, main, per_call, resident, round_trips, time_of_many


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


def stream(cli: str, times: int) -> Figures:
    async def session() -> float:
        async with claudewire.open(cli=cli) as claude:
            for _ in range(2):
                began = time.perf_counter()
                async for _ in claude.send(f"stream {times}"):
                    pass
            return time.perf_counter() - began

    return {"turn": anyio.run(session)}


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
            "long_lines": long_lines,
            "tools": tools,
            "many": many,
            "memory": memory,
            "warm": warm,
        }
    )
