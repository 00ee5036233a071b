"""What the documents show, and the examples, pass mypy in strict mode and pyright, as they stand.

A line that shows a mistake ends with the comment in `MISTAKE`; both have to find it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.docs.modules import Module, modules

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SOON = 300
MISTAKE = "# a type checker finds this, too"
MYPY_LINE = re.compile(r"(?P<file>[^:\n]+):(?P<line>\d+): error: (?P<message>.*)")


MODULES = {module.name: module for module in modules()}

Problems = dict[tuple[str, int], str]
"""The first words about a line of a module."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snippets")
    for module in MODULES.values():
        (folder / module.name).write_text(module.text, encoding="utf-8")
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
    settings = {
        "include": [str(folder), str(EXAMPLES)],
        "typeCheckingMode": "standard",
        "pythonVersion": "3.11",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    python = f"--pythonpath={sys.executable}"
    report = run(folder, "pyright", f"--project={folder}", python, "--outputjson")
    for found in json.loads(report)["generalDiagnostics"]:
        line = found["range"]["start"]["line"] + 1
        yield Path(found["file"]).name, line, found["message"].partition("\n")[0]


def mistakes(module: Module) -> Iterator[int]:
    for number, line in enumerate(module.lines, 1):
        if line.text.endswith(MISTAKE):
            yield number


def place(name: str, line: int) -> str:
    return MODULES[name].place(line) if name in MODULES else f"{EXAMPLES.name}/{name}:{line}"


def test_no_two_files_have_the_same_name() -> None:
    assert len(MODULES) == len([*modules()])
    assert {*MODULES}.isdisjoint(path.name for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("check", [mypy, pyright])
def test_the_documents_have_no_type_errors_but_those_they_show(
    check: Callable[[Path], Iterator[tuple[str, int, str]]], folder: Path
) -> None:
    found: Problems = {}
    for name, line, message in check(folder):
        found.setdefault((name, line), message)
    meant = {(name, line) for name, module in MODULES.items() for line in mistakes(module)}
    wrong = [
        f"{place(name, line)}: {message[:200]}"
        for (name, line), message in found.items()
        if (name, line) not in meant
    ]
    missed = [f"{MODULES[name].place(line)}: not found" for name, line in meant - {*found}]
    assert not wrong + missed, "\n".join(wrong + missed)
