"""A command line as a whole: its commands in their order, the files that they open, and doubts.

Rules that deny compare every command that the line names or starts, and every file that it opens.
`why_open()` says once for each line why a bare `Bash` does not allow it beside such rules.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .file_use import UseContext
from .paths import ResolvedPath, is_protected, normal
from .rules import Rule, path_of
from .shell.doing import Doing, Opened, describe, is_glob, pieces
from .shell.parser import parse
from .shell.patterns import CommandPattern, Match
from .shell.programs import EVALUATORS, RUNNERS, SHELLS, UNKNOWN, Words, basename, why_not_set
from .shell.script import Command, Script, Word, fragments, names_in

_MOST_COMMANDS = 400
_MOST_WORDS = 64
"""Words behind a program that runs others to analyse as commands."""
_DEEPEST = 4
"""Nested commands and shells to analyse."""
_MOST_FILES = 200
"""More files make it uncertain what a line does."""

_IN_GROUPS = re.compile(r"[()]|(?<!\S)\{(?!\})|\b(?:do|then|else)\b")
_LOOP = re.compile(r"\b(?:for|while|until)\b")
_AT_ONCE = re.compile(r"(?<![&><|])&(?![&>])")
HARMLESS_TARGETS = names_in("/dev/null /dev/stdout /dev/stderr")
_VARIABLE = re.compile(r'"?\$(?:(\w+)|\{(\w+)\})"?')
_OF_PROJECT = re.compile(r"(?!.*\.\.)[\w.][\w./-]*|\$PYTHONPATH")
"""A folder in a search path that is one of the project."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a line; `outer` are the commands that run it, from the outside.

    `passed` are the files whose names `find` or `xargs` gives to it; None if they are not known.
    """

    command: Command
    doing: Doing
    script: Script
    outer: tuple[Words, ...] = ()
    passed: list[Opened] | None = None

    def is_allowed(self, rules: Sequence[CommandPattern]) -> bool:
        """Whether a rule allows it, or a command that runs it; code needs an exact rule."""
        behind = [words for words in (self.command.words, *self.outer) if words]
        usable = [it for it in rules if it.kind == "exact" or not self.doing.code]
        return any(it.allows(words) == "" for words in behind for it in usable)


@dataclass(frozen=True, slots=True)
class File:
    """A file that a line opens, where it leads.

    Without `forms` it may be any file; unless `clear`, it may lead elsewhere, too.
    """

    shown: str
    opened: Opened
    forms: tuple[str, ...] = ()
    clear: bool = True

    def match(self, rule: Rule, context: UseContext) -> Match:
        """Whether a rule that denies or asks matches this file, or one in this folder."""
        opened = self.opened
        pattern = path_of(rule)
        assert pattern is not None
        # A file that must not be read must not be written either.
        touched = opened.writes
        if rule.tool == "Read":
            touched = max(opened.reads, opened.writes, key=lambda it: it.value)
        if touched is Match.NO:
            return Match.NO
        globs = is_glob(opened.word)
        if context.matches(rule, self.forms, forbids=True):
            return touched if opened.whole and not globs else Match.MAYBE
        if not self.forms or not self.clear:
            return Match.MAYBE
        # What is written into a folder does not show what else is in it.
        inside = opened.below and (rule.tool != "Read" or opened.reads is not Match.NO)
        roots = context.roots(rule, forbids=True)
        for form in self.forms:
            if globs and pattern.meets(form, roots, dots=False, isdir=context.isdir):
                return Match.MAYBE
            if inside and context.reaches_into(
                form, pattern, roots, opened.below, dots=opened.dots
            ):
                return Match.MAYBE
        return Match.NO


class Line:
    """The commands of a line, also those behind others."""

    def __init__(self, text: str, context: UseContext) -> None:
        self.text = text
        self.context = context
        self.script: Script = parse(text)
        self.commands: dict[Words, None] = {}
        self.steps: list[Step] = []
        self.doubts: list[str] = []
        self._names: list[Opened] | None = []
        self._read(self.script, text, (), 0)

    # --- its commands ----------------------------------------------------------------------------

    def _read(self, script: Script, text: str, outer: tuple[Words, ...], depth: int) -> None:
        if not script.certain:
            self.doubts.append(f"it cannot be parsed with certainty: {script.doubts[0]}")
            self._guess(text)
        is_flat = depth == 0 and not _IN_GROUPS.search(text)
        for command in script.commands:
            if not command.words:
                self._add_step(Step(command, Doing(), script, outer))
                continue
            if is_flat and not command.piped:
                self._names = []
            self._walk(Step(command, Doing(), script, outer), depth)

    def _walk(self, given: Step, depth: int) -> None:
        command, script, names = given.command, given.script, self._names
        if depth > _DEEPEST or len(self.steps) >= _MOST_COMMANDS:
            self.doubts.append("it runs too many commands, one behind another")
            return
        words = tuple(self._with_head(word, script) for word in command.words)
        doing = describe(replace(command, words=words))
        self._add(command.words, behind=bool(doing.why))
        self._add_step(replace(given, doing=doing))
        for words in (doing.named, *((file,) for file in doing.scripts)):
            if words:
                self.commands[words] = None
        outer = (*given.outer, command.words)
        reads = tuple(it for it in command.redirects if it.kind != "out")
        passed = {
            "find": doing.passes,
            "xargs": names if command.piped and not reads else None,
        }.get(basename(command.words[0]), given.passed)
        for inner in doing.inner:
            if passed and all(it.word.text != "." for it in passed):  # so none is an option
                inner = tuple(replace(it, head="./") if _is_passed(it) else it for it in inner)
            inside = replace(command, words=inner, assignments=(), redirects=reads)
            self._walk(Step(inside, doing, script, outer, passed), depth + 1)
        self._hear(command, doing, script)
        for text in doing.texts:
            self._read(parse(text), text, outer, depth + 1)
        self._names = _names_after(command, doing, names)

    def _add_step(self, step: Step) -> None:
        self.steps.append(step)
        for redirect in step.command.redirects:
            if redirect.kind in ("in", "out"):
                writes = redirect.kind == "out"
                (step.doing.write if writes else step.doing.read)(redirect.target)
                step.doing.written |= writes and redirect.target.text not in HARMLESS_TARGETS

    def _with_head(self, word: Word, script: Script) -> Word:
        """Add the prefix that all values of a loop variable share."""
        values = self._loop(word, script)
        heads = [it.text if it.static else it.head for it in values]
        if values and all(head and head[0] != "-" for head in heads):
            return replace(word, head=posixpath.commonprefix(heads) or "…")
        return word

    def _loop(self, word: Word, script: Script) -> tuple[Word, ...]:
        found = _VARIABLE.fullmatch(word.raw)
        name = (found[1] or found[2]) if found else ""
        values = script.loops.get(name, ())
        for command in script.commands if values else ():
            sets = [f"{it.name}=" for it in command.assignments]
            words = [it.text for it in command.words]
            if words[:1] == ["read"] or any(it.startswith(f"{name}=") for it in (*sets, *words)):
                return ()
        plain = bool(values) and all(it.static and not re.search(r"\s", it.text) for it in values)
        return values if plain or word.raw.startswith('"') else ()

    def _add(self, words: Words, *, behind: bool = True) -> None:
        """Note a command, and those that may stand behind a program that runs others."""
        self.commands[words] = None
        name = basename(words[0])
        if name.startswith("git-"):
            self.commands[Word("git", "git"), Word(name[4:], name[4:]), *words[1:]] = None
        if not behind:
            return
        if name in RUNNERS | EVALUATORS | SHELLS or re.fullmatch(r"ld[-.].*so[.\d]*", name):
            for index in range(1, min(len(words), _MOST_WORDS)):
                self.commands[words[index:]] = None

    def _guess(self, text: str) -> None:
        for fragment in fragments(text)[:_MOST_COMMANDS]:
            self._add(tuple(Word(part, part) for part in fragment))

    def _hear(self, command: Command, doing: Doing, script: Script) -> None:
        """Note texts that a program gets: a shell runs them, another one may."""
        here = [it.target.text for it in command.redirects if it.kind == "here"]
        here += script.heredocs if here else ()
        if doing.runs or doing.why:
            doing.told += here
        for assignment in command.assignments:
            doing.told.append(assignment.value.text)
        if basename(command.words[0]) in SHELLS:
            doing.texts += here

    # --- what is not certain ---------------------------------------------------------------------

    def why_open(self, own: Sequence[CommandPattern]) -> str:
        """Return why it is not known what the line does; empty if it is known.

        `own` are the patterns of allow rules: a command that one allows may be unknown.
        """
        if self.doubts:
            return self.doubts[0]
        for step in self.steps:
            why = step.doing.why or self._why_elsewhere(step)
            if why := self._why_set(step) or ("" if step.is_allowed(own) else why):
                shown = step.command.source or " ".join(it.raw for it in step.command.words)
                return f"`{shown}`: {why}"
        return self._why_protected() or self._why_own_code()

    def _why_elsewhere(self, step: Step) -> str:
        for file in step.doing.scripts:
            for place in self.directories or [""]:
                path = self.context.resolve(file.text, cwd=place or None)
                inside = self.context.contains(path) or (
                    path.forms and all(form.startswith("/tmp/") for form in path.forms)
                )
                if not inside or not (place or file.text.startswith("/")):
                    return f"{file.raw!r} is not in a working directory"
        return ""

    def _why_set(self, step: Step) -> str:
        for assignment in (*step.command.assignments, *step.doing.sets):
            parts = assignment.value.text.split(":") if assignment.name == "PYTHONPATH" else [""]
            why = why_not_set(assignment, step.command.words)
            if why is not None and not all(map(_OF_PROJECT.fullmatch, parts)):
                return why
        return ""

    def _why_protected(self) -> str:
        for file in self.files if self.context.protect else ():
            paths = ResolvedPath(file.shown, file.forms)
            if file.opened.writes is Match.YES and is_protected(paths):
                return f"{file.shown!r} is protected: code in it may run later"
        return ""

    def _why_own_code(self) -> str:
        """Return why it may run code that it has written; empty if it cannot."""
        loops = _LOOP.search(self.text) is not None
        at_once = loops or _AT_ONCE.search(self.text) is not None
        for index, step in enumerate(self.steps):
            for other in self.steps if at_once else self.steps[:index]:
                is_own = other is step or other.command.words in step.outer
                if step.doing.runs and other.doing.written and (loops or not is_own):
                    return f"`{step.command.source}` may run a file that the line has written"
        return ""

    # --- its files -------------------------------------------------------------------------------

    @functools.cached_property
    def directories(self) -> list[str] | None:
        """Where its commands may run; None if that is not certain."""
        return directories_of(self, self.context)

    @functools.cached_property
    def files(self) -> list[File]:
        """The files that it opens."""
        found: dict[File, None] = {}
        places = self.directories
        for step in self.steps:
            for opened in step.doing.opened:
                for it in self._meant(opened, step):
                    found[self._followed(it, places)] = None
                if len(found) * len(places or "1") > _MOST_FILES:
                    anything = Opened(UNKNOWN, Match.YES, Match.YES)
                    return [*found, File("…", anything)]
        return list(found)

    def _meant(self, opened: Opened, step: Step) -> Iterator[Opened]:
        """Replace the variable of a loop, and the names that `find` and `xargs` pass on."""
        word = opened.word
        if word.static or is_glob(word):
            yield opened
        elif values := self._loop(word, step.script):
            for part, _ in (it for value in values for it in pieces(value)):
                yield opened._replace(word=part)
        elif step.passed is None or not _is_passed(word):
            yield opened
        else:
            for it in step.passed:
                below = "/".join(part for part in (it.below, opened.below) if part)
                yield opened._replace(word=it.word, below=below, dots=it.dots)

    def _followed(self, opened: Opened, places: list[str] | None) -> File:
        word = opened.word
        if not (word.static or is_glob(word)) or (places is None and word.text[:1] != "/"):
            return File(word.raw, opened)
        places = places or [self.context.cwd]
        paths = [self.context.resolve(word.text, cwd=place) for place in places]
        forms = dict.fromkeys(form for path in paths for form in path.all_forms)
        return File(word.raw, opened, tuple(forms), all(path.forms for path in paths))


def _is_passed(word: Word) -> bool:
    return not word.static and word.text in (UNKNOWN.text, "{}")


def _names_after(
    command: Command, doing: Doing, before: list[Opened] | None
) -> list[Opened] | None:
    """Return the files whose names the next command of a pipe may get; None for other texts."""
    given = any(it.kind in ("in", "here") for it in command.redirects)
    if given or before is None or doing.why:
        return None
    if doing.filters:
        return before if command.piped else None
    return None if doing.lists is None else [*before, *doing.lists]


# --- directories ----------------------------------------------------------------------------------

_MOST_DIRECTORIES = 8
"""More directories make it uncertain where a command runs."""
_MOVERS = names_in("cd pushd popd chdir")
_SETS_DIRECTORY = re.compile(r"(?:HOME|CDPATH|cdpath|PWD|OLDPWD)\+?=")
"""Variables that say where `cd` and `~` lead."""


def directories_of(line: Line, context: UseContext) -> list[str] | None:
    """List the directories that relative paths may refer to; None if that is not certain.

    Each `cd` may run or not, so each may add to every other.
    """
    found = {context.cwd: None}
    sets = (it.name for step in line.steps for it in (*step.command.assignments, *step.doing.sets))
    if any(_SETS_DIRECTORY.match(f"{name}=") for name in sets):
        return None
    for words in line.commands:
        if any(_SETS_DIRECTORY.match(word.text) for word in words):
            return None
        if basename(words[0]) not in _MOVERS:
            continue
        folder = _folder_of(words, context)
        if folder is None or len(found) > _MOST_DIRECTORIES:
            return None
        found |= {normal(posixpath.join(directory, folder)): None for directory in found}
    return list(found)


def _folder_of(words: Words, context: UseContext) -> str | None:
    """Return where a `cd` leads; None if shells disagree, or links may lead elsewhere."""
    operands = [word for word in words[1:] if word.text not in ("--", "-L")]
    if not operands:
        return context.home
    target = operands[0]
    # Behind the name of a link, `..` is not where it seems to be.
    climbs = re.search(r"[^./][^/]*/+\.\.(?:/|$)", target.text)
    if len(operands) > 1 or not target.static or target.text[:1] in ("", "-") or climbs:
        return None
    return context.home + target.text[1:] if target.tilde else target.text


# --- removals -------------------------------------------------------------------------------------

_REMOVERS = names_in("rm rmdir")
_EVERYTHING = re.compile(r"\*+|\?\*|\.\*|\.\[!\.\]\*|\{.*\}")


def critical_removal(line: Line, context: UseContext) -> str | None:
    """Find a command that removes a whole home, root or project directory."""
    removals = [words for words in line.commands if basename(words[0]) in _REMOVERS]
    if not removals:
        return None
    kept = {"/", context.home, context.base, context.cwd, *context.directories}
    kept |= {normal(context.realpath(path)) for path in kept}
    for words in removals:
        targets = (_removed(word, context) for word in words[1:] if word.raw[:1] != "-")
        if any(target is None or _is_critical(target, kept) for target in targets):
            return " ".join(word.raw for word in words)
    return None


def _removed(word: Word, context: UseContext) -> ResolvedPath | None:
    """Resolve the target of a removal; None if it is unknown."""
    folder, _, name = word.text.rpartition("/")
    if re.match(r"[$`]", folder or word.text):
        return None  # If the variable is empty, this is the root.
    target = word.text
    if not word.static and _EVERYTHING.fullmatch(name):
        target = folder or ("/" if target.startswith("/") else ".")
    return context.resolve(target)


def _is_critical(path: ResolvedPath, kept: set[str]) -> bool:
    return any(
        form.count("/") < 2 or any(f"{directory}/".startswith(f"{form}/") for directory in kept)
        for form in path.forms
    )
