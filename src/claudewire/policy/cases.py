"""What all looks at a use of a tool have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .commands import Catch
from .paths import Places, ResolvedPath
from .rules import Rule

__all__ = ["NOTHING", "Catch", "Context", "Finding", "Verdict", "path_allowed", "scoped"]


class Finding(NamedTuple):
    """Whether a rule that forbids or asks is about a use, and about which part of it."""

    catch: Catch
    part: str = ""


NOTHING = Finding(Catch.NO)


class Verdict(NamedTuple):
    """The rule that allows something, and why; or None, and why not."""

    rule: Rule | None
    why: str


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for every use.

    Attributes:
        places: what paths are relative to.
        cwd: the working directory of this use.
        directories: where else the CLI may work.
        case_sensitive: whether the file system takes care of case.
        protect: whether some paths are never written unasked.
    """

    places: Places
    cwd: str
    directories: tuple[str, ...] = ()
    case_sensitive: bool = True
    protect: bool = True

    def resolve(self, path: str) -> ResolvedPath:
        """Find out where a path leads."""
        return self.places.resolve(path, cwd=self.cwd)

    def roots(self, rule: Rule, *, forbids: bool) -> tuple[str, ...]:
        """Say what the path of a rule is relative to."""
        assert rule.path is not None
        # A working directory that changes may widen what is forbidden, never what is allowed.
        cwd = self.cwd if forbids else None
        return self.places.roots(rule.path.anchor, rule.root, cwd=cwd)

    def matches(self, rule: Rule, forms: Iterable[str], *, forbids: bool = False) -> bool:
        """Whether a rule is about one of some paths."""
        assert rule.path is not None
        roots = self.roots(rule, forbids=forbids)
        fold = forbids or not self.case_sensitive
        return any(
            rule.path.matches(form, roots, forbids=forbids, fold_case=fold) for form in forms
        )


def scoped(rules: Iterable[Rule], tool: str) -> Iterator[Rule]:
    """Give the rules that are about some uses of a tool."""
    return (rule for rule in rules if rule.content is not None and rule.names(tool))


def path_allowed(
    rules: Iterable[Rule], path: ResolvedPath, tool: str, context: Context, *, writes: bool
) -> Verdict:
    """Give the rule that allows a path; whoever may edit a file may read it."""
    if path.problem is not None:
        return Verdict(None, f"it is not clear where the path leads: {path.problem}")
    about = {"Edit", tool} if writes else {"Read", "Edit", tool}
    relevant = [rule for rule in rules if rule.path is not None and rule.tool in about]
    exceptions = [rule for rule in relevant if rule.path is not None and rule.path.negated]
    for rule in exceptions:
        if context.matches(rule, path.forms, forbids=True):
            return Verdict(None, f"`{rule}` takes it out again")
    plain = [rule for rule in relevant if rule not in exceptions]
    for rule in plain:
        if all(context.matches(rule, [form]) for form in path.forms):
            return Verdict(rule, "the path is allowed, as it is written and where it leads")
    if any(context.matches(rule, path.forms[:1]) for rule in plain):
        return Verdict(None, f"it leads out of what is allowed, to {path.forms[-1]}")
    return Verdict(None, "no rule allows this path")
