"""Compare an output with a file in `tests/snapshots`.

There are at most 30 of them, and a person has read each. After an intended change:
    scripts/test --write-snapshots -k NAME_OF_THE_TEST
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "snapshots"

Snapshot = Callable[[str, str], None]
"""Compares a text with the file of this name."""

_RANDOM = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\b(msg|req|toolu)_[0-9a-f]{24}\b"), r"<\1>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), "<time>"),
]


def without_random_parts(text: str) -> str:
    for pattern, name in _RANDOM:
        text = pattern.sub(name, text)
    return text


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    write = bool(request.config.getoption("write_snapshots"))

    def compare(name: str, text: str) -> None:
        path, text = FOLDER / name, without_random_parts(text)
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare
