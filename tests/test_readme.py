"""The snippets of the README do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"
SNIPPETS = re.findall(
    r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)

EXPECTED = [
    [
        '"content":"List the files"',
        '"behavior":"allow"',
        "1",
        "Noise(head=b'Debugger attached.'",
        "False",
    ],
    ["It is Monday, and sunny."],
]


def test_every_snippet_has_an_expectation() -> None:
    assert len(SNIPPETS) == len(EXPECTED)


@pytest.mark.parametrize(("snippet", "expected"), [*zip(SNIPPETS, EXPECTED, strict=True)])
def test_a_snippet_prints_what_it_should(snippet: str, expected: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", snippet], capture_output=True, encoding="utf-8", timeout=30
    )
    assert done.stderr == ""
    lines = [line for line in done.stdout.splitlines() if line]
    assert len(lines) == len(expected)
    for line, part in zip(lines, expected, strict=True):
        assert part in line
