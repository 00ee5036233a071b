"""Which tools can ever reach a person, and which rules can never have an effect.

The CLI decides first, by the rules and the mode that it was started with. Only what it would ask
about comes to a policy, and only what the policy leaves open comes to a person. What was allowed on
the way is not seen by those who come later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .policy import Policy
from .rules import Rule
from .shell import Word
from .tool_use import host_matches
from .tools import KNOWN_TOOLS, NEEDS_PERSON, facts

__all__ = ["Explanation", "Reach", "Shadow", "ToolReach", "explain"]

Reach = Literal["always", "sometimes", "never"]

_OLD_TOOLS = frozenset({"BashOutput", "KillShell", "LS", "MultiEdit", "NotebookRead", "Task"})


@dataclass(frozen=True, slots=True)
class ToolReach:
    """Whether a person is asked before a tool is used.

    Attributes:
        tool: the tool.
        reaches: whether its uses reach a person.
        why: the reason.
    """

    tool: str
    reaches: Reach
    why: str

    def __str__(self) -> str:
        return f"{self.tool:<20} {self.reaches:<9} {self.why}"


@dataclass(frozen=True, slots=True)
class Shadow:
    """A rule that has no effect, or less than it seems.

    Attributes:
        rule: the rule, with what it would do.
        by: what comes before it.
        why: what that does to it.
    """

    rule: str
    by: str
    why: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.why} ({self.by})"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Who decides about the use of tools, in words.

    Attributes:
        order: who decides, one after the other.
        tools: whether a person is asked about each tool.
        shadows: rules without an effect.
        notes: remarks.
    """

    order: tuple[str, ...]
    tools: tuple[ToolReach, ...]
    shadows: tuple[Shadow, ...] = ()
    notes: tuple[str, ...] = ()

    def reaches(self, tool: str) -> Reach:
        """Whether uses of a tool reach a person; "never" for a tool that does not exist."""
        for fate in self.tools:
            if fate.tool == tool:
                return fate.reaches
        return "never"

    @property
    def unreachable(self) -> str | None:
        """Why a permission handler could never be called; None if it could."""
        fates = [fate for fate in self.tools if fate.tool not in NEEDS_PERSON]
        if any(fate.reaches != "never" for fate in fates):
            return None
        reasons = {fate.why: fate.tool for fate in fates}
        if len(reasons) < 2:
            why = next(iter(reasons), "there are no tools")
            return f"A permission handler would never be called: {why}"
        each = "; ".join(f"{tool}: {why}" for why, tool in reasons.items())
        return f"A permission handler would never be called, for no tool. {each}"

    def __str__(self) -> str:
        parts = ["Who decides, one after the other:"]
        parts += [f"  {number}. {text}" for number, text in enumerate(self.order, start=1)]
        parts += ["Whether a person is asked:", *(f"  {fate}" for fate in self.tools)]
        if self.shadows:
            parts += ["Rules without an effect:", *(f"  {shadow}" for shadow in self.shadows)]
        if self.notes:
            parts += ["Notes:", *(f"  {note}" for note in self.notes)]
        return "\n".join(parts)


def explain(
    policy: Policy | None,
    *,
    allowed_tools: Sequence[str] = (),
    disallowed_tools: Sequence[str] = (),
    permission_mode: str | None = None,
    tools: Sequence[str] | None = None,
    hooks: bool = False,
) -> Explanation:
    """Explain a policy, or what holds without one: see `Policy.explain`."""
    cli = _CLI.of(allowed_tools, disallowed_tools, permission_mode)
    order = tuple(_order(policy, cli, hooks=hooks))
    policy = policy or Policy()
    return Explanation(
        order=order,
        tools=tuple(_reach(policy, cli, tool) for tool in _tools(policy, cli, tools)),
        shadows=(*_shadows(policy), *_shadows_of_cli(policy, cli)),
        notes=(*_notes(policy), *policy.problems),
    )


def why_unreachable(
    policy: Policy | None,
    *,
    allowed_tools: Sequence[str] = (),
    disallowed_tools: Sequence[str] = (),
    permission_mode: str | None = None,
    tools: Sequence[str] | None = None,
) -> str | None:
    """Return `explain(…).unreachable`, but look no further than the first tool that is reached."""
    cli, some_policy = _CLI.of(allowed_tools, disallowed_tools, permission_mode), policy or Policy()
    for tool in _tools(some_policy, cli, tools):
        if tool not in NEEDS_PERSON and _reach(some_policy, cli, tool).reaches != "never":
            return None
    return explain(
        policy,
        allowed_tools=allowed_tools,
        disallowed_tools=disallowed_tools,
        permission_mode=permission_mode,
        tools=tools,
    ).unreachable


