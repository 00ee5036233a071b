"""Compares transcripts after normalising ids, times, counts and places."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from .shapes import Difference

Entry = dict[str, Any]

NOT_KEPT = frozenset(
    {"agent-name", "api-request", "api-request-blob", "api-request-shape", "atis-latch", "mode"}
    | {"queue-operation", "tools-used"}
)
"""Lines about the requests to the API, and notes of the real CLI about its own work."""

LAST = ("cost-state", "last-prompt")
"""Lines that the CLI repeats; only the last one counts."""

_COUNTED = re.compile(r"(?i)tokens|cost|duration|time|Ms$|count|lines|usage|cache_|_requests")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ID = re.compile(rf"{_UUID.pattern}|\b(?:toolu|msg|req)_\w+|\ba[0-9a-f]{{16}}\b")
_NUMBERS = re.compile(r"(tokens|uses|duration_ms): \d+")


def transcripts(config: Path, cwd: str) -> list[Entry]:
    """All entries that are kept below a CLI's own folder, made comparable."""
    files = sorted(config.glob("projects/*/*.jsonl"), key=lambda it: it.stat().st_mtime_ns)
    files += sorted(config.glob("projects/*/*/subagents/*"))
    ids: dict[str, str] = {}
    found = []
    for file in files:
        entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        place = file.suffix if "subagents" in file.parts else ""
        folder = re.sub(r"[^A-Za-z0-9]", "-", cwd)
        kept = list(_essential(entries))
        found += [_alike({"file": place, **it}, ids, (cwd, folder, str(config))) for it in kept]
    return found


def _essential(entries: list[Entry]) -> Iterator[Entry]:
    """Leave out lines that are not compared, and relink the others."""
    parents = {it["uuid"]: it.get("parentUuid") for it in entries if _is_told(it)}
    for entry in entries:
        if entry.get("type") in NOT_KEPT or entry.get("type") in LAST or _is_told(entry):
            continue
        for link in ("parentUuid", "logicalParentUuid"):
            while entry.get(link) in parents:
                entry[link] = parents[entry[link]]
        entry.pop("requestRef", None)  # it refers to a line about the API
        yield entry
    for kind in LAST:
        last = [it for it in entries if it.get("type") == kind]
        if last:
            kept = ("lastPrompt", "sessionId", "totalCostUSD", "type")
            yield {key: value for key, value in last[-1].items() if key in kept}


def _is_told(entry: Entry) -> bool:
    """Return whether a line is a remark of the real CLI to its model."""
    return entry.get("type") == "attachment" or entry.get("subtype") == "stop_hook_summary"


def _alike(entry: Entry, ids: dict[str, str], places: Iterable[str]) -> Entry:
    def change(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: change(name, value[name]) for name in sorted(value)}
        if isinstance(value, list):
            return [change(key, it) for it in value]
        if key == "signature":
            return "S"
        if isinstance(value, str) and key != "timestamp":
            for place in places:
                value = value.replace(place, "PLACE")
            value = _NUMBERS.sub(r"\1: N", value)
            return _ID.sub(lambda found: ids.setdefault(found[0], f"id-{len(ids)}"), value)
        counts = _COUNTED.search(key) or isinstance(value, float)
        return "N" if counts and not isinstance(value, bool) and value is not None else value

    alike: Entry = change("", entry)
    return alike


def transcript_differences(real: list[Entry], simulated: list[Entry]) -> set[Difference]:
    """Say which entries, and which values in them, only one of two transcripts has."""
    kinds = [_kind(it) for it in real], [_kind(it) for it in simulated]
    found: set[Difference] = set()
    for tag, at, to, from_, until in SequenceMatcher(None, *kinds, autojunk=False).get_opcodes():
        if tag == "equal":
            for one, other in zip(real[at:to], simulated[from_:until], strict=True):
                found |= set(_differing(_kind(one), one, other))
        else:
            found |= {(_kind(it), "real", "") for it in real[at:to]}
            found |= {(_kind(it), "simulated", "") for it in simulated[from_:until]}
    return found


def _kind(entry: Entry) -> str:
    kind = entry.get("type") or entry["file"]
    more = entry.get("subtype") or entry.get("operation") or entry.get("attachment", {}).get("type")
    return f"transcript/{kind}/{more}" if more else f"transcript/{kind}"


def _differing(kind: str, one: Any, other: Any, path: str = "") -> Iterator[Difference]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            where = f"{path}.{key}".lstrip(".")
            if key in one and key in other:
                yield from _differing(kind, one[key], other[key], where)
            else:
                yield kind, "real" if key in one else "simulated", where
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for left, right in zip(one, other, strict=True):
            yield from _differing(kind, left, right, f"{path}[]")
    elif one != other:
        yield kind, "both", path
