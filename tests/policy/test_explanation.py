"""What becomes of tools, and which rules have no effect."""

from __future__ import annotations

from typing import Any

import pytest

from claudewire.policy import Explanation, Policy, why_unreachable


def explain(policy: Policy | None = None, **options: Any) -> Explanation:
    return (policy or Policy()).explain(**options)


def why(explanation: Explanation, tool: str) -> str:
    return next(fate.why for fate in explanation.tools if fate.tool == tool)


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
        (Policy(["Bash"]), "Bash", "sometimes"),
        (Policy(["Bash(ls:*)"]), "Bash", "sometimes"),
        (Policy(["Edit(src/**)"]), "Write", "sometimes"),
        (Policy(deny=["WebFetch"]), "WebFetch", "never"),
        (Policy(["WebFetch"], deny=["WebFetch(domain:x.org)"]), "WebFetch", "sometimes"),
        (Policy(["WebFetch"], ask=["WebFetch"]), "WebFetch", "always"),
        (Policy(deny=["*"]), "AskUserQuestion", "never"),
        (Policy(default="deny"), "Write", "never"),
        (Policy(default="deny"), "AskUserQuestion", "never"),
        (Policy(default="allow"), "WebFetch", "never"),
        (Policy(default="allow"), "ExitPlanMode", "always"),
        (Policy(default="allow"), "Bash", "sometimes"),
        (Policy(default="allow"), "Write", "sometimes"),
        (Policy(default="allow", protect=False), "Write", "never"),
        (Policy(mode="bypassPermissions", default="deny"), "AskUserQuestion", "always"),
        (Policy(default="deny", ask=["WebFetch(domain:x.org)"]), "WebFetch", "sometimes"),
        (Policy(mode="dontAsk"), "Write", "never"),
        (Policy(mode="bypassPermissions"), "WebFetch", "never"),
        (Policy(["mcp__a__b"]), "mcp__a__b", "never"),
        (Policy(ask=["mcp__a__b"]), "mcp__a__b", "always"),
    ],
)
def test_a_policy_lets_a_tool_reach_a_person(policy: Policy, tool: str, reaches: str) -> None:
    assert policy.explain().reaches(tool) == reaches


@pytest.mark.parametrize(
    ("options", "tool", "reaches", "reason"),
    [
        ({"permission_mode": "bypassPermissions"}, "Bash", "never", "allows everything by itself"),
        ({"permission_mode": "bypassPermissions"}, "AskUserQuestion", "always", "a question"),
        ({"permission_mode": "dontAsk"}, "AskUserQuestion", "never", "denies instead of asking"),
        ({"permission_mode": "acceptEdits"}, "Write", "sometimes", "outside of its directories"),
        ({"permission_mode": "auto"}, "Write", "sometimes", "a classifier"),
        ({"allowed_tools": ["Write"]}, "Write", "never", "by itself (allowed_tools)"),
        ({"allowed_tools": ["mcp__a"]}, "mcp__a__b", "never", "by itself (allowed_tools)"),
        ({"allowed_tools": ["*"]}, "Write", "always", "no rule is about it"),
        ({"allowed_tools": ["WebFetch(domain:x.org)"]}, "WebFetch", "sometimes", "some uses"),
        ({"disallowed_tools": ["Write"]}, "Write", "never", "takes it away"),
        ({"disallowed_tools": ["Write(x)"]}, "Write", "always", "no rule is about it"),
    ],
)
def test_the_cli_decides_first(
    options: dict[str, Any], tool: str, reaches: str, reason: str
) -> None:
    explanation = explain(tools=[tool], **options)
    assert explanation.reaches(tool) == reaches
    assert reason in why(explanation, tool)


USES: list[tuple[str, dict[str, Any]]] = [
    *(("Bash", {"command": it}) for it in ("ls", "rm x", "$x", "rm -rf ~")),
    *(("Write", {"file_path": it}) for it in ("/work/a", "/work/src/a", "/work/.git/a")),
    *(("WebFetch", {"url": it}) for it in ("https://a.org", "https://b.org", "ftp://a.org")),
    ("AskUserQuestion", {}),
    ("mcp__a__b", {}),
]
RULES = [[], ["Bash", "Write", "WebFetch", "mcp__a"], ["Bash(rm:*)", "WebFetch(domain:a.org)"]]