@dataclass(frozen=True, slots=True)
class _CLI:
    """What the CLI was started with."""

    allow: list[Rule]
    deny: list[Rule]
    mode: str

    @classmethod
    def of(cls, allow: Sequence[str], deny: Sequence[str], mode: str | None) -> _CLI:
        return cls([*map(Rule.parse, allow)], [*map(Rule.parse, deny)], mode or "default")

    def denies(self, tool: str) -> bool:
        return _whole(self.deny, tool) is not None

    def allows(self, tool: str) -> bool:
        return any(
            rule.names(tool) and rule.for_every_use and rule.why_never_allows() is None
            for rule in self.allow
        )


def _order(policy: Policy | None, cli: _CLI, *, hooks: bool) -> Iterator[str]:
    if hooks:
        yield "hooks, which may deny, allow or ask"
    yield "the CLI's rules that deny: disallowed_tools and its settings"
    yield "the CLI's rules that ask: its settings"
    yield f"the CLI's mode: {cli.mode}"
    yield "the CLI's rules that allow: allowed_tools and its settings"
    if policy is not None:
        yield (
            f"this policy: {len(policy.deny)} rules that deny, {len(policy.ask)} that ask, "
            f"{len(policy.allow)} that allow; else {policy.default}"
        )
    yield "a person"


def _tools(policy: Policy, cli: _CLI, tools: Sequence[str] | None) -> list[str]:
    if tools is not None:
        return list(dict.fromkeys(tools))
    rules = (*policy.deny, *policy.ask, *policy.allow, *cli.allow, *cli.deny)
    named = (rule.tool for rule in rules if "*" not in rule.tool)
    known = (tool for tool in KNOWN_TOOLS if tool not in _OLD_TOOLS)
    return list(dict.fromkeys((*known, *named)))


# --- what becomes of a tool ----------------------------------------------------------------------


def _reach(policy: Policy, cli: _CLI, tool: str) -> ToolReach:
    before, (reaches, why) = _reach_of_cli(cli, tool), _reach_of_policy(policy, tool)
    if before is not None and (before[0] == "never" or reaches == "always"):
        reaches, why = before
    return ToolReach(tool, reaches, why)


def _reach_of_cli(cli: _CLI, tool: str) -> tuple[Reach, str] | None:
    """Whether the CLI asks about a tool, and why; None if it always does."""
    if cli.denies(tool):
        return "never", "the CLI takes it away (disallowed_tools)"
    if cli.mode == "dontAsk":
        return "never", "in the mode dontAsk the CLI denies instead of asking"
    if tool in NEEDS_PERSON:
        return None
    if cli.mode == "bypassPermissions":
        return "never", "in the mode bypassPermissions the CLI allows everything by itself"
    if cli.allows(tool):
        return "never", "the CLI allows it by itself (allowed_tools)"
    return _reach_by_habit(cli, tool)


def _reach_by_habit(cli: _CLI, tool: str) -> tuple[Reach, str] | None:
    kind, asks = facts(tool).kind, facts(tool).asks
    if kind == "read":
        return "sometimes", "the CLI asks only outside of its working directories"
    if not asks:
        return "never", "the CLI never asks about it"
    if kind == "edit" and cli.mode == "acceptEdits":
        return "sometimes", "in the mode acceptEdits the CLI asks only outside of its directories"
    if cli.mode == "auto":
        return "sometimes", "in the mode auto a classifier of the CLI decides most"
    if kind == "command":
        return "sometimes", "the CLI allows commands that only read by itself"
    if any(rule.names(tool) and rule.why_never_allows() is None for rule in cli.allow):
        return "sometimes", "the CLI allows some uses by itself (allowed_tools)"
    return None


def _reach_of_policy(policy: Policy, tool: str) -> tuple[Reach, str]:
    """Whether the policy asks a person about a tool, and why."""
    if (rule := _whole(policy.deny, tool)) is not None:
        return "never", f"`{rule}` denies it"
    if policy.mode == "dontAsk":
        return "never", "in the mode dontAsk the policy denies instead of asking"
    if (rule := _whole(policy.ask, tool)) is not None:
        return "always", f"`{rule}` requires asking"
    allow = _whole(policy.allow, tool)
    if tool in NEEDS_PERSON and (allow or policy.default == "ask" or _allows_by_default(policy)):
        return "always", "it is a question to a person"
    if allow is None:
        return _reach_by_default(policy, tool)
    limited = _any_about((*policy.ask, *policy.deny), tool)
    if limited or facts(tool).kind in ("edit", "command"):
        return "sometimes", f"`{allow}` allows it, but for some uses"
    return "never", f"`{allow}` allows it"


