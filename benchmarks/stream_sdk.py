"""Reads the turns of `stream_cli.py` with the official SDK; prints how many seconds each took.

    python stream_sdk.py CLI TURNS

It runs in an environment of its own, which has the SDK and nothing of this project.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from claude_agent_sdk import (  # type: ignore[import-not-found]
    ClaudeAgentOptions,
    ClaudeSDKClient,
)


async def main(cli: str, turns: int) -> None:
    took = []
    options = ClaudeAgentOptions(cli_path=cli, include_partial_messages=True)
    async with ClaudeSDKClient(options) as client:
        for _ in range(turns):
            started, used, count = time.perf_counter(), time.process_time(), 0
            await client.query("Go on.")
            async for _message in client.receive_response():
                count += 1
            took.append((time.perf_counter() - started, time.process_time() - used, count))
    print(json.dumps(took))


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
