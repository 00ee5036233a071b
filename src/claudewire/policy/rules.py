"""Rules, in the CLI's own grammar.

Read                          every use of a tool
Bash(git status:*)            commands that start with it; `Bash(git status *)` is the same
Bash(npm run test)            exactly this command
Edit(src/**)                  files: as in gitignore, see `claudewire.policy.paths`
WebFetch(domain:example.com)  hosts
Agent(Explore), Skill(commit) one agent, one skill
mcp__github, mcp__github__*   every tool of a server; `mcp__github__get_issue` is one
*                             every tool; only to deny or to ask
Agent(model:opus)             a field of the input; only to deny or to ask
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import OptionsError
from .paths import PathPattern
from .shell.patterns import CommandPattern, joined_by_wildcards
from .shell.script import remembered
from .tools import ALIASES, KNOWN_TOOLS, facts, misspelt

Behavior = Literal["allow", "ask", "deny"]

_TOOL = re.compile(r"[A-Za-z*][\w*.-]*", re.ASCII)
_PARAMETER = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*(.*?)\s*", re.ASCII | re.DOTALL)
_SERVER_GLOB = re.compile(r"mcp__[^*]+?__.*", re.ASCII)
_DOMAIN = re.compile(r"(?:[\w*-]+\.)*[\w*-]+\.?")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: the uses that it matches. A `Policy` decides about them.

    Attributes:
        tool: the name of a tool, or a pattern of names.
        content: the text in the brackets; None for every use of the tool.
        root: the directory of a path that begins with `/`; None for the working directory.
        source: the origin of the rule, in words.
    """

    tool: str
    content: str | None = None
    root: str | None = None
    source: str = field(default="", compare=False)
    _text: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if not _TOOL.fullmatch(self.tool):
            raise OptionsError(f"{str(self)!r} is not a rule: {self.tool!r} cannot name a tool")
        if self.content is not None and (problem := _problem(self.tool, self.content)) is not None:
            raise OptionsError(f"{str(self)!r} is not a rule: {problem}")

    @classmethod
    def parse(cls, text: str, *, root: str | None = None, source: str = "") -> Rule:
        """Parse a rule as the CLI writes it.

        Raises:
            OptionsError: it is not a rule; the message says why, and what to write instead.
        """
        text = text.strip()
        tool, bracket, rest = text.partition("(")
        if not text:
            raise OptionsError("An empty string is not a rule: write the name of a tool")
        if not bracket and ")" in tool:
            raise OptionsError(f"{text!r} is not a rule: it closes a bracket that is not open")
        if bracket and not rest.endswith(")"):
            raise OptionsError(f"{text!r} is not a rule: its last character must be ')'")
        content = re.sub(r"\\([\\()])", r"\1", rest[:-1]) if bracket else None
        if content is not None and tool != "Bash" and content.strip() == "*":
            content = None
        return cls(tool.strip(), content, root, source, text)

    def __str__(self) -> str:
        if self._text:
            return self._text
        if self.content is None:
            return self.tool
        escaped = re.sub(r"([\\()])", r"\\\1", self.content)
        return f"{self.tool}({escaped})"

    # --- matching --------------------------------------------------------------------------------

    @property
    def for_every_use(self) -> bool:
        """Whether it matches every use of its tool."""
        command = command_of(self)
        return self.content is None or (command is not None and command.kind == "any")

    @property
    def is_about_files(self) -> bool:
        """Whether it is about files, also in commands."""
        path = path_of(self)
        return path is not None and not path.negated and self.tool in ("Read", "Edit", "Write")

    @property
    def domain(self) -> str | None:
        """The host of a web rule."""
        name, _, host = (self.content or "").partition("domain:")
        is_host = facts(self.tool).kind == "fetch" and self.content and not name
        return host.strip() if is_host else None

    @property
    def parameter(self) -> tuple[str, str] | None:
        """The field of the input and its value, if it may name one."""
        found = _PARAMETER.fullmatch(self.content or "")
        return (found[1], found[2]) if found else None

    def names(self, tool: str) -> bool:
        """Whether it names a tool, by its name, a pattern or its MCP server."""
        name, tool = ALIASES.get(self.tool, self.tool), ALIASES.get(tool, tool)
        if name == tool or (name == "Bash" and tool == "Monitor"):
            return True
        if name.startswith("mcp__") and name.count("__") == 1 and "*" not in name:
            return tool.startswith(f"{name}__")
        return wildcard(name).fullmatch(tool) is not None

    def surely_names(self, tool: str) -> bool:
        """Whether it surely names a tool: `mcp__a__b__c` may be of a server `a` or `a__b`."""
        if not self.names(tool):
            return False
        server = re.match(r"mcp__[^*]+?(?=__|$)", self.tool)
        if server is None or self.tool == tool:
            return True
        rest = tool[server.end() + 2 :]
        return "__" not in rest and not rest.startswith("_")

    def matches_parameter(self, given: Mapping[str, Any]) -> bool:
        """Whether the input has the value that the rule requires for a field."""
        if self.parameter is None or self.parameter[0] not in given:
            return False
        value = given[self.parameter[0]]
        if isinstance(value, bool):
            value = "true" if value else "false"
        if not isinstance(value, str | int | float):
            return False
        return wildcard(self.parameter[1]).fullmatch(str(value)) is not None

    def why_never_allows(self) -> str | None:
        """Return why it can never allow anything; None if it can."""
        if "*" in self.tool and not _SERVER_GLOB.fullmatch(self.tool):
            return "to allow, name each tool; a pattern may only follow `mcp__server__`"
        if (command := command_of(self)) is not None:
            return command.problem
        if self.content is not None and not facts(self.tool).kind:
            return "its brackets can deny a use of the tool, but not make it safe"
        return None

    def why_never_forbids(self) -> str | None:
        """Return why it can never deny or ask anything; None if it can."""
        if (path := path_of(self)) is not None and path.negated:
            return "an exception only restricts allow rules"
        return None

    def why_elsewhere(self, roots: Iterable[str]) -> str | None:
        """Return why its path is probably a mistake: one slash instead of two."""
        if (path := path_of(self)) is None or path.anchor != "source":
            return None
        meant = f"/{path.body}/"
        if any(root != "/" and meant.startswith(f"{root}/") for root in roots):
            return ONE_SLASH
        return None


