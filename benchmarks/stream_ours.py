"""Reads the turns of `stream_cli.py` with claudewire; prints how many seconds each took.

python stream_ours.py CLI TURNS BACKEND
"""

from __future__ import annotations

import json
import sys
import time

import anyio

import claudewire


async def main(cli: str, turns: int) -> None:
    took = []
    async with claudewire.open(cli=cli) as claude:
        for _ in range(turns):
            started, used, count = time.perf_counter(), time.process_time(), 0
            async for _message in claude.send("Go on."):
                count += 1
            took.append((time.perf_counter() - started, time.process_time() - used, count))
    print(json.dumps(took))


anyio.run(main, sys.argv[1], int(sys.argv[2]), backend=sys.argv[3])
