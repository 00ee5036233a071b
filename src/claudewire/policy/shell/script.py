"""A parsed shell script: its simple commands, and the doubts about them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """Cache the results of a function for the rules of a few policies."""
    kept = functools.lru_cache(maxsize=512)(function)
    return cast("Callable[P, R]", kept)


def names_in(text: str) -> frozenset[str]:
    """Return the names in a text, separated by white space."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    `text` is the word without its quotes, as far as it is known. The shell takes a `static` one
    exactly so; of another, only `head` is certain. It replaces the `~` at the beginning of a
    `tilde` by the home directory. A `single` one stays one word when expanded.
    """

    raw: str
    text: str
    static: bool = True
    tilde: bool = False
    head: str = ""
    single: bool = field(default=True, compare=False)

    def same_as(self, other: Word) -> bool:
        """Whether both are known and mean the same to the shell."""
        return self.static and other.static and (self.text, self.tilde) == (other.text, other.tilde)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable that is set, for one command or from here on."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class Redirect:
    """A file or text that a command reads or writes.

    `kind` is `in`, `out`, `dup` (another descriptor, no file) or `here` (text in the command). The
    target of a here-document is the word that ends it, not static if the text is expanded.
    """

    kind: str
    target: Word


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: at most one program, with its words.

    `source` is the command as written; a `piped` one reads what other commands write.
    """

    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    source: str = ""
    piped: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Script:
    """The commands of a command line, however deep.

    `doubts` say why there may be other commands or readings; `loops` has the words of each variable
    of a loop.
    """

    commands: tuple[Command, ...]
    doubts: tuple[str, ...] = ()
    heredocs: tuple[str, ...] = ()
    loops: Mapping[str, tuple[Word, ...]] = field(default_factory=dict)

    @property
    def certain(self) -> bool:
        """Whether a shell is sure to run these commands and no others."""
        return not self.doubts


_BREAKS = re.compile(r"[;&|\n\r(){}<>`]|\$\(|&&|\|\|")
_KEYWORDS = names_in("if then else elif do while until ! time function coproc")
_ASSIGNS = re.compile(r"\w+\+?=")


def fragments(text: str) -> list[tuple[str, ...]]:
    """Guess the commands in text that cannot be parsed, rather too many than too few."""
    found = []
    for part in _BREAKS.split(text):
        words = re.sub(r"[\"'\\]", "", part).split()
        while words and (words[0] in _KEYWORDS or _ASSIGNS.match(words[0])):
            del words[0]
        if words:
            found.append(tuple(words))
    return found
