"""Policies: which tools may be used, decided by rules in the CLI's own grammar.

    policy = Policy(
        allow=["Read", "Bash(git status:*)"],
        ask=["Bash(git push:*)"],
        deny=["Bash(rm:*)", "Read(~/.ssh/**)"],
    )
    policy.decide("Bash", {"command": "git status && rm -rf /"})   # deny: `Bash(rm:*)` denies it …

What is not certain is never allowed: a command that cannot be parsed, a path that leads elsewhere.
`explain()` says which tools can ever reach a person; audits record every decision. It uses `errors`
and `wire`. Start with `policy`, then `tool_use`, which compares one use of a tool with the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports

if TYPE_CHECKING:
    from .decisions import Audit, Behavior, Decision, DecisionRecord, JsonLinesAudit, digest
    from .explanation import Explanation, Reach, Shadow, ToolReach, explain, why_unreachable
    from .paths import PathPattern
    from .policy import MODES, Policy
    from .rules import Rule
    from .settings import mode_in_settings
    from .shell import CommandPattern
    from .tools import ToolFacts

__all__ = [
    "MODES",
    "Audit",
    "Behavior",
    "CommandPattern",
    "Decision",
    "DecisionRecord",
    "Explanation",
    "JsonLinesAudit",
    "PathPattern",
    "Policy",
    "Reach",
    "Rule",
    "Shadow",
    "ToolFacts",
    "ToolReach",
    "digest",
    "explain",
    "mode_in_settings",
    "why_unreachable",
]

# Every session keeps records of decisions; most have no rules, whose grammar takes a while to load.
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            ".decisions": "Audit Behavior Decision DecisionRecord JsonLinesAudit digest",
            ".explanation": "Explanation Reach Shadow ToolReach explain why_unreachable",
            ".paths": "PathPattern",
            ".policy": "MODES Policy",
            ".rules": "Rule",
            ".settings": "mode_in_settings",
            ".shell": "CommandPattern",
            ".tools": "ToolFacts",
        },
    )
