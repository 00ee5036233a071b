"""What lint says of every documented line, in whole sentences: no word changes unnoticed.

`whole_findings.txt` has the sentences. After a change on purpose, write it anew and read the
difference:
    scripts/env python -m tests.wire.test_whole_findings
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from conformance import examples

from claudewire.wire.lint import lint

KEPT = Path(__file__).with_name("whole_findings.txt")

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


def test_every_finding_is_as_it_was() -> None:
    assert list(lines()) == KEPT.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    KEPT.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
