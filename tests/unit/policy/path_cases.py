"""Paths and what rules say about them, each for a stated reason.

The tree is made by `plant`. In a path and in a rule, `@cwd`, `@home` and `@out` stand for the
working directory, the home directory and a directory that is in neither.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

FILES = (
    "project/src/app.py",
    "project/src/deep/x.py",
    "project/src/[odd].py",
    "project/vendor/pkg/src/lib.py",
    "project/.env",
    "project/a/.env",
    "project/secrets/key",
    "project/a/secrets/key",
    "project/docs/caf\u00e9.md",
    "project/Upper/X.txt",
    "project/top.txt",
    "home/notes/n.txt",
    "home/.ssh/id",
    "outside/o.txt",
    "outside/sub/p.txt",
)
LINKS = {
    "project/src/link.txt": "outside/o.txt",
    "project/src/linkdir": "outside",
    "project/src/inside": "project/src/deep",
    "project/src/up": "project",
    "project/other": "project/secrets",
    "project/tok": "project/secrets/key",
    "project/dangling": "outside/not-there",
    "home/work": "project",
    "way": "project",
}


def plant(folder: Path) -> None:
    """Make the tree."""
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")
    for name, target in LINKS.items():
        (folder / name).symlink_to(folder / target)
    os.symlink(folder / "project/src/loop", folder / "project/src/loop")


@dataclass(frozen=True)
class PathLine:
    """A path, the rules, what becomes of it, and why."""

    path: str
    behavior: str
    why: str
    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    tool: str = "Edit"
    options: dict[str, object] = field(default_factory=dict)


def allowed(path: str, rule: str, why: str, tool: str = "Edit", **more: object) -> PathLine:
    return PathLine(path, "allow", why, [rule], tool=tool, options=more)


def asked(path: str, rule: str, why: str, tool: str = "Edit", **more: object) -> PathLine:
    return PathLine(path, "ask", why, [rule], tool=tool, options=more)


def denied(path: str, rule: str, why: str, tool: str = "Read") -> PathLine:
    return PathLine(path, "deny", why, ["Read", "Edit", "Write", "Grep", "Glob"], [rule], tool)


def not_denied(path: str, rule: str, why: str, tool: str = "Read") -> PathLine:
    return PathLine(path, "allow", why, ["Read", "Edit", "Write", "Grep", "Glob"], [rule], tool)


ANCHORS = [
    allowed("@cwd/src/app.py", "Edit(src/**)", "in the directory"),
    allowed("src/app.py", "Edit(src/**)", "relative to the working directory"),
    allowed("./src/./app.py", "Edit(src/**)", "with dots"),
    allowed("@cwd/src/deep/new/new.py", "Edit(src/**)", "a file that is not there yet"),
    allowed("@cwd/src", "Edit(src/**)", "the directory itself"),
    asked("@cwd/top.txt", "Edit(src/**)", "beside it"),
    asked("@cwd/srcx/app.py", "Edit(src/**)", "a longer name"),
    asked("@cwd/vendor/pkg/src/lib.py", "Edit(src/**)", "to allow, only the one at the top"),
    allowed("@cwd/vendor/pkg/src/lib.py", "Edit(**/src/**)", "at any depth"),
    allowed("@cwd/src/app.py", "Edit(**/src/**)", "and at the top"),
    allowed("@cwd/src/app.py", "Edit(./src/**)", "written with a dot"),
    allowed("@cwd/src/app.py", "Edit(/src/**)", "from where the rule was written"),
    asked("@cwd/vendor/pkg/src/lib.py", "Edit(/src/**)", "and only there"),
    asked("/src/app.py", "Edit(/src/**)", "one slash is not the root"),
    allowed("@out/o.txt", "Edit(/@out/**)", "two slashes are the root"),
    allowed("@out/sub/p.txt", "Edit(/@out/*)", "what holds for a directory holds below"),
    allowed("@out/sub/p.txt", "Edit(/@out)", "a directory without a wildcard"),
    allowed("@home/notes/n.txt", "Edit(~/notes/**)", "at home"),
    allowed("~/notes/n.txt", "Edit(~/notes/**)", "written with a tilde"),
    asked("~root/notes/n.txt", "Edit(~/**)", "the home of somebody else"),
    allowed("@cwd/src/app.py", "Edit(*.py)", "a name holds at any depth"),
    asked("@cwd/src/app.py", "Edit(/*.py)", "but not behind a slash"),
    asked("@cwd/src/app.py", "Edit(./app.py)", "nor behind a dot, to allow"),
    allowed("@cwd/src/app.py", "Edit(src/a?p.py)", "a question mark is one character"),
    asked("@cwd/src/deep/x.py", "Edit(src/?.py)", "and no slash"),
    allowed("@cwd/src/app.py", "Edit(src/[a-c]pp.py)", "a set of characters"),
    asked("@cwd/src/app.py", "Edit(src/[!a]pp.py)", "all but these"),
    allowed("@cwd/src/[odd].py", "Edit(src/\\[odd\\].py)", "escaped brackets"),
    asked("@cwd/src/o.py", "Edit(src/\\[odd\\].py)", "are no set"),
    allowed("@cwd/src/deep/x.py", "Edit(src/)", "a directory, with a slash"),
    asked("@cwd/top.txt", "Edit(top.txt/)", "a file is no directory"),
    asked("@out/o.txt", "Edit(**)", "but not outside"),
    allowed("@out/o.txt", "Edit(//**)", "everything there is"),
    allowed("@out/o.txt", "Edit(../outside/**)", "above the working directory"),
]

SAME_RULES_FOR_OTHER_TOOLS = [
    allowed("@cwd/src/app.py", "Edit(src/**)", "rules to edit are for Write", tool="Write"),
    allowed("@cwd/src/n.ipynb", "Edit(src/**)", "and for notebooks", tool="NotebookEdit"),
    allowed("@cwd/src/app.py", "Edit(src/**)", "and for several edits", tool="MultiEdit"),
    allowed("@cwd/src/app.py", "Edit(src/**)", "what may be edited may be read", tool="Read"),
    asked("@cwd/src/app.py", "Read(src/**)", "but not the other way", tool="Edit"),
    allowed("@cwd/src", "Read(src/**)", "rules to read are for Grep", tool="Grep"),
    allowed("@cwd/src", "Read(src/**)", "and for LS", tool="LS"),
    allowed("@cwd/src/n.ipynb", "Read(src/**)", "and for notebooks", tool="NotebookRead"),
    allowed("@cwd/src/app.py", "Read(src/**)", "and for language servers", tool="LSP"),
    asked("@out/n.ipynb", "Read(src/**)", "not outside", tool="NotebookRead"),
    asked("@out/app.py", "Read(src/**)", "not outside", tool="LSP"),
    asked("@cwd", "Read(src/**)", "a search from above", tool="Grep"),
    allowed("@cwd/src/app.py", "Write(src/**)", "a rule for Write is for Write", tool="Write"),
    asked("@cwd/src/app.py", "Write(src/**)", "and for nothing else", tool="Edit"),
    asked("@cwd/src/app.py", "Edit", "without brackets it is the tool alone", tool="Write"),
]

LEADING_ELSEWHERE = [
    asked("@cwd/src/../top.txt", "Edit(src/**)", "up again"),
    allowed("@cwd/vendor/../src/app.py", "Edit(src/**)", "up and into it"),
    asked("@cwd/src/../../outside/o.txt", "Edit(**)", "out of it"),
    asked("@cwd/src/link.txt", "Edit(src/**)", "a link that leads out"),
    asked("@cwd/src/linkdir/o.txt", "Edit(src/**)", "a linked directory that does"),
    asked("@cwd/src/linkdir/new.txt", "Edit(src/**)", "a new file in there"),
    asked("@cwd/src/linkdir/../o.txt", "Edit(src/**)", "up from a link, which shells do elsewhere"),
    asked("@cwd/dangling", "Edit(**)", "a link to what is not there yet"),
    allowed("@cwd/src/inside/x.py", "Edit(src/**)", "a link that stays inside"),
    asked("@cwd/src/up/top.txt", "Edit(src/**)", "a link to above"),
    asked("@cwd/src/up/src/app.py", "Edit(/src/deep/**)", "around, to another place"),
    asked("@home/work/src/app.py", "Edit(~/**)", "out of home through a link"),
    allowed("@cwd/src/link.txt", "Edit(//**)", "both ends are allowed"),
    asked("@cwd/src/loop/x", "Edit(/src/deep/**)", "a link to itself"),
    asked("@cwd/src/app.py\0.txt", "Edit(src/**)", "the end of the name, for some"),
    asked("@cwd/src/app.py\n", "Edit(src/**)", "a line end"),
    asked("@cwd/src/app.py.", "Edit(src/**)", "a dot that some drop"),
    asked("@cwd/src/app.py ", "Edit(src/**)", "a blank that some drop"),
    asked("@cwd/src./app.py", "Edit(**)", "in the middle too"),
    asked("@cwd/src\\..\\top.txt", "Edit(**)", "a backslash that some divide at"),
    asked("@cwd/src/a\u200bpp.py", "Edit(src/**)", "a character nobody sees"),
    asked("", "Edit(src/**)", "no path"),
    asked("@way/src/app.py", "Edit(src/**)", "as it is written it is elsewhere"),
]

CASE_AND_ACCENTS = [
    asked("@cwd/SRC/app.py", "Edit(src/**)", "case matters, to allow"),
    allowed("@cwd/SRC/app.py", "Edit(src/**)", "unless it does not here", case_sensitive=False),
    asked("@cwd/docs/cafe\u0301.md", "Edit(docs/caf\u00e9.md)", "an accent made otherwise"),
    allowed(
        "@cwd/docs/cafe\u0301.md",
        "Edit(docs/caf\u00e9.md)",
        "unless that does not matter here",
        case_sensitive=False,
    ),
    denied("@cwd/docs/cafe\u0301.md", "Read(docs/caf\u00e9.md)", "to deny, either"),
    denied("@cwd/docs/CAF\u00c9.md", "Read(docs/caf\u00e9.md)", "and any case"),
    denied("@cwd/sec\u200crets/key", "Read(secrets/**)", "also with what nobody sees"),
    denied("@cwd/.env.", "Read(.env)", "also with a dot that is dropped"),
    denied("@cwd/.env ", "Read(.env)", "also with a blank that is dropped"),
    denied("@cwd/secrets\\key", "Read(secrets/**)", "also with a backslash"),
]

DENIALS = [
    denied("@cwd/.env", "Read(.env)", "the file"),
    denied("@cwd/a/.env", "Read(.env)", "at any depth"),
    not_denied("@cwd/a/.env", "Read(./.env)", "behind a dot it is that one file"),
    not_denied("@cwd/a/.env", "Read(/.env)", "but not behind a slash"),
    not_denied("@home/.env", "Read(.env)", "nor outside"),
    denied("@home/.env", "Read(//**/.env)", "unless it says everywhere"),
    denied("@cwd/secrets/key", "Read(secrets/**)", "the directory"),
    denied("@cwd/a/secrets/key", "Read(secrets/**)", "at any depth, to deny"),
    denied("@cwd/secrets/key", "Read(secrets)", "by its name"),
    denied("@cwd/secrets", "Read(secrets/)", "with a slash"),
    not_denied("@cwd/a/secrets/key", "Read(/secrets/**)", "only at the top"),
    denied("@cwd/other/key", "Read(/secrets/**)", "through a linked directory"),
    denied("@cwd/tok", "Read(/secrets/**)", "through a link"),
    denied("@cwd/a/../secrets/key", "Read(/secrets/**)", "by a detour"),
    denied("@cwd/src/linkdir/o.txt", "Read(/@out/**)", "where the link leads"),
    denied("@cwd/src/linkdir/o.txt", "Read(src/linkdir/**)", "and by its own name"),
    denied("~/.ssh/id", "Read(~/.ssh/**)", "at home"),
    denied("@cwd/secrets/key", "Read(secrets/**)", "what may not be read is not edited", "Edit"),
    denied("@cwd/secrets/new", "Read(secrets/**)", "nor written", "Write"),
    denied("@cwd/secrets/new", "Edit(secrets/**)", "a rule to edit", "Write"),
    not_denied("@cwd/secrets/key", "Edit(secrets/**)", "does not keep from reading", "Read"),
    denied("@cwd/secrets", "Read(secrets/**)", "a search in it", "Grep"),
    PathLine("@cwd", "ask", "a search from above might find it", ["Grep"], ["Read(.env)"], "Grep"),
    PathLine("@cwd/src", "allow", "one beside cannot", ["Grep"], ["Read(/.env)"], "Grep"),
    PathLine("@out", "allow", "nor one elsewhere", ["Grep"], ["Read(/secrets/**)"], "Grep"),
]

PROTECTED = [
    asked("@cwd/.git/config", "Edit(**)", "what git does is in there"),
    asked("@cwd/.git/hooks/pre-commit", "Edit(//**)", "or its hooks"),
    asked("@cwd/a/.GIT/config", "Edit(**)", "in any case"),
    asked("@cwd/.claude/settings.json", "Edit(**)", "what the CLI may do"),
    allowed("@cwd/.claude/worktrees/x/a.py", "Edit(**)", "but its worktrees are no secret"),
    asked("@home/.bashrc", "Edit(~/**)", "runs when a shell starts"),
    asked("@cwd/.bashrc", "Edit", "whatever the rule", "Edit"),
    allowed("@cwd/.git/config", "Edit(**)", "unless that is wanted", protect=False),
    allowed("@cwd/.gitignore", "Edit(**)", "this one runs nothing"),
    allowed("@cwd/.git/config", "Read(**)", "to read it is something else", tool="Read"),
]

EXCEPTIONS = [
    PathLine(
        "@cwd/src/app.py", "allow", "not the exception", ["Edit(src/**)", "Edit(!src/deep/**)"]
    ),
    PathLine("@cwd/src/deep/x.py", "ask", "taken out", ["Edit(src/**)", "Edit(!src/deep/**)"]),
    PathLine("@cwd/src/deep/x.py", "ask", "in any order", ["Edit(!src/deep/**)", "Edit(src/**)"]),
]

PATH_LINES = [
    *ANCHORS,
    *SAME_RULES_FOR_OTHER_TOOLS,
    *LEADING_ELSEWHERE,
    *CASE_AND_ACCENTS,
    *DENIALS,
    *PROTECTED,
    *EXCEPTIONS,
]
