"""A value that does not fit a type: where and why, in words that help a model to correct it."""

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
    "closest",
    "expected",
    "unexpected",
]

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_BRIEF = 60
"""As much of a value as helps to recognise it."""

_ENOUGH = 20
"""How many problems are reported at once; a long list may have one in each item."""


class SchemaMismatch(Error, ValueError):
    """A value does not fit the type that it should have.

    Attributes:
        problem: what is wrong with it.
        steps: the fields and items that lead to it.
        others: further problems of the same value.
    """

    def __init__(self, problem: str, *steps: str | int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.steps: tuple[str | int, ...] = steps
        self.others: tuple[SchemaMismatch, ...] = ()

    @classmethod
    def joined(cls, mismatches: Iterable[SchemaMismatch]) -> SchemaMismatch:
        """Return the first of several mismatches, with all the others in `others`."""
        found = [each for mismatch in mismatches for each in mismatch.all][:_ENOUGH]
        found[0].others = tuple(found[1:])
        return found[0]

    @property
    def all(self) -> tuple[SchemaMismatch, ...]:
        """This problem and the others."""
        return (self, *self.others)

    def within(self, step: str | int) -> Self:
        """Add the field or item that contains the value to the beginning of the path."""
        for each in self.all:
            each.steps = (step, *each.steps)
        return self

    @property
    def path(self) -> str:
        """Where it is, as `$.items[2].price`; `$` is the whole value."""
        return "$" + "".join(_step(step) for step in self.steps)

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class WrongType(SchemaMismatch):
    """A value is of another type altogether."""


class UnsupportedType(Error, TypeError):
    """There is no JSON Schema for this type."""


def _step(step: str | int) -> str:
    if isinstance(step, str) and _IDENTIFIER.match(step):
        return f".{step}"
    return f"[{step!r}]"


def brief(value: Any) -> str:
    """Return the value as Python writes it, or the beginning of that."""
    text = repr(value)
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF - 1]}…"


def expected(name: str, value: Any) -> WrongType:
    """Say that a value is of another type."""
    got = "None" if value is None else type(value).__name__
    return WrongType(f"expected `{name}`, got `{got}`")


def closest(key: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt one is probably meant to be."""
    return next(iter(get_close_matches(key, known)), None)


def unexpected(key: str, known: Iterable[str]) -> SchemaMismatch:
    """Say that a field is not known, and which one may be meant."""
    names = list(known)
    meant = closest(key, names)
    if meant:
        hint = f"did you mean `{meant}`?"
    elif names:
        hint = "the known fields are " + ", ".join(f"`{name}`" for name in names)
    else:
        hint = "no fields are expected here"
    return SchemaMismatch(f"unexpected; {hint}")
