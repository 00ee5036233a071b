"""Rules of the house: what holds for every file, whatever it is about."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.helpers.programs import cli

import claudewire

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
WIRE = SOURCE / "claudewire" / "wire"

MODULES = sorted(SOURCE.rglob("*.py"))

# What the wire may use: nothing here reads a clock, the environment, a file or a random number.
WIRE_MAY_IMPORT = {
    "__future__",
    "abc",
    "base64",
    "binascii",
    "bisect",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "difflib",
    "enum",
    "functools",
    "itertools",
    "json",
    "math",
    "msgspec",
    "operator",
    "re",
    "string",
    "textwrap",
    "types",
    "typing",
    "unicodedata",
}
# A buffer in memory, which becomes a line without a copy; the rest of `io` is for files. And a
# lock: what is prepared once may be needed in several threads at the same time.
WIRE_MAY_IMPORT_ALONE = {"from io import BytesIO", "from _thread import RLock"}
WIRE_MAY_NOT_CALL = {"__import__", "breakpoint", "input", "open", "print"}

HEAVY = {"asyncio", "hypothesis", "mcp", "pydantic", "pytest", "rich", "trio"}

NOT_TO_OPEN = (
    "claudewire.content",
    "claudewire.errors.diagnosis",
    "claudewire.errors.failure_signs",
    "claudewire.errors.redaction",
    "claudewire.hooks",
    "claudewire.options.agents",
    "claudewire.options.hints",
    "claudewire.options.keywords",
    "claudewire.people",
    "claudewire.policy",
    "claudewire.schemas",
    "claudewire.session.pool",
    "claudewire.simulator",
    "claudewire.store",
    "claudewire.sync",
    "claudewire.testing",
    "claudewire.tools",
    "claudewire.tracking.budgets",
    "claudewire.transport.recording",
    "claudewire.transport.replay",
    "difflib",
    "mcp",
    "pathlib",
    "pydantic",
    "trio",
)
"""What is not needed to open a session with a CLI, and is loaded when it is."""
MODULES_TO_OPEN = 100
"""How many modules of this package are. Each costs time when a program starts."""
DATACLASSES_TO_OPEN = {"Launch"}
"""The dataclasses that are made to open a session. Each takes half a millisecond of the start."""

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 60
MAX_MEDIAN_FUNCTION_LINES = 12

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).parent.parts)


def label(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def broken(
    files: Iterable[Path], found: Callable[[Path], Collection[str]]
) -> dict[str, Collection[str]]:
    """Return what is found in files in which there should be nothing."""
    return {label(path): wrong for path in files if (wrong := found(path))}


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the full name of each module that is imported, wherever in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield importlib.util.resolve_name("." * node.level + (node.module or ""), package)


def called(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def imports_to_check(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the imports of a module but those that the wire may use."""
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() if ast.unparse(node) not in WIRE_MAY_IMPORT_ALONE:
                yield node


def foreign_to_wire(tree: ast.Module, package: str) -> set[str]:
    """Return what a module of the wire uses and should not."""
    modules = {
        name
        for statement in imports_to_check(tree)
        for name in imported(statement, package)
        if name.partition(".")[0] not in WIRE_MAY_IMPORT
        and not f"{name}.".startswith("claudewire.wire.")
    }
    return modules | WIRE_MAY_NOT_CALL.intersection(called(tree))


def functions(tree: ast.Module) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def unprepared(tree: ast.Module) -> Iterator[str]:
    """Yield the classes that functions give to msgspec as they are."""
    for node in (inner for function in functions(tree) for inner in ast.walk(function)):
        match node:
            case ast.Call(ast.Attribute(attr="convert"), [_, kind, *_]):
                pass
            case ast.Call(ast.Attribute(attr="decode"), keywords=keywords):
                kind = next((it.value for it in keywords if it.arg == "type"), ast.Constant(None))
            case _:
                continue
        if not ast.unparse(kind).startswith("prepared("):
            names = {it.id for it in ast.walk(kind) if isinstance(it, ast.Name)} - {"Any"}
            yield from (name for name in sorted(names) if name.lstrip("_")[:1].isupper())


