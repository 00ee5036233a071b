"""The comparison with other libraries: every test that it names exists, and none is left out."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
from tests.docs.protocol_examples import names, table, tables

PAGE = "comparison.md"
TESTS = Path(__file__).resolve().parents[1]
OURS = "reliability/test_defects_of_others.py"
PROBES = "| probe | what the CLI does | official 0.2.182 | here | test |"
POINTS = "| point | official 0.2.182 | here | test |"
DO_NOT_APPLY: set[str] = set()


@cache
def functions_of(path: str) -> set[str]:
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    found = [it for it in ast.walk(tree) if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {it.name for it in found if it.name.startswith("test_")}


def named() -> list[tuple[str, str]]:
    """The tests that the page names, each with its file."""
    cells = [cell for each in tables(PAGE) for row in each.rows for cell in row]
    found = [name for cell in cells for name in names(cell) if "test_" in name]
    pairs = [name.rpartition("::") for name in found]
    return [(path or OURS, name) for path, _, name in pairs]


@pytest.mark.parametrize(("path", "name"), sorted(set(named())))
def test_a_test_that_is_named_exists(path: str, name: str) -> None:
    assert name in functions_of(path)


def test_every_test_about_the_defects_of_others_is_named() -> None:
    assert {name for path, name in named() if path == OURS} == functions_of(OURS)


def test_every_probe_and_every_point_has_a_test_or_a_reason() -> None:
    probes = {row[0]: row[-1] for row in table(PAGE, PROBES)}
    points = {row[0]: row[-1] for row in table(PAGE, POINTS)}
    assert list(probes) == [f"P{number}" for number in range(1, 9)]
    assert list(points) == [str(number) for number in range(1, 23)]
    assert {number for number, cell in (probes | points).items() if not cell} == DO_NOT_APPLY
    reasons = [row[2] for row in table(PAGE, POINTS) if row[0] in DO_NOT_APPLY]
    assert all(reason.startswith("does not apply: ") for reason in reasons)


def test_every_row_of_the_page_names_a_test() -> None:
    rows = [row for each in tables(PAGE) for row in each.rows if row[0] not in DO_NOT_APPLY]
    assert [row for row in rows if not names(row[-1])] == []
