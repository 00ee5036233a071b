"""A value that does not fit a type: where, and why, in words that a model understands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Self

from ..wire import Error

__all__ = [
    "SchemaMismatch",
    "UnsupportedType",
    "WrongType",
    "brief",
    "expected",
    "missing",
    "unexpected",
]

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_BRIEF = 60
"""As much of a value as helps to recognise it."""


class SchemaMismatch(Error, ValueError):
    """A value does not fit the type that it should have.

    Attributes:
        problem: what is wrong with it.
        path: where, from the whole value `$` downward.
    """

    def __init__(self, problem: str, *steps: str | int) -> None:
        self.problem = problem
        self.steps: tuple[str | int, ...] = steps
        super().__init__(f"{self.path}: {problem}")

    def within(self, step: str | int) -> Self:
        """Say that it happened inside an item or a field of something larger."""
        self.steps = (step, *self.steps)
        self.message = f"{self.path}: {self.problem}"
        return self

    @property
    def path(self) -> str:
        """Where it is: `$.items[2].price`."""
        return "$" + "".join(_step(step) for step in self.steps)


class WrongType(SchemaMismatch):
    """A value is of another type altogether."""


class UnsupportedType(Error, TypeError):
    """There is no JSON Schema for this type."""


def _step(step: str | int) -> str:
    if isinstance(step, str) and _IDENTIFIER.match(step):
        return f".{step}"
    return f"[{step!r}]"


def brief(value: Any) -> str:
    """Show a value, or the beginning of it."""
    text = repr(value)
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF - 1]}…"


def expected(name: str, value: Any) -> WrongType:
    """Say that a value is of another type."""
    return WrongType(f"expected `{name}`, got `{_kind(value)}`")


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def missing(key: str) -> SchemaMismatch:
    """Say that something required is not there."""
    return SchemaMismatch("required, and missing", key)


def unexpected(key: str, known: Iterable[str]) -> SchemaMismatch:
    """Say that there is something that nobody asked for."""
    names = list(known)
    close = get_close_matches(key, names, n=1)
    if close:
        hint = f"did you mean `{close[0]}`?"
    elif names:
        hint = "only known are " + ", ".join(f"`{name}`" for name in names)
    else:
        hint = "nothing is expected here"
    return SchemaMismatch(f"unexpected; {hint}", key)