def _reach_by_default(policy: Policy, tool: str) -> tuple[Reach, str]:
    about = _any_about(policy.deny, tool), _any_about(policy.ask, tool)
    kind = facts(tool).kind
    if _allows_by_default(policy):
        if any(about) or kind == "command" or (kind == "edit" and policy.protect):
            return "sometimes", "the policy will allow it, but for some uses"
        return "never", "the policy will allow it"
    if policy.mode == "acceptEdits" and kind == "edit":
        return (
            "sometimes",
            "in the mode acceptEdits the policy allows most edits in its directories",
        )
    if policy.default == "ask":
        if any(about) or _any_about(policy.allow, tool):
            return "sometimes", "rules decide some uses"
        return "always", "no rule is about it"
    if about[1]:
        return "sometimes", "rules ask for some uses"
    return "never", "the policy will deny it"


def _allows_by_default(policy: Policy) -> bool:
    """Whether a policy allows what no rule is about, but for what always needs a person."""
    return policy.default == "allow" or policy.mode == "bypassPermissions"


def _any_about(rules: Sequence[Rule], tool: str) -> bool:
    return any(_may_be_about(rule, tool) for rule in rules)


def _whole(rules: Sequence[Rule], tool: str) -> Rule | None:
    return next((rule for rule in rules if rule.names(tool) and rule.for_every_use), None)


def _may_be_about(rule: Rule, tool: str) -> bool:
    if rule.path is not None:
        return facts(tool).kind in ("read", "edit", "command") and not rule.path.negated
    return rule.names(tool)


# --- rules without an effect ---------------------------------------------------------------------


def _shadows(policy: Policy) -> Iterator[Shadow]:
    stages = (("deny", policy.deny), ("ask", policy.ask), ("allow", policy.allow))
    for index, (behavior, rules) in enumerate(stages):
        for rule in rules:
            for earlier, before in stages[:index]:
                hiding = next((other for other in before if _covers(other, rule)), None)
                if hiding is not None:
                    why = f"it comes too late, `{hiding}` is before it"
                    yield Shadow(f"{behavior} `{rule}`", f"{earlier} `{hiding}`", why)
                    break
            twin = next((other for other in rules if other != rule and _covers(other, rule)), None)
            if twin is not None:
                yield Shadow(f"{behavior} `{rule}`", f"{behavior} `{twin}`", "it adds nothing")


def _shadows_of_cli(policy: Policy, cli: _CLI) -> Iterator[Shadow]:
    for behavior, rules in (("deny", policy.deny), ("ask", policy.ask)):
        for rule in rules:
            if cli.mode == "bypassPermissions":
                by = "permission_mode"
            elif cli.allows(rule.tool):
                by = "allowed_tools"
            else:
                continue
            why = "the CLI allows it by itself, and never asks this policy"
            yield Shadow(f"{behavior} `{rule}`", by, why)


def _covers(wide: Rule, narrow: Rule) -> bool:
    """Whether one rule applies to everything that another does, as far as that is easy to tell."""
    if "*" in narrow.tool and wide.tool != narrow.tool and wide.tool != "*":
        return False
    if not wide.names(narrow.tool):
        return False
    if wide.for_every_use:
        return True
    if wide.command is not None and narrow.command is not None:
        fixed, longer = wide.command.fixed, narrow.command.fixed
        starts = len(longer) >= len(fixed) and all(map(Word.same_as, longer, fixed))
        return wide.content == narrow.content or (wide.command.kind == "prefix" and starts)
    if wide.domain is not None and narrow.domain is not None and "*" not in narrow.domain:
        return host_matches(wide.domain, narrow.domain)
    return (wide.content, wide.root) == (narrow.content, narrow.root)


def _notes(policy: Policy) -> Iterator[str]:
    for rule in (*policy.deny, *policy.ask, *policy.allow):
        if rule.path is not None and rule.tool not in ("Read", "Edit"):
            instead = "Edit" if facts(rule.tool).kind == "edit" else "Read"
            yield f"`{rule}` counts for {rule.tool} alone, and the CLI knows only {instead}(…)"
