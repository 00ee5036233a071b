"""The places in the library that can be changed, and a random sample of them."""

from __future__ import annotations

import ast
import itertools
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from mutation.operators import Edit, Function, edits

__all__ = [
    "Identity",
    "Mutation",
    "at_place",
    "is_program",
    "mutations",
    "package_of",
    "packages",
    "sample",
]

_TYPES = {"Annotated", "Callable", "ClassVar", "Concatenate", "Literal", "Optional", "Union"}
_NAMING = {"NewType", "ParamSpec", "TypeVar", "TypeVarTuple", "getLogger"}
_LOGS = {"log", "logger", "warnings"}
_DECLARING = {"__all__", "__match_args__", "__slots__"}


class Identity(NamedTuple):
    """What a mutation is known by, also when the lines above it move."""

    file: str
    function: str
    operator: str
    before: str
    after: str


@dataclass(frozen=True)
class Mutation:
    """One change of one file."""

    identity: Identity
    line: int
    runs: range
    """The lines of its statement: a test that runs one of them may notice the change."""
    body: range
    """The lines of its function."""
    imported: bool
    """Whether it runs when the module is imported, before any test."""
    changed: bytes = field(repr=False)
    """The file with the change."""


def package_of(file: str) -> str:
    """Return the package of a file, or a module of the top level: `wire`, `content`."""
    return file.split("/")[0].removesuffix(".py")


def packages(source: Path) -> dict[str, list[Path]]:
    """Return the files of each package."""
    found = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        found[package_of(path.relative_to(source).as_posix())].append(path)
    return found


# --- what is left alone --------------------------------------------------------------------------


