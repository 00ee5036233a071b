"""The pages of the documentation: their fences, tables and prose, and ways to run their examples.

A `python` fence with a file name is a program, or a test if its name begins with `test_`. One
without is a snippet; the snippets of a page run in their order, in one namespace. The `text` fence
after either of them is its output. Other fences with a file name are files. A name with a folder
stands for a file of this project, or for another library.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parents[3] / "docs"

SOON = 240
"""Seconds: only a hang takes so long, however busy the machine."""

FENCE = re.compile(r"^```(\w*)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Fence(NamedTuple):
    page: str
    line: int
    language: str
    info: str
    code: str

    @property
    def name(self) -> str:
        return f"{Path(self.page).name}:{self.info or self.line}"


class Shown(NamedTuple):
    """Some code of a page, and its output."""

    code: Fence
    output: str


class Table(NamedTuple):
    heading: str
    header: list[str]
    rows: list[list[str]]


@cache
def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def pages() -> list[str]:
    return ["../README.md", *(page.name for page in sorted(DOCS.glob("*.md")))]


def fences(page: str) -> Iterator[Fence]:
    text = text_of(page)
    for match in FENCE.finditer(text):
        yield Fence(page, text.count("\n", 0, match.start(3)) + 1, *match.groups())


def shown(page: str) -> Iterator[Shown]:
    for fence, after in pairwise([*fences(page), Fence(page, 0, "", "", "")]):
        if fence.language == "python" and "/" not in fence.info:
            yield Shown(fence, after.code if after.language == "text" else "")


def prose(page: str) -> str:
    return FENCE.sub("", text_of(page))


def tables(page: str) -> Iterator[Table]:
    heading = ""
    for block in re.split(r"\n{2,}", prose(page)):
        lines = block.strip().splitlines()
        if lines and lines[0].startswith("#"):
            heading = lines[0].lstrip("# ")
        elif lines and lines[0].startswith("|"):
            header, _, *rows = map(_cells, lines)
            yield Table(heading, header, rows)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(page: str, header: str) -> list[list[str]]:
    """Return the rows of all tables with this header."""
    found = [each.rows for each in tables(page) if each.header == _cells(header)]
    assert found, f"no table {header!r} in {page}"
    return [row for rows in found for row in rows]


def names(cell: str) -> list[str]:
    """Return the names in a cell, each between backticks."""
    return re.findall(r"`([^`]+)`", cell)


def first_names(page: str, header: str, end: str = "\0") -> list[str]:
    """Return the names in the first column of a table, up to a mark."""
    return [name.partition(end)[0] for row in table(page, header) for name in names(row[0])]


def write_files(page: str, folder: Path) -> None:
    """Write all files of a page."""
    for fence in fences(page):
        if "." in fence.info and "/" not in fence.info:
            (folder / fence.info).write_text(fence.code, encoding="utf-8")


def run(
    command: Sequence[str], folder: Path, *, input: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would, with nothing of the test suite around it."""
    ours = ("CLAUDE", "PYTEST", "NODE")
    kept = {name: it for name, it in os.environ.items() if not name.startswith(ours)}
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    home = str(folder.parent)
    places = {"PATH": search, "HOME": home, "XDG_CACHE_HOME": home, "PYTHONHASHSEED": "0"}
    return subprocess.run(
        command,
        input=input,
        cwd=folder,
        env={**kept, **places, **env},
        capture_output=True,
        encoding="utf-8",
        timeout=SOON,
    )


def printed(command: Sequence[str], folder: Path, *, input: str = "") -> str:
    """Return the output of a command that succeeds with an empty stderr."""
    done = run(command, folder, input=input)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
