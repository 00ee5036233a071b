"""Uses of tools that read or write files, compared with rules."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .paths import (
    LONGEST_PATH,
    PathPattern,
    ResolvedPath,
    below,
    is_protected,
    normal,
    problem_of,
)
from .rules import Rule, path_of
from .shell.patterns import Match
from .tools import facts

_OF_DESCRIPTOR = re.compile(r"/+dev/+(?:fd|stdin|stdout|stderr)/")
_OF_PROCESS = re.compile(
    r"/proc/(?:self|thread-self|[0-9]+|[^/]*[*?\[][^/]*)/(?:task/[0-9]+/)?(cwd|root)?"
)
_NAMES = ("file_path", "notebook_path", "path", "filePath")


class Finding(NamedTuple):
    """Whether a rule that denies or asks matches a use, and the matching part."""

    match: Match
    part: str = ""


NO_MATCH = Finding(Match.NO)


class Verdict(NamedTuple):
    """The rule that allows a use, with the reason; or None, with the reason."""

    rule: Rule | None
    why: str


@dataclass(frozen=True, slots=True)
class UseContext:
    """The context of a use.

    `base` is the directory of relative rules, `cwd` that of this use. With `protect`, edits of some
    paths always need a person. `isdir` is None if the files are on another machine.
    """

    base: str
    cwd: str
    home: str
    directories: tuple[str, ...]
    case_sensitive: bool
    protect: bool
    realpath: Callable[[str], str]
    isdir: Callable[[str], bool] | None

    def resolve(self, path: str, cwd: str | None = None) -> ResolvedPath:
        """Resolve a path, seen from the working directory or another one."""
        problem = problem_of(path)
        if problem is not None and (len(path) > LONGEST_PATH or "\0" in path):
            return ResolvedPath(path[:LONGEST_PATH], (), (), problem)
        at_home = path == "~" or path.startswith("~/")
        absolute = posixpath.join(cwd or self.cwd, self.home + path[1:] if at_home else path)
        literal = normal(absolute)
        if _OF_DESCRIPTOR.match(absolute) or _OF_DESCRIPTOR.match(literal):
            why = "it leads through an open file, which is known only when it runs"
            return ResolvedPath(path, (), (), why)
        if (process := _OF_PROCESS.match(literal)) is not None:
            there = {"cwd": cwd or self.cwd, "root": "/"}.get(process[1] or "")
            meant = [] if there is None else [normal(f"{there}/{literal[process.end() :]}")]
            why = "it leads through a process, and each sees other files there"
            return ResolvedPath(path, (), (literal, *meant), why)
        try:
            forms = [literal, *(normal(self.realpath(it)) for it in (literal, absolute))]
        except (OSError, ValueError) as error:
            return ResolvedPath(path, (literal,), (), f"it cannot be followed: {error}")
        stripped = "/".join(part.rstrip(". ") or part for part in literal.split("/"))
        suspected = [stripped, normal(literal.replace("\\", "/").strip())]
        return ResolvedPath(path, tuple(dict.fromkeys(forms)), tuple(suspected), problem)

    def reaches_into(
        self, path: str, pattern: PathPattern, roots: Iterable[str], inside: str, *, dots: bool
    ) -> bool:
        """Whether a path may contain a file that a denying pattern matches.

        `inside` is a pattern of the files in question, relative to the path; `dots` says whether
        they may begin with a dot.
        """
        if not pattern.meets(f"{path.rstrip('/')}/{inside}", roots, dots=dots, isdir=self.isdir):
            return False
        if any(below(it, path) is not None for it in (self.cwd, self.base, self.home)):
            return True
        # On another machine only the name can tell.
        is_file = "." in path.rpartition("/")[2][1:]
        return not is_file if self.isdir is None else self.isdir(path)

    def roots(self, rule: Rule, *, forbids: bool) -> tuple[str, ...]:
        """Return the directories that the path of a rule starts from."""
        pattern = path_of(rule)
        assert pattern is not None
        anchor = pattern.anchor
        if anchor == "root":
            return ("/",)
        if anchor == "home":
            return self._followed(self.home)
        base = self.base if anchor == "cwd" or rule.root is None else rule.root
        # Another working directory may widen a deny rule, never an allow rule.
        return self._followed(base, self.cwd) if forbids else self._followed(base)

    def _followed(self, *directories: str) -> tuple[str, ...]:
        """Return directories as written and with symbolic links followed."""
        both = (path for directory in directories for path in (directory, self.realpath(directory)))
        return tuple(dict.fromkeys(map(normal, both)))

    def contains(self, path: ResolvedPath) -> bool:
        """Whether every reading of a path is in a directory of the CLI."""
        roots = self._followed(self.base, *self.directories)
        inside = all(any(below(form, root) is not None for root in roots) for form in path.forms)
        return inside and path.problem is None and bool(path.forms)

    def matches(self, rule: Rule, forms: Iterable[str], *, forbids: bool = False) -> bool:
        """Whether a rule matches one of some paths."""
        pattern = path_of(rule)
        assert pattern is not None
        roots = self.roots(rule, forbids=forbids)
        fold_case = not self.case_sensitive
        return any(
            pattern.matches(form, roots, forbids=forbids, fold_case=fold_case) for form in forms
        )


def scoped(rules: Iterable[Rule], tool: str) -> Iterator[Rule]:
    """Yield the rules about some uses of a tool."""
    return (rule for rule in rules if rule.content is not None and rule.surely_names(tool))


def path_allowed(
    rules: Iterable[Rule], path: ResolvedPath, tool: str, context: UseContext, *, writes: bool
) -> Verdict:
    """Find the rule that allows a path; a rule that allows editing also allows reading."""
    if path.problem is not None:
        return Verdict(None, f"it is not clear where the path leads: {path.problem}")
    about = {"Edit", tool} if writes else {"Read", "Edit", tool}
    relevant = [(it, pattern) for it in rules if (pattern := path_of(it)) and it.tool in about]
    for rule, pattern in relevant:
        if pattern.negated and context.matches(rule, path.forms, forbids=True):
            return Verdict(None, f"`{rule}` excludes it")
    plain = [rule for rule, pattern in relevant if not pattern.negated]
    for rule in plain:
        if all(context.matches(rule, [form]) for form in path.forms):
            return Verdict(rule, "the path is allowed, as it is written and where it leads")
    if any(context.matches(rule, path.forms[:1]) for rule in plain):
        return Verdict(None, f"it leads out of the allowed paths, to {path.forms[-1]}")
    return Verdict(None, "no rule allows this path")


class FileUse:
    """A file to read or write, or a directory to search."""

    def __init__(self, tool: str, given: Mapping[str, Any], context: UseContext) -> None:
        self.tool = tool
        self.context = context
        self.writes: bool = facts(tool).kind == "edit"
        self.searches: bool = facts(tool).searches
        self.path: ResolvedPath | None = self._find(given)

    def _find(self, given: Mapping[str, Any]) -> ResolvedPath | None:
        names = (facts(self.tool).content, *_NAMES)
        path = next((given[name] for name in names if given.get(name) is not None), None)
        if path is None and self.searches:
            path = self.context.cwd
        if not isinstance(path, str):
            return None
        pattern = given.get("pattern") if self.tool == "Glob" else None
        return self.context.resolve(path) if pattern is None else self._searched(path, pattern)

    def _searched(self, path: str, pattern: object) -> ResolvedPath | None:
        """Find the directory of a search with a pattern."""
        if not isinstance(pattern, str):
            return None
        plain = re.split(r"[*?\[{\\]", pattern)[0]
        if ".." in pattern[len(plain) :]:
            return ResolvedPath(pattern, (), (), "its pattern goes up again with `..`")
        folder = posixpath.split(plain)[0] if plain != pattern else plain
        return self.context.resolve(posixpath.join(path, folder) if folder else path)

    # --- rules that deny or ask ----------------------------------------------------------------

    def match_path(self, rule: Rule, behavior: str) -> Finding:
        """Whether a rule that denies or asks matches this file."""
        pattern = path_of(rule)
        assert pattern is not None
        about = {"Edit" if self.writes else "Read", self.tool}
        if behavior == "deny":
            about.add("Read")  # A file that must not be read must not be overwritten either.
        if rule.tool not in about or pattern.negated:
            return NO_MATCH
        if self.path is None:
            return Finding(Match.MAYBE)
        if self.context.matches(rule, self.path.all_forms, forbids=True):
            return Finding(Match.YES, self.path.given)
        forms, roots = self.path.all_forms, self.context.roots(rule, forbids=True)
        hides = not forms or any(pattern.meets(f"{form}/**", roots) for form in forms)
        maybe = hides if self.searches else not self.path.forms
        return Finding(Match.MAYBE, self.path.given) if maybe else NO_MATCH

    # --- rules that allow ------------------------------------------------------------------------

    def allowed(self, rules: Sequence[Rule]) -> Verdict:
        """Find the rule that allows this file."""
        if self.path is None:
            return Verdict(None, "it is not clear which file is meant")
        return path_allowed(rules, self.path, self.tool, self.context, writes=self.writes)

    def why_always_ask(self) -> str:
        """Return why no rule can allow this; empty if one can."""
        if not self.writes or not self.context.protect:
            return ""
        if self.path is None:
            return "it is not clear which file is meant"
        if is_protected(self.path):
            return "the path is protected: code in it may run later"
        return ""

    def in_working_directories(self) -> bool:
        """Whether it is in a directory of the CLI."""
        return self.path is not None and self.context.contains(self.path)
