"""What lint says of every documented line, in whole sentences: no word changes unnoticed.

`whole/findings.txt` and `whole/answers.txt` have the sentences: see tests/helpers/kept.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

from conformance import examples
from tests.helpers.kept import Kept
from tests.wire.test_lint import (
    ALLOWED,
    ASK,
    BASH,
    HELLO,
    INITIALIZE,
    INTERRUPT,
    MCP,
    NOTIFICATION,
    PROMPT,
    RESULT,
    allow,
    answer,
    can_use,
    cancel,
    deny,
    failure,
    hook,
    mcp,
    recording,
    request,
    text,
    user,
)

from claudewire.wire.lint import lint

DIRECTIONS = (">", "<", None)


def lines() -> Iterator[str]:
    for example in examples():
        line = json.dumps(example.object)
        yield line
        for direction in DIRECTIONS:
            for finding in lint(line.encode(), direction=direction):
                yield f"  {direction or '?'} {finding}"
    # All of them in one conversation, as a recording: answers meet their requests.
    spoken = [{"dir": it.direction, "line": json.dumps(it.object)} for it in examples()]
    recording = b"".join(json.dumps({"t": 0, **it}).encode() + b"\n" for it in spoken)
    yield "All of them"
    for finding in lint(recording):
        yield f"  {finding}"


def test_every_finding_is_as_it_was(kept: Kept) -> None:
    kept("findings.txt", "".join(f"{line}\n" for line in lines()))


# --- captures in any order ------------------------------------------------------------------------

UNNAMED = answer("x", {})
del UNNAMED["response"]["request_id"]
SPOKEN: dict[str, tuple[str, Any]] = {
    "init": (">", INITIALIZE),
    "init2": (">", {**INITIALIZE, "request_id": "9"}),
    "interrupt": (">", INTERRUPT),
    "prompt": (">", PROMPT),
    "prompt2": (">", user("more")),
    "allow": (">", answer("a", ALLOWED)),
    "refuse": (">", failure("a")),
    "answer": (">", answer("q", allow(updatedInput={"answers": {"0": "Red"}}))),
    "unnamed": (">", UNNAMED),
    "withdraw": (">", cancel("2")),
    "alive": (">", {"type": "keep_alive"}),
    "welcome": ("<", answer("1", {"commands": [], "pending_permission_requests": [ASK]})),
    "received": ("<", answer("2")),
    "echo": ("<", answer("a", ALLOWED)),
    "nameless": ("<", UNNAMED),
    "bash": ("<", BASH),
    "ask": ("<", ASK),
    "notify": ("<", mcp("m", NOTIFICATION)),
    "mcp": ("<", mcp("m", MCP)),
    "stop": ("<", cancel("a")),
    "hello": ("<", HELLO),
    "result": ("<", RESULT),
    "noise": ("<", "no JSON"),
    "stderr": ("!", "a warning"),
    "blank": ("<", " "),
}


def numbers(seed: int) -> Iterator[int]:
    """Yield numbers that look random and are the same with every Python."""
    while True:
        seed = (seed * 1103515245 + 12345) % 2**31
        yield seed >> 16


def captures() -> Iterator[list[str]]:
    """Yield every pair of lines, and many longer conversations."""
    yield from map(list, product(SPOKEN, repeat=2))
    chosen, names = numbers(7), list(SPOKEN)
    for _ in range(200):
        yield [names[next(chosen) % len(names)] for _ in range(3 + next(chosen) % 6)]


def capture_lines() -> Iterator[str]:
    for names in captures():
        spoken = [SPOKEN[name] for name in names]
        bare = b"\n".join(text(line).encode() for _, line in spoken)
        forms = (lint(recording(*spoken)), lint(bare), *(lint(bare, direction=it) for it in "<>"))
        told = [" ".join(f"{it.line}:{it.code}" for it in found) for found in forms]
        yield f"{' '.join(names)}\n" + "".join(f"    {line}\n" for line in dict.fromkeys(told))


def test_what_is_found_in_captures_in_any_order_is_as_it_was(kept: Kept) -> None:
    kept("captures.txt", "".join(capture_lines()))


# --- every answer to every request ----------------------------------------------------------------

ASKED: dict[str, tuple[str, Any]] = {
    "bash": ("<", BASH),
    "anything": ("<", request("a", can_use("Bash", {}))),
    "ask": ("<", ASK),
    "open question": ("<", request("q", can_use("AskUserQuestion", {}))),
    "mcp": ("<", mcp("m", MCP)),
    "notification": ("<", mcp("m", NOTIFICATION)),
    "hook": ("<", hook("h", "PreToolUse")),
    "unknown hook": ("<", hook("h", "Telepathy")),
    "interrupt": (">", INTERRUPT),
    "our mcp": (">", mcp("m", MCP)),
}
PAYLOADS: list[Any] = [
    *(None, {}, [], 5, "x", {"behavior": "perhaps"}, {"behavior": "completed"}, {"jsonrpc": "2.0"}),
    *(allow(), ALLOWED, allow(updatedInput=5), allow(toolUseID="toolu_2"), allow(updated_input={})),
    *(deny(), deny(message="no", toolUseID="toolu_2"), deny(message="no", interrupt=True)),
    *(allow(updatedInput={"answers": it}) for it in ({}, {"0": "Red"}, {"q_1": ["S", "L"]}, 5)),
    allow(updatedInput={"questions": [], "answers": {"Which color?": "Red", "Who?": "x"}}),
    allow(updatedInput={"response": "Neither."}),
    *({"mcp_response": it} for it in (None, {}, {"jsonrpc": "2.0", "id": 1, "result": {}})),
    *({"hookSpecificOutput": {"hookEventName": it}} for it in ("PreToolUse", "Stop", "Telepathy")),
    {"still_queued": []},
]


def answered() -> Iterator[tuple[str, bytes]]:
    """Yield requests with answers: right and wrong ones, without a name, twice, and alone."""
    for name, (direction, asked) in ASKED.items():
        other = "<>".replace(direction, "")
        yield f"{name}", recording((direction, asked))
        for payload in PAYLOADS:
            given = answer(asked["request_id"], payload)
            yield f"{name} {payload}", recording((direction, asked), (other, given))
        for odd in (UNNAMED, failure(asked["request_id"]), cancel(asked["request_id"])):
            yield (
                f"{name} and {odd['type']} twice",
                recording((direction, asked), (other, odd), (other, odd)),
            )
            yield f"{name} from the wrong side", recording((other, asked), (direction, odd))
    for payload in PAYLOADS:
        yield f"alone {payload}", text(answer("z", payload)).encode()


def test_what_is_said_of_every_answer_is_as_it_was(kept: Kept) -> None:
    said: dict[str, int] = {}
    lines = []
    for name, capture in answered():
        for finding in lint(capture):
            sentence = f"{finding} {finding.dialect}"
            known = f"#{said[sentence]}" if sentence in said else f"{len(said)} {sentence}"
            said.setdefault(sentence, len(said))
            lines.append(f"{name}: {known}\n")
    kept("answers.txt", "".join(lines))
