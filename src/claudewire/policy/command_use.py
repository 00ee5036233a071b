"""Uses of a shell, compared with rules: its commands, and the files that they show."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from .file_use import NO_MATCH, Finding, UseContext, Verdict, path_allowed, scoped
from .paths import is_protected
from .rules import Rule, command_of
from .shell.parser import LONGEST
from .shell.patterns import Match
from .shell.programs import (
    SHELLS,
    Words,
    basename,
    is_harmless,
    needed_commands,
    unwrapped,
    why_not_set,
)
from .shell.script import Command, Script, Word, names_in
from .shell_line import HARMLESS_TARGETS, Line, critical_removal

_OBEY_DIRECTORY = SHELLS | {"git"}
"""Programs that run hooks or scripts of a directory."""
_RUN_PROJECT = names_in("""
    ant bazel bun bundle cargo composer deno docker-compose dotnet eslint go gradle gradlew jest
    just lerna make mix mocha mvn mvnw ninja node nox npm npx nx php pip pnpm poetry prettier pytest
    python python3 rake rspec ruby sbt task tox tsc turbo uv vite vitest webpack yarn
    """)
"""Programs that run the code of their project: the same code anywhere inside of it."""


class CommandUse:
    """A command line; `text` is None if the input has none."""

    def __init__(self, tool: str, text: str | None, context: UseContext) -> None:
        self.tool = tool
        self.is_given: bool = text is not None
        self.text: str = text or ""
        self.context = context

    @functools.cached_property
    def line(self) -> Line:
        """The commands of the line, and what they do."""
        return Line(self.text, self.context)

    @property
    def script(self) -> Script:
        """The parsed command line."""
        return self.line.script

    # --- rules that deny or ask ----------------------------------------------------------------

    def match(self, rule: Rule) -> Finding:
        """Whether a rule that denies or asks matches one of the commands."""
        pattern = command_of(rule)
        if pattern is None:
            return NO_MATCH
        if self._unread:
            return Finding(Match.MAYBE, self.text)
        if pattern.matches_text(self.text):
            return Finding(Match.YES, self.text)
        ignore_case = not self.context.case_sensitive
        worst = _worst(
            (pattern.match(words, ignore_case=ignore_case), " ".join(it.raw for it in words))
            for words in self.line.commands
        )
        told = (text for step in self.line.steps for text in step.doing.told)
        mentions = (Finding(Match.MAYBE, text) for text in told if pattern.mentioned_in(text))
        return worst if worst.part else next(mentions, NO_MATCH)

    def match_path(self, rule: Rule) -> Finding:
        """Whether a rule that denies or asks matches a file of a command."""
        if not rule.is_about_files:
            return NO_MATCH
        if self._unread:
            return Finding(Match.MAYBE, self.text)
        return _worst((file.match(rule, self.context), file.shown) for file in self.line.files)

    def why_open(self, guards: Sequence[Rule], allow: Sequence[Rule]) -> str:
        """Return why rules that deny or ask cannot hold for it; empty if they can."""
        about = (command_of(it) is not None and it.names(self.tool) for it in guards)
        if not (any(about) or any(rule.is_about_files for rule in guards)):
            return ""
        own = [pattern for rule in scoped(allow, self.tool) if (pattern := command_of(rule))]
        return self.line.why_open(own)

    @property
    def _unread(self) -> bool:
        return len(self.text) > LONGEST or not self.is_given

    # --- rules that allow ------------------------------------------------------------------------

    def allowed(self, rules: Sequence[Rule]) -> Verdict:
        """Find the rule that allows all of it."""
        about = list(scoped(rules, self.tool))
        for rule in about:
            pattern = command_of(rule)
            if pattern and pattern.kind == "exact" and pattern.text == self.text.strip(" \t\n"):
                return Verdict(rule, "exactly this command is allowed")
        if (why_not := self._unclear()) is not None:
            return Verdict(None, why_not)
        commands = self.script.commands
        found: Rule | None = None
        links = False
        for command in commands:
            why_not = self._unsafe(command, rules)
            targets = [it.target.text for it in command.redirects if it.kind == "out"]
            if links and not HARMLESS_TARGETS.issuperset(targets):
                why_not = why_not or "it writes after a command that may have made a link there"
            links = links or _makes_links(command.words)
            if why_not is None and command.words:
                rule_for_this, why_not = self._rule_for(command, about)
                found = found or rule_for_this
                why_not = None if self._needs_no_rule(command) else why_not
            if why_not is not None:
                return Verdict(None, why_not)
        if found is None:
            return Verdict(None, "no rule is about it")
        what = "it" if len(commands) == 1 else "every command in it"
        return Verdict(found, f"{what} is allowed")

    def is_spelled_out(self, rule: Rule) -> bool:
        """Whether a rule has all of it, word for word."""
        commands = self.script.commands
        pattern = command_of(rule)
        if pattern is None or pattern.kind != "exact" or not self.script.certain:
            return False
        whole = len(commands) == 1 or pattern.text == self.text.strip(" \t\n")
        return whole and all(word.static for command in commands for word in command.words)

    def _unclear(self) -> str | None:
        commands = self.script.commands
        if not self.script.certain:
            return f"it cannot be parsed with certainty: {self.script.doubts[0]}"
        if not any(command.words for command in commands):
            return "there is no command in it"
        here = self._where()
        for command in commands:
            if command.words and here != "here" and _depends_on_directory(command.words, here):
                return f"the program of `{command.source}` depends on the directory, which changes"
        return None

    def _where(self) -> str:
        """Return where its commands run: `here`, `inside` the working directories, `elsewhere`."""
        context = self.context
        directories = self.line.directories
        if directories is None or context.cwd != context.base:
            return "elsewhere"
        if directories == [context.cwd]:
            return "here"
        places = (context.resolve(directory) for directory in directories)
        return "inside" if all(map(context.contains, places)) else "elsewhere"

    def _unsafe(self, command: Command, rules: Sequence[Rule]) -> str | None:
        """Return why a variable or a redirection is not allowed; None if all are."""
        for assignment in command.assignments:
            if (why_not := why_not_set(assignment, command.words)) is not None:
                return why_not
        for redirect in command.redirects:
            writes = redirect.kind == "out"
            if redirect.kind not in ("in", "out"):
                continue
            if not self._may_touch(redirect.target, rules, writes=writes):
                verb = "write to" if writes else "read from"
                return f"no rule allows it to {verb} {redirect.target.raw!r}"
        return None

    def _needs_no_rule(self, command: Command) -> bool:
        program = command.words[0]
        is_plain = program.static and program.text == "cd" and ".." not in command.source
        stays = is_plain and self.line.directories == [self.context.cwd]
        return is_harmless(command) or stays

    def _rule_for(self, command: Command, rules: Sequence[Rule]) -> tuple[Rule | None, str | None]:
        found: list[Rule] = []
        reason = ""
        for words in needed_commands(command.words):
            for rule in rules:
                pattern = command_of(rule)
                why = pattern.allows(words) if pattern else None
                if why == "":
                    found.append(rule)
                    break
                reason = f": {why}" if why is not None else reason
            else:
                return None, f"no rule allows `{command.source}`{reason}"
        return found[0], None

    def _may_touch(self, target: Word, rules: Sequence[Rule], *, writes: bool) -> bool:
        if not target.static or ".." in target.text.split("/"):
            return False
        if target.text in HARMLESS_TARGETS:
            return True
        tool, context = "Write" if writes else "Read", self.context
        whole = any(rule.names(tool) and rule.for_every_use for rule in rules)
        for place in self.line.directories or [""]:
            path = context.resolve(target.text, cwd=place)
            if not place or (writes and context.protect and is_protected(path)):
                return False
            if any(form.startswith(("/dev/", "/proc/", "/sys/")) for form in path.forms):
                return False
            found = path_allowed(rules, path, tool, context, writes=writes)
            if path.problem is not None or not (whole or found.rule):
                return False
        return True

    def why_always_ask(self) -> str:
        """Return why no rule can allow this; empty if one can."""
        if not self.is_given:
            return "there is no command in its input"
        if self._unread:
            return f"it is longer than {LONGEST} characters"
        removed = critical_removal(self.line, self.context)
        if removed is None:
            return ""
        return f"`{removed}` may remove a whole home, root or project directory"


_MAKE_LINKS = names_in("bsdtar cp gtar install link ln mv rsync tar unzip")
_GIT_READS = names_in("add branch commit config diff fetch grep log ls-files push show status tag")


def _makes_links(words: Words) -> bool:
    """Whether a command may make a link, through which a later one would write elsewhere."""
    names = [basename(word) for word in words]
    is_git = names[:1] == ["git"] and not _GIT_READS.intersection(names[1:2])
    return is_git or any(name in _MAKE_LINKS for name in names)


def _depends_on_directory(words: Words, where: str) -> bool:
    """Whether a different directory may make this command run a different program."""
    program = unwrapped(words)[0]
    name = basename(program)
    relative = "/" in program.text and program.text[0] not in "/~"
    if relative or name in _OBEY_DIRECTORY:
        return True
    return where == "elsewhere" and name in _RUN_PROJECT


def _worst(matches: Iterable[tuple[Match, str]]) -> Finding:
    """Return the first certain match, else an uncertain one."""
    found = NO_MATCH
    for match, part in matches:
        if match is Match.YES:
            return Finding(match, part)
        found = found if match is Match.NO else Finding(match, part)
    return found
