"""The use of a shell, and what rules say about it: its commands, and the files that they show."""

from __future__ import annotations

import functools
import itertools
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from .file_use import NO_MATCH, Finding, UseContext, Verdict, path_allowed, scoped
from .paths import ResolvedPath, is_protected, normal
from .rules import Rule
from .shell import (
    SAFE_VARIABLES,
    SHELLS,
    Command,
    CommandForm,
    Match,
    Script,
    Word,
    Words,
    basename,
    names_in,
    parse,
    possible_commands,
)

__all__ = ["CommandUse"]

_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


_READS = names_in(
    """
    awk base32 base64 bat cat cmp comm cp csplit curl cut dd diff egrep fgrep file fmt fold gawk
    grep gzip head hexdump install jq less ln mawk md5sum more mv nl od paste pr rev rg scp sed
    sha1sum sha256sum shuf sort source split strings tac tail tar tee tr uniq vim vi wc xxd
    yq zcat zip .
    """
)
_WRITES = names_in(
    """
    chmod chown cp dd install ln mkdir mv rm rmdir sed shred tee touch truncate unlink vi vim
    """
)
# How many are looked at. Beyond that it is not certain what a command does, and a person is asked.
_MOST_FILES = 200
_MOST_DIRECTORIES = 8

_UNKNOWN_FILE = Word("…", "…", static=False)
"""Stands for a file that was not looked at, and may be any file."""

_MOVERS = names_in("cd pushd popd chdir")
_REMOVERS = names_in("rm rmdir")
_EVERYTHING = re.compile(r"\*+|\?\*|\.\*|\.\[!\.\]\*|\{.*\}")

_OBEY_DIRECTORY = SHELLS | {"git"}
"""Programs that run what they find in a directory: hooks, scripts."""


class CommandUse:
    """A command line.

    Args:
        tool: the name of the tool.
        text: the command line; None if there is none.
        context: what the paths in it are relative to.
    """

    def __init__(self, tool: str, text: str | None, context: UseContext) -> None:
        self.tool = tool
        self.text: str = text or ""
        self.context = context

    @functools.cached_property
    def script(self) -> Script:
        """The parsed command line."""
        return parse(self.text)

    @functools.cached_property
    def possible(self) -> list[Words]:
        """Every command that might be run."""
        return possible_commands(self.script, self.text)

    @functools.cached_property
    def forms(self) -> list[CommandForm]:
        """The same, in the ways to write them."""
        return [CommandForm.of(words) for words in self.possible]

    @functools.cached_property
    def files(self) -> list[tuple[bool, Word, tuple[str, ...]]]:
        """Files that the commands name: whether it is written, its name, and where that leads."""
        context = self.context
        directories = _directories_of(self.script, context.cwd, context.home)
        found = []
        for written, word in _touched(self.script, self.possible):
            paths = [context.resolve(word.text, cwd=d) for d in directories or [context.cwd]]
            forms = tuple(form for path in paths for form in path.all_forms)
            # Where a relative path leads is not known if the directory is not.
            known = word if directories or word.text.startswith(("/", "~")) else _UNKNOWN_FILE
            found.append((written, known, forms))
        return found

    # --- rules that forbid or ask ----------------------------------------------------------------

    def match(self, rule: Rule) -> Finding:
        """Whether a rule that forbids or asks is about one of the commands."""
        pattern = rule.command
        assert pattern is not None
        if pattern.matches_text(self.text):
            return Finding(Match.YES, self.text)
        worst = self._unsure
        for form in self.forms:
            match = pattern.match(form, ignore_case=not self.context.case_sensitive)
            if match is Match.YES:
                return Finding(match, form.source)
            worst = Finding(match, form.source) if match is Match.MAYBE else worst
        return worst

    def match_path(self, rule: Rule, behavior: str) -> Finding:
        """Whether a rule that forbids or asks is about a file that a command reads or writes."""
        if rule.path is None or rule.path.negated:
            return NO_MATCH
        worst = self._unsure
        for written, word, forms in self.files:
            if rule.tool not in (("Edit", "Write", "Read") if written else ("Read",)):
                continue
            if self.context.matches(rule, forms, forbids=True):
                return Finding(Match.YES, word.raw)
            worst = worst if word.static else Finding(Match.MAYBE, word.raw)
        return worst

    @property
    def _unsure(self) -> Finding:
        return NO_MATCH if self.script.certain else Finding(Match.MAYBE, self.text)

    # --- rules that allow ------------------------------------------------------------------------

    def allowed(self, rules: Sequence[Rule]) -> Verdict:
        """Find the rule that allows all of it, and why; or None, and why not."""
        about = list(scoped(rules, self.tool))
        for rule in about:
            pattern = rule.command
            if pattern and pattern.kind == "exact" and pattern.text == self.text.strip(" \t\n"):
                return Verdict(rule, "exactly this command is allowed")
        if (why_not := self._unclear()) is not None:
            return Verdict(None, why_not)
        commands = self.script.commands
        found: Rule | None = None
        for command in commands:
            why_not = self._unsafe(command, rules)
            if why_not is None and command.words:
                rule_for_this, why_not = self._rule_for(command, about)
                found = found or rule_for_this
            if why_not is not None:
                return Verdict(None, why_not)
        return Verdict(
            found, "it is allowed" if len(commands) == 1 else "every command in it is allowed"
        )

    def _unclear(self) -> str | None:
        commands = self.script.commands
        if not self.script.certain:
            return f"it cannot be parsed with certainty: {self.script.doubts[0]}"
        if not any(command.words for command in commands):
            return "there is no command in it"
        moves = _changes_directory(commands) or self.context.cwd != self.context.base
        for command in commands:
            if moves and command.words and _depends_on_directory(command.words[0]):
                return f"what `{command.source}` runs depends on the directory, which changes"
        return None

    def _unsafe(self, command: Command, rules: Sequence[Rule]) -> str | None:
        """What is set or redirected that no rule allows; None if nothing is."""
        for assignment in command.assignments:
            if assignment.name not in SAFE_VARIABLES:
                return f"setting {assignment.name} may change what is run"
        for redirect in command.redirects:
            writes = redirect.kind == "out"
            if redirect.kind in ("in", "out") and not self._may_touch(
                redirect.target, rules, writes=writes
            ):
                verb = "write to" if writes else "read from"
                return f"no rule allows it to {verb} {redirect.target.raw!r}"
        return None

    def _rule_for(self, command: Command, rules: Sequence[Rule]) -> tuple[Rule | None, str | None]:
        reasons = [""]
        for rule in rules:
            why = rule.command.allows(command.words) if rule.command is not None else None
            if why == "":
                return rule, None
            reasons += [f": {why}"] if why is not None else []
        return None, f"no rule allows `{command.source}`{reasons[-1]}"

    def _may_touch(self, target: Word, rules: Sequence[Rule], *, writes: bool) -> bool:
        if target.static and target.text in _HARMLESS_TARGETS:
            return True
        if not target.static or ".." in target.text.split("/"):
            return False
        path = self.context.resolve(target.text)
        if _changes_directory(self.script.commands) or (
            writes and self.context.protect and is_protected(path)
        ):
            return False
        if any(form.startswith(("/dev/", "/proc/", "/sys/")) for form in path.forms):
            return False
        tool = "Write" if writes else "Read"
        if any(rule.names(tool) and rule.for_every_use for rule in rules):
            return path.problem is None
        return path_allowed(rules, path, tool, self.context, writes=writes).rule is not None

    def why_always_ask(self) -> str:
        """Why no rule can allow this; empty if one can."""
        removed = _critical_removal(self.possible, self.context)
        if removed is None:
            return ""
        return f"`{removed}` may remove a whole home, root or project directory"


