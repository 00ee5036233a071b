"""What can be changed. An operator looks at one node of the syntax tree and gives its edits."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["OPERATORS", "Edit", "Operator", "edits"]

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Edit(NamedTuple):
    """A node, and the text that takes its place."""

    node: ast.expr | ast.stmt | ast.keyword
    text: str


Operator = Callable[[ast.AST], Iterator[Edit]]

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}

_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}

_PROSE = re.compile(r"[A-Za-z`'\"),.:;] [A-Za-z`'\"({]")
"""Words one after another: text for a person, of which tests compare what matters."""

_COPIES = {"bool", "dict", "frozenset", "iter", "list", "set", "tuple"}
"""Calls that mostly change only the type of a value."""

_OTHER_TYPES = {"all", "any", "enumerate", "len", "max", "min", "next", "sum", "super", "type"}
"""Calls whose argument is something else altogether: nothing works without them."""


def edits(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    """Yield every edit of a node itself, with the name of its operator."""
    for operator in OPERATORS:
        for edit in operator(node):
            yield operator.__name__, edit


def _expression(node: ast.expr, new: ast.expr | str) -> Edit:
    text = new if isinstance(new, str) else ast.unparse(new)
    return Edit(node, f"({text})")


# --- expressions ---------------------------------------------------------------------------------


def comparison(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        for place, old in enumerate(node.ops):
            for other in _COMPARISONS[type(old)]:
                new = copy.copy(node)
                new.ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                yield _expression(node, new)


def boolean(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _expression(node, ast.BoolOp(other, node.values))


def operand(node: ast.AST) -> Iterator[Edit]:
    """Leave out one operand of `and` or `or`."""
    if isinstance(node, ast.BoolOp):
        for place in range(len(node.values)):
            rest = [*node.values[:place], *node.values[place + 1 :]]
            yield _expression(node, ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0])


def negation(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield _expression(node, node.operand)


def arithmetic(node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC and not _is_type(node):
        yield _expression(node, ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right))
    elif isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
        new = ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)
        yield Edit(node, ast.unparse(new))


def _is_type(node: ast.expr) -> bool:
    """Say whether this looks like a type: `int | None`, `dict[str, Any]`, `Path`."""
    match node:
        case ast.BinOp(left, ast.BitOr(), right):
            return _is_type(left) or _is_type(right)
        case ast.Subscript(value):
            return _is_type(value)
        case ast.Name(name) | ast.Attribute(attr=name):
            return name in ("int", "str", "bool", "float", "dict", "list") or name[:1].isupper()
        case ast.Constant(value):
            return value is None
    return False


def shield(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.keyword("shield", ast.Constant(True)):
            yield Edit(node.value, "(False)")


def default(node: ast.AST) -> Iterator[Edit]:
    """Change the default of an argument."""
    if isinstance(node, Function | ast.Lambda):
        for value in [*node.args.defaults, *node.args.kw_defaults]:
            if value is not None:
                yield from constant(value)


def constant(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Constant(bool(value)):
            yield _expression(node, repr(not value))
        case ast.Constant(int(value)):
            yield _expression(node, repr(value + 1))
        case ast.Constant(float(value)):
            yield _expression(node, repr(value * 10 or 1.0))
        case ast.Constant(str(value)) if not _PROSE.search(value):
            yield _expression(node, repr(f"XX{value}"))
        case ast.Constant(bytes(value)):
            yield _expression(node, repr(b"XX" + value))


def condition(node: ast.AST) -> Iterator[Edit]:
    """Let a condition always, or never, hold."""
    match node:
        case ast.If(test) | ast.IfExp(test) | ast.match_case(guard=ast.expr() as test):
            values = ["True", "False"]
        case ast.While(test):
            values = ["False"]
        case _:
            return
    if not isinstance(test, ast.Constant):
        yield from (_expression(test, value) for value in values)


def filtering(node: ast.AST) -> Iterator[Edit]:
    """Let a comprehension keep everything."""
    if isinstance(node, ast.comprehension):
        yield from (_expression(test, "True") for test in node.ifs)


def keyword(node: ast.AST) -> Iterator[Edit]:
    """Leave out a keyword argument; those of `zip` only say what holds anyway."""
    if isinstance(node, ast.Call) and not _is_one_of(node.func, {"zip"}):
        for place, argument in enumerate(node.keywords):
            if argument.arg not in (None, "slots", "help", "metavar"):  # texts for a person
                rest = [*node.keywords[:place], *node.keywords[place + 1 :]]
                yield _expression(node, ast.Call(node.func, node.args, rest))


def call(node: ast.AST) -> Iterator[Edit]:
    """Take the only argument instead of the call's result."""
    match node:
        case ast.Call(function, [argument], []) if not isinstance(argument, ast.Starred):
            if not _is_type(function) and not _is_one_of(function, _COPIES | _OTHER_TYPES):
                yield _expression(node, argument)


def _is_one_of(function: ast.expr, names: set[str]) -> bool:
    return isinstance(function, ast.Name) and function.id in names


# --- statements ----------------------------------------------------------------------------------


def awaiting(node: ast.AST) -> Iterator[Edit]:
    """Leave out a call that is awaited."""
    match node:
        case ast.Expr(ast.Await()):
            yield Edit(node, "pass")
        case ast.Assign(value=ast.Await()) | ast.Return(ast.Await()):
            assert node.value is not None
            yield _expression(node.value, "None")


def statement(node: ast.AST) -> Iterator[Edit]:
    """Delete a statement, unless that only leaves a name undefined."""
    match node:
        case ast.Expr(ast.Call() | ast.Await() | ast.YieldFrom()):
            yield Edit(node, "pass")
        case ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield Edit(node, "pass")
        case ast.AugAssign() | ast.Delete() | ast.Raise() | ast.Break() | ast.Continue():
            yield Edit(node, "pass")


def returning(node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Return(ast.Constant(None | False)):  # to most callers they are the same
            return
        case ast.Return(ast.expr()):
            yield Edit(node, "return None")


def loop(node: ast.AST) -> Iterator[Edit]:
    """Skip the body of a loop."""
    if isinstance(node, ast.For):
        yield _expression(node.iter, "()")


def narrowed(node: ast.AST) -> Iterator[Edit]:
    """Let an `except` clause catch one type less."""
    match node:
        case ast.ExceptHandler(ast.Tuple(types) as caught):
            for place in range(len(types)):
                rest: list[ast.expr] = [*types[:place], *types[place + 1 :]]
                yield _expression(caught, ast.Tuple(rest, ast.Load()))
        case ast.ExceptHandler(ast.expr() as caught):
            yield _expression(caught, "()")


def widened(node: ast.AST) -> Iterator[Edit]:
    """Let an `except` clause catch everything."""
    match node:
        case ast.ExceptHandler(ast.Name("BaseException")):
            return
        case ast.ExceptHandler(ast.Name("Exception") as caught):
            yield _expression(caught, "BaseException")
        case ast.ExceptHandler(ast.expr() as caught):
            yield _expression(caught, "Exception")


# Of two that make the same edit, the first gives it its name.
OPERATORS: tuple[Operator, ...] = (
    shield, default, awaiting, comparison, boolean, operand, negation, arithmetic, condition,
    filtering, constant, keyword, call, statement, returning, loop, narrowed, widened,
)  # fmt: skip
