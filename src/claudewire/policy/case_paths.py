"""The use of a tool that reads or writes files, and what rules say about it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .cases import NOTHING, Catch, Context, Finding, Verdict, path_allowed
from .paths import ResolvedPath, is_protected
from .rules import Rule
from .tools import facts

__all__ = ["PathCase"]

_NAMES = ("file_path", "notebook_path", "path", "filePath")


class PathCase:
    """A file that is read or written, or a directory that is searched.

    Args:
        tool: the name of the tool.
        given: its input.
        context: what the path is relative to.
    """

    def __init__(self, tool: str, given: Mapping[str, Any], context: Context) -> None:
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
        """Find the directory that a search with a pattern goes through."""
        if not isinstance(pattern, str):
            return None
        plain = re.split(r"[*?\[{\\]", pattern, maxsplit=1)[0]
        if ".." in pattern[len(plain) :]:
            return ResolvedPath(pattern, (), (), "its pattern goes up again with `..`")
        folder = posixpath.split(plain)[0] if plain != pattern else plain
        return self.context.resolve(posixpath.join(path, folder) if folder else path)

    # --- rules that forbid or ask ----------------------------------------------------------------

    def catch_path(self, rule: Rule, behavior: str) -> Finding:
        """Whether a rule that forbids or asks is about this file."""
        assert rule.path is not None
        about = {"Edit" if self.writes else "Read", self.tool}
        if behavior == "deny":
            about.add("Read")  # What may not be read may not be overwritten either.
        if rule.tool not in about or rule.path.negated:
            return NOTHING
        if self.path is None:
            return Finding(Catch.MAYBE)
        if self.context.matches(rule, self.path.all_forms, forbids=True):
            return Finding(Catch.YES, self.path.given)
        maybe = self._hides(self.path, rule) if self.searches else not self.path.forms
        return Finding(Catch.MAYBE, self.path.given) if maybe else NOTHING

    def _hides(self, directory: ResolvedPath, rule: Rule) -> bool:
        """Whether there may be something in a directory that a rule is about."""
        pattern = rule.path
        assert pattern is not None
        roots = self.context.roots(rule, forbids=True)
        forms = directory.all_forms
        return not forms or any(pattern.reaches_into(form, roots) for form in forms)

    # --- rules that allow ------------------------------------------------------------------------

    def allowed(self, rules: Sequence[Rule]) -> Verdict:
        """Give the rule that allows this file, with why; or None, with why not."""
        if self.path is None:
            return Verdict(None, "it is not clear which file is meant")
        return path_allowed(rules, self.path, self.tool, self.context, writes=self.writes)

    def never_unasked(self) -> str:
        """Say why no rule may allow this; empty if one may."""
        if not self.writes or not self.context.protect:
            return ""
        if self.path is None:
            return "it is not clear which file is meant"
        if is_protected(self.path):
            return "the path is a protected one: what is written there may run later"
        return ""

    def in_working_directories(self) -> bool:
        """Whether it is in a directory that the CLI works in."""
        context = self.context
        directories = (context.places.cwd, *context.directories)
        return self.path is not None and context.places.within(self.path, directories)
