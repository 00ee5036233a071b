"""Has the official SDK serve the calls of `tool_cli.py`; prints how many seconds each turn took.

    python tools_sdk.py CLI TURNS

It runs in an environment of its own, which has the SDK and nothing of this project.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from claude_agent_sdk import (  # type: ignore[import-not-found]
    ClaudeAgentOptions,
    ClaudeSDKClient,
    create_sdk_mcp_server,
    tool,
)


@tool("add", "Add two numbers", {"a": int, "b": int})  # type: ignore[untyped-decorator]
async def add(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}


async def main(cli: str, turns: int) -> None:
    server = create_sdk_mcp_server("calc", tools=[add])
    options = ClaudeAgentOptions(cli_path=cli, mcp_servers={"calc": server})
    took = []
    async with ClaudeSDKClient(options) as client:
        for _ in range(turns):
            started, used = time.perf_counter(), time.process_time()
            await client.query("Go on.")
            async for _message in client.receive_response():
                pass
            took.append((time.perf_counter() - started, time.process_time() - used))
    print(json.dumps(took))


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
