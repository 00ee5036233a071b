"""Whole outputs, compared with files beside the tests: nothing changes unnoticed.

A test asks for the fixture `kept` and calls it with the name of a file and the text that it should
have. The files are in the folder `whole` beside the test. After a change on purpose, write them
anew and read the difference:
    scripts/test --write-kept tests/simulator/test_whole_conversations.py
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Kept = Callable[[str, str], None]
"""Compares a text with the file of this name."""

VARYING = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\b(msg|req|toolu)_[0-9a-f]{24}\b"), r"<\1>"),
    (re.compile(r"\ba[0-9a-f]{16}\b"), "<agent>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}\b"), "<run>"),
    (re.compile(r'("task_id": ?")[0-9a-f]{8}"'), r'\1<task>"'),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), "<time>"),
    (re.compile(r'("since": ?)[\d.]+'), r"\g<1>0"),
    (re.compile(r"/projects/[\w-]+"), "/projects/<project>"),
    (
        re.compile(r'("(?:pid|request_sent_wall_ms|end_time|totalDuration|startTime)": ?)\d+'),
        r"\g<1>0",
    ),
]
"""What is random or depends on the machine."""

SPENT = re.compile(
    r'(\\?"(?:output_tokens|outputTokens|total_tokens|total_cost_usd|costUSD)\\?": ?)[\d.e-]+'
)
"""What depends on how long the paths of this machine are: the simulated CLI counts characters."""


def normal(text: str, **places: object) -> str:
    """Return the text without what differs from run to run; each place by its name."""
    for name, place in places.items():
        text = text.replace(str(place), f"<{name}>")
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text


def compact(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def compare(path: Path, now: str, *, write: bool) -> None:
    """Compare a text with a file, or write the file."""
    now = now.encode("utf-8", "backslashreplace").decode()
    if write:
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
        return
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    now, before = (SPENT.sub(r"\g<1>0", text) for text in (now, before))
    if now != before:  # most often it is the same, and then it costs nothing
        raise AssertionError(f"{path.name} is not as it was:\n{difference(before, now)}")


def difference(before: str, now: str) -> str:
    """Return what has changed, line by line, and of long lines the place."""
    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), "kept", "now", "", "", 0)
    shown: list[str] = []
    for line in list(lines)[2:]:
        if line.startswith("+") and shown and shown[-1].startswith("-"):
            at = _first_difference(shown[-1][1:], line[1:])
            shown[-1], line = _around(shown[-1], at), _around(line, at)
        shown.append(line)
    return "\n".join(line[:LONGEST] for line in shown[:MOST])


LONGEST, MOST = 400, 60


def _first_difference(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _around(line: str, at: int) -> str:
    return f"{line[0]}…{line[1:][at - 100 :]}" if at > 200 else line
