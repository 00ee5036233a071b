"""What a tool would change in a file, as a diff that a person can read before deciding."""

from __future__ import annotations

import difflib
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["BIGGEST", "Reader", "diff_of", "read_text"]

BIGGEST = 4 * 2**20
"""In bytes. A larger file, such as a disk image, is not read: its diff would take too long."""

MOST_COMPARED = 2000
"""Lines that are compared with each other, which takes a multiple of their number. Beyond that all
of them are shown as replaced."""

_NO_NEWLINE = "\\ No newline at end of file"

Reader = Callable[[Path], str | None]
"""Reads a file: its text, or None if it does not exist.

Raises:
    OSError, ValueError: it cannot be read, or is not text.
"""


def read_text(path: Path) -> str | None:
    """Read a text file; anything but a regular file of a sane size is refused."""
    # Opened without blocking: a named pipe would block forever.
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    with open(number, "rb") as file:
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("it is not a regular file")
        if facts.st_size > BIGGEST:
            raise ValueError("it is too large to be shown")
        data = file.read(BIGGEST)
    if b"\0" in data:
        raise ValueError("it is a binary file")
    return data.decode("utf-8")


def diff_of(
    tool_name: str,
    input: Mapping[str, Any],
    *,
    cwd: str | os.PathLike[str] | None = None,
    read: Reader | None = read_text,
) -> str | None:
    """Show what a tool would change, as a unified diff.

    Without the file, or where it cannot be read, the diff shows the changed passages alone.

    Args:
        tool_name: the tool: Edit, MultiEdit, Write or NotebookEdit.
        input: what it would be called with.
        cwd: what relative paths are relative to.
        read: reads the file; None to read no file.

    Returns:
        the diff; None if the tool changes no file, or cannot be understood.
    """
    maker = _MAKERS.get(tool_name)
    name = input.get("notebook_path" if tool_name == "NotebookEdit" else "file_path")
    if maker is None or not isinstance(name, str):
        return None
    try:
        return maker(_File(name, cwd, read), input)
    except (AttributeError, KeyError, TypeError):  # an input that the tool would refuse
        return None


class _File:
    """A file that would be changed: its text, or why it cannot be read."""

    def __init__(self, name: str, cwd: str | os.PathLike[str] | None, read: Reader | None) -> None:
        self.name = name
        self.text: str | None = None
        self.problem = "" if read is not None else "it has not been read"
        if read is not None:
            try:
                self.text = read(Path(cwd or ".") / Path(name))
            except (OSError, ValueError) as error:
                self.problem = str(error)

    @property
    def is_new(self) -> bool:
        return self.text is None and not self.problem

    def diff(self, after: str) -> str:
        return _unified(self.name, self.text, after)


def _unified(name: str, before: str | None, after: str) -> str:
    names = "/dev/null" if before is None else f"a/{name.lstrip('/')}", f"b/{name.lstrip('/')}"
    old, new = _lines(before or ""), _lines(after)
    lines: Iterable[str]
    same = _common(old, new)
    rest = slice(same, None)
    at_end = _common(old[rest][::-1], new[rest][::-1])
    if max(len(old), len(new)) - same - at_end > MOST_COMPARED:
        lines = _replaced(old[same : len(old) - at_end], new[same : len(new) - at_end], same, names)
    else:
        lines = difflib.unified_diff(old, new, *names, lineterm="")
    return "\n".join(lines)


def _common(one: list[str], other: list[str]) -> int:
    """How many lines are the same at the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _replaced(old: list[str], new: list[str], before: int, names: tuple[str, str]) -> Iterator[str]:
    """Show that some lines are replaced by others, without a look for what they share."""
    yield from (f"--- {names[0]}", f"+++ {names[1]}")
    yield f"@@ -{before + bool(old)},{len(old)} +{before + bool(new)},{len(new)} @@"
    yield from (f"-{line}" for line in old)
    yield from (f"+{line}" for line in new)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += f"\n{_NO_NEWLINE}"
        return lines
    return lines[:-1]


# --- the tools -----------------------------------------------------------------------------------


def _write(file: _File, input: Mapping[str, Any]) -> str:
    content: str = input["content"]
    if not file.problem:
        return file.diff(content)
    words = f"# {file.name} would be replaced; what is in it now is not shown: {file.problem}\n"
    return words + _unified(file.name, None, content)


def _edits(file: _File, edits: list[Mapping[str, Any]]) -> str:
    text = "" if file.is_new else file.text
    if text is not None:
        for edit in edits:
            text = _edited(text, edit)
            if text is None:
                break
    if text is not None:
        return file.diff(text)
    passages = [
        _unified(file.name, _whole(edit["old_string"]), _whole(edit["new_string"]))
        for edit in edits
    ]
    return "\n".join(passages)


def _edited(text: str, edit: Mapping[str, Any]) -> str | None:
    """Do one edit; None if what it would replace is not there."""
    old, new = edit["old_string"], edit["new_string"]
    if not old:
        return new if not text else None
    if old not in text:
        return None
    return str(text.replace(old, new, -1 if edit.get("replace_all") else 1))


def _whole(passage: str) -> str:
    return passage if not passage or passage.endswith("\n") else passage + "\n"


def _notebook(file: _File, input: Mapping[str, Any]) -> str:
    mode = input.get("edit_mode") or "replace"
    before = None if mode == "insert" else _cell(file, input)
    after = "" if mode == "delete" else str(input["new_source"])
    cell = input.get("cell_id", input.get("cell_number"))
    name = file.name if cell is None else f"{file.name}#{cell}"
    return _unified(name, before if before is None else _whole(before), _whole(after))


def _cell(file: _File, input: Mapping[str, Any]) -> str:
    """The source of the cell; empty if it cannot be found."""
    try:
        cells = json.loads(file.text or "")["cells"]
        return "".join(cells[_position(cells, input)]["source"])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return ""


def _position(cells: list[Any], input: Mapping[str, Any]) -> int:
    number, id = input.get("cell_number"), input.get("cell_id")
    if isinstance(id, str):
        ids = [cell.get("id") for cell in cells]
        # A cell without an id is called by its number.
        number = ids.index(id) if id in ids else int(id.removeprefix("cell-"))
    if not isinstance(number, int) or number < 0:
        raise ValueError("no cell is named")
    return number


_MAKERS: dict[str, Callable[[_File, Mapping[str, Any]], str]] = {
    "Write": _write,
    "Edit": lambda file, input: _edits(file, [input]),
    "MultiEdit": lambda file, input: _edits(file, input["edits"]),
    "NotebookEdit": _notebook,
}