@remembered
def wildcard(pattern: str) -> re.Pattern[str]:
    """Compile a pattern in which `*` stands for any text."""
    return re.compile(joined_by_wildcards(pattern.split("*")), re.DOTALL)


def command_of(rule: Rule) -> CommandPattern | None:
    """Return the pattern of commands, of a rule for a shell."""
    return _command(rule.content) if rule.content and facts(rule.tool).kind == "command" else None


def path_of(rule: Rule) -> PathPattern | None:
    """Return the pattern of paths, of a rule for files."""
    is_of_files = facts(rule.tool).kind in ("read", "edit")
    return _path(rule.content) if rule.content and is_of_files else None


_command = remembered(CommandPattern.of)
_path = remembered(PathPattern.of)


# --- the rules of a policy ----------------------------------------------------------------------


def checked_rules(
    given: Iterable[str | Rule], behavior: Behavior, roots: Iterable[str] = ()
) -> tuple[Rule, ...]:
    """Parse rules, and check that they can have an effect.

    A path with one slash cannot begin with one of the roots.
    """
    rules = []
    for it in as_list(behavior, given):
        if not isinstance(it, str | Rule):
            raise OptionsError(f"A rule is a string such as 'Bash(git status:*)', not {it!r}")
        if isinstance(it, str):
            check_spelling(it)
        rules.append(Rule.parse(it) if isinstance(it, str) else it)
    for rule in rules:
        why = rule.why_never_allows() if behavior == "allow" else rule.why_never_forbids()
        if (why := why or rule.why_elsewhere(roots)) is not None:
            raise OptionsError(f"The rule {str(rule)!r} can never {behavior} anything: {why}")
    return tuple(rules)


def check_spelling(text: str) -> None:
    """Refuse a rule whose tool is merely similar to a known one; say which was probably meant."""
    tool = text.partition("(")[0].strip()
    if (known := misspelt(tool)) is not None:
        raise OptionsError(
            f"The rule {text!r} is about the tool {tool}, which is not known; did you mean "
            f"{known}? If there is such a tool, give the rule as Rule.parse({text!r})"
        )


def as_list(name: str, given: Any) -> Iterable[Any]:
    """Check that a list is given, not a single string."""
    if isinstance(given, str):
        raise OptionsError(f"{name} must be a list, not the string {given!r}; write [{given!r}]")
    if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
        raise OptionsError(f"{name} must be a list, not {given!r}")
    return given


# --- invalid rules -------------------------------------------------------------------------------

