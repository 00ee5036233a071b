"""The tools of the demo agent: they really work, and only below the working directory."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["edit_file", "list_files", "read_file", "search", "write_file"]

MOST_FILES = 200
MOST_BYTES = 200_000
HIDDEN = (".", "__pycache__", "node_modules")
AS_IT_IS: Any = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}
"""How to open a text so that what is not changed stays the same to the byte."""


def _inside(cwd: str, path: str) -> str:
    """The real path, which must be below the working directory."""
    root = os.path.realpath(cwd)
    full = os.path.realpath(os.path.join(root, path))
    if full != root and not full.startswith(root + os.sep):
        raise ValueError(f"{path} is outside of the working directory")
    return full


def list_files(cwd: str, path: str = ".") -> list[str]:
    """The files below a folder, by their paths from the working directory, hidden ones left out."""
    found: list[str] = []
    for folder, folders, files in os.walk(_inside(cwd, path)):
        folders[:] = sorted(name for name in folders if not name.startswith(HIDDEN))
        for name in sorted(files):
            if not name.startswith("."):
                found.append(os.path.relpath(os.path.join(folder, name), os.path.realpath(cwd)))
        if len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]


def read_file(cwd: str, path: str) -> str:
    """The text of a file, or of its beginning if it is long."""
    with open(_inside(cwd, path), encoding="utf-8", errors="replace") as file:
        return file.read(MOST_BYTES)


def search(cwd: str, words: str, path: str = ".") -> list[str]:
    """The lines that have `words` in them, as `file:line: text`."""
    hits: list[str] = []
    for name in list_files(cwd, path):
        try:
            lines = read_file(cwd, name).splitlines()
        except (OSError, ValueError):
            continue  # a link to nowhere, or to the outside
        hits += [
            f"{name}:{number}: {line.strip()}"
            for number, line in enumerate(lines, 1)
            if words.lower() in line.lower()
        ]
    return hits[:MOST_FILES]


def write_file(cwd: str, input: dict[str, Any]) -> str:
    """Write a whole file."""
    full = _inside(cwd, input["file_path"])
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", **AS_IT_IS) as file:
        file.write(input["content"])
    return f"File written: {input['file_path']}"


def edit_file(cwd: str, input: dict[str, Any]) -> str:
    """Replace a text that stands in a file once."""
    old, path = input["old_string"], input["file_path"]
    with open(_inside(cwd, path), **AS_IT_IS) as file:
        text = file.read()
    if text.count(old) != 1:
        raise ValueError(f"{old!r} stands {text.count(old)} times in {path}, not once")
    write_file(cwd, {"file_path": path, "content": text.replace(old, input["new_string"])})
    return f"File edited: {path}"
