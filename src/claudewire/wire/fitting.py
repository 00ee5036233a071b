"""Fit a JSON object into its declared type, keeping as much of it as fits.

A new CLI writes things that this version has not heard of, and sometimes changes the type of a
field. Losing a whole message for that would be wrong, and so would be hiding it. So the object is
converted; where it does not fit, the smallest part that is to blame is put aside, and it is tried
again:

* a member of a union with an unknown tag becomes the union's `Unknown…` member;
* a field of the wrong type is left out, and noted as a problem;
* an object that thereby lacks a field it needs is itself put aside, and so on upwards.

What is put aside is still in the message's `raw`. Only when it comes to the whole line is there
nothing left to save.
"""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from .base import UNKNOWN

__all__ = ["explain", "fit"]

MOST_REPAIRS = 100
"""A line with more faults than this was not written by anything we know."""

_TAGS = ("type", "subtype", "behavior", "hook_event_name", "hookEventName", "kind")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_MISSING = re.compile(r"Object missing required field `(\w+)`")


def explain(error: Exception) -> tuple[str, str]:
    """Split an error of the decoder into its reason and its path."""
    reason, at, path = str(error).rpartition(" - at `")
    return (reason, path.rstrip("`")) if at else (str(error), "$")


def fit(obj: Any, into: Any) -> tuple[Any, tuple[str, ...]]:
    """Convert `obj`, which is taken apart in the process; give the result and what did not fit.

    Raises:
        msgspec.ValidationError: nothing is left that would fit. It tells the first problem.
    """
    problems: list[str] = []
    first: msgspec.ValidationError | None = None
    for _ in range(MOST_REPAIRS):
        try:
            return msgspec.convert(obj, into), tuple(problems)
        except msgspec.ValidationError as error:
            first = first or error
            reason, path = explain(error)
            if not _repair(obj, reason, path, problems):
                break
    raise cast("Exception", first)  # the others only followed from it


def _repair(root: Any, reason: str, path: str, problems: list[str]) -> bool:
    """Put aside what is to blame. False if that would be everything."""
    trail = _walk(root, path)
    unknown = bool(trail) and trail[-1][1] in _TAGS and reason.startswith("Invalid value")
    if unknown:
        trail.pop()  # not the tag is wrong, but the object that bears it unknown
    if not trail:
        return False
    parent, key = trail[-1]
    tag = _tag_of(parent[key], reason)
    if tag is None:
        del parent[key]
    elif unknown and isinstance(parent, list):
        _wrap_all(parent, tag, parent[key][tag])
    else:
        parent[key] = {tag: UNKNOWN, "raw": parent[key]}
    if not unknown:
        problems.append(f"{path}: {reason}")
    return True


def _walk(root: Any, path: str) -> list[tuple[Any, Any]]:
    """The containers and keys on the way to `path`, as far as it is told."""
    trail: list[tuple[Any, Any]] = []
    here = root
    for name, index in _STEP.findall(path):
        key = name or (int(index) if index.isdigit() else None)
        try:
            below = here[key]
        except (KeyError, IndexError, TypeError):
            break  # a key that the path does not name: the whole mapping is to blame
        trail.append((here, key))
        here = below
    return trail


def _tag_of(value: Any, reason: str) -> str | None:
    """The field that tells what an object is, unless it is wrapped already."""
    if not isinstance(value, dict) or ("raw" in value and UNKNOWN in value.values()):
        return None
    missing = _MISSING.match(reason)
    if missing and missing[1] in _TAGS:
        return missing[1]
    return next((tag for tag in _TAGS if tag in value), None)


def _wrap_all(items: list[Any], tag: str, kind: Any) -> None:
    """Wrap all objects of an unknown kind at once: they would fail one by one."""
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get(tag) == kind:
            items[index] = {tag: UNKNOWN, "raw": item}
