"""A policy: which tools may be used, which must not be, and when a person is asked."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ..errors import OptionsError
from ..wire import PermissionMode
from .decisions import Behavior, Decision
from .file_use import UseContext
from .paths import normal
from .rules import Rule
from .shell import Match
from .tool_use import ToolUse
from .tools import NEEDS_PERSON, misspelt

if TYPE_CHECKING:
    from .explanation import Explanation

__all__ = ["MODES", "Policy", "check_spelling", "checked_rules"]

MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)
"""The permission modes of the CLI."""


MOST_REMEMBERED = 256
"""How many decisions a policy remembers."""
LONGEST_REMEMBERED = 4096
"""How many characters the input may have whose decision is remembered."""


@dataclass(frozen=True, slots=True, init=False)
class Policy:
    """Rules that allow, ask and deny, in the CLI's own grammar. It never changes.

    A deny rule wins over an ask rule, an ask rule over an allow rule, and an allow rule over the
    default. How specific a rule is does not matter. A question
    to a person (`AskUserQuestion`, `ExitPlanMode`) is never allowed without one.

    Args:
        allow: rules for what may be used.
        ask: rules for what needs a person each time.
        deny: rules for what must not be used.
        default: what holds where there is no rule.
        cwd: the working directory that relative rules are about; by default that of each use.
        home: the home directory; by default the user's.
        directories: more directories that the CLI works in.
        mode: a permission mode of the CLI to imitate: what it allows without a rule is allowed
            here. None for the rules alone.
        case_sensitive: whether file names that differ in case are different files; by default as
            is usual on this system.
        protect: whether an edit of files that may run code later (`.git`, `.bashrc`, …) always
            needs a person, as in the CLI.
        problems: minor problems that were found when the policy was loaded.
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
    """What was decided, as far as it follows from the rules and the use alone."""

    def __init__(
        self,
        allow: Iterable[str | Rule] = (),
        ask: Iterable[str | Rule] = (),
        deny: Iterable[str | Rule] = (),
        *,
        default: Behavior = "ask",
        cwd: str | os.PathLike[str] | None = None,
        home: str | os.PathLike[str] | None = None,
        directories: Iterable[str | os.PathLike[str]] = (),
        mode: PermissionMode | None = None,
        case_sensitive: bool = sys.platform != "darwin",
        protect: bool = True,
        problems: Iterable[str] = (),
        realpath: Callable[[str], str] = os.path.realpath,
    ) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        home, cwd = _path("home", home), _path("cwd", cwd)
        put("home", normal(os.path.abspath(home or Path.home())))
        put("cwd", None if cwd is None else self._absolute(cwd, os.getcwd()))
        put(
            "directories",
            tuple(_path("directories", it) for it in _list("directories", directories)),
        )
        put("allow", checked_rules(allow, "allow", self._roots()))
        put("ask", checked_rules(ask, "ask", self._roots()))
        put("deny", checked_rules(deny, "deny", self._roots()))
        put("default", _one_of("default", default, get_args(Behavior)))
        put("mode", None if mode is None else _one_of("mode", mode, MODES))
        put("case_sensitive", _one_of("case_sensitive", case_sensitive, (True, False)))
        put("protect", _one_of("protect", protect, (True, False)))
        put("problems", tuple(_list("problems", problems)))
        if not callable(realpath):
            raise OptionsError(f"realpath must be a function, not {realpath!r}")
        put("realpath", realpath)
        put("_decided", {})

    def _roots(self) -> tuple[str, ...]:
        """Return what a rule cannot mean relative to a project, if its path begins with it."""
        return tuple(filter(None, (self.home, self.cwd)))

    def _absolute(self, given: str | os.PathLike[str], cwd: str) -> str:
        path = os.fspath(given)
        if path == "~" or path.startswith("~/"):
            path = self.home + path[1:]
        return normal(os.path.join(cwd, path))

    # --- deciding --------------------------------------------------------------------------------

    def decide(
        self,
        tool_name: str,
        input: Mapping[str, Any],
        *,
        cwd: str | os.PathLike[str] | None = None,
    ) -> Decision:
        """Decide whether a tool may be used in this way.

        Nothing is changed. Of the file system it looks only at links, and, unless `realpath` was
        replaced, at whether a word in a command names a folder.

        Args:
            tool_name: the tool.
            input: what it would be given.
            cwd: the working directory of this use; by default that of the policy, else that of
                this process.
        """
        here = self.cwd or os.getcwd() if cwd is None else self._absolute(cwd, os.getcwd())
        key = (tool_name, here, *input, *input.values())
        try:
            return self._decided[key]
        except (KeyError, TypeError):  # it is new, or a value is a list or an object
            pass
        realpath, isdir = functools.cache(self.realpath), functools.cache(os.path.isdir)
        context = self._context(here, realpath, isdir)
        decision = self._decide(ToolUse(tool_name, input, context))
        if self.mode == "dontAsk" and decision.behavior == "ask":
            reason = f"{decision.reason}; and in the mode dontAsk no person is asked"
            decision = Decision("deny", reason, decision.rule, decision.tool, decision.part)
        if not (realpath.cache_info().misses or isdir.cache_info().misses):
            self._remember(key, decision)  # what is in the file system may change
        return decision

    def _remember(self, key: tuple[Any, ...], decision: Decision) -> None:
        """Keep a decision: a model often repeats a command, and parsing it takes the most time."""
        if all(type(value) is str for value in key) and sum(map(len, key)) <= LONGEST_REMEMBERED:
            if len(self._decided) >= MOST_REMEMBERED:
                self._decided.clear()
            self._decided[key] = decision

    def _context(
        self, here: str, realpath: Callable[[str], str], isdir: Callable[[str], bool]
    ) -> UseContext:
        base = self.cwd or here
        return UseContext(
            base=base,
            cwd=here,
            home=self.home,
            directories=tuple(self._absolute(it, base) for it in self.directories),
            case_sensitive=self.case_sensitive,
            protect=self.protect,
            realpath=realpath,
            isdir=isdir if self.realpath is os.path.realpath else None,
        )

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
        doubt = None if use.is_spelled_out(rule) else denied or asked
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
        return doubt or Decision("allow", allowed, None, use.tool)

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
        cls,
        source: str | os.PathLike[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        home: str | os.PathLike[str] | None = None,
    ) -> Policy:
        """Load a policy from TOML.

            default = "ask"
            allow = ["Read", "Bash(git status:*)"]
            ask = ["Bash(git push:*)"]
            deny = ["Bash(rm:*)", "Read(~/.ssh/**)"]

        Args:
            source: a path; or the TOML itself, recognised by a newline or an equals sign.
            cwd: the working directory that relative rules are about; by default that of each use.
            home: the home directory; by default the user's.

        Raises:
            OptionsError: it cannot be read, or is not a policy; the message says where.
        """
        from .settings import load_toml

        return load_toml(source, cwd=cwd, home=home)

    @classmethod
    def from_settings(
        cls,
        *,
        cwd: str | os.PathLike[str] | None = None,
        home: str | os.PathLike[str] | None = None,
        config: str | os.PathLike[str] | None = None,
        managed: str | os.PathLike[str] | None = None,
        extra: str | os.PathLike[str] | None = None,
        sources: Sequence[str] = ("user", "project", "local"),
        trusted: bool = False,
        strict: bool = False,
    ) -> Policy:
        """Load the policy that the CLI has from its settings files.

        Args:
            cwd: the project; by default the working directory of this process.
            home: the home directory; by default the user's.
            config: where the user's settings are; by default `.claude` at home.
            managed: where the settings of the organisation are; by default as is usual on this
                system.
            extra: a settings file, or its text, as in the flag `--settings`.
            sources: which of `user`, `project` and `local` are read, as in `--setting-sources`.
            trusted: whether what the project's own settings allow counts: their allow rules,
                directories and permission mode, also in `settings.local.json`, which may have come
                with the project. The CLI asks the user once, and never when it is driven by a
                program. What they deny always counts.
            strict: whether an invalid rule is an error, or is left out and listed in `problems`.

        Raises:
            OptionsError: a file is not a settings file; or, if strict, a rule is not valid.
        """
        from .settings import Sources, load_settings

        return load_settings(
            Sources(cwd, home, config, managed, extra, sources), trusted=trusted, strict=strict
        )

    def explain(
        self,
        *,
        allowed_tools: Sequence[str] = (),
        disallowed_tools: Sequence[str] = (),
        permission_mode: str | None = None,
        tools: Sequence[str] | None = None,
        hooks: bool = False,
    ) -> Explanation:
        """Explain which tools can ever reach a person, and which rules shadow others.

        Args:
            allowed_tools: the rules that the CLI is started with, which it allows by itself.
            disallowed_tools: those that it denies by itself.
            permission_mode: the mode that it is started in.
            tools: the tools that exist; None for all that are known.
            hooks: whether there are hooks, which decide first.
        """
        from .explanation import explain

        return explain(
            self,
            allowed_tools=allowed_tools,
            disallowed_tools=disallowed_tools,
            permission_mode=permission_mode,
            tools=tools,
            hooks=hooks,
        )


