r"""Paths and patterns of paths.

A path is read as written and as the file system sees it. An allow rule must match every reading of
a path, a deny rule one of them. A file may still be replaced between the decision and its use.

Patterns are like those of gitignore, with an anchor:

    //etc/**      from the root of the file system
    ~/notes/*     from the home directory
    /src/**       from where the rule was written: a project, the settings directory
    src/**, *.py  from the working directory; a name without a slash holds at any depth

A deny rule takes a pattern in its widest sense, an allow rule in its narrowest: `src/**` denies any
`src` below the working directory, and allows only the one in it.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from .shell.script import names_in, remembered

LONGEST_PATH = 4096
"""In characters: no system opens a longer one."""
_LONGEST_NAME = 255
_DEEPEST_GLOB = 40
"""Folders to compare with a pattern; a deeper one may match anything."""

_PROTECTED_DIRECTORIES = names_in(
    ".git .vscode .idea .husky .cargo .devcontainer .yarn .mvn .claude .ssh .gnupg .aws"
)
_PROTECTED_FILES = names_in(
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

    `forms` are the path as written and with links followed, `suspected` its readings on other
    systems, for deny rules. With a `problem`, no rule can allow it.
    """

    given: str
    forms: tuple[str, ...]
    suspected: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def all_forms(self) -> tuple[str, ...]:
        """Every reading, however odd."""
        return tuple(dict.fromkeys((*self.forms, *self.suspected)))


def normal(path: str) -> str:
    """Take `.`, `..` and doubled slashes out of an absolute path."""
    return posixpath.normpath("/" + path.lstrip("/"))


def problem_of(path: str) -> str | None:
    """Why no rule can allow a path, as far as its spelling tells; None if it is plain."""
    if not path:
        return "there is no path"
    if len(path) > LONGEST_PATH or max(map(len, path.split("/"))) > _LONGEST_NAME:
        return "it is too long to be a path"
    if any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in path):
        return "it contains an invisible character"
    if "\\" in path:
        return "it contains a backslash, which may separate directories"
    if path.startswith("~") and path != "~" and not path.startswith("~/"):
        return "it names the home directory of another user"
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


# --- patterns ------------------------------------------------------------------------------------


def fold(text: str, *, invisible: bool) -> str:
    """Normalise a name as file systems do that ignore case and how accents are composed.

    With `invisible`, drop invisible characters, which some of them ignore.
    """
    if text.isascii():
        return text.lower()
    if invisible:
        text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


@dataclass(frozen=True, slots=True)
class PathPattern:
    """The pattern in the brackets of a rule for files.

    Its anchor is `root`, `home`, `source` or `cwd`; it starts `up` directories above that. It is
    `dotted` if written with `./`, and `negated` if it excludes paths that other rules allow.
    """

    anchor: str
    body: str
    up: int = 0
    dotted: bool = False
    negated: bool = False

    @classmethod
    def of(cls, text: str) -> PathPattern:
        """Parse a pattern; a ValueError says why it is not valid, or not safe."""
        if any(unicodedata.category(char) in ("Cc", "Cs") for char in text):
            raise ValueError("a path cannot contain control characters")
        negated, text = text.startswith("!"), text.removeprefix("!").strip()
        anchor, body = _split(text)
        dotted = anchor == "cwd" and body.startswith("./")
        parts = [part for part in re.sub(r"/+", "/", body).split("/") if part != "."]
        up = 0
        while parts[:1] == [".."]:
            del parts[0]
            up += 1
        if ".." in parts:
            raise ValueError("`..` may stand only at the beginning of a path")
        return cls(anchor, "/".join(parts) or "**", up, dotted, negated)

    def matches(self, path: str, roots: Iterable[str], *, forbids: bool, fold_case: bool) -> bool:
        """Whether a path matches, if the anchor is one of these roots.

        All of them are absolute, without `.` and `..`.
        """
        body = self.body
        if forbids or fold_case:
            path = fold(path, invisible=forbids)
            body = fold(body, invisible=forbids)
            roots = [fold(root, invisible=forbids) for root in roots]
        regex = _regex(body, self._floats(body, forbids=forbids), forbids)
        relatives = (below(path, climb(root, self.up)) for root in roots)
        return any(part is not None and regex.fullmatch(part) for part in relatives)

    def _floats(self, body: str, *, forbids: bool) -> bool:
        """Whether it holds at any depth below its anchor."""
        if self.anchor != "cwd" or self.up or self.dotted:
            return False
        inner = body.strip("/")
        if "/" not in inner:
            return True
        return forbids and re.fullmatch(r"[^/]+/\*\*", inner) is not None

    def meets(
        self,
        glob: str,
        roots: Iterable[str],
        *,
        dots: bool = True,
        isdir: Callable[[str], bool] | None = None,
    ) -> bool:
        """Whether a forbidding rule may be about a name that an absolute glob stands for.

        `dots` says whether a name that begins with a wildcard may begin with a dot.
        """
        names = fold(glob, invisible=True).strip("/").split("/")
        for root in roots:
            start = fold(climb(root, self.up), invisible=True).strip("/")
            body = fold(self.body, invisible=True).strip("/")
            floats = ["**"] if self._floats(self.body, forbids=True) else []
            parts = [*(start.split("/") if start else []), *floats, *body.split("/")]
            # What is denied with its content is a folder; a name alone may be that of a file.
            path = "/".join(("", start, body)).replace("//", "/")
            deep = isdir is None or re.search(r"[*?\[\\]", body) is not None or isdir(path)
            if len(names) > _DEEPEST_GLOB or _meet(names, parts, dots=dots, deep=deep):
                return True
        return False


