"""The programs of the documents share nothing with the library that they judge."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PROGRAMS = sorted([*HERE.glob("document_*/*.py"), *HERE.glob("shared/*.py")])
OWN = {"forms", "harness"}
"""The forms of document 000, and the plumbing of all programs."""


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names}


def test_there_is_a_cli_and_a_client_for_each_document() -> None:
    names = {path.relative_to(HERE).as_posix() for path in PROGRAMS}
    for number in ("000", "001", "002", "004"):
        assert {f"document_{number}/cli.py", f"document_{number}/client.py"} <= names


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_program_imports_the_standard_library_alone(path: Path) -> None:
    assert imported(path) - OWN <= set(sys.stdlib_module_names)
    assert "importlib" not in imported(path)
