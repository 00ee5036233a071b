"""The longest stall of the event loop while a CLI floods it.

Beside each session a task wakes every millisecond, and notes the processor time of this process
between two of its rounds: for that time everything else in the event loop had to wait.
"""

from __future__ import annotations

import json
import logging
import shlex
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import anyio

import claudewire
from claudewire.policy import Policy

from .driving import Figures, main

TICK = 0.001
LIMIT = 0.05
"""Seconds that a stall may last."""

FAKE_CLI = Path(__file__).with_name("fake_cli.py")


class Flood(NamedTuple):
    """The output of the CLI in one turn, and the options of the session."""

    lines: Callable[[int], Iterator[dict[str, Any] | bytes]]
    """Makes the lines; a request among them must be answered before the turn ends."""
    options: Mapping[str, Any] = MappingProxyType({})


# --- the output of the CLI -----------------------------------------------------------------------


def assistant(*content: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "model": "claude-sonnet-4-5", "content": list(content)}
    return {"type": "assistant", "message": message, "session_id": "s", "uuid": "u"}


def permission(number: int, **input: Any) -> dict[str, Any]:
    body = {"subtype": "can_use_tool", "tool_name": "Bash", "input": input}
    request = body | {"tool_use_id": f"toolu_{number}"}
    return {"type": "control_request", "request_id": f"ask-{number}", "request": request}


def permissions(count: int) -> Iterator[dict[str, Any]]:
    return (permission(number, command="git status") for number in range(count // 12))


def long_commands(count: int) -> Iterator[dict[str, Any]]:
    return (permission(number, command="xargs " * 1600) for number in range(20))


def long_text(count: int) -> Iterator[dict[str, Any]]:
    yield assistant({"type": "text", "text": "lorem ipsum 0123456789 " * (count * 72)})


def long_list(count: int) -> Iterator[dict[str, Any]]:
    yield assistant(*({"type": "text", "text": f"block {n}"} for n in range(count * 8)))


def noise(count: int) -> Iterator[bytes]:
    return (b"Debugger attached." for _ in range(count * 8))


def deltas(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count * 7):
        delta = {"type": "text_delta", "text": f"word {number} "}
        event = {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "stream_event", "event": event, "session_id": "s", "uuid": "u"}


# --- the application -----------------------------------------------------------------------------

POLICY = Policy(
    allow=["Bash(git status:*)", "Bash(cat:*)", "Read"],
    deny=["Bash(*curl*|*sh*-c*)", "Bash(rm:*)", "Read(~/.ssh/**)", "Read(**/a/**/a/**/c*d*e*f)"],
)


async def allow(request: Any) -> Any:
    return request.allow()


FLOODS: dict[str, Flood] = {
    "1,000 permissions": Flood(permissions, {"on_permission": allow}),
    "commands of 10 KB": Flood(long_commands, {"policy": POLICY}),
    "a line of 20 MB": Flood(long_text),
    "a message of 96,000 blocks": Flood(long_list),
    "96,000 invalid lines": Flood(noise),
    "84,000 pieces of text": Flood(deltas),
}


# --- measuring -----------------------------------------------------------------------------------


class Heartbeat:
    """Notes the longest stall, in seconds of this process's processor time."""

    longest = 0.0

    async def run(self) -> None:
        used = time.process_time()
        while True:
            await anyio.sleep(TICK)
            before, used = used, time.process_time()
            self.longest = max(self.longest, used - before)


@asynccontextmanager
async def opened(flood: Flood, folder: Path) -> AsyncIterator[claudewire.Session]:
    words = [sys.executable, "-I", "-S", str(FAKE_CLI), str(folder)]
    cli = folder / "cli"
    cli.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    cli.chmod(0o700)
    async with claudewire.open(cli=str(cli), **flood.options) as claude:
        yield claude


async def under(flood: Flood, count: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = list(flood.lines(count))
        whole = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
        (folder / "flood.jsonl").write_bytes(b"\n".join(whole) + b"\n")
        asked = sum(b'"control_request"' in line[:40] for line in whole)
        del lines, whole
        heart = Heartbeat()
        async with anyio.create_task_group() as group:
            async with opened(flood, folder) as claude:
                await claude.send("nothing")
                group.start_soon(heart.run)
                await anyio.sleep(0.01)
                heart.longest = 0.0
                await claude.send(f"flood {asked}")
            group.cancel_scope.cancel()
        return heart.longest


def longest(cli: str, count: int) -> Figures:
    """The longest stall under each flood."""
    logging.getLogger("claudewire").addHandler(logging.NullHandler())
    logging.getLogger("claudewire").propagate = False
    stalls = {name: anyio.run(under, flood, count) for name, flood in FLOODS.items()}
    return {"50 ms": LIMIT, "longest": max(stalls.values()), **stalls}


if __name__ == "__main__":
    main({"longest": longest})
