"""Rules for shell commands: what they look like, and which commands they allow or forbid.

To allow, a rule must match a simple command of which nothing is left open. To forbid, it is enough
that it matches one way to read it; if that is not certain, a person has to look.
"""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass
from enum import Enum

from .grammar import parse
from .programs import Words, basename, only_exactly, unwrapped
from .script import Word

__all__ = ["CommandForm", "CommandPattern", "Match"]

_WILDCARD = re.compile(r"(?<!\\)\*")
_OPEN = "\0"
"""Stands for a word that is not known before the command runs. No command can contain it."""


class Match(Enum):
    """Whether a rule that forbids is about a command."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """The pattern in the brackets of a rule for `Bash`.

    Attributes:
        text: as it was written.
        kind: `any`, `exact`, `prefix` (whatever follows) or `glob` (wildcards elsewhere).
        fixed: the words at its beginning that are spelled out.
        problem: why it can never allow anything; None if it can.
    """

    text: str
    kind: str
    fixed: Words = ()
    problem: str | None = None

    @classmethod
    def of(cls, text: str) -> CommandPattern:
        """Parse a pattern."""
        text = text.strip()
        if text == "*":
            return cls(text, "any")
        stars = len(_WILDCARD.findall(text))
        if text.endswith((":*", " *")) and stars == 1:
            return cls._checked(text, "prefix", text[:-2])
        if stars:
            head = _WILDCARD.split(text, maxsplit=1)[0]
            return cls._checked(
                text,
                "glob",
                head[: len(head.rstrip())] if head[-1:] == " " else head.rpartition(" ")[0],
            )
        return cls._checked(text, "exact", text)

    @classmethod
    def _checked(cls, text: str, kind: str, head: str) -> CommandPattern:
        """Split the beginning into words; it must be one simple command."""
        script = parse(head)
        commands = script.commands
        simple = len(commands) == 1 and script.certain and not commands[0].redirects
        words = commands[0].words if simple and not commands[0].assignments else ()
        problem = None
        if kind != "exact" and head.strip():
            if not words:
                problem = "its beginning is not one plain command; each command is matched alone"
            elif not all(word.static for word in words):
                problem = "its beginning holds something that the shell expands"
        return cls(text, kind, tuple(words) if problem is None else (), problem)

    # --- to allow --------------------------------------------------------------------------------

    def allows(self, words: Words) -> str | None:
        """Whether it allows a simple command: "" if so, None if it is about others, or why not."""
        for form in dict.fromkeys([words, unwrapped(words)]):
            if self.problem is None and form[0].static and self._fits(form):
                return "" if self.kind == "exact" else only_exactly(form, self.fixed) or ""
        return None

    def _fits(self, words: Words) -> bool:
        fixed = self.fixed
        if len(words) < len(fixed) or not all(map(Word.same_as, words, fixed)):
            return False
        if self.kind == "exact":
            return bool(fixed) and len(words) == len(fixed)
        if self.kind == "prefix":
            return True
        shown = (" ".join(map(_quoted, words)), " ".join(map(_as_written, words)))
        return any(_compiled(self.text, strict=True).fullmatch(text) for text in shown)

    # --- to forbid -------------------------------------------------------------------------------

    def match(self, form: CommandForm, *, ignore_case: bool) -> Match:
        """Whether it is about a command, however that is written."""
        regex = _compiled(self.text, strict=False, ignore_case=ignore_case)
        if any(regex.fullmatch(text) for text in form.texts):
            return Match.YES
        start = _start(self.text)
        may = any(head.startswith(start) or start.startswith(head) for head in form.heads)
        return Match.MAYBE if may else Match.NO

    def matches_text(self, text: str) -> bool:
        """Whether a whole command line is of its form, operators and all."""
        return _compiled(self.text, strict=False).fullmatch(text.strip()) is not None


@dataclass(frozen=True, slots=True)
class CommandForm:
    """A command in all the ways to write it that a forbidding rule may mean.

    Attributes:
        source: as it was written.
        texts: with and without quotes, with and without the directory of the program.
        heads: what it certainly begins with, if not every word is known; else empty.
    """

    source: str
    texts: tuple[str, ...]
    heads: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: Words) -> CommandForm:
        """Write a command in all these ways."""
        source = " ".join(word.raw for word in words)
        rest = "".join(f" {word.text}" for word in words[1:])
        names = tuple(dict.fromkeys((words[0].text, basename(words[0]))))
        texts = dict.fromkeys((source, *(name + rest for name in names)))
        known = list(itertools.takewhile(lambda word: word.static, words))
        if len(known) == len(words):
            return cls(source, tuple(texts))
        if not known:
            return cls(source, tuple(texts), ("",))
        more = "".join(f"{word.text} " for word in known[1:])
        return cls(source, tuple(texts), tuple(f"{name} {more}" for name in names))


@functools.lru_cache(maxsize=512)
def _compiled(text: str, *, strict: bool, ignore_case: bool = False) -> re.Pattern[str]:
    end = ""
    if text.endswith(":*"):
        text = text[:-2] + " *"
    if text.endswith(" *") and (not strict or len(_WILDCARD.findall(text)) == 1):
        text, end = text[:-2], r"(\s.*)?"
    parts = [re.escape(part) for part in _WILDCARD.split(text)]
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    return re.compile(".*".join(parts) + end, flags)


@functools.lru_cache(maxsize=512)
def _start(text: str) -> str:
    return _WILDCARD.split(text.removesuffix(":*"), maxsplit=1)[0]


_PLAIN = re.compile(r"[\w@%+=:,./^-]*", re.ASCII)


def _quoted(word: Word) -> str:
    """Show a word in the one way in which a rule would write it."""
    text = word.text if word.static else word.head
    rest = "" if word.static else _OPEN
    if _PLAIN.fullmatch(text[1:] if word.tilde else text) and (text or rest):
        return text + rest
    return "'" + text.replace("'", "'\"'\"'") + "'" if word.static else _OPEN


def _as_written(word: Word) -> str:
    return word.raw if word.static else _OPEN
