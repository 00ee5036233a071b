"""A policy: which tools may be used, which must not be, and when a person is asked."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from ..errors import OptionsError
from ..wire import PermissionMode
from .decisions import Decision
from .explanation import Case, ToolReach, first_true, reach_of_cli, whole
from .file_use import UseContext
from .paths import normal
from .rules import Behavior, Rule, as_list, checked_rules, path_of
from .settings import MODES, StrPath, load_settings, load_toml
from .shell.patterns import Match
from .tool_use import ToolUse
from .tools import KNOWN_TOOLS, NEEDS_PERSON, OLD_TOOLS, facts

MOST_REMEMBERED, LONGEST_REMEMBERED = 256, 4096
"""Decisions that a policy remembers, and characters in their inputs: models repeat commands."""


@dataclass(frozen=True, slots=True, init=False)
class Policy:
    """Rules that allow, ask and deny, in the CLI's own grammar. It never changes.

    A deny rule wins over an ask rule, an ask rule over an allow rule, and an allow rule over the
    default. How specific a rule is does not matter. A question to a person (`AskUserQuestion`,
    `ExitPlanMode`) is never allowed without one.

    Args:
        allow: rules for allowed uses.
        ask: rules for uses that need a person each time.
        deny: rules for forbidden uses.
        default: the decision without a rule.
        cwd: the working directory of relative rules; by default that of each use.
        home: the home directory; by default the user's.
        directories: more directories that the CLI works in.
        mode: a permission mode of the CLI to imitate: it allows what the CLI allows without a rule.
            None for the rules alone.
        case_sensitive: whether file names that differ in case are different files; by default as
            is usual on this system.
        protect: whether an edit of files that may run code later (`.git`, `.bashrc`, …) always
            needs a person, as in the CLI.
        problems: minor problems found when the policy was loaded.
        realpath: follows symbolic links; replace it if the files are on another machine.

    Raises:
        OptionsError: a rule is not valid, or can never have an effect.
    """

    allow: tuple[Rule, ...]
    ask: tuple[Rule, ...]
    deny: tuple[Rule, ...]
    default: Behavior
    cwd: str | None
    home: str
    directories: tuple[str, ...]
    mode: PermissionMode | None
    case_sensitive: bool
    protect: bool
    problems: tuple[str, ...] = field(compare=False)
    realpath: Callable[[str], str] = field(compare=False, repr=False)
    _decided: dict[tuple[Any, ...], Decision] = field(init=False, compare=False, repr=False)
    """Decisions that follow from the rules and the use alone."""

    def __init__(
        self,
        allow: Iterable[str | Rule] = (),
        ask: Iterable[str | Rule] = (),
        deny: Iterable[str | Rule] = (),
        *,
        default: Behavior = "ask",
        cwd: StrPath | None = None,
        home: StrPath | None = None,
        directories: Iterable[StrPath] = (),
        mode: PermissionMode | None = None,
        case_sensitive: bool = sys.platform != "darwin",
        protect: bool = True,
        problems: Iterable[str] = (),
        realpath: Callable[[str], str] = os.path.realpath,
    ) -> None:
        put = functools.partial(object.__setattr__, self)
        put("home", normal(os.path.abspath(home or Path.home())))
        put("cwd", None if cwd is None else self._absolute(cwd, os.getcwd()))
        put("directories", tuple(os.fspath(it) for it in as_list("directories", directories)))
        # A path with one slash is relative to the project, so it cannot begin with these.
        roots = tuple(filter(None, (self.home, self.cwd)))
        put("allow", checked_rules(allow, "allow", roots))
        put("ask", checked_rules(ask, "ask", roots))
        put("deny", checked_rules(deny, "deny", roots))
        put("default", _one_of("default", default, get_args(Behavior)))
        put("mode", mode if mode is None else _one_of("mode", mode, MODES))
        put("case_sensitive", case_sensitive)
        put("protect", protect)
        put("problems", tuple(problems))
        put("realpath", realpath)
        put("_decided", {})

    def _absolute(self, given: StrPath, cwd: str) -> str:
        path = os.fspath(given)
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        return normal(os.path.join(cwd, path))

    # --- deciding --------------------------------------------------------------------------------

    def decide(
        self, tool_name: str, input: Mapping[str, Any], *, cwd: StrPath | None = None
    ) -> Decision:
        """Decide about one use of a tool, without any effect.

        It reads only links, and, unless `realpath` was replaced, whether a word in a command names
        a folder.

        Args:
            tool_name: the tool.
            input: the input of the tool.
            cwd: the working directory of this use; by default that of the policy, else that of
                this process.
        """
        given: object = input  # it comes from a model
        if not isinstance(given, Mapping):
            decision = self.decide(tool_name, {}, cwd=cwd)
            odd = Decision("ask", "its input is not an object", None, tool_name)
            return odd if decision.allows else decision
        here = self.cwd or os.getcwd() if cwd is None else self._absolute(cwd, os.getcwd())
        key = (tool_name, here, *input, *input.values())
        try:
            return self._decided[key]
        except (KeyError, TypeError):  # a new one, or a value is a list or an object
            pass
        realpath, isdir = functools.cache(self.realpath), functools.cache(os.path.isdir)
        base = self.cwd or here
        context = UseContext(
            base=base,
            cwd=here,
            home=self.home,
            directories=tuple(self._absolute(it, base) for it in self.directories),
            case_sensitive=self.case_sensitive,
            protect=self.protect,
            realpath=realpath,
            isdir=isdir if self.realpath is os.path.realpath else None,
        )
        decision = self._decide(ToolUse(tool_name, input, context))
        if self.mode == "dontAsk" and decision.behavior == "ask":
            reason = f"{decision.reason}; and in the mode dontAsk no person is asked"
            decision = Decision("deny", reason, decision.rule, decision.tool, decision.part)
        is_short = all(type(it) is str for it in key) and sum(map(len, key)) <= LONGEST_REMEMBERED
        # A decision that read the file system holds only once.
        if is_short and not (realpath.cache_info().misses or isdir.cache_info().misses):
            if len(self._decided) >= MOST_REMEMBERED:
                self._decided.clear()
            self._decided[key] = decision
        return decision

    def _decide(self, use: ToolUse) -> Decision:
        denied = _matching(use, "deny", self.deny)
        if denied is not None and denied.behavior == "deny":
            return denied
        asked = _matching(use, "ask", self.ask)
        if asked is not None and asked.rule is not None:
            return asked
        rule, why = use.allowed(self.allow)
        if rule is None:
            return self._by_default(use, why, denied or asked)
        if use.tool in NEEDS_PERSON:
            reason = "it is a question to a person, which only a person can answer"
            return Decision("ask", reason, rule, use.tool)
        if self.mode == "plan" and use.facts.kind == "edit":
            return Decision("ask", "nothing is edited unasked in the mode plan", rule, use.tool)
        doubt = None if use.is_spelled_out(rule) else denied or asked or self._open(use)
        return doubt or Decision("allow", f"`{rule}` allows it: {why}", rule, use.tool)

    def _by_default(self, use: ToolUse, why: str, doubt: Decision | None) -> Decision:
        """Decide about a use that no rule allows; `why` says why none does."""
        behavior = self.default
        allowed = "no rule is about it" if behavior == "allow" else self._by_mode(use)
        if allowed is None:
            return Decision(behavior, why, None, use.tool)
        if use.tool in NEEDS_PERSON:
            return Decision("ask", "it is a question to a person", None, use.tool)
        if why_not := use.why_always_ask():
            return Decision("ask", why_not, None, use.tool)
        doubt = doubt or self._open(use)
        return doubt or Decision("allow", allowed, None, use.tool)

    def _open(self, use: ToolUse) -> Decision | None:
        """Ask about a command beside rules that cannot hold for it."""
        if use.commands is None:
            return None
        why = use.commands.why_open((*self.deny, *self.ask), self.allow)
        return Decision("ask", why, None, use.tool) if why else None

    def _by_mode(self, use: ToolUse) -> str | None:
        """Why the mode allows a use that no rule is about; None if it does not."""
        if self.mode is None or self.mode == "bypassPermissions":
            return self.mode and "everything is allowed in the mode bypassPermissions"
        inside = use.paths is not None and use.paths.in_working_directories()
        if inside and use.facts.kind == "read":
            return "files in the working directories may be read"
        if inside and self.mode == "acceptEdits":
            return "files in the working directories may be edited in the mode acceptEdits"
        return None

    # --- loading and explaining ------------------------------------------------------------------

    @classmethod
    def from_toml(
        cls, source: StrPath, *, cwd: StrPath | None = None, home: StrPath | None = None
    ) -> Policy:
        """Load a policy from TOML.

            default = "ask"
            allow = ["Read", "Bash(git status:*)"]
            ask = ["Bash(git push:*)"]
            deny = ["Bash(rm:*)", "Read(~/.ssh/**)"]

        Args:
            source: a path; or the TOML itself, recognised by a newline or an equals sign.
            cwd: the working directory of relative rules; by default that of each use.
            home: the home directory; by default the user's.

        Raises:
            OptionsError: it cannot be read, or is not a policy; the message says where.
        """
        return cls(**load_toml(source), cwd=cwd, home=home)

    @classmethod
    def from_settings(
        cls,
        *,
        cwd: StrPath | None = None,
        home: StrPath | None = None,
        config: StrPath | None = None,
        managed: StrPath | None = None,
        extra: StrPath | None = None,
        sources: Sequence[str] = ("user", "project", "local"),
        trusted: bool = False,
    ) -> Policy:
        """Load the policy of the CLI from its settings files.

        Args:
            cwd: the project; by default the working directory of this process.
            home: the home directory; by default the user's.
            config: the directory of the user's settings; by default `.claude` at home.
            managed: the directory of the organisation's settings; by default that of this system.
            extra: a settings file, or its text, as in the flag `--settings`.
            sources: which of `user`, `project` and `local` are read, as in `--setting-sources`.
            trusted: whether the allow rules, directories and permission mode in the project's own
                settings count, also in `settings.local.json`, which may have come with the project.
                The CLI asks the user once, and never when a program drives it. Deny rules always
                count.

        Returns:
            the policy. Its `problems` list invalid rules, and settings that do not count.

        Raises:
            OptionsError: a file is not a settings file.
        """
        cwd, home = Path(cwd or ".").absolute(), Path(home or Path.home())
        found = load_settings(
            cwd, Path(config or home / ".claude"), managed, extra, sources, trusted=trusted
        )
        return cls(**found, cwd=cwd, home=home)

    def explain(
        self,
        *,
        tools: Sequence[str] | None = None,
        allowed_tools: Sequence[str] = (),
        disallowed_tools: Sequence[str] = (),
        permission_mode: str | None = None,
    ) -> dict[str, ToolReach]:
        """Explain which tools reach a person, behind the rules and the mode of a CLI.

        Args:
            tools: the existing tools; None for all known ones.
            allowed_tools: the rules by which the CLI allows.
            disallowed_tools: the rules by which it denies.
            permission_mode: its mode.
        """
        allow, deny = ([*map(Rule.parse, rules)] for rules in (allowed_tools, disallowed_tools))
        if tools is None:
            rules = (*self.deny, *self.ask, *self.allow, *allow, *deny)
            named = (rule.tool for rule in rules if "*" not in rule.tool)
            tools = (*(tool for tool in KNOWN_TOOLS if tool not in OLD_TOOLS), *named)
        found = {}
        for tool in tools:
            asked, left = reach_of_cli(tool, allow, deny, permission_mode), self._reach_of(tool)
            cli_decides = asked.reaches == "never" or left.reaches == "always" != asked.reaches
            found[tool] = asked if cli_decides else left
        return found

    def _reach_of(self, tool: str) -> ToolReach:
        """Return whether it leaves a tool to a person."""
        kind, mode, refuses = facts(tool).kind, self.mode, self.default == "deny"
        denied, asked, allowed = (whole(it, tool) for it in (self.deny, self.ask, self.allow))
        is_allowed = allowed or self.default == "allow" or mode == "bypassPermissions"
        why = f"`{allowed}` allows it" if allowed else "the policy will allow it"
        guarded = _any_about((*self.ask, *self.deny), tool)
        checked = guarded or kind == "command" or (kind == "edit" and self.protect)
        edits = "in the mode acceptEdits the policy allows edits in its directories"
        cases: tuple[Case, ...] = (
            (denied, "never", f"`{denied}` denies it"),
            (mode == "dontAsk", "never", "in the mode dontAsk the policy denies instead of asking"),
            (tool in NEEDS_PERSON, "always", "it is a question to a person"),
            (asked, "always", f"`{asked}` requires asking"),
            (is_allowed and checked, "sometimes", f"{why}, but for some uses"),
            (is_allowed, "never", why),
            (mode == "acceptEdits" and kind == "edit", "sometimes", edits),
            (refuses and not _any_about(self.ask, tool), "never", "the policy will deny it"),
            (refuses or guarded, "sometimes", "rules decide some uses"),
            (_any_about(self.allow, tool), "sometimes", "rules decide some uses"),
            (True, "always", "no rule is about it"),
        )
        return first_true(tool, cases)


def _any_about(rules: Sequence[Rule], tool: str) -> bool:
    is_of_files = facts(tool).kind in ("read", "edit", "command")
    return any(
        rule.names(tool) if path is None else is_of_files and not path.negated
        for rule, path in ((rule, path_of(rule)) for rule in rules)
    )


def _matching(use: ToolUse, behavior: Behavior, rules: Sequence[Rule]) -> Decision | None:
    """Apply rules that deny or ask; a decision without a rule is a doubt about one."""
    doubt: Decision | None = None
    verb = "denies it" if behavior == "deny" else "requires asking"
    for rule in rules:
        match, part = use.match(rule, behavior)
        about = f": `{_short(part)}`" if part else ""
        if match is Match.YES:
            return Decision(behavior, f"`{rule}` {verb}{about}", rule, use.tool, part)
        if match is Match.MAYBE and doubt is None:
            reason = f"it is not certain whether `{rule}` applies{about}"
            doubt = Decision("ask", reason, None, use.tool, part)
    return doubt


def _one_of(name: str, value: Any, values: Sequence[str]) -> Any:
    if value not in values:
        raise OptionsError(f"{name} cannot be {value!r}; it is one of {', '.join(values)}")
    return value


def _short(part: str) -> str:
    line = " ".join(part[:1000].split())
    return line if len(line) <= 100 else f"{line[:97]}…"