def length(function: Function) -> int:
    """Count the lines of a function without its docstring."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is None or first.end_lineno is None:
        return lines
    return lines - (first.end_lineno - first.lineno + 1)


def test_the_wire_uses_nothing_but_msgspec_and_pure_parts_of_the_standard_library() -> None:
    files = WIRE.rglob("*.py")
    assert broken(files, lambda it: foreign_to_wire(parse(it), package_name(it))) == {}


@pytest.mark.parametrize(
    ("line", "culprit"),
    [
        ("import os", "os"),
        ("import json, time", "time"),
        ("import io", "io"),
        ("from io import BytesIO, FileIO", "io"),
        ("from os import path", "os"),
        ("from os.path import join", "os.path"),
        ("from .. import errors", "claudewire"),
        ("from ..errors import Error", "claudewire.errors"),
        ("import claudewire.session", "claudewire.session"),
        ("def f():\n    import random", "random"),
        ("open('x')", "open"),
    ],
)
def test_the_check_of_the_wire_notices(line: str, culprit: str) -> None:
    assert foreign_to_wire(ast.parse(line), "claudewire.wire") == {culprit}


@pytest.mark.parametrize(
    "line",
    [
        "import json",
        "import msgspec.json",
        "from collections.abc import Iterator",
        "from . import base",
        "from .base import Record",
        "from claudewire.wire import base",
    ],
)
def test_the_check_of_the_wire_lets_pass(line: str) -> None:
    assert foreign_to_wire(ast.parse(line), "claudewire.wire") == set()


def test_a_type_is_prepared_before_several_threads_may_use_it_for_the_first_time() -> None:
    """Msgspec crashes otherwise: see `prepare`. What a module does at import, one thread does."""
    # Of `testing`, no thread uses anything but what is made for it.
    modules = [path for path in MODULES if "testing" not in path.parts]
    assert broken(modules, lambda path: [*unprepared(parse(path))]) == {}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("msgspec.convert(value, Kind)", ["Kind"]),
        ("msgspec.convert(value, dict[str, _Kind], strict=False)", ["_Kind"]),
        ("msgspec.json.decode(text, type=list[Kind])", ["Kind"]),
        ("msgspec.json.decode(text, type=Kind, strict=False)", ["Kind"]),
        ("msgspec.convert(value, prepared(Kind))", []),
        ("msgspec.json.decode(text, type=prepared(Kind))", []),
        ("msgspec.convert(value, dict[str, Any])", []),
        ("msgspec.json.decode(text)", []),
    ],
)
def test_the_check_of_types_notices(line: str, found: list[str]) -> None:
    assert [*unprepared(ast.parse(f"def function():\n    return {line}"))] == found
    assert [*unprepared(ast.parse(line))] == []


def test_no_file_is_too_long_to_be_read_in_one_go() -> None:
    lengths = {label(it): len(it.read_text(encoding="utf-8").splitlines()) for it in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_FILE_LINES} == {}


def test_no_function_is_too_long() -> None:
    def long(path: Path) -> list[str]:
        return [it.name for it in functions(parse(path)) if length(it) > MAX_FUNCTION_LINES]

    assert broken(MODULES, long) == {}


def package_of(module: str) -> str:
    """Return the package of a module: `errors` for `claudewire.errors.evidence`."""
    return ".".join(module.split(".")[1:2])


PUBLIC_INSIDE = {"claudewire.wire.lint", "claudewire.wire.schema"}
"""Public by themselves: `claudewire.wire` does not load them, because few programs need them."""


def past_an_init(path: Path) -> list[str]:
    """Return what a module imports from inside another package."""
    ours = package_of(module_name(path))
    return [
        name
        for name in imported(parse(path), package_name(path))
        if name.startswith("claudewire.") and package_of(name) != ours and name.count(".") > 1
        if name not in PUBLIC_INSIDE
    ]


def test_no_module_reaches_past_the_init_of_another_package() -> None:
    assert broken(MODULES, past_an_init) == {}


def test_the_package_can_be_seen_at_one_look() -> None:
    entries = [it for it in (SOURCE / "claudewire").iterdir() if it.name != "__pycache__"]
    assert len(entries) <= 24


def only_for_typing(tree: ast.Module, package: str) -> set[str]:
    """Return what a module imports for type checkers alone."""
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    guarded = [block for block in blocks if "TYPE_CHECKING" in ast.dump(block.test)]
    return {name for block in guarded for name in imported(block, package)}


def test_imports_that_point_upward_are_for_typing_alone() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = contracts["tool"]["importlinter"]["contracts"][0]
    for edge in layers["ignore_imports"]:
        importer, _, target = edge.partition(" -> ")
        path = SOURCE.joinpath(*importer.split(".")).with_suffix(".py")
        tree, package = parse(path), package_name(path)
        assert list(imported(tree, package)).count(target) == 1
        assert target in only_for_typing(tree, package)


def test_functions_are_short_as_a_rule() -> None:
    lengths = [length(function) for path in MODULES for function in functions(parse(path))]
    assert statistics.median(lengths or [0]) <= MAX_MEDIAN_FUNCTION_LINES


def wrong_exports(path: Path) -> list[str]:
    """Return what a module says that it exports, and does not have or says twice."""
    module = importlib.import_module(module_name(path))
    assert module.__doc__, path
    if [*map(type, parse(path).body)] == [ast.Expr]:
        return []  # there is nothing but the docstring
    names = [*module.__all__]
    return [it for it in names if not hasattr(module, it) or names.count(it) > 1]


def test_every_module_says_what_it_exports_and_has_it() -> None:
    files = [it for it in MODULES if it.stem != "__main__"]  # to import that would run it
    assert broken(files, wrong_exports) == {}


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import claudewire, sys; print(*sys.modules)"
    fresh = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, encoding="utf-8"
    )
    assert HEAVY.intersection(fresh.stdout.split()) == set()


@pytest.mark.parametrize("options", ["", ", on_permission=lambda request: request.allow()"])
def test_a_plain_session_loads_no_rules_schemas_or_tools(options: str) -> None:
    script = f"""
