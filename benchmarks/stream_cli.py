"""A CLI that answers each prompt with the lines of a file, as fast as they are taken.

python stream_cli.py FILE [ARGUMENTS OF A CLI …]
"""

from __future__ import annotations

import json
import os
import sys

RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "duration_ms": 1,
    "duration_api_ms": 1,
    "num_turns": 1,
    "result": "Done.",
    "session_id": "0b0e7a34-6c1f-4d0e-9a53-6f0f6f1f8a11",
    "total_cost_usd": 0.0,
    "usage": {"input_tokens": 1, "output_tokens": 1},
    "uuid": "5a3f0a54-0d56-4b53-8c6c-3f4f5f9b2b10",
}


def write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def line(message: object) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def main() -> None:
    if {"-v", "--version"} & {*sys.argv}:
        print("2.1.325 (Claude Code)")
        return
    with open(sys.argv[1], "rb") as file:
        turn = file.read() + line(RESULT)
    for text in sys.stdin:
        message = json.loads(text)
        if message["type"] == "user":
            write(turn)
        elif message["type"] == "control_request":
            id = message["request_id"]
            answer = {"subtype": "success", "request_id": id, "response": {"commands": []}}
            write(line({"type": "control_response", "response": answer}))


main()