_NO_PROGRAM = re.compile(r"""["'`(),]|^[\\^;|&<>#]|\w[|&;]\w|[$:]$|\w\.\+?$""")
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff]")


def _problem(tool: str, content: str) -> str | None:
    known = facts(tool)
    if not content.strip():
        return f"its brackets are empty; write {tool!r} for every use"
    proper = {name.casefold(): name for name in KNOWN_TOOLS}.get(tool.casefold(), tool)
    if proper != tool:
        return f"there is no tool {tool!r}; write {proper!r}"
    parameter = _PARAMETER.fullmatch(content)
    if parameter and parameter[1] == known.content:
        return f"{parameter[1]!r} cannot be matched by its name; write only its value"
    if known.kind == "command":
        is_field = parameter is not None and parameter[1] in _FIELDS_OF_BASH
        return None if is_field else _problem_of_command(content.strip())
    if known.kind in ("read", "edit"):
        return _problem_of_path(content)
    return _problem_of_kind(known.kind, tool, content, is_parameter=parameter is not None)


_FIELDS_OF_BASH = {"description", "timeout", "run_in_background", "dangerouslyDisableSandbox"}


def _problem_of_command(content: str) -> str | None:
    if content == ":*":
        return "there is no command before `:*`; write 'Bash' for every command"
    if ":*" in content[:-2]:
        return "`:*` counts only at the end; write ` *` for anything in between"
    if _INVISIBLE.search(content):
        return "it contains an invisible character, which is in no command that can be read"
    program = re.split(r"[\s*]", content.removesuffix(":*"))[0]
    if content.endswith(":*") and content[-3:-2].isspace():
        return f"no command matches a blank before `:*`; write {content[:-2].rstrip() + ':*'!r}"
    if content.endswith(": *"):
        return f"a blank before `*` is a part of it; write {content[:-2] + '*'!r}"
    if (usual := unicodedata.normalize("NFKC", program)) != program and usual.isascii():
        return f"{program!r} only looks like {usual!r}"
    if _NO_PROGRAM.search(program):
        return (
            f"no program has the name {program!r}; write it without quotes, brackets or regular "
            "expressions, and one rule for each"
        )
    return None


def _problem_of_path(content: str) -> str | None:
    path = content.strip().removeprefix("!")
    if _INVISIBLE.search(path):
        return "a path cannot contain control characters, or others that are invisible"
    for pattern, hint in _NO_PATH:
        if re.search(pattern, path):
            return hint
    try:
        PathPattern.of(content)
    except ValueError as error:
        return str(error)
    return None


ONE_SLASH = "one slash is the root of the project; write two for that of the file system, or `./`"
_NO_PATH = (
    (
        r"^\$\{?\w+\}?(?:/|$)|\$\{|^%\w+%",
        "variables are not expanded; write `~/` for the home directory, or `//` and a path",
    ),
    (r"(?<!\\)\{[^}]*,", "braces are not expanded; write one rule for each"),
    (r"^[\"'].*[\"']$", "quotes are taken literally; write it without them"),
    (r"^[A-Za-z]:[\\/]|\\[A-Za-z0-9.]", "a backslash does not separate; write `/` and no drive"),
    (r"^\w+://|^(?:path|file|dir|folder|glob):", "write the path alone, as `//etc/hosts`"),
    (r", |(?<!\\)\||^\^|\$$", "it is no regular expression or list; write one rule for each"),
    (
        r"^/(?:home|Users|root|etc|usr|var|proc|sys|dev|boot|run|mnt|Volumes|private)(?:/|$)",
        ONE_SLASH,
    ),
)
"""Paths in other notations, which would never match a file, and their corrections."""


def _problem_of_kind(kind: str, tool: str, content: str, *, is_parameter: bool) -> str | None:
    if kind == "fetch" and (
        not is_parameter
        or re.match(r"(?i:domain|host|hostname|site)\s*:(?<!domain:)|\w+://", content)
    ):
        return "write `domain:` and a host"
    if kind == "fetch" and content.startswith("domain:"):
        host = content.removeprefix("domain:").strip()
        return None if _DOMAIN.fullmatch(host) else f"{host!r} is not a host"
    if kind in ("skill", "agent") and content.startswith("/"):
        return f"a name has no slash; write {content.lstrip('/')!r}"
    if not kind and not is_parameter:
        return f"{tool} takes nothing in brackets but a field and its value, as in `field:value`"
    return None
