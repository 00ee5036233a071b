"""Serves the calls of `tool_cli.py` with claudewire; prints how many seconds each turn took.

    python tools_ours.py CLI TURNS [thread]

With `thread` the tool is a plain function, which runs in one.
"""

from __future__ import annotations

import json
import sys
import time

import anyio

import claudewire


@claudewire.tool(name="add")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@claudewire.tool(name="add")
def add_in_thread(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def main(cli: str, turns: int, *how: str) -> None:
    server = claudewire.ToolServer("calc", [add_in_thread if "thread" in how else add])
    took = []
    async with claudewire.open(cli=cli, mcp_servers=[server]) as claude:
        for _ in range(turns):
            started, used = time.perf_counter(), time.process_time()
            await claude.send("Go on.")
            took.append((time.perf_counter() - started, time.process_time() - used))
    print(json.dumps(took))


anyio.run(main, sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