def _depends_on_directory(program: Word) -> bool:
    """Whether another program may be run if the directory is another one."""
    relative = "/" in program.text and program.text[0] not in "/~"
    return relative or basename(program) in _OBEY_DIRECTORY


# --- files that a command reads, writes or removes ------------------------------------------------


def _touched(script: Script, commands: Iterable[Words]) -> list[tuple[bool, Word]]:
    """List what may be files in a script, each with whether it is written."""
    found = dict.fromkeys(itertools.chain(_redirected(script), _named(commands)))
    if len(found) <= _MOST_FILES:
        return list(found)
    some = itertools.islice(found, _MOST_FILES)
    return [*some, (False, _UNKNOWN_FILE), (True, _UNKNOWN_FILE)]


def _redirected(script: Script) -> Iterator[tuple[bool, Word]]:
    for command in script.commands:
        for redirect in command.redirects:
            if redirect.kind in ("in", "out"):
                yield redirect.kind == "out", redirect.target


def _named(commands: Iterable[Words]) -> Iterator[tuple[bool, Word]]:
    for words in commands:
        name = basename(words[0])
        for word in words[1:]:
            file = _behind_option(word)
            if name in _READS:
                yield False, file
            if name in _WRITES:
                yield True, file


def _behind_option(word: Word) -> Word:
    found = re.match(r"-{0,2}\w[\w-]*=", word.text)
    return Word(word.raw, word.text[found.end() :], word.static) if found else word


def _directories_of(script: Script, cwd: str, home: str) -> list[str] | None:
    """List the directories that relative paths may refer to; None if that is not certain.

    It is not known which `cd` is executed, so each may add to every other.
    """
    found = {cwd: None}
    for command in script.commands:
        if not command.words or basename(command.words[0]) not in _MOVERS:
            continue
        target = command.words[-1] if len(command.words) > 1 else Word(home, home)
        if not target.static or target.text == "-" or len(found) > _MOST_DIRECTORIES:
            return None
        folder = home + target.text[1:] if target.tilde else target.text
        found |= {normal(posixpath.join(directory, folder)): None for directory in found}
    return list(found)


def _changes_directory(commands: tuple[Command, ...]) -> bool:
    """Whether a later command may run in another directory than an earlier one."""
    return any(command.words and basename(command.words[0]) in _MOVERS for command in commands)


def _critical_removal(commands: Iterable[Words], context: UseContext) -> str | None:
    """Find a command that removes a whole home, root or project directory."""
    removals = [words for words in commands if basename(words[0]) in _REMOVERS]
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
    """Resolve what is removed; None if that is not known."""
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
