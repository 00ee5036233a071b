"""What these commands print with `--json`, as types. The schemas in `../schemas` follow from them.

Fields are only ever added, and `version` is counted up if one changes its meaning.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import msgspec

__all__ = [
    "DiffReport",
    "FieldDifference",
    "FindingItem",
    "KindDifference",
    "LatencyDifference",
    "LatencyItem",
    "LineDifference",
    "LineItem",
    "LintReport",
    "ShowReport",
    "ValueDifference",
    "print_json",
]

Direction = Literal[">", "<", "!"]


class _Item(msgspec.Struct, frozen=True):
    """Anything that is printed as JSON."""


class FindingItem(_Item, frozen=True, kw_only=True):
    """Something that the linter says about a line.

    Attributes:
        line: the line of the file, counted from 1.
        severity: how bad it is.
        code: the name of the rule.
        message: what is the matter.
        advice: what to do about it.
        path: where in the line.
        dialect: the dialect that the line is written in, if it is not the modern one.
    """

    line: int
    severity: Literal["error", "outdated", "suspicious", "info"]
    code: str
    message: str
    advice: str = ""
    path: str | None = None
    dialect: str | None = None


class LintReport(_Item, frozen=True, kw_only=True):
    """All that the linter says about a file."""

    version: Literal[1] = 1
    file: str
    findings: list[FindingItem]


class LineItem(_Item, frozen=True, kw_only=True):
    """One line of a recording.

    Attributes:
        line: the line of the file, counted from 1.
        seconds: since the start.
        direction: `>` to the CLI, `<` from it, `!` its stderr; null for its exit.
        kind: message, request, answer, failure, cancel, bad line, stderr, end or exit.
        name: the type of the message or request.
        summary: what it says, in one line.
        id: the id of the request which it is, answers or cancels.
        answers: the line of what this line answers or ends.
        took: the seconds since that line.
        text: the line itself; null for an end and for the exit.
        findings: the codes of what the linter says.
    """

    line: int
    seconds: float
    direction: Direction | None
    kind: str
    name: str
    summary: str
    id: str | None = None
    answers: int | None = None
    took: float | None = None
    text: str | None = None
    findings: list[str] = []


class LatencyItem(_Item, frozen=True, kw_only=True):
    """How long exchanges with one name took, in seconds."""

    kind: Literal["turn", "request", "tool"]
    name: str
    by: Direction
    count: int
    unanswered: int
    median: float | None
    longest: float | None


class ShowReport(_Item, frozen=True, kw_only=True):
    """A recording, line by line."""

    version: Literal[1] = 1
    file: str
    header: dict[str, Any]
    seconds: float
    lines: list[LineItem]
    latencies: list[LatencyItem]


class FieldDifference(_Item, frozen=True, kw_only=True):
    """A field that is new, gone or of another type; no types mean that it is not there."""

    path: str
    before: list[str]
    after: list[str]


class KindDifference(_Item, frozen=True, kw_only=True):
    """A kind of line: how many there are in both files, and which of its fields differ."""

    direction: Direction | None
    kind: str
    name: str
    before: int
    after: int
    fields: list[FieldDifference]


class ValueDifference(_Item, frozen=True, kw_only=True):
    """A value that differs, as JSON in both files; null if it is not there."""

    path: str
    before: str | None
    after: str | None


class LineDifference(_Item, frozen=True, kw_only=True):
    """A line that only one file has (the other is null), or that has other values."""

    direction: Direction | None
    kind: str
    name: str
    before: int | None
    after: int | None
    summary: str
    values: list[ValueDifference]


class LatencyDifference(_Item, frozen=True, kw_only=True):
    """How long exchanges with one name took, by the median in seconds."""

    kind: Literal["turn", "request", "tool"]
    name: str
    by: Direction
    before: float | None
    after: float | None


class DiffReport(_Item, frozen=True, kw_only=True):
    """How two recordings differ."""

    version: Literal[1] = 1
    before: str
    after: str
    same: bool
    kinds: list[KindDifference]
    lines: list[LineDifference]
    latencies: list[LatencyDifference]


def print_json(report: Any) -> None:
    """Print a report to stdout, formatted. What is not UTF-8 in it is replaced."""
    encoded = msgspec.json.encode(_clean(msgspec.to_builtins(report)))
    sys.stdout.write(msgspec.json.format(encoded, indent=2).decode() + "\n")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(name): _clean(inner) for name, inner in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value
