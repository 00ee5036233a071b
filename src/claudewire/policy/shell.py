"""A shell command, taken apart: which simple commands it runs, and how sure that is.

`parse()` never raises. What it cannot tell with certainty it says as a doubt; the commands that it
found before and after are kept, for rules that forbid. It reads what bash and zsh have in common,
and doubts whatever they understand differently.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = ["LONGEST", "Assignment", "Command", "Redirect", "Script", "Word", "fragments", "parse"]

LONGEST = 10_000
"""Characters of a command that is looked at: a longer one is doubted, as the CLI does."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    Attributes:
        raw: as it was written.
        text: without its quotes, as far as it is known.
        static: whether the shell takes it exactly as `text`: nothing in it is expanded.
        tilde: whether it starts with a `~` that the shell replaces by the home directory.
        head: what it is sure to begin with, if it is not static.
    """

    raw: str
    text: str
    static: bool = True
    tilde: bool = False
    head: str = ""

    def same_as(self, other: Word) -> bool:
        """Whether both are known and the shell makes the same of them."""
        return self.static and other.static and (self.text, self.tilde) == (other.text, other.tilde)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable that is set, for one command or from here on."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where a command reads from or writes to.

    Attributes:
        kind: `in`, `out`, `dup` (another descriptor, no file) or `here` (text in the command).
        target: the file, or the text of a here-document.
    """

    kind: str
    target: Word


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: at most one program that is run, with its words.

    Attributes:
        words: the program and its arguments.
        assignments: variables that are set before it.
        redirects: where it reads from and writes to.
        source: how it was written.
    """

    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """All that a command line runs.

    Attributes:
        commands: every simple command in it, however deep.
        doubts: why that may not be all, or may be read in another way; empty if it is certain.
        heredocs: the texts of its here-documents, which a shell among the commands would run.
    """

    commands: tuple[Command, ...]
    doubts: tuple[str, ...] = ()
    heredocs: tuple[str, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether a shell is sure to run these commands and no others."""
        return not self.doubts


def parse(text: str) -> Script:
    """Take a command line apart."""
    from .shell_grammar import Parser  # which needs the classes above

    if (doubt := _unreadable(text)) is not None:
        return Script((), (doubt,))
    parser = Parser(text)
    parser.run()
    doubts = tuple(dict.fromkeys(parser.doubts))
    return Script(tuple(parser.commands), doubts, tuple(parser.heredocs))


def _unreadable(text: str) -> str | None:
    if len(text) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    for char in text:
        if char not in " \t\n" and unicodedata.category(char)[0] in "ZC":
            # A shell, a terminal and a person may each see something else here.
            return f"it holds an invisible character, U+{ord(char):04X}"
    return None


_BREAKS = re.compile(r"[;&|\n\r(){}<>`]|\$\(|&&|\|\|")
_KEYWORDS = {
    "if",
    "then",
    "else",
    "elif",
    "do",
    "while",
    "until",
    "!",
    "time",
    "function",
    "coproc",
}
_ASSIGNS = re.compile(r"\w+\+?=")


def fragments(text: str) -> list[tuple[str, ...]]:
    """Guess what might be commands in a text that cannot be taken apart, rather too many."""
    found = []
    for part in _BREAKS.split(text):
        words = re.sub(r"[\"'\\]", "", part).split()
        while words and (words[0] in _KEYWORDS or _ASSIGNS.match(words[0])):
            del words[0]
        if words:
            found.append(tuple(words))
    return found
