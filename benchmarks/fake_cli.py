"""A minimal CLI that takes instructions from the prompt.

    python fake_cli.py FOLDER [ARGUMENTS OF A CLI …]

    permissions COUNT      ask for so many permissions, one after the other
    tools COUNT AT_ONCE    call the tool `add` of the server `calc`, so many times, so many at once
    stream TIMES           write the lines of FOLDER/stream.jsonl, so many times
    line MEGABYTES         write one line of this length
    flood ANSWERS          write the lines of FOLDER/flood.jsonl and wait for so many answers
    nothing                give the result at once

It has to cost next to nothing, so it reads no JSON, imports next to nothing and writes what it has
encoded before. The result of a turn is a list: for each request, or batch of them, the nanoseconds
between writing it and reading the answers, and at the end those of the processor for all of them.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from time import perf_counter_ns, process_time_ns

SESSION = b'"session_id":"0b0e7a34-6c1f-4d0e-9a53-%012d"' % os.getpid()
NAMES = SESSION + b',"uuid":"5a3f0a54-0d56-4b53-8c6c-3f4f5f9b2b10"'
INIT = (
    b'{"type":"system","subtype":"init","cwd":"/home/user","tools":["Bash","Edit","Read"],'
    b'"mcp_servers":[],"model":"claude-sonnet-4-5","permissionMode":"default","slash_commands":[],'
    b'"apiKeySource":"none","claude_code_version":"2.1.325","output_style":"default","agents":[],'
    b'"skills":[],"plugins":[],%b}\n' % NAMES
)
RESULT = (
    b'{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"duration_api_ms":1,'
    b'"num_turns":1,"result":"%%b","total_cost_usd":0.0,'
    b'"usage":{"input_tokens":1,"output_tokens":1},%b,'
    b'"uuid":"5a3f0a54-0d56-4b53-8c6c-%%012d"}\n' % SESSION
)
"""Two results with the same uuid would be one that was repeated, and end no turn at once."""
ANSWER = (
    b'{"type":"control_response","response":{"subtype":"success","request_id":"%b",'
    b'"response":{"commands":[]}}}\n'
)
REQUEST = b'{"type":"control_request","request_id":"%b","request":%b}\n'
PERMISSION = (
    b'{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"git status --short",'
    b'"description":"Shows what has changed"},"tool_use_id":"toolu_%b","permission_suggestions":['
    b'{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"git status:*"}],'
    b'"behavior":"allow","destination":"localSettings"}]}'
)
TO_SERVER = b'{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0",%b}}'
CONNECT = (
    b'"method":"initialize","id":0,"params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"claude-code","version":"2.1.325"}}',
    b'"method":"notifications/initialized"',
    b'"method":"tools/list","id":1',
)
CALL = (
    b'"method":"tools/call","id":%d,"params":{"name":"add","arguments":{"a":2,"b":3},'
    b'"_meta":{"claudecode/toolUseId":"toolu_%08d","progressToken":%d}}'
)
LONG_LINE = (
    b'{"type":"assistant","message":{"model":"claude-sonnet-4-5","id":"msg_1","type":"message",'
    b'"role":"assistant","content":[{"type":"text","text":"%%b"}],"stop_reason":null,'
    b'"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}},%b}\n' % NAMES
)


def write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def read() -> bytes:
    if data := os.read(0, 1 << 16):
        return data
    raise SystemExit


def lines() -> Iterator[bytes]:
    """Write messages between turns."""
    rest = b""
    while True:
        *whole, rest = (rest + read()).split(b"\n")
        yield from whole


def text_after(key: bytes, line: bytes) -> bytes:
    """The value of a key, which is a text without escapes."""
    start = line.index(b'"', line.index(key) + len(key)) + 1
    return line[start : line.index(b'"', start)]


def exchange(request: bytes, answers: int = 1) -> int:
    """Write a request, or several, and wait for the answers; how many nanoseconds that took."""
    started = perf_counter_ns()
    write(request)
    while answers > 0:
        answers -= read().count(b"\n")
    return perf_counter_ns() - started


def permissions(count: int) -> list[int]:
    asked = (b"ask-%06d" % number for number in range(count))
    requests = [REQUEST % (id, PERMISSION % id) for id in asked]
    used = process_time_ns()
    took = [exchange(request) for request in requests]
    return [*took, process_time_ns() - used]


def tools(count: int, at_once: int) -> list[int]:
    for number, method in enumerate(CONNECT):
        exchange(REQUEST % (b"connect-%d" % number, TO_SERVER % method))
    calls = [
        REQUEST % (b"call-%d" % number, TO_SERVER % (CALL % (number, number, number)))
        for number in range(count)
    ]
    batches = [b"".join(calls[first : first + at_once]) for first in range(0, count, at_once)]
    used = process_time_ns()
    took = [exchange(batch, batch.count(b"\n")) for batch in batches]
    return [*took, process_time_ns() - used]


def stream(times: int) -> list[int]:
    with open(f"{sys.argv[1]}/stream.jsonl", "rb") as file:
        turn = file.read()
    for _ in range(times):
        write(turn)
    return []


def line(megabytes: int) -> list[int]:
    write(LONG_LINE % (b"x" * (megabytes * 10**6)))
    return []


def flood(answers: int) -> list[int]:
    with open(f"{sys.argv[1]}/flood.jsonl", "rb") as file:
        data = memoryview(file.read())
    # Answers are read while it is written: the other side may not go on reading otherwise.
    os.set_blocking(0, False)
    while data or answers > 0:
        with_input, to_write, _ = select.select([0], [1] if data else [], [])
        if to_write:
            data = data[os.write(1, data[:4096]) :]
        if with_input:
            answers -= read().count(b"\n")
    os.set_blocking(0, True)
    return []


def nothing() -> list[int]:
    return []


PROMPTS: dict[bytes, Callable[..., list[int]]] = {
    b"permissions": permissions,
    b"tools": tools,
    b"stream": stream,
    b"line": line,
    b"flood": flood,
    b"nothing": nothing,
}


def main() -> None:
    if {"-v", "--version"} & {*sys.argv}:
        print("2.1.325 (Claude Code)")
        return
    for number, arrived in enumerate(lines()):
        if b'"control_request"' in arrived:
            write(ANSWER % text_after(b'"request_id"', arrived))
        elif b'"content"' in arrived:
            what, *numbers = text_after(b'"content"', arrived).split()
            write(INIT)
            took = PROMPTS[what](*map(int, numbers))
            write(RESULT % (str(took).encode(), number))


if __name__ == "__main__":
    main()