import anyio, claudewire, sys

async def main():
    async with claudewire.open(cli="simulated"{options}) as claude:
        await claude.send("Hello")

anyio.run(main)
print(*sys.modules)
"""
    fresh = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, encoding="utf-8"
    )
    unused = ("claudewire.policy.policy", "claudewire.schemas", "claudewire.tools")
    assert [name for name in fresh.stdout.split() if name.startswith(unused)] == []


def test_an_open_session_has_loaded_what_it_uses_and_nothing_else() -> None:
    script = f"""
import asyncio, claudewire, sys

async def main():
    async with claudewire.open(cli={cli("for prompt in prompts(): pass")!r}):
        modules = dict(sys.modules)
        kinds = {{kind for module in modules.values() for kind in vars(module).values()
                 if isinstance(kind, type) and kind.__module__.startswith("claudewire")}}
        print(*modules)
        print(*(kind.__name__ for kind in kinds if hasattr(kind, "__dataclass_fields__")))

asyncio.run(main())
"""
    fresh = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, encoding="utf-8"
    )
    modules, dataclasses = map(str.split, fresh.stdout.splitlines())
    assert [name for name in modules if name.startswith(NOT_TO_OPEN)] == []
    ours = [name for name in modules if name.startswith("claudewire")]
    assert len(ours) <= MODULES_TO_OPEN, "the start of a program is measured by scripts/bench"
    assert set(dataclasses) <= DATACLASSES_TO_OPEN, (
        "a msgspec.Struct is made in a thirtieth of the time"
    )


def test_the_changelog_is_up_to_date_with_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)[0]
    assert newest in {"Unreleased", claudewire.__version__}


def test_a_chosen_python_that_does_not_work_is_not_replaced_by_another(tmp_path: Path) -> None:
    missing = str(tmp_path / "python9")
    done = subprocess.run(
        [ROOT / "scripts" / "env", "true"],
        env={**os.environ, "PYTHON": missing},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1
    assert f"PYTHON={missing} is not a Python 3.11 or newer" in done.stderr
