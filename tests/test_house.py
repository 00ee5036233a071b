"""Rules of the house, which hold for every file."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

import claudewire

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
WIRE = SOURCE / "claudewire" / "wire"

MODULES = sorted(SOURCE.rglob("*.py"))

# None of these reads a clock, the environment, a file or a random number.
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
# lock: threads share the objects that are made once.
WIRE_MAY_IMPORT_ALONE = {"from io import BytesIO", "from _thread import RLock"}
WIRE_MAY_NOT_CALL = {"__import__", "breakpoint", "input", "open", "print"}

HEAVY = {"asyncio", "hypothesis", "mcp", "pydantic", "pytest", "rich", "trio"}


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
    """Return the findings in files that should have none."""
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
    """Yield the imports of a module that the wire may not use."""
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() if ast.unparse(node) not in WIRE_MAY_IMPORT_ALONE:
                yield node


def foreign_to_wire(tree: ast.Module, package: str) -> set[str]:
    """Return the modules and functions that a module of the wire must not use."""
    modules = {
        name
        for statement in imports_to_check(tree)
        for name in imported(statement, package)
        if name.partition(".")[0] not in WIRE_MAY_IMPORT
        and not f"{name}.".startswith("claudewire.wire.")
    }
    return modules | WIRE_MAY_NOT_CALL.intersection(called(tree))


def test_wire_imports_only_msgspec_and_pure_modules() -> None:
    files = WIRE.rglob("*.py")
    assert broken(files, lambda it: foreign_to_wire(parse(it), package_name(it))) == {}


PUBLIC_INSIDE = {"claudewire.wire.lint", "claudewire.wire.schema"}
"""Public submodules: `claudewire.wire` does not load them, because few programs need them."""


def package_of(module: str) -> str:
    """Return the package of a module: `errors` for `claudewire.errors.evidence`."""
    return ".".join(module.split(".")[1:2])


def past_an_init(path: Path) -> list[str]:
    """Return the imports of a module from inside another package."""
    ours = package_of(module_name(path))
    return [
        name
        for name in imported(parse(path), package_name(path))
        if name.startswith("claudewire.") and package_of(name) != ours and name.count(".") > 1
        if name not in PUBLIC_INSIDE
    ]


def test_packages_import_each_other_through_their_init() -> None:
    assert broken(MODULES, past_an_init) == {}


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert HEAVY.intersection(loaded_by("import claudewire")) == set()


def test_importing_wire_loads_nothing_above_it() -> None:
    loaded = loaded_by("import claudewire.wire")
    above = {it for it in loaded if it.startswith("claudewire.") and ".wire" not in it}
    assert above == {"claudewire._package"}


def loaded_by(script: str) -> set[str]:
    command = [sys.executable, "-c", f"{script}; import sys; print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    return {*done.stdout.split()}


def test_inner_modules_have_no_export_list() -> None:
    def exported(path: Path) -> list[str]:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.startswith("__all__ ")]

    public = {SOURCE / "claudewire", SOURCE / "claudewire" / "simulator" / "faults.py"}
    inner = [it for it in MODULES if it.name != "__init__.py" and not {it, it.parent} & public]
    assert broken(inner, exported) == {}


def test_changelog_begins_with_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)[0]
    assert newest in {"Unreleased", claudewire.__version__}