def _left_alone(tree: ast.Module, lines: list[bytes]) -> set[ast.AST]:
    """Return the tops of what is not code, or cannot be tested here."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        found.update(_not_code(node))
        if isinstance(node, ast.stmt) and b"pragma: no cover" in lines[node.lineno - 1]:
            found.add(node)
    return found


def _not_code(node: ast.AST) -> Iterable[ast.AST]:
    match node:
        case ast.Expr(ast.Constant()) | ast.arguments():  # docstrings; defaults: see `default`
            return [node]
        case ast.JoinedStr():  # the nodes inside have no positions before Python 3.12
            return [node]
        case ast.If(ast.Name("TYPE_CHECKING")) | ast.keyword("slots"):
            return [node]
        case ast.Assign([ast.Name(name)]) if name in _DECLARING:
            return [node]
        case ast.Call():
            return _words_of(node)
    return _types_of(node)


def _words_of(node: ast.Call) -> Iterable[ast.AST]:
    """Return what is there for a person or a type checker."""
    match node.func:
        case ast.Name(name) | ast.Attribute(attr=name) if name in _NAMING:
            return [node]
        case ast.Name("cast"):
            return node.args[:1]
        case ast.Name("zip"):  # only told what holds anyway
            return node.keywords
        case ast.Attribute(ast.Name(name)) if name in _LOGS:
            return [*node.args, *node.keywords]
    return []


def _types_of(node: ast.AST) -> Iterable[ast.AST]:
    """Return what is a type, and what is said in an exception."""
    match node:
        case ast.AnnAssign():
            return [node.annotation]
        case ast.Subscript(ast.Name(name)) if name in _TYPES:
            return [node]
        case ast.Raise(ast.expr() as error):
            return [it for it in ast.walk(error) if isinstance(it, ast.Constant)]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            overload = any("overload" in ast.unparse(it) for it in node.decorator_list)
            return [node] if overload else [node.returns] if node.returns else []
    return []


# --- walking -------------------------------------------------------------------------------------


class _Place(NamedTuple):
    names: tuple[str, ...] = ()
    runs: range = range(0)
    body: range = range(0)
    imported: bool = True


def _places(node: ast.AST, place: _Place, skip: set[ast.AST]) -> Iterator[tuple[ast.AST, _Place]]:
    if node in skip:
        return
    place = place._replace(runs=_header(node) or place.runs)
    inner = place
    if isinstance(node, Function):
        inner = _Place((*place.names, node.name), range(0), _span(node), imported=False)
    elif isinstance(node, ast.ClassDef):
        inner = place._replace(names=(*place.names, node.name))
    yield node, inner._replace(runs=_first(node)) if isinstance(node, Function) else place
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                outer = place._replace(names=inner.names)  # a decorator, a base class
                yield from _places(child, inner if name == "body" else outer, skip)


def _span(node: ast.stmt | ast.expr | ast.ExceptHandler | ast.pattern) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _first(node: Function) -> range:
    """Return the lines that run first when a function is called."""
    body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
    return _header(body[0]) or range(0)


def _header(node: ast.AST) -> range | None:
    """Return the lines of a statement without the statements inside."""
    match node:
        case ast.match_case(pattern, _, [first, *_]):
            return range(pattern.lineno, max(first.lineno, pattern.lineno + 1))
        case ast.stmt() | ast.ExceptHandler():
            inner = getattr(node, "body", None)
            if not inner:
                return _span(node)
            return range(node.lineno, max(inner[0].lineno, node.lineno + 1))
    return None


# --- mutations -----------------------------------------------------------------------------------


class _File:
    """A file that is being changed."""

    def __init__(self, path: Path, source: Path) -> None:
        self.name = path.relative_to(source).as_posix()
        self.data = path.read_bytes()
        self.lines = self.data.splitlines(keepends=True)
        self.starts = [0, *itertools.accumulate(map(len, self.lines))]
        self.tree = ast.parse(self.data)
        self.needed = set(map(_needed_call, ast.walk(self.tree)))

    def mutations(self) -> Iterator[Mutation]:
        seen = set()
        for node, place in _places(self.tree, _Place(), _left_alone(self.tree, self.lines)):
            for operator, edit in edits(node):
                mutation = self._mutation(operator, edit, place)
                if mutation.changed in seen or (operator == "call" and node in self.needed):
                    continue
                seen.add(mutation.changed)
                yield mutation

    def _mutation(self, operator: str, edit: Edit, place: _Place) -> Mutation:
        node = edit.node
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(last, node.end_col_offset or 0)
        changed = self.data[:start] + edit.text.encode() + self.data[end:]
        rest = len(self.data) - self.starts[last]
        before = b"".join(self.lines[first:last])
        after = changed[self._offset(first + 1, 0) : len(changed) - rest]
        function = ".".join(place.names) or "the module"
        identity = Identity(self.name, function, operator, _squeezed(before), _squeezed(after))
        return Mutation(identity, first + 1, place.runs, place.body, place.imported, changed)

    def _offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column


def _needed_call(node: ast.AST) -> ast.AST | None:
    """Return the call inside that is awaited, raised or entered: no value can replace it."""
    match node:
        case ast.Await(inner) | ast.Expr(inner) | ast.Raise(inner) | ast.withitem(inner):
            return inner
    return None


def _squeezed(text: bytes) -> str:
    return re.sub(r"\s+", " ", text.decode()).strip()


def mutations(path: Path, source: Path) -> list[Mutation]:
    """Return every mutation of a file; a few may not be programs, see `is_program`."""
    return list(_File(path, source).mutations())


def at_place(place: str, source: Path) -> list[Mutation]:
    """Return every mutation of a file, or of some lines: `wire/codec.py`, `wire/codec.py:12-40`."""
    name, _, lines = place.partition(":")
    first, _, last = lines.partition("-")
    wanted = range(int(first or 1), int(last or first or sys.maxsize) + 1)
    found = mutations(source / name, source)
    return [it for it in found if it.line in wanted and is_program(it)]


def is_program(mutation: Mutation) -> bool:
    """Say whether the file with the change can be compiled, without a warning."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile(mutation.changed, mutation.identity.file, "exec", dont_inherit=True)
    except (SyntaxError, SyntaxWarning):
        return False
    return True


# --- sample --------------------------------------------------------------------------------------


def sample(
    source: Path,
    count: int,
    random: Random,
    package: str | None = None,
    operator: str | None = None,
) -> list[Mutation]:
    """Take mutations from every package, in proportion to its lines of code.

    Each line that can be changed is as likely as any other, however many changes it allows.
    """
    files = {name: paths for name, paths in packages(source).items() if package in (None, name)}
    sizes = {name: sum(map(_lines_of_code, paths)) for name, paths in files.items()}
    chosen: list[Mutation] = []
    for name, share in shares(sizes, count).items():
        lines = defaultdict(list)
        for path in files[name]:
            for mutation in mutations(path, source):
                if operator in (None, mutation.identity.operator):
                    lines[path, mutation.line].append(mutation)
        order = random.sample(sorted(lines), len(lines))
        picked = (random.choice(lines[line]) for line in order)
        chosen += itertools.islice(filter(is_program, picked), share)
    random.shuffle(chosen)
    return chosen


def shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """Divide a count in proportion; what rounding leaves goes to the largest fractions."""
    exact = {name: count * size / (sum(sizes.values()) or 1) for name, size in sizes.items()}
    whole = {name: int(share) for name, share in exact.items()}
    for name in sorted(exact, key=lambda it: whole[it] - exact[it])[: count - sum(whole.values())]:
        whole[name] += 1
    return whole


def _lines_of_code(path: Path) -> int:
    tree = ast.parse(path.read_bytes())
    return len({node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)})
