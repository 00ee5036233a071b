"""What lint says of every documented line, in whole sentences: no word changes unnoticed.

`whole/findings.txt` has the sentences: see tests/helpers/kept.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance import examples
from tests.helpers.kept import Kept

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
