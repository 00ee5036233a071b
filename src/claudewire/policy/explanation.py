"""Which tools can reach a person.

The CLI decides first, by the rules and the mode that it was started with. It asks a policy about
the rest, and the policy leaves some of that to a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .policy import Policy
from .rules import Rule
from .tools import KNOWN_TOOLS, NEEDS_PERSON, OLD_TOOLS, facts

Reach = Literal["always", "sometimes", "never"]


@dataclass(frozen=True, slots=True)
class ToolReach:
    """Whether a person is asked before a tool runs.

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
class Explanation:
    """Which tools can reach a person, in words.

    Attributes:
        tools: the tools.
        notes: remarks.
    """

    tools: tuple[ToolReach, ...]
    notes: tuple[str, ...] = ()

    def reaches(self, tool: str) -> Reach:
        """Whether uses of a tool reach a person; "never" for a tool that does not exist."""
        return next((it.reaches for it in self.tools if it.tool == tool), "never")

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.tools, *self.notes)))


def explain(
    policy: Policy | None,
    *,
    allowed_tools: Sequence[str] = (),
    disallowed_tools: Sequence[str] = (),
    permission_mode: str | None = None,
    tools: Sequence[str] | None = None,
) -> Explanation:
    """Explain a policy, behind the rules and the mode of a CLI.

    Args:
        policy: the policy; None if every question of the CLI goes to a person.
        allowed_tools: the rules by which the CLI allows.
        disallowed_tools: the rules by which it denies.
        permission_mode: its mode.
        tools: the existing tools; None for all known ones.
    """
    policy = policy or Policy()
    allow, deny = ([*map(Rule.parse, rules)] for rules in (allowed_tools, disallowed_tools))
    if tools is None:
        rules = (*policy.deny, *policy.ask, *policy.allow, *allow, *deny)
        named = (rule.tool for rule in rules if "*" not in rule.tool)
        tools = (*(tool for tool in KNOWN_TOOLS if tool not in OLD_TOOLS), *named)
    reaches = []
    for tool in dict.fromkeys(tools):
        asked, why = _reach_of_cli(tool, allow, deny, permission_mode)
        left, reason = _reach_of_policy(policy, tool)
        if asked == "always" or (asked == "sometimes" and left != "always"):
            asked, why = left, reason
        reaches.append(ToolReach(tool, asked, why))
    return Explanation(tuple(reaches), policy.problems)


def _reach_of_cli(
    tool: str, allow: Sequence[Rule], deny: Sequence[Rule], mode: str | None
) -> tuple[Reach, str]:
    """Return whether the CLI asks about a tool, and why."""
    kind = facts(tool).kind
    allowing = [it for it in allow if it.names(tool) and it.why_never_allows() is None]
    if _whole(deny, tool) is not None:
        return "never", "the CLI takes it away (disallowed_tools)"
    if mode == "dontAsk":
        return "never", "in the mode dontAsk the CLI denies instead of asking"
    if tool in NEEDS_PERSON:
        return "always", ""
    if mode == "bypassPermissions":
        return "never", "in the mode bypassPermissions the CLI allows everything by itself"
    if any(rule.for_every_use for rule in allowing):
        return "never", "the CLI allows it by itself (allowed_tools)"
    if kind == "read":
        return "sometimes", "the CLI asks only outside of its working directories"
    if not facts(tool).asks:
        return "never", "the CLI never asks about it"
    if mode == "auto" or (mode == "acceptEdits" and kind == "edit"):
        return "sometimes", f"in the mode {mode} the CLI decides most by itself"
    if kind == "command" or allowing:
        return "sometimes", "the CLI allows some uses by itself"
    return "always", ""


def _reach_of_policy(policy: Policy, tool: str) -> tuple[Reach, str]:
    """Return whether the policy leaves a tool to a person, and why."""
    kind, rule = facts(tool).kind, _whole(policy.allow, tool)
    if (denying := _whole(policy.deny, tool)) is not None:
        return "never", f"`{denying}` denies it"
    if policy.mode == "dontAsk":
        return "never", "in the mode dontAsk the policy denies instead of asking"
    if tool in NEEDS_PERSON:
        return "always", "it is a question to a person"
    if (asking := _whole(policy.ask, tool)) is not None:
        return "always", f"`{asking}` requires asking"
    if rule is not None or policy.default == "allow" or policy.mode == "bypassPermissions":
        why = "the policy will allow it" if rule is None else f"`{rule}` allows it"
        is_checked = kind == "command" or (kind == "edit" and policy.protect)
        if is_checked or _any_about((*policy.ask, *policy.deny), tool):
            return "sometimes", f"{why}, but for some uses"
        return "never", why
    if policy.mode == "acceptEdits" and kind == "edit":
        return "sometimes", "in the mode acceptEdits the policy allows edits in its directories"
    if policy.default == "deny" and not _any_about(policy.ask, tool):
        return "never", "the policy will deny it"
    if policy.default == "deny" or _any_about((*policy.deny, *policy.ask, *policy.allow), tool):
        return "sometimes", "rules decide some uses"
    return "always", "no rule is about it"


def _whole(rules: Sequence[Rule], tool: str) -> Rule | None:
    return next((rule for rule in rules if rule.names(tool) and rule.for_every_use), None)


def _any_about(rules: Sequence[Rule], tool: str) -> bool:
    is_of_files = facts(tool).kind in ("read", "edit", "command")
    return any(
        rule.names(tool) if rule.path is None else is_of_files and not rule.path.negated
        for rule in rules
    )