@pytest.mark.parametrize("mode", [None, "default", "bypassPermissions", "acceptEdits", "dontAsk"])
@pytest.mark.parametrize("default", ["ask", "allow", "deny"])
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("behavior", ["allow", "ask", "deny"])
def test_a_person_is_asked_only_where_that_is_explained(
    mode: Any, default: Any, rules: list[str], behavior: str
) -> None:
    policy = Policy(
        **{behavior: rules},  # type: ignore[arg-type]
        mode=mode,
        default=default,
        cwd="/work",
        home="/home/me",
        realpath=str,
    )
    explanation = policy.explain(tools=[tool for tool, _ in USES])
    for tool, given in USES:
        decision = policy.decide(tool, given)
        if explanation.reaches(tool) == "never":
            assert decision.behavior != "ask", (decision, tool)
        if explanation.reaches(tool) == "always":
            assert decision.behavior == "ask", (decision, tool)


def test_a_tool_that_there_is_not_reaches_nobody() -> None:
    assert explain(tools=["Read"]).reaches("Write") == "never"
    assert [fate.tool for fate in explain(tools=["Read", "Read"]).tools] == ["Read"]


def test_tools_that_only_rules_name_are_explained_too() -> None:
    tools = [fate.tool for fate in explain(Policy(["mcp__a__b"], deny=["mcp__c__*"])).tools]
    assert "mcp__a__b" in tools
    assert "mcp__c__*" not in tools
    old = {"BashOutput", "KillShell", "LS", "MultiEdit", "NotebookRead", "Task"}
    assert old.isdisjoint(tools)


@pytest.mark.parametrize(
    ("policy", "rule", "by"),
    [
        (Policy(["Bash(ls:*)"], deny=["Bash"]), "allow `Bash(ls:*)`", "deny `Bash`"),
        (Policy(["Read"], deny=["*"]), "allow `Read`", "deny `*`"),
        (Policy(["Read"], ask=["Read"]), "allow `Read`", "ask `Read`"),
        (Policy(ask=["Read"], deny=["Read"]), "ask `Read`", "deny `Read`"),
        (Policy(["Bash(a b:*)"], deny=["Bash(a:*)"]), "allow `Bash(a b:*)`", "deny `Bash(a:*)`"),
        (Policy(["Bash(a b)", "Bash(a *)"]), "allow `Bash(a b)`", "allow `Bash(a *)`"),
        (Policy(["Bash", "Bash(a b)"]), "allow `Bash(a b)`", "allow `Bash`"),
        (Policy(["mcp__a__b", "mcp__a"]), "allow `mcp__a__b`", "allow `mcp__a`"),
        (
            Policy(["WebFetch(domain:a.x.org)"], deny=["WebFetch(domain:*.x.org)"]),
            "allow `WebFetch(domain:a.x.org)`",
            "deny `WebFetch(domain:*.x.org)`",
        ),
        (Policy(["Edit(a)"], deny=["Edit(a)"]), "allow `Edit(a)`", "deny `Edit(a)`"),
        # Of several that come before it, the first:
        (
            Policy(["Edit(a)"], ask=["Edit"], deny=["Edit(a)"]),
            "allow `Edit(a)`",
            "deny `Edit(a)`",
        ),
    ],
)
def test_a_rule_that_comes_too_late_is_shown(policy: Policy, rule: str, by: str) -> None:
    (shadow,) = policy.explain().shadows
    assert (shadow.rule, shadow.by) == (rule, by)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(["Bash(a:*)"], deny=["Bash(a b:*)"]),
        Policy(["Bash(a:*)", "Bash(b:*)"]),
        Policy(["Read"], deny=["Write"]),
        Policy(["Edit(a)"], deny=["Edit(b)"]),
        Policy(["WebFetch(domain:*.org)"], deny=["WebFetch(domain:x.org)"]),
        Policy(["mcp__a__*"], deny=["mcp__a__b"]),
        Policy(["Bash(git * main)"], deny=["Bash(git push * main)"]),
    ],
)
def test_rules_that_have_an_effect_are_not_shown(policy: Policy) -> None:
    assert policy.explain().shadows == ()


