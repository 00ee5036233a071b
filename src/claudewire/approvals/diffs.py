"""The change of a tool to a file, as a diff that a person can read before deciding."""

from __future__ import annotations

import difflib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

LARGEST = 4 * 2**20
"""Bytes of the largest file to read: a diff of a disk image would take too long."""

MOST_COMPARED = 2000
"""Lines to compare with each other, which takes a multiple of their number. Beyond that all of them
are shown as replaced."""

_NO_NEWLINE = "\\ No newline at end of file"


def read_text(path: Path) -> str | None:
    """Read a regular text file of a sane size; None if it does not exist."""
    # Opened without blocking: a named pipe would block forever.
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    with open(number, "rb") as file:
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("it is not a regular file")
        if facts.st_size > LARGEST:
            raise ValueError("it is too large to be shown")
        data = file.read(LARGEST)
    if b"\0" in data:
        raise ValueError("it is a binary file")
    return data.decode("utf-8")


def diff_of(tool_name: str, input: Mapping[str, Any], *, cwd: str | None = None) -> str | None:
    """Return the change of a file as a unified diff; None for other tools and invalid input.

    If the file cannot be read, the diff has only the changed passages.
    """
    name = input.get("notebook_path" if tool_name == "NotebookEdit" else "file_path")
    if tool_name not in ("Edit", "NotebookEdit", "Write") or not isinstance(name, str):
        return None
    before, problem = None, ""
    try:
        before = read_text(Path(cwd or ".") / name)
    except (OSError, ValueError) as error:
        problem = str(error)
    try:
        if tool_name == "NotebookEdit":
            return _notebook(name, before, input)
        if tool_name == "Edit":
            return _edit(name, None if problem else before or "", input)
        diff = _unified(name, before, input["content"])
    except (AttributeError, KeyError, TypeError):  # an input that the tool would refuse
        return None
    if problem:
        return f"# {name} would be replaced; its content is not shown: {problem}\n{diff}"
    return diff


def _edit(name: str, before: str | None, input: Mapping[str, Any]) -> str:
    old, new = input["old_string"], input["new_string"]
    if before is None or old not in before or (before and not old):
        return _unified(name, _whole(old), _whole(new))
    return _unified(
        name, before or None, before.replace(old, new, -1 if input.get("replace_all") else 1)
    )


def _notebook(name: str, before: str | None, input: Mapping[str, Any]) -> str:
    mode = input.get("edit_mode") or "replace"
    old = None if mode == "insert" else _whole(_cell(before, input))
    new = "" if mode == "delete" else _whole(input["new_source"])
    cell = input.get("cell_id", input.get("cell_number"))
    return _unified(name if cell is None else f"{name}#{cell}", old, new)


def _cell(notebook: str | None, input: Mapping[str, Any]) -> str:
    """Return the source of a cell; empty if it cannot be found."""
    number, id = input.get("cell_number"), input.get("cell_id")
    try:
        cells = json.loads(notebook or "")["cells"]
        if isinstance(id, str):
            ids = [cell.get("id") for cell in cells]
            # A cell without an id has its number as a name.
            number = ids.index(id) if id in ids else int(id.removeprefix("cell-"))
        return "".join(cells[number]["source"]) if isinstance(number, int) and number >= 0 else ""
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return ""


# --- the diff ------------------------------------------------------------------------------------


def _unified(name: str, before: str | None, after: str) -> str:
    names = "/dev/null" if before is None else f"a/{name.lstrip('/')}", f"b/{name.lstrip('/')}"
    old, new = _lines(before or ""), _lines(after)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    if max(len(old), len(new)) - start - end > MOST_COMPARED:
        old, new = old[start : len(old) - end], new[start : len(new) - end]
        lines: Iterable[str] = [
            *(f"--- {names[0]}", f"+++ {names[1]}"),
            f"@@ -{start + bool(old)},{len(old)} +{start + bool(new)},{len(new)} @@",
            *(f"-{line}" for line in old),
            *(f"+{line}" for line in new),
        ]
    else:
        lines = difflib.unified_diff(old, new, *names, lineterm="")
    return "\n".join(lines)


def _common(one: list[str], other: list[str]) -> int:
    """Count the equal lines at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += f"\n{_NO_NEWLINE}"
        return lines
    return lines[:-1]


def _whole(passage: str) -> str:
    return passage if not passage or passage.endswith("\n") else passage + "\n"
