"""Which tools can reach a person.

The CLI decides first, by the rules and the mode that it was started with. It asks a policy about
the rest, and the policy leaves some of that to a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from .rules import Rule
from .tools import NEEDS_PERSON, facts

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


Case = tuple[object, Reach, str]


def first_true(tool: str, cases: Iterable[Case]) -> ToolReach:
    """Return the first case that holds."""
    return next(ToolReach(tool, reaches, why) for holds, reaches, why in cases if holds)


def whole(rules: Sequence[Rule], tool: str) -> Rule | None:
    """Return the rule about every use of a tool; None without one."""
    return next((rule for rule in rules if rule.names(tool) and rule.for_every_use), None)


def reach_of_cli(
    tool: str, allow: Sequence[Rule], deny: Sequence[Rule], mode: str | None
) -> ToolReach:
    """Return whether the CLI asks about a tool."""
    kind = facts(tool).kind
    allowing = [it for it in allow if it.names(tool) and it.why_never_allows() is None]
    bypasses = "in the mode bypassPermissions the CLI allows everything by itself"
    is_eased = mode == "auto" or (mode == "acceptEdits" and kind == "edit")
    cases: tuple[Case, ...] = (
        (whole(deny, tool), "never", "the CLI takes it away (disallowed_tools)"),
        (mode == "dontAsk", "never", "in the mode dontAsk the CLI denies instead of asking"),
        (tool in NEEDS_PERSON, "always", ""),
        (mode == "bypassPermissions", "never", bypasses),
        (whole(allowing, tool), "never", "the CLI allows it by itself (allowed_tools)"),
        (kind == "read", "sometimes", "the CLI asks only outside of its working directories"),
        (not facts(tool).asks, "never", "the CLI never asks about it"),
        (is_eased, "sometimes", f"in the mode {mode} the CLI decides most by itself"),
        (kind == "command" or allowing, "sometimes", "the CLI allows some uses by itself"),
        (True, "always", ""),
    )
    return first_true(tool, cases)
