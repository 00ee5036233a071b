"""Mutate changed lines one at a time, and print the mutants that no test notices.

It works in a copy of the tree. Do not run it as root: a mutated library may write anywhere.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

TESTS = {
    "wire": "tests/unit/wire",
    "policy": "tests/unit/policy",
    "session": "tests/session",
    "approvals": "tests/session",
}
"""The tests that have to notice a mutant of a package."""

SECONDS = 600
"""The time limit for the tests of one mutant. A mutant that hangs is noticed."""

HUNK = re.compile(r"^@@ .* \+(\d+)(?:,(\d+))? @@", re.MULTILINE)

OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}


class Mutant(NamedTuple):
    """One change of one file."""

    path: Path
    line: int
    before: str
    after: str
    text: str
    """The whole mutated file."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before}  →  {self.after}"


def changed_lines(base: str) -> Iterator[tuple[Path, set[int]]]:
    """Yield each changed file of a package in TESTS, with its new or changed lines."""
    places = [f"src/claudewire/{package}" for package in TESTS]
    command = ["git", "diff", "-U0", base, "--", *places]
    diff = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    for part in diff.stdout.split("\n+++ b/")[1:]:
        path = Path(part.partition("\n")[0])
        hunks = [(int(it[1]), int(it[2] or 1)) for it in HUNK.finditer(part)]
        if path.suffix == ".py":
            yield path, {line for start, count in hunks for line in range(start, start + count)}


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what could stand in the place of a node."""
    match node:
        case ast.Compare(left, [operator, *others], right) if type(operator) in OPPOSITES:
            yield ast.Compare(left, [OPPOSITES[type(operator)](), *others], right)  # type: ignore[list-item]
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(OPPOSITES[type(operator)](), values)  # type: ignore[arg-type]
        case ast.BinOp(left, operator, right) if type(operator) in OPPOSITES:
            yield ast.BinOp(left, OPPOSITES[type(operator)](), right)  # type: ignore[arg-type]
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() as value):
            yield ast.Constant(value + 1)
        case ast.Return(ast.expr()):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(ast.Call() | ast.Await()) | ast.Raise() | ast.Assign() | ast.AugAssign():
            yield ast.Pass()


def mutants(path: Path, lines: set[int]) -> Iterator[Mutant]:
    source = (ROOT / path).read_text(encoding="utf-8")
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    data = source.encode()
    for node in ast.walk(ast.parse(source)):
        if getattr(node, "lineno", None) not in lines:
            continue
        begin = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        for new in replacements(node):
            after = f"({ast.unparse(new)})" if isinstance(new, ast.expr) else ast.unparse(new)
            text = (data[:begin] + after.encode() + data[end:]).decode()
            before = " ".join(data[begin:end].decode().split())
            yield Mutant(path, node.lineno, before, after, text)  # type: ignore[attr-defined]


def is_noticed(mutant: Mutant, copy: Path) -> bool:
    """Run the tests of the mutant's package in the copy; True if one fails."""
    place = copy / mutant.path
    original = place.read_text(encoding="utf-8")
    place.write_text(mutant.text, encoding="utf-8")
    tests = TESTS[mutant.path.parts[2]]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "2", "-p", "no:cacheprovider"]
    env = {**os.environ, "PYTHONPATH": str(copy / "src"), "HYPOTHESIS_PROFILE": "fast"}
    try:
        done = subprocess.run(
            [*command, tests], cwd=copy, env=env, capture_output=True, timeout=SECONDS, check=False
        )
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        place.write_text(original, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__)
    parser.add_argument("--base", default="HEAD", help="mutate the lines changed since this commit")
    base = parser.parse_args().base
    found = [it for path, lines in changed_lines(base) for it in mutants(path, lines)]
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="claudewire-mutants-") as folder:
        copy = Path(folder, "tree")
        ignored = shutil.ignore_patterns(".git", ".tools", ".venv*", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for number, mutant in enumerate(found, 1):
            print(f"{number}/{len(found)}", end="\r", file=sys.stderr)
            if not is_noticed(mutant, copy):
                survivors += 1
                print(f"survives: {mutant}", flush=True)
    print(f"{len(found)} mutants, {survivors} survive")
    return 0


if __name__ == "__main__":
    sys.exit(main())
