"""The changes on the wire between two versions, as `claudewire diff` prints them.

It compares recordings of the same two conversations: one with hooks, thinking and a tool, streamed;
the other with a question, an in-process server, changes of model and mode, and an error of the API.
The recordings of the table's versions are in tests/product/recordings; others are made on demand.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.helpers.real_clis import ROOT
from tests.judges.real.cases import Case
from tests.judges.real.make_recordings import FOLDER, TALK, WORK, record_case
from tests.judges.real.shapes import shape

from claudewire.recordings import Recording
from claudewire.wire import UnexpectedMessage, parse_version

from .behaviour import VERSIONS

PRIVATE = ROOT / ".tools" / "matrix" / "recordings"
"""The folder for recordings of versions that are not in the table."""

CONVERSATIONS: dict[str, Case] = {"talk": TALK, "work": WORK}


def place(version: str, conversation: str) -> Path:
    """Return the path of a recording."""
    folder = FOLDER if version in VERSIONS else PRIVATE
    return folder / f"{version}-{conversation}.jsonl"


async def record_all(versions: Sequence[str]) -> None:
    """Record the conversations with these versions, in a cage, without traces of this machine."""
    PRIVATE.mkdir(parents=True, exist_ok=True)
    for version in versions:
        for name, case in CONVERSATIONS.items():
            await record_case(version, case, place(version, name))


def nearest(version: str) -> str:
    """Return the version of the table before this one, or the oldest."""
    older = [it for it in VERSIONS if parse_version(it) < parse_version(version)]
    return older[-1] if older else VERSIONS[0]


def compare(old: str, new: str) -> str:
    """Report the changes from one version to another."""
    parts = [f"# The wire: from {old} to {new}"]
    for name in CONVERSATIONS:
        command = [sys.executable, "-m", "claudewire", "diff"]
        files = [str(place(version, name)) for version in (old, new)]
        done = subprocess.run([*command, *files], capture_output=True, encoding="utf-8")
        parts += ["", f"## {name}", done.stdout.rstrip() or done.stderr.rstrip()]
    return "\n".join(parts)


def undeclared(version: str) -> Iterator[str]:
    """Yield the recorded fields of a version that `claudewire.wire` does not declare."""
    for name in CONVERSATIONS:
        events = Recording.load(place(version, name)).messages()
        for line in shape(it for it in events if not isinstance(it, UnexpectedMessage)):
            yield from (f"{line.kind}: {key}" for key in line.undeclared)
