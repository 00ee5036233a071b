"""What is said when an application sends other lines than were recorded: see helpers/kept.py."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from typing import Any

import anyio
import pytest
from tests.helpers.kept import Kept

from claudewire.transport import Recording, ReplayMismatch, ReplayTransport, ReplayUnfinished
from claudewire.transport.replay import Match

SOON = 60.0
LONG = "".join(f"{number:03}, " for number in range(60))
UUID = "11111111-1111-4111-8111-11111111111"

PAIRS: Sequence[tuple[Any, Any]] = [
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"a": True}),
    ({"a": 1}, {"b": 1}),
    ({"a": None, "b": "", "c": 0}, {"d": False}),
    ({"a": [1, {"b": 2}, 3]}, {"a": [1, {"b": 5}]}),
    ({"a": [1, 2]}, {"a": {"b": 1}}),
    ({"a": LONG}, {"a": "x" + LONG}),
    ({"a": LONG}, {"a": LONG[:200]}),
    ({"a": LONG}, {"a": f"{LONG[:150]}x{LONG[151:]}"}),
    ({"a": LONG[:158]}, {"a": LONG[:157] + "x"}),
    ({"a": LONG[:159]}, {"a": LONG[:158] + "x"}),
    ({"a": LONG}, {"b": 1}),
    ({"uuid": f"{UUID}1", "a": f"see {UUID}1"}, {"uuid": f"{UUID}2", "a": f"see {UUID}2"}),
    ({"uuid": f"{UUID}1", "request_id": f"{UUID}1"}, {"uuid": f"{UUID}2", "request_id": "r"}),
    ({"uuid": "u1", "session_id": "u2"}, {"uuid": "u3", "session_id": "u3"}),
    ({"uuid": "u1"}, {"uuid": ""}),
    ({"uuid": "theirs"}, {"uuid": "ours"}),
    ({"uuid": "u1"}, {"uuid": "theirs"}),
    ({"a": "<secret-1> and <secret-2>"}, {"a": "<secret-2> and <secret-3>"}),
    ("words", "other words"),
    ('{"b": "a\ttab", "a": "é"}', '{"b": "another\ttab", "a": "é"}'),
    ({"a": f"see {UUID}1"}, {"a": f"see {UUID}2"}),
    ([LONG + "1", LONG + "3"], [LONG + "2", LONG + "3"]),
    ([LONG + "3", LONG + "1"], [LONG + "3", LONG + "2"]),
]


def written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


async def told(then: Any, now: Any, match: Match) -> str:
    """Play a conversation of two lines that differ, and one that the CLI says before them."""
    lines: list[dict[str, Any]] = [
        {"claudewire": 1},
        {"dir": "<", "line": '{"uuid": "theirs"}'},
        {"dir": ">", "line": written(then)},
        {"dir": "<", "line": written(then)},
        {"dir": ">", "line": '{"end": 1}'},
    ]
    transport = ReplayTransport(Recording.load(map(json.dumps, lines)), match=match)
    try:
        with anyio.fail_after(SOON):
            await transport.receive()
            await transport.send(written(now).encode() + b"\n")
            answer = await transport.receive()
            await transport.aclose()
            transport.finish()
    except ReplayMismatch as error:
        return f"{error.path}: {error}"
    except ReplayUnfinished as error:
        return f"{answer.decode()}{error}"
    return answer.decode()


@pytest.mark.anyio
async def test_what_is_said_of_a_mismatch_is_as_it_was(kept: Kept) -> None:
    ways: Sequence[Match] = ("strict", "loose", "none")
    cases = [
        f"--- {match} {written(then)[:60]} {written(now)[:60]}\n{await told(then, now, match)}\n"
        for (then, now), match in product(PAIRS, ways)
    ]
    kept("mismatches.txt", "".join(cases))
