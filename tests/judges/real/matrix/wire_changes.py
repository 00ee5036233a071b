"""The changes on the wire between two versions: messages, fields, and their order.

It compares recordings of the same two conversations: one with hooks, thinking and a tool, streamed;
the other with a question, an in-process server, changes of model and mode, and an error of the API.
The recordings of the table's versions are in tests/product/recordings; others are made on demand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from tests.helpers.real_clis import ROOT
from tests.judges.real.cases import Case
from tests.judges.real.make_recordings import FOLDER, TALK, WORK, record_case
from tests.judges.real.shapes import Line, shape

from claudewire.recordings import Recording
from claudewire.wire import parse_version

from .behaviour import VERSIONS

PRIVATE = ROOT / ".tools" / "matrix" / "recordings"
"""Where recordings are of versions that are not in the table."""

CONVERSATIONS: dict[str, Case] = {"talk": TALK, "work": WORK}


def place(version: str, conversation: str) -> Path:
    """Where a recording is, or will be."""
    folder = FOLDER if version in VERSIONS else PRIVATE
    return folder / f"{version}-{conversation}.jsonl"


async def record_all(versions: Sequence[str]) -> None:
    """Record the conversations with these versions, in a cage, without traces of this machine."""
    PRIVATE.mkdir(parents=True, exist_ok=True)
    for version in versions:
        for name, case in CONVERSATIONS.items():
            await record_case(version, case, place(version, name))


def nearest(version: str) -> str:
    """The version of the table before this one, or the oldest."""
    older = [it for it in VERSIONS if parse_version(it) < parse_version(version)]
    return older[-1] if older else VERSIONS[0]


def compare(old: str, new: str) -> str:
    """Report the changes from one version to another."""
    parts = [f"# The wire: from {old} to {new}"]
    for name in CONVERSATIONS:
        parts += ["", f"## {name}", *_changes(lines(old, name), lines(new, name))]
    return "\n".join(parts)


def lines(version: str, conversation: str) -> list[Line]:
    """The lines of a recorded conversation that the CLI wrote.

    Raises:
        SystemExit: it was not recorded.
    """
    path = place(version, conversation)
    if not path.exists():
        raise SystemExit(
            f"There is no recording of {version}; scripts/matrix --version {version} makes one"
        )
    return shape(Recording.load(path).messages())


def _changes(old: list[Line], new: list[Line]) -> Iterator[str]:
    changes = [*_kinds(old, new), *_fields(old, new), *_order(old, new)]
    yield from changes or ["Nothing has changed."]


def _kinds(old: list[Line], new: list[Line]) -> Iterator[str]:
    before, after = {line.kind for line in old}, {line.kind for line in new}
    yield from (f"+ message {kind}" for kind in sorted(after - before))
    yield from (f"- message {kind}" for kind in sorted(before - after))


def _fields(old: list[Line], new: list[Line]) -> Iterator[str]:
    before, after = _keys(old), _keys(new)
    for kind in sorted(before.keys() & after.keys()):
        for field in sorted(after[kind].keys() - before[kind].keys()):
            declared = "" if after[kind][field] else " (not declared in claudewire.wire)"
            yield f"+ field {kind}: {field}{declared}"
        for field in sorted(before[kind].keys() - after[kind].keys()):
            yield f"- field {kind}: {field}"


def _keys(lines: list[Line]) -> dict[str, dict[str, bool]]:
    """The fields of each kind of line, and whether they are declared."""
    found: dict[str, dict[str, bool]] = {}
    for line in lines:
        fields = found.setdefault(line.kind, {})
        fields |= dict.fromkeys(line.keys, True)
        fields |= dict.fromkeys(line.undeclared, False)
    return found


def _order(old: list[Line], new: list[Line]) -> Iterator[str]:
    """Report the kinds of both versions that moved or changed in number."""
    both = {line.kind for line in old} & {line.kind for line in new}
    before, after = ([line.kind for line in it if line.kind in both] for it in (old, new))
    for tag, at, to, from_, until in SequenceMatcher(None, before, after, False).get_opcodes():
        if tag != "equal":
            was, is_now = before[at:to], after[from_:until]
            behind = before[at - 1] if at else "the beginning"
            yield f"~ order after {behind}: {_listed(was)} → {_listed(is_now)}"


def _listed(kinds: Sequence[str]) -> str:
    return ", ".join(kinds) or "nothing"