def test_rules_that_the_cli_never_asks_about_are_shown() -> None:
    policy = Policy(ask=["*"], deny=["Bash(rm:*)", "Write"])
    shadows = policy.explain(allowed_tools=["Bash"]).shadows
    assert [(shadow.rule, shadow.by) for shadow in shadows] == [
        ("deny `Bash(rm:*)`", "allowed_tools")
    ]
    shadows = policy.explain(permission_mode="bypassPermissions").shadows
    why = "the CLI allows it by itself, and never asks this policy (permission_mode)"
    assert [str(it) for it in shadows] == [
        f"deny `Bash(rm:*)`: {why}",
        f"deny `Write`: {why}",
        f"ask `*`: {why}",
    ]


def test_notes_tell_of_rules_that_mean_less_than_they_seem() -> None:
    policy = Policy(["Write(a)"], deny=["Glob(b)"], problems=["the file was odd"])
    assert policy.explain().notes == (
        "`Glob(b)` counts for Glob alone, and the CLI knows only Read(…)",
        "`Write(a)` counts for Write alone, and the CLI knows only Edit(…)",
        "the file was odd",
    )


def test_an_explanation_can_be_read() -> None:
    policy = Policy(["Read", "Bash(ls:*)"], deny=["Bash"], problems=["it was odd"])
    text = str(policy.explain(tools=["Bash", "Write"], hooks=True))
    assert text.splitlines()[0] == "Who decides, one after the other:"
    assert "  1. hooks, which may deny, allow or ask" in text
    assert "  6. this policy: 1 rules that deny, 0 that ask, 2 that allow; else ask" in text
    assert "  Bash                 never     `Bash` denies it" in text
    assert "  Write                always    no rule is about it" in text
    assert "Rules without an effect:\n  allow `Bash(ls:*)`: it comes too late" in text
    assert "\nNotes:\n  it was odd" in text
    assert "hooks" not in str(explain(tools=["Bash"]))


# --- a handler that is never called --------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"permission_mode": "default"},
        {"permission_mode": "acceptEdits"},
        {"permission_mode": "plan"},
        {"allowed_tools": ["Bash", "Read"]},
        {"allowed_tools": ["Bash(ls:*)"], "tools": ["Bash"]},
        {"tools": ["Bash", "Write"], "allowed_tools": ["Bash"]},
        {"tools": ["Read", "mcp__a__b"], "allowed_tools": ["Read"]},
        {"policy": Policy(default="deny", ask=["Bash(ls:*)"])},
        {"policy": Policy(["Read", "Bash"])},
    ],
)
def test_a_handler_may_be_called(options: dict[str, Any]) -> None:
    assert explain(**options).unreachable is None
    assert why_unreachable(**{"policy": None, **options}) is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"permission_mode": "bypassPermissions"}, "allows everything by itself"),
        ({"permission_mode": "dontAsk"}, "denies instead of asking"),
        ({"tools": []}, "there are no tools"),
        ({"tools": ["AskUserQuestion"]}, "there are no tools"),
        ({"tools": ["TodoWrite"]}, "the CLI never asks about it"),
        ({"disallowed_tools": ["*"]}, "takes it away"),
        ({"tools": ["Bash", "Read"], "allowed_tools": ["Bash", "Read"]}, "(allowed_tools)"),
        ({"tools": ["mcp__a__b"], "allowed_tools": ["mcp__a"]}, "(allowed_tools)"),
        (
            {"tools": ["Bash", "WebFetch"], "allowed_tools": ["Bash"], "disallowed_tools": ["W*"]},
            ", for no tool. Bash: the CLI allows it by itself (allowed_tools); "
            "WebFetch: the CLI takes it away (disallowed_tools)",
        ),
        ({"policy": Policy(default="deny")}, "the policy will deny it"),
        ({"policy": Policy(deny=["*"])}, "denies it"),
        ({"policy": Policy(mode="dontAsk")}, "the policy denies instead of asking"),
    ],
)
def test_a_handler_that_would_never_be_called_is_told_of(
    options: dict[str, Any], reason: str
) -> None:
    found = explain(**options).unreachable
    assert why_unreachable(**{"policy": None, **options}) == found
    assert found is not None
    assert found.startswith("A permission handler would never be called")
    assert reason in found
