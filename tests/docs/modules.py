"""Makes modules out of the Python in the documents, so that type checkers can read it.

A fence with a file name is a module already; if the name has a folder, it is a file of this
project, which is checked where it is, or a program for another library. The snippets of a page are
one module together, in their order. Where a snippet awaits something, it goes from there on into an
async function: what it defines before that, the following snippets can use. No line is changed but
for its indentation, and every line knows where it stands on the page.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.docs.protocol_examples import DOCS, Fence, fences

PAGES = [
    "../README.md",
    *(page.name for page in sorted(DOCS.glob("*.md")) if page.name != "api.md"),
]
AWAITING = ast.Await | ast.AsyncFor | ast.AsyncWith
OWN_SCOPE = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


class Line(NamedTuple):
    text: str
    number: int


class Module(NamedTuple):
    """A file to be checked, whose lines come from a page."""

    name: str
    page: str
    lines: list[Line]

    @property
    def text(self) -> str:
        return "".join(f"{line.text}\n" for line in self.lines)

    def place(self, line: int) -> str:
        """Where a line of this module stands, as `page:line`."""
        return (
            f"{(DOCS / self.page).resolve().relative_to(DOCS.parent)}:{self.lines[line - 1].number}"
        )


def modules() -> Iterator[Module]:
    for page in PAGES:
        python = [
            fence for fence in fences(page) if fence.language == "python" and "/" not in fence.info
        ]
        for fence in python:
            if fence.info:
                yield Module(fence.info, page, [*lines_of(fence)])
        if snippets := [fence for fence in python if not fence.info]:
            yield Module(
                f"snippets_of_{Path(page).stem.replace('-', '_').lower()}.py",
                page,
                [line for fence in snippets for line in snippet_lines(fence)],
            )


def lines_of(fence: Fence) -> Iterator[Line]:
    for number, text in enumerate(fence.code.splitlines(), fence.line):
        yield Line(text, number)


def snippet_lines(fence: Fence) -> Iterator[Line]:
    """Yield the lines of a snippet; those that need an event loop stand in an async function."""
    begin = first_awaiting_line(fence.code)
    for line in lines_of(fence):
        offset = line.number - fence.line + 1
        if offset == begin:
            yield Line(f"async def _snippet_{fence.line}() -> None:", line.number)
        yield line if begin is None or offset < begin else Line(f"    {line.text}", line.number)


def first_awaiting_line(code: str) -> int | None:
    tree = compile(code, "snippet", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
    assert isinstance(tree, ast.Module)
    return next((statement.lineno for statement in tree.body if awaits(statement)), None)


def awaits(node: ast.AST) -> bool:
    if isinstance(node, OWN_SCOPE):
        return False
    return isinstance(node, AWAITING) or any(map(awaits, ast.iter_child_nodes(node)))
