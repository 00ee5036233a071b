"""The floor: what it costs to serve the fake CLI with an event loop and msgspec, and nothing else.

One persistent `add_reader`, lines cut with `split`, one typed decode, the answer written at once.
It has no queue, no limits, no cancellation, no evidence and no second backend.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import msgspec

from claudewire.wire import codec

from .driving import Figures, main, round_trips

PROMPT = b'{"type":"user","message":{"role":"user","content":"%b"}}\n'
RESULT = b'{"type":"result"'


class Permission(msgspec.Struct):
    """A request, with what a handler needs of it."""

    class Body(msgspec.Struct):
        subtype: str
        tool_name: str
        input: dict[str, Any]
        tool_use_id: str

    request_id: str
    request: Body


class Allow(msgspec.Struct):
    updatedInput: dict[str, Any]
    behavior: Literal["allow"] = "allow"


class Success(msgspec.Struct):
    request_id: str
    response: Allow
    subtype: Literal["success"] = "success"


class Answer(msgspec.Struct):
    response: Success
    type: Literal["control_response"] = "control_response"


class Result(msgspec.Struct):
    result: str


permission = msgspec.json.Decoder(Permission).decode
encode = msgspec.json.Encoder().encode


@contextmanager
def started(cli: str) -> Iterator[tuple[int, int]]:
    """Start the CLI; give the file descriptors of its stdin and stdout."""
    with subprocess.Popen([cli], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdin.fileno(), process.stdout.fileno()
        process.stdin.close()


async def allow(request: Permission.Body) -> Allow:
    return Allow(request.input)


def answer(request: Permission, decision: Allow) -> bytes:
    return encode(Answer(Success(request.request_id, decision))) + b"\n"


async def turn(stdin: int, stdout: int, prompt: str, take: Callable[[bytes], object]) -> bytes:
    """Have a turn; give each line to a function; return the result."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bytes] = loop.create_future()
    rest = b""

    def readable() -> None:
        nonlocal rest
        *lines, rest = (rest + os.read(stdout, 1 << 16)).split(b"\n")
        for line in lines:
            if line.startswith(RESULT):
                done.set_result(line)
            else:
                take(line)

    loop.add_reader(stdout, readable)
    os.write(stdin, PROMPT % prompt.encode())
    try:
        return await done
    finally:
        loop.remove_reader(stdout)


def result_of(line: bytes) -> str:
    return msgspec.json.decode(line, type=Result).result


def permissions(cli: str, way: str, count: int) -> Figures:
    """Permissions with one task for each handler, or with none (`inline`)."""

    async def session(stdin: int, stdout: int) -> str:
        tasks = set()

        async def serve(request: Permission) -> None:
            os.write(stdin, answer(request, await allow(request.request)))

        def take(line: bytes) -> None:
            if not line.startswith(b'{"type":"control_request"'):
                return
            request = permission(line)
            if way == "inline":
                os.write(stdin, answer(request, Allow(request.request.input)))
                return
            task = asyncio.create_task(serve(request))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        await turn(stdin, stdout, f"permissions {count // 10 + 1}", take)
        return result_of(await turn(stdin, stdout, f"permissions {count}", take))

    with started(cli) as (stdin, stdout):
        return round_trips(asyncio.run(session(stdin, stdout)))


def stream(cli: str, way: str, times: int) -> Figures:
    """A long turn, each line decoded into the same types as ours, or only read (`unread`)."""
    take = codec.first_pass if way == "typed" else len

    async def session(stdin: int, stdout: int) -> float:
        await turn(stdin, stdout, f"stream {times}", take)
        began = time.perf_counter()
        await turn(stdin, stdout, f"stream {times}", take)
        return time.perf_counter() - began

    with started(cli) as (stdin, stdout):
        return {"turn": asyncio.run(session(stdin, stdout))}


if __name__ == "__main__":
    main({"permissions": permissions, "stream": stream})
