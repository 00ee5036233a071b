"""What the simulated CLI writes, whole lines of it: no field is lost or changed unnoticed.

`whole_lines.json` has the lines. After a change on purpose, write it anew and read the difference:
    scripts/env python -m tests.simulator.test_whole_lines
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.helpers.talk import Talk, allow
from tests.simulator.test_requests import ANSWERED

from claudewire.simulator import Chat, SimulatedCLI
from claudewire.wire import CanUseTool, Initialize

KEPT = Path(__file__).with_name("whole_lines.json")

VARYING = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\b(msg|req|toolu)_\w{10,}"), r"<\1>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), "<time>"),
    (re.compile(r'("\w*(?:_ms|Ms|pid|seconds)": )[\d.]+'), r"\1<number>"),
]


async def scene(chat: Chat) -> None:
    await chat.think("I look")
    await chat.use("Bash", {"command": "ls"}, result="a.txt")
    await chat.say("There is one file.")


async def lines(cwd: Path) -> dict[str, Any]:
    """Return what a CLI says in a turn, and what it answers to each request."""
    written: dict[str, Any] = {}
    for body in ANSWERED:
        talk = Talk(SimulatedCLI(scene, cwd=cwd))
        written[type(body).__name__] = (await talk.ask(body)).raw
    argv = ["--include-partial-messages", "--replay-user-messages"]
    talk = Talk(SimulatedCLI(scene, cwd=cwd, argv=argv), {CanUseTool: allow})
    await talk.ask(Initialize())
    written["a turn"] = [event.raw for event in await talk.turn("What is there?")]
    return written


def text_of(written: dict[str, Any], cwd: Path) -> str:
    text = json.dumps(written, indent=1).replace(str(cwd), "<cwd>")
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text + "\n"


@pytest.mark.anyio
async def test_every_line_is_as_it_was(tmp_path: Path) -> None:
    assert text_of(await lines(tmp_path), tmp_path) == KEPT.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        new = text_of(anyio.run(lines, Path(folder)), Path(folder))
    KEPT.write_text(new, encoding="utf-8")
