"""Where a path leads: as it is written, and as the file system sees it.

A rule that allows must hold for every reading of a path, a rule that forbids for one. Between the
decision and the use of a file somebody may still exchange it: that cannot be seen here.
"""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from .patterns import below, fold

__all__ = ["Places", "ResolvedPath", "is_protected"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PROTECTED_DIRECTORIES = _names(
    ".git .vscode .idea .husky .cargo .devcontainer .yarn .mvn .claude .ssh .gnupg .aws"
)
_PROTECTED_FILES = _names(
    """
    .gitconfig .gitmodules .bashrc .bash_profile .bash_login .bash_aliases .bash_logout .zshrc
    .zprofile .zshenv .zlogin .zlogout .profile .envrc .npmrc .yarnrc .yarnrc.yml .pnp.cjs
    .pnp.loader.mjs .pnpmfile.cjs bunfig.toml .bunfig.toml .bazelrc .bazelversion .bazeliskrc
    .pre-commit-config.yaml lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml
    gradle-wrapper.properties maven-wrapper.properties .devcontainer.json .ripgreprc
    pyrightconfig.json .mcp.json .claude.json
    """
)


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A path in all its readings, each absolute and without `.` and `..`.

    Attributes:
        given: as it was given.
        forms: where it leads: as written, and behind symbolic links.
        suspected: what else it might mean to somebody; for rules that forbid.
        problem: why nothing may be allowed for it; None if it is plain.
    """

    given: str
    forms: tuple[str, ...]
    suspected: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def all_forms(self) -> tuple[str, ...]:
        """Every reading, however odd."""
        return tuple(dict.fromkeys((*self.forms, *self.suspected)))


@dataclass(frozen=True, slots=True)
class Places:
    """The directories that paths and patterns are relative to.

    Attributes:
        cwd: the working directory.
        home: the home directory.
        realpath: follows symbolic links, like `os.path.realpath`.
    """

    cwd: str
    home: str
    realpath: Callable[[str], str] = os.path.realpath

    def resolve(self, path: str, *, cwd: str | None = None) -> ResolvedPath:
        """Find out where a path leads."""
        problem = _problem(path)
        if problem is not None and "\0" in path:
            return ResolvedPath(path, (), (), problem)
        absolute = posixpath.join(cwd or self.cwd, self._at_home(path))
        literal = normal(absolute)
        try:
            forms = [literal, normal(self.realpath(literal)), normal(self.realpath(absolute))]
        except (OSError, ValueError) as error:
            return ResolvedPath(path, (literal,), (), f"it cannot be followed: {error}")
        stripped = "/".join(part.rstrip(". ") or part for part in literal.split("/"))
        suspected = [normal(stripped), normal(literal.replace("\\", "/").strip())]
        return ResolvedPath(path, tuple(dict.fromkeys(forms)), tuple(suspected), problem)

    def _at_home(self, path: str) -> str:
        return self.home + path[1:] if path == "~" or path.startswith("~/") else path

    def roots(self, anchor: str, source: str | None, *, cwd: str | None = None) -> tuple[str, ...]:
        """Say what an anchor of a pattern is, as it is written and behind symbolic links."""
        if anchor == "root":
            return ("/",)
        if anchor == "home":
            found = [self.home]
        else:
            found = [self.cwd if anchor == "cwd" or source is None else source]
            found += [] if cwd is None else [cwd]
        both = [normal(path) for root in found for path in (root, self.realpath(root))]
        return tuple(dict.fromkeys(both))

    def within(self, path: ResolvedPath, directories: tuple[str, ...]) -> bool:
        """Whether every reading of a path is in one of some directories."""
        roots = [normal(path) for root in directories for path in (root, self.realpath(root))]
        inside = all(any(below(form, root) is not None for root in roots) for form in path.forms)
        return inside and path.problem is None and bool(path.forms)


def normal(path: str) -> str:
    """Take `.`, `..` and doubled slashes out of an absolute path."""
    return posixpath.normpath("/" + path.lstrip("/"))


def _problem(path: str) -> str | None:
    if not path:
        return "there is no path"
    if any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in path):
        return "it holds an invisible character"
    if "\\" in path:
        return "it holds a backslash, which may divide directories"
    if path.startswith("~") and path != "~" and not path.startswith("~/"):
        return "it names the home directory of somebody else"
    if any(re.search(r"[. ]$", part) and part not in (".", "..") for part in path.split("/")):
        return "a name in it ends with a dot or a space, which may be dropped"
    return None


def is_protected(path: ResolvedPath) -> bool:
    """Whether writing there could run code later, or change what the CLI may do."""
    return any(_protected(fold(form, invisible=True)) for form in path.all_forms)


def _protected(path: str) -> bool:
    parts = path.split("/")
    if parts[-1] in _PROTECTED_FILES or re.search(r"/\.config/git/|/git~[0-9]+/", f"{path}/"):
        return True
    return any(
        part in _PROTECTED_DIRECTORIES and parts[index : index + 2] != [".claude", "worktrees"]
        for index, part in enumerate(parts)
    )
