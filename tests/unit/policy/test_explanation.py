"""Which tools can reach a person."""

from __future__ import annotations

from typing import Any

import pytest

from claudewire.policy import Policy


@pytest.mark.parametrize(
    ("policy", "tool", "reaches"),
    [
        (Policy(), "Write", "always"),
        (Policy(), "Bash", "sometimes"),
        (Policy(), "Read", "sometimes"),
        (Policy(), "TodoWrite", "never"),
        (Policy(), "AskUserQuestion", "always"),
        (Policy(["WebSearch"]), "WebSearch", "never"),
        (Policy(["Write"]), "Write", "sometimes"),
        (Policy(["Edit(src/**)"]), "Write", "sometimes"),
        (Policy(deny=["WebFetch"]), "WebFetch", "never"),
        (Policy(["WebFetch"], deny=["WebFetch(domain:x.org)"]), "WebFetch", "sometimes"),
        (Policy(["WebFetch"], ask=["WebFetch"]), "WebFetch", "always"),
        (Policy(deny=["*"]), "AskUserQuestion", "never"),
        (Policy(default="deny"), "Write", "never"),
        (Policy(default="deny"), "AskUserQuestion", "always"),
        (Policy(default="allow"), "WebFetch", "never"),
        (Policy(default="allow"), "Write", "sometimes"),
        (Policy(default="allow", protect=False), "Write", "never"),
        (Policy(default="deny", ask=["WebFetch(domain:x.org)"]), "WebFetch", "sometimes"),
        (Policy(mode="dontAsk"), "Write", "never"),
        (Policy(["mcp__a__b"]), "mcp__a__b", "never"),
    ],
)
def test_policy_leaves_tools_to_a_person(policy: Policy, tool: str, reaches: str) -> None:
    assert policy.explain(tools=[tool])[tool].reaches == reaches


@pytest.mark.parametrize(
    ("options", "tool", "reaches", "reason"),
    [
        ({"permission_mode": "bypassPermissions"}, "Bash", "never", "allows everything by itself"),
        ({"permission_mode": "bypassPermissions"}, "AskUserQuestion", "always", "a question"),
        ({"permission_mode": "dontAsk"}, "AskUserQuestion", "never", "denies instead of asking"),
        ({"permission_mode": "acceptEdits"}, "Write", "sometimes", "the mode acceptEdits"),
        ({"permission_mode": "auto"}, "Write", "sometimes", "in the mode auto"),
        ({"allowed_tools": ["Write"]}, "Write", "never", "by itself (allowed_tools)"),
        ({"allowed_tools": ["mcp__a"]}, "mcp__a__b", "never", "by itself (allowed_tools)"),
        ({"allowed_tools": ["*"]}, "Write", "always", "no rule is about it"),
        ({"allowed_tools": ["WebFetch(domain:x.org)"]}, "WebFetch", "sometimes", "some uses"),
        ({"disallowed_tools": ["Write"]}, "Write", "never", "takes it away"),
        ({"disallowed_tools": ["Write(x)"]}, "Write", "always", "no rule is about it"),
    ],
)
def test_cli_decides_first(options: dict[str, Any], tool: str, reaches: str, reason: str) -> None:
    (reach,) = Policy().explain(tools=[tool, tool], **options).values()
    assert (reach.tool, reach.reaches) == (tool, reaches)
    assert reason in str(reach)


USES: list[tuple[str, dict[str, Any]]] = [
    *(("Bash", {"command": it}) for it in ("ls", "rm x", "$x", "rm -rf ~")),
    *(("Write", {"file_path": it}) for it in ("/work/a", "/work/src/a", "/work/.git/a")),
    *(("WebFetch", {"url": it}) for it in ("https://a.org", "https://b.org", "ftp://a.org")),
    ("mcp__a__b", {}),
]
RULES = [[], ["Bash", "Write", "WebFetch", "mcp__a"], ["Bash(rm:*)", "WebFetch(domain:a.org)"]]


@pytest.mark.parametrize("mode", [None, "default", "bypassPermissions", "acceptEdits", "dontAsk"])
@pytest.mark.parametrize("default", ["ask", "allow", "deny"])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("behavior", ["allow", "ask", "deny"])
def test_explanation_agrees_with_decisions(
    mode: Any, default: Any, rules: list[str], behavior: str
) -> None:
    given: dict[str, Any] = {behavior: rules, "mode": mode, "default": default}
    policy = Policy(**given, cwd="/work", home="/home/me", realpath=str)
    explanation = policy.explain(tools=[tool for tool, _ in USES])
    for tool, use in USES:
        asks, reaches = policy.decide(tool, use).behavior == "ask", explanation[tool].reaches
        assert reaches == "sometimes" or asks == (reaches == "always"), (tool, use)


def test_tools_of_rules_are_explained_too() -> None:
    policy = Policy(["mcp__a__b"], deny=["mcp__c__*"])
    tools = policy.explain()
    assert not {"mcp__c__*", "BashOutput", "KillShell", "LS", "MultiEdit", "Task"} & tools.keys()
    assert str(tools["mcp__a__b"]) == "mcp__a__b            never     `mcp__a__b` allows it"
