"""Python on the pages and in the examples passes mypy in strict mode and pyright.

A fence with a file name is a module. The snippets of a page form one module: from its first `await`
on, a snippet is inside an async function, and the next snippets can use the names before that. Each
line knows its place on the page. A line that shows a mistake ends with the comment in `MISTAKE`;
both type checkers have to find it.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.product.docs.pages import DOCS, SOON, Fence, fences, pages

ROOT = DOCS.parent
EXAMPLES = ROOT / "examples"
MISTAKE = "# a type checker finds this, too"
MYPY_LINE = re.compile(r"(?P<file>[^:\n]+):(?P<line>\d+): error: (?P<message>.*)")
AWAITING = ast.Await | ast.AsyncFor | ast.AsyncWith
OWN_SCOPE = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


class Line(NamedTuple):
    text: str
    number: int


class Module(NamedTuple):
    """A file to check, with lines from a page."""

    name: str
    page: str
    lines: list[Line]

    def place(self, line: int) -> str:
        """Return the place of a line as `page:line`."""
        page = (DOCS / self.page).resolve().relative_to(ROOT)
        return f"{page}:{self.lines[line - 1].number}"


def modules() -> Iterator[Module]:
    for page in pages():
        python = [it for it in fences(page) if it.language == "python" and "/" not in it.info]
        for fence in python:
            if fence.info:
                yield Module(fence.info, page, [*lines_of(fence)])
        if snippets := [fence for fence in python if not fence.info]:
            name = f"snippets_of_{Path(page).stem.replace('-', '_').lower()}.py"
            yield Module(name, page, [it for fence in snippets for it in snippet_lines(fence)])


def lines_of(fence: Fence) -> Iterator[Line]:
    for number, text in enumerate(fence.code.splitlines(), fence.line):
        yield Line(text, number)


def snippet_lines(fence: Fence) -> Iterator[Line]:
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


MODULES = {module.name: module for module in modules()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snippets")
    for module in MODULES.values():
        text = "".join(f"{line.text}\n" for line in module.lines)
        (folder / module.name).write_text(text, encoding="utf-8")
    return folder


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(folder), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=SOON,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def mypy(folder: Path) -> Iterator[tuple[str, int, str]]:
    # The project's own settings are strict, and with them the project's cache can be used.
    files = [str(folder / name) for name in MODULES]
    report = run(folder, "mypy", "--config-file=pyproject.toml", "--no-pretty", *files)
    for found in MYPY_LINE.finditer(report):
        yield Path(found["file"]).name, int(found["line"]), found["message"]


def pyright(folder: Path) -> Iterator[tuple[str, int, str]]:
    # mypy checks the examples together with the rest of the project.
    settings = {"include": [str(folder), str(EXAMPLES)], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    python = f"--pythonpath={sys.executable}"
    report = run(folder, "pyright", f"--project={folder}", python, "--outputjson")
    for found in json.loads(report)["generalDiagnostics"]:
        line = found["range"]["start"]["line"] + 1
        yield Path(found["file"]).name, line, found["message"].partition("\n")[0]


def place(name: str, line: int) -> str:
    return MODULES[name].place(line) if name in MODULES else f"{EXAMPLES.name}/{name}:{line}"


@pytest.mark.parametrize("check", [mypy, pyright])
def test_python_on_the_pages_is_typed(
    check: Callable[[Path], Iterator[tuple[str, int, str]]], folder: Path
) -> None:
    assert len(MODULES) == len([*modules()])  # no two files have one name
    found = {(name, line): message for name, line, message in check(folder)}
    meant = {
        (module.name, number)
        for module in MODULES.values()
        for number, line in enumerate(module.lines, 1)
        if line.text.endswith(MISTAKE)
    }
    wrong = [f"{place(*at)}: {found[at][:200]}" for at in found if at not in meant]
    missed = [f"{place(*at)}: not found" for at in meant if at not in found]
    assert not wrong + missed, "\n".join(wrong + missed)
