"""Reads the turns of `stream_cli.py` with nothing but `json.loads`; prints the seconds of each.

python stream_bare.py CLI TURNS
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

PROMPT = b'{"type":"user","message":{"role":"user","content":"Go on."}}\n'


def main(cli: str, turns: int) -> None:
    took = []
    with subprocess.Popen([cli], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(turns):
            started, used, count = time.perf_counter(), time.process_time(), 0
            process.stdin.write(PROMPT)
            process.stdin.flush()
            for line in process.stdout:
                count += 1
                if json.loads(line)["type"] == "result":
                    break
            took.append((time.perf_counter() - started, time.process_time() - used, count))
        process.stdin.close()
    print(json.dumps(took))


main(sys.argv[1], int(sys.argv[2]))
