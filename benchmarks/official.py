"""The official SDK's part. It runs in a separate environment, in a cage."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from claude_agent_sdk import (  # type: ignore[import-not-found]
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    ResultMessage,
    create_sdk_mcp_server,
    tool,
)

from benchmarks.driving import (
    Figures,
    growing,
    main,
    per_call,
    resident,
    round_trips,
    time_of_many,
)


@tool("add", "Add two numbers", {"a": int, "b": int})  # type: ignore[untyped-decorator]
async def add(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}


async def allow(name: str, arguments: dict[str, Any], context: Any) -> Any:
    return PermissionResultAllow(updated_input=arguments)


@asynccontextmanager
async def opened(cli: str, **options: Any) -> AsyncIterator[Any]:
    async with ClaudeSDKClient(ClaudeAgentOptions(cli_path=cli, **options)) as client:
        yield client


async def turn(client: Any, prompt: str) -> Any:
    """Have a turn, and return its result."""
    await client.query(prompt)
    async for message in client.receive_response():
        if isinstance(message, ResultMessage):
            result = message.result
    return result


def permissions(cli: str, count: int) -> Figures:
    async def session() -> Any:
        async with opened(cli, can_use_tool=allow) as client:
            await turn(client, f"permissions {count // 10 + 1}")
            return await turn(client, f"permissions {count}")

    return round_trips(asyncio.run(session()))


def stream(cli: str, times: int) -> Figures:
    async def session() -> float:
        async with opened(cli, include_partial_messages=True) as client:
            await turn(client, f"stream {times}")
            began = time.perf_counter()
            await turn(client, f"stream {times}")
            return time.perf_counter() - began

    return {"turn": asyncio.run(session())}


def tools(cli: str, count: int, at_once: int) -> Figures:
    async def session() -> Any:
        server = create_sdk_mcp_server("calc", tools=[add])
        async with opened(cli, mcp_servers={"calc": server}) as client:
            await turn(client, f"tools {count // 10 + 1} {at_once}")
            return await turn(client, f"tools {count} {at_once}")

    return per_call(asyncio.run(session()), count)


def many(cli: str, sessions: int, times: int) -> Figures:
    """The processor's time of sessions that are all open at once, and ask for 20 permissions."""

    async def session() -> None:
        async with opened(cli, can_use_tool=allow) as client:
            await turn(client, "permissions 20")

    return asyncio.run(time_of_many(session, sessions, times))


def memory(cli: str, sessions: int) -> Figures:
    """The memory of sessions that are open and do nothing."""

    async def session() -> Figures:
        async with opened(cli):
            pass
        before = resident()
        async with AsyncExitStack() as stack:
            for _ in range(sessions):
                await stack.enter_async_context(opened(cli))
            return growing(before, resident(), sessions)

    return asyncio.run(session())


def cold(cli: str) -> Figures:
    """The time until a session is open."""

    async def session() -> float:
        began = time.perf_counter()
        async with opened(cli):
            return time.perf_counter() - began

    return {"open": asyncio.run(session())}


if __name__ == "__main__":
    main(
        {
            "permissions": permissions,
            "stream": stream,
            "tools": tools,
            "many": many,
            "memory": memory,
            "cold": cold,
        }
    )