def _matching(use: ToolUse, behavior: Behavior, rules: Sequence[Rule]) -> Decision | None:
    """What rules that deny or ask decide; a decision without a rule is a doubt about one."""
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


def checked_rules(
    given: Iterable[str | Rule], behavior: Behavior, roots: Iterable[str] = ()
) -> tuple[Rule, ...]:
    """Parse rules, and check that they can have an effect.

    Args:
        given: the rules.
        behavior: what they are to do.
        roots: directories that cannot be meant by a path which begins with one slash.

    Raises:
        OptionsError: one is not valid, or can never have an effect.
    """
    rules = tuple(it if isinstance(it, Rule) else _spelled(it) for it in _list(behavior, given))
    for rule in rules:
        why = rule.why_never_allows() if behavior == "allow" else rule.why_never_forbids()
        if (why := why or rule.why_elsewhere(roots)) is not None:
            raise OptionsError(f"The rule {str(rule)!r} can never {behavior} anything: {why}")
    return rules


def _spelled(text: object) -> Rule:
    """Check and parse a rule."""
    if not isinstance(text, str):
        raise OptionsError(f"A rule is a string such as 'Bash(git status:*)', not {text!r}")
    check_spelling(text)
    return Rule.parse(text)


def check_spelling(text: str) -> None:
    """Check that the tool of a rule is not merely similar to a known one.

    Raises:
        OptionsError: it is; the message says which was probably meant.
    """
    tool = text.partition("(")[0].strip()
    if (known := misspelt(tool)) is not None:
        raise OptionsError(
            f"The rule {text!r} is about the tool {tool}, which is not known; did you mean "
            f"{known}? If there is such a tool, give the rule as Rule.parse({text!r})"
        )


def _list(name: str, given: Any) -> Iterable[Any]:
    if isinstance(given, str):
        raise OptionsError(f"{name} must be a list, not the string {given!r}; write [{given!r}]")
    if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
        raise OptionsError(f"{name} must be a list, not {given!r}")
    return given


def _path(name: str, given: Any) -> Any:
    if given is None or (isinstance(given, str | os.PathLike) and os.fspath(given)):
        return None if given is None else os.fspath(given)
    raise OptionsError(f"{name} must be a path, not {given!r}")


def _one_of(name: str, value: Any, values: Sequence[Any]) -> Any:
    if not any(value is it or (isinstance(it, str) and value == it) for it in values):
        close = get_close_matches(str(value), [str(it) for it in values])
        hint = f"; did you mean {close[0]!r}?" if close else ""
        words = ", ".join(map(str, values))
        raise OptionsError(f"{name} cannot be {value!r}; it is one of {words}{hint}")
    return value


def _short(part: str) -> str:
    line = " ".join(part[:1000].split())
    return line if len(line) <= 100 else f"{line[:97]}…"
