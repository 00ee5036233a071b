"""The longest stall of the event loop while a CLI floods it, or sends what was made to take long.

Beside each session a task wakes every millisecond, and notes the most processor time that this
process has used between two of its rounds. That is how long everything else in the same event loop
had to wait: for this thread, and for others that did not let it run. What other programs do does
not count. The time by the clock is noted too; it tells something on a machine that does nothing
else.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
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
from claudewire.transport import Launch, RecordingTransport, spawn

from .driving import Figures, main
from .table import BY_THE_CLOCK

TICK = 0.001
SERVED_AT_ONCE = 1000
"""How many requests a session serves at the same time."""
LIMIT = 0.05
"""Seconds that a stall may last."""

COUNT = 12_000
FAKE_CLI = Path(__file__).with_name("fake_cli.py")


class Flood(NamedTuple):
    """What the CLI writes in one turn, and what the application does."""

    lines: Callable[[int], Iterator[dict[str, Any] | bytes]]
    """Makes them; a request among them is to be answered before the turn ends."""
    options: Mapping[str, Any] = MappingProxyType({})
    recorded: bool = False


# --- what the CLI writes -------------------------------------------------------------------------


def assistant(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "model": "claude-sonnet-4-5", "content": list(content)}
    return {"type": "assistant", "message": message, "session_id": "s", "uuid": "u", **more}


def text(value: str) -> dict[str, Any]:
    return assistant({"type": "text", "text": value})


def system(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, "session_id": "s", "uuid": "u", **fields}


def asking(number: int, request: dict[str, Any]) -> dict[str, Any]:
    return {"type": "control_request", "request_id": f"ask-{number}", "request": request}


def permission(number: int, tool: str = "Bash", **input: Any) -> dict[str, Any]:
    body = {"subtype": "can_use_tool", "tool_name": tool, "input": input}
    return asking(number, body | {"tool_use_id": f"toolu_{number}"})


def permissions(count: int) -> Iterator[dict[str, Any]]:
    return (permission(number, command="git status") for number in range(count))


def withdrawn(count: int) -> Iterator[dict[str, Any]]:
    yield from permissions(count)
    for number in range(count):
        yield {"type": "control_cancel_request", "request_id": f"ask-{number}"}


def commands(command: str) -> Callable[[int], Iterator[dict[str, Any]]]:
    return lambda count: (permission(number, command=command) for number in range(20))


def paths(path: str) -> Callable[[int], Iterator[dict[str, Any]]]:
    return lambda count: (permission(number, "Read", file_path=path) for number in range(20))


def large_edit(count: int) -> Iterator[dict[str, Any]]:
    new = "".join(f"line {number:06}\n" for number in range(count * 50 // 3))
    yield permission(0, "Edit", file_path="/tmp/a", old_string=new[::-1], new_string=new)


def suggestions(count: int) -> Iterator[dict[str, Any]]:
    rule = {"toolName": "Bash", "ruleContent": "git status:*"}
    update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
    request = permission(0, command="git status")
    request["request"]["permission_suggestions"] = [update] * count
    yield request


def hooks(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        input = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}
        body = {"subtype": "hook_callback", "callback_id": "hook_0", "input": input}
        yield asking(number, body)


def unknown_requests(count: int) -> Iterator[dict[str, Any]]:
    return (asking(number, {"subtype": "make_tea"}) for number in range(count))


def tool_calls(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/list"}
        body = {"subtype": "mcp_message", "server_name": "calc", "message": message}
        yield asking(number, body)


def agents(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "Task", "input": {}}
        yield assistant(use)
    for number in range(count):
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "done"}
        message = {"role": "user", "content": [result]}
        yield {"type": "user", "message": message, "session_id": "s", "uuid": "u"}


def tasks(count: int) -> Iterator[dict[str, Any]]:
    ids = [f"task-{number}" for number in range(count)]
    for id in ids:
        yield system("task_started", task_id=id, tool_use_id=f"toolu_{id}", description="x")
    for id in ids:
        yield system("task_progress", task_id=id, tool_use_id=f"toolu_{id}", description="y")
    for id in ids:
        yield system("task_notification", task_id=id, status="completed", summary="z")


def task_lists(count: int) -> Iterator[dict[str, Any]]:
    items = [{"task_id": f"t{number}", "task_type": "local_bash"} for number in range(count)]
    yield system("background_tasks_changed", tasks=items)
    yield system("background_tasks_changed", tasks=[])


def renamed_tasks(count: int) -> Iterator[dict[str, Any]]:
    yield from list(agents(count))[:count]
    for number in range(count):
        yield system("task_started", task_id=f"a{number}", tool_use_id=f"toolu_{number}")


def secrets(count: int) -> Iterator[dict[str, Any]]:
    words = (f"API_KEY_{number}=abc{number:032d}" for number in range(800))
    yield text("\n".join(words))
    yield assistant(*({"type": "text", "text": f"password: hunter{n:020d}"} for n in range(800)))


def long_text(count: int) -> Iterator[dict[str, Any]]:
    yield text("lorem ipsum dolor sit amet 0123456789 " * (count * 1_667 // 38))


def long_image(count: int) -> Iterator[dict[str, Any]]:
    yield text("iVBORw0KGgoAAAANSUhEUgAAA+b/c" * (count * 1_667 // 29))


def long_list(count: int) -> Iterator[dict[str, Any]]:
    yield assistant(*({"type": "text", "text": f"block {n}"} for n in range(count * 8)))


def many_results(count: int) -> Iterator[dict[str, Any]]:
    denial = {"tool_name": "Bash", "tool_use_id": "toolu", "tool_input": {"command": "x"}}
    yield system("init", tools=[f"tool{n}" for n in range(count)], cwd="/", model="m")
    yield {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1,
           "duration_ms": 1, "duration_api_ms": 1, "session_id": "s", "result": "done",
           "total_cost_usd": 0.0, "usage": {"input_tokens": 1, "output_tokens": 1},
           "permission_denials": [denial] * count}  # fmt: skip


def noise(count: int) -> Iterator[bytes]:
    return (b"Debugger attached." for _ in range(count * 8))


def nested(count: int) -> Iterator[bytes]:
    yield b"[" * (count * 8)
    yield b'{"type":"assistant","message":' + b'{"a":' * (count * 8)
    yield b'{"type":"system","subtype":"status","n":' + b"9" * (count * 80) + b"}"


def deltas(count: int) -> Iterator[dict[str, Any]]:
    def event(**fields: Any) -> dict[str, Any]:
        return {"type": "stream_event", "event": fields, "session_id": "s", "uuid": "u"}

    yield event(type="message_start", message={"role": "assistant", "content": []})
    yield event(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
    for number in range(count * 7):
        delta = {"type": "text_delta", "text": f"word {number} "}
        yield event(type="content_block_delta", index=0, delta=delta)
    yield event(type="content_block_stop", index=0)
    yield event(type="message_stop")


# --- what the application does -------------------------------------------------------------------

POLICY = Policy(
    allow=["Bash(git status:*)", "Bash(cat:*)", "Read"],
    deny=["Bash(*curl*|*sh*-c*)", "Bash(rm:*)", "Read(~/.ssh/**)", "Read(**/a/**/a/**/c*d*e*f)"],
)


def allow(request: Any) -> Any:
    return request.allow()


async def allow_soon(request: Any) -> Any:
    return request.allow()


def forget(record: object) -> None:
    """Take a record of a decision."""


async def no_opinion(call: Any) -> None:
    return None


FLOODS: dict[str, Flood] = {
    "a command of 3 KB": Flood(commands("curlsh-c" * 400), {"policy": POLICY}),
    "a command of 10 KB": Flood(commands("xargs " * 1600), {"policy": POLICY}),
    "a command of 1 MB": Flood(commands("a " * 500_000), {"policy": POLICY}),
    "a path of 200 KB": Flood(paths("/a" * 100_000), {"policy": POLICY}),
    "a path of 4 KB": Flood(paths("/a" * 2000), {"policy": POLICY}),
    "permissions, a rule for each": Flood(permissions, {"policy": POLICY}),
    "permissions, async handler": Flood(permissions, {"on_permission": allow_soon}),
    "permissions, plain function": Flood(permissions, {"on_permission": allow}),
    "permissions, no handler": Flood(permissions, {}),
    "permissions, all pending": Flood(permissions, {"person": "inbox"}),
    "permissions, all withdrawn": Flood(withdrawn, {"person": "inbox"}),
    "permissions with an audit": Flood(
        permissions, {"policy": POLICY, "audit": forget, "audit_contents": True}
    ),
    "an edit of 5 MB, with an audit": Flood(
        large_edit, {"on_permission": allow_soon, "audit": forget, "audit_contents": True}
    ),
    "suggestions of one request": Flood(suggestions, {"on_permission": allow_soon}),
    "hooks": Flood(hooks, {"hooks": {"PreToolUse": [no_opinion]}}),
    "unknown requests": Flood(unknown_requests),
    "messages to tools": Flood(tool_calls, {}),
    "subagents": Flood(agents),
    "background tasks": Flood(tasks),
    "lists of tasks": Flood(task_lists),
    "subagents that get other names": Flood(renamed_tasks),
    "a recorded line with 800 secrets": Flood(secrets, recorded=True),
    "a recorded line of 20 MB": Flood(long_text, recorded=True),
    "a recorded image of 20 MB": Flood(long_image, recorded=True),
    "a line of 20 MB": Flood(long_text),
    "a message of 96,000 blocks": Flood(long_list),
    "a recorded message of 96,000 blocks": Flood(long_list, recorded=True),
    "a result with 12,000 denials": Flood(many_results),
    "96,000 lines of noise": Flood(noise),
    "nesting, and a number of 960 KB": Flood(nested),
    "84,000 pieces of text": Flood(deltas),
    "84,000 recorded pieces of text": Flood(deltas, recorded=True),
}


# --- measuring -----------------------------------------------------------------------------------


class Stall(NamedTuple):
    """How long the event loop was busy with something else."""

    used: float = 0.0
    """Processor time of this process."""
    passed: float = 0.0
    """The same by the clock, where other programs count too."""


class Heartbeat:
    """Notes the longest stall."""

    longest = Stall()

    async def run(self) -> None:
        used, passed = time.process_time(), time.perf_counter()
        while True:
            await anyio.sleep(TICK)
            before = used, passed
            used, passed = time.process_time(), time.perf_counter()
            now = used - before[0], passed - before[1] - TICK
            self.longest = Stall(*map(max, self.longest, now))


@asynccontextmanager
async def opened(flood: Flood, folder: Path) -> AsyncIterator[claudewire.Session]:
    words = [sys.executable, "-I", "-S", str(FAKE_CLI), str(folder)]
    cli = folder / "cli"
    cli.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    cli.chmod(0o700)
    options = dict(flood.options)
    if flood.recorded:
        inner = await spawn(Launch((str(cli),), env=os.environ))
        options["transport"] = RecordingTransport(inner, folder / "recording.jsonl")
    else:
        options["cli"] = str(cli)
    async with claudewire.open(**options) as claude:
        yield claude


def answering(inbox: claudewire.Inbox, count: int) -> Callable[[], None]:
    """Answer requests as soon as so many wait, some in each round of the event loop."""
    waiting = count

    def answer() -> None:
        for request in inbox.pending[:20]:
            inbox.act(request.id, "allow")
        asyncio.get_running_loop().call_later(TICK, answer)

    def note(change: Any) -> None:
        nonlocal waiting
        waiting -= change.what == "added"
        if not waiting:
            waiting = -1
            asyncio.get_running_loop().call_soon(answer)

    return inbox.on_change(note)


async def under(flood: Flood, count: int) -> Stall:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = list(flood.lines(count))
        whole = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
        (folder / "flood.jsonl").write_bytes(b"\n".join(whole) + b"\n")
        asked = sum(b'"control_request"' in line[:40] for line in whole)
        gone = sum(b'"control_cancel_request"' in line[:40] for line in whole)
        del lines, whole
        heart = Heartbeat()
        async with anyio.create_task_group() as group:
            async with opened(flood, folder) as claude:
                if flood.options.get("person") == "inbox" and not gone:
                    answering(claude.inbox, min(asked, SERVED_AT_ONCE))
                await claude.send("nothing")
                group.start_soon(heart.run)
                await anyio.sleep(0.01)
                heart.longest = Stall()
                await claude.send(f"flood {asked - gone}")
            group.cancel_scope.cancel()
        return heart.longest


def longest(cli: str, count: int) -> Figures:
    """The longest stall under each flood."""
    logging.getLogger("claudewire").addHandler(logging.NullHandler())
    logging.getLogger("claudewire").propagate = False
    stalls = {name: anyio.run(under, flood, count) for name, flood in FLOODS.items()}
    return (
        {"at most": LIMIT, BY_THE_CLOCK: max(stall.passed for stall in stalls.values())}
        | {name: stall.used for name, stall in stalls.items()}
        | {f"{name}, by the clock": stall.passed for name, stall in stalls.items()}
    )


if __name__ == "__main__":
    main({"longest": longest})
