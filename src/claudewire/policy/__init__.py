"""Policies: rules in the CLI's own grammar that decide about tools.

    policy = Policy(
        allow=["Read", "Bash(git status:*)"],
        ask=["Bash(git push:*)"],
        deny=["Bash(rm:*)", "Read(~/.ssh/**)"],
    )
    policy.decide("Bash", {"command": "git status && rm -rf /"})   # deny: `Bash(rm:*)` denies it …

A policy never allows a doubtful case: a command that it cannot parse, a path that leads elsewhere.
`explain()` says which tools can reach a person; audits record every decision. Start with
`policy`, then `tool_use`, which compares one use of a tool with the rules.
"""

from __future__ import annotations

from .decisions import Audit, Decision, DecisionRecord, JsonLinesAudit, digest
from .explanation import Reach, ToolReach
from .policy import Policy
from .rules import Behavior, Rule
from .settings import mode_in_settings

__all__ = [
    "Audit",
    "Behavior",
    "Decision",
    "DecisionRecord",
    "JsonLinesAudit",
    "Policy",
    "Reach",
    "Rule",
    "ToolReach",
    "digest",
    "mode_in_settings",
]