def _meet(names: list[str], parts: list[str], *, dots: bool, deep: bool) -> bool:
    """Whether the patterns of a shell or search and those of a rule may be about the same path.

    `dots` says whether a last name that begins with a wildcard may begin with a dot, `deep` whether
    the names may go on behind the last part, into a denied folder.
    """
    known: dict[tuple[int, int], bool] = {}

    def meet(one: int, other: int) -> bool:
        if other == len(parts):
            return deep or names[one:] in ([], ["**"])
        if (one, other) not in known:
            known[one, other] = False
            known[one, other] = look(one, other)
        return known[one, other]

    def look(one: int, other: int) -> bool:
        if parts[other] == "**":
            return meet(one, other + 1) or (one < len(names) and meet(one + 1, other))
        if one == len(names):
            return False
        hidden = not dots and parts[other].startswith(".")
        is_last = one == len(names) - 1
        if names[one] == "**":
            return meet(one + 1, other) or (not hidden and meet(one, other + 1))
        if hidden and is_last and names[one][0] in "*?[":
            return False
        return _overlap(names[one], parts[other]) and meet(one + 1, other + 1)

    return meet(0, 0)


def _overlap(one: str, other: str) -> bool:
    """Whether two patterns may stand for the same name; rather yes if they are complicated."""
    if "\\" in one + other:
        return True
    one, other = (re.sub(r"\[[^\]]+\]", "?", it) for it in (one, other))
    if "*" not in one:
        one, other = other, one
    if "*" in other:
        (head, _, tail), (start, _, end) = one.partition("*"), other.partition("*")
        ends = (tail.rpartition("*")[2], end.rpartition("*")[2])
        return _agree(head, start) and _agree(*(it[::-1] for it in ends))
    if "*" in one:
        return "?" in other or re.fullmatch(_segment(one), other) is not None
    return len(one) == len(other) and _agree(one, other)


def _agree(one: str, other: str) -> bool:
    return all(a == b or "?" in (a, b) for a, b in zip(one, other, strict=False))


def below(path: str, root: str) -> str | None:
    """Return a path relative to a directory that it is in; None if it is not in it."""
    if path == root:
        return ""
    start = root.rstrip("/") + "/"
    return path[len(start) :] if path.startswith(start) else None


def climb(root: str, levels: int) -> str:
    """Go up from a directory."""
    for _ in range(levels):
        root = root.rpartition("/")[0] or "/"
    return root


def _split(text: str) -> tuple[str, str]:
    if text.startswith("//"):
        return "root", text[2:]
    if text == "~" or text.startswith("~/"):
        return "home", text[2:]
    if text.startswith("~"):
        raise ValueError("another user's home directory cannot be named; write `//` and its path")
    if text.startswith("/"):
        return "source", text[1:]
    if not text:
        raise ValueError("there is no path")
    return "cwd", text


# --- to regular expressions ----------------------------------------------------------------------


@remembered
def _regex(body: str, floats: bool, forbids: bool) -> re.Pattern[str]:
    """Compile a pattern; it takes linear time, as what follows `**` is taken where it is first."""
    directory = body.endswith("/")
    parts = body.strip("/").split("/")
    blocks = [list(group) for is_any, group in groupby(parts, lambda it: it == "**") if not is_any]
    if not blocks:
        return re.compile(".*", re.DOTALL)
    anchored = [not floats and parts[0] != "**", *(False for _ in blocks[1:])]
    pieces = [
        f"(?>{'' if is_fixed else '(?:[^/]*/)*?'}{'/'.join(map(_segment, block))}(?=/|\\Z))"
        for is_fixed, block in zip(anchored, blocks, strict=True)
    ]
    # What holds for a directory holds for all that is in it.
    rest = "/.*" if directory and not forbids else "(?:/.*)?"
    return re.compile("/".join(pieces) + rest, re.DOTALL)


_TOKEN = re.compile(
    r"\\(?P<escaped>.)|(?P<stars>\*+)|(?P<any>\?)|(?P<set>\[[!^]?\]?[^\]/]*\])", re.S
)


def _segment(part: str) -> str:
    """Translate the pattern of one name, with anything but a slash for its stars."""
    pieces = [""]
    end = 0
    for token in _TOKEN.finditer(part):
        pieces[-1] += re.escape(part[end : token.start()])
        if token["stars"]:
            pieces.append("")
        else:
            pieces[-1] += _translated(token)
        end = token.end()
    pieces[-1] += re.escape(part[end:])
    first, *more = pieces
    middle = "".join(f"(?>[^/]*?{piece})" for piece in more[:-1])
    return first + middle + "".join(f"[^/]*{piece}" for piece in more[-1:])


def _translated(token: re.Match[str]) -> str:
    if token["escaped"]:
        return re.escape(token["escaped"])
    if token["any"]:
        return "[^/]"
    negated = token["set"][1] in "!^"
    inside = token["set"][2 if negated else 1 : -1]
    safe = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside)
    try:
        re.compile(f"[{safe}]")
    except re.error:
        return re.escape(token["set"])
    return f"(?!/)[{'^' if negated else ''}{safe}]"
