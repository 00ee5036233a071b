"""The least of a CLI that can call tools: it has one host, one server and one tool.

    python tool_cli.py CALLS AT_ONCE [ARGUMENTS OF A CLI …]

For each prompt it calls the tool so many times, so many of them at once, and then gives a result.
It measures nothing and looks at nothing: how many lines have come is all that it counts.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from uuid import uuid4

SESSION = "0b0e7a34-6c1f-4d0e-9a53-6f0f6f1f8a11"


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def to_server(id: str, method: str, number: int | None, params: Any = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if number is not None:
        message["id"] = number
    if params is not None:
        message["params"] = params
    request = {"subtype": "mcp_message", "server_name": "calc", "message": message}
    return line({"type": "control_request", "request_id": id, "request": request})


def call(number: int) -> bytes:
    meta = {"claudecode/toolUseId": f"toolu_{number:08}", "progressToken": number}
    params = {"name": "add", "arguments": {"a": 2, "b": 3}, "_meta": meta}
    return to_server(f"call-{number}", "tools/call", number, params)


def result() -> bytes:
    usage = {"input_tokens": 1, "output_tokens": 1}
    return line(
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "duration_ms": 1,
            "duration_api_ms": 1,
            "num_turns": 1,
            "result": "Done.",
            "session_id": SESSION,
            "total_cost_usd": 0.0,
            "usage": usage,
            "uuid": str(uuid4()),
        }
    )


class Pipe:
    """Counts the lines that come."""

    def __init__(self) -> None:
        self.rest = b""

    def line(self) -> bytes:
        while b"\n" not in self.rest:
            data = os.read(0, 1 << 16)
            if not data:
                raise SystemExit
            self.rest += data
        first, _, self.rest = self.rest.partition(b"\n")
        return first

    def skip(self, count: int) -> None:
        while (found := self.rest.count(b"\n")) < count:
            data = os.read(0, 1 << 16)
            if not data:
                raise SystemExit
            count -= found
            self.rest = self.rest[self.rest.rfind(b"\n") + 1 :] + data
        for _ in range(count):
            self.rest = self.rest.partition(b"\n")[2]


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def connect(pipe: Pipe) -> None:
    client = {"name": "claude-code", "version": "2.1.325"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    for id, message in (
        ("setup-1", to_server("setup-1", "initialize", 0, params)),
        ("setup-2", to_server("setup-2", "notifications/initialized", None)),
        ("setup-3", to_server("setup-3", "tools/list", 1)),
    ):
        write(message)
        assert id.encode() in pipe.line()


def main() -> None:
    calls, at_once = int(sys.argv[1]), int(sys.argv[2])
    if {"-v", "--version"} & {*sys.argv}:
        print("2.1.325 (Claude Code)")
        return
    pipe = Pipe()
    batches = [
        b"".join(call(number) for number in range(first, min(first + at_once, calls)))
        for first in range(0, calls, at_once)
    ]
    while True:
        message = json.loads(pipe.line())
        if message["type"] == "user":
            for batch in batches:
                write(batch)
                pipe.skip(batch.count(b"\n"))
            write(result())
        elif message["type"] == "control_request":
            id = message["request_id"]
            if message["request"]["subtype"] == "initialize":
                connect(pipe)
            answer = {"subtype": "success", "request_id": id, "response": {"commands": []}}
            write(line({"type": "control_response", "response": answer}))


main()
