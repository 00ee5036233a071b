"""Patterns of shell commands, and the commands that they match.

To allow, a pattern must match a simple command without open words. To deny, it is enough to match
one reading of the command; an uncertain match is asked about.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from .parser import parse
from .programs import Words, basename, only_exactly, unwrapped
from .script import Word, remembered

Regexes = tuple[re.Pattern[str], ...]

_WILDCARD = re.compile(r"(?<!\\)\*")
_OPEN = "\0"
"""Stands for a word that is not known before the command runs. No command can contain it."""


class Match(Enum):
    """Whether a deny rule matches a command."""

    NO = 0
    MAYBE = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """The pattern in the brackets of a rule for `Bash`.

    `kind` is `any`, `exact`, `prefix` (whatever follows) or `glob` (wildcards elsewhere). `fixed`
    are the first words that it spells out; `plain` is the text without quotes and doubled blanks,
    for deny rules. With a `problem`, it can never allow anything.
    """

    text: str
    kind: str
    fixed: Words = ()
    problem: str | None = None
    plain: str = ""

    @classmethod
    def of(cls, text: str) -> CommandPattern:
        """Parse a pattern."""
        text = text.strip()
        if text == "*":
            return cls(text, "any")
        stars = len(_WILDCARD.findall(text))
        kind, head = "exact", text
        if text.endswith((":*", " *")) and stars == 1:
            kind, head = "prefix", text[:-2]
        elif stars:  # the last word may go on behind the star
            start = _WILDCARD.split(text)[0]
            kind, head = "glob", start.rstrip() if start[-1:] == " " else start.rpartition(" ")[0]
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
        fixed = tuple(words) if problem is None else ()
        plain = re.sub(r"\s+", " ", text)
        if fixed and kind != "glob":
            plain = " ".join(word.text for word in fixed) + (" *" if kind == "prefix" else "")
        return cls(text, kind, fixed, problem, plain)

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
        written = (word.raw if word.static else _OPEN for word in words)
        shown = (" ".join(map(_quoted, words)), " ".join(written))
        return any(_compiled(self.text, strict=True).fullmatch(text) for text in shown)

    # --- to deny ---------------------------------------------------------------------------------

    def match(self, words: Words, *, ignore_case: bool) -> Match:
        """Whether it matches a command in any spelling."""
        program = _program(self.plain)
        names = {_folded(name, ignore_case) for name in (words[0].text, basename(words[0]))}
        if words[0].static and program and _folded(program, ignore_case) not in names:
            return Match.NO
        regexes, texts = _forbidding(self.plain, ignore_case=ignore_case), _ways_to_write(words)
        if any(regex.fullmatch(text) for regex in regexes for text in texts):
            return Match.YES
        start = _start(self.plain)
        if any(head.startswith(start) or start.startswith(head) for head in _heads(words)):
            return Match.MAYBE
        return Match.NO

    def mentioned_in(self, text: str) -> bool:
        """Whether a text names its program, and the words after it in their order."""
        place = 0
        text = re.sub(r"[\"'\\]", "", text)
        for token in _mentions(self.plain, tuple(word.text for word in self.fixed)):
            found = token.search(text, place)
            if found is None:
                return False
            place = found.end()
        return bool(_start(self.plain).strip())

    def matches_text(self, text: str) -> bool:
        """Whether a whole command line is of its form, operators and all."""
        texts = (text.strip(), " ".join(text.split()))
        regexes = (_compiled(self.text, strict=False), _compiled(self.plain, strict=False))
        return any(regex.fullmatch(text) for regex in regexes for text in texts)


def _folded(text: str, ignore_case: bool) -> str:
    return text.casefold() if ignore_case else text


def _ways_to_write(words: Words) -> dict[str, None]:
    """Return a command as written, without quotes, and also without its program's directory."""
    rest = "".join(f" {word.text}" for word in words[1:])
    names = (words[0].text, basename(words[0]))
    return dict.fromkeys((" ".join(word.raw for word in words), *(name + rest for name in names)))


def _heads(words: Words) -> list[str]:
    """Return what a command certainly begins with, if not every word is known; else nothing."""
    known = list(itertools.takewhile(lambda word: word.static, words))
    if len(known) == len(words):
        return []
    if not known:
        return [""]
    more = "".join(f"{word.text} " for word in known[1:])
    return [f"{name} {more}" for name in (words[0].text, basename(words[0]))]


@remembered
def _forbidding(plain: str, *, ignore_case: bool) -> Regexes:
    """Compile a pattern, with and without the directory of its program."""
    program, blank, rest = plain.partition(" ")
    without = program.rpartition("/")[2] + blank + rest
    texts = dict.fromkeys([plain, without if _program(plain) else plain])
    return tuple(_compiled(text, strict=False, ignore_case=ignore_case) for text in texts)


@remembered
def _compiled(text: str, *, strict: bool, ignore_case: bool = False) -> re.Pattern[str]:
    end = ""
    if text.endswith(":*"):
        text = text[:-2] + " *"
    if text.endswith(" *") and (not strict or len(_WILDCARD.findall(text)) == 1):
        text, end = text[:-2], r"(\s.*)?"
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    return re.compile(joined_by_wildcards(_WILDCARD.split(text)) + end, flags)


def joined_by_wildcards(parts: Sequence[str], any_character: str = ".") -> str:
    """Write a regular expression for texts with anything in between; it takes linear time.

    All but the last are taken where they come first, and never looked for again.
    """
    first, *more = map(re.escape, parts)
    if not more:
        return first
    middle = "".join(f"(?>{any_character}*?{part})" for part in more[:-1])
    return f"{first}{middle}{any_character}*{more[-1]}"


@remembered
def _start(text: str) -> str:
    return _WILDCARD.split(text.removesuffix(":*"))[0]


@remembered
def _program(text: str) -> str:
    """Return the program that a pattern is about; empty if it leaves that open."""
    start = _start(text)
    name, blank, _ = start.partition(" ")
    return name.rpartition("/")[2] if blank or start == text.removesuffix(":*") else ""


@remembered
def _mentions(text: str, fixed: tuple[str, ...]) -> list[re.Pattern[str]]:
    start = _start(text).split(" ")[0]
    program, *others = fixed or (start,)
    ends = r"(?![\w-]|\.\w)" if fixed else ""
    begins = r"(?:(?<![\w.-])|(?<!\S)-[A-Za-z]{1,8}?)"  # also attached to an option, as in -Srm
    return [
        re.compile(begins + re.escape(program.rpartition("/")[2]) + ends, re.IGNORECASE),
        *(re.compile(r"(?<![\w-])" + re.escape(it) + r"(?![\w-])") for it in others),
    ]


_PLAIN = re.compile(r"[\w@%+=:,./^-]*", re.ASCII)


def _quoted(word: Word) -> str:
    """Show a word in the one way in which a rule would write it."""
    text = word.text if word.static else word.head
    rest = "" if word.static else _OPEN
    if _PLAIN.fullmatch(text[1:] if word.tilde else text) and (text or rest):
        return text + rest
    return "'" + text.replace("'", "'\"'\"'") + "'" if word.static else _OPEN
